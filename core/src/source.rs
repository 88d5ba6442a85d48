//! Parsers that follow pointers: linear code that gets bytes, or says which bytes it needs.
//!
//! A parser asks a [`Source`] for bytes at any offset. A slice has all of them. A [`View`] has some
//! pages in the caller's memory. If no page holds the bytes, the parser stops with a [`Miss`];
//! [`Restart`] reads the bytes and calls the parser again from its start. The parser keeps its
//! results over restarts at *checkpoints*, [`Source::once`] and [`Source::walk`].
//!
//! Progress: the pages that a parser read since its last checkpoint are in use and are not
//! replaced. A parser that needs more places at once than there are pages gets [`Miss::Pages`],
//! whatever is in the file. The parser must bound the number of its checkpoints: pointers may form
//! a ring.
//!
//! A format whose parts follow each other does not need this module. A scan that is longer than the
//! memory is better a machine of its own ([`step`](crate::step)).
//!
//! ```
//! use core::ops::ControlFlow::{Break, Continue};
//! use striae_core::source::{Fault, Restart, Source, View};
//! use zerocopy::little_endian::U32;
//!
//! /// A list ends.
//! #[derive(Debug, PartialEq)]
//! enum Error { Ring }
//!
//! /// What outlives a restart: where the list begins, then a place in it, and the sum so far.
//! #[derive(Default)]
//! struct Known {
//!     first: Option<u32>,
//!     place: Option<(u32, u64, u64)>,
//! }
//!
//! /// The sum of a list of (next, value) whose first entry the file's first bytes point to.
//! fn sum<S: Source + ?Sized>(source: &S, known: &mut Known) -> Result<u64, Fault<Error>> {
//!     let first = *source.once(&mut known.first, |source| Ok(source.read::<U32>(0)?.get()))?;
//!     let most = source.file_len() / 8; // entries
//!     source.walk(known.place.get_or_insert((first, 0, 0)), |source, (at, sum, n)| {
//!         if at == 0 {
//!             return Ok(Break(sum));
//!         }
//!         let &[next, value] = source.read::<[U32; 2]>(at.into())?;
//!         match n < most {
//!             true => Ok(Continue((next.get(), sum + u64::from(value.get()), n + 1))),
//!             false => Err(Fault::Format(Error::Ring)),
//!         }
//!     })
//! }
//!
//! let numbers = [20_u32, 12, 300, 0, 1, 4, 4000];
//! let file: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
//! assert_eq!(sum(&file[..], &mut Known::default()), Ok(4301)); // in memory: no restart
//!
//! let mut memory = [0; 2 * 8]; // two pages
//! let view = View::<2>::new(&mut memory, 28);
//! let mut restart = Restart::new(view, Known::default(), 10, |view, known| sum(view, known));
//! assert_eq!(restart.read_from(&file[..]), Ok(4301));
//! ```

mod restart;
mod view;

pub use restart::Restart;
pub use view::View;

use crate::store::usize_to_u64;
use core::fmt;
use core::ops::ControlFlow;
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

crate::texts! {
    /// Why a source cannot give the bytes.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[cfg_attr(feature = "defmt", derive(defmt::Format))]
    #[non_exhaustive]
    pub enum Miss;

    /// The bytes are not in memory. [`Restart`] can read them and call the parser again.
    Read {
        /// Where the bytes are.
        offset: u64,
        /// The fewest bytes that the parser can use.
        need: usize,
        /// The most bytes that the parser can use; at least `need`.
        want: u64,
    } => "{need} bytes at offset {offset} are not in memory";
    /// The file: it ends before the end of the bytes.
    Ended {
        /// Where the bytes should be.
        offset: u64,
        /// How many are needed.
        len: u64,
    } => "{len} bytes at offset {offset} are not in the file";
    /// The memory: a page is shorter than the bytes that are needed at once.
    Page {
        /// How many are needed.
        len: usize,
    } => "a page is too small, must be at least {len} bytes";
    /// The memory: there are fewer pages than are needed at once.
    Pages => "the pages are too few";
    /// The caller's limit: the parser needs more reads than are allowed. A parser whose state does
    /// not outlive restarts ends here.
    Reads => "more reads are needed than are allowed";
}

impl core::error::Error for Miss {}

/// Why a parser stopped: bytes are missing, or they break the format, with the error `E`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Fault<E> {
    /// Bytes are missing.
    Miss(Miss),
    /// The bytes break the format.
    Format(E),
}

impl<E> From<Miss> for Fault<E> {
    fn from(miss: Miss) -> Self {
        Self::Miss(miss)
    }
}

impl<E: fmt::Display> fmt::Display for Fault<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Miss(miss) => miss.fmt(f),
            Self::Format(error) => error.fmt(f),
        }
    }
}

impl<E: core::error::Error + 'static> core::error::Error for Fault<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Miss(_) => None,
            Self::Format(error) => error.source(),
        }
    }
}

