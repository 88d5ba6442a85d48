//! Work: the one machine of a writer. It has a stack of jobs; each does one thing, or puts others before itself.

use super::sums::Sums;
use super::tail::Tail;
use super::upgrade::Before;
use super::waiting::Waiting;
use crate::gsd::error::Error;
use crate::gsd::publish::Publish;
use crate::integrity::Checksum;
use crate::span::Span;
use crate::step::{DriveError, Machine, Step, drive};
use crate::store::{WriteAt, copy_front, usize_to_u64};
use core::convert::Infallible;
use heapless::Vec;

/// What has to be done in the store for a [`Book`](super::Book).
///
/// It is a machine; [`run`](Self::run) does it at once. What it knows to be done, the book knows, too: it
/// may be dropped at any step, as it is when the store fails.
#[derive(Debug)]
#[must_use = "nothing is done before it is driven"]
pub struct Work<'w> {
    pub(super) tail: &'w mut Tail,
    pub(super) waiting: Waiting<'w>,
    pub(super) checksum: Checksum,
    /// Memory for whoever drives it; may be empty.
    window: &'w mut [u8],
    /// What there is to do; the last comes first.
    jobs: Vec<Job, DEPTH>,
    failed: Option<Error>,
    /// Bytes on their way.
    pub(super) hand: Hand,
    /// What is being read into the hand, and how much of it there is.
    reading: Span,
    read: usize,
    /// The name that is added.
    pub(super) name: &'w [u8],
    /// What upgrading and truncating take back if they fail.
    pub(super) before: Option<&'w mut Before>,

    // What a job tells those that it puts before itself.
    /// Entries that the header is to show.
    pub(super) shown: u64,
    /// Slots that the next index must have.
    pub(super) slots: u64,
    /// A block that is being filled.
    pub(super) block: Span,
    /// How much of it, or of what is read, is done.
    pub(super) done: u64,
    /// What is to be zeros.
    pub(super) zeros: Span,
    pub(super) crc: u32,
    pub(super) sums: Sums,
}

/// Most jobs that wait at once.
const DEPTH: usize = 24;

/// One thing to do. It may be done twice if that changes nothing.
pub(super) type Job = fn(&mut Work<'_>) -> Next;

/// What a job wants of the store before the next one.
pub(super) type Next = Result<Io, Error>;

/// Nothing.
pub(super) const DONE: Next = Ok(Io::Nothing);

#[derive(Debug, Clone, Copy)]
pub(super) enum Io {
    Nothing,
    Write {
        offset: u64,
        bytes: Bytes,
    },
    Sync,
    SetSize(u64),
    /// The next step of publishing.
    Publish,
}

/// Where the bytes are that are written.
#[derive(Debug, Clone, Copy)]
pub(super) enum Bytes {
    /// Entries of ended frames.
    Ended,
    /// Checksums of the present frame.
    Rows,
    Name,
    /// So many of what was read.
    Read(usize),
    /// So many of what a job put into the hand.
    Hand(usize),
    Zeros(usize),
}

#[derive(Debug)]
pub(super) enum Hand {
    Bytes([u8; HAND]),
    Publish(Publish),
}

impl Hand {
    pub(super) const fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Publish(_) => &[],
        }
    }
}

pub(super) const HAND: usize = 256;
const ZEROS: [u8; HAND] = [0; HAND];

/// Most bytes that are copied at once. Memory for millions of chunks may be lent, which nobody has
/// touched yet, and that takes longer than a few more reads.
const MAX_COPY: usize = 1 << 16;

impl<'w> Work<'w> {
    #[inline(never)]
    pub(super) fn new(
        tail: &'w mut Tail,
        waiting: Waiting<'w>,
        window: &'w mut [u8],
        checksum: Checksum,
        jobs: &[Job],
    ) -> Self {
        let mut work = Self {
            tail,
            waiting,
            checksum,
            window,
            jobs: Vec::new(),
            failed: None,
            hand: Hand::Bytes(ZEROS),
            reading: Span::ZERO,
            read: 0,
            name: &[],
            before: None,
            shown: 0,
            slots: 0,
            block: Span::ZERO,
            done: 0,
            zeros: Span::ZERO,
            crc: 0,
            sums: Sums::NONE,
        };
        work.failed = work.then(jobs).err();
        work
    }

    /// Does it in `store`.
    ///
    /// # Errors
    /// The store's own; [`Error::FileFull`], and what the method that gave the work says.
    #[inline(never)]
    pub fn run<S: WriteAt>(
        mut self,
        store: &mut S,
    ) -> Result<(), DriveError<<S as crate::store::ReadAt>::Error, Error>> {
        let mut small = [0; 64];
        let window = core::mem::take(&mut self.window);
        let window = if window.is_empty() { &mut small } else { window };
        match drive(&mut self, store, window).map_err(DriveError::infallible)? {
            Ok(()) => Ok(()),
            Err(error) => Err(DriveError::Format(error)),
        }
    }

    /// Puts `jobs` before all that wait, the first one first.
    pub(super) fn then(&mut self, jobs: &[Job]) -> Next {
        for &job in jobs.iter().rev() {
            let have = usize_to_u64(DEPTH);
            let full = Error::Memory { need: have.saturating_add(1), have };
            self.jobs.push(job).map_err(|_| full)?;
        }
        DONE
    }

