//! The parts of a store in which a logger looks for foreign data before it makes a file.

use super::Create;
use crate::exact::Exact;
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
    /// What the sector is filled with, if a byte tells: zeros, or ones as in erased flash.
    fill: Option<u8>,
}

/// The part at the start of a store that must be blank, and the part at its end: all signatures
/// that libblkid knows are there, or in a sector whose offset is a power of two, but for those of
/// zoned disks and of later sessions of discs.
const FRONT: u64 = 1 << 20;
const BACK: u64 = 2 << 20;

impl Blank {
    /// Nothing was seen yet of a store of `store_len` bytes, for a file of `data_end` bytes.
    pub(in crate::gsd) fn unseen(data_end: u64, store_len: u64) -> Self {
        let end = data_end.max(FRONT).min(store_len);
        Self { at: 0, end, power: FRONT, store_len, fill: None }
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
            let start = self.power.min(back);
            self.end = match start < back {
                true => start.exact_add(SECTOR.get()),
                false => self.store_len,
            };
            self.power = self.power.saturating_mul(2);
            self.at = self.at.max(start);
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
        more: &dyn Fn(u64) -> Option<u8>,
    ) -> Result<(), Error> {
        let mut rest = bytes;
        while let Some(&value) = rest.first() {
            let offset = self.at;
            let into = offset % SECTOR;
            if into == 0 {
                self.fill = None;
            }
            let left = usize::try_from(SECTOR.get().exact_sub(into)).unwrap_or(usize::MAX);
            let sector = rest.get(..left).unwrap_or(rest);
            // A sector is blank, has a part of its new bytes, or was erased to write them.
            let mut len = create.same(offset, sector);
            if len == 0 && ((offset < 8 && value == 0) || more(offset) == Some(value)) {
                len = 1;
            }
            if len == 0 {
                let is_fill = matches!(value, 0x00 | 0xFF);
                if !is_fill || self.fill.is_some_and(|fill| fill != value) {
                    return Err(Error::NotBlank { offset, value });
                }
                self.fill = Some(value);
                len = sector.iter().take_while(|byte| **byte == value).count();
            }
            self.at = offset.exact_add(usize_to_u64(len));
            rest = rest.get(len..).unwrap_or_default();
        }
        self.advance();
        Ok(())
    }
}

const _: () = assert!(FRONT.is_power_of_two() && FRONT > SECTOR.get());
