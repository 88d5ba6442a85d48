//! A simulated power cut: a store that remembers what was done to it, and every content that a
//! crash could leave of it.
//!
//! # What a store promises
//!
//! A write goes to the page cache, and from there to the disk whenever the operating system likes,
//! in any order. What this module takes for granted is what storage engines do:
//!
//! - **A killed program** loses nothing that it has written: the page cache outlives it. What is
//!   left is a prefix of its operations, the last write being cut anywhere, as the kernel copies
//!   piece by piece and looks for a fatal signal in between.
//! - **A power cut** loses the page cache. The disk has all that the last completed sync covered.
//!   Of what was written since, every sector of 512 bytes is there or not by itself: it has its
//!   bytes as of the last sync, or as they were at any later moment, whatever the others have. A
//!   sync that is under way promises nothing until it returns.
//! - **The size** is metadata and travels alone: it is that of the last sync or any later one. Data
//!   behind it are gone; where it is ahead of the data, zeros are read, as from every file system
//!   that does not reveal other people's blocks ([`Lost::Zeros`]), or, on simpler ones such as FAT,
//!   whatever the block held before ([`Lost::Noise`]).
//! - **A cut** (a smaller size) frees whole blocks: they belong to the file, with the bytes that
//!   they had, or do not. A file system with a journal does not use them for anything else before
//!   that is durable, a simpler one may: so bytes that are written where the file grows again may
//!   be found under the old size.
//! - **A sector** is atomic: disks write all of it or nothing (a sector that is cut while it is
//!   written fails its error-correcting code, so they keep the energy to end one). A page cache is
//!   less strict: it may send a sector to the disk while a write is being copied into it. So a
//!   writer may rely on a write within one aligned sector only where it has to, and says where:
//!   [`Tear::Bytes`] names these places, and tears every other write behind each of its bytes.
//!   [`Model::torn`] is for writers that do without: such sectors are torn while they go to the
//!   disk, also with several writes in them.
//! - **An erased sector**: cards and flash erase a sector before they write it. If the power goes
//!   in between, it reads 0xFF throughout, or 0x00, whatever was in it. [`Model::erased`] shows
//!   such states, with one sector of those under way erased and with several. A sector that is only
//!   cut in the middle, by a smaller size, is not one of them.
//! - **A failed sync** leaves what it should have covered in doubt for good: the kernel reports the
//!   error once and then takes the pages for clean, so a later sync that succeeds covers a sector
//!   only if it was written to again ([`FailedSync::Clean`]).
//!
//! Nothing is moved over a completed sync, in either direction.
//!
//! # Use
//!
//! Run a writer on a [`PowerStore`], then let [`PowerStore::crashes`] show all that could be left.
//! Call [`PowerStore::promise`] where the writer says that something is durable: states that were
//! good before may be bad from there on, so all of them are shown again.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "part of tests: a panic fails them"
)]

mod cells;
mod crashes;
#[cfg(test)]
mod laws;
mod media;
mod promises;

pub use crashes::{Counts, Crash, FailedSync, Kind, Lost, Model, Tear, Wiped};
pub use media::{MEDIA, Medium, Promise};
pub use promises::{Again, Promises, Trouble, Version, check_len, describe, sum_of};

use std::cell::{Ref, RefCell};
use std::rc::Rc;
use striae_core::store::{ReadAt, WriteAt};

/// Bytes that a disk writes all or nothing.
pub const SECTOR: usize = 512;

/// Most bytes that a store may have: what is larger is a mistake of the writer.
pub const MAX_LEN: u64 = 1 << 24;

/// An entry of a store's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Bytes were written; if the write failed, those that were written before it did.
    Write {
        /// Where.
        offset: u64,
        /// The bytes.
        bytes: Box<[u8]>,
    },
    /// The size was set.
    SetSize(u64),
    /// A sync was completed.
    Sync,
    /// A sync failed.
    SyncFailed,
    /// Setting the size failed, and changed nothing.
    SetSizeFailed,
    /// The writer said that something is durable; see [`PowerStore::promise`].
    Promise,
}

/// An operation that is to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// Number of the operation in the log, from 0; the next one if this is a [`Op::Promise`].
    pub at: usize,
    /// Bytes that it writes before it fails, if it is a write.
    pub kept: usize,
    /// Whether all operations behind it fail, too, as those of a disk that is gone.
    pub lasting: bool,
}

/// Why an operation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PowerError {
    /// It was told to, by [`PowerStore::fail`].
    Fault {
        /// Its number in the log.
        op: usize,
    },
    /// The future was dropped while it waited.
    Dropped {
        /// Number of the next operation in the log.
        op: usize,
    },
    /// The store must not grow so far; see [`PowerStore::limit`].
    Full {
        /// Its number in the log.
        op: usize,
    },
}

impl std::fmt::Display for PowerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fault { op } => write!(f, "operation {op} was told to fail"),
            Self::Dropped { op } => write!(f, "the future was dropped, before operation {op}"),
            Self::Full { op } => write!(f, "the store is full, at operation {op}"),
        }
    }
}

impl std::error::Error for PowerError {}

impl embedded_io::Error for PowerError {
    fn kind(&self) -> embedded_io::ErrorKind {
        embedded_io::ErrorKind::Other
    }
}

/// A store that remembers all that was done to it. A clone is the same store once more, as a file
/// that is open twice.
#[derive(Debug, Clone)]
pub struct PowerStore(Rc<RefCell<Inner>>);

#[derive(Debug)]
struct Inner {
    /// What was there before the first operation, durably.
    start: Vec<u8>,
    /// What a reader sees.
    live: Vec<u8>,
    log: Vec<Op>,
    fault: Option<Fault>,
    limit: u64,
}

