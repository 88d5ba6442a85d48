//! The parts of a store in which a logger looks for foreign data before it makes a file.

use super::Create;
use crate::gsd::error::Error;
use crate::gsd::layout::SECTOR;
use crate::step::ReadStep;
use crate::store::usize_to_u64;

/// How far a store is blank (`spec/gsd.md#blank-stores`).
#[derive(Debug, Clone, Copy)]
pub(in crate::gsd) struct Blank {
    /// The part that is being read: where its next bytes are, and its end.
    at: u64,
    end: u64,
    /// The sector of the part after this one.
    power: u64,
    store_len: u64,
    fills: Fills,
}

/// Which bytes a sector that was never written may consist of.
#[derive(Debug, Clone, Copy)]
struct Fills {
    zeros: bool,
    ones: bool,
}

impl Fills {
    /// All zeros, or all ones, as in erased flash.
    const ANY: Self = Self { zeros: true, ones: true };

    /// Takes a byte of the sector, which the new file may have there or not.
    fn narrow(&mut self, is_written: bool, offset: u64, value: u8) -> Result<(), Error> {
        self.zeros &= is_written || value == 0x00;
        self.ones &= is_written || value == 0xFF;
        if self.zeros || self.ones { Ok(()) } else { Err(Error::NotBlank { offset, value }) }
    }
}

/// The part at the start of a store that must be blank, and the part at its end: all signatures
/// that libblkid knows are there, or in a sector whose offset is a power of two.
const FRONT: u64 = 1 << 20;
const BACK: u64 = 2 << 20;

impl Blank {
    /// Nothing was seen yet of a store of `store_len` bytes, for a file of `data_end` bytes.
    pub(in crate::gsd) fn unseen(data_end: u64, store_len: u64) -> Self {
        let end = data_end.max(FRONT).min(store_len);
        Self { at: 0, end, power: FRONT, store_len, fills: Fills::ANY }
    }

    /// The step that reads the next part of the store; `None` if all was seen.
    pub(in crate::gsd) fn read<T>(&self) -> Option<ReadStep<T>> {
        let want = self.end.saturating_sub(self.at);
        (want > 0).then_some(ReadStep::Read { offset: self.at, need: 1, want })
    }

    /// Goes to the next part after the end of one.
    fn advance(&mut self) {
        let back = self.store_len.saturating_sub(BACK);
        while self.at >= self.end && self.end < self.store_len {
            let (start, end) = match self.power < back {
                true => (self.power, self.power.saturating_add(SECTOR.get())),
                false => (back, self.store_len),
            };
            self.power = self.power.saturating_mul(2);
            (self.at, self.end) = (self.at.max(start), end.min(self.store_len));
        }
    }

    /// Checks the `bytes` that were [read](Self::read): they may be in a blank store, even if a
    /// power cut interrupted there the creation of the file that `create` makes, and of what the
    /// caller writes to it: `more` is the byte at an offset.
    ///
    /// # Errors
    /// [`Error::NotBlank`] if they may not.
    pub(in crate::gsd) fn see(
        &mut self,
        bytes: &[u8],
        create: &Create,
        more: impl Fn(u64) -> Option<u8>,
    ) -> Result<(), Error> {
        let mut rest = bytes;
        while let Some(&value) = rest.first() {
            let into = self.at % SECTOR;
            if into == 0 {
                self.fills = Fills::ANY;
            }
            let left = usize::try_from(SECTOR.get().saturating_sub(into)).unwrap_or(usize::MAX);
            let (piece, behind) = rest.split_at_checked(left).unwrap_or((rest, &[]));
            match self.at >= create.data_end && is_uniform(piece) {
                true => self.fills.narrow(false, self.at, value)?,
                false => self.see_each(piece, create, &more)?,
            }
            self.at = self.at.saturating_add(usize_to_u64(piece.len()));
            rest = behind;
        }
        self.advance();
        Ok(())
    }

    /// [`see`](Self::see) for bytes of one sector.
    fn see_each(
        &mut self,
        bytes: &[u8],
        create: &Create,
        more: impl Fn(u64) -> Option<u8>,
    ) -> Result<(), Error> {
        for (offset, &value) in (self.at..).zip(bytes) {
            // A sector is blank, has a part of its new bytes, or was erased to write them.
            let is_written = offset < create.data_end
                && (create.written(offset) == Some(value)
                    || (offset < 8 && value == 0)
                    || more(offset) == Some(value));
            self.fills.narrow(is_written, offset, value)?;
        }
        Ok(())
    }
}

/// Whether all bytes are the same.
fn is_uniform(bytes: &[u8]) -> bool {
    match bytes.split_first() {
        Some((_, rest)) => bytes.get(..rest.len()) == Some(rest),
        None => true,
    }
}

const _: () = assert!(FRONT.is_power_of_two() && FRONT > SECTOR.get());
