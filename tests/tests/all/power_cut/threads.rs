//! Many Pens and one Book, as threads drive them: while one publishes, the others write.
//!
//! Core's Writer never does that. Here a schedule, which a number fixes, says who is next: between
//! any two operations of a publication any other task may write to its chunk. Publications fail at
//! any operation, and are tried again. A program is killed, or the power is cut, anywhere.

use super::run::{Chunks, Run, State};
use super::{Figures, Shape, atomic, paths};
use std::cell::{Cell, RefCell};
use std::ops::Range;
use striae_core::integrity::crc32c;
use striae_core::sion::book::{Ahead, Book, Enter};
use striae_core::sion::create::{Front, blocks, write_meta1};
use striae_core::sion::pen::{Finished, Pen, Pens, Since};
use striae_core::sion::publish::{Desk, Terms};
use striae_core::sion::tables::{Tables, Unchanged};
use striae_core::sion::{Error, Meta1};
use striae_core::step::DriveError;
use striae_core::store::{ReadAt, WriteAt};
use striae_kit::power::{Lost, Model, PowerStore, Tear, sum_of};

/// Why work in the store ended early.
type Stopped = DriveError<Failed, Error>;

/// Who is next: the same for the same number.
struct Schedule(u64);

impl Schedule {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn task(&mut self, tasks: usize) -> usize {
        usize::try_from(self.below(u64::try_from(tasks).unwrap())).unwrap()
    }
}

/// All that any thread knows, and what the file should hold.
#[derive(Clone)]
struct Tasks {
    pens: Vec<Pen>,
    /// Chunks that tasks have left.
    left: Vec<Finished>,
    mapping: Vec<(u32, u32)>,
    chunks: Vec<Chunks>,
}

impl Pens for &Tasks {
    fn pens(&self, tasks: Range<u32>) -> impl Iterator<Item = &Pen> {
        // As a thread that commits knows them: only those that have something new.
        let dirty = move |pen: &&Pen| tasks.contains(&pen.local()) && !pen.is_committed();
        self.pens.iter().filter(dirty)
    }

    fn finished(&self, chunk: u32, tasks: Range<u32>) -> impl Iterator<Item = &Finished> {
        self.left.iter().filter(move |done| done.chunk == chunk && tasks.contains(&done.local))
    }

    fn address(&self, globalrank: u32) -> Option<(u32, u32)> {
        self.mapping.get(usize::try_from(globalrank).ok()?).copied()
    }
}

/// A program of several threads, in one of its schedules.
struct Threads<'p> {
    run: Run<'p>,
    store: PowerStore,
    book: Book,
    tasks: Tasks,
    schedule: Schedule,
    next: u8,
    /// How many bytes were written while something was published, and how many publications failed.
    meanwhile: usize,
    failed: usize,
}

