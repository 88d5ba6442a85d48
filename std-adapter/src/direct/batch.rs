//! The result of reading many spans together.
#![expect(unsafe_code, reason = "its memory was written to by the kernel")]

use super::memory::{Memory, Pool};
use std::sync::Arc;

/// The bytes of spans that were read together. Each span is one slice, without a copy.
///
/// The memory is used again after the drop.
#[derive(Debug)]
pub struct Batch {
    /// No read into it is under way. It is `Some` until the drop.
    memory: Option<Memory>,
    /// Place in the memory and length of each span.
    places: Vec<(usize, usize)>,
    pool: Arc<Pool>,
}

impl Batch {
    /// Makes a batch. All reads into the memory must be done.
    pub(super) const fn new(memory: Memory, places: Vec<(usize, usize)>, pool: Arc<Pool>) -> Self {
        Self { memory: Some(memory), places, pool }
    }

    /// Number of spans.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are no spans.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The bytes of a span, by the number of the span.
    #[must_use]
    pub fn get(&self, span: usize) -> Option<&[u8]> {
        self.bytes(*self.places.get(span)?)
    }

    /// The bytes of all spans, in the order of the request.
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
