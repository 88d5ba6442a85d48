//! Writes the recovered file.

use super::Recovery;
use super::frames::each_saved;
use super::trajectory::FirstFrame;
use crate::gsd::Failed;
pub use crate::recover::Unwritten;
use crate::subject::{Subject, read_pieces};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use striae_core::gsd::writer::WriteError;
use striae_core::gsd::{Chunk, Slot, Writer};
use striae_core::step::DriveError;
use striae_core::store::WriteAt;
use striae_hoomd::fallback::Need;
use striae_hoomd::room::Room;
use striae_hoomd::schema::{self, Field};

/// The source of a copied chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copied {
    /// The frame itself.
    Own,
    /// The lost frame 0, from which the frame takes the chunk; the same chunk often comes
    /// repeatedly.
    First,
}

/// The new file, which gets the saved frames of the damaged file.
///
/// Other crates may implement it; a method of a later version has a default.
#[allow(clippy::missing_errors_doc, reason = "errors are the output's own")]
pub trait Output {
    /// The error of the output.
    type Error;

    /// Adds a copy of a chunk of the damaged file to the frame, under this name.
    fn copy(&mut self, name: &[u8], chunk: &Chunk, copied: Copied) -> Result<(), Self::Error>;

    /// Adds a chunk with this number of rows, all with the field's default.
    fn add_default(&mut self, field: &'static Field, rows: u64) -> Result<(), Self::Error>;

    /// Leaves out a chunk of the damaged file that the schema forbids in the frame.
    fn leave_out(&mut self, _chunk: &Chunk) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Ends the frame.
    fn end_frame(&mut self) -> Result<(), Self::Error>;
}

pub(super) type Saved<S, O> = Result<(), Unwritten<Failed<S>, <O as Output>::Error>>;

impl Recovery {
    /// Adds the saved frames to a new file, which was made with [`attributes`](Self::attributes).
    /// Frames keep their order; after a lost frame, the numbers are smaller than before.
    ///
    /// # Errors
    /// An error of the store; an error of the output.
    pub fn save<S: Subject, O: Output>(&self, subject: &S, output: &mut O) -> Saved<S, O> {
        let is_trajectory = self.evidence.schema == schema::NAME;
        let mut new = New {
            recovery: self,
            frames: self.frames(),
            is_trajectory,
            has_schema: self.has_schema(),
            subject,
            output,
            next: 0,
            taken: self.judged.taken.clone(),
            step: None,
            logs: BTreeSet::new(),
        };
        // In a trajectory, frames without chunks are frames like others, also the last ones.
        let saved = (&self.judged.runs[..], self.names.sums, is_trajectory);
        let done = each_saved(subject, &self.evidence, saved, |_, chunks| new.frame(chunks));
        done.map_err(|error| match error {
            Unwritten::Read(error) => Unwritten::Read(error),
            Unwritten::Write(error) => error,
        })
    }
}

/// The frames of the new file.
struct New<'a, S, O> {
    recovery: &'a Recovery,
    /// The number of frames of the new file.
    frames: u64,
    is_trajectory: bool,
    has_schema: bool,
    subject: &'a S,
    output: &'a mut O,
    /// The number of the next frame.
    next: u64,
    /// The values that frames take from a lost frame 0.
    taken: Option<FirstFrame>,
    /// The step of the first frame, in a trajectory.
    step: Option<Chunk>,
    /// The logged quantities of the first frame.
    logs: BTreeSet<u16>,
}

