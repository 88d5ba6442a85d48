//! Copies in buddy sets that do not end where their streams do, because a commit failed or a crash
//! ended it.

use super::part::{Part, WINDOW, lock};
use crate::error::Error;
use crate::shown;
use crate::sion::ErrorKind;
use crate::sion::file::{File, TaskEntry};
use crate::sion::stream::TaskStream;
use striae_core::store::usize_to_u64;

/// A copy that does not end where its stream does; one of them is the front of the other.
pub(super) struct Apart {
    task: TaskEntry,
    /// The task in the buddy set.
    copy: TaskEntry,
    /// The last chunk of the stream and its used bytes, if the copy is longer.
    end: Option<(u32, u64)>,
}

/// Compares the streams of `copy`, a buddy set without its keepers, with those of the set `main`,
/// file by file. Streams that end at one place are not read.
///
/// # Errors
/// [`Stale`](ErrorKind::Stale) if the buddy set has other tasks, chunk sizes or bytes.
pub(super) fn compare(main: &File, copy: &File) -> Result<Vec<Apart>, Error> {
    let stale =
        |task| Error::new(copy.path(), ErrorKind::Stale { task, main: main.path().to_owned() });
    let kind = |task: &TaskEntry| (task.file, task.place.globalrank, task.place.chunks.chunksize);
    let end = |task: &TaskEntry| (task.place.blockcount, task.bytes);
    let (mut copies, mut aparts) = (copy.tasks()?, Vec::new());
    for task in main.tasks()? {
        let task = task?;
        let found = copies.next().transpose()?.filter(|found| kind(found) == kind(&task));
        let found = found.ok_or_else(|| stale(task.task))?;
        if end(&found) != end(&task) {
            let apart = apart((main, task), (copy, found))?;
            aparts.push(apart.ok_or_else(|| stale(task.task))?);
        }
    }
    match copies.next().transpose()? {
        None => Ok(aparts),
        Some(rest) => Err(stale(rest.task)),
    }
}

/// How a stream and its copy differ; `None` if none is the front of the other.
fn apart(
    (main, task): (&File, TaskEntry),
    (buddy, copy): (&File, TaskEntry),
) -> Result<Option<Apart>, Error> {
    let mut lens = (0..).zip(main.chunk_lens(&task)?).peekable();
    let mut copies = buddy.chunk_lens(&copy)?.peekable();
    let end = loop {
        let (Some((chunk, len)), Some(copied)) = (lens.next(), copies.next()) else {
            return Ok(None);
        };
        let (len, copied) = (len?, copied?);
        if lens.peek().is_none() && copied >= len {
            break Some((chunk, len));
        } else if copies.peek().is_none() && len >= copied {
            break None;
        } else if len != copied {
            return Ok(None);
        }
    };
    let mut streams = [main.stream_of(&task)?, buddy.stream_of(&copy)?];
    let mut left = task.bytes.min(copy.bytes);
    while left > 0 {
        let len = left.min(usize_to_u64(WINDOW));
        let [own, copied] = streams.each_mut().map(|stream| piece(stream, len));
        if own? != copied? {
            return Ok(None);
        }
        left = left.saturating_sub(len);
    }
    Ok(Some(Apart { task, copy, end }))
}

/// The next `len` bytes of a stream.
fn piece(stream: &mut TaskStream, len: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    stream.read_pieces(len, &mut |piece| {
        bytes.extend_from_slice(piece);
        true
    })?;
    Ok(bytes)
}

/// Lets copies in the files `parts` of a buddy set end where their streams in the set `main` do,
/// and commits that.
pub(super) fn mend(main: &File, aparts: &[Apart], parts: &[Part]) -> Result<(), Error> {
    for (file, part) in (0..).zip(parts) {
        let mut aparts = aparts.iter().filter(|apart| apart.copy.file == file).peekable();
        if aparts.peek().is_none() {
            continue;
        }
        for Apart { task, copy, end } in aparts {
            let (path, number) = (shown::path(part.path()), task.task);
            if end.is_some() {
                log::warn!("{path}: takes back what a failed commit wrote for task {number}");
                part.renew(copy.place.local, *end)?;
            } else {
                log::warn!("{path}: gets what a failed commit left out of task {number}");
                extend((main, task), (part, copy))?;
            }
        }
        part.commit()?;
    }
    Ok(())
}

/// Appends to a copy the bytes that it lacks, to the same chunks.
fn extend(
    (main, task): (&File, &TaskEntry),
    (part, copy): (&Part, &TaskEntry),
) -> Result<(), Error> {
    let stream = part.stream(copy.place.local)?;
    let mut to = lock(&stream);
    let mut from = main.stream_of(task)?;
    from.seek_to(copy.bytes);
    for (chunk, len) in (0..).zip(main.chunk_lens(task)?) {
        let len = len?;
        if chunk < to.cursor().chunk() {
            continue;
        }
        if chunk > to.cursor().chunk() {
            to.leave_chunk(part)?;
        }
        let (missing, mut written) = (len.saturating_sub(to.cursor().used()), Ok(()));
        from.read_pieces(missing, &mut |bytes| {
            written = to.write_whole(part, bytes);
            written.is_ok()
        })?;
        written?;
    }
    Ok(())
}