impl<'p> Threads<'p> {
    fn create(shape: &'p Shape, seed: u64) -> Self {
        let mut run = Run::new(shape, PowerStore::default(), State::Nothing, 1);
        let mut store = run.store.clone();
        run.promises.begin(&store, State::Unclosed);
        let ntasks = u64::try_from(shape.tasks.len()).unwrap();
        let meta1 = Meta1::new(&shape.attributes, ntasks).unwrap();
        let mut window = [0; 64];
        let tasks = shape.tasks.as_slice();
        let (front, blocks) =
            (Front::new(&meta1, b"a.sion").unwrap(), blocks(&meta1, tasks).unwrap());
        let made = write_meta1(&front, tasks, Some(crc32c), &mut store, &mut window);
        let meta1_crc = made.unwrap();
        run.promises.end(&store);
        let entries = u64::try_from(shape.mapping.len()).unwrap();
        let mut book = Book::create(&meta1, &blocks, entries, shape.sealed).unwrap();
        assert_eq!(book.enter(0, Ahead::NONE), Ok(Enter::GoOn));
        let mut start = blocks.first;
        let pens = (0..).zip(&shape.tasks).map(|(local, &(_, chunksize))| {
            let globalskip = Some(blocks.globalskip);
            let chunks = striae_core::sion::Chunks { start, chunksize, globalskip };
            start += chunksize;
            Pen::new(local, chunks, shape.sealed)
        });
        let tasks = Tasks {
            pens: pens.collect(),
            left: Vec::new(),
            mapping: shape.mapping.clone(),
            chunks: vec![vec![vec![]]; shape.tasks.len()],
        };
        let book = book.with_meta1_crc(meta1_crc);
        let schedule = Schedule(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Self { run, store, book, tasks, schedule, next: 0, meanwhile: 0, failed: 0 }
    }

    /// A whole program.
    fn of(shape: &'p Shape, seed: u64) -> Self {
        let mut threads = Self::create(shape, seed);
        for _ in 0..24 {
            match threads.schedule.below(8) {
                0 | 1 => threads.until_done(Self::commit),
                2 if threads.schedule.below(6) == 0 => threads.until_done(Self::close),
                _ => {
                    let task = threads.schedule.task(threads.tasks.pens.len());
                    threads.write_on(task);
                }
            }
        }
        threads.until_done(Self::close);
        threads
    }

    fn until_done(&mut self, publish: fn(&mut Self) -> bool) {
        while !publish(self) {
            self.failed += 1;
        }
    }

    /// Writes to a task's chunk, or to its next one if it is full.
    fn write_on(&mut self, task: usize) {
        let pen = self.tasks.pens[task];
        if pen.cursor().chunksize() == 0 || pen.chunk() > 3 {
            return;
        }
        if pen.cursor().room() == 0 || self.schedule.below(9) == 0 {
            let next = pen.cursor().next_chunk().unwrap().chunk();
            while !self.enter(next) {
                self.failed += 1;
            }
            // While META2 was moved, the task's own thread waited: nobody else writes to it.
            let Tasks { pens, left, chunks, .. } = &mut self.tasks;
            let keep = |done| {
                left.push(done);
                Ok(())
            };
            pens[task].leave(keep).unwrap();
            chunks[task].push(Vec::new());
        }
        self.write(task);
    }

    /// Writes to what is left of a task's chunk.
    fn write(&mut self, task: usize) -> usize {
        let pen = &mut self.tasks.pens[task];
        let most = pen.cursor().room();
        assert!(u64::from(pen.chunk()) < self.book.entered(), "META2 could be put there");
        if most == 0 {
            return 0;
        }
        let len = self.schedule.below(most) + 1;
        let mut bytes = Vec::new();
        for _ in 0..len {
            self.next = self.next % 251 + 1;
            bytes.push(self.next);
        }
        let place = pen.cursor().place(len).unwrap();
        self.store.write_all_at(place.offset(), &bytes).unwrap();
        pen.wrote(len, pen.crc_after(&bytes, crc32c));
        self.tasks.chunks[task].last_mut().unwrap().extend(&bytes);
        bytes.len()
    }

    /// Opens a block; says whether that is done.
    fn enter(&mut self, block: u32) -> bool {
        match self.book.enter(block, self.terms().ahead).unwrap() {
            Enter::GoOn => true,
            Enter::Settle(_) | Enter::Move(_) => {
                // The thread that asked waits for it. It is none of the others, which write on.
                self.publish(true, |desk| desk.enter(block, &mut Tables::all(Unchanged)))
            }
        }
    }

    fn commit(&mut self) -> bool {
        self.publish_all(false)
    }

    fn close(&mut self) -> bool {
        self.publish_all(true)
    }

    /// Commits what all tasks have written by now, or closes.
    fn publish_all(&mut self, closes: bool) -> bool {
        let seen = self.tasks.clone();
        self.run.promises.begin(&self.store, State::Committed(seen.chunks.clone()));
        let maxchunks = seen.pens.iter().map(|pen| pen.chunk() + 1).max().unwrap();
        let mut tables = Tables::all(Since(&seen));
        let done = self.publish(!closes, |desk| match closes {
            true => desk.close(maxchunks, &mut tables),
            false => desk.commit(maxchunks, &mut tables),
        });
        if done {
            self.run.promises.end(&self.store);
            for (pen, seen) in self.tasks.pens.iter_mut().zip(&seen.pens) {
                pen.committed(seen);
                self.tasks.left.retain(|done| !done.is_told_by(seen));
            }
            if closes {
                self.run.promises.closed(self.store.size().unwrap());
            }
        }
        done
    }

    fn terms(&self) -> Terms {
        let ahead = Ahead::Blocks(self.run.shape.ahead);
        Terms { ahead, checksum: crc32c, set_number: 0 }
    }

    /// Publishes while others write, if they may. It fails now and then: says whether not.
    fn publish(
        &mut self,
        may_write: bool,
        work: impl FnOnce(&mut Desk<'_, Meanwhile<'_, 'p>>) -> Result<(), Stopped>,
    ) -> bool {
        // Either any operation fails, or a sync, of which the last one leaves the outcome unknown.
        let fails = (self.schedule.below(3) == 0)
            .then(|| (self.schedule.below(2) == 0, self.schedule.below(5)));
        let (mut book, terms, mut window) = (self.book, self.terms(), [0; 200]);
        let threads = RefCell::new(&mut *self);
        let mut store = Meanwhile { threads, may_write, fails, count: 0.into(), syncs: 0.into() };
        let done = work(&mut Desk::new(&mut book, &mut store, terms, &mut window).unwrap());
        self.book = book;
        match done {
            Ok(()) => true,
            Err(DriveError::Store(Failed)) => false,
            Err(error) => panic!("{error}"),
        }
    }
}

/// The store of a program of threads: before each operation of the one that publishes, any other
/// may write.
struct Meanwhile<'t, 'p> {
    threads: RefCell<&'t mut Threads<'p>>,
    may_write: bool,
    /// Whether a sync fails or any operation, and which.
    fails: Option<(bool, u64)>,
    count: Cell<u64>,
    syncs: Cell<u64>,
}

impl<'p> Meanwhile<'_, 'p> {
    /// Does an operation, after others have written.
    fn step<T>(
        &self,
        is_sync: bool,
        work: impl FnOnce(&mut Threads<'p>) -> T,
    ) -> Result<T, Failed> {
        let threads = &mut **self.threads.borrow_mut();
        if self.may_write && threads.schedule.below(2) == 0 {
            let task = threads.schedule.task(threads.tasks.pens.len());
            let written = threads.write(task);
            threads.meanwhile += written;
        }
        let (count, syncs) = (self.count.get(), self.syncs.get());
        self.count.set(count + 1);
        self.syncs.set(syncs + u64::from(is_sync));
        if self.fails == Some((false, count)) || is_sync && self.fails == Some((true, syncs)) {
            return Err(Failed);
        }
        Ok(work(threads))
    }
}

impl ReadAt for Meanwhile<'_, '_> {
    type Error = Failed;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Failed> {
        self.step(false, |threads| threads.store.read_at(offset, buf).unwrap())
    }

    fn size(&self) -> Result<u64, Failed> {
        Ok(self.threads.borrow().store.size().unwrap())
    }
}

impl WriteAt for Meanwhile<'_, '_> {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Failed> {
        self.step(false, |threads| threads.store.write_all_at(offset, bytes).unwrap())
    }

    fn set_size(&mut self, len: u64) -> Result<(), Failed> {
        self.step(false, |threads| threads.store.set_size(len).unwrap())
    }

    fn order(&mut self) -> Result<(), Failed> {
        self.step(false, |threads| threads.store.order().unwrap())
    }

    fn sync(&mut self) -> Result<(), Failed> {
        self.step(true, |threads| threads.store.sync().unwrap())
    }
}

/// An operation that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Failed;

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the store failed")
    }
}

