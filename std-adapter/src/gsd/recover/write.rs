//! The new file.

use super::Recovery;
use super::frames::{Entries, each_frame};
use crate::error::{Error, ErrorKind};
use crate::gsd::room::Room;
use crate::gsd::write::{Builder, FileWriter, Source, lock_replaced};
use crate::publish::Publish;
use std::num::NonZeroU32;
use std::path::Path;
use striae_core::gsd::Version;
use striae_core::step::DriveError;

pub(super) fn to_u64(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

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
    let mut next = 0_u64;
    let mut failed = None;
    let room = Room::damaged(evidence.file_len);
    let mut source = Source::new(&recovery.path, &recovery.store, progress, room);
    let copied = each_frame(&recovery.store, evidence, &mut |entries| {
        while runs.next_if(|run| run.frames.end <= entries.frame).is_some() {}
        let run = runs.peek().filter(|run| run.frames.contains(&entries.frame));
        let Some(first) = run.and_then(|run| run.first.map(|first| (first, run.frames.start)))
        else {
            return Ok(());
        };
        let number = first.0.saturating_add(entries.frame.saturating_sub(first.1));
        let written = write_frame(recovery, &mut writer, &entries, &mut next, number, &mut source);
        written.map_err(|error| {
            failed = Some(error);
            DriveError::ReadOnly // stops it, and is not seen
        })
    });
    if let Some(error) = failed {
        return Err(if error.path() == hidden { error.renamed(out) } else { error });
    }
    copied.map_err(|error| Error::new(&recovery.path, ErrorKind::from(error)))?;
    writer.close().map_err(|error| error.renamed(out))?;
    publish.finish(recovery.force)?;
    drop(replaced); // what somebody wrote to it meanwhile would be lost
    Ok(())
}

/// Copies a frame, which gets the number `number`; `next` is that of the next one.
fn write_frame(
    recovery: &Recovery,
    writer: &mut FileWriter,
    entries: &Entries,
    next: &mut u64,
    number: u64,
    source: &mut Source<'_>,
) -> Result<(), Error> {
    while *next < number {
        writer.end_frame()?; // frames without chunks
        *next = next.saturating_add(1);
    }
    for chunk in &entries.chunks {
        if Some(chunk.id) == recovery.names.sums {
            continue;
        }
        let name = recovery.names.get(chunk.id).unwrap_or_default();
        writer.copy_chunk(name, chunk, source)?;
    }
    writer.end_frame()?;
    *next = next.saturating_add(1);
    Ok(())
}
