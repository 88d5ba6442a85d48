//! What all loggers of devices promise of power cuts, and how that is tried.

mod fixed;
mod logger;
mod own;

use striae_core::gsd::{ChunkType, Reader};
use striae_core::store::{BlockStore, Cached, StoreBlocks, WriteAt};
use striae_kit::bay::Bay;
use striae_kit::hosts;
use striae_kit::power::{Crash, Lost, MEDIA, Model, PowerStore, Promise, Promises, Tear, describe};

/// Bytes of the card.
const CARD: usize = 1 << 16;

/// How a log is made. The contents of its frames follow from their numbers.
trait Small: Copy {
    /// What the error says where no log is begun because of old bytes.
    const NOT_BLANK: &'static str = "blank";

    type Log<S: WriteAt>;

    fn open_or_create<S: WriteAt>(self, store: S) -> Result<Self::Log<S>, String>;

    fn log_frame<S: WriteAt>(log: &mut Self::Log<S>, frame: u64);

    /// The number of frames of a file, all of which must be right.
    fn frames(image: &[u8]) -> Result<u64, String>;

    /// Compares what the log knows with a file of so many frames.
    fn compare<S: WriteAt>(log: &Self::Log<S>, frames: u64);

    fn into_store<S: WriteAt>(log: Self::Log<S>) -> S;
}

/// The values of a chunk: no byte of them is that of an erased sector.
fn value(frame: u64, name: u16) -> Vec<[u16; 2]> {
    let len = 7 + 53 * (frame + u64::from(name)) % 170;
    let byte = |at| u16::try_from(1 + (frame * 31 + u64::from(name) * 7 + at) % 250).unwrap();
    (0..len).map(|at| [byte(at) * 257, byte(at + 1) * 257]).collect()
}

