//! A physical file that will be made: its tasks, and how it gets its META1.

use super::part::{Origin, Part, Settings, Starts, WINDOW};
use crate::error::Error;
use crate::lock::Locked;
use std::io;
use std::path::PathBuf;
use striae_core::integrity::Checksum;
use striae_core::sion::create::{Front, TaskTable, write_meta1};
use striae_core::sion::{Blocks, Book};
use striae_core::store::ReadAt;

/// A physical file that will be made.
pub(super) struct Plan {
    pub(super) path: PathBuf,
    pub(super) file: Locked,
    pub(super) book: Book,
    pub(super) table: Table,
}

impl Plan {
    /// Empties the file.
    pub(super) fn empty(&self) -> Result<(), Error> {
        let empty = || {
            if self.file.size()? != 0 {
                // Not if it is empty: file systems take that for a replaced file, and write all of
                // it when it is closed.
                self.file.set_size(0)?;
            }
            // Else a power cut could leave the old size, with old bytes and new ones; also if
            // someone else emptied it a moment ago.
            self.file.sync()
        };
        empty().map_err(|error: io::Error| Error::new(&self.path, error))
    }

    pub(super) fn write(
        self,
        prefix: &[u8],
        mapping: Vec<(u32, u32)>,
        settings: Settings,
    ) -> Result<Part, Error> {
        let Self { path, file, book, table } = self;
        let mut window = vec![0; WINDOW];
        let checksum: Option<Checksum> = book.is_sealed().then_some(crc32c::crc32c_append);
        let front = Front::new(book.meta1(), prefix).map_err(|error| Error::new(&path, error))?;
        let made = write_meta1(&front, &table, checksum, &mut &*file, &mut window);
        let meta1_crc = made.map_err(|error| Error::new(&path, error))?;
        let (starts, book) = (table.into_starts(book.blocks()), book.with_meta1_crc(meta1_crc));
        Ok(Part::new(Origin { path, file, book, starts, mapping }, settings))
    }
}

/// The tasks of one physical file.
pub(super) struct Table {
    pub(super) ntasks: u64,
    /// The chunk sizes, already rounded.
    pub(super) sizes: Sizes,
    pub(super) ranks: Ranks,
}

/// Global ranks of the tasks.
pub(super) enum Ranks {
    From(u64),
    Each(Vec<i64>),
}

impl TaskTable for Table {
    fn ntasks(&self) -> u64 {
        self.ntasks
    }

    fn globalrank(&self, local: u32) -> i64 {
        match &self.ranks {
            // Exact: the set has more tasks.
            Ranks::From(first) => first.saturating_add(local.into()).cast_signed(),
            Ranks::Each(ranks) => of_task(ranks, local).unwrap_or(0),
        }
    }

    fn chunksize(&self, local: u32) -> u64 {
        self.sizes.of(local)
    }
}

fn of_task<T: Copy>(table: &[T], local: u32) -> Option<T> {
    table.get(usize::try_from(local).ok()?).copied()
}

impl Table {
    /// The starts of the chunks; reuses the memory of the sizes.
    fn into_starts(self, blocks: &Blocks) -> Starts {
        match self.sizes {
            Sizes::Same(size) => Starts::Same(size),
            Sizes::Each(mut sizes) => {
                let mut start = blocks.first;
                for size in &mut sizes {
                    let next = start.saturating_add(*size); // exact: that of all is `blocks`
                    *size = std::mem::replace(&mut start, next);
                }
                Starts::Each(sizes)
            }
        }
    }
}

/// Chunk sizes of the tasks in bytes.
#[derive(Debug, Clone)]
pub(super) enum Sizes {
    Same(u64),
    Each(Vec<u64>),
}

impl Sizes {
    /// What task `task` asks for.
    pub(super) fn of(&self, task: u32) -> u64 {
        match self {
            Self::Same(size) => *size,
            Self::Each(sizes) => of_task(sizes, task).unwrap_or(0),
        }
    }
}

/// Files that are removed again if not all of a set can be made.
pub(super) struct NewFiles {
    pub(super) paths: Vec<PathBuf>,
}

impl Drop for NewFiles {
    fn drop(&mut self) {
        for path in &self.paths {
            let _ = std::fs::remove_file(path); // made by this call; nothing better can be done
        }
    }
}
