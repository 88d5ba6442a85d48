//! Memory that the logger needs: of itself, and on the stack.

use crate::CardFailure;
use crate::card::Card;
use crate::host::File;
use crate::stack::used;
use core::fmt::Write as _;
use striae_core::gsd::fixed::FixedError;
use striae_core::gsd::{Attributes, ChunkType, FixedLogger, Logger, OwnLogger, Shape};

/// As of the example.
fn about() -> Attributes<'static> {
    Attributes { checksums: true, index_slots: 20, names_len: 64, ..Attributes::default() }
}

const FIXED: Attributes<'static> =
    Attributes { align: 512, index_slots: 64, shown_slots: 16, ..Attributes::DEFAULT };

static SHAPE: Shape<'static, 3> = match Shape::new(&FIXED, ["boot", "acceleration", "signal"]) {
    Ok(shape) => shape,
    Err(_) => panic!("no file can have this shape"),
};

static OWN: Shape<'static, 0> = match Shape::new(&FIXED, []) {
    Ok(shape) => shape,
    Err(_) => panic!("no file can have these attributes"),
};

/// Reports the size of loggers without their stores.
pub fn sizes(report: &mut File) {
    let sizes = [size_of::<Logger<(), 4>>(), size_of::<Logger<(), 8>>()];
    defmt::info!("Logger of 4 slots: {=usize} bytes, of 8: {=usize}", sizes[0], sizes[1]);
    let _ = write!(report, "logger_4 {}\nlogger_8 {}\n", sizes[0], sizes[1]);
    let fixed = size_of::<FixedLogger<'_, (), 3>>();
    defmt::info!("FixedLogger of 3 names: {=usize} bytes", fixed);
    let _ = writeln!(report, "fixed_3 {fixed}");
    let own = size_of::<OwnLogger<'_, (), 4>>();
    defmt::info!("OwnLogger of 4 chunks: {=usize} bytes", own);
    let _ = writeln!(report, "own_4 {own}");
}

/// Reports the stack that calls of a logger of a fixed shape need.
pub fn fixed_stack(card: &mut Card, report: &mut File) {
    card.erase(0);
    card.power_on(u32::MAX);
    let mut show = |phase: &str, used: usize| {
        defmt::info!("stack of a fixed log, {=str}: {=usize} bytes", phase, used);
        let _ = writeln!(report, "stack_fixed_{phase} {used}");
    };
    let (created, create) = used(|| start_fixed(card).is_ok());
    show("create", create);
    let (opened, open) = used(|| start_fixed(card).is_ok());
    show("open", open);
    let Ok(mut log) = start_fixed(card) else { defmt::panic!("there is a log") };
    let (mut chunk, mut end_frame) = (0, 0);
    for frame in 0..3_u32 {
        chunk = used(|| log.write(1, &[[frame, 1, 2]])).1.max(chunk);
        chunk = used(|| log.write(0, &[[frame]])).1.max(chunk);
        end_frame = used(|| log.end_frame()).1.max(end_frame);
    }
    show("chunk", chunk);
    show("end_frame", end_frame);
    let frames = log.frames();
    let card = log.into_store();
    card.erase_header();
    let (again, bring_back) = used(|| start_fixed(card).is_ok_and(|log| log.frames() == 3));
    show("bring_back", bring_back);
    if !(created && opened && frames == 3 && again) {
        defmt::panic!("what was measured did not work");
    }
}

/// Reports the stack that calls of a logger for own files need, whose index and names move.
pub fn own_stack(card: &mut Card, report: &mut File) {
    card.erase(0);
    card.power_on(u32::MAX);
    let mut show = |phase: &str, used: usize| {
        defmt::info!("stack of an own log, {=str}: {=usize} bytes", phase, used);
        let _ = writeln!(report, "stack_own_{phase} {used}");
    };
    let (created, create) = used(|| start_own(card).is_ok());
    show("create", create);
    let (opened, open) = used(|| start_own(card).is_ok());
    show("open", open);
    let Ok(mut log) = start_own(card) else { defmt::panic!("there is a log") };
    let (mut name, mut chunk, mut end_frame) = (0, 0, 0);
    for (frame, text) in ["signal", "a name that is longer", "t"].iter().enumerate() {
        let (id, bytes) = used(|| log.name(text));
        let Ok(id) = id else { defmt::panic!("there is room for a name") };
        name = bytes.max(name);
        chunk = used(|| log.write(id, &[[frame as u32, 1, 2]])).1.max(chunk);
        end_frame = used(|| log.end_frame()).1.max(end_frame);
    }
    show("name", name);
    show("chunk", chunk);
    show("end_frame", end_frame);
    if !(created && opened && log.frames() == 3 && log.names() == 3) {
        defmt::panic!("what was measured did not work");
    }
}

#[inline(never)]
fn start_own(card: &mut Card) -> Result<OwnLogger<'static, &mut Card, 4>, FixedError<&mut Card>> {
    OwnLogger::open_or_create(card, &OWN)
}

#[inline(never)]
fn start_fixed(
    card: &mut Card,
) -> Result<FixedLogger<'static, &mut Card, 3>, FixedError<&mut Card>> {
    FixedLogger::open_or_create(card, &SHAPE)
}

/// Reports the stack that each kind of call needs, that of the card's functions included.
pub fn stack(card: &mut Card, report: &mut File) {
    card.erase(0);
    card.power_on(u32::MAX);
    let mut show = |phase: &str, used: usize| {
        defmt::info!("stack of {=str}: {=usize} bytes", phase, used);
        let _ = writeln!(report, "stack_{phase} {used}");
    };
    let (created, create) = used(|| start(card).is_ok());
    show("create", create);
    let (opened, open) = used(|| start(card).is_ok());
    show("open", open);
    let mut place: Option<Logger<&mut Card, 4>> = None;
    let (opened_in, open_in) =
        used(|| Logger::open_or_create_in(&mut place, &mut *card, &about()).is_ok());
    show("open_in", open_in);
    drop(place);
    let Ok(mut log) = start(card) else { defmt::panic!("there is a log") };
    let (id, name) = used(|| log.name("new"));
    show("name", name);
    let Ok(id) = id else { defmt::panic!("there is room for a name") };
    let (mut chunk, mut pieces, mut end_frame) = (0, 0, 0);
    for frame in 0..GROWTH {
        let bytes = frame.to_le_bytes();
        chunk = used(|| log.chunk(id, ChunkType::U32, 1, &bytes)).1.max(chunk);
        if frame % 2 == 1 {
            let of_pieces = used(|| {
                let mut chunk = log.begin_chunk(0, ChunkType::U32, 1)?;
                chunk.write(&bytes)?;
                chunk.finish().map(drop)
            });
            pieces = of_pieces.1.max(pieces);
        }
        end_frame = used(|| log.end_frame()).1.max(end_frame);
    }
    show("chunk", chunk);
    show("pieces", pieces);
    show("end_frame", end_frame);
    let frames = log.frames();
    let card = log.into_store();
    card.erase_header();
    let (again, bring_back) = used(|| start(card).is_ok_and(|log| log.frames() + 1 >= GROWTH));
    show("bring_back", bring_back);
    if !(created && opened && opened_in && frames == GROWTH && again) {
        defmt::panic!("what was measured did not work");
    }
}

/// Frames after which the index has grown, the most that a frame's end can take.
const GROWTH: u64 = 30;

#[inline(never)]
fn start(card: &mut Card) -> Result<Logger<&mut Card, 4>, CardFailure> {
    let mut log = Logger::open_or_create(card, &about())?;
    log.name("first")?;
    Ok(log)
}
