//! A rank's handle of a file that few ranks write.

mod messages;
mod store;

use super::behind::Behind;
use super::pass::Pass;
use super::runs::{LARGE, Runs, write_joined};
use super::shared::Segment;
use crate::collective::Collective;
use crate::error::{Code, Error, Failure};
use crate::file::{Cache, SharedFile, leaves_syncs};
use std::cell::{Cell, OnceCell, RefCell};
use std::fmt;
use std::io;
use std::sync::Arc;
pub(crate) use store::Io;
use striae_core::store::{WriteAt, usize_to_u64};

/// The longest message, and the longest write that is joined from pieces.
const WINDOW: usize = 1 << 20;

/// Opens the file; it makes the file if the argument is true.
type Open<F> = Box<dyn Fn(bool) -> io::Result<F>>;

/// Starts a thread that writes to the file.
type Start<F> = fn(Arc<F>) -> io::Result<Behind>;

/// A file as one rank sees it: what it writes may wait until it is handed over to the writer of
/// its group. Reading, and asking for the size, open the file.
pub(crate) struct Handle<C, F> {
    open: Open<F>,
    file: OnceCell<Arc<F>>,
    /// Starts the thread that writes, if one is wanted.
    start: Option<Start<F>>,
    behind: OnceCell<Behind>,
    /// The ranks with the same writer, which is the lowest; `None` if this rank writes for itself.
    group: Option<C>,
    kept_as: Option<u64>,
    /// At the writer: the memory of the other ranks.
    segment: Option<Segment>,
    limit: usize,
    waiting: RefCell<Runs>,
    /// How the writer passes the file to the other ranks.
    pass: Option<Box<dyn Passes<F>>>,
    /// Whether the file is that of the writer, of another rank.
    is_passed: Cell<bool>,
    /// Whether no other rank than the writer may open the file.
    is_alone: bool,
    /// The cache in which the first of all ranks syncs the file.
    synced: Cache,
    /// Whether this rank writes to that cache.
    leaves_syncs: OnceCell<bool>,
}

/// A [`Pass`] for one kind of file.
trait Passes<F> {
    fn give(&self, file: &Arc<F>);
    fn take(&self) -> Option<Arc<F>>;
}

impl<F: Send + Sync + 'static> Passes<F> for Pass {
    fn give(&self, file: &Arc<F>) {
        Self::give(self, file);
    }

    fn take(&self) -> Option<Arc<F>> {
        Self::take(self)
    }
}

impl<C, F: fmt::Debug> fmt::Debug for Handle<C, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, limit, waiting, .. } = self;
        let waiting = waiting.borrow().len();
        let mut fields = f.debug_struct("Handle");
        fields.field("file", &file.get()).field("limit", limit).field("waiting", &waiting).finish()
    }
}

/// The most pieces of a slot; with more, a rank writes by itself.
const MOST_PLACES: usize = (WINDOW >> 4) - 1;

/// The ranks that have their writer in common, which is the lowest.
#[derive(Debug)]
pub(crate) struct Group<C> {
    pub(super) comm: C,
    pub(super) segment: Option<Segment>,
    pub(super) pass: Option<Pass>,
    /// The number under which the communicator of all ranks keeps this one for the next file.
    pub(super) kept_as: Option<u64>,
}

impl<C: Collective, F: SharedFile> Handle<C, F> {
    /// A file that is not open. At most `limit` bytes wait.
    pub(crate) fn new(
        open: impl Fn(bool) -> io::Result<F> + 'static,
        group: Option<Group<C>>,
        limit: usize,
    ) -> Self {
        let kept_as = group.as_ref().and_then(|group| group.kept_as);
        let (group, segment) = group.map_or((None, None), |Group { comm, segment, .. }| {
            (Some(comm), segment) // of the slots, that of the writer is not used
        });
        let (segment, waiting) = match (segment, &group) {
            (Some(segment), Some(group)) if group.rank() > 0 => (None, Runs::shared(segment)),
            (segment, _) => (segment, Runs::own()),
        };
        let (file, waiting) = (OnceCell::new(), RefCell::new(waiting));
        let (open, start, behind) = (Box::new(open), None, OnceCell::new());
        let (pass, is_passed, is_alone) = (None, Cell::new(false), false);
        let (synced, leaves_syncs) = (None, OnceCell::new());
        Self {
            open,
            file,
            start,
            behind,
            group,
            kept_as,
            segment,
            limit,
            waiting,
            pass,
            is_passed,
            is_alone,
            synced,
            leaves_syncs,
        }
    }

