//! `sion::Writer`.

use super::tape::{Dice, Tape, now, plain};
use super::{History, Row};
use striae_core::endian::ByteOrder;
use striae_core::sion::{Attributes, Finished, Memory, Options, Pen, Writer};

#[cfg(feature = "async")]
use super::tape::{hanging, ready, wait, wait_or_drop};

const TASKS: [(i64, u64); 3] = [(0, 100), (1, 37), (2, 0)];

#[derive(Debug, Clone, Copy)]
struct Shape {
    attributes: Attributes,
    sealed: bool,
    ahead: u32,
    /// The bytes of the window.
    window: usize,
    /// The places for finished chunks.
    ledger: usize,
}

macro_rules! form {
    ($form:ident, $do:ident, $store:ident, $create:ident $reopen:ident $write:ident $some:ident
        $record:ident $space:ident $key:ident $commit:ident $close:ident) => {
        fn $form(tape: &Tape, shape: &Shape, seed: u64) {
            let dice = &mut Dice::new(seed);
            let Shape { attributes, sealed, ahead, .. } = *shape;
            for turn in 0..3 {
                if turn == 2 {
                    tape.mend();
                }
                let (pens, ledger) = (&mut [Pen::EMPTY; 3], &mut [Finished::EMPTY; 64]);
                let (window, ledger) =
                    (&mut [0; 4096][..shape.window], &mut ledger[..shape.ledger]);
                let memory = Memory { pens, ledger, window };
                let options = Options { sealed, ahead, ..Options::default() };
                let made = match turn {
                    0 => {
                        let (about, tasks) = (&attributes, &TASKS[..]);
                        let store = $store(tape);
                        $do(Writer::$create(store, about, b"traces", tasks, memory, options))
                    }
                    _ => $do(Writer::$reopen($store(tape), memory, options)),
                };
                tape.note("open", made.as_ref().map(|_| 0_u64));
                let Ok(mut file) = made else { continue };
                for _ in 0..12 {
                    let (what, local) = (dice.below(12), dice.below(7) as u32 / 2);
                    let len = [3, 36, 90, 250][dice.below(4) as usize];
                    let bytes = dice.bytes(len);
                    for _ in 0..2 {
                        // what fails is done again
                        let done = match what {
                            0 | 1 => $do(file.$commit()).map(|()| 0),
                            2 => $do(file.$close()).map(|()| 0),
                            3 => $do(file.$some(local, &bytes)).map(|n| n as u64),
                            4 => $do(file.$record(local, &bytes)).map(|()| 0),
                            5 => $do(file.$space(local, len)).map(|()| 0),
                            _ if attributes.keyval => {
                                $do(file.$key(local, len, &bytes)).map(|()| 0)
                            }
                            _ => $do(file.$write(local, &bytes)).map(|()| 0),
                        };
                        if tape.note("call", done) {
                            break;
                        }
                    }
                    let cursor = file.cursor(local).ok().map(|at| (at.chunk(), at.used()));
                    tape.say(&format!("{cursor:?}"));
                }
                tape.note("close", $do(file.$close()).map(|()| 0_u64));
            }
        }
    };
}

form!(blocking, now, plain, create reopen write write_some write_record ensure_free_space
    write_key commit close);
#[cfg(feature = "async")]
form!(asynchronous, wait, ready, create_async reopen_async write_async write_some_async
    write_record_async ensure_free_space_async write_key_async commit_async close_async);
#[cfg(feature = "async")]
form!(dropped, wait_or_drop, hanging, create_async reopen_async write_async write_some_async
    write_record_async ensure_free_space_async write_key_async commit_async close_async);

pub(super) fn rows() -> Vec<Row> {
    // The same steps on every host, not the host's byte order.
    let (order, data_order) = (ByteOrder::Little, ByteOrder::Little);
    let attributes = Attributes { fsblksize: 512, order, data_order, ..Attributes::DEFAULT };
    let plain = Shape { attributes, sealed: false, ahead: 0, window: 1076, ledger: 64 };
    let keyval = Attributes { keyval: true, ..attributes };
    let big = Attributes { order: ByteOrder::Big, ..attributes };
    let shapes = [
        ("plain", plain),
        ("sealed", Shape { sealed: true, ..plain }),
        ("ahead", Shape { ahead: 2, window: 4096, ..plain }),
        ("short ledger", Shape { sealed: true, ledger: 4, ..plain }),
        ("keyval", Shape { attributes: keyval, sealed: true, ahead: 1, ..plain }),
        ("big-endian", Shape { attributes: big, ..plain }),
    ];
    let row = |(name, shape): (_, Shape)| {
        let forms = vec![
            Box::new(move |tape: &Tape, seed| blocking(tape, &shape, seed)) as History,
            #[cfg(feature = "async")]
            Box::new(move |tape, seed| asynchronous(tape, &shape, seed)),
            #[cfg(feature = "async")]
            Box::new(move |tape, seed| dropped(tape, &shape, seed)),
        ];
        Row { writer: "sion::Writer", shape: name, seeds: 2, start: vec![5; 3000], forms }
    };
    shapes.into_iter().map(row).collect()
}