impl<S: Subject, O: Output> New<'_, S, O> {
    /// Copies a frame with these chunks. A last frame without chunks would be lost, so it gets one.
    fn frame(&mut self, own: &[Chunk]) -> Saved<S, O> {
        let is_last = self.next.saturating_add(1) == self.frames && self.is_trajectory;
        let has_logs = self.next > 0 && self.has_schema;
        let Self { subject, output, .. } = self;
        let names = &self.recovery.names;
        let name = |chunk: &Chunk| names.get(chunk.id).unwrap_or_default();
        let is_step = |chunk: &&Chunk| name(chunk) == schema::STEP.name.as_bytes();
        let is_log = |chunk: &&Chunk| name(chunk).starts_with(b"log/");
        let mut is_empty = true;
        for chunk in own {
            let is_late = has_logs && is_log(&chunk) && !self.logs.contains(&chunk.id);
            is_empty &= is_late;
            let done = match is_late {
                true => output.leave_out(chunk),
                false => output.copy(name(chunk), chunk, Copied::Own),
            };
            done.map_err(Unwritten::Write)?;
        }
        let needs = self.taken.as_mut().map(|taken| taken.needs(*subject, names, own));
        let mut needs: Vec<Need> = needs.transpose().map_err(Unwritten::Read)?.unwrap_or_default();
        if self.next == 0 {
            let all = || own.iter().chain(needs.iter().filter_map(Need::chunk));
            self.step = all().find(is_step).copied();
            self.logs = all().filter(is_log).map(|chunk| chunk.id).collect();
        }
        let is_written = |need: &Need| matches!(need, Need::Copy(_) | Need::Default(..));
        if is_last && is_empty && !needs.iter().any(is_written) {
            needs.push(self.step.map_or(Need::Default(&schema::STEP, 1), Need::Copy));
        }
        for need in needs {
            let done = match need {
                Need::Copy(chunk) => output.copy(name(&chunk), &chunk, Copied::First),
                Need::Default(field, rows) => output.add_default(field, rows),
                Need::Absence(_) | Need::Lost => Ok(()), // the frame is a guess
            };
            done.map_err(Unwritten::Write)?;
        }
        output.end_frame().map_err(Unwritten::Write)?;
        self.next = self.next.saturating_add(1);
        Ok(())
    }
}

/// An output that writes saved frames with core's writer, in any store.
#[derive(Debug)]
pub struct IntoWriter<'a, S, W, B> {
    subject: &'a S,
    writer: &'a mut Writer<W, B>,
    /// The limit for the chunks of frames.
    room: Room,
    window: Vec<u8>,
}

impl<'a, S: Subject, W, B> IntoWriter<'a, S, W, B> {
    /// Makes an output that copies from the damaged file `subject` to `writer`.
    ///
    /// # Errors
    /// An error of the store.
    pub fn new(subject: &'a S, writer: &'a mut Writer<W, B>) -> Result<Self, S::Error> {
        let room = Room::damaged(subject.size()?);
        Ok(Self { subject, writer, room, window: Vec::new() })
    }
}

impl<S: Subject, W: WriteAt, B: AsMut<[Slot]>> Output for IntoWriter<'_, S, W, B> {
    type Error = Unwritten<Failed<S>, WriteError<W>>;

    fn copy(&mut self, name: &[u8], chunk: &Chunk, copied: Copied) -> Result<(), Self::Error> {
        if copied == Copied::Own {
            let took = self.room.take(chunk);
            took.map_err(|error| Unwritten::Read(DriveError::Format(error)))?;
        }
        let id = self.writer.name(name).map_err(Unwritten::Write)?;
        let begun = self.writer.begin_chunk(id, chunk.kind, chunk.m);
        let mut to = begun.map_err(Unwritten::Write)?;
        let mut written = Ok(());
        let read = read_pieces(self.subject, chunk.span, &mut self.window, &mut |bytes| {
            written = to.write(bytes);
            written.is_ok()
        });
        read.map_err(Unwritten::Read)?;
        written.and_then(|()| to.finish()).map(drop).map_err(Unwritten::Write)
    }

    fn add_default(&mut self, field: &'static Field, rows: u64) -> Result<(), Self::Error> {
        let Some((kind, m, row)) = field.default_row() else { return Ok(()) };
        let rows = if field.rows.group().is_none() { 1 } else { rows };
        let id = self.writer.name(field.name.as_bytes()).map_err(Unwritten::Write)?;
        let mut to = self.writer.begin_chunk(id, kind, m).map_err(Unwritten::Write)?;
        for _ in 0..rows {
            to.write(&row).map_err(Unwritten::Write)?;
        }
        to.finish().map(drop).map_err(Unwritten::Write)
    }

    fn end_frame(&mut self) -> Result<(), Self::Error> {
        self.writer.end_frame().map(drop).map_err(Unwritten::Write)
    }
}