    /// The writer passes its file to the other ranks.
    pub(super) fn passing(self, pass: Pass) -> Self
    where
        F: Send + Sync + 'static,
    {
        Self { pass: Some(Box::new(pass)), ..self }
    }

    /// What waits is written by a thread, while this rank goes on.
    pub(crate) fn write_behind(self) -> Self
    where
        F: Send + Sync + 'static,
    {
        Self { start: Some(Behind::start), ..self }
    }

    /// A file that only the lowest rank of `group` opens. The others ask whether they
    /// [have room](Self::has_room), and wait for all ranks to meet if they have not.
    pub(crate) fn alone(
        open: impl Fn(bool) -> io::Result<F> + 'static,
        group: C,
        limit: usize,
    ) -> Self {
        let group = Group { comm: group, segment: None, pass: None, kept_as: None };
        Self { is_alone: true, ..Self::new(open, Some(group), limit) }
    }

    /// Whether ranks have a writer in common, which waits for their messages.
    pub(crate) const fn hands_over(&self) -> bool {
        self.group.is_some()
    }

    /// Whether a thread of another rank may have bytes of this one.
    pub(crate) fn is_behind(&self) -> bool {
        self.start.is_some() && self.group.as_ref().is_some_and(|group| group.size() > 1)
    }

    /// Whether no other rank than the writer may open the file.
    pub(crate) const fn is_alone(&self) -> bool {
        self.is_alone
    }

    /// Whether another rank alone may open the file.
    pub(crate) fn is_kept(&self) -> bool {
        self.is_alone && self.writer().is_some()
    }

    /// Whether `len` more bytes may wait, or need not. More than the limit may wait alone.
    pub(crate) fn has_room(&self, len: u64) -> bool {
        let waiting = usize_to_u64(self.waiting.borrow().len());
        let limit = usize_to_u64(self.limit);
        !self.is_kept() || waiting == 0 || waiting.saturating_add(len) <= limit
    }

