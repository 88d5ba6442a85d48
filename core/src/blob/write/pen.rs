//! [`Pen`]: what a rank has written of a set.

use super::book::Sum;
use super::column::{Column, Held, Records};
use crate::integrity::Checksum;
use crate::span::Span;
#[twin(ReadAt)]
use crate::store::ReadAt;
use embedded_io::ReadExactError;
use striae_twin::twin;

/// What a rank has written: which records of which variables, and their checksums if the set is
/// sealed. Variables have the numbers of the canonical definition.
///
/// The caller lends the memory: `B` has a bit for each record of each variable, and grows; `S` has
/// a [`Sum`] for each variable, or none if the set is not sealed. A caller with threads keeps a pen
/// under a lock, which nobody needs while bytes are written: [`sum`](Self::sum) is asked before,
/// [`wrote`](Self::wrote) is told after.
///
/// ```
/// use striae_core::blob::{Column, Held, Pen, Records, book::Sum};
/// use striae_core::cdf::Type;
///
/// let column = Column { nc_type: Type::Int, is_record: true, decomposition: None, len: 8 };
/// let held = Held { start: 0, len: 8, step: 8 };
/// let mut pen = Pen::new(Records::default(), 1, Vec::new(), Vec::<Sum>::new());
/// pen.wrote(0, column, 2, None);
/// assert_eq!(pen.reached(), 3);
/// assert_eq!(pen.missing([(column, Some(held))], 3), Some((0, 0)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Pen<B, S> {
    records: Records,
    /// The number of variables.
    nvars: usize,
    bits: B,
    sums: S,
    /// The number of records that were written, with those that there were before.
    reached: u64,
}

impl<B, S> Pen<B, S> {
    /// A rank that has written nothing yet. `bits` is empty. The sums are those over the records
    /// that there were before.
    pub fn new(records: Records, nvars: usize, bits: B, sums: S) -> Self {
        Self { records, nvars, bits, sums, reached: records.first() }
    }

    /// The records that the rank writes.
    pub const fn records(&self) -> Records {
        self.records
    }

    /// One more than the last record that was written, or the number of those that there were
    /// before.
    pub const fn reached(&self) -> u64 {
        self.reached
    }
}

impl<B, S: AsRef<[Sum]>> Pen<B, S> {
    /// The checksum of a variable so far, which the bytes that are written next continue; `None` if
    /// the set is not sealed.
    pub fn sum(&self, variable: usize) -> Option<Sum> {
        self.sums.as_ref().get(variable).copied()
    }
}

impl<B, S> Pen<B, S>
where
    B: AsRef<[u64]> + AsMut<[u64]> + Extend<u64>,
    S: AsRef<[Sum]> + AsMut<[Sum]>,
{
    /// Notes that a record of a variable was written. `crc` is the [`sum`](Self::sum) as it was
    /// when its bytes were written, and the checksum that continues it with them.
    ///
    /// A record for whose bit the memory does not grow stays [missing](Self::missing).
    pub fn wrote(&mut self, variable: usize, column: Column, record: u64, crc: Option<(Sum, u32)>) {
        let (word, mask) = self.records.bit(self.nvars, variable, record);
        let known = self.bits.as_ref().len();
        if let Some(more) = word.saturating_add(1).checked_sub(known) {
            self.bits.extend(core::iter::repeat_n(0, more));
        }
        if let Some(word) = self.bits.as_mut().get_mut(word) {
            *word |= mask;
        }
        if let (Some(sum), Some((before, crc))) = (self.sums.as_mut().get_mut(variable), crc) {
            sum.add(before, record, crc);
        }
        if column.is_record {
            self.reached = self.reached.max(record.saturating_add(1));
        }
    }

    /// The first record that the rank has not written, of a set with so many: the number of its
    /// variable, and its own. `variables` are all of them in order, with what the blob has of them,
    /// if that is known.
    pub fn missing(
        &self,
        variables: impl IntoIterator<Item = (Column, Option<Held>)>,
        records: u64,
    ) -> Option<(usize, u64)> {
        let bits = self.bits.as_ref();
        let is_missing = |variable, record| {
            let (word, mask) = self.records.bit(self.nvars, variable, record);
            bits.get(word).is_none_or(|word| word & mask == 0)
        };
        let mut needed =
            (0..).zip(variables).filter(|(_, (_, held))| held.is_none_or(|held| held.len > 0));
        needed.find_map(|(variable, (column, _))| {
            let mut all = self.records.of(column, records);
            all.find(|&record| is_missing(variable, record)).map(|record| (variable, record))
        })
    }
}

#[twin(ReadAt)]
impl<B, M: AsRef<[Sum]>> Pen<B, M> {
    /// The checksum of a variable's bytes in all records of a set with so many. They are read again
    /// from `store` if they were not written in order.
    ///
    /// # Errors
    /// See [`Sum::over`].
    pub async fn sum_of_all<S: ReadAt + ?Sized>(
        &self,
        (variable, column, held): (usize, Column, Held),
        records: u64,
        store: &S,
        window: &mut [u8],
        checksum: Checksum,
    ) -> Result<u32, ReadExactError<S::Error>> {
        let places = self.records.of(column, records);
        let places = places.map(|record| held.span(record).unwrap_or(Span::ZERO));
        let sum = self.sum(variable).unwrap_or_default();
        sum.over(places, store, window, checksum).await
    }
}
