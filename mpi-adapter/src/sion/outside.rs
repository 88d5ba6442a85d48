//! What a program does to streams of its own besides appending to them: it writes into the files by
//! itself, or replaces bytes, as programs for SIONlib do.

use super::FileWriter;
use super::part::Part;
use crate::collective::Collective;
use crate::error::Failure;
use crate::file::SharedFile;
use std::io;
use std::path::{Path, PathBuf};
use striae_core::sion::{Meta1, Task};
use striae_core::store::usize_to_u64;

/// A task of this rank, and its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OwnTask {
    /// The number of the task in its set.
    pub task: u32,
    /// The number of its physical file.
    pub file: u32,
    /// Rank and chunks in that file.
    pub place: Task,
}

impl<C: Collective, F: SharedFile> FileWriter<C, F> {
    /// The tasks of this rank, with their places, in the order of [`tasks`](Self::tasks).
    pub fn own_tasks(&self) -> impl Iterator<Item = OwnTask> {
        self.files.own().flat_map(Part::own_tasks)
    }

    /// What the first file with tasks of this rank says of the set.
    pub const fn meta1(&self) -> &Meta1 {
        self.files.first.meta1()
    }

    /// Number and path of each file with tasks of this rank.
    pub fn paths(&self) -> impl Iterator<Item = (u32, PathBuf)> {
        self.files.own().map(|part| {
            let number = part.number();
            (number, super::builder::sibling_path(&self.path, number))
        })
    }

    /// The path of the first file of the set.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Index of the current chunk of a task and the number of its used bytes; `None` if it is not
    /// one of this rank.
    pub fn location(&mut self, task: u32) -> Option<(u32, u64)> {
        let part = self.files.with_task(task).ok()?;
        let cursor = *part.task(task)?.0.pen().cursor();
        Some((cursor.chunk(), cursor.used()))
    }

    /// Lets the next collective of the set fail at all ranks, because of something that this rank
    /// did alone.
    pub fn fail(&mut self, failure: Failure) {
        self.files.first.fail(failure);
    }

    /// Whether this rank could not write something, which the other ranks do not know yet: the next
    /// collective that meets them fails at all.
    pub fn has_failed(&self) -> bool {
        self.files.own().any(Part::has_failed)
    }

    /// Writes what waits of this rank in memory ([`collect`](super::Builder::collect)) into its
    /// files, without the other ranks. It opens those that it has not.
    ///
    /// # Errors
    /// An error of the operating system, which is also that of the next collective of all ranks.
    pub fn flush(&mut self) -> io::Result<()> {
        self.check()?;
        if !self.files.copies.is_empty() {
            return Err(unsupported("the keeper of a file of a buddy set alone opens it"));
        }
        self.files.own_mut().try_for_each(Part::flush_or_fail)
    }

    /// Adds the next `len` bytes of the current chunk of a task to its stream, which the program
    /// has written into the file itself.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] if the chunk has less room, or the task is not one of this
    /// rank; [`io::ErrorKind::Unsupported`] in a sealed set, whose checksums would be wrong, and if
    /// the set has [buddy sets](super::Builder::buddies), which lack the bytes;
    /// [`io::ErrorKind::WouldBlock`] if META2 of the last commit was there.
    pub fn count_written(&mut self, task: u32, len: u64) -> io::Result<()> {
        self.part_alone(task)?.count_written(task, len)
    }

    /// Replaces bytes of the stream of a task, from byte `offset` of chunk `chunk` on. The last
    /// chunk of the stream must have all of them. Committed bytes change at once.
    ///
    /// # Errors
    /// As [`count_written`](Self::count_written); [`io::ErrorKind::Unsupported`] if a thread of
    /// another rank may have older bytes yet ([`Collect::write_behind`](crate::Collect)); an error
    /// of the operating system, which is also that of the next collective of all ranks if it is of
    /// what was to be written before.
    pub fn overwrite(
        &mut self,
        task: u32,
        chunk: u32,
        offset: u64,
        bytes: &[u8],
    ) -> io::Result<()> {
        self.part_alone(task)?.overwrite(task, (chunk, offset), bytes)
    }

    /// The file of a task that has no copies.
    fn part_alone(&mut self, task: u32) -> io::Result<&mut Part<C, F>> {
        self.check()?;
        if !self.files.copies.is_empty() {
            return Err(unsupported("the buddy sets would not have these bytes"));
        }
        self.files.with_task(task)
    }
}

pub(super) fn not_mine(task: u32) -> io::Error {
    let text = format!("task {task} is not one of this rank");
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

fn unsupported(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, text)
}

impl<C: Collective, F: SharedFile> Part<C, F> {
    /// The number of the file.
    pub(super) fn number(&self) -> u32 {
        self.meta1().filenumber().unwrap_or(0)
    }

    /// Refuses what would make checksums wrong.
    fn check_unsealed(&self) -> io::Result<()> {
        match self.is_sealed() {
            true => {
                Err(unsupported("a sealed set cannot be changed: its checksums would be wrong"))
            }
            false => Ok(()),
        }
    }

    fn count_written(&mut self, number: u32, len: u64) -> io::Result<()> {
        self.check_unsealed()?;
        let (task, reach, _) = self.task(number).ok_or_else(|| not_mine(number))?;
        let cursor = task.pen().cursor();
        if len > cursor.room() {
            let room = cursor.room();
            let text = format!("{len} bytes were written, the chunk has room for {room}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        if u64::from(cursor.chunk()) >= reach {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        task.count(len);
        Ok(())
    }

    fn overwrite(
        &mut self,
        number: u32,
        (chunk, offset): (u32, u64),
        bytes: &[u8],
    ) -> io::Result<()> {
        self.check_unsealed()?;
        if self.is_behind() {
            return Err(unsupported(
                "the thread of another rank may write older bytes after these",
            ));
        }
        self.flush_or_fail()?; // or what waits would be written over the new bytes
        let place = self.own_tasks().find(|own| own.task == number);
        let place = place.ok_or_else(|| not_mine(number))?.place;
        let (task, ..) = self.task(number).ok_or_else(|| not_mine(number))?;
        let (last, len) = (task.pen().cursor(), usize_to_u64(bytes.len()));
        let used = match chunk == last.chunk() {
            true => last.used(),
            false => place.chunks.chunksize,
        };
        let end = offset.saturating_add(len);
        let span = place.chunks.chunk(chunk.into()).and_then(|all| all.part(offset, len));
        let span = span.filter(|_| chunk <= last.chunk() && end <= used).ok_or_else(|| {
            let text = format!("chunk {chunk} has no bytes {offset}..{end}, but {used}");
            io::Error::new(io::ErrorKind::InvalidInput, text)
        })?;
        self.write_at(span.offset(), bytes)
    }
}
