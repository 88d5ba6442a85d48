//! Work: the only machine of a writer. It has a stack of jobs; each job does one thing, or pushes
//! other jobs.

use super::sums::Sums;
use super::tail::Tail;
use super::upgrade::{Before, TakeBack};
use super::waiting::Waiting;
use crate::exact::Exact;
use crate::gsd::error::Error;
use crate::gsd::publish::{Publish, Stage};
use crate::gsd::raw::Image;
use crate::gsd::shadow::SHADOW_LEN;
use crate::integrity::Checksum;
use crate::span::Span;
use crate::step::{DriveError, Machine, Step, drive};
use crate::store::{WriteAt, copy_front, usize_to_u64};
use core::convert::Infallible;
use heapless::Vec;

/// The work that must be done in the store for a [`Book`](super::Book).
///
/// It is a machine; [`run`](Self::run) drives it to its end. The book records each step that is
/// done, so the work may be dropped at any step, for example when the store fails.
#[derive(Debug)]
#[must_use = "nothing is done before it is driven"]
pub struct Work<'w> {
    pub(super) tail: &'w mut Tail,
    pub(super) waiting: Waiting<'w>,
    pub(super) checksum: Checksum,
    /// Memory that the driver lends; may be empty.
    pub(super) window: &'w mut [u8],
    /// The first job.
    pub(super) first: Job,
    pub(super) is_begun: bool,
    /// The jobs to do after the current one; the last one is next.
    pub(super) jobs: Vec<Job, DEPTH>,
    /// What the current job wants from the store.
    pub(super) io: Io,
    pub(super) failed: Option<Error>,
    /// The publication under way, or other bytes to write.
    pub(super) hand: Publish,
    /// The read into the hand, and how far it is.
    pub(super) reading: Span,
    pub(super) read: usize,
    /// The name to add.
    pub(super) name: &'w [u8],
    /// The state that an upgrade or a truncation restores if it fails.
    pub(super) before: Option<Undo<'w>>,

    // Values that a job passes to the jobs that it pushes.
    /// Number of entries that the header will show.
    pub(super) shown: u64,
    /// Slots that the next index must have.
    pub(super) slots: u64,
    /// The block that is being filled.
    pub(super) block: Span,
    /// How much of the block, or of a read, is done.
    pub(super) done: u64,
    /// The span to fill with zeros.
    pub(super) zeros: Span,
    pub(super) crc: u32,
    pub(super) sums: Sums,
}

/// The state that an upgrade or a truncation restores if it fails, and the function that does it.
pub(super) type Undo<'w> = (&'w mut Before, TakeBack);

/// The most jobs that wait at once.
pub(super) const DEPTH: usize = 24;

