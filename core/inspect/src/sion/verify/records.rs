//! Checks key-value streams: they must consist of whole records.

use super::{Failed, FindingKind, Report};
use striae_core::sion::{Meta1, Opened, Physical, Records, Task};
use striae_core::step::DriveError;
use striae_core::store::ReadAt;

/// Checks the streams of `tasks`, whose block sizes are right.
pub(super) fn check<S: ReadAt>(
    store: &S,
    tasks: impl Iterator<Item = Task>,
    report: &mut Report<'_>,
) -> Result<(), Failed<S>> {
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

fn check_stream<S: ReadAt>(
    file: &Physical<&S>,
    task: Task,
    report: &mut Report<'_>,
) -> Result<(), Failed<S>> {
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
            report.add(FindingKind::Record { offset, task: task.local, error });
            Ok(())
        }
        found => found,
    }
}
