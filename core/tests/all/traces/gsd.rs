//! `gsd::Writer`.

use super::tape::{Dice, Tape, now, plain};
use super::{History, Row};
use striae_core::gsd::{Attributes, ChunkType, Slot, Version, Writer};
use striae_kit::gsd_files::golden_file;

#[cfg(feature = "async")]
use super::tape::{hanging, ready, wait, wait_or_drop};

const NAMES: [&[u8]; 6] = [b"a", b"bb", b"step", b"particles/position", b"x/y", b"long name"];

/// What a history may do besides chunks, frames and commits.
#[derive(Debug, Clone, Copy)]
struct Shape {
    about: Attributes<'static>,
    /// Goes on with the file in the store instead of making one.
    opens: bool,
    /// Upgrades and truncates.
    rebuilds: bool,
}

const PLAIN: Attributes<'static> =
    Attributes { application: "traces", schema: "s", index_slots: 16, names_len: 64, ..DEFAULT };
const DEFAULT: Attributes<'static> = Attributes { shown_slots: 4, ..Attributes::DEFAULT };

macro_rules! form {
    ($form:ident, $do:ident, $store:ident: $($create:ident $open:ident $name:ident $find:ident
        $write:ident $begin:ident $piece:ident $finish:ident $end:ident $discard:ident
        $commit:ident $close:ident $upgrade:ident $truncate:ident)*) => { $(
        mod $form {
            use super::*;

            pub(super) fn history(tape: &Tape, shape: &Shape, seed: u64) {
                let dice = &mut Dice::new(seed);
                let made = match shape.opens {
                    true => $do(Writer::$open($store(tape), [Slot::EMPTY; 6])),
                    false => $do(Writer::$create($store(tape), &shape.about, [Slot::EMPTY; 6])),
                };
                if let Some(mut file) = kept(tape, made) {
                    for _ in 0..22 {
                        let (what, id) = (dice.below(20), dice.below(4) as u16);
                        let (rows, seed) = (dice.below(9), dice.below(1 << 32));
                        for _ in 0..2 { // what fails is done again
                            let dice = &mut Dice::new(seed + 1);
                            let file = &mut file;
                            let done = match what {
                                0..8 => {
                                    let bytes = dice.bytes(rows * 12);
                                    let chunk = $do(file.$write(id, ChunkType::F32, 3, &bytes));
                                    tape.note("chunk", chunk.map(|chunk| chunk.span.offset()))
                                }
                                8 => match $do(file.$begin(id, ChunkType::U16, 1)) {
                                    Ok(mut chunk) => {
                                        for _ in 0..dice.below(3) {
                                            let done = $do(chunk.$piece(&dice.bytes(2 * rows)));
                                            tape.note("piece", done.map(|()| 0_u64));
                                        }
                                        let done = $do(chunk.$finish());
                                        tape.note("finish", done.map(|chunk| chunk.span.offset()))
                                    }
                                    Err(error) => tape.note("begin", Err::<u64, _>(error)),
                                },
                                9 | 10 => {
                                    let name = NAMES[dice.below(6) as usize];
                                    tape.note("name", $do(file.$name(name)))
                                }
                                11 => {
                                    let id = $do(file.$find(NAMES[dice.below(6) as usize]));
                                    tape.note("find", id.map(|id| id.map_or(9, u64::from)))
                                }
                                12 => {
                                    $do(file.$discard());
                                    true
                                }
                                13 => {
                                    file.set_one_sync(dice.below(2) == 1);
                                    file.set_names_in_place(dice.below(2) == 1);
                                    true
                                }
                                14 if shape.rebuilds => {
                                    let done = match dice.below(2) {
                                        0 => $do(file.$upgrade()),
                                        _ => $do(file.$truncate()),
                                    };
                                    tape.note("rebuild", done.map(|()| 0_u64))
                                }
                                15 => tape.note("close", $do(file.$close()).map(|()| 0_u64)),
                                16 | 17 => tape.note("commit", $do(file.$commit()).map(|()| 0_u64)),
                                _ => tape.note("end", $do(file.$end())),
                            };
                            say(tape, file);
                            if done {
                                break;
                            }
                        }
                    }
                }
                go_on(tape, dice);
            }

            /// What the next program does.
            fn go_on(tape: &Tape, dice: &mut Dice) {
                tape.mend();
                let opened = $do(Writer::$open($store(tape), [Slot::EMPTY; 6]));
                let Some(mut file) = kept(tape, opened) else { return };
                say(tape, &file);
                for id in 0..2 {
                    tape.note("name", $do(file.$name(NAMES[id as usize])));
                    let chunk = $do(file.$write(id, ChunkType::I64, 1, &dice.bytes(16)));
                    tape.note("chunk", chunk.map(|chunk| chunk.span.offset()));
                }
                tape.note("end", $do(file.$end()));
                tape.note("close", $do(file.$close()).map(|()| 0_u64));
                say(tape, &file);
            }
        }
    )* };
}