/// One thing to do: a job pushes other jobs, wants something from the store, or fails.
pub(super) type Job = fn(&mut Work<'_>);

/// What a job wants from the store before the next job.
#[derive(Debug, Clone, Copy)]
pub(super) enum Io {
    Nothing,
    Write {
        offset: u64,
        bytes: Bytes,
    },
    Sync,
    SetSize(u64),
    /// The next step of the publication.
    Publish,
}

/// The source of the bytes of a write.
#[derive(Debug, Clone, Copy)]
pub(super) enum Bytes {
    /// Entries of ended frames.
    Ended,
    /// Checksums of the current frame.
    Rows,
    Name,
    /// This many of the bytes that were read.
    Read(usize),
    /// This many bytes of the hand.
    Hand(usize),
    Zeros(usize),
}

/// Bytes of the hand.
pub(super) const HAND: usize = SHADOW_LEN;
/// Memory for reads if none is lent.
const SMALL: [u8; 64] = [0; 64];
const ZEROS: [u8; HAND] = [0; HAND];

/// The most bytes of one copy. Memory for millions of chunks may be lent and untouched so far, and
/// its first use takes longer than a few more reads.
const MAX_COPY: usize = 1 << 16;

impl<'w> Work<'w> {
    /// Does all of the work in `store`. Work that failed before starts again.
    ///
    /// # Errors
    /// The store's own error; [`Error::FileFull`] if a block has no place in the file; the errors
    /// of the method that returned the work.
    #[inline(never)]
    pub fn run<S: WriteAt>(
        &mut self,
        store: &mut S,
    ) -> Result<(), DriveError<<S as crate::store::ReadAt>::Error, Error>> {
        self.restart();
        let mut small = SMALL;
        let window = self.window(&mut small);
        let done = drive(self, store, window).map_err(DriveError::infallible)?;
        done.map_err(DriveError::Format)
    }

    /// [`run`](Self::run) for an asynchronous store. Dropping the future counts as an error of the
    /// store.
    ///
    /// # Errors
    /// See [`run`](Self::run).
    #[cfg(feature = "async")]
    pub async fn run_async<S: crate::store::AsyncWriteAt>(
        &mut self,
        store: &mut S,
    ) -> Result<(), DriveError<S::Error, Error>> {
        self.restart();
        let mut small = SMALL;
        let window = self.window(&mut small);
        let done = crate::step::drive_async(self, store, window).await;
        done.map_err(DriveError::infallible)?.map_err(DriveError::Format)
    }

    /// Drops everything that was begun: it is not known if the store has done the last step.
    fn restart(&mut self) {
        self.take_back();
        self.jobs.clear();
        (self.is_begun, self.io, self.failed) = (false, Io::Nothing, None);
        (self.reading, self.read) = (Span::ZERO, 0);
    }

    fn take_back(&mut self) {
        if let Some((before, take_back)) = &mut self.before {
            take_back(before, self.tail, &mut self.waiting);
        }
    }

    /// Memory to read into.
    fn window<'a>(&mut self, small: &'a mut [u8]) -> &'a mut [u8]
    where
        'w: 'a,
    {
        let window = core::mem::take(&mut self.window);
        if window.is_empty() { small } else { window }
    }

    /// Pushes `jobs` on the stack; the first one is next.
    #[inline(never)] // half of all jobs call it: a device's code is small
    pub(super) fn then(&mut self, jobs: &[Job]) {
        for &job in jobs.iter().rev() {
            if self.jobs.push(job).is_err() {
                let have = usize_to_u64(DEPTH);
                self.fail(Error::Memory { need: have.saturating_add(1), have });
            }
        }
    }

    /// Writes `bytes` at `offset` before the next job.
    pub(super) const fn write(&mut self, offset: u64, bytes: Bytes) {
        self.io = Io::Write { offset, bytes };
    }

    /// Syncs all writes before the next job.
    pub(super) const fn sync(&mut self) {
        self.io = Io::Sync;
    }

    /// Does the next step of the publication before the next job.
    pub(super) const fn step(&mut self) {
        self.io = Io::Publish;
    }

    /// Ends the work with an error.
    #[cold]
    #[inline(never)]
    pub(super) fn fail(&mut self, error: Error) {
        self.failed = Some(error);
        self.jobs.clear();
    }

    /// The value, or `None` after the work has failed with the error.
    pub(super) fn ok<T>(&mut self, result: Result<T, Error>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.fail(error);
                None
            }
        }
    }

    /// Memory for reads: the scratch memory between entries and rows, or the hand.
    fn room(&mut self) -> &mut [u8] {
        let scratch = self.waiting.scratch();
        if scratch.len() >= HAND {
            let len = scratch.len().min(MAX_COPY);
            return scratch.get_mut(..len).unwrap_or_default();
        }
        self.hand.memory()
    }

    /// The most bytes of one read.
    pub(super) fn room_len(&mut self) -> u64 {
        usize_to_u64(self.room().len())
    }

    /// Reads the next `len` bytes at `offset`, or as many as there is room for, before the next
    /// job.
    #[inline(never)]
    pub(super) fn read(&mut self, offset: u64, len: u64) {
        let len = len.min(self.room_len());
        match Span::new(offset, len) {
            Some(span) => (self.reading, self.read) = (span, 0),
            None => self.fail(Error::FileFull { data_end: offset, len }),
        }
    }

    /// The bytes of the last read.
    pub(super) fn bytes_read(&mut self) -> &mut [u8] {
        let len = self.read;
        self.room().get_mut(..len).unwrap_or_default()
    }

    /// Copies `bytes` to the hand.
    pub(super) fn put_in_hand(&mut self, bytes: &[u8]) {
        copy_front(bytes, self.hand.memory());
    }

    /// Fills the hand with copies of `bytes`.
    pub(super) fn fill_hand(&mut self, bytes: &[u8]) {
        for place in self.hand.memory().chunks_mut(bytes.len().max(1)) {
            copy_front(bytes, place);
        }
    }

    /// Publishes `image` from `stage` on; it is also the old image in the shadow.
    pub(super) fn publish(&mut self, stage: Stage, image: &Image) {
        let checksum = self.checksum;
        self.hand.set(stage, |shadow| shadow.set(image, image, 0, checksum));
    }

    /// Makes the store at least `end` bytes long, and then does `job`: a record covers everything
    /// that it reserves.
    pub(super) fn reserve(&mut self, end: u64, job: Job) {
        self.block = Span::new(end, 0).unwrap_or(Span::ZERO);
        self.then(&[set_store_len, job]);
        self.io = Io::SetSize(end);
    }

    /// Whether the store is shorter than `end`.
    pub(super) const fn lacks(&self, end: u64) -> bool {
        self.tail.store_len < end
    }

    /// The bytes to write.
    fn bytes(&mut self, bytes: Bytes) -> &[u8] {
        match bytes {
            Bytes::Ended => self.waiting.ended(),
            Bytes::Rows => self.waiting.rows(),
            Bytes::Name => self.name,
            Bytes::Read(len) => self.room().get(..len).unwrap_or_default(),
            Bytes::Hand(len) => self.hand.bytes().get(..len).unwrap_or_default(),
            Bytes::Zeros(len) => ZEROS.get(..len).unwrap_or(&ZEROS),
        }
    }

    /// The part that is still to be read.
    fn unread(&self) -> Span {
        self.reading.skip(usize_to_u64(self.read))
    }

    /// Does jobs until one wants something from the store, or none is left.
    fn work(&mut self) -> Io {
        loop {
            let io = core::mem::replace(&mut self.io, Io::Nothing);
            if !matches!(io, Io::Nothing) || !self.unread().is_empty() {
                return io;
            }
            let job = if self.is_begun { self.jobs.pop() } else { Some(self.first) };
            self.is_begun = true;
            match job {
                Some(job) => job(self),
                None => return Io::Nothing,
            }
        }
    }
}