/// Pages that are in use at a checkpoint.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pins(u32);

/// Bytes of a file, as a parser sees them.
///
/// Other crates may implement it; a method of a later version has a default.
pub trait Source {
    /// Length of the file in bytes.
    fn file_len(&self) -> u64;

    /// At least `need` and at most `want` bytes at `offset`: as many as the source has at once.
    ///
    /// # Errors
    /// [`Miss`] if the source does not have the bytes; the parser returns it.
    fn some(&self, offset: u64, need: usize, want: u64) -> Result<&[u8], Miss>;

    /// The pages in use; none for a source without pages.
    fn pins(&self) -> Pins {
        Pins::default()
    }

    /// Sets the pages in use; all others may be replaced.
    fn set_pins(&self, _: Pins) {}

    /// The structure `T` at `offset`.
    ///
    /// # Errors
    /// [`Miss`] if the source does not have the bytes; the parser returns it.
    fn read<T: FromBytes + KnownLayout + Immutable + Unaligned>(
        &self,
        offset: u64,
    ) -> Result<&T, Miss> {
        let len = usize_to_u64(size_of::<T>());
        let bytes = self.some(offset, size_of::<T>(), len)?;
        T::ref_from_bytes(bytes).map_err(|_| Miss::Ended { offset, len })
    }

    /// The result of `parse`, which `known` keeps: after a success `parse` is not called again.
    /// `known` must outlive restarts.
    ///
    /// # Errors
    /// The error of `parse`.
    fn once<'k, T, E>(
        &self,
        known: &'k mut Option<T>,
        parse: impl FnOnce(&Self) -> Result<T, Fault<E>>,
    ) -> Result<&'k mut T, Fault<E>> {
        match known {
            Some(value) => Ok(value),
            unknown => {
                let pins = self.pins(); // what the code around needs stays in use
                let value = parse(self)?;
                self.set_pins(pins);
                Ok(unknown.insert(value))
            }
        }
    }

    /// Repeats `step` until it breaks. `state` is the place to continue from and must outlive
    /// restarts.
    ///
    /// `step` gets the state by value, so that it cannot change the state and then miss bytes.
    ///
    /// # Errors
    /// The error of `step`.
    fn walk<S: Copy, T, E>(
        &self,
        state: &mut S,
        step: impl Fn(&Self, S) -> Result<ControlFlow<T, S>, Fault<E>>,
    ) -> Result<T, Fault<E>> {
        let pins = self.pins();
        loop {
            match step(self, *state)? {
                ControlFlow::Continue(next) => *state = next,
                ControlFlow::Break(value) => return Ok(value),
            }
            self.set_pins(pins);
        }
    }
}

/// A file in memory, or mapped there: all bytes are present.
impl Source for [u8] {
    fn file_len(&self) -> u64 {
        usize_to_u64(self.len())
    }

    fn some(&self, offset: u64, need: usize, want: u64) -> Result<&[u8], Miss> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.get(offset..));
        let rest = rest.filter(|rest| need <= rest.len());
        let rest = rest.ok_or(Miss::Ended { offset, len: usize_to_u64(need) })?;
        Ok(at_most(rest, need, want))
    }
}

/// The bytes that a machine was fed, as a source for a parser that only goes forward.
#[derive(Debug, Clone, Copy)]
pub struct Window<'a> {
    offset: u64,
    bytes: &'a [u8],
    file_len: u64,
}

impl<'a> Window<'a> {
    /// Makes a source of the `bytes` at `offset` of a file of `file_len` bytes.
    #[must_use]
    pub const fn new(offset: u64, bytes: &'a [u8], file_len: u64) -> Self {
        Self { offset, bytes, file_len }
    }
}

impl Source for Window<'_> {
    fn file_len(&self) -> u64 {
        self.file_len
    }

    fn some(&self, offset: u64, need: usize, want: u64) -> Result<&[u8], Miss> {
        let skip = offset.checked_sub(self.offset).and_then(|skip| usize::try_from(skip).ok());
        let rest = skip.and_then(|skip| self.bytes.get(skip..)).filter(|rest| need <= rest.len());
        let (len, left) = (usize_to_u64(need), self.file_len.checked_sub(offset));
        match (rest, left.filter(|&left| len <= left)) {
            (_, None) => Err(Miss::Ended { offset, len }),
            (Some(rest), _) => Ok(at_most(rest, need, want)),
            (None, Some(want)) => Err(Miss::Read { offset, need, want }),
        }
    }
}

/// The first `want` of `bytes`, but never fewer than `need` of them.
fn at_most(bytes: &[u8], need: usize, want: u64) -> &[u8] {
    let want = usize::try_from(want).unwrap_or(usize::MAX).max(need);
    bytes.get(..want).unwrap_or(bytes)
}
