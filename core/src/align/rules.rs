//! What a device asks for.

use super::error::Error;

/// Alignments in bytes, powers of two (`spec/align.md#rules`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Alignment {
    /// Of offsets in the file.
    pub offset: u64,
    /// Of lengths.
    pub length: u64,
    /// Of addresses in memory.
    pub memory: u64,
}

impl Alignment {
    /// None at all, as for reading through a page cache.
    pub const NONE: Self = Self::of(1);

    /// The largest one.
    pub const MAX: u64 = 1 << 30;

    /// One alignment for offsets, lengths and memory.
    #[must_use]
    pub const fn of(bytes: u64) -> Self {
        Self { offset: bytes, length: bytes, memory: bytes }
    }
}

/// What a device asks for, of a file of known length.
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
    /// The most that Linux reads at once is the largest multiple of the alignment up to this.
    pub const MAX_IO: u64 = 0x7FFF_F000;

    /// Rules for a file of `file_len` bytes: reads of at most [`MAX_IO`](Self::MAX_IO), and no gap
    /// is read through.
    ///
    /// # Errors
    /// [`Error::Alignment`]; [`Error::FileTooLong`].
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

    /// With reads of at most `max_io` bytes, rounded down to what is aligned.
    ///
    /// # Errors
    /// [`Error::MaxIo`] if that leaves nothing.
    pub const fn with_max_io(self, max_io: u64) -> Result<Self, Error> {
        let min = self.granule();
        match max_io & min.wrapping_neg() {
            0 => Err(Error::MaxIo { value: max_io, min }),
            max_io => Ok(Self { max_io, ..self }),
        }
    }

    /// With gaps of at most `max_gap` bytes between two requests read through, where one read
    /// serves both then.
    #[must_use]
    pub const fn with_max_gap(self, max_gap: u64) -> Self {
        Self { max_gap, ..self }
    }

    /// The rules without alignment, for what is read through a page cache after all.
    #[must_use]
    pub const fn unaligned(self) -> Self {
        Self { unit: 1, memory: 1, ..self }
    }

    /// Offsets and lengths of reads are multiples of this.
    #[must_use]
    pub const fn unit(&self) -> u64 {
        self.unit
    }

    /// Addresses in memory are multiples of this.
    #[must_use]
    pub const fn memory(&self) -> u64 {
        self.memory
    }

    /// Multiples of this keep everything aligned: the larger of [`unit`](Self::unit) and
    /// [`memory`](Self::memory).
    #[must_use]
    pub const fn granule(&self) -> u64 {
        if self.unit > self.memory { self.unit } else { self.memory }
    }

    /// Length of the file in bytes.
    #[must_use]
    pub const fn file_len(&self) -> u64 {
        self.file_len
    }

    /// Bytes of a read at most.
    #[must_use]
    pub const fn max_io(&self) -> u64 {
        self.max_io
    }

    /// Bytes of the longest gap between two requests that is read through.
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
