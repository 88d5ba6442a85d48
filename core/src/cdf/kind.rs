//! Versions of the format, and types of values.

use core::fmt;

/// A version of the format (`spec/cdf.md#header`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Version {
    /// The classic format.
    Cdf1,
    /// With offsets of 64 bits.
    Cdf2,
    /// With sizes of 64 bits too, and more types.
    Cdf5,
}

impl Version {
    /// All versions.
    pub const ALL: [Self; 3] = [Self::Cdf1, Self::Cdf2, Self::Cdf5];

    /// The version with this number on disk, or `None` if there is none.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Cdf1),
            2 => Some(Self::Cdf2),
            5 => Some(Self::Cdf5),
            _ => None,
        }
    }

    /// The number on disk.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Cdf1 => 1,
            Self::Cdf2 => 2,
            Self::Cdf5 => 5,
        }
    }

    /// The bytes of a NON_NEG: a count or a length.
    #[must_use]
    pub const fn non_neg_len(self) -> u64 {
        match self {
            Self::Cdf1 | Self::Cdf2 => 4,
            Self::Cdf5 => 8,
        }
    }

    /// The bytes of an OFFSET.
    #[must_use]
    pub const fn offset_len(self) -> u64 {
        match self {
            Self::Cdf1 => 4,
            Self::Cdf2 | Self::Cdf5 => 8,
        }
    }

    /// The value of numrecs for an unknown number of records: all bits of a NON_NEG set.
    #[must_use]
    pub const fn streaming(self) -> u64 {
        match self {
            Self::Cdf1 | Self::Cdf2 => 0xffff_ffff,
            Self::Cdf5 => u64::MAX,
        }
    }

    /// The type with this number, or `None` if this version has no such type.
    #[must_use]
    pub fn nc_type(self, number: u32) -> Option<Type> {
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        let count = if self == Self::Cdf5 { Type::ALL.len() } else { Type::CLASSIC };
        Type::ALL.get(index).copied().filter(|_| index < count)
    }
}

/// The type of values, `nc_type` in the grammar (`spec/cdf.md#types`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Type {
    /// Signed, 1 byte.
    Byte,
    /// A byte of text.
    Char,
    /// Signed, 2 bytes.
    Short,
    /// Signed, 4 bytes.
    Int,
    /// IEEE 754, 4 bytes.
    Float,
    /// IEEE 754, 8 bytes.
    Double,
    /// Unsigned, 1 byte; from here on CDF-5 only.
    Ubyte,
    /// Unsigned, 2 bytes.
    Ushort,
    /// Unsigned, 4 bytes.
    Uint,
    /// Signed, 8 bytes.
    Int64,
    /// Unsigned, 8 bytes.
    Uint64,
}

impl Type {
    /// All types, in the order of their numbers from 1 on.
    pub const ALL: [Self; 11] = [
        Self::Byte,
        Self::Char,
        Self::Short,
        Self::Int,
        Self::Float,
        Self::Double,
        Self::Ubyte,
        Self::Ushort,
        Self::Uint,
        Self::Int64,
        Self::Uint64,
    ];

    /// The number of types of CDF-1 and CDF-2.
    const CLASSIC: usize = 6;

    /// The number on disk.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::Byte => 1,
            Self::Char => 2,
            Self::Short => 3,
            Self::Int => 4,
            Self::Float => 5,
            Self::Double => 6,
            Self::Ubyte => 7,
            Self::Ushort => 8,
            Self::Uint => 9,
            Self::Int64 => 10,
            Self::Uint64 => 11,
        }
    }

    /// The bytes of a value.
    #[must_use]
    pub const fn size(self) -> u64 {
        match self {
            Self::Byte | Self::Char | Self::Ubyte => 1,
            Self::Short | Self::Ushort => 2,
            Self::Int | Self::Float | Self::Uint => 4,
            Self::Double | Self::Int64 | Self::Uint64 => 8,
        }
    }

    /// The name in CDL.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Byte => "byte",
            Self::Char => "char",
            Self::Short => "short",
            Self::Int => "int",
            Self::Float => "float",
            Self::Double => "double",
            Self::Ubyte => "ubyte",
            Self::Ushort => "ushort",
            Self::Uint => "uint",
            Self::Int64 => "int64",
            Self::Uint64 => "uint64",
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_name_what_has_them() {
        for version in Version::ALL {
            assert_eq!(Version::from_number(version.number()), Some(version));
        }
        for (number, ty) in (1..).zip(Type::ALL) {
            assert_eq!(ty.number(), number);
            assert_eq!(Version::Cdf5.nc_type(number), Some(ty));
            assert_eq!(Version::Cdf2.nc_type(number), Some(ty).filter(|_| number <= 6));
        }
        for number in [0, 12, u32::MAX] {
            assert_eq!(Version::Cdf5.nc_type(number), None);
        }
    }
}
