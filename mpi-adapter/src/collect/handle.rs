//! A rank's handle of a file that few ranks write.

use super::behind::Behind;
use super::runs::{Runs, write_joined};
use super::shared::Segment;
use crate::collective::Collective;
use crate::error::{Code, Error, Failure};
use std::cell::{OnceCell, RefCell};
use std::fmt;
use std::io;
use std::sync::Arc;
use striae_core::store::{ReadAt, WriteAt, usize_to_u64};

/// The longest message, and the longest write that is joined from pieces.
const WINDOW: usize = 1 << 20;

/// How many bytes of its ranks a writer collects before it writes them.
const POOL: usize = 4 << 20;

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
    /// Whether no other rank than the writer may open the file.
    is_alone: bool,
}

impl<C, F: fmt::Debug> fmt::Debug for Handle<C, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, limit, waiting, .. } = self;
        let waiting = waiting.borrow().len();
        let mut fields = f.debug_struct("Handle");
        fields.field("file", &file.get()).field("limit", limit).field("waiting", &waiting).finish()
    }
}

/// What a message is, besides its pieces: each an offset, a length, and its bytes. The bytes of
/// `PLACES` are in the slot of the sender.
const MORE: u8 = 0;
const LAST: u8 = 1;
const FAILED: u8 = 2;
const PLACES: u8 = 3;

/// The length of the offset and of the length of a piece.
const PIECE_HEAD: usize = 16;

/// The most pieces of a slot; with more, a rank writes by itself.
const MOST_PLACES: usize = (WINDOW >> 4) - 1;

/// The ranks that have their writer in common, which is the lowest.
#[derive(Debug)]
pub(crate) struct Group<C> {
    pub(super) comm: C,
    pub(super) segment: Option<Segment>,
    /// The number under which the communicator of all ranks keeps this one for the next file.
    pub(super) kept_as: Option<u64>,
}

