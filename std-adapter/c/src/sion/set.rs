//! An open set, as a `sid` stands for it.

use super::failure::{Failure, failure};
use super::keys::{ABSOLUTE_POS, CURRENT_BLOCK, CURRENT_POS, Keys};
use super::reading::{Stream, Streams};
use super::stdio::Mirror;
use super::track::Track;
use super::writing::Writer;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is read or written.
#[derive(Debug)]
pub(super) enum Side {
    Read {
        source: Arc<dyn Streams>,
        streams: HashMap<usize, Box<dyn Stream>>,
        keys: HashMap<usize, Keys>,
    },
    Write(Box<dyn Writer>),
}

/// What is known of a set when it is opened.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// The number of physical files.
    pub nfiles: i32,
    /// The number of the first of `paths` in the set.
    pub filenumber: i32,
    /// The block size that META1 has.
    pub fsblksize: i32,
    /// Whether the data are stated to be big-endian.
    pub is_big: bool,
    /// Whether streams are key-value records.
    pub is_keyval: bool,
    /// The sum of the sizes of the chunks of a file.
    pub globalskip: i64,
    /// The offset of META2.
    pub start_of_varheader: i64,
    /// The most chunks of a task, at most 2^16: room for them is made at once.
    pub maxchunks: usize,
    /// File and local rank of each task, one after the other; empty for one file.
    pub mapping: Vec<i32>,
    /// Numbers and paths of the physical files.
    pub paths: Vec<(u32, PathBuf)>,
}

/// Arrays that the program has pointers to, until the next call that fills them.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) chunksizes: Vec<i64>,
    pub(super) globalranks: Vec<i64>,
    pub(super) blockcounts: Vec<i64>,
    pub(super) blocksizes: Vec<i64>,
    pub(super) lens: Vec<i64>,
    /// The rank whose chunks `lens` has.
    pub(super) lens_of: Option<usize>,
    pub(super) positions: Vec<i64>,
    pub(super) blocks: Vec<i64>,
}

/// Who has opened a set, and so how ranks are called and who closes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opened {
    /// One process, with all tasks or for one.
    Serially,
    /// Several processes, each for its own task.
    InParallel,
    /// Several processes, each for any tasks, which are called by their global ranks.
    Mapped,
}

/// An open set.
#[derive(Debug)]
pub struct Set {
    pub(super) path: PathBuf,
    /// The working directory when it was opened, to which paths are relative.
    pub(super) folder: PathBuf,
    pub(super) about: About,
    pub(super) tracks: Vec<Track>,
    /// The current task: an index of `tracks`.
    pub(super) rank: usize,
    /// Whether the set was opened for this task alone.
    pub(super) is_alone: bool,
    /// Whether it was made by `sion_dup`.
    pub(super) is_dup: bool,
    pub(super) is_posix: bool,
    /// Whether it was closed or given up: its number is free.
    pub(super) is_over: bool,
    /// Whether its close has failed, and was not repeated with success.
    pub(super) cannot_close: bool,
    pub(super) opened: Opened,
    pub(super) side: Side,
    /// What the program got of each physical file, and where it was left.
    pub(super) mirrors: HashMap<u32, (Mirror, u64)>,
    pub(super) shown: Shown,
}

impl Set {
    /// A set with these tasks, at the first of them.
    pub(super) fn new(path: &Path, (about, tracks): (About, Vec<Track>), side: Side) -> Self {
        Self {
            path: path.to_owned(),
            folder: std::env::current_dir().unwrap_or_default(),
            about,
            tracks,
            rank: 0,
            is_alone: false,
            is_dup: false,
            is_posix: false,
            is_over: false,
            cannot_close: false,
            opened: Opened::Serially,
            side,
            mirrors: HashMap::new(),
            shown: Shown::default(),
        }
    }

    /// This set, in the mode `posix` or `ansi`.
    #[must_use]
    pub fn posix(self, is_posix: bool) -> Self {
        Self { is_posix, ..self }
    }

