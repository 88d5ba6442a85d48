//! A logger for own files keeps what it promises, on the same media as the one that can do more,
//! while its names and its index move.

use super::{
    CARD, Small, an_older_copy_is_left_alone, are_more_than, cached, counts, direct, go_on,
    keep_what_is_promised, no_commit_is_lost, run, value,
};
use striae_core::gsd::fixed::Fault as Wrong;
use striae_core::gsd::{Attributes, Logger, OwnLogger, Reader, Shape};
use striae_core::step::DriveError;
use striae_core::store::WriteAt;
use striae_kit::gsd_files::{signed, with};
use striae_kit::power::{Fault, Model, Op, PowerStore};

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

impl Small for &'static Shape<'static, 0> {
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
        assert_eq!((log.frames(), log.names()), (frames, names(frames)));
    }

    fn into_store<S: WriteAt>(log: Log<S>) -> S {
        log.into_store()
    }
}

/// The number of frames of a file, all of which must be right; it has their names and no others.
fn frames(image: &[u8]) -> Result<u64, String> {
    let has = |frame, id| ids(frame).any(|other| other == id);
    let (frames, found) = counts(image, &NAMES, has)?;
    assert_eq!(found, names(frames));
    Ok(frames)
}

#[test]
fn an_own_log_goes_on_whatever_was_torn_or_erased() {
    let quick = Model { exhaustive: 16, random: 3, torn: 2, ..Model::bytes() };
    for (shape, erased, count) in [(&SHAPE, 8, 7), (&PACKED, 0, 4), (&STOCK, 0, 3)] {
        let model = Model { erased, ..quick.clone() };
        let starts = [vec![], vec![0xFF; CARD]];
        are_more_than(2000, no_commit_is_lost(shape, &starts, &model, (count, 3)));
    }
}

