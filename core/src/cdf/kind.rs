//! Versions of the format, and types of values.

use crate::words::types;

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

    /// The first 4 bytes of a file.
    #[must_use]
    pub const fn magic(self) -> [u8; 4] {
        [b'C', b'D', b'F', self.number()]
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

    /// The largest NON_NEG that a writer may store. netCDF defines it as signed.
    #[must_use]
    pub const fn max_non_neg(self) -> u64 {
        self.streaming() >> 1
    }

    /// The largest length of a dimension, and the most bytes of a variable, or of one record of it,
    /// unless no other variable of its section follows (`ncvalidator.c:1887`).
    #[must_use]
    pub const fn max_len(self) -> u64 {
        match self {
            Self::Cdf1 => 0x7fff_fffc,
            Self::Cdf2 => 0xffff_fffc,
            Self::Cdf5 => 0x7fff_ffff_ffff_fffc,
        }
    }

    /// The largest offset of a variable: offsets are signed in all libraries.
    #[must_use]
    pub const fn max_begin(self) -> u64 {
        match self {
            Self::Cdf1 => 0x7fff_ffff,
            Self::Cdf2 | Self::Cdf5 => i64::MAX.unsigned_abs(),
        }
    }

    /// Whether files of this version can have values of a type.
    #[must_use]
    pub fn has(self, nc_type: Type) -> bool {
        self.nc_type(nc_type.number()).is_some()
    }

    /// The type with this number, or `None` if this version has no such type.
    #[must_use]
    pub fn nc_type(self, number: u32) -> Option<Type> {
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        let count = if self == Self::Cdf5 { Type::ALL.len() } else { Type::CLASSIC };
        Type::ALL.get(index).copied().filter(|_| index < count)
    }
}

types! {
    /// The type of values, `nc_type` in the grammar (`spec/cdf.md#types`). Its name is that of CDL.
    pub enum Type: u32;
    /// Signed, 1 byte.
    1: Byte => "byte";
    /// A byte of text.
    2: Char => "char";
    /// Signed, 2 bytes.
    3: Short => "short";
    /// Signed, 4 bytes.
    4: Int => "int";
    /// IEEE 754, 4 bytes.
    5: Float => "float";
    /// IEEE 754, 8 bytes.
    6: Double => "double";
    /// Unsigned, 1 byte; from here on CDF-5 only.
    7: Ubyte => "ubyte";
    /// Unsigned, 2 bytes.
    8: Ushort => "ushort";
    /// Unsigned, 4 bytes.
    9: Uint => "uint";
    /// Signed, 8 bytes.
    10: Int64 => "int64";
    /// Unsigned, 8 bytes.
    11: Uint64 => "uint64";
}

impl Type {
    /// The number of types of CDF-1 and CDF-2.
    const CLASSIC: usize = 6;

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

    /// The value of elements that nobody wrote, unless the variable has the attribute `_FillValue`:
    /// `NC_FILL_BYTE` and the others of netcdf.h, big-endian. Only the first [`size`](Self::size)
    /// bytes count.
    #[must_use]
    pub const fn fill(self) -> [u8; 8] {
        match self {
            Self::Byte => [0x81, 0, 0, 0, 0, 0, 0, 0], // -127
            Self::Char => [0; 8],
            Self::Short => [0x80, 0x01, 0, 0, 0, 0, 0, 0], // -32767
            Self::Int => [0x80, 0, 0, 0x01, 0, 0, 0, 0],   // -2147483647
            // 15 * 2^119
            Self::Float => [0x7c, 0xf0, 0, 0, 0, 0, 0, 0],
            Self::Double => [0x47, 0x9e, 0, 0, 0, 0, 0, 0],
            Self::Ubyte => [0xff, 0, 0, 0, 0, 0, 0, 0],
            Self::Ushort => [0xff, 0xff, 0, 0, 0, 0, 0, 0],
            Self::Uint => [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0],
            Self::Int64 => [0x80, 0, 0, 0, 0, 0, 0, 0x02], // -9223372036854775806
            Self::Uint64 => [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe],
        }
    }
}

/// A list of a header (`spec/cdf.md#lists`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ListKind {
    /// `dim_list`: the dimensions.
    Dims,
    /// `gatt_list`: the attributes of the file.
    Gatts,
    /// `var_list`: the variables.
    Vars,
    /// `vatt_list`: the attributes of a variable.
    Vatts,
}

impl ListKind {
    /// The tag of the list if it is not absent.
    #[must_use]
    pub const fn tag(self) -> u32 {
        match self {
            Self::Dims => 10,
            Self::Vars => 11,
            Self::Gatts | Self::Vatts => 12,
        }
    }

    /// The least bytes of an item.
    pub(super) const fn min_len(self, version: Version) -> u64 {
        let [non_neg, offset] = [version.non_neg_len(), version.offset_len()];
        let attr = non_neg.saturating_mul(2).saturating_add(4);
        match self {
            Self::Dims => non_neg.saturating_mul(2),
            Self::Gatts | Self::Vatts => attr,
            Self::Vars => non_neg.saturating_mul(4).saturating_add(8).saturating_add(offset),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_name_what_has_them_and_fills_are_those_of_netcdf_h() {
        for version in Version::ALL {
            assert_eq!(Version::from_number(version.number()), Some(version));
        }
        for (number, ty) in (1..).zip(Type::ALL) {
            assert_eq!(ty.number(), number);
            assert_eq!(Version::Cdf5.nc_type(number), Some(ty));
            assert_eq!(Version::Cdf2.nc_type(number), Some(ty).filter(|_| number <= 6));
        }
        assert_eq!(Type::Byte.fill()[0], (-127_i8).cast_unsigned());
        assert_eq!(Type::Short.fill()[..2], (-32767_i16).to_be_bytes());
        assert_eq!(Type::Int.fill()[..4], (-2_147_483_647_i32).to_be_bytes());
        assert_eq!(Type::Float.fill()[..4], 9.969_21e36_f32.to_be_bytes());
        assert_eq!(Type::Double.fill(), 9.969_209_968_386_869e36_f64.to_be_bytes());
        assert_eq!(Type::Int64.fill(), (-9_223_372_036_854_775_806_i64).to_be_bytes());
        assert_eq!(Type::Uint64.fill(), 18_446_744_073_709_551_614_u64.to_be_bytes());
        for number in [0, 12, u32::MAX] {
            assert_eq!(Version::Cdf5.nc_type(number), None);
        }
    }
}