    /// This set, opened by several processes.
    #[must_use]
    pub fn opened(self, opened: Opened) -> Self {
        Self { opened, ..self }
    }

    /// What is known of it.
    #[must_use]
    pub const fn about(&self) -> &About {
        &self.about
    }

    /// The tasks of this process.
    #[must_use]
    pub fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    /// Whether all processes of the set could do something.
    ///
    /// # Errors
    /// That of any process.
    pub fn agree(&self, mine: Result<(), Failure>) -> Result<(), Failure> {
        match &self.side {
            Side::Write(writer) => writer.agree(mine),
            Side::Read { source, .. } => source.agree(mine),
        }
    }

    /// A failure of a call for this set.
    pub fn fail(&self, why: impl std::fmt::Display) -> Failure {
        failure(&self.path, why)
    }

    /// Whether this is the path of its first file.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        std::env::current_dir()
            .is_ok_and(|folder| folder.join(path) == self.folder.join(&self.path))
    }

    pub(super) const fn writes(&self) -> bool {
        matches!(self.side, Side::Write { .. })
    }

    /// The current task.
    pub(super) fn track(&mut self) -> Result<&mut Track, Failure> {
        let rank = self.rank;
        let none = failure(&self.path, format_args!("there is no task {rank}"));
        self.tracks.get_mut(rank).ok_or(none)
    }

    /// The current task, with the lengths of its chunks.
    pub(super) fn loaded(&mut self) -> Result<&mut Track, Failure> {
        self.load(self.rank)?;
        self.track()
    }

    /// Reads the lengths of the chunks of a task, if they are not known.
    pub(super) fn load(&mut self, rank: usize) -> Result<(), Failure> {
        let Side::Read { source, .. } = &self.side else { return Ok(()) };
        let Some(track) = self.tracks.get_mut(rank) else { return Ok(()) };
        if track.lens.is_none() {
            let mut lens = source.chunk_lens(&track.entry)?;
            if lens.is_empty() {
                lens.push(0);
            }
            track.lens = Some(lens);
        }
        Ok(())
    }

    /// The `FILE *` or descriptor of the file of the current task, at the current position.
    pub(super) fn mirror(&mut self) -> Result<&mut Mirror, Failure> {
        self.sync()?;
        let (writes, posix) = (self.writes(), self.is_posix);
        let number = self.loaded()?.entry.file;
        if !self.mirrors.contains_key(&number) {
            let path = self.about.paths.iter().find(|(other, _)| *other == number);
            let (_, path) = path.ok_or_else(|| self.fail("has no such file"))?;
            let mirror = Mirror::open(&self.folder.join(path), writes, posix);
            let mirror = mirror.map_err(|error| failure(path, error))?;
            self.mirrors.insert(number, (mirror, u64::MAX));
        }
        self.place()?;
        let mirror = self.mirrors.get_mut(&number).map(|(mirror, _)| mirror);
        mirror.ok_or_else(|| failure(&self.path, "has no such file"))
    }

    /// Moves the mirror of the current file to the current position.
    pub(super) fn place(&mut self) -> Result<(), Failure> {
        let track = self.track()?;
        let (task, number, offset) = (track.entry.task, track.entry.file, track.offset());
        if let Some((mirror, left)) = self.mirrors.get_mut(&number) {
            let offset = offset.ok_or("the position is no offset of a file")?;
            let flushed = match &mut self.side {
                // Or bytes of the buffer would later replace what the program writes there itself.
                Side::Write(writer) => writer.flush(task),
                _ => Ok(()),
            };
            if *left != offset {
                mirror.seek(offset)?;
                *left = offset;
            }
            flushed?;
        }
        Ok(())
    }

    /// Takes over the position to which the program has read or written itself.
    pub(super) fn sync(&mut self) -> Result<(), Failure> {
        if self.tracks.is_empty() {
            return Ok(()); // a process that has no task
        }
        let (writes, number) = (self.writes(), self.track()?.entry.file);
        let Some((mirror, left)) = self.mirrors.get_mut(&number) else { return Ok(()) };
        let at = mirror.tell(writes).map_err(|error| failure(&self.path, error))?;
        let before = std::mem::replace(left, at);
        if at == before {
            return Ok(());
        }
        let done = if writes { self.written_to(at) } else { self.read_to(at) };
        if done.is_err()
            && let Some((_, left)) = self.mirrors.get_mut(&number)
        {
            *left = before; // it is taken over by the next call
        }
        done
    }

    /// The program has read up to this offset.
    fn read_to(&mut self, offset: u64) -> Result<(), Failure> {
        let track = self.loaded()?;
        let within = |chunk: usize| {
            let at = offset.checked_sub(track.start_of(chunk)?)?;
            (at <= *track.lens().get(chunk)?).then_some((chunk, at))
        };
        let others = 0..track.lens().len();
        let found = within(track.chunk).or_else(|| others.into_iter().find_map(within));
        // If it has read more than the chunk has, it has all of the chunk.
        (track.chunk, track.at) = found.unwrap_or((track.chunk, track.len()));
        Ok(())
    }

    /// The program has written up to this offset, in the current chunk.
    fn written_to(&mut self, offset: u64) -> Result<(), Failure> {
        let track = self.track()?;
        let chunksize = track.entry.place.chunks.chunksize;
        let (chunk, is_last, len) = (track.chunk, track.chunk == track.last(), track.len());
        let at = track.start_of(chunk).and_then(|start| offset.checked_sub(start));
        let most = if is_last { chunksize } else { len };
        let Some(at) = at.filter(|&at| at <= most) else {
            let why = format_args!(
                "the program has written up to offset {offset}, which is not in \
                                    chunk {chunk} of task {}",
                track.entry.task
            )
            .to_string();
            self.place()?;
            return Err(self.fail(why));
        };
        match at.checked_sub(len).filter(|&more| more > 0) {
            Some(more) => {
                let (writer, task) = self.writer()?;
                writer.count_written(task, more)?;
                self.moved()
            }
            None => {
                self.track()?.at = at;
                Ok(())
            }
        }
    }

    /// Goes to another task; the position there is where it was left.
    pub(super) fn go_to(&mut self, rank: i32) -> Result<(), Failure> {
        const CURRENT: i32 = -101;
        let ntasks = self.tracks.len();
        let wanted = if rank == CURRENT { Some(self.rank) } else { self.find_rank(rank) };
        let wanted = wanted.filter(|&rank| rank < ntasks).ok_or_else(|| match self.opened {
            Opened::Serially => self.fail(format_args!(
                "there is no rank {rank}, ranks are 0 to {}",
                ntasks.wrapping_sub(1)
            )),
            _ => self.fail(format_args!("rank {rank} is not one of this process")),
        })?;
        if self.is_alone && wanted != self.rank {
            return Err(self.fail(format_args!("was opened for another rank than {rank}")));
        }
        self.sync()?;
        self.rank = wanted;
        self.load(wanted)
    }

    /// The index of the task that a program calls so.
    fn find_rank(&self, rank: i32) -> Option<usize> {
        let calls = |track: &Track| match self.opened {
            Opened::Serially => false,
            Opened::InParallel => {
                i64::from(rank) == track.entry.place.globalrank
                    || u32::try_from(rank) == Ok(track.entry.place.local)
            }
            Opened::Mapped => i64::from(rank) == track.entry.place.globalrank,
        };
        match self.opened {
            Opened::Serially => usize::try_from(rank).ok(),
            _ => self.tracks.iter().position(calls),
        }
    }

    /// Moves within the current task. `block` is the number of a chunk or a word for a position.
    pub(super) fn seek(&mut self, block: i32, position: i64) -> Result<(), Failure> {
        const END: i64 = -105;
        let track = self.loaded()?;
        let total = i64::try_from(track.bytes())?;
        let (chunk, at) = match i64::from(block) {
            ABSOLUTE_POS => find(track.lens(), position),
            END => find_from_end(track.lens(), position),
            block => {
                let is_current = block == CURRENT_BLOCK;
                let chunk =
                    if is_current { Some(track.chunk) } else { usize::try_from(block).ok() };
                let at = if position == CURRENT_POS {
                    Some(track.at)
                } else {
                    u64::try_from(position).ok()
                };
                chunk.zip(at)
            }
        }
        .filter(|(chunk, at)| track.lens().get(*chunk).is_some_and(|len| at <= len))
        .ok_or_else(|| {
            let (chunks, task) = (track.lens().len(), track.entry.task);
            format!(
                "task {task} has no position {position} in block {block}: it has {chunks} \
                     chunks and {total} bytes"
            )
        })?;
        (track.chunk, track.at) = (chunk, at);
        Ok(())
    }

    /// Closes the set: what was written becomes part of the files.
    pub(super) fn close(&mut self) -> Result<(), Failure> {
        let writes = self.writes();
        let mut mine = self.sync();
        for (mirror, _) in self.mirrors.values_mut() {
            // What the program has written is in the file before the writer's last bytes.
            let told = mirror.tell(writes).map(drop).map_err(|error| failure(&self.path, error));
            mine = mine.and(told);
        }
        match &mut self.side {
            Side::Write(writer) => writer.close(mine),
            Side::Read { source, .. } => source.close(mine),
        }?;
        self.mirrors.clear(); // not before: after an error the program still has them
        Ok(())
    }

    /// Refuses what only a set that is read can do.
    pub(super) fn check_reading(&self, what: &str) -> Result<(), Failure> {
        match self.writes() {
            true => Err(self.fail(format_args!("was opened to write: {what}"))),
            false => Ok(()),
        }
    }
}