    /// The bytes of the file.
    pub(crate) const fn io(&self) -> Io<'_, C, F> {
        Io(self)
    }

    /// How many bytes wait at most.
    pub(crate) const fn limit(&self) -> usize {
        self.limit
    }

    /// Whether this rank must meet the others when its buffer is full.
    pub(crate) fn needs_others(&self) -> bool {
        self.limit > 0 && self.writer().is_some() && (self.is_alone || self.own().is_none())
    }

    /// How many bytes more can wait if they are at `offset`, just after the last ones; 0 if they
    /// are not. They are [appended](Self::append), and nothing else is done before
    /// [`end_lane`](Self::end_lane).
    pub(crate) fn lane(&mut self, offset: u64) -> usize {
        self.waiting.get_mut().lane(offset, self.limit)
    }

    /// Lets bytes wait that come just after the last ones; returns whether they have room.
    #[inline]
    pub(crate) fn append(&mut self, bytes: &[u8]) -> bool {
        self.waiting.get_mut().append(bytes)
    }

    /// The bytes that were appended since the lane began.
    pub(crate) fn end_lane(&mut self) -> &[u8] {
        self.waiting.get_mut().end_lane()
    }

    /// The communicator of the ranks with the same writer is kept for the next file on `comm`, or
    /// freed, which takes two calls of the message layer. All ranks of `comm` call this.
    pub(crate) fn leave(self, comm: &C) -> Result<(), Error> {
        match (self.group, self.kept_as) {
            (None, _) => Ok(()),
            (Some(group), Some(number)) => {
                comm.keep(number, group);
                Ok(())
            }
            (Some(group), None) => comm.agree(group.free(Ok(())).map_err(Failure::from)),
        }
    }

    /// The cache that this rank writes to, if it has the file.
    pub(crate) fn cache(&self) -> Cache {
        self.file.get().and_then(|file| file.io().cache())
    }

    /// Whenever what all ranks wrote is durable, the first of them has synced the file in this
    /// cache: ranks that write to the same one leave it to that.
    pub(crate) fn synced_in(&mut self, cache: Cache) {
        self.synced = cache;
        self.leaves_syncs = OnceCell::new();
    }

    /// Whether the first of all ranks syncs what this one wrote.
    fn leaves_syncs(&self, file: &F) -> bool {
        *self.leaves_syncs.get_or_init(|| leaves_syncs(self.synced, file.io().cache()))
    }

    /// Makes the file.
    pub(crate) fn make(&self) -> Result<(), Failure> {
        self.first("making the file")
    }

    /// Opens a file that exists, as the first of all ranks.
    pub(crate) fn open_first(&self) -> Result<(), Failure> {
        self.first("opening the file")
    }

    fn first(&self, what: &'static str) -> Result<(), Failure> {
        if self.file.get().is_some() {
            return Err(Failure::new(Code::Refused, "the file is open already"));
        }
        let file = (self.open)(true).map_err(|error| Failure::io(what, &error))?;
        self.keep(file);
        Ok(())
    }

    /// Keeps a file that this rank has opened; the writer passes it.
    fn keep(&self, file: F) -> &Arc<F> {
        let file = self.file.get_or_init(|| Arc::new(file));
        if let Some(pass) = &self.pass {
            pass.give(file);
        }
        file
    }

    /// Opens the file if this rank is a writer.
    pub(crate) fn open_as_writer(&self) -> Result<(), Failure> {
        if self.writer().is_some() {
            return Ok(());
        }
        self.file().map(drop).map_err(|error| Failure::io("opening the file", &error))
    }

    /// The group, if another rank of it writes.
    fn writer(&self) -> Option<&C> {
        self.group.as_ref().filter(|group| group.rank() > 0)
    }

    /// The file, which is opened if it is not open. What waits still waits.
    pub(crate) fn opened(&self) -> io::Result<&F> {
        self.file().map(|file| &**file)
    }

    fn file(&self) -> io::Result<&Arc<F>> {
        if let Some(file) = self.own() {
            return Ok(file);
        }
        if self.is_kept() {
            return Err(io::Error::other("another rank alone opens this file"));
        }
        Ok(self.keep((self.open)(false)?))
    }

    /// The file, if it is open, also if the writer has opened it and passed it.
    fn own(&self) -> Option<&Arc<F>> {
        if let (None, Some(pass)) = (self.file.get(), &self.pass) {
            let file = pass.take()?;
            self.is_passed.set(true);
            return Some(self.file.get_or_init(|| file));
        }
        self.file.get()
    }

    /// The thread that writes, if one is wanted.
    fn behind(&self) -> io::Result<Option<&Behind>> {
        if let (None, Some(start)) = (self.behind.get(), self.start) {
            let behind = start(Arc::clone(self.file()?))?;
            return Ok(Some(self.behind.get_or_init(|| behind)));
        }
        Ok(self.behind.get())
    }

    /// Writes pieces, or hands them to the thread that does.
    fn write_pieces(&self, pieces: &[(u64, &[u8])]) -> io::Result<()> {
        let (mut file, behind) = (self.opened()?.io(), self.behind()?);
        write_joined(pieces, WINDOW, |offset, bytes| match behind {
            Some(behind) => behind.write(offset, bytes),
            None => file.write_all_at(offset, bytes),
        })
    }

    /// Writes what waits, by this rank's own handle.
    fn spill(&self) -> io::Result<()> {
        if self.waiting.borrow().is_empty() {
            return Ok(());
        }
        let mut waiting = self.waiting.borrow_mut();
        let pieces: Vec<_> = waiting.iter().collect();
        self.write_pieces(&pieces)?;
        waiting.clear();
        Ok(())
    }

    /// Writes the pieces up to the last long one, if this rank has the file: the writer joins what
    /// is short with that of other ranks.
    fn write_long(&self) -> io::Result<()> {
        let mut waiting = self.waiting.borrow_mut();
        let long = waiting.places().iter().rposition(|(_, len)| *len >= LARGE);
        let Some(count) = long.map(|last| last.saturating_add(1)) else { return Ok(()) };
        if self.is_alone || self.own().is_none() {
            return Ok(());
        }
        let pieces: Vec<_> = waiting.iter().take(count).collect();
        self.write_pieces(&pieces)?;
        waiting.drop_first(count);
        Ok(())
    }

    /// As [`spill`](Self::spill); when this returns all is written, also what a thread had to. Then
    /// the file is as this rank wants it.
    pub(crate) fn written(&self) -> io::Result<&F> {
        self.spill()?;
        self.finish()?;
        self.opened()
    }

    /// Waits until the thread has written what it has.
    fn finish(&self) -> io::Result<()> {
        self.behind.get().map_or(Ok(()), Behind::finish)
    }

    /// Lets bytes wait, for which there must be room.
    fn put(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        match self.waiting.borrow_mut().push(offset, bytes) {
            true => Ok(()),
            false => Err(io::ErrorKind::OutOfMemory.into()),
        }
    }
}

