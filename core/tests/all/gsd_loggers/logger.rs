//! A logger that gets power again goes on with its log, whatever the power cut left, or begins one
//! if there was none yet; what it cannot go on with it leaves alone.

use super::{
    CARD, Small, are_more_than, cached, direct, go_on, keep_what_is_promised, no_commit_is_lost,
    of_host, run,
};
use striae_core::gsd::{Attributes, ChunkType, Logger, Reader, Slot, Writer};
use striae_core::store::{ReadAt, WriteAt};
use striae_kit::bay::Bay;
use striae_kit::hosts;
use striae_kit::power::{Fault, Kind, Model, PowerStore, describe};

type Log = Logger<PowerStore, 6>;

const ABOUT: Attributes<'static> = Attributes {
    application: "a device",
    schema: "probe",
    index_slots: 16,
    shown_slots: 16,
    names_len: 64,
    ..SMALL
};

const SMALL: Attributes<'static> = Attributes {
    application: "",
    schema: "",
    schema_version: striae_core::gsd::Version { major: 2, minor: 3 },
    layer: striae_core::gsd::Version::LAYER,
    align: 1,
    checksums: false,
    one_sync: false,
    index_slots: 1,
    shown_slots: 1,
    names_len: 1,
};

/// What a chunk of a frame holds: no byte of it is that of an erased sector.
fn value(frame: u64, name: u64) -> Vec<u8> {
    let len = 30 + 211 * (frame + name) % 700;
    (0..len).map(|at| u8::try_from(1 + (frame * 31 + name * 7 + at) % 250).unwrap()).collect()
}

fn log_frame<S: WriteAt>(log: &mut Logger<S, 6>, frame: u64) {
    for name in 0..3 {
        let id = log.name(&format!("channel {name}")).unwrap();
        log.chunk(id, ChunkType::U8, 1, &value(frame, name)).unwrap();
    }
    assert_eq!(log.end_frame().unwrap(), frame);
}

/// Frames of a log, all of which must be right.
fn frames(image: &[u8]) -> Result<u64, String> {
    let mut window = [0; 256];
    let file = Reader::open(image, &mut window).map_err(|error| error.to_string())?;
    for frame in 0..file.frames() {
        for name in 0..3 {
            let id = file.name_id(format!("channel {name}").as_bytes(), &mut window).unwrap();
            let chunk = file.find(frame, id.ok_or("no name")?, &mut window);
            let chunk = chunk.map_err(|error| error.to_string())?.ok_or("no chunk")?;
            let span =
                chunk.span.offset().try_into().unwrap()..chunk.span.end().try_into().unwrap();
            if image[span] != value(frame, name) {
                return Err(format!("frame {frame} has other bytes"));
            }
        }
    }
    Ok(file.frames())
}

impl Small for &Attributes<'static> {
    const NOT_BLANK: &'static str = "not blank";

    type Log<S: WriteAt> = Logger<S, 6>;

    fn open_or_create<S: WriteAt>(self, store: S) -> Result<Logger<S, 6>, String> {
        Logger::open_or_create(store, self).map_err(|error| error.to_string())
    }

    fn log_frame<S: WriteAt>(log: &mut Logger<S, 6>, frame: u64) {
        log_frame(log, frame);
    }

    fn frames(image: &[u8]) -> Result<u64, String> {
        frames(image)
    }

    fn compare<S: WriteAt>(log: &Logger<S, 6>, frames: u64) {
        assert_eq!(log.frames(), frames);
    }

    fn into_store<S: WriteAt>(log: Logger<S, 6>) -> S {
        log.into_store()
    }
}

fn starts() -> [Vec<u8>; 3] {
    [vec![], vec![0x00; CARD], vec![0xFF; CARD]]
}

fn shapes() -> Vec<Attributes<'static>> {
    let align = |align| [false, true].map(|checksums| Attributes { align, checksums, ..ABOUT });
    [512, 4096].into_iter().flat_map(align).collect()
}

