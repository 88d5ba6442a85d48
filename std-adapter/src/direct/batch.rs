//! What was read of many spans.
#![expect(unsafe_code, reason = "its memory was written to by the kernel")]

use super::memory::{Memory, Pool};
use std::sync::Arc;

/// The bytes of spans that were read together, each in one piece, without a copy.
///
/// Its memory is used again when it is dropped.
#[derive(Debug)]
pub struct Batch {
    /// Nothing is read into it any more. Always there until it is dropped.
    memory: Option<Memory>,
    /// Where the spans are in it, and their lengths.
    places: Vec<(usize, usize)>,
    pool: Arc<Pool>,
}

impl Batch {
    /// All reads into the memory are done.
    pub(super) const fn new(memory: Memory, places: Vec<(usize, usize)>, pool: Arc<Pool>) -> Self {
        Self { memory: Some(memory), places, pool }
    }

    /// Number of spans.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The bytes of a span by its number.
    #[must_use]
    pub fn get(&self, span: usize) -> Option<&[u8]> {
        self.bytes(*self.places.get(span)?)
    }

    /// The bytes of all spans, in the order in which they were asked for.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.places.iter().map(|&place| self.bytes(place).unwrap_or_default())
    }

    fn bytes(&self, (place, len): (usize, usize)) -> Option<&[u8]> {
        // SAFETY: "no read of these bytes is under way": a batch is made when all are done.
        unsafe { self.memory.as_ref()?.bytes(place, len) }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            self.pool.give_back(memory);
        }
    }
}
