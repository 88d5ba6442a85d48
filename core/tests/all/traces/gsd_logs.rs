//! `gsd::Logger`, `OwnLogger` and `FixedLogger`.

use super::tape::{Dice, Tape, now, plain};
use super::{History, Row};
use striae_core::gsd::{Attributes, ChunkType, FixedLogger, Logger, OwnLogger, Shape};

#[cfg(feature = "async")]
use super::tape::{hanging, ready, wait, wait_or_drop};

const NAMES: [&str; 3] = ["a", "bb", "ccc"];
const MORE: [&str; 6] = ["a", "bb", "ccc", "d/e", "a name that is long enough to fill a list", "f"];

/// Logs six frames, ends the power, and goes on, twice.
macro_rules! log {
    ($tape:ident, $dice:ident, $do:ident, $log:ident, $open:expr, $before:block, $write:ident,
        $end:ident, $discard:expr) => {
        for turn in 0..3 {
            if turn > 0 {
                $tape.mend();
            }
            let opened = $open;
            $tape.note("open", opened.as_ref().map(|_| 0_u64));
            let Ok(mut $log) = opened else { continue };
            $before
            for frame in 0..6 {
                let mut is_whole = true;
                for id in [0, 2, 1] {
                    if frame > 0 && $dice.below(3) == 0 {
                        continue;
                    }
                    let rows = $dice.below(20);
                    let bytes = $dice.bytes(4 * rows);
                    let written = $do($log.$write(id, ChunkType::U32, 1, &bytes));
                    is_whole &= $tape.note("chunk", written.map(|()| 0_u64));
                }
                if !is_whole && $dice.below(2) == 0 {
                    $discard
                }
                let frames = $log.frames();
                for _ in 0..2 {
                    if $tape.note("end", $do($log.$end())) {
                        break;
                    }
                }
                if $log.frames() == frames {
                    $discard
                }
                $tape.say(&format!("{} {}", $log.frames(), $log.frames_left_now()));
            }
        }
    };
}

/// What a logger says of the room that is left, without a step.
trait Left {
    fn frames_left_now(&self) -> u64;
}

impl<S, const N: usize> Left for Logger<S, N> {
    fn frames_left_now(&self) -> u64 {
        0 // it asks its store
    }
}

impl<S, const N: usize> Left for OwnLogger<'_, S, N> {
    fn frames_left_now(&self) -> u64 {
        self.frames_left(2)
    }
}

impl<S, const N: usize> Left for FixedLogger<'_, S, N> {
    fn frames_left_now(&self) -> u64 {
        self.frames_left(2)
    }
}

macro_rules! forms {
    ($form:ident, $do:ident, $store:ident, $open:ident $name:ident $write:ident $end:ident
        $discard:ident) => {
        mod $form {
            use super::*;

            pub(super) fn logger(tape: &Tape, about: &Attributes<'_>, seed: u64) {
                let dice = &mut Dice::new(seed);
                log!(
                    tape,
                    dice,
                    $do,
                    log,
                    $do(Logger::<_, 4>::$open($store(tape), about)),
                    {
                        for name in NAMES {
                            tape.note("name", $do(log.$name(name)));
                        }
                    },
                    $write,
                    $end,
                    {
                        $do(log.$discard());
                    }
                );
            }

            pub(super) fn own(tape: &Tape, about: &Attributes<'_>, seed: u64) {
                let dice = &mut Dice::new(seed);
                let shape = &Shape::new(about, []).unwrap();
                log!(
                    tape,
                    dice,
                    $do,
                    log,
                    $do(OwnLogger::<_, 4>::$open($store(tape), shape)),
                    {
                        for name in &MORE[..3 + dice.below(4) as usize] {
                            tape.note("name", $do(log.$name(name)));
                            tape.say(&format!("{}", log.names()));
                        }
                    },
                    $write,
                    $end,
                    {
                        log.discard_frame();
                    }
                );
            }

            pub(super) fn fixed(tape: &Tape, about: &Attributes<'_>, seed: u64) {
                let dice = &mut Dice::new(seed);
                let shape = &Shape::new(about, NAMES).unwrap();
                log!(
                    tape,
                    dice,
                    $do,
                    log,
                    $do(FixedLogger::$open($store(tape), shape)),
                    {},
                    $write,
                    $end,
                    {
                        log.discard_frame();
                    }
                );
            }
        }
    };
}

forms!(blocking, now, plain, open_or_create name chunk end_frame discard_frame);
#[cfg(feature = "async")]
forms!(asynchronous, wait, ready,
    open_or_create_async name_async chunk_async end_frame_async discard_frame_async);
#[cfg(feature = "async")]
forms!(dropped, wait_or_drop, hanging,
    open_or_create_async name_async chunk_async end_frame_async discard_frame_async);

type Logs = fn(&Tape, &Attributes<'_>, u64);

pub(super) fn rows() -> Vec<Row> {
    const PLAIN: Attributes<'static> =
        Attributes { application: "traces", schema: "s", ..Attributes::DEFAULT };
    let small = Attributes { index_slots: 20, shown_slots: 4, names_len: 64, ..PLAIN };
    let sectors = Attributes { align: 512, index_slots: 200, shown_slots: 8, ..small };
    let once = Attributes { one_sync: true, ..small };
    let sums = Attributes { checksums: true, ..small };
    let blank = |len| vec![0xFF; len];
    let mut rows = Vec::new();
    let mut add = |writer, forms: Vec<Logs>, shape, about: Attributes<'static>, start| {
        let forms = forms
            .into_iter()
            .map(|form| -> History { Box::new(move |tape, seed| form(tape, &about, seed)) });
        rows.push(Row { writer, shape, seeds: 2, start, forms: forms.collect() });
    };
    let logger: Vec<Logs> = vec![
        blocking::logger,
        #[cfg(feature = "async")]
        asynchronous::logger,
        #[cfg(feature = "async")]
        dropped::logger,
    ];
    let own: Vec<Logs> = vec![
        blocking::own,
        #[cfg(feature = "async")]
        asynchronous::own,
        #[cfg(feature = "async")]
        dropped::own,
    ];
    let fixed: Vec<Logs> = vec![
        blocking::fixed,
        #[cfg(feature = "async")]
        asynchronous::fixed,
        #[cfg(feature = "async")]
        dropped::fixed,
    ];
    for (writer, forms) in [("gsd::Logger", &logger), ("gsd::OwnLogger", &own)] {
        add(writer, forms.clone(), "small", small, Vec::new());
        add(writer, forms.clone(), "in a blank card", small, blank(1 << 14));
        add(writer, forms.clone(), "sectors", sectors, blank(1 << 16));
    }
    add("gsd::Logger", logger.clone(), "one sync", once, Vec::new());
    add("gsd::Logger", logger, "checksums", sums, Vec::new());
    add("gsd::FixedLogger", fixed.clone(), "plain", PLAIN, Vec::new());
    add("gsd::FixedLogger", fixed.clone(), "in a blank card", PLAIN, blank(1 << 14));
    add("gsd::FixedLogger", fixed, "sectors", sectors, blank(1 << 16));
    rows
}
