//! The schema hoomd: a frame that no reader of the new file could read is not saved.
//!
//! The frames of the new file are checked before it is written, as `verify` would check them after.

use super::trajectory::without_first;
use super::write::{Copied, Output, Unwritten};
use super::{Certainty, Doubt, Limits, Loss, Recovery, Run};
use crate::finding::Coverage;
use crate::gsd::Failed;
use crate::gsd::verify::{Check, Placed};
use crate::subject::Subject;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::mem;
use striae_core::gsd::Chunk;
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_hoomd::Error as HoomdError;
use striae_hoomd::schema::{self, Field, Rows};

/// The most times that all frames are checked. Without some frames, others may take other values
/// from frame 0. If frames are wrong after the last time, all are lost.
const ROUNDS: u32 = 4;

/// Decides which frames cannot be saved, or only in part.
pub(super) fn judge<S: Subject>(recovery: &mut Recovery, subject: &S) -> Result<(), Failed<S>> {
    let mut left = ROUNDS;
    loop {
        left = left.saturating_sub(1);
        let Found { mut limits, error, first, unsaved, late } = find(recovery, subject)?;
        let lost = limits.0.iter().map(|(_, limit)| *limit).find(|limit| !limit.is_saved());
        let Recovery { evidence, names, judged, forbidden, .. } = &mut *recovery;
        *forbidden = forbidden.take().or(error);
        judged.coverage = without(judged.coverage, unsaved);
        match lost {
            None => judged.coverage = without(judged.coverage, late),
            // The others may be better without them.
            Some(_) => limits.0.retain(|(_, limit)| !limit.is_saved()),
        }
        let had_first = has_first(&judged.runs);
        judged.runs = Run::limited(&judged.runs, &limits);
        if had_first && !has_first(&judged.runs) {
            let old = mem::take(&mut judged.runs);
            (judged.runs, judged.taken) =
                without_first(subject, evidence, names, old, Some(&first))?;
        }
        if let Some(lost) = lost.filter(|_| left == 0) {
            let saved = judged.runs.iter_mut().filter(|run| run.certainty.is_saved());
            saved.for_each(|run| run.certainty = lost);
            judged.coverage = Coverage::default();
        }
        Run::number(&mut judged.runs);
        if lost.is_none() || left == 0 {
            return Ok(());
        }
    }
}

const fn without(coverage: Coverage, other: Coverage) -> Coverage {
    Coverage {
        bytes: coverage.bytes.saturating_sub(other.bytes),
        checked: coverage.checked.saturating_sub(other.checked),
    }
}

/// Whether frame 0 is saved.
fn has_first(runs: &[Run]) -> bool {
    runs.first().is_some_and(|run| run.frames.start == 0 && run.certainty.is_saved())
}

/// What was found in the frames of the new file.
#[derive(Default)]
struct Found {
    /// The limits of frames of the damaged file.
    limits: Limits,
    /// The first error.
    error: Option<HoomdError>,
    /// The ids of wrong chunks of frame 0 of the damaged file.
    first: BTreeSet<u16>,
    /// The bytes of frames that are lost.
    unsaved: Coverage,
    /// The bytes of chunks that are left out of saved frames.
    late: Coverage,
}

fn find<S: Subject>(recovery: &Recovery, subject: &S) -> Result<Found, Failed<S>> {
    let saved = recovery.runs().filter(|run| run.certainty.is_saved());
    let mut checked = Checked {
        check: Check::new(subject, false),
        recovery,
        frame: Vec::new(),
        bytes: 0,
        late: 0,
        is_late: false,
        number: 0,
        frames: saved.flat_map(|run| run.frames.clone()),
        found: Found::default(),
    };
    recovery.save(subject, &mut checked).map_err(Unwritten::into_one)?;
    Ok(checked.found)
}

