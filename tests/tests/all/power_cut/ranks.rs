//! Ranks that share nothing but the file: each writes its own entries of the tables, one makes them
//! visible. The power goes at any moment of all that they do together, also where one of them
//! failed.

use super::path::Shape;
use super::run::{Chunks, Run, State};
use super::{Figures, atomic};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use striae_core::sion::Attributes;
use striae_core::store::{ReadAt, WriteAt};
use striae_kit::power::{Lost, Model, PowerStore, Tear, sum_of};
use striae_mpi::sion::Builder;
use striae_mpi::threads::Rank;
use striae_mpi::{Collect, Collective, Error, Threads};

const CHUNK: u64 = 512;
const DEADLINE: Duration = Duration::from_secs(60);
const ROUNDS: u32 = 4;

/// What all ranks did to the file, in an order that it was done in, and what they said of it.
#[derive(Debug, Default)]
struct Log {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// Operations until one fails.
    fuel: Option<usize>,
}

#[derive(Debug)]
enum Entry {
    Write(u64, Vec<u8>),
    SetSize(u64),
    Sync,
    /// The file is to be that from here on, or when [`Entry::End`] comes.
    Begin(State),
    End,
    Closed,
}

/// A rank's handle of the file.
#[derive(Debug, Clone)]
struct Shared(Arc<Mutex<Log>>);

impl Log {
    fn fails(&mut self) -> bool {
        let fails = self.fuel == Some(0);
        self.fuel = self.fuel.and_then(|fuel| fuel.checked_sub(1));
        fails
    }
}

impl Shared {
    fn say(&self, entry: Entry) {
        self.0.lock().unwrap().entries.push(entry);
    }
}

impl ReadAt for &Shared {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let log = self.0.lock().unwrap();
        Ok(log.bytes.as_slice().read_at(offset, buf).unwrap())
    }

    fn size(&self) -> io::Result<u64> {
        Ok(u64::try_from(self.0.lock().unwrap().bytes.len()).unwrap())
    }
}

impl WriteAt for &Shared {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut log = self.0.lock().unwrap();
        let fails = log.fails();
        let bytes = if fails { &bytes[..bytes.len() / 2] } else { bytes };
        let start = usize::try_from(offset).unwrap();
        let end = start + bytes.len();
        if !bytes.is_empty() {
            let len = log.bytes.len().max(end);
            log.bytes.resize(len, 0);
            log.bytes[start..end].copy_from_slice(bytes);
            log.entries.push(Entry::Write(offset, bytes.to_vec()));
        }
        if fails { Err(io::Error::from_raw_os_error(5)) } else { Ok(()) }
    }

    fn set_size(&mut self, len: u64) -> io::Result<()> {
        let mut log = self.0.lock().unwrap();
        if log.fails() {
            return Err(io::Error::from_raw_os_error(5));
        }
        log.bytes.resize(usize::try_from(len).unwrap(), 0);
        log.entries.push(Entry::SetSize(len));
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut log = self.0.lock().unwrap();
        if log.fails() {
            return Err(io::Error::from_raw_os_error(5));
        }
        log.entries.push(Entry::Sync);
        Ok(())
    }
}

/// What a rank writes in a round.
fn bytes(rank: u32, round: u32) -> Vec<u8> {
    let len = (rank * 331 + round * 190 + 17) % 900;
    (0..len).map(|at| u8::try_from((at * 7 + rank * 31 + round) % 251 + 1).unwrap()).collect()
}

/// What all streams have after so many rounds.
fn state(ranks: u32, rounds: u32) -> State {
    let chunks = |rank| {
        let all: Vec<u8> = (0..rounds).flat_map(|round| bytes(rank, round)).collect();
        let mut chunks: Chunks =
            all.chunks(usize::try_from(CHUNK).unwrap()).map(<[u8]>::to_vec).collect();
        if chunks.is_empty() {
            chunks.push(Vec::new());
        }
        chunks
    };
    State::Committed((0..ranks).map(chunks).collect())
}

/// How ranks write their file.
#[derive(Clone, Copy)]
struct How {
    sealed: bool,
    /// Every second rank writes for two.
    collected: bool,
}