impl std::error::Error for Failed {}

impl embedded_io::Error for Failed {
    fn kind(&self) -> embedded_io::ErrorKind {
        embedded_io::ErrorKind::Other
    }
}

/// Tries all crashes of a program of threads.
fn crash(shape: &Shape, seed: u64) -> (Figures, usize, usize) {
    let Threads { run, meanwhile, failed, .. } = Threads::of(shape, seed);
    let mut figures = Figures { paths: 1, ..Figures::default() };
    let tear = Tear::Bytes { atomic: atomic(shape) };
    let model = Model { tear, lost: Lost::Zeros, exhaustive: 64, random: 4, ..Model::default() };
    let mut good = 0;
    figures.tried = run.store.crashes(&model, |crash| {
        good += usize::from(figures.try_state(&run, crash).is_some());
    });
    figures.good = good;
    figures.bad.iter_mut().for_each(|bad| bad.insert_str(0, &format!("schedule {seed}: ")));
    (figures, meanwhile, failed)
}

#[derive(Default)]
struct Sum(Figures, usize, usize);

impl std::ops::AddAssign for Sum {
    fn add_assign(&mut self, Self(figures, meanwhile, failed): Self) {
        self.0 += figures;
        (self.1, self.2) = (self.1 + meanwhile, self.2 + failed);
    }
}

/// Schedules of each shape; `STRIAE_POWER=all` tries many.
fn schedules() -> u64 {
    let is_all = std::env::var_os("STRIAE_POWER").is_some_and(|value| value == "all");
    if is_all { 200 } else { 1 }
}

#[test]
fn while_threads_write_a_power_cut_leaves_what_a_commit_said() {
    let mut shapes: Vec<_> = paths().into_iter().map(|path| path.shape).collect();
    shapes.retain(|shape| !shape.attributes.keyval && shape.tasks.len() > 1);
    let programs: Vec<_> = shapes
        .iter()
        .step_by(2)
        .flat_map(|shape| (0..schedules()).map(move |seed| (shape, seed)))
        .collect();
    let Sum(figures, meanwhile, failed) = sum_of(&programs, |(shape, seed)| {
        let (figures, meanwhile, failed) = crash(shape, *seed);
        Sum(figures, meanwhile, failed)
    });
    println!("{meanwhile} bytes were written meanwhile, {failed} publications failed");
    assert!(meanwhile > 1000 && failed > 10, "{meanwhile} {failed}");
    figures.conclude("schedules of threads", 20_000);
}
