//! The alignment of a device, and the limits of reads.

use super::error::Error;

/// Alignments in bytes, powers of two (`spec/align.md#rules`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Alignment {
    /// The alignment of offsets in the file.
    pub offset: u64,
    /// The alignment of lengths.
    pub length: u64,
    /// The alignment of addresses in memory.
    pub memory: u64,
}

impl Alignment {
    /// No alignment, for reading through a page cache.
    pub const NONE: Self = Self::of(1);

    /// The largest alignment.
    pub const MAX: u64 = 1 << 30;

    /// One alignment for offsets, lengths and memory.
    #[must_use]
    pub const fn of(bytes: u64) -> Self {
        Self { offset: bytes, length: bytes, memory: bytes }
    }
}

/// The rules for reads of a file of known length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Offsets and lengths are multiples of this.
    unit: u64,
    memory: u64,
    file_len: u64,
    max_io: u64,
    max_gap: u64,
}

impl Rules {
    /// Linux reads at most the largest multiple of the alignment up to this number at once.
    pub const MAX_IO: u64 = 0x7FFF_F000;

    /// Makes rules for a file of `file_len` bytes: reads of at most [`MAX_IO`](Self::MAX_IO) bytes,
    /// and no gap is read through.
    ///
    /// # Errors
    /// [`Error::Alignment`] if an alignment is not a power of two or exceeds [`Alignment::MAX`];
    /// [`Error::FileTooLong`] if the end of the file, rounded up, exceeds the largest offset.
    pub const fn new(alignment: Alignment, file_len: u64) -> Result<Self, Error> {
        let Alignment { offset, length, memory } = alignment;
        let all = [offset, length, memory];
        let mut left = all.as_slice();
        while let [value, rest @ ..] = left {
            if !value.is_power_of_two() || *value > Alignment::MAX {
                return Err(Error::Alignment { value: *value, max: Alignment::MAX });
            }
            left = rest;
        }
        let unit = if offset > length { offset } else { length }; // a multiple of both
        let rules = Self { unit, memory, file_len, max_io: 0, max_gap: 0 };
        let max = rules.down(i64::MAX.unsigned_abs());
        if file_len > max {
            return Err(Error::FileTooLong { file_len, max });
        }
        let max_io = Self::MAX_IO & rules.granule().wrapping_neg();
        Ok(Self { max_io, ..rules })
    }

    /// These rules with reads of at most `max_io` bytes, rounded down to a multiple of the granule.
    ///
    /// # Errors
    /// [`Error::MaxIo`] if `max_io` is less than the granule.
    pub const fn with_max_io(self, max_io: u64) -> Result<Self, Error> {
        let min = self.granule();
        match max_io & min.wrapping_neg() {
            0 => Err(Error::MaxIo { value: max_io, min }),
            max_io => Ok(Self { max_io, ..self }),
        }
    }

    /// These rules with gaps of at most `max_gap` bytes read through, where one read then serves
    /// both requests.
    #[must_use]
    pub const fn with_max_gap(self, max_gap: u64) -> Self {
        Self { max_gap, ..self }
    }

    /// These rules without alignment, for reads through a page cache.
    #[must_use]
    pub const fn unaligned(self) -> Self {
        Self { unit: 1, memory: 1, ..self }
    }

    /// The unit: offsets and lengths of reads are multiples of it.
    #[must_use]
    pub const fn unit(&self) -> u64 {
        self.unit
    }

    /// The memory alignment: addresses in memory are multiples of it.
    #[must_use]
    pub const fn memory(&self) -> u64 {
        self.memory
    }

    /// The granule, whose multiples are aligned in the file and in memory: the larger of
    /// [`unit`](Self::unit) and [`memory`](Self::memory).
    #[must_use]
    pub const fn granule(&self) -> u64 {
        if self.unit > self.memory { self.unit } else { self.memory }
    }

    /// The length of the file in bytes.
    #[must_use]
    pub const fn file_len(&self) -> u64 {
        self.file_len
    }

    /// The most bytes of a read.
    #[must_use]
    pub const fn max_io(&self) -> u64 {
        self.max_io
    }

    /// The bytes of the longest gap between two requests that is read through.
    #[must_use]
    pub const fn max_gap(&self) -> u64 {
        self.max_gap
    }

    /// The last multiple of the unit up to `offset`.
    #[must_use]
    pub const fn down(&self, offset: u64) -> u64 {
        offset & self.unit.wrapping_neg()
    }

    /// The first multiple of the unit from `offset` on, which is at most `i64::MAX`.
    #[must_use]
    pub const fn up(&self, offset: u64) -> u64 {
        self.down(offset.saturating_add(self.unit.saturating_sub(1)))
    }
}