/// Chunk and position in it of a position in the stream; the end of a chunk is not the start of
/// the next one, as in SIONlib.
fn find(lens: &[u64], position: i64) -> Option<(usize, u64)> {
    let mut at = u64::try_from(position).ok()?;
    for (chunk, &len) in lens.iter().enumerate() {
        if at <= len {
            return Some((chunk, at));
        }
        at = at.saturating_sub(len);
    }
    None
}

/// Chunk and position in it of a position from the end of the stream, which is not positive; the
/// start of a chunk is not the end of the one before it, as in SIONlib.
fn find_from_end(lens: &[u64], position: i64) -> Option<(usize, u64)> {
    let mut back = if position <= 0 { position.unsigned_abs() } else { return None };
    for (chunk, &len) in lens.iter().enumerate().rev() {
        if let Some(at) = len.checked_sub(back) {
            return Some((chunk, at));
        }
        back = back.saturating_sub(len);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_at_the_end_of_a_chunk_is_in_that_chunk() {
        let lens = [3, 0, 2];
        let found = (0..=6).map(|position| find(&lens, position)).collect::<Vec<_>>();
        let first = (0..=3).map(|at| Some((0, at)));
        let expected = first.chain([Some((2, 1)), Some((2, 2)), None]).collect::<Vec<_>>();
        assert_eq!(found, expected);
        assert_eq!(find(&lens, -1), None);
    }

    #[test]
    fn a_position_from_the_end_is_in_the_last_chunk_that_has_it() {
        let found = (-5..=1).rev().map(|at| find_from_end(&[3, 0, 1], at)).collect::<Vec<_>>();
        let expected = [None, Some((2, 1)), Some((2, 0)), Some((0, 2)), Some((0, 1))];
        let expected = expected.into_iter().chain([Some((0, 0)), None]).collect::<Vec<_>>();
        assert_eq!(found, expected);
    }
}
