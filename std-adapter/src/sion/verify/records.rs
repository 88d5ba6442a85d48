//! Key-value streams: whole records, and nothing else.

use super::{Failed, FindingKind, Report};
use crate::posix::PosixFile;
use striae_core::sion::lengths::ChunkLens;
use striae_core::sion::position::{Lengths, Stretch};
use striae_core::sion::{Meta1, Opened, Physical, Records, Stream, Task};
use striae_core::step::DriveError;

/// Bytes of a window that a task's block sizes are read in.
const WINDOW: usize = 1 << 16;

/// Bytes of a row of block sizes that is not read as a whole for the sake of one task.
const LONG_ROW: u64 = 1 << 12;

/// Checks the streams of `tasks`, whose block sizes are right and add up to so many bytes.
pub(super) fn check(
    store: &PosixFile,
    tasks: impl Iterator<Item = (Task, u64)>,
    report: &mut Report<'_>,
) -> Result<(), Failed> {
    let file = match Physical::open(store, &mut [0; Meta1::MAX_LEN]) {
        Ok(Opened::Closed(file)) => file,
        Err(error @ (DriveError::Store(_) | DriveError::Ended { .. })) => return Err(error),
        _ => return Ok(()), // its head is damaged, which was reported
    };
    for (task, bytes) in tasks.filter(|(_, bytes)| *bytes > 0) {
        check_stream(&file, store, &task, bytes, report)?;
    }
    Ok(())
}

fn check_stream(
    file: &Physical<&PosixFile>,
    store: &PosixFile,
    task: &Task,
    bytes: u64,
    report: &mut Report<'_>,
) -> Result<(), Failed> {
    let mut stream = stream(file, store, task, bytes);
    let mut position = 0;
    let found = Records::new(&mut stream, file.meta1().order())?.try_for_each(|record| {
        let record = record?;
        position = record.position.saturating_add(record.len);
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

/// The stream of a task of which the length is known.
pub(in crate::sion) fn stream<'a>(
    file: &'a Physical<&'a PosixFile>,
    store: &'a PosixFile,
    task: &Task,
    bytes: u64,
) -> Stream<&'a PosixFile, Forward<'a>> {
    Stream::new(store, task.chunks, Forward { file, task: *task, lens: None, at: None, bytes })
}

/// Lengths of a task's chunks, read in windows from the first to the last: of many chunks no more
/// is kept, and going back means to start again.
#[derive(Debug)]
pub(in crate::sion) struct Forward<'a> {
    file: &'a Physical<&'a PosixFile>,
    task: Task,
    lens: Option<ChunkLens<'a, &'a PosixFile, Vec<u8>>>,
    at: Option<Stretch>,
    bytes: u64,
}

impl Forward<'_> {
    fn find(&mut self, is_found: impl Fn(&Stretch) -> bool) -> Result<Option<Stretch>, Failed> {
        loop {
            if let Some(at) = self.at.filter(|at| is_found(at)) {
                return Ok(Some(at));
            }
            let lens = self.lens.get_or_insert_with(|| {
                let row_len = self.file.meta2().blockcounts().len();
                // Lengths of one task are a row apart: reading long rows for one entry of each
                // would take longer than to ask for the entries one by one.
                let all = if row_len > LONG_ROW { 0 } else { self.task.blockcount };
                let len = usize::try_from(all.saturating_mul(row_len)).unwrap_or(usize::MAX);
                self.file.chunk_lens(self.task, vec![0; len.clamp(8, WINDOW)])
            });
            let Some(len) = lens.next().transpose()? else { return Ok(None) };
            self.at = Some(match self.at {
                Some(at) => Stretch { chunk: at.chunk.saturating_add(1), begin: at.end(), len },
                None => Stretch { chunk: 0, begin: 0, len },
            });
        }
    }

    fn start_again(&mut self) {
        (self.lens, self.at) = (None, None);
    }
}

impl Lengths<Failed> for Forward<'_> {
    fn stretch_at(&mut self, position: u64) -> Result<Option<Stretch>, Failed> {
        if position >= self.bytes {
            return Ok(None);
        }
        if self.at.is_some_and(|at| at.begin > position) {
            self.start_again();
        }
        self.find(|stretch| stretch.contains(position))
    }

    fn stretch(&mut self, chunk: u64) -> Result<Option<Stretch>, Failed> {
        if self.at.is_some_and(|at| at.chunk > chunk) {
            self.start_again();
        }
        self.find(|stretch| stretch.chunk == chunk)
    }

    fn total(&mut self) -> Result<u64, Failed> {
        Ok(self.bytes)
    }
}
