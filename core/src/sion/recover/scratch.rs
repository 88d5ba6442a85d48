//! What recovering needs of its caller.

use crate::sion::disk::meta1::Meta1;

/// Memory for recovering, and a bound on the work.
#[derive(Debug)]
pub struct Scratch<'w> {
    pub(super) window: &'w mut [u8],
    /// The number of zeros that may still be tried after data to match a sealed checksum.
    pub(super) zeros: u64,
}

/// The number of zeros that are tried after data, for all chunks together.
const ZEROS: u64 = 1 << 28;

impl<'w> Scratch<'w> {
    /// Makes a scratch. `window` needs [`WINDOW`] bytes; a larger window makes fewer and larger
    /// reads.
    ///
    /// For a sealed file it also counts the zeros that were tried after chunks' data, so use one
    /// scratch for all tasks of a file.
    #[must_use]
    pub const fn new(window: &'w mut [u8]) -> Self {
        Self { window, zeros: ZEROS }
    }
}

/// The bytes that the window of [`Remains::read`](super::Remains::read) and of a [`Scratch`] needs.
pub const WINDOW: usize = Meta1::MAX_LEN;