fn writing(error: &io::Error) -> Failure {
    Failure::io("writing what waited in a buffer", error)
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test: a panic fails it")]
mod tests {
    use super::Handle;
    use crate::Threads;
    use std::io;
    use std::sync::Mutex;
    use striae_core::embedded_io::ReadExactError;
    use striae_core::span::{Span, Stride};
    use striae_core::store::{ReadAt, WriteAt};

    /// The bytes of a file, and how many spans each of its reads has.
    struct Counted(Mutex<(Vec<u8>, Vec<u64>)>);

    impl ReadAt for &Counted {
        type Error = io::Error;

        fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
            let (bytes, reads) = &mut *self.0.lock().unwrap();
            reads.push(1);
            bytes[..].read_at(offset, buf).map_err(io::Error::other)
        }

        fn size(&self) -> io::Result<u64> {
            self.0.lock().unwrap().0[..].size().map_err(io::Error::other)
        }

        fn read_spans_at(
            &self,
            spans: &[Stride],
            buf: &mut [u8],
        ) -> Result<(), ReadExactError<io::Error>> {
            let (bytes, reads) = &mut *self.0.lock().unwrap();
            reads.push(spans.iter().map(|spans| spans.count()).sum());
            let read = bytes[..].read_spans_at(spans, buf);
            read.map_err(|_| ReadExactError::UnexpectedEof)
        }
    }

    impl WriteAt for &Counted {
        fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
            let written = self.0.lock().unwrap().0[..].write_all_at(offset, bytes);
            written.map_err(io::Error::other)
        }

        fn set_size(&mut self, _: u64) -> io::Result<()> {
            Ok(())
        }

        fn sync(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_batch_is_one_read_of_the_file_and_has_what_waited() {
        let done = Threads::new(1).run(|comm| {
            let open = |_: bool| Ok(Counted(Mutex::new((vec![b'.'; 40], Vec::new()))));
            let handle = Handle::new(open, None, 100);
            handle.io().write_all_at(8, b"ab").unwrap();
            let mut read = [0; 6];
            let spans = Stride::new(Span::new(7, 2).unwrap(), 10, 3).unwrap();
            handle.io().read_spans_at(&[spans], &mut read).unwrap();
            let ended = handle
                .io()
                .read_spans_at(&[Stride::one(Span::new(39, 2).unwrap())], &mut read[..2]);
            let reads = handle.opened().unwrap().0.lock().unwrap().1.clone();
            handle.leave(&comm).unwrap();
            (read, reads, matches!(ended, Err(ReadExactError::UnexpectedEof)))
        });
        for done in done {
            assert_eq!(done.unwrap(), (*b".a....", vec![3, 1], true));
        }
    }
}