/// A rank's program. It ends at the first error, which all ranks get; only one operation fails.
fn program(comm: Rank, file: &Shared, how: How) -> Result<(), Error> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let say = |entry: Entry| {
        if rank == 0 {
            file.say(entry);
        }
    };
    say(Entry::Begin(State::Unclosed));
    let mut builder = Builder::new().fsblksize(512).chunksize(CHUNK).sealed(how.sealed);
    if how.collected {
        builder = builder.collect(Collect::new().ranks_per_writer(2).buffer(2000));
    }
    let mine = file.clone();
    let mut writer = builder.create_in(comm, "a.sion", move |_, _| Ok(mine.clone()))?;
    say(Entry::End);
    for round in 0..ROUNDS {
        let bytes = bytes(rank, round);
        writer.advance(u64::try_from(bytes.len()).unwrap())?;
        let _ = writer.write(&bytes); // the commit tells the others if it failed
        say(Entry::Begin(state(ranks, round + 1)));
        writer.commit()?;
        say(Entry::End);
    }
    say(Entry::Begin(state(ranks, ROUNDS)));
    writer.close()?;
    say(Entry::End);
    say(Entry::Closed);
    Ok(())
}

/// Runs a program, and does to a simulated disk what it did.
fn run(shape: &Shape, collected: bool, fuel: Option<usize>) -> (Run<'_>, bool) {
    let ranks = u32::try_from(shape.tasks.len()).unwrap();
    let file = Shared(Arc::new(Mutex::new(Log { fuel, ..Log::default() })));
    let world = Threads::new(ranks).deadline(DEADLINE).virtual_time();
    let done = world.run(|rank| program(rank, &file, How { sealed: shape.sealed, collected }));
    let done: Vec<_> = done.into_iter().map(Result::unwrap).collect();
    let log = std::mem::take(&mut *file.0.lock().unwrap());
    let mut run = Run::new(shape, PowerStore::default(), State::Nothing, 1);
    let mut store = run.store.clone();
    for entry in log.entries {
        match entry {
            Entry::Write(offset, bytes) => store.write_all_at(offset, &bytes).unwrap(),
            Entry::SetSize(len) => store.set_size(len).unwrap(),
            Entry::Sync => store.sync().unwrap(),
            Entry::Begin(state) => run.promises.begin(&store, state),
            Entry::End => run.promises.end(&store),
            Entry::Closed => run.promises.closed(store.size().unwrap()),
        }
    }
    let has_failed = fuel.is_some() && log.fuel.is_none();
    assert!(done.iter().all(|it| *it == done[0]), "{done:?}");
    assert_eq!(done[0].is_err(), has_failed, "{done:?}");
    (run, has_failed)
}

fn crash(ranks: u32, how: How, fuel: Option<usize>) -> Option<Figures> {
    let How { sealed, collected } = how;
    let shape = Shape {
        attributes: Attributes { filenumber: 0, fsblksize: 512, ..Attributes::default() },
        tasks: (0..ranks).map(|rank| (rank.into(), CHUNK)).collect(),
        mapping: Vec::new(),
        sealed,
        ahead: 1,
        window: 0,
    };
    let (run, has_failed) = run(&shape, collected, fuel);
    if fuel.is_some() && !has_failed {
        return None; // no operation has that number
    }
    let mut figures = Figures { paths: 1, ..Figures::default() };
    let tear = Tear::Bytes { atomic: atomic(&shape) };
    let model = Model { tear, lost: Lost::Zeros, exhaustive: 32, random: 3, ..Model::default() };
    let mut good = 0;
    figures.tried = run.store.crashes(&model, |crash| {
        good += usize::from(figures.try_state(&run, crash).is_some());
    });
    figures.good = good;
    let place = format!("{ranks} ranks, {fuel:?}: ");
    figures.bad.iter_mut().for_each(|bad| bad.insert_str(0, &place));
    Some(figures)
}

#[test]
fn whenever_the_power_of_ranks_goes_their_file_is_as_a_commit_left_it() {
    let hows = [(false, false), (true, false), (false, true), (true, true)];
    let hows = hows.map(|(sealed, collected)| How { sealed, collected });
    let programs: Vec<_> =
        [1, 2, 5].into_iter().flat_map(|ranks| hows.map(|how| (ranks, how))).collect();
    let figures = sum_of(&programs, |&(ranks, how)| crash(ranks, how, None).unwrap());
    figures.conclude("power cuts of ranks", 10_000);
}

#[test]
fn an_operation_that_fails_at_one_rank_fails_at_all_and_costs_no_commit() {
    let is_all = std::env::var_os("STRIAE_POWER").is_some_and(|value| value == "all");
    let fuels: Vec<_> = (0..200).step_by(if is_all { 1 } else { 9 }).collect();
    let figures = sum_of(&fuels, |&fuel| {
        let how = How { sealed: fuel % 2 == 0, collected: fuel % 4 < 2 };
        crash(3, how, Some(fuel)).unwrap_or_default()
    });
    assert!(figures.paths > 5, "{}", figures.paths);
    figures.conclude("operations of ranks that fail", 5_000);
}