#[test]
fn an_own_log_keeps_what_the_table_of_media_promises() {
    let mut runs = direct(&SHAPE, 7);
    runs.extend(cached(&SHAPE, 7));
    keep_what_is_promised(&SHAPE, &runs, 600);
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

/// "A list that is shown has only zeros after its names."
#[test]
fn a_name_that_failed_and_was_given_up_is_in_no_list() {
    let mut failed = 0;
    for (shape, kept, fault) in
        [&SHAPE, &PACKED].into_iter().flat_map(|shape| (0..9).map(move |at| (shape, 3 * at, at)))
    {
        for names in 0..3 {
            let store = PowerStore::default();
            let mut log = Log::open_or_create(store.clone(), shape).unwrap();
            log.name("a").unwrap();
            log.write(0, &[[1_u8]]).unwrap();
            log.end_frame().unwrap();
            NAMES.iter().take(names).for_each(|name| _ = log.name(name).unwrap());
            store.fail(Fault { at: store.ops() + fault / 3, kept, lasting: false });
            let is_added = log.name("given up").is_ok();
            failed += usize::from(!is_added);
            store.mend();
            log.write(0, &[[2_u8]]).unwrap();
            log.end_frame().unwrap();
            let image = store.live();
            let file = Reader::open(&*image, &mut [0; 256]).unwrap();
            let place = file.head().header.names.span().unwrap();
            let list = &image[place.offset() as usize..place.end() as usize];
            let told: Vec<_> = list.split(|byte| *byte == 0).filter(|it| !it.is_empty()).collect();
            let added = is_added.then_some("given up");
            let names = ["a"].into_iter().chain(NAMES.into_iter().take(names)).chain(added);
            assert!(told.into_iter().eq(names.map(str::as_bytes)), "{fault}");
        }
    }
    assert!(failed > 20, "{failed}");
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
    for at in [40, 44, 48, 112] {
        let mut renamed = image.clone(); // in the versions, the application or the schema
        renamed[at] ^= 1;
        assert_eq!(refused(&renamed, &SHAPE), another, "byte {at}");
    }
    let mut damaged = image;
    damaged[190] ^= 1;
    assert_eq!(refused(&damaged, &SHAPE), "another program has changed the file, or it is damaged");
}

/// The list of names is in slots of the index that have no entry yet; all checksums are right.
#[test]
fn an_own_log_whose_blocks_overlap_is_left_alone() {
    let (store, _) = run(&[], &STOCK, 1);
    let mut image = store.live().to_vec();
    let head = *Reader::open(&image[..], &mut [0; 256]).unwrap().head();
    let (names, index) = (head.header.names.span().unwrap(), head.header.index.span().unwrap());
    let last_slots = index.end() - names.len();
    let list = names.offset() as usize..names.end() as usize;
    image[512..1024].fill(0); // no shadows
    assert_eq!(go_on(&image, &STOCK).map(|(_, found)| found), Ok(1));
    image.copy_within(list, last_slots as usize);
    let moved = signed(with(&image, 24, &last_slots.to_le_bytes()));
    let another = "another program made the file, or it has another shape";
    assert_eq!(go_on(&moved, &STOCK).map(|(_, found)| found), Err(another.into()));
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

/// Where the header says that names are.
fn names_at(store: &PowerStore) -> usize {
    let place = store.live()[24..32].try_into().unwrap();
    u64::from_le_bytes(place).try_into().unwrap()
}

/// Each commit has a new name: the list alternates between two places, and has others only when it
/// grows. The file is no longer than that of the logger that can do more.
#[test]
fn names_that_come_one_by_one_leave_no_lists_behind() {
    let name = |number: u64| format!("name {number}");
    let store = PowerStore::new(&[]);
    let mut log = Log::open_or_create(store.clone(), &SHAPE).unwrap();
    let other_store = PowerStore::new(&[]);
    let mut other = Logger::<_, 4>::open_or_create(other_store.clone(), &ABOUT).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    let mut list = String::new();
    for frame in 0..300 {
        let (id, same) = (log.name(&name(frame)).unwrap(), other.name(&name(frame)).unwrap());
        assert_eq!(id, same);
        log.write(id, &[[1_u8]]).unwrap();
        other.write(id, &[[1_u8]]).unwrap();
        assert_eq!((log.end_frame(), other.end_frame()), (Ok(frame), Ok(frame)));
        seen.insert(names_at(&store));
        list += &format!("{}\0", name(frame));
        assert!(store.live()[names_at(&store)..].starts_with(list.as_bytes()));
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

/// Of names that are there already, a list has the last few again, or all if it is in a new place.
#[test]
fn names_are_copied_only_to_new_places() {
    let store = PowerStore::new(&[]);
    let mut log = Log::open_or_create(store.clone(), &SHAPE).unwrap();
    let mut list = String::new();
    for frame in 0..100 {
        for part in ["first", "second"] {
            let name = format!("{part} {frame}");
            let id = log.name(&name).unwrap();
            log.write(id, &[[1_u8]]).unwrap();
            list += &format!("{name}\0");
        }
        assert_eq!(log.end_frame().unwrap(), frame);
        assert!(store.live()[names_at(&store)..].starts_with(list.as_bytes()));
    }
    let is_copy =
        |op: &&Op| matches!(op, Op::Write { bytes, .. } if bytes.starts_with(b"first 0\0"));
    let copies = store.log().iter().filter(is_copy).count();
    let doublings = (200 * "second 99".len()).div_ceil(64).ilog2() as usize + 1;
    assert!((1..=2 * (doublings + 1)).contains(&copies), "{copies}");
}

#[test]
fn an_own_log_leaves_an_older_copy_alone() {
    an_older_copy_is_left_alone(
        &SHAPE,
        |log| log.write(0, &[[1_u16]]),
        |log| log.end_frame().unwrap(),
    );
}

/// Only after a commit that was cut there is something to end without chunks.
#[test]
fn an_own_log_that_is_opened_again_has_no_frame_to_end() {
    let (store, _) = run(&[], &SHAPE, 2);
    let mut log = Log::open_or_create(store.clone(), &SHAPE).unwrap();
    let before = store.live().to_vec();
    assert_eq!(log.end_frame(), Err(DriveError::Format(Wrong::NoChunks)));
    assert!(*store.live() == before);
}
