//! Key-value streams: whole records, and nothing else.

use super::{Failed, FindingKind, Report};
use crate::posix::PosixFile;
use striae_core::sion::{Meta1, Opened, Physical, Records, Task};
use striae_core::step::DriveError;

/// Checks the streams of `tasks`, whose block sizes are right.
pub(super) fn check(
    store: &PosixFile,
    tasks: impl Iterator<Item = Task>,
    report: &mut Report<'_>,
) -> Result<(), Failed> {
    let file = match Physical::open(store, &mut [0; Meta1::MAX_LEN]) {
        Ok(Opened::Closed(file)) => file,
        Err(error @ (DriveError::Store(_) | DriveError::Ended { .. })) => return Err(error),
        _ => return Ok(()), // its head is damaged, which was reported
    };
    for task in tasks {
        check_stream(&file, task, report)?;
    }
    Ok(())
}

fn check_stream(
    file: &Physical<&PosixFile>,
    task: Task,
    report: &mut Report<'_>,
) -> Result<(), Failed> {
    let mut stream = file.stream(task);
    let mut position = 0;
    let found = Records::new(&mut stream, file.meta1().order())?.try_for_each(|record| {
        let record = record?;
        position = record.position.saturating_add(record.len); // exact: in the stream
        Ok(())
    });
    match found {
        Err(DriveError::Format(error)) => {
            stream.seek_to(position);
            let offset = stream.next_span(1)?.map_or(0, |span| span.offset());
            report.damage(FindingKind::Record { offset, task: task.local, error });
            Ok(())
        }
        found => found,
    }
}
