//! What a book knows of its file: after an error, the store must still have it.

use super::Book;
use crate::gsd::error::Error;
use crate::store::{Proof, Swapped};

impl<B> Proof for Book<B> {
    fn place(&self, number: u32, known: &mut [u8; 80]) -> Option<(u64, usize)> {
        let tail = &self.tail;
        (number == 0).then(|| tail.image.proof(tail.is_adopted, tail.is_torn, known))
    }
}

impl Swapped for Error {
    const SWAPPED: Self = Self::Swapped;
}
