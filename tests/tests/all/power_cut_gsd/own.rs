//! A logger for own files keeps what it promises, on the same media as the one that can do more,
//! while its names and its index move.

use super::bytes;
use striae_core::gsd::fixed::Fault as Wrong;
use striae_core::gsd::{Attributes, ChunkType, Logger, OwnLogger, Reader, Shape};
use striae_core::step::DriveError;
use striae_core::store::{BlockStore, Cached, StoreBlocks, WriteAt};
use striae_kit::power::{
    Crash, Fault, Lost, MEDIA, Model, PowerStore, Promise, Promises, describe,
};
use striae_kit::waiting::{Slow, Waits};

const CARD: usize = 1 << 16;

/// The list of the first two is longer than the first list.
const NAMES: [&str; 4] = ["temperature", "a name that is as long as a unit of the list", "x", "y"];

const ABOUT: Attributes<'static> = Attributes {
    application: "a device",
    schema: "probe",
    align: 512,
    index_slots: 16,
    shown_slots: 16,
    names_len: 1,
    ..Attributes::DEFAULT
};

const fn of(about: &Attributes<'static>) -> Shape<'static, 0> {
    match Shape::new(about, []) {
        Ok(shape) => shape,
        Err(_) => panic!("no shape"),
    }
}

// The index of the first moves with the third frame, that of the second with the third and fourth,
// and that of the last with the first one.
static SHAPE: Shape<'static, 0> = of(&ABOUT);
static PACKED: Shape<'static, 0> =
    of(&Attributes { align: 1, index_slots: 1, shown_slots: 1, ..ABOUT });
static STOCK: Shape<'static, 0> = of(&Attributes { align: 8, shown_slots: 128, ..ABOUT });

type Log<S> = OwnLogger<'static, S, 4>;

/// The values of a chunk: no byte of them is that of an erased sector.
fn value(frame: u64, name: u16) -> Vec<[u16; 2]> {
    let len = 7 + 53 * (frame + u64::from(name)) % 170;
    let byte = |at| u16::try_from(1 + (frame * 31 + u64::from(name) * 7 + at) % 250).unwrap();
    (0..len).map(|at| [byte(at) * 257, byte(at + 1) * 257]).collect()
}

/// The number of names after so many frames: there is a new one in each second frame.
fn names(frames: u64) -> u32 {
    u32::try_from(frames.div_ceil(2)).unwrap().min(4)
}

/// The ids of a frame; the last one comes first.
fn ids(frame: u64) -> impl Iterator<Item = u16> {
    (0..4).filter(move |&id| u32::from(id) < names(frame + 1)).rev()
}

fn log_frame<S: WriteAt>(log: &mut Log<S>, frame: u64) {
    let mut last = None;
    for name in NAMES.iter().take(names(frame + 1).try_into().unwrap()) {
        last = Some(log.name(name).unwrap());
    }
    assert_eq!(last, ids(frame).next());
    ids(frame).for_each(|id| log.write(id, &value(frame, id)).unwrap());
    assert_eq!(log.end_frame().unwrap(), frame);
}

/// The number of frames of a file, all of which must be right; it has their names and no others.
fn frames(image: &[u8]) -> Result<u64, String> {
    let mut window = [0; 256];
    let file = Reader::open(image, &mut window).map_err(|error| error.to_string())?;
    for frame in 0..file.frames() {
        for (id, name) in (0..4).zip(NAMES) {
            let chunk = file.find(frame, id, &mut window).map_err(|error| error.to_string())?;
            assert_eq!(chunk.is_some(), ids(frame).any(|other| other == id));
            let Some(chunk) = chunk else { continue };
            assert_eq!(file.name_id(name.as_bytes(), &mut window).unwrap(), Some(id));
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
    assert_eq!(file.head().names, names(file.frames()));
    Ok(file.frames())
}

fn run_in<S: WriteAt>(
    start: &[u8],
    shape: &'static Shape<'static, 0>,
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

fn run(start: &[u8], shape: &'static Shape<'static, 0>, count: u64) -> (PowerStore, Promises<u64>) {
    run_in(start, shape, count, |store| store)
}

/// Goes on after a crash: the log, and its frames.
fn go_on(
    image: &[u8],
    shape: &'static Shape<'static, 0>,
) -> Result<(Log<PowerStore>, u64), String> {
    let store = PowerStore::new(image);
    match Log::open_or_create(store.clone(), shape) {
        Ok(log) => {
            let found = frames(&store.live())?;
            assert_eq!((log.frames(), log.names()), (found, names(found)));
            Ok((log, found))
        }
        Err(error) => {
            assert!(*store.live() == *image, "not left alone: {error}");
            Err(error.to_string())
        }
    }
}

/// In every state all that was promised is there, and frames more can be logged.
fn no_commit_is_lost(shape: &'static Shape<'static, 0>, model: &Model, count: u64) -> usize {
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
                (found..found + 3).for_each(|frame| log_frame(&mut log, frame));
                assert_eq!(frames(&log.into_store().live()), Ok(found + 3));
            }
        });
    }
    states
}