/// A new file that is not written.
struct Checked<'a, S, I> {
    check: Check<'a, S>,
    recovery: &'a Recovery,
    /// The chunks of the present frame, and the bytes of those that are its own.
    frame: Vec<Placed>,
    bytes: u64,
    /// The bytes of those that are left out, and whether there are any.
    late: u64,
    is_late: bool,
    /// Its number in the new file, and in the damaged one that of it and of all after it.
    number: u64,
    frames: I,
    found: Found,
}

impl<S, I> Checked<'_, S, I> {
    /// Limits the present frame, of which this number of bytes is not saved.
    fn limit(&mut self, limit: Certainty, old: u64, bytes: u64) {
        let is_right = self.recovery.judged.is_right(old);
        let coverage = match limit.is_saved() {
            true => &mut self.found.late,
            false => &mut self.found.unsaved,
        };
        coverage.add(bytes);
        coverage.add_checked(if is_right { bytes } else { 0 });
        self.found.limits.push(old, limit);
    }
}

impl<S: Subject, I: Iterator<Item = u64>> Output for Checked<'_, S, I> {
    type Error = Failed<S>;

    fn copy(&mut self, name: &[u8], chunk: &Chunk, copied: Copied) -> Result<(), Failed<S>> {
        let own = if copied == Copied::Own { chunk.span.len() } else { 0 };
        self.bytes = self.bytes.saturating_add(own);
        self.frame.push(Placed {
            entry: chunk.span.offset(),
            chunk: *chunk,
            field: schema::by_name(name),
            is_log: false, // those that would be wrong are left out
            is_default: false,
        });
        Ok(())
    }

    fn add_default(&mut self, field: &'static Field, rows: u64) -> Result<(), Failed<S>> {
        let Some(&kind) = field.kind.types().first() else { return Ok(()) };
        let n = if let Rows::Fixed(n) = field.rows { n } else { rows };
        let (m, id) = (field.columns.unwrap_or(2), self.recovery.names.id(field.name.as_bytes()));
        let chunk = Chunk { id: id.unwrap_or(u16::MAX), frame: 0, n, m, kind, span: Span::ZERO };
        let field = Some(field);
        self.frame.push(Placed { entry: 0, chunk, field, is_log: false, is_default: true });
        Ok(())
    }

    fn leave_out(&mut self, chunk: &Chunk) -> Result<(), Failed<S>> {
        let name = self.recovery.names.get(chunk.id).unwrap_or_default().into();
        self.found.error.get_or_insert(HoomdError::Late { name, frame: chunk.frame });
        self.late = self.late.saturating_add(chunk.span.len());
        self.is_late = true;
        Ok(())
    }

    fn end_frame(&mut self) -> Result<(), Failed<S>> {
        let names = &self.recovery.names;
        let name = |id| names.get(id).unwrap_or_default();
        let checked = self.check.frame(self.number, &self.frame, &name);
        let wrong = mem::take(&mut self.check.found);
        let old = self.frames.next().unwrap_or(u64::MAX); // never: it is one of them
        let all = self.bytes.saturating_add(self.late);
        match (checked, wrong.first()) {
            (Err(DriveError::Store(_)), _) => {
                self.limit(Certainty::Lost(Loss::Unreadable), old, all);
            }
            (Err(error), _) => return Err(error),
            (Ok(()), Some(one)) => {
                if old == 0 {
                    self.found.first.extend(wrong.iter().map(|wrong| wrong.id));
                }
                self.found.error.get_or_insert_with(|| one.error.clone());
                self.limit(Certainty::Lost(Loss::Forbidden { id: one.id }), old, all);
            }
            (Ok(()), None) if self.is_late => {
                self.limit(Certainty::Guess(Doubt::Late), old, self.late);
            }
            (Ok(()), None) => {}
        }
        self.frame.clear();
        (self.bytes, self.late, self.is_late) = (0, 0, false);
        self.number = self.number.saturating_add(1);
        Ok(())
    }
}
