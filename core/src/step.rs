//! Machines, which say which bytes they need, and the driver that reads for them.
//!
//! A machine asks for one read at a time ([`ReadMachine::poll`]). The caller reads and hands over
//! the bytes ([`ReadMachine::feed`]). So one machine serves a file, a flash chip, an asynchronous
//! runtime and a fuzzer.
//!
#![cfg_attr(feature = "sion", doc = "```")]
#![cfg_attr(not(feature = "sion"), doc = "```ignore")]
//! use striae_core::sion::{Error, Head, open::Open};
//! use striae_core::step::{ReadMachine, ReadStep};
//!
//! /// `fetch` reads so many bytes at an offset from wherever they are.
//! fn head(len: u64, mut fetch: impl FnMut(u64, usize) -> Vec<u8>) -> Result<Head, Error> {
//!     let mut open = Open::new(len);
//!     loop {
//!         match open.poll() {
//!             ReadStep::Read { offset, need, .. } => open.feed(&fetch(offset, need))?,
//!             ReadStep::Done(head) => return Ok(head),
//!         }
//!     }
//! }
//! # let file = include_bytes!("../doc/s01_one_task.sion");
//! # let fetch = |at: u64, len: usize| file[at as usize..][..len].to_vec();
//! # assert_eq!(head(file.len() as u64, fetch)?.meta1.ntasks(), 1);
//! # Ok::<(), Error>(())
//! ```

#[cfg(any(feature = "sion", feature = "ffrecord", feature = "blob"))]
mod sum;

#[cfg(any(feature = "sion", feature = "ffrecord", feature = "blob"))]
pub(crate) use sum::SumOf;

#[twin(ReadAt)]
use crate::store::ReadAt;
use embedded_io::ReadExactError;
use striae_twin::twin;

/// The next step of a [`ReadMachine`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ReadStep<T> {
    /// Read at least `need` and at most `want` bytes at `offset`, and feed them.
    ///
    /// A machine that scans a table wants the whole table but needs only one entry: the driver
    /// chooses how much memory a read takes.
    Read {
        /// Where the bytes are.
        offset: u64,
        /// The fewest bytes that the machine can use.
        need: usize,
        /// The most bytes that the machine can use; at least `need`.
        want: u64,
    },
    /// The work is done.
    Done(T),
}

/// Work in several steps, each of which is a read by a driver.
///
/// Other crates may implement it; a method of a later version has a default.
pub trait ReadMachine {
    /// The result of the work.
    type Output;
    /// The error of [`feed`](Self::feed).
    type Error;

    /// The next step. A `Read` is returned again until it is fed.
    fn poll(&mut self) -> ReadStep<Self::Output>;

    /// Hands over the bytes of the last [`ReadStep::Read`]: at least its `need`, at most its
    /// `want`.
    ///
    /// # Errors
    /// The bytes break the format. The machine must not be used after an error.
    fn feed(&mut self, bytes: &[u8]) -> Result<(), Self::Error>;
}

/// Why a driver could not finish a machine: an error `S` of the store, an error `F` of the format,
/// or one of the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum DriveError<S, F> {
    /// The store failed.
    Store(S),
    /// The bytes break the format.
    Format(F),
    /// The store ended before the length that it had when it was opened: another program cut it.
    Ended {
        /// The offset of the first byte of the failed read.
        offset: u64,
    },
    /// The caller's buffer is shorter than the smallest read that the machine needs.
    BufferTooSmall {
        /// The bytes that are needed.
        need: usize,
    },
}

impl<S: core::fmt::Display, F: core::fmt::Display> core::fmt::Display for DriveError<S, F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Format(error) => error.fmt(f),
            Self::Ended { offset } => {
                write!(f, "the file ended at offset {offset} while it was read")
            }
            Self::BufferTooSmall { need } => {
                write!(f, "the buffer is too small, must be at least {need} bytes")
            }
        }
    }
}

impl<S, F> core::error::Error for DriveError<S, F>
where
    S: core::error::Error + 'static,
    F: core::error::Error + 'static,
{
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Store(error) => error.source(),
            Self::Format(error) => error.source(),
            _ => None,
        }
    }
}

impl<S, F> embedded_io::Error for DriveError<S, F>
where
    S: embedded_io::Error + 'static,
    F: core::error::Error + 'static,
{
    fn kind(&self) -> embedded_io::ErrorKind {
        match self {
            Self::Store(error) => error.kind(),
            // not `Interrupted`, which asks to try again
            Self::Format(_) | Self::Ended { .. } => embedded_io::ErrorKind::InvalidData,
            Self::BufferTooSmall { .. } => embedded_io::ErrorKind::OutOfMemory,
        }
    }
}

impl<S> DriveError<S, core::convert::Infallible> {
    /// Converts the error of a machine whose `feed` cannot fail.
    #[must_use]
    pub fn infallible<F>(self) -> DriveError<S, F> {
        self.map_format(|never| match never {})
    }
}

impl<S, F> DriveError<S, F> {
    /// Converts the format's error by `of`; the other variants stay.
    pub fn map_format<G>(self, of: impl FnOnce(F) -> G) -> DriveError<S, G> {
        match self {
            Self::Store(error) => DriveError::Store(error),
            Self::Format(error) => DriveError::Format(of(error)),
            Self::Ended { offset } => DriveError::Ended { offset },
            Self::BufferTooSmall { need } => DriveError::BufferTooSmall { need },
        }
    }
}

/// Runs `machine` on `store`. `buf` is the only memory.
///
/// Dropping the future of the asynchronous form stops the work in the middle, like an error of the
/// store. `machine` must not be used after that.
///
/// # Errors
/// [`DriveError::Store`], [`DriveError::Format`], [`DriveError::Ended`],
/// [`DriveError::BufferTooSmall`].
#[twin(ReadAt)]
pub async fn drive_read<M: ReadMachine, S: ReadAt + ?Sized>(
    machine: &mut M,
    store: &S,
    buf: &mut [u8],
) -> Result<M::Output, DriveError<S::Error, M::Error>> {
    loop {
        match machine.poll() {
            ReadStep::Read { offset, need, want } => {
                read_and_feed(machine, store, buf, (offset, need, want)).await?;
            }
            ReadStep::Done(output) => return Ok(output),
        }
    }
}

/// Reads what `machine` asked for and feeds it.
#[twin(ReadAt)]
pub(crate) async fn read_and_feed<M: ReadMachine, S: ReadAt + ?Sized>(
    machine: &mut M,
    store: &S,
    buf: &mut [u8],
    (offset, need, want): (u64, usize, u64),
) -> Result<(), DriveError<S::Error, M::Error>> {
    let len = usize::try_from(want).unwrap_or(usize::MAX).min(buf.len());
    let bytes = buf.get_mut(..len).filter(|_| need <= len);
    let bytes = bytes.ok_or(DriveError::BufferTooSmall { need })?;
    read_exact(store, offset, bytes).await?;
    machine.feed(bytes).map_err(DriveError::Format)
}

/// Fills `buf` from `store`, for code that is not a machine.
///
/// # Errors
/// [`DriveError::Store`], or [`DriveError::Ended`] if the store is too short.
#[twin(ReadAt)]
pub(crate) async fn read_exact<S: ReadAt + ?Sized, F>(
    store: &S,
    offset: u64,
    buf: &mut [u8],
) -> Result<(), DriveError<S::Error, F>> {
    store.read_exact_at(offset, buf).await.map_err(|error| match error {
        ReadExactError::UnexpectedEof => DriveError::Ended { offset },
        ReadExactError::Other(error) => DriveError::Store(error),
    })
}