impl Default for PowerStore {
    fn default() -> Self {
        Self::new(&[])
    }
}

impl PowerStore {
    /// A store that durably holds `bytes`.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        let (start, live) = (bytes.to_vec(), bytes.to_vec());
        let inner = Inner { start, live, log: Vec::new(), fault: None, limit: MAX_LEN };
        Self(Rc::new(RefCell::new(inner)))
    }

    /// The store after the first `ops` entries of its log: its program was killed, and another one
    /// goes on.
    #[must_use]
    pub fn killed_after(&self, ops: usize) -> Self {
        let inner = self.0.borrow();
        let killed = Self::new(&inner.start);
        for op in &inner.log[..ops] {
            let killed = &mut killed.0.borrow_mut();
            match op {
                Op::Write { offset, bytes } => killed.write(*offset, bytes).unwrap(),
                Op::SetSize(len) => killed.set_size(*len).unwrap(),
                op => killed.log.push(op.clone()),
            }
        }
        killed
    }

    /// Lets an operation fail.
    pub fn fail(&self, fault: Fault) {
        self.0.borrow_mut().fault = Some(fault);
    }

    /// No operation fails any more as [`PowerStore::fail`] said.
    pub fn mend(&self) {
        self.0.borrow_mut().fault = None;
    }

    /// Lets all operations fail that need more than `len` bytes; a write keeps what there is room
    /// for. This is a full disk: what is already there can still be overwritten.
    pub fn limit(&self, len: u64) {
        self.0.borrow_mut().limit = len.min(MAX_LEN);
    }

    /// Says that the writer has just made a promise: whatever it was, states that a crash could
    /// leave from here on have to keep it, the oldest ones too.
    pub fn promise(&self) {
        self.0.borrow_mut().log.push(Op::Promise);
    }

    /// Entries of the log so far.
    #[must_use]
    pub fn ops(&self) -> usize {
        self.0.borrow().log.len()
    }

    /// The log.
    #[must_use]
    pub fn log(&self) -> Ref<'_, [Op]> {
        Ref::map(self.0.borrow(), |inner| inner.log.as_slice())
    }

    /// What a reader sees.
    #[must_use]
    pub fn live(&self) -> Ref<'_, [u8]> {
        Ref::map(self.0.borrow(), |inner| inner.live.as_slice())
    }

    /// Shows every state that a crash could leave, by `model`, and counts them.
    pub fn crashes(&self, model: &Model, visit: impl FnMut(&Crash<'_>)) -> Counts {
        self.crashes_since(0, model, visit)
    }

    /// Those of [`PowerStore::crashes`] for which at least `begun` entries of the log were begun.
    pub fn crashes_since(
        &self,
        begun: usize,
        model: &Model,
        visit: impl FnMut(&Crash<'_>),
    ) -> Counts {
        let inner = self.0.borrow();
        crashes::walk(model, &inner.start, &inner.log, begun, visit)
    }
}

impl Inner {
    /// The error of the next operation and the bytes that it keeps, if it is to fail.
    fn fault(&mut self) -> Option<(PowerError, usize)> {
        let op = self.log.len();
        let fault = self.fault.filter(|fault| op >= fault.at)?;
        self.fault = fault.lasting.then_some(Fault { kept: 0, ..fault });
        Some((PowerError::Fault { op }, fault.kept))
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), PowerError> {
        let room = usize_of(self.limit.saturating_sub(offset));
        let mut failure = self.fault();
        if failure.is_none() && room < bytes.len() {
            failure = Some((PowerError::Full { op: self.log.len() }, room));
        }
        let kept = failure.map_or(bytes.len(), |(_, kept)| kept.min(bytes.len()).min(room));
        let bytes = &bytes[..kept];
        if !bytes.is_empty() {
            let at = usize_of(offset);
            let end = at + bytes.len();
            if self.live.len() < end {
                self.live.resize(end, 0);
            }
            self.live[at..end].copy_from_slice(bytes);
        }
        self.log.push(Op::Write { offset, bytes: bytes.into() });
        failure.map_or(Ok(()), |(error, _)| Err(error))
    }

    fn set_size(&mut self, len: u64) -> Result<(), PowerError> {
        let full = PowerError::Full { op: self.log.len() };
        let failure = self.fault().map(|(error, _)| error);
        if let Some(error) = failure.or((len > self.limit).then_some(full)) {
            self.log.push(Op::SetSizeFailed);
            return Err(error);
        }
        self.live.resize(usize_of(len), 0);
        self.log.push(Op::SetSize(len));
        Ok(())
    }

    fn sync(&mut self) -> Result<(), PowerError> {
        let failure = self.fault();
        self.log.push(if failure.is_some() { Op::SyncFailed } else { Op::Sync });
        failure.map_or(Ok(()), |(error, _)| Err(error))
    }
}

/// An offset in memory.
fn usize_of(offset: u64) -> usize {
    usize::try_from(offset).unwrap()
}

impl ReadAt for PowerStore {
    type Error = PowerError;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, PowerError> {
        let inner = self.0.borrow();
        let rest = inner.live.get(usize_of(offset)..).unwrap_or_default();
        let n = rest.len().min(buf.len());
        buf[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }

    fn size(&self) -> Result<u64, PowerError> {
        Ok(u64::try_from(self.0.borrow().live.len()).unwrap())
    }
}

impl WriteAt for PowerStore {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), PowerError> {
        self.0.borrow_mut().write(offset, bytes)
    }

    fn set_size(&mut self, len: u64) -> Result<(), PowerError> {
        self.0.borrow_mut().set_size(len)
    }

    fn sync(&mut self) -> Result<(), PowerError> {
        self.0.borrow_mut().sync()
    }
}
