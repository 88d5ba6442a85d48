//! Some frames of a trajectory as a file of their own, with the values that they took from frame 0.

use crate::error::Error;
use crate::gsd::File;
use crate::gsd::hoomd::schema::{self, Field, Group};
use crate::gsd::hoomd::{self, Trajectory};
use crate::gsd::write::FileWriter;
use std::collections::BTreeSet;
use std::io;
use std::num::NonZeroU64;
use striae_core::gsd::{Chunk, checksums};
use striae_core::span::Span;
use striae_core::store::usize_to_u64;
use striae_hoomd::fallback::{Fallback, Need};
use striae_hoomd::room::Room;

/// Bytes of default rows in one write.
const PIECE: usize = 1 << 16;

/// Some frames of a trajectory, which must be asked for in ascending order.
pub(super) struct Part {
    trajectory: Trajectory,
    fallback: Fallback,
    /// The first frame that was asked for.
    first: Option<u64>,
    /// Logged quantities of the first frame, in the new file.
    logs: BTreeSet<u16>,
    /// Bytes of the needs of all frames so far, with their entries, and the most that are allowed.
    taken: u64,
    most: u64,
}

/// The bytes of an entry of the index.
const ENTRY: u64 = 32;

/// Whether readers of the file take missing values from frame 0.
pub(super) fn is_trajectory(file: &File) -> bool {
    file.header().schema.as_bytes() == schema::NAME.as_bytes()
}

impl Part {
    /// The frames from `start` on, which take at most `most` bytes from frame 0; `None` if the file
    /// is no trajectory, so that no reader looks in frame 0.
    pub(super) fn of(file: &File, start: u64, most: u64) -> Result<Option<Self>, Error> {
        if !is_trajectory(file) {
            return Ok(None);
        }
        let trajectory = Trajectory::new(file.clone())?;
        let (first, logs, taken) = (None, BTreeSet::new(), 0);
        let mut fallback = Fallback::default();
        if start > 0 {
            let names = trajectory.file().names()?;
            let sums = names.id(checksums::NAME);
            let name = |id| names.get(id).map_or(&[][..], |name| name.0);
            let mut chunks = trajectory.first()?.to_vec();
            chunks.retain(|chunk| Some(chunk.id) != sums);
            fallback = Fallback::new(&chunks, name, |group| trajectory.first_count(group))?;
        }
        Ok(Some(Self { trajectory, fallback, first, logs, taken, most }))
    }

    /// The chunks that a frame needs besides its own chunks.
    pub(super) fn needs(&mut self, frame: u64, own: &[Chunk]) -> Result<Vec<Need>, Error> {
        let Self { trajectory, fallback, .. } = self;
        let members = |group: Group| trajectory.members(own, group);
        let needs = fallback.needs(own, members)?;
        if self.first.is_none() && frame > 0 {
            let names = trajectory.file().names()?;
            let name = |id| names.get(id).map_or(&[][..], |name| name.0);
            fallback.set_first(own, name, members)?;
        }
        let is_first = self.first.is_none();
        let first = *self.first.get_or_insert(frame);
        for need in &needs {
            self.check(need, frame, first)?;
        }
        let copied = needs.iter().filter_map(Need::chunk);
        for id in own.iter().chain(copied).map(|chunk| chunk.id) {
            let name = self.trajectory.file().name_of(id);
            if name.starts_with(b"log/") && is_first {
                self.logs.insert(id);
            } else if name.starts_with(b"log/") && !self.logs.contains(&id) {
                return Err(self.trajectory.file().error(hoomd::Error::Late { name, frame }));
            }
        }
        Ok(needs)
    }

    /// The chunk of a frame without chunks: its step, as readers see it in the old file.
    pub(super) fn step(&self) -> Result<Need, Error> {
        let first = self.trajectory.first()?;
        let chunk = self.trajectory.named(first, schema::STEP.name)?;
        Ok(chunk.map_or(Need::Default(&schema::STEP, 1), |chunk| Need::Copy(*chunk)))
    }

    /// Refuses a need that cannot be written, or needs that are too large together.
    fn check(&mut self, need: &Need, frame: u64, first: u64) -> Result<(), Error> {
        if let Need::Absence(id) = need {
            let name = self.trajectory.file().name_of(*id);
            return Err(self.trajectory.file().error(hoomd::Error::Gap { name, frame, first }));
        }
        self.taken = self.taken.saturating_add(need.bytes()).saturating_add(ENTRY);
        match self.taken <= self.most {
            true => Ok(()),
            false => {
                let (bytes, max) = (self.taken, self.most);
                Err(self.trajectory.file().error(hoomd::Error::Part { bytes, max }))
            }
        }
    }

    /// The bytes and chunks that the needs of all frames may have.
    pub(super) fn room(&self) -> Room {
        Room::new(self.trajectory.file().head().file_len).most(self.most)
    }
}

/// Writes a chunk of `rows` default rows, and returns its length in bytes.
pub(in crate::gsd) fn write_default(
    writer: &mut FileWriter,
    field: &Field,
    rows: u64,
) -> Result<u64, Error> {
    let Some((kind, m, row)) = field.default_row() else { return Ok(0) };
    if field.rows.group().is_none() {
        return Ok(writer.write_bytes(field.name, kind, m, &row)?.span.len());
    }
    let all = Span::of_table(0, rows, usize_to_u64(row.len()));
    let too_long = || Error::new(writer.path(), io::Error::from(io::ErrorKind::FileTooLarge));
    let all = all.ok_or_else(too_long)?;
    let mut chunk = writer.begin_chunk(field.name, kind, m)?;
    let piece = row.repeat(PIECE.checked_div(row.len()).unwrap_or(1).max(1));
    let piece_len = NonZeroU64::new(usize_to_u64(piece.len())).unwrap_or(NonZeroU64::MIN);
    for written in all.pieces(piece_len) {
        let len = usize::try_from(written.len()).unwrap_or(usize::MAX);
        chunk.write_raw(piece.get(..len).unwrap_or_default())?;
    }
    Ok(chunk.finish()?.span.len())
}