    /// Memory for what is read: between what waits, or the hand.
    fn room(&mut self) -> &mut [u8] {
        let scratch = self.waiting.scratch();
        if scratch.len() >= HAND {
            let len = scratch.len().min(MAX_COPY);
            return scratch.get_mut(..len).unwrap_or_default();
        }
        if let Hand::Publish(_) = self.hand {
            self.hand = Hand::Bytes(ZEROS);
        }
        match &mut self.hand {
            Hand::Bytes(bytes) => bytes,
            Hand::Publish(_) => &mut [],
        }
    }

    /// Most bytes that are read at once.
    pub(super) fn room_len(&mut self) -> u64 {
        usize_to_u64(self.room().len())
    }

    /// Reads the next `len` bytes at `offset`, or as many as there is room for, before the next job.
    pub(super) fn read(&mut self, offset: u64, len: u64) -> Next {
        let len = len.min(self.room_len());
        let full = Error::FileFull { data_end: offset, len };
        (self.reading, self.read) = (Span::new(offset, len).ok_or(full)?, 0);
        DONE
    }

    /// What was read.
    pub(super) fn bytes_read(&mut self) -> &mut [u8] {
        let len = self.read;
        self.room().get_mut(..len).unwrap_or_default()
    }

    /// Puts `bytes` into the hand, as often as they fit.
    pub(super) fn fill_hand(&mut self, bytes: &[u8]) {
        let mut hand = ZEROS;
        for place in hand.chunks_exact_mut(bytes.len().max(1)) {
            copy_front(bytes, place);
        }
        self.hand = Hand::Bytes(hand);
    }

    pub(super) fn publish(&mut self, publish: Publish) {
        self.hand = Hand::Publish(publish);
    }

    pub(super) const fn publishing(&self) -> Option<&Publish> {
        match &self.hand {
            Hand::Publish(publish) => Some(publish),
            Hand::Bytes(_) => None,
        }
    }

    /// Makes the store at least `end` bytes long, and does `job` then: a record speaks of all that it
    /// reserves.
    pub(super) fn reserve(&mut self, end: u64, job: Job) -> Next {
        self.block = Span::new(end, 0).unwrap_or(Span::ZERO);
        self.then(&[set_store_len, job])?;
        Ok(Io::SetSize(end))
    }

    /// Whether the store is shorter.
    pub(super) const fn lacks(&self, end: u64) -> bool {
        self.tail.store_len < end
    }

    /// The bytes of a write.
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

    /// The next thing that has to be done in the store; `None` if there is nothing.
    fn next(&mut self) -> Option<Next> {
        loop {
            if usize_to_u64(self.read) < self.reading.len() {
                return Some(DONE); // read first
            }
            if let Some(error) = self.failed {
                return Some(Err(error));
            }
            match self.jobs.pop()?(self) {
                Ok(Io::Nothing) => {}
                Ok(io) => return Some(Ok(io)),
                Err(error) => {
                    self.failed = Some(error);
                    self.jobs.clear();
                }
            }
        }
    }
}

/// Writes zeros to `work.zeros`.
pub(super) fn write_zeros(work: &mut Work<'_>) -> Next {
    let (offset, left) = (work.zeros.offset(), work.zeros.len());
    let len = usize::try_from(left).unwrap_or(HAND).min(HAND);
    if len == 0 {
        return DONE;
    }
    work.zeros = work.zeros.skip(usize_to_u64(len));
    work.then(&[write_zeros])?;
    Ok(Io::Write { offset, bytes: Bytes::Zeros(len) })
}

fn set_store_len(work: &mut Work<'_>) -> Next {
    work.tail.store_len = work.block.offset();
    DONE
}

/// Makes a job of nothing but a sync.
pub(super) fn sync(_: &mut Work<'_>) -> Next {
    Ok(Io::Sync)
}

impl Machine for Work<'_> {
    type Output = Result<(), Error>;
    type Error = Infallible;

    fn poll(&mut self) -> Step<'_, Result<(), Error>> {
        match self.next() {
            None => Step::Done(Ok(())),
            Some(Err(error)) => Step::Done(Err(error)),
            Some(Ok(Io::Nothing)) => {
                let rest = self.reading.skip(usize_to_u64(self.read));
                Step::Read { offset: rest.offset(), need: 1, want: rest.len() }
            }
            Some(Ok(Io::Write { offset, bytes })) => {
                Step::Write { offset, bytes: self.bytes(bytes) }
            }
            Some(Ok(Io::Sync)) => Step::Sync,
            Some(Ok(Io::SetSize(len))) => Step::SetSize { len },
            Some(Ok(Io::Publish)) => match &mut self.hand {
                Hand::Publish(publish) => publish.poll().map(Ok),
                Hand::Bytes(_) => Step::Done(Ok(())),
            },
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        let read = self.read;
        let len = usize::try_from(self.reading.len()).unwrap_or(usize::MAX);
        let room = self.room().get_mut(read..len).unwrap_or_default();
        let fed = copy_front(bytes, room);
        self.read = read.saturating_add(fed);
        Ok(())
    }
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        if let Some(before) = self.before.take() {
            before.take_back(self.tail, &mut self.waiting);
        }
    }
}
