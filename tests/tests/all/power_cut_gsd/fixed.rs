//! A logger of a fixed shape keeps what it promises, on the same media as the one that can do more,
//! and writes the same kind of file.

use super::bytes;
use striae_core::gsd::fixed::Fault as Wrong;
use striae_core::gsd::{Attributes, ChunkType, FixedLogger, Logger, Reader, Shape, Version};
use striae_core::step::DriveError;
use striae_core::store::{BlockStore, Cached, StoreBlocks, WriteAt};
use striae_kit::power::{
    Crash, Fault, Lost, MEDIA, Model, PowerStore, Promise, Promises, describe,
};
use striae_kit::waiting::{Slow, Waits};

const CARD: usize = 1 << 16;

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

/// The values of a chunk: no byte of them is that of an erased sector.
fn value(frame: u64, name: u16) -> Vec<[u16; 2]> {
    let len = 7 + 53 * (frame + u64::from(name)) % 170;
    let byte = |at| u16::try_from(1 + (frame * 31 + u64::from(name) * 7 + at) % 250).unwrap();
    (0..len).map(|at| [byte(at) * 257, byte(at + 1) * 257]).collect()
}

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

/// The number of frames of a file, all of which must be right, and committed as far as its logger
/// and another one can tell.
fn frames(image: &[u8]) -> Result<u64, String> {
    let mut window = [0; 256];
    let file = Reader::open(image, &mut window).map_err(|error| error.to_string())?;
    for frame in 0..file.frames() {
        for (id, name) in (0..3).zip(NAMES) {
            assert_eq!(file.name_id(name.as_bytes(), &mut window).unwrap(), Some(id));
            let chunk = file.find(frame, id, &mut window).map_err(|error| error.to_string())?;
            assert_eq!(chunk.is_some(), ids(frame).contains(&id));
            let Some(chunk) = chunk else { continue };
            assert_eq!((chunk.kind, chunk.m), (ChunkType::U16, 2));
            let [start, end] = [chunk.span.offset(), chunk.span.end()];
            let found = &image[start.try_into().unwrap()..end.try_into().unwrap()];
            let values = value(frame, id);
            let expected = values.iter().flatten().flat_map(|value| value.to_le_bytes());
            if !expected.eq(found.iter().copied()) {
                return Err(format!("frame {frame} has other bytes"));
            }
        }
    }
    Ok(file.frames())
}

fn run_in<S: WriteAt>(
    start: &[u8],
    shape: &'static Shape<'static, 3>,
    count: u64,
    wrap: impl FnOnce(PowerStore) -> S,
) -> (PowerStore, Promises<u64>) {
    let store = PowerStore::new(start);
    let mut promises = Promises::new(0);
    let mut log = Log::open_or_create(wrap(store.clone()), shape).unwrap();
    for frame in 0..count {
        promises.begin(&store, frame + 1);
        log_frame(&mut log, frame);
        promises.end(&store);
    }
    (store, promises)
}

fn run(start: &[u8], shape: &'static Shape<'static, 3>, count: u64) -> (PowerStore, Promises<u64>) {
    run_in(start, shape, count, |store| store)
}

/// Goes on after a crash: the log, and its frames.
fn go_on(
    image: &[u8],
    shape: &'static Shape<'static, 3>,
) -> Result<(Log<PowerStore>, u64), String> {
    let store = PowerStore::new(image);
    match Log::open_or_create(store.clone(), shape) {
        Ok(log) => {
            let found = frames(&store.live())?;
            assert_eq!(log.frames(), found);
            Ok((log, found))
        }
        Err(error) => {
            assert!(*store.live() == *image, "not left alone: {error}");
            Err(error.to_string())
        }
    }
}

/// In every state all that was promised is there, and frames more can be logged.
fn no_commit_is_lost(shape: &'static Shape<'static, 3>, model: &Model, count: u64) -> usize {
    let mut states = 0;
    for start in [vec![], vec![0xFF; CARD]] {
        let (store, promises) = run(&start, shape, count);
        store.crashes(model, |crash: &Crash<'_>| {
            states += 1;
            let allowed = promises.allowed(crash.begun, crash.ended);
            let say = |error: &str| panic!("{}", describe(&store, crash, error));
            let (mut log, found) = go_on(crash.image, shape).unwrap_or_else(|error| say(&error));
            if !allowed.iter().any(|version| version.state == found) {
                say(&format!("{found} frames"));
            }
            if states % 7 == 0 {
                log_frame(&mut log, found);
                log_frame(&mut log, found + 1);
                assert_eq!(frames(&log.into_store().live()), Ok(found + 2));
            }
        });
    }
    states
}

#[test]
fn a_fixed_log_goes_on_whatever_was_torn_or_erased() {
    for (shape, erased, count) in [(&SHAPE, 16, 2), (&PACKED, 0, 3), (&STOCK, 0, 1)] {
        let model = Model { erased, ..bytes() };
        assert!(no_commit_is_lost(shape, &model, count) > 2000);
        let made = Model { erased: 16, ..bytes() };
        assert!(no_commit_is_lost(shape, &made, 0) > 1000); // cut while it is made
    }
}

/// Directly, and with a cache of one sector or of three.
#[test]
fn a_fixed_log_keeps_what_the_table_of_media_promises() {
    let card = [0xFF; CARD];
    let cached = |len: usize| {
        let wrap = |store| BlockStore::<_, _>::new(StoreBlocks(store), vec![Cached::EMPTY; len]);
        run_in(&card, &SHAPE, 6, |store| wrap(store).unwrap())
    };
    let runs = [run(&[], &SHAPE, 6), run(&card, &SHAPE, 6), cached(1), cached(3)];
    for medium in MEDIA {
        let (mut states, mut bad) = (0, 0);
        let model = (medium.model)();
        for (store, promises) in &runs {
            store.crashes(&model, |crash: &Crash<'_>| {
                let allowed = promises.allowed(crash.begun, crash.ended);
                let is_allowed = |frames| allowed.iter().any(|version| version.state == frames);
                let is_good = match go_on(crash.image, &SHAPE) {
                    Ok((_, found)) => is_allowed(found),
                    // Old bytes of other files are not blank, so no log is begun there.
                    Err(error) => {
                        model.lost == Lost::Noise && error.contains("blank") && is_allowed(0)
                    }
                };
                states += 1;
                bad += usize::from(!is_good);
            });
        }
        println!("{}: {bad} of {states} states are not as promised", medium.name);
        assert!(states > 600, "{}: {states}", medium.name);
        assert_eq!(medium.gsd == Promise::Kept, bad == 0, "{}: {bad}", medium.name);
    }
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

/// With every shape.
#[test]
fn an_asynchronous_fixed_log_writes_what_a_blocking_one_does() {
    for shape in [&SHAPE, &PACKED, &STOCK] {
        let (blocking, _) = run(&[], shape, 4);
        let (store, waits) = (PowerStore::default(), Waits::new(7));
        let done = waits.run(async {
            for frame in 0..4 {
                // as of a device that starts again for each frame
                let slow = Slow::new(store.clone(), &waits);
                let mut log = Log::open_or_create_async(slow, shape).await?;
                for id in ids(frame) {
                    log.write_async(id, &value(frame, id)).await?;
                }
                assert_eq!(log.end_frame_async().await?, frame);
            }
            Ok::<(), DriveError<_, Wrong>>(())
        });
        done.unwrap().unwrap();
        assert!(*store.live() == *blocking.live());
    }
}