/// The numbers of frames and names of a file whose chunks have such values; `has` says which chunks
/// a frame has.
fn counts(
    image: &[u8],
    names: &[&str],
    has: impl Fn(u64, u16) -> bool,
) -> Result<(u64, u32), String> {
    let mut window = [0; 256];
    let file = Reader::open(image, &mut window).map_err(|error| error.to_string())?;
    for frame in 0..file.frames() {
        for (id, name) in (0..).zip(names) {
            let chunk = file.find(frame, id, &mut window).map_err(|error| error.to_string())?;
            assert_eq!(chunk.is_some(), has(frame, id));
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
    Ok((file.frames(), file.head().names))
}

/// What ran: a store, and what was promised.
type Ran = (PowerStore, Promises<u64>);

/// A log that is begun in `start`, and gets frames; the number of frames is promised.
fn run(start: &[u8], made: impl Small, count: u64) -> Ran {
    run_in(start, made, count, |store| store)
}

/// A log as of [`run`], in a store that is made of that of the medium.
fn run_in<L: Small, S: WriteAt>(
    start: &[u8],
    made: L,
    count: u64,
    wrap: impl FnOnce(PowerStore) -> S,
) -> Ran {
    let store = PowerStore::new(start);
    let mut promises = Promises::new(0);
    let mut log = made.open_or_create(wrap(store.clone())).unwrap();
    for frame in 0..count {
        promises.begin(&store, frame + 1);
        L::log_frame(&mut log, frame);
        promises.end(&store);
    }
    (store, promises)
}

/// Goes on after a crash: the log, and its frames.
fn go_on<L: Small>(image: &[u8], made: L) -> Result<(L::Log<PowerStore>, u64), String> {
    let store = PowerStore::new(image);
    match made.open_or_create(store.clone()) {
        Ok(log) => {
            let found = L::frames(&store.live())?;
            L::compare(&log, found);
            Ok((log, found))
        }
        Err(error) => {
            assert!(*store.live() == *image, "not left alone: {error}");
            Err(error)
        }
    }
}

/// On a slow host, the states of few moments, and writes torn between sectors only.
fn of_host(model: &Model) -> Model {
    match hosts::is_slow() {
        true => Model { moments: 11, tear: Tear::Sectors, ..model.clone() },
        false => model.clone(),
    }
}

/// So many states were tried, but for a slow host, which tries some.
#[track_caller]
fn are_more_than(least: usize, states: usize) {
    assert!(states > if hosts::is_slow() { 0 } else { least }, "{states}");
}

/// In every state all that was promised is there, and `more` frames can be logged.
fn no_commit_is_lost<L: Small>(
    made: L,
    starts: &[Vec<u8>],
    model: &Model,
    (count, more): (u64, u64),
) -> usize {
    let mut states = 0;
    for start in starts {
        let (store, promises) = run(start, made, count);
        store.crashes(&of_host(model), |crash: &Crash<'_>| {
            states += 1;
            let allowed = promises.allowed(crash.begun, crash.ended);
            let say = |error: &str| panic!("{}", describe(&store, crash, error));
            let (mut log, found) = go_on(crash.image, made).unwrap_or_else(|error| say(&error));
            if !allowed.iter().any(|version| version.state == found) {
                say(&format!("{found} frames"));
            }
            if states % 7 == 0 {
                (found..found + more).for_each(|frame| L::log_frame(&mut log, frame));
                assert_eq!(L::frames(&L::into_store(log).live()), Ok(found + more));
            }
        });
    }
    states
}

/// Logs directly in a store.
fn direct(made: impl Small, count: u64) -> Vec<Ran> {
    vec![run(&[], made, count), run(&[0xFF; CARD], made, count)]
}

/// Logs with a cache of one sector or of three.
fn cached(made: impl Small, count: u64) -> Vec<Ran> {
    let of = |len: usize| {
        let wrap = |store| BlockStore::<_, _>::new(StoreBlocks(store), vec![Cached::EMPTY; len]);
        run_in(&[0xFF; CARD], made, count, |store| wrap(store).unwrap())
    };
    vec![of(1), of(3)]
}

/// Logs keep what the table of media promises, each in more than `least` states.
fn keep_what_is_promised<L: Small>(made: L, runs: &[Ran], least: usize) {
    for medium in MEDIA {
        let (mut states, mut bad) = (0, 0);
        let model = of_host(&(medium.model)());
        for (store, promises) in runs {
            store.crashes(&model, |crash: &Crash<'_>| {
                states += 1;
                let allowed = promises.allowed(crash.begun, crash.ended);
                let is_allowed = |frames| allowed.iter().any(|version| version.state == frames);
                let is_good = match go_on(crash.image, made) {
                    Ok((_, found)) => is_allowed(found),
                    // Old bytes of other files are not blank, so no log is begun there.
                    Err(error) => {
                        let is_old = model.lost == Lost::Noise && error.contains(L::NOT_BLANK);
                        is_old && is_allowed(0)
                    }
                };
                bad += usize::from(!is_good);
            });
        }
        println!("{}: {bad} of {states} states are not as promised", medium.name);
        are_more_than(least, states);
        let is_kept = medium.gsd == Promise::Kept;
        assert!(is_kept == (bad == 0) || !is_kept && hosts::is_slow(), "{}: {bad}", medium.name);
    }
}

/// After an error a log writes only to its own card, and not even to a copy that has all of its
/// data, but not the last commit.
fn an_older_copy_is_left_alone<L: Small, E: std::fmt::Display>(
    made: L,
    write: impl Fn(&mut L::Log<Bay>) -> Result<(), E>,
    end_frame: impl Fn(&mut L::Log<Bay>) -> u64,
) {
    let bay = Bay::new(Vec::new(), false);
    let mut log = made.open_or_create(bay.clone()).unwrap();
    L::log_frame(&mut log, 0);
    assert!(write(&mut log).is_ok());
    let older = bay.card(0);
    assert_eq!(end_frame(&mut log), 1);
    bay.fail(0, 0);
    assert!(write(&mut log).is_err());
    bay.put_in(older.clone());
    let error = write(&mut log).err().unwrap().to_string();
    assert!(error.contains("does not have the log"), "{error}");
    assert!(bay.card(1) == older);
    bay.put_back();
    assert!(write(&mut log).is_ok());
    assert_eq!(end_frame(&mut log), 2);
}
