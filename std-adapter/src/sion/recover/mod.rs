//! Recovering sets that were never closed, or whose META2 is damaged.
//!
//! ```
//! use striae::sion::recover::Recover;
//!
//! # let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/sion");
//! # let unclosed = format!("{golden}/s21_unclosed_keyval.sion");
//! # let folder = tempfile::tempdir()?;
//! # let closed = folder.path().join("closed.sion");
//! let recovery = Recover::new().examine(&unclosed)?;
//! for task in recovery.tasks() {
//!     let found = task.recovered;
//!     println!("task {}: {} bytes, {}", task.task, found.bytes, found.certainty);
//! }
//! recovery.write(&closed, &|_| {})?;
//! assert!(recovery.is_exact());
//! assert_eq!(striae::sion::File::open(&closed)?.task(0)?.bytes, 1122);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod part;
mod source;
mod write;

use super::siblings::{PartOfSet, of_sibling, sibling_path};
use crate::error::Error;
use part::Part;
use std::io;
use std::path::{Path, PathBuf};
use striae_core::sion::check_set;
pub use striae_core::sion::recover::{Certainty, Doubt, Proof, Recovered};

/// How to recover a set: what is looked at, and what may be overwritten.
///
/// The old set may be unclosed, cut or damaged in META2, committed or closed; it is only read.
/// META1 must be sound. What proves a stream's length, and what is a guess, is said in
/// [`striae_core::sion::recover`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Recover {
    alone: bool,
    force: bool,
}

/// What can be recovered of a set.
#[derive(Debug)]
pub struct Recovery {
    parts: Vec<Part>,
    force: bool,
}

/// A task of a set that is recovered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecoveredTask {
    /// Number of the task in the set.
    pub task: u64,
    /// Number of its physical file in the set.
    pub file: u32,
    /// The number that the writer gave it.
    pub globalrank: i64,
    /// Its stream.
    pub recovered: Recovered,
}

impl Recover {
    /// The whole set; overwrites nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Recovers only the named physical file, even if it is the first of several. It is a set of one
    /// file then.
    #[must_use]
    pub const fn alone(mut self, alone: bool) -> Self {
        self.alone = alone;
        self
    }

    /// Replaces files that exist already.
    #[must_use]
    pub const fn force(mut self, force: bool) -> Self {
        self.force = force;
        self
    }

    /// Judges all streams of the set whose first file is at `path`. A later file of a set is taken
    /// alone.
    ///
    /// # Errors
    /// The file that is missing, unreadable, of another set, or whose META1 is damaged;
    /// [`TooManyChunks`](crate::error::ErrorKind::TooManyChunks) if a physical file has more than 2^25 chunks with data, or its
    /// META2 would have more than 4 GiB.
    pub fn examine(&self, path: impl AsRef<Path>) -> Result<Recovery, Error> {
        let path = path.as_ref();
        let first = Part::open(path.to_owned())?;
        let meta1 = &first.remains().head().meta1;
        let is_set = meta1.is_first_of_several() && !self.alone;
        let nfiles = if is_set { meta1.nfiles() } else { 1 };
        let mut parts = vec![first];
        for number in 1..nfiles {
            let part = Part::open(sibling_path(path, number));
            parts.push(part.map_err(|error| of_sibling(error, path, nfiles))?);
        }
        if is_set {
            check_set(parts.iter().map(|part| part.remains().head()))
                .map_err(|error| Error::new(path, error))?;
        }
        for part in &mut parts {
            part.examine()?;
        }
        Ok(Recovery { parts, force: self.force })
    }
}

impl Recovery {
    /// Physical files.
    #[must_use]
    pub fn files(&self) -> impl ExactSizeIterator<Item = &Path> {
        self.parts.iter().map(Part::path)
    }

    /// All tasks in order.
    pub fn tasks(&self) -> impl Iterator<Item = RecoveredTask> {
        let tasks = (0..).zip(&self.parts).flat_map(|(file, part)| {
            part.tasks().iter().map(move |task| (file, task.globalrank, task.recovered))
        });
        (0..).zip(tasks).map(|(task, (file, globalrank, recovered))| RecoveredTask {
            task,
            file,
            globalrank,
            recovered,
        })
    }

    /// Bytes of all streams.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.tasks().fold(0, |sum, task| sum.saturating_add(task.recovered.bytes))
    }

    /// Which file of a set of several this is, if it is recovered without the others.
    #[must_use]
    pub fn part_of_set(&self) -> Option<PartOfSet> {
        let [part] = self.parts.as_slice() else { return None };
        PartOfSet::of(&part.remains().head().meta1)
    }

    /// Whether no stream is a guess.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.tasks().all(|task| task.recovered.certainty.is_exact())
    }

    /// Writes a closed set whose first file gets the name `out`. `progress` is told the length of
    /// each piece of a stream that was copied.
    ///
    /// It has the same physical files, META1, chunks and data at the same places, so that (block,
    /// position) pointers mean what they meant; bytes that are in no stream are left out. The set
    /// is made under hidden names and renamed when it is whole: see
    /// [`Publish`](crate::publish::Publish).
    ///
    /// A physical file whose seal has sound checksums of its chunks is sealed with these, and not
    /// with those of the bytes that are there now: so [`verify`](crate::sion::verify::verify) still
    /// finds what was altered since. Without them the copy has no seal, as nothing proves the data.
    ///
    /// # Errors
    /// [`Exists`](crate::error::ErrorKind::Exists) for a file that is there already; the operating system's.
    pub fn write(&self, out: &Path, progress: &dyn Fn(u64)) -> Result<(), Error> {
        write::write(&self.parts, out, self.force, progress)
    }
}

/// What can be known of a file only while it stays the same.
fn changed(path: &Path) -> Error {
    let text = "was replaced while the set was recovered";
    Error::new(path, io::Error::other(text))
}

/// A physical file's path, and what tells it apart from one that replaced it.
#[derive(Debug)]
struct Identity {
    path: PathBuf,
    id: (u64, u64),
}