form!(blocking, now, plain: create open name find_name write_chunk begin_chunk write finish
    end_frame discard_frame commit close upgrade truncate);
#[cfg(feature = "async")]
form!(asynchronous, wait, ready: create_async open_async name_async find_name_async
    write_chunk_async begin_chunk_async write_async finish_async end_frame_async
    discard_frame_async commit_async close_async upgrade_async truncate_async);
#[cfg(feature = "async")]
form!(dropped, wait_or_drop, hanging: create_async open_async name_async find_name_async
    write_chunk_async begin_chunk_async write_async finish_async end_frame_async
    discard_frame_async commit_async close_async upgrade_async truncate_async);

fn kept<T, E: std::fmt::Debug>(tape: &Tape, made: Result<T, E>) -> Option<T> {
    tape.note("made", made.as_ref().map(|_| 0_u64));
    made.ok()
}

fn say<S, B>(tape: &Tape, file: &Writer<S, B>) {
    let (frames, names, end) = (file.frames(), file.names(), file.data_end());
    tape.say(&format!("{frames} {names} {end} {}", file.is_committed()));
}

/// Chunks whose places are given before their bytes are there. Only the blocking form has them.
fn placed(tape: &Tape, shape: &Shape, seed: u64) {
    let dice = &mut Dice::new(seed);
    let made = Writer::create(plain(tape), &shape.about, [Slot::EMPTY; 6]);
    let Some(mut file) = kept(tape, made) else { return };
    tape.note("name", file.name(NAMES[0]));
    tape.note("name", file.name(NAMES[1]));
    for _ in 0..6 {
        let mut chunks = Vec::new();
        for id in 0..2 {
            let chunk = file.place_chunk(id, ChunkType::U8, 1 + dice.below(70), 1);
            tape.note("place", chunk.as_ref().map(|chunk| chunk.span.offset()));
            chunks.extend(chunk);
        }
        if dice.below(3) == 0 {
            tape.note("commit", file.commit().map(|()| 0_u64));
        }
        for chunk in chunks {
            let crc = dice.below(1 << 32) as u32;
            tape.note("add", file.add_placed(chunk, crc).map(|()| 0_u64));
        }
        match dice.below(6) {
            0 => file.discard_frame(),
            _ => drop(tape.note("end", file.end_frame())),
        }
        tape.note("commit", file.commit().map(|()| 0_u64));
        say(tape, &file);
    }
}

pub(super) fn rows() -> Vec<Row> {
    let plain = Shape { about: PLAIN, opens: false, rebuilds: false };
    let about = move |about| Shape { about, ..plain };
    let sectors = Attributes { align: 512, one_sync: true, ..PLAIN };
    let sums = Attributes { checksums: true, ..PLAIN };
    let old = Attributes { layer: Version { major: 1, minor: 0 }, ..PLAIN };
    let stock = Shape { opens: true, rebuilds: true, ..plain };
    let file = |name: &str| golden_file(name);
    let rows = [
        ("plain", plain, Vec::new()),
        ("sectors", about(sectors), Vec::new()),
        ("checksums", about(sums), Vec::new()),
        ("rebuilt", Shape { rebuilds: true, ..plain }, vec![7; 300]),
        ("layer 1", Shape { rebuilds: true, ..about(old) }, Vec::new()),
        ("of gsd", stock, file("v21_names_70")),
        ("of gsd 1", stock, file("v10_unsorted_ids")),
    ];
    let row = |(shape, of, start): (_, Shape, Vec<u8>)| Row {
        writer: "gsd::Writer",
        shape,
        seeds: if start.len() > 1000 { 4 } else { 16 },
        start,
        forms: vec![
            Box::new(move |tape: &Tape, seed| blocking::history(tape, &of, seed)) as History,
            #[cfg(feature = "async")]
            Box::new(move |tape, seed| asynchronous::history(tape, &of, seed)),
            #[cfg(feature = "async")]
            Box::new(move |tape, seed| dropped::history(tape, &of, seed)),
        ],
    };
    let alone: History = Box::new(move |tape, seed| placed(tape, &about(sums), seed));
    let (writer, start) = ("gsd::Writer", Vec::new());
    let placed = Row { writer, shape: "placed", seeds: 6, start, forms: vec![alone] };
    rows.into_iter().map(row).chain([placed]).collect()
}