/// Writes zeros to `work.zeros`.
pub(super) fn write_zeros(work: &mut Work<'_>) {
    let (offset, left) = (work.zeros.offset(), work.zeros.len());
    let len = usize::try_from(left).unwrap_or(HAND).min(HAND);
    if len > 0 {
        work.zeros = work.zeros.skip(usize_to_u64(len));
        work.then(&[write_zeros]);
        work.write(offset, Bytes::Zeros(len));
    }
}

const fn set_store_len(work: &mut Work<'_>) {
    work.tail.store_len = work.block.offset();
}

/// A job that only syncs.
pub(super) const fn sync(work: &mut Work<'_>) {
    work.sync();
}

impl Machine for Work<'_> {
    type Output = Result<(), Error>;
    type Error = Infallible;

    fn poll(&mut self) -> Step<'_, Result<(), Error>> {
        match self.work() {
            Io::Write { offset, bytes } => Step::Write { offset, bytes: self.bytes(bytes) },
            Io::Sync => Step::Sync,
            Io::SetSize(len) => Step::SetSize { len },
            Io::Publish => self.hand.poll().map(Ok),
            Io::Nothing => match self.unread() {
                rest if rest.is_empty() => Step::Done(self.failed.map_or(Ok(()), Err)),
                rest => Step::Read { offset: rest.offset(), need: 1, want: rest.len() },
            },
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        let read = self.read;
        let len = usize::try_from(self.reading.len()).unwrap_or(usize::MAX);
        let room = self.room().get_mut(read..len).unwrap_or_default();
        let fed = copy_front(bytes, room);
        self.read = read.exact_add(fed);
        Ok(())
    }
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        self.take_back();
    }
}
