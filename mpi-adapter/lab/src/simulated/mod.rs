//! Ranks of a larger machine than there is: the same code, with time by a model.
//!
//! Up to some ten thousand ranks all of them run, each as a thread. Beyond that a few run, and each
//! stands for a number of equal ones: the ranks of the first node of a file, of one plain node for
//! all nodes between, and of the last node, which may have fewer ranks; of the first file, of one
//! for all files between, and of the last file, which may have more ranks. What a collective
//! returns, what it takes, and how long ranks queue for the server that opens files are those of
//! all ranks, so that both ways give equal counts and equal times.
//!
//! ```
//! use striae_mpi::sion::Builder;
//! use striae_mpi_lab::simulated::Simulated;
//! use striae_mpi::{Collect, Error};
//!
//! let world = Simulated::new(1_000_000).ranks_per_node(64);
//! let done = world.run(|rank| {
//!     let disk = rank.transport().disk();
//!     let builder = Builder::new().fsblksize(4096).collect(Collect::new().shared_memory(false));
//!     let file = builder.create_in(rank, "run.sion", move |path, anew| disk.open(path, anew))?;
//!     file.close().map(drop)
//! })?;
//! for rank in &done {
//!     assert!(matches!(rank.result, Ok(Ok::<_, Error>(()))));
//! }
//! let opens: u64 = done.iter().map(|rank| rank.stands_for * rank.tally.opens).sum();
//! assert_eq!(opens, 1_000_000 / 64); // a writer a node
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # What it does not have
//!
//! - A stand-in is the lowest of those that it stands for, and equal to them. So the ranks between
//!   must write as much, and may not name one another.
//! - The exclusive or of all ranks is that of the ranks that run. So the checksums of a seal are
//!   not those of a real file, and nothing reads what was written: a file has a length and reads as
//!   zeros. Sets whose ranks own other than one task each need what they wrote, so they cannot be
//!   simulated.
//! - A communicator in which ranks stand for others can be split by files and by nodes only.
//! - Every file begins on a node of its own.

mod disk;
mod layout;
mod member;
mod model;
mod world;

pub use disk::{Disk, SimulatedFile};
pub use member::Member;
pub use model::{Model, Picoseconds};
pub use world::Tally;

use layout::Runner;
use std::io;
use std::sync::Arc;
use striae_mpi::comm::Comm;
use world::World;

/// A rank of a simulated world.
pub type Rank = Comm<Member>;

/// The settings of a simulated world.
#[derive(Debug, Clone)]
pub struct Simulated {
    ranks: u32,
    files: u32,
    ranks_per_node: u32,
    every: bool,
    model: Model,
    fault: Option<(u32, u64)>,
    aside: Option<fn(bool)>,
}

/// What a rank did that ran.
#[derive(Debug)]
pub struct Done<R> {
    /// The rank.
    pub rank: u32,
    /// How many ranks it stands for, itself included.
    pub stands_for: u64,
    /// What it did.
    pub tally: Tally,
    /// What its work returned, or the value of its panic.
    pub result: std::thread::Result<R>,
}

/// The stack of a rank in bytes; its pages exist when they are touched.
const STACK: usize = 1 << 20;

impl Simulated {
    /// A world of `ranks` ranks, 128 on a node, for one file, of which as few run as are needed.
    #[must_use]
    pub const fn new(ranks: u32) -> Self {
        let (every, model) = (false, Model::new());
        Self { ranks, files: 1, ranks_per_node: 128, every, model, fault: None, aside: None }
    }

    /// Sets the number of physical files of the sets that are written, which decides which ranks
    /// are equal: as [`Builder::nfiles`](striae_mpi::sion::Builder::nfiles) does.
    #[must_use]
    pub const fn files(self, files: u32) -> Self {
        Self { files, ..self }
    }

    /// Sets how many consecutive ranks of a file share a node. 0 counts as 1.
    #[must_use]
    pub const fn ranks_per_node(self, ranks_per_node: u32) -> Self {
        Self { ranks_per_node: if ranks_per_node == 0 { 1 } else { ranks_per_node }, ..self }
    }

    /// Lets every rank run, each as a thread.
    #[must_use]
    pub const fn every_rank(self) -> Self {
        Self { every: true, ..self }
    }

    /// Sets how long everything takes.
    #[must_use]
    pub const fn model(self, model: Model) -> Self {
        Self { model, ..self }
    }

    /// Lets a rank's operation with a number, counted from 0, fail as on a full disk. Operations
    /// are those of [`Tally::operations`]. The rank must be one that runs.
    #[must_use]
    pub const fn fault(self, rank: u32, operation: u64) -> Self {
        Self { fault: Some((rank, operation)), ..self }
    }

    /// Calls `tell` in the thread of a rank with true before it works for the simulation itself,
    /// and with false after that. So a program can count what the ranks do and leave out the rest.
    /// It is also called before and after such work inside such work.
    #[must_use]
    pub const fn aside(self, tell: fn(bool)) -> Self {
        Self { aside: Some(tell), ..self }
    }

    /// Runs `work` as every rank that must run, each in a thread, and returns what they did in the
    /// order of the ranks.
    ///
    /// If all ranks wait for something that none of them will do, all get
    /// [`Code::Lost`](striae_mpi::Code::Lost).
    ///
    /// # Errors
    /// The operating system has no more threads.
    pub fn run<R: Send>(&self, work: impl Fn(Rank) -> R + Sync) -> io::Result<Vec<Done<R>>> {
        let runners = Runner::all(self);
        let world = Arc::new(World::new(self.clone(), runners.clone()));
        let (work, world) = (&work, &world);
        let results = std::thread::scope(|scope| {
            let start = |(seat, runner): (usize, &Runner)| {
                let thread = std::thread::Builder::new().stack_size(STACK);
                let rank = Comm::new(Member::new(world, seat, runner.rank, self.ranks));
                let started = thread.spawn_scoped(scope, move || {
                    let _left = world.leaves(); // also after a panic
                    work(rank)
                });
                if started.is_err() {
                    drop(world.leaves());
                }
                started
            };
            let threads: Vec<_> = runners.iter().enumerate().map(start).collect();
            let join = |thread: io::Result<std::thread::ScopedJoinHandle<'_, R>>| {
                thread.map(std::thread::ScopedJoinHandle::join)
            };
            threads.into_iter().map(join).collect::<Vec<_>>()
        });
        let done = |(seat, (runner, result)): (usize, (&Runner, io::Result<_>))| {
            let (rank, stands_for) = (runner.rank, runner.stands_for());
            Ok(Done { rank, stands_for, tally: world.tally(seat), result: result? })
        };
        runners.iter().zip(results).enumerate().map(done).collect()
    }
}