/// A sector that is erased while a header is replaced leaves none that old shadows could restore,
/// also if an earlier attempt was cut in the magic when it had cleared the index.
#[test]
fn a_log_whose_place_a_new_file_takes_is_whole_or_gone() {
    for about in [ABOUT, shapes()[0]] {
        let old = run(&[], &about, 3).0.live().to_vec();
        let head = *Reader::open(&old[..], &mut [0; 256]).unwrap().head();
        let index = head.header.index.span().unwrap();
        let mut cut = old.clone();
        cut[..7].fill(0);
        cut[index.offset() as usize..index.end() as usize].fill(0);
        for (start, has_log) in [(old, true), (cut, false)] {
            let store = PowerStore::new(&start);
            drop(Writer::create(store.clone(), &about, [Slot::EMPTY; 6]).unwrap());
            let model = of_host(&Model { erased: 24, ..Model::bytes() });
            let [mut logs, mut files, mut states] = [0; 3];
            store.crashes(&model, |crash| {
                states += 1;
                match go_on(crash.image, &about) {
                    Ok((_, 3)) => logs += 1,
                    Ok((_, 0)) => files += 1,
                    Err(error) if error.contains("not blank") => {}
                    Err(error) => panic!("{}", describe(&store, crash, &error)),
                    Ok((_, found)) => panic!("{found} frames"),
                }
            });
            println!("{logs} logs and {files} new files in {states} states");
            assert!(hosts::is_slow() || (logs > 0) == has_log && files > 0);
        }
    }
}

#[test]
fn a_log_that_is_being_made_is_made_the_next_time_wherever_it_was_cut() {
    for about in [ABOUT, Attributes::default(), shapes()[3]] {
        let model = Model { erased: 24, ..Model::bytes() };
        are_more_than(1000, no_commit_is_lost(&about, &starts(), &model, (0, 1)));
    }
}

#[test]
fn a_log_goes_on_whatever_sectors_were_erased() {
    let model = Model { erased: 16, exhaustive: 16, random: 2, torn: 2, ..Model::default() };
    let shapes = [shapes()[0], shapes()[3]];
    let states = shapes.iter().map(|about| no_commit_is_lost(about, &starts(), &model, (12, 1)));
    are_more_than(3000, states.sum());
}

/// Where what is committed shares sectors with what is written, an erased one may have cost some of
/// it; that is an error, and not less.
#[test]
fn a_log_without_sectors_of_its_own_is_never_begun_anew() {
    let model = Model { erased: 16, exhaustive: 0, random: 1, ..Model::default() };
    let (mut good, mut damaged) = (0, 0);
    let about = Attributes { checksums: true, ..ABOUT };
    let (store, promises) = run(&[0xFF; CARD], &about, 12);
    store.crashes(&of_host(&model), |crash| {
        let allowed = promises.allowed(crash.begun, crash.ended);
        match go_on(crash.image, &about) {
            Ok((_, found)) if allowed.iter().any(|version| version.state == found) => good += 1,
            Err(_) if crash.kind == Kind::PowerCutErased => damaged += 1,
            other => panic!("{}", describe(&store, crash, &format!("{other:?}"))),
        }
    });
    are_more_than(500, good);
    are_more_than(50, damaged);
}

/// An explicit creation that was cut is no reason to make another log, nor to go on with half of
/// the old one.
#[test]
fn a_creation_over_a_log_leaves_the_old_log_or_none() {
    let model = Model { erased: 24, exhaustive: 256, torn: 4, ..Model::default() };
    for count in [1, 2] {
        let about = shapes()[0];
        let (store, _) = run(&[0xFF; CARD], &about, count);
        let old = PowerStore::new(&store.live());
        drop(Log::create(old.clone(), &about).unwrap());
        let mut refused = 0;
        old.crashes(&model, |crash| match go_on(crash.image, &about) {
            Ok((_, found)) if found == count || found == 0 => {}
            Err(error) if error.contains("not blank") => refused += 1,
            other => panic!("{}", describe(&old, crash, &format!("{other:?}"))),
        });
        assert!(refused > 0);
    }
}

