//! A logger of a fixed shape keeps what it promises, on the same media as the one that can do more,
//! and writes the same kind of file.

use super::{
    CARD, Small, an_older_copy_is_left_alone, are_more_than, cached, counts, direct, go_on,
    keep_what_is_promised, no_commit_is_lost, run, value,
};
use striae_core::gsd::fixed::Fault as Wrong;
use striae_core::gsd::{Attributes, ChunkType, FixedLogger, Logger, Reader, Shape, Version};
use striae_core::step::DriveError;
use striae_core::store::WriteAt;
use striae_kit::gsd_files::{crc32c, signed, with};
use striae_kit::power::{Fault, Model, PowerStore};

const NAMES: [&str; 3] = ["temperature", "position", "x"];

const ABOUT: Attributes<'static> = Attributes {
    application: "a device",
    schema: "probe",
    schema_version: Version { major: 2, minor: 3 },
    align: 512,
    index_slots: 320,
    shown_slots: 16,
    names_len: 1,
    ..Attributes::DEFAULT
};

const fn of(about: &Attributes<'static>) -> Shape<'static, 3> {
    match Shape::new(about, NAMES) {
        Ok(shape) => shape,
        Err(_) => panic!("no shape"),
    }
}

static SHAPE: Shape<'static, 3> = of(&ABOUT);
static PACKED: Shape<'static, 3> =
    of(&Attributes { align: 1, index_slots: 50, shown_slots: 1, ..ABOUT });
static STOCK: Shape<'static, 3> = of(&Attributes { align: 8, shown_slots: 128, ..ABOUT });

type Log<S> = FixedLogger<'static, S, 3>;

/// Chunks come in any order, and not all of them in each frame.
fn ids(frame: u64) -> Vec<u16> {
    match frame % 3 {
        0 => vec![2, 0, 1],
        1 => vec![1, 2],
        _ => vec![0],
    }
}

fn log_frame<S: WriteAt>(log: &mut Log<S>, frame: u64) {
    ids(frame).into_iter().for_each(|id| log.write(id, &value(frame, id)).unwrap());
    assert_eq!(log.end_frame().unwrap(), frame);
}

impl Small for &'static Shape<'static, 3> {
    type Log<S: WriteAt> = Log<S>;

    fn open_or_create<S: WriteAt>(self, store: S) -> Result<Log<S>, String> {
        Log::open_or_create(store, self).map_err(|error| error.to_string())
    }

    fn log_frame<S: WriteAt>(log: &mut Log<S>, frame: u64) {
        log_frame(log, frame);
    }

    fn frames(image: &[u8]) -> Result<u64, String> {
        frames(image)
    }

    fn compare<S: WriteAt>(log: &Log<S>, frames: u64) {
        assert_eq!(log.frames(), frames);
    }

    fn into_store<S: WriteAt>(log: Log<S>) -> S {
        log.into_store()
    }
}

/// The number of frames of a file, all of which must be right; it has all names.
fn frames(image: &[u8]) -> Result<u64, String> {
    let (frames, names) = counts(image, &NAMES, |frame, id| ids(frame).contains(&id))?;
    assert_eq!(names, 3);
    Ok(frames)
}

#[test]
fn a_fixed_log_goes_on_whatever_was_torn_or_erased() {
    let starts = [vec![], vec![0xFF; CARD]];
    for (shape, erased, count) in [(&SHAPE, 16, 2), (&PACKED, 0, 3), (&STOCK, 0, 1)] {
        let model = Model { erased, ..Model::bytes() };
        are_more_than(2000, no_commit_is_lost(shape, &starts, &model, (count, 2)));
        let made = Model { erased: 16, ..Model::bytes() };
        // Cut while it is made.
        are_more_than(1000, no_commit_is_lost(shape, &starts, &made, (0, 2)));
    }
}

#[test]
fn a_fixed_log_keeps_what_the_table_of_media_promises() {
    let mut runs = direct(&SHAPE, 6);
    runs.extend(cached(&SHAPE, 6));
    keep_what_is_promised(&SHAPE, &runs, 600);
}

/// Whichever operation fails, the call can be repeated, and the frame is in the file once.
#[test]
fn a_call_that_failed_can_be_repeated() {
    let (whole, _) = run(&[], &SHAPE, 4);
    for at in 0..whole.ops() {
        let store = PowerStore::new(&[]);
        store.fail(Fault { at, kept: 100, lasting: false });
        let again = || Log::open_or_create(store.clone(), &SHAPE);
        let mut log = again().or_else(|_| again()).unwrap();
        for frame in 0..4 {
            for id in ids(frame) {
                let mut write = || log.write(id, &value(frame, id));
                write().or_else(|_| write()).unwrap();
            }
            let ended = log.end_frame();
            assert_eq!(ended.or_else(|_| log.end_frame()).unwrap(), frame);
        }
        assert_eq!(frames(&store.live()), Ok(4), "operation {at}");
        assert_eq!(go_on(&store.live(), &SHAPE).unwrap().1, 4);
    }
}

#[test]
fn a_frame_that_is_discarded_leaves_no_trace() {
    let (expected, _) = run(&[], &SHAPE, 2);
    let store = PowerStore::default();
    let mut log = Log::open_or_create(store.clone(), &SHAPE).unwrap();
    for frame in 0..2 {
        log.write(1, &[[7_u64]]).unwrap();
        log.discard_frame();
        log_frame(&mut log, frame);
    }
    assert!(*store.live() == *expected.live());
}

/// What a logger of both kinds writes has the same header, names, entries and chunks.
#[test]
fn the_other_logger_goes_on_with_the_file_and_this_one_after_it() {
    for shape in [&SHAPE, &PACKED, &STOCK] {
        let (store, _) = run(&[], shape, 2);
        let mut log = Logger::<_, 4>::open(store.clone()).unwrap();
        for id in ids(2) {
            assert_eq!(log.name(NAMES[usize::from(id)]).unwrap(), id);
            log.write(id, &value(2, id)).unwrap();
        }
        log.end_frame().unwrap();
        let (own, _) = run(&[], shape, 3);
        assert!(*store.live() == *own.live());
        let mut log = Log::open_or_create(store.clone(), shape).unwrap();
        log_frame(&mut log, 3);
        assert_eq!(frames(&store.live()), Ok(4));
    }
}

/// Whatever the attributes reserve: here 64 bytes.
#[test]
fn names_have_the_place_that_they_need() {
    let names = ["particles/temperature_of_surface", "particles/temperature_of_the_air", "x"];
    let shape = Shape::new(&ABOUT, names).unwrap();
    let store = PowerStore::default();
    let mut log = FixedLogger::open_or_create(store.clone(), &shape).unwrap();
    (0..3).for_each(|id| log.write(id, &value(0, id)).unwrap());
    log.end_frame().unwrap();
    assert_eq!(counts(&store.live(), &names, |_, _| true), Ok((1, 3)));
    let live = store.live();
    let file = Reader::open(&*live, &mut [0; 256]).unwrap();
    assert_eq!(file.head().header.names.units, 2);
}

#[test]
fn another_file_is_left_alone() {
    let (store, _) = run(&[], &SHAPE, 3);
    let image = store.live().to_vec();
    let refused = |image: &[u8], shape| go_on(image, shape).map(|(_, found)| found).unwrap_err();
    let another = "another program made the file, or it has another shape";
    assert_eq!(refused(&image, &PACKED), another);
    static RENAMED: Shape<'static, 3> = of(&Attributes { application: "a devise", ..ABOUT });
    assert_eq!(refused(&image, &RENAMED), another);
    let shape = Shape::new(&ABOUT, ["temperature", "position", "y"]).unwrap();
    assert!(FixedLogger::open_or_create(PowerStore::new(&image), &shape).is_err());
    // An index or names elsewhere, of a logger that may move them.
    let more = PowerStore::new(&image);
    let mut log = Logger::<_, 4>::open(more.clone()).unwrap();
    log.name("one more").unwrap();
    log.writer().commit().unwrap();
    assert_eq!(refused(&more.live(), &SHAPE), another);
    let mut text = vec![0; CARD];
    text[..5].copy_from_slice(b"notes");
    assert_eq!(refused(&text, &SHAPE), "the store is neither blank nor a GSD file");
    for at in [40, 44, 48, 112] {
        let mut renamed = image.clone(); // in the versions, the application or the schema
        renamed[at] ^= 1;
        assert_eq!(refused(&renamed, &SHAPE), another, "byte {at}");
    }
    let mut damaged = image.clone();
    damaged[190] ^= 1;
    assert_eq!(refused(&damaged, &SHAPE), "another program has changed the file, or it is damaged");
}

#[test]
fn a_full_index_is_refused_before_anything_is_written() {
    for (shape, count) in [(&SHAPE, 21), (&PACKED, 25)] {
        let store = PowerStore::default();
        let mut log = Log::open_or_create(store.clone(), shape).unwrap();
        assert_eq!(log.frames_left(2), count);
        for frame in 0..count {
            assert_eq!(log.frames_left(2), count - frame);
            log.write(0, &[[frame]]).unwrap();
            log.write(2, &[[frame]]).unwrap();
            assert_eq!(log.end_frame().unwrap(), frame);
        }
        assert_eq!(log.frames_left(2), 0);
        log.write(0, &[[count]]).unwrap();
        log.write(2, &[[count]]).unwrap();
        let before = store.live().to_vec();
        assert!(matches!(log.end_frame(), Err(DriveError::Format(Wrong::Full))));
        assert!(*store.live() == before);
        log.discard_frame();
        assert_eq!(Reader::open(&*store.live(), &mut [0; 256]).unwrap().frames(), count);
    }
}

/// A frame that the log counts is in the file when the next one is refused.
#[test]
fn a_full_log_completes_the_commit_that_failed_before() {
    let mut late = 0;
    for fault in 0..20 {
        let store = PowerStore::default();
        let mut log = Log::open_or_create(store.clone(), &SHAPE).unwrap();
        let count = log.frames_left(2);
        for frame in 0..count {
            log.write(0, &[[frame]]).unwrap();
            log.write(2, &[[frame]]).unwrap();
            if frame == count - 1 {
                store.fail(Fault { at: store.ops() + fault, kept: 0, lasting: false });
            }
            late += usize::from(log.end_frame().is_err() && log.frames() == count);
        }
        store.mend();
        if log.frames() == count {
            log.write(0, &[[count]]).unwrap();
            log.write(2, &[[count]]).unwrap();
            assert!(matches!(log.end_frame(), Err(DriveError::Format(Wrong::Full))), "{fault}");
            assert_eq!(Reader::open(&*store.live(), &mut [0; 256]).unwrap().frames(), count);
        }
    }
    assert!(late > 1, "{late} commits");
}

#[test]
fn a_wrong_request_is_refused_and_changes_nothing() {
    let store = PowerStore::default();
    let mut log = Log::open_or_create(store.clone(), &SHAPE).unwrap();
    let before = store.live().to_vec();
    let wrong = |result| match result {
        Err(DriveError::Format(fault)) => fault,
        other => panic!("{other:?}"),
    };
    assert_eq!(wrong(log.write(3, &[[1_u8]])), Wrong::NoName);
    assert_eq!(wrong(log.write::<u8, 0>(0, &[])), Wrong::Rows);
    assert_eq!(wrong(log.chunk(0, ChunkType::F32, 3, &[0; 16])), Wrong::Rows);
    assert_eq!(wrong(log.end_frame().map(drop)), Wrong::NoChunks);
    assert!(*store.live() == before);
    log.write(0, &[[1_u8]]).unwrap();
    assert_eq!(wrong(log.write(0, &[[1_u8]])), Wrong::Duplicate);
    log.end_frame().unwrap();
    assert_eq!(log.frames(), 1);
}

#[test]
fn a_fixed_log_leaves_an_older_copy_alone() {
    an_older_copy_is_left_alone(
        &SHAPE,
        |log| log.write(0, &[[1_u16]]),
        |log| log.end_frame().unwrap(),
    );
}

/// Those that must be swapped on this host, too.
#[test]
fn values_go_to_the_store_at_least_eight_at_once() {
    let store = PowerStore::default();
    let mut log = Log::open_or_create(store.clone(), &SHAPE).unwrap();
    let before = store.ops();
    log.write(0, &[[7_u64; 64]]).unwrap();
    assert!((1..=8).contains(&(store.ops() - before)));
    log.write(1, &[[7_u8; 64]]).unwrap();
    assert!((2..=9).contains(&(store.ops() - before)));
}

/// Only after a commit that was cut there is something to end without chunks.
#[test]
fn a_fixed_log_that_is_opened_again_has_no_frame_to_end() {
    let (store, _) = run(&[], &SHAPE, 2);
    let mut log = Log::open_or_create(store.clone(), &SHAPE).unwrap();
    let before = store.live().to_vec();
    assert_eq!(log.end_frame(), Err(DriveError::Format(Wrong::NoChunks)));
    assert!(*store.live() == before);
}

/// Its checksums are right, but its last entry is not used, or of a frame after as many frames as
/// there are entries.
#[test]
fn a_log_whose_last_entry_cannot_be_is_left_alone() {
    let (store, _) = run(&[], &SHAPE, 2);
    let image = store.live().to_vec();
    let number = |at: usize| -> usize {
        u64::from_le_bytes(image[at..at + 8].try_into().unwrap()).try_into().unwrap()
    };
    // Of the header the location of the index; of the record entries, crc_from and index_crc.
    let (index, entries, crc_from) = (number(8), number(184), number(216));
    let last = index + 32 * (entries - 1);
    let with_last = |at: usize, value: u64| {
        let bytes = with(&image, last + at, &value.to_le_bytes());
        let crc = crc32c(&[&bytes[index + 32 * crc_from..last + 32]]);
        signed(with(&bytes, 236, &crc.to_le_bytes()))
    };
    assert!(with_last(0, 1) == image);
    let damaged = "another program has changed the file, or it is damaged";
    for (at, value) in [(0, u64::try_from(entries).unwrap()), (16, 0)] {
        assert_eq!(go_on(&with_last(at, value), &SHAPE).err().unwrap(), damaged);
    }
}