impl<C: Collective, F> Handle<C, F>
where
    for<'f> &'f F: WriteAt<Error = io::Error>,
{
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
        let is_alone = false;
        Self { open, file, start, behind, group, kept_as, segment, limit, waiting, is_alone }
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
        let group = Group { comm: group, segment: None, kept_as: None };
        Self { is_alone: true, ..Self::new(open, Some(group), limit) }
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

    /// How many bytes more can wait if they are at `offset`, just after the last ones; 0 if they
    /// are not.
    pub(crate) fn room_after(&self, offset: u64) -> u64 {
        let waiting = self.waiting.borrow();
        match waiting.end() == Some(offset) {
            true => usize_to_u64(self.limit.saturating_sub(waiting.len())),
            false => 0,
        }
    }

    /// Lets bytes wait that come just after the last ones; returns whether they have room.
    pub(crate) fn append(&self, bytes: &[u8]) -> bool {
        self.waiting.borrow_mut().append(bytes)
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

    /// Makes the file.
    pub(crate) fn make(&self) -> Result<(), Failure> {
        let file = (self.open)(true).map_err(|error| Failure::io("making the file", &error))?;
        self.file
            .set(Arc::new(file))
            .map_err(|_| Failure::new(Code::Refused, "the file is open already"))
    }

    /// Opens a file that exists, as the first of all ranks.
    pub(crate) fn open_first(&self) -> Result<(), Failure> {
        let file = (self.open)(true).map_err(|error| Failure::io("opening the file", &error))?;
        self.file
            .set(Arc::new(file))
            .map_err(|_| Failure::new(Code::Refused, "the file is open already"))
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
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        if self.is_kept() {
            return Err(io::Error::other("another rank alone opens this file"));
        }
        let file = Arc::new((self.open)(false)?);
        Ok(self.file.get_or_init(|| file))
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
        let (mut file, behind) = (self.opened()?, self.behind()?);
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

    /// As [`spill`](Self::spill); when this returns all is written, also what a thread had to. Then
    /// the file is as this rank wants it.
    fn written(&self) -> io::Result<&F> {
        self.spill()?;
        self.finish()?;
        self.opened()
    }

    /// Waits until the thread has written what it has.
    fn finish(&self) -> io::Result<()> {
        self.behind.get().map_or(Ok(()), Behind::finish)
    }

    /// Hands what waits over to the writer. All ranks of the group call this, each with its own
    /// result so far, and pass what is returned to their next collective: only after that is it
    /// known that all of it was written.
    pub(crate) fn hand_over(&self, mine: Result<(), Failure>) -> Result<(), Failure> {
        match (&self.group, self.writer()) {
            (None, _) => mine.and_then(|()| self.spill().map_err(|e| writing(&e))),
            (Some(_), Some(group)) => {
                let sent = self.send_all(group, &mine);
                mine.and(sent)
            }
            (Some(group), None) => {
                let (mut done, mut places) = (mine, Vec::new());
                for from in 1..group.size() {
                    self.receive_all(group, from, &mut done, &mut places)?;
                }
                done.and_then(|()| self.write_all(&places).map_err(|error| writing(&error)))
            }
        }
    }

    /// Writes what waits here and in the slots of the other ranks.
    fn write_all(&self, places: &[(u32, u64, usize)]) -> io::Result<()> {
        let Some(segment) = self.segment.as_ref().filter(|_| !places.is_empty()) else {
            return self.spill();
        };
        let mut waiting = self.waiting.borrow_mut();
        let mut pieces: Vec<_> = waiting.iter().collect();
        let (mut slot, mut at) = (0, 0);
        for &(rank, offset, len) in places {
            if rank != slot {
                (slot, at) = (rank, 0);
            }
            let bytes = segment.bytes(rank, at, len).ok_or(io::ErrorKind::InvalidData)?;
            pieces.push((offset, bytes));
            at = at.saturating_add(len);
        }
        self.write_pieces(&pieces)?;
        drop(pieces);
        waiting.clear();
        Ok(())
    }

    /// As [`hand_over`](Self::hand_over), and what this rank wrote is durable.
    pub(crate) fn deliver(&self, mine: Result<(), Failure>) -> Result<(), Failure> {
        let sync = |mut file: &F| file.sync().map_err(|e| Failure::io("syncing the file", &e));
        if self.writer().is_some() {
            let written = mine.and_then(|()| self.finish().map_err(|error| writing(&error)));
            let mine = written.and_then(|()| self.file.get().map_or(Ok(()), |file| sync(file)));
            return self.hand_over(mine);
        }
        self.hand_over(mine)?;
        self.finish().map_err(|error| writing(&error))?;
        self.opened().map_err(|error| Failure::io("opening the file", &error)).and_then(sync)
    }

    fn send_all(&self, group: &C, mine: &Result<(), Failure>) -> Result<(), Failure> {
        let mut waiting = self.waiting.borrow_mut();
        if mine.is_err() {
            return group.send(0, &[FAILED]);
        }
        if waiting.segment().is_some() {
            let places = waiting.places().iter().flat_map(|(offset, len)| {
                [offset.to_le_bytes(), usize_to_u64(*len).to_le_bytes()].into_iter().flatten()
            });
            let message: Vec<u8> = std::iter::once(PLACES).chain(places).collect();
            waiting.clear(); // nothing is put there before the next collective of all ranks
            return group.send(0, &message);
        }
        let mut message = vec![MORE];
        for (mut offset, bytes) in waiting.iter() {
            for piece in bytes.chunks(WINDOW >> 1) {
                let len = usize_to_u64(piece.len());
                let end = message.len().saturating_add(PIECE_HEAD).saturating_add(piece.len());
                if end > WINDOW {
                    group.send(0, &message)?;
                    message.truncate(1);
                }
                message.extend(offset.to_le_bytes());
                message.extend(len.to_le_bytes());
                message.extend_from_slice(piece);
                offset = offset.saturating_add(len);
            }
        }
        if let Some(kind) = message.first_mut() {
            *kind = LAST;
        }
        waiting.clear();
        group.send(0, &message)
    }

    /// Receives the messages of a rank to the last, also after a failure, which becomes `done`.
    ///
    /// # Errors
    /// The group has no more messages.
    fn receive_all(
        &self,
        group: &C,
        from: u32,
        done: &mut Result<(), Failure>,
        places: &mut Vec<(u32, u64, usize)>,
    ) -> Result<(), Failure> {
        let mut buf = vec![0; WINDOW];
        loop {
            let len = group.recv(from, &mut buf)?;
            let (kind, mut rest) =
                buf.get(..len).and_then(<[u8]>::split_first).unwrap_or((&FAILED, &[]));
            if *kind == PLACES {
                while let Some((offset, len, tail)) = next_place(rest) {
                    places.push((from, offset, len));
                    rest = tail;
                }
            }
            while let (Ok(()), Some((offset, bytes, tail))) = (&*done, next_piece(rest)) {
                *done = self.take(offset, bytes).map_err(|error| writing(&error));
                rest = tail;
            }
            match *kind {
                MORE => {}
                _ => return Ok(()), // a rank that failed tells its failure in the next collective
            }
        }
    }

    /// A writer's turn with a piece of another rank.
    fn take(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if self.waiting.borrow().len().saturating_add(bytes.len()) > POOL {
            self.spill()?;
        }
        self.put(offset, bytes)
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

/// The next piece of a message, and what follows it.
fn next_piece(message: &[u8]) -> Option<(u64, &[u8], &[u8])> {
    let (offset, len, rest) = next_place(message)?;
    let (bytes, rest) = rest.split_at_checked(len)?;
    Some((offset, bytes, rest))
}

/// The next offset and length of a message, and what follows them.
fn next_place(message: &[u8]) -> Option<(u64, usize, &[u8])> {
    let (offset, rest) = message.split_first_chunk()?;
    let (len, rest) = rest.split_first_chunk()?;
    let len = usize::try_from(u64::from_le_bytes(*len)).ok()?;
    Some((u64::from_le_bytes(*offset), len, rest))
}

/// The bytes of a file; what is written may wait.
#[derive(Debug)]
pub(crate) struct Io<'a, C, F>(&'a Handle<C, F>);

impl<C: Collective, F> ReadAt for Io<'_, C, F>
where
    for<'f> &'f F: WriteAt<Error = io::Error>,
{
    type Error = io::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.0.written()?.read_at(offset, buf)
    }

    fn size(&self) -> io::Result<u64> {
        self.0.written()?.size()
    }
}

impl<C: Collective, F> WriteAt for Io<'_, C, F>
where
    for<'f> &'f F: WriteAt<Error = io::Error>,
{
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if self.0.is_kept() {
            return self.0.put(offset, bytes);
        }
        let (len, pieces) = {
            let waiting = self.0.waiting.borrow();
            (waiting.len(), waiting.places().len())
        };
        if len.saturating_add(bytes.len()) > self.0.limit || pieces >= MOST_PLACES {
            self.0.spill()?;
        }
        if bytes.len() <= self.0.limit && self.0.waiting.borrow_mut().push(offset, bytes) {
            return Ok(());
        }
        self.0.written()?.write_all_at(offset, bytes)
    }

    fn set_size(&mut self, len: u64) -> io::Result<()> {
        self.0.written()?.set_size(len)
    }

    fn order(&mut self) -> io::Result<()> {
        self.0.written()?.order()
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.written()?.sync()
    }
}