#[test]
fn a_header_that_was_erased_is_that_of_its_program_only() {
    let about = shapes()[0];
    let (store, _) = run(&[0xFF; CARD], &about, 3);
    let mut image = store.live().to_vec();
    image[..512].fill(0xFF);
    for other in [
        Attributes { application: "a devise", ..about },
        Attributes { schema: "", ..about },
        Attributes { schema_version: Attributes::default().schema_version, ..about },
    ] {
        let error = go_on(&image, &other).unwrap_err();
        assert!(error.ends_with("is not that of the program that would go on"), "{error}");
    }
    let (log, found) = go_on(&image, &about).unwrap();
    assert_eq!((found, log.into_store().size().unwrap()), (3, store.size().unwrap()));
}

/// A frame without chunks is a frame, unless the last one has ended and waits for its commit.
#[test]
fn an_end_that_is_repeated_after_an_error_ends_no_other_frame() {
    let store = PowerStore::default();
    let mut log = Log::create(store.clone(), &ABOUT).unwrap();
    let id = log.name("channel").unwrap();
    assert_eq!((log.end_frame().unwrap(), log.end_frame().unwrap()), (0, 1));
    let fail = |log: &mut Log| {
        log.chunk(id, ChunkType::U8, 1, b"x").unwrap();
        store.fail(Fault { at: store.ops(), kept: 0, lasting: false });
        log.end_frame().unwrap_err();
        log.frames()
    };
    assert_eq!(fail(&mut log), 3);
    assert_eq!(log.end_frame().unwrap(), 2);
    assert_eq!(fail(&mut log), 4);
    log.chunk(id, ChunkType::U8, 1, b"y").unwrap();
    assert_eq!(log.end_frame().unwrap(), 4);
    assert_eq!(fail(&mut log), 6);
    log.writer().commit().unwrap();
    assert_eq!(log.end_frame().unwrap(), 6, "it is committed, so this is another one");
    log.writer().end_frame().unwrap();
    assert_eq!(log.end_frame().unwrap(), 8, "the one before it ended without an error");
}

/// A log of one frame, of which a chunk has failed; its card, and the id of a name.
fn interrupted() -> (Bay, Logger<Bay, 6>, u16) {
    let bay = Bay::new(Vec::new(), false);
    let mut log = Logger::create(bay.clone(), &ABOUT).unwrap();
    let id = log.name("channel").unwrap();
    log.end_frame().unwrap();
    bay.fail(0, 0);
    log.chunk(id, ChunkType::U8, 1, b"x").unwrap_err();
    (bay, log, id)
}

#[test]
fn an_end_that_is_repeated_while_the_card_is_away_ends_one_frame() {
    let (bay, mut log, _) = interrupted();
    bay.put_in(Vec::new());
    for _ in 0..3 {
        log.end_frame().unwrap_err();
        assert_eq!(log.frames(), 2);
    }
    bay.put_back();
    assert_eq!(log.end_frame().unwrap(), 1);
}

#[test]
fn the_length_of_another_card_is_not_that_of_the_log() {
    let (bay, mut log, id) = interrupted();
    bay.put_in(vec![0; 1 << 20]);
    log.writer().discard_frame();
    bay.put_back();
    for frame in 1..60 {
        log.chunk(id, ChunkType::U8, 1, b"x").unwrap();
        assert_eq!(log.end_frame().unwrap(), frame);
        let (card, mut window) = (bay.card(0), [0; 4096]);
        assert_eq!(Reader::open(&card[..], &mut window).unwrap().frames(), frame + 1);
    }
}

#[test]
fn a_log_keeps_what_the_table_of_media_promises() {
    let about = &shapes()[0];
    for runs in [direct(about, 6), cached(about, 6)] {
        keep_what_is_promised(about, &runs, 300);
    }
}