#[test]
fn an_own_log_goes_on_whatever_was_torn_or_erased() {
    let quick = Model { exhaustive: 16, random: 3, torn: 2, ..bytes() };
    for (shape, erased, count) in [(&SHAPE, 8, 7), (&PACKED, 0, 4), (&STOCK, 0, 3)] {
        let model = Model { erased, ..quick.clone() };
        assert!(no_commit_is_lost(shape, &model, count) > 2000);
    }
}

/// Directly, and with a cache of one sector or of three.
#[test]
fn an_own_log_keeps_what_the_table_of_media_promises() {
    let card = [0xFF; CARD];
    let cached = |len: usize| {
        let wrap = |store| BlockStore::<_, _>::new(StoreBlocks(store), vec![Cached::EMPTY; len]);
        run_in(&card, &SHAPE, 7, |store| wrap(store).unwrap())
    };
    let runs = [run(&[], &SHAPE, 7), run(&card, &SHAPE, 7), cached(1), cached(3)];
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

/// Whichever operation fails, the call can be repeated; names and frames are in the file once.
#[test]
fn a_call_of_an_own_log_that_failed_can_be_repeated() {
    for shape in [&SHAPE, &PACKED] {
        let (whole, _) = run(&[], shape, 6);
        for at in 0..whole.ops() {
            let store = PowerStore::new(&[]);
            store.fail(Fault { at, kept: 20, lasting: false });
            let again = || Log::open_or_create(store.clone(), shape);
            let mut log = again().or_else(|_| again()).unwrap();
            for frame in 0..6 {
                for name in NAMES.iter().take(names(frame + 1).try_into().unwrap()) {
                    log.name(name).or_else(|_| log.name(name)).unwrap();
                }
                for id in ids(frame) {
                    let mut write = || log.write(id, &value(frame, id));
                    write().or_else(|_| write()).unwrap();
                }
                let ended = log.end_frame();
                assert_eq!(ended.or_else(|_| log.end_frame()).unwrap(), frame);
            }
            assert_eq!(frames(&store.live()), Ok(6), "operation {at}");
            assert_eq!(go_on(&store.live(), shape).unwrap().1, 6);
        }
    }
}

/// Each goes on with what the other one wrote.
#[test]
fn a_logger_goes_on_with_an_own_log_and_that_after_it() {
    for shape in [&SHAPE, &PACKED, &STOCK] {
        let store = PowerStore::default();
        for frame in 0..9 {
            if frame % 3 == 1 {
                let mut log = Logger::<_, 4>::open(store.clone()).unwrap();
                for name in NAMES.iter().take(names(frame + 1).try_into().unwrap()) {
                    log.name(name).unwrap();
                }
                ids(frame).for_each(|id| log.write(id, &value(frame, id)).unwrap());
                log.end_frame().unwrap();
            } else {
                log_frame(&mut Log::open_or_create(store.clone(), shape).unwrap(), frame);
            }
            assert_eq!(frames(&store.live()), Ok(frame + 1));
        }
    }
}

#[test]
fn a_file_that_is_not_an_own_log_is_left_alone() {
    let (store, _) = run(&[], &SHAPE, 3);
    let image = store.live().to_vec();
    let refused = |image: &[u8], shape| go_on(image, shape).map(|(_, found)| found).unwrap_err();
    let another = "another program made the file, or it has another shape";
    assert_eq!(refused(&image, &PACKED), another);
    static RENAMED: Shape<'static, 0> = of(&Attributes { application: "a devise", ..ABOUT });
    assert_eq!(refused(&image, &RENAMED), another);
    let summed = PowerStore::default();
    let about = Attributes { checksums: true, ..ABOUT };
    Logger::<_, 4>::create(summed.clone(), &about).unwrap();
    assert_eq!(refused(&summed.live(), &SHAPE), another);
    let mut text = vec![0; CARD];
    text[..5].copy_from_slice(b"notes");
    assert_eq!(refused(&text, &SHAPE), "the store is neither blank nor a GSD file");
    let mut damaged = image;
    damaged[190] ^= 1;
    assert_eq!(refused(&damaged, &SHAPE), "another program has changed the file, or it is damaged");
}

#[test]
fn an_own_log_discards_chunks_and_refuses_wrong_ones() {
    let store = PowerStore::default();
    let mut log = Log::open_or_create(store.clone(), &PACKED).unwrap();
    let wrong = |result| match result {
        Err(DriveError::Format(fault)) => fault,
        other => panic!("{other:?}"),
    };
    for name in ["", "a\0b"] {
        assert_eq!(wrong(log.name(name).map(drop)), Wrong::BadName);
    }
    assert_eq!(wrong(log.write(0, &[[1_u8]])), Wrong::NoName);
    for id in 0..5 {
        assert_eq!(log.name(&format!("name {id}")).unwrap(), id);
        assert_eq!(log.name(&format!("name {id}")).unwrap(), id);
        let written = log.write(id, &[[id; 3]]);
        assert_eq!(written.is_ok(), id < 4);
        if id == 4 {
            assert_eq!(wrong(written), Wrong::FrameFull);
        }
    }
    log.discard_frame();
    assert_eq!(wrong(log.end_frame().map(drop)), Wrong::NoChunks);
    log.write(4, &[[5_u8; 3]]).unwrap();
    assert_eq!(wrong(log.write(4, &[[1_u8]])), Wrong::Duplicate);
    assert_eq!((log.end_frame().unwrap(), log.names()), (0, 5));
    let image = store.live().to_vec();
    let mut window = [0; 256];
    let file = Reader::open(&*image, &mut window).unwrap();
    let chunk = file.find(0, 4, &mut window).unwrap().unwrap();
    let start = usize::try_from(chunk.span.offset()).unwrap();
    assert_eq!(image[start..start + 3], [5; 3]);
    assert_eq!((file.frames(), file.head().names), (1, 5));
}

/// With every shape.
#[test]
fn an_asynchronous_own_log_writes_what_a_blocking_one_does() {
    for shape in [&SHAPE, &PACKED, &STOCK] {
        let (blocking, asynchronous) = (PowerStore::default(), PowerStore::default());
        let waits = Waits::new(7);
        let done = waits.run(async {
            for frame in 0..6 {
                // as of a device that starts again for each frame
                let slow = Slow::new(asynchronous.clone(), &waits);
                let mut log = Log::open_or_create_async(slow, shape).await?;
                for name in NAMES.iter().take(names(frame + 1).try_into().unwrap()) {
                    log.name_async(name).await?;
                }
                for id in ids(frame) {
                    log.write_async(id, &value(frame, id)).await?;
                }
                assert_eq!(log.end_frame_async().await?, frame);
            }
            Ok::<(), DriveError<_, Wrong>>(())
        });
        done.unwrap().unwrap();
        for frame in 0..6 {
            log_frame(&mut Log::open_or_create(blocking.clone(), shape).unwrap(), frame);
        }
        assert!(*asynchronous.live() == *blocking.live());
        assert_eq!(frames(&blocking.live()), Ok(6));
    }
}

/// Each commit has a new name: the list alternates between two places, and has others only when it
/// grows. The file is no longer than that of the logger that can do more.
#[test]
fn names_that_come_one_by_one_leave_no_lists_behind() {
    let name = |number: u64| format!("name {number}");
    let places = |header: &[u8]| u64::from_le_bytes(header[24..32].try_into().unwrap());
    let store = PowerStore::new(&[]);
    let mut log = Log::open_or_create(store.clone(), &SHAPE).unwrap();
    let other_store = PowerStore::new(&[]);
    let mut other = Logger::<_, 4>::open_or_create(other_store.clone(), &ABOUT).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for frame in 0..300 {
        let (id, same) = (log.name(&name(frame)).unwrap(), other.name(&name(frame)).unwrap());
        assert_eq!(id, same);
        log.write(id, &[[1_u8]]).unwrap();
        other.write(id, &[[1_u8]]).unwrap();
        assert_eq!((log.end_frame(), other.end_frame()), (Ok(frame), Ok(frame)));
        seen.insert(places(&store.live()));
    }
    let doublings = (300 * "name 300".len()).div_ceil(64).ilog2() as usize + 1;
    println!("{} places of the list in 300 commits", seen.len());
    assert!(seen.len() <= 2 * (doublings + 1), "{}", seen.len());
    let (len, other_len) = (store.live().len(), other_store.live().len());
    assert!(len <= other_len + other_len / 8, "{len} bytes, and {other_len}");
    let names = log.names();
    drop(log);
    assert_eq!(Log::open_or_create(store.clone(), &SHAPE).unwrap().names(), names);
}
