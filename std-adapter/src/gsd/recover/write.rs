//! The new file.

use super::Recovery;
use super::frames::each_frame;
use super::trajectory::Taken;
use crate::error::{Error, ErrorKind};
use crate::gsd::convert::part::write_default;
use crate::gsd::hoomd::fallback::Need;
use crate::gsd::hoomd::schema;
use crate::gsd::room::Room;
use crate::gsd::write::{Builder, FileWriter, Source, lock_replaced};
use crate::publish::Publish;
use std::num::NonZeroU32;
use std::path::Path;
use striae_core::gsd::{Chunk, Version};
use striae_core::step::DriveError;

pub(super) fn write(recovery: &Recovery, out: &Path, progress: &dyn Fn(u64)) -> Result<(), Error> {
    let publish = Publish::new(out, NonZeroU32::MIN, recovery.force)?.like(&recovery.path);
    let replaced = if recovery.force { lock_replaced(out)? } else { None };
    let hidden = publish.hidden(0);
    let evidence = &recovery.evidence;
    let record = evidence.record;
    let layer = match evidence.version.is_sorted() || recovery.has_text {
        true => Version::LAYER,
        false => Version { major: 1, minor: 0 },
    };
    let stale = evidence.stale;
    let align = record.and_then(|record| 1_u64.checked_shl(record.align.into()));
    let align = align.or(stale.map(|stale| stale.align)).unwrap_or(1);
    let checksums =
        record.is_some_and(|record| record.checksums) || stale.is_some_and(|stale| stale.checksums);
    let builder = Builder::new()
        .application(&evidence.application)
        .schema(&evidence.schema, evidence.schema_version)
        .layer(layer)
        .align(align)
        .checksums(checksums)
        .hidden(); // `publish` makes it durable, if anything is replaced
    let mut writer = builder.create(&hidden).map_err(|error| error.renamed(out))?;
    let mut runs = recovery.runs.iter().peekable();
    let mut failed = None;
    let from = |room| Source::new(&recovery.path, &recovery.store, progress, room);
    let room = Room::damaged(evidence.file_len);
    let (source, taken_from) = (from(room), from(Room::new(evidence.file_len).most(u64::MAX)));
    let taken = recovery.taken.clone();
    let mut new =
        New { recovery, writer: &mut writer, next: 0, source, taken, taken_from, step: None };
    let copied = each_frame(&recovery.store, evidence, &mut |entries| {
        while runs.next_if(|run| run.frames.end <= entries.frame).is_some() {}
        let run = runs.peek().filter(|run| run.frames.contains(&entries.frame));
        let Some(first) = run.and_then(|run| run.first.map(|first| (first, run.frames.start)))
        else {
            return Ok(());
        };
        let number = first.0.saturating_add(entries.frame.saturating_sub(first.1));
        let mut own = entries.chunks;
        own.retain(|chunk| Some(chunk.id) != recovery.names.sums);
        let mut written = Ok(());
        while written.is_ok() && new.next < number {
            written = new.frame(&[], false);
        }
        let written = written.and_then(|()| new.frame(&own, false));
        written.map_err(|error| {
            failed = Some(error);
            DriveError::Ended { offset: 0 } // stops it, and is not seen
        })
    });
    if let Some(error) = failed {
        return Err(if error.path() == hidden { error.renamed(out) } else { error });
    }
    copied.map_err(|error| Error::new(&recovery.path, ErrorKind::from(error)))?;
    new.finish()
        .map_err(|error| if error.path() == hidden { error.renamed(out) } else { error })?;
    writer.close().map_err(|error| error.renamed(out))?;
    publish.finish(recovery.force)?;
    drop(replaced); // what somebody wrote to it meanwhile would be lost
    Ok(())
}

/// The frames of the new file.
struct New<'a> {
    recovery: &'a Recovery,
    writer: &'a mut FileWriter,
    /// The number of the next one.
    next: u64,
    source: Source<'a>,
    /// What frames take of a frame 0 that is lost, and the file to take it from.
    taken: Option<Taken>,
    taken_from: Source<'a>,
    /// The step of the first one, if it is one of a trajectory.
    step: Option<Chunk>,
}

impl New<'_> {
    /// Frames without chunks behind the last one with some: those of a trajectory are as good as others.
    fn finish(&mut self) -> Result<(), Error> {
        let end = self.recovery.frames();
        while self.recovery.evidence.schema == schema::NAME && self.next < end {
            self.frame(&[], self.next.saturating_add(1) == end)?;
        }
        Ok(())
    }

    /// Copies a frame of these chunks; without any it would be lost if it is the last one.
    fn frame(&mut self, own: &[Chunk], is_last: bool) -> Result<(), Error> {
        let Recovery { path, store, names, .. } = self.recovery;
        let name = |chunk: &Chunk| names.get(chunk.id).unwrap_or_default();
        let is_step = |chunk: &&Chunk| name(chunk) == schema::STEP.name.as_bytes();
        for chunk in own {
            self.writer.copy_chunk(name(chunk), chunk, &mut self.source)?;
        }
        let needs = self.taken.as_mut().map(|taken| taken.needs(store, names, own));
        let needs = needs.transpose().map_err(|error| Error::new(path, error))?;
        let mut needs = needs.unwrap_or_default();
        if self.next == 0 {
            let copied = needs.iter().filter_map(Need::chunk);
            self.step = own.iter().chain(copied).find(is_step).copied();
        }
        if is_last && needs.is_empty() {
            needs.push(self.step.map_or(Need::Default(&schema::STEP, 1), Need::Copy));
        }
        for need in needs {
            match need {
                Need::Copy(chunk) => {
                    self.writer.copy_chunk(name(&chunk), &chunk, &mut self.taken_from)?;
                }
                Need::Default(field, rows) => {
                    write_default(self.writer, field, rows)?;
                }
                Need::Absence(_) | Need::Lost => {} // the frame is a guess
            }
        }
        self.writer.end_frame()?;
        self.next = self.next.saturating_add(1);
        Ok(())
    }
}
