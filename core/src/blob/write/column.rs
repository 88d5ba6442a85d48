//! [`Column`]: what the blobs have of a canonical variable, and which of its records are written.

use crate::blob::define::Partition;
use crate::blob::layout::{Content, Share};
use crate::cdf::{Define, Type, VarDef};
use crate::span::Span;
use crate::store::usize_to_u64;
use core::ops::Range;

/// A canonical variable, as every writer of a set knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Column {
    /// The type of its values.
    pub nc_type: Type,
    /// Whether it has records.
    pub is_record: bool,
    /// Index of its decomposition, from 0.
    pub decomposition: Option<usize>,
    /// The bytes of all values, or of those of one record.
    pub len: u64,
}

/// What a blob has of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Held {
    /// The offset of the first of its bytes in the subfile.
    pub start: u64,
    /// The number of its bytes, of a record or of all.
    pub len: u64,
    /// The bytes from record to record.
    pub step: u64,
}

impl Held {
    /// The bytes of a record, or of all records if that is 0; `None` if they exceed `u64::MAX`.
    #[must_use]
    pub fn span(self, record: u64) -> Option<Span> {
        Span::new(self.start.checked_add(record.checked_mul(self.step)?)?, self.len)
    }
}

impl Column {
    /// A variable of this definition; `None` if its length exceeds `u64::MAX`.
    #[must_use]
    pub fn new<D: Define + ?Sized>(
        definition: &D,
        var: &VarDef<'_>,
        decomposition: Option<usize>,
    ) -> Option<Self> {
        let length = |&dimid| definition.dim(dimid).map_or(0, |dim| dim.length);
        let is_record = var.dimids.first().is_some_and(|dimid| length(dimid) == 0);
        let mut own = var.dimids.iter().skip(is_record.into()).map(length);
        let len = own.try_fold(var.nc_type.size(), u64::checked_mul)?;
        Some(Self { nc_type: var.nc_type, is_record, decomposition, len })
    }

    /// What the header of a subfile says of it. `global_dimids` are its canonical dimensions.
    #[must_use]
    pub fn partition(self, global_dimids: &[i32]) -> Option<Partition<'_>> {
        self.decomposition.map(|decomposition| Partition { decomposition, global_dimids })
    }

    /// What the variable has in a process-centric blob, of a set with so many records; `None` if
    /// its length exceeds `u64::MAX`.
    #[must_use]
    pub fn content(self, records: u64) -> Option<Content> {
        let records = if self.is_record { records } else { 1 };
        Some(match self.decomposition {
            None => Content::Whole { len: self.len.checked_mul(records)? },
            Some(decomposition) => {
                let len = self.nc_type.size().checked_mul(records)?;
                Content::Elements { decomposition, len }
            }
        })
    }

    /// The share of a blob: all of a variable that is not decomposed is in the first one.
    fn share(self, blob: u32, shares: &[Share]) -> Option<(u64, u64)> {
        let Some(of) = self.decomposition else {
            return Some((0, if blob == 0 { self.len } else { 0 }));
        };
        let (Share { start, count, .. }, size) = (*shares.get(of)?, self.nc_type.size());
        Some((start.checked_mul(size)?, count.checked_mul(size)?))
    }

    /// What blob `blob` with these shares has in the variable-centric layout, if the values begin
    /// at `begin` and are `recsize` bytes from record to record. `None` if it exceeds `u64::MAX`.
    #[must_use]
    pub fn in_values(
        self,
        (begin, recsize): (u64, u64),
        blob: u32,
        shares: &[Share],
    ) -> Option<Held> {
        let (skip, len) = self.share(blob, shares)?;
        Some(Held { start: begin.checked_add(skip)?, len, step: recsize })
    }

    /// What blob `blob` with these shares has in the process-centric layout, from `start` on.
    /// `None` if it exceeds `u64::MAX`.
    #[must_use]
    pub fn in_blob(self, start: u64, blob: u32, shares: &[Share]) -> Option<Held> {
        let (_, len) = self.share(blob, shares)?;
        Some(Held { start, len, step: len })
    }
}

/// The records that a writer writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Records {
    /// The number of records that the set had before; `None` if it is new. Of a set that was closed
    /// before, variables without records are written already.
    pub before: Option<u64>,
    /// The number of all records, if it was fixed before the first one.
    pub all: Option<u64>,
}

/// Why a record of a variable cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Refusal {
    /// The set had it before.
    Stored,
    /// It is after the last one.
    Past {
        /// The number of records.
        records: u64,
    },
    /// The blob has another number of bytes of it.
    Len {
        /// The bytes that were given.
        given: u64,
        /// The bytes that the blob has.
        len: u64,
    },
    /// Its place is not in any file.
    Size,
}

impl Records {
    /// The first record that is written.
    #[must_use]
    pub fn first(self) -> u64 {
        self.before.unwrap_or(0)
    }

    /// Whether a record of a variable can be written. A variable without records has record 0.
    ///
    /// # Errors
    /// The reason why it cannot.
    pub fn check(self, column: Column, record: u64) -> Result<(), Refusal> {
        if self.before.is_some_and(|before| !column.is_record || record < before) {
            return Err(Refusal::Stored);
        }
        let records = if column.is_record { self.all } else { Some(1) };
        match records.filter(|&records| record >= records) {
            Some(records) => Err(Refusal::Past { records }),
            None => Ok(()),
        }
    }

    /// The place of `given` bytes, all that a blob has of a record of a variable.
    ///
    /// # Errors
    /// The reason why they cannot be written.
    pub fn place(
        self,
        column: Column,
        held: Held,
        record: u64,
        given: u64,
    ) -> Result<Span, Refusal> {
        self.check(column, record)?;
        if given != held.len {
            return Err(Refusal::Len { given, len: held.len });
        }
        held.span(record).ok_or(Refusal::Size)
    }

    /// The number of records of the set, if that of the ranks which have written most is `reached`.
    #[must_use]
    pub fn count(self, reached: u64) -> u64 {
        self.all.unwrap_or(reached)
    }

    /// The records of a variable that must have been written when the set has so many.
    #[must_use]
    pub fn of(self, column: Column, records: u64) -> Range<u64> {
        match (column.is_record, self.before) {
            (true, _) => self.first()..records,
            (false, None) => 0..1,
            (false, Some(_)) => 0..0,
        }
    }

    /// The place of a record of a variable, of so many variables, in a list of bits that says what
    /// was written: the word, and the bit in it.
    pub(super) fn bit(self, nvars: usize, variable: usize, record: u64) -> (usize, u64) {
        let row = usize_to_u64(nvars).saturating_mul(record.saturating_sub(self.first()));
        let bit = row.saturating_add(usize_to_u64(variable));
        (usize::try_from(bit >> 6).unwrap_or(usize::MAX), 1 << (bit & 63))
    }
}
