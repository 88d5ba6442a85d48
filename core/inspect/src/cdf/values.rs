//! OwnedValues of every type, and their byte order.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use striae_core::cdf::Type;
use striae_core::endian::ByteOrder;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// A type of values in memory.
///
/// `u8` holds `ubyte` and `char`; every other type of netCDF has one type: `i8` holds `byte`.
///
/// Other crates cannot implement it.
pub trait Element:
    sealed::Sealed + FromBytes + IntoBytes + Immutable + Copy + Default + Send + Sync + 'static
{
    /// Whether values of this type of netCDF have this type in memory.
    fn holds(nc_type: Type) -> bool;
}

mod sealed {
    /// No other types are elements.
    #[allow(unnameable_types, reason = "sealed")]
    pub trait Sealed {}
}

/// Defines [`Element`] and [`OwnedValues`] from a row for each type.
macro_rules! types {
    ($($Variant:ident($T:ty);)+) => {
        /// OwnedValues of one type, in memory.
        #[derive(Debug, Clone, PartialEq)]
        pub enum OwnedValues {
            $(#[doc = concat!("OwnedValues of `", stringify!($T), "`.")] $Variant(Vec<$T>),)+
        }

        impl OwnedValues {
            /// The values in big-endian bytes; incomplete ones at the end are left out.
            #[must_use]
            pub fn from_be(nc_type: Type, bytes: &[u8]) -> Self {
                match nc_type {
                    $(Type::$Variant => {
                        let values = bytes.chunks_exact(size_of::<$T>());
                        let value = |be: &[u8]| Some(<$T>::from_be_bytes(be.try_into().ok()?));
                        Self::$Variant(values.filter_map(value).collect())
                    })+
                }
            }

            /// The type of the values.
            #[must_use]
            pub const fn nc_type(&self) -> Type {
                match self {
                    $(Self::$Variant(_) => Type::$Variant,)+
                }
            }

            /// Each value as text; numbers have as many digits as are needed to tell them apart.
            #[must_use]
            pub fn texts(&self) -> Vec<String> {
                match self {
                    $(Self::$Variant(values) => {
                        values.iter().map(|value| format!("{value:?}")).collect()
                    })+
                }
            }

            /// The number of values.
            #[must_use]
            pub const fn len(&self) -> usize {
                match self {
                    $(Self::$Variant(values) => values.len(),)+
                }
            }

            /// Whether there is no value.
            #[must_use]
            pub const fn is_empty(&self) -> bool {
                self.len() == 0
            }
        }
    };
}

types! {
    Byte(i8);
    Char(u8);
    Short(i16);
    Int(i32);
    Float(f32);
    Double(f64);
    Ubyte(u8);
    Ushort(u16);
    Uint(u32);
    Int64(i64);
    Uint64(u64);
}

macro_rules! elements {
    ($($T:ty: $($Type:ident)|+;)+) => {
        $(
            impl sealed::Sealed for $T {}

            impl Element for $T {
                fn holds(nc_type: Type) -> bool {
                    matches!(nc_type, $(Type::$Type)|+)
                }
            }
        )+
    };
}

elements! {
    i8: Byte;
    u8: Char | Ubyte;
    i16: Short;
    i32: Int;
    f32: Float;
    f64: Double;
    u16: Ushort;
    u32: Uint;
    i64: Int64;
    u64: Uint64;
}

impl OwnedValues {
    /// The text of `char` values; bytes that are not UTF-8 are replaced.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        match self {
            Self::Char(text) => Some(String::from_utf8_lossy(text).into_owned()),
            _ => None,
        }
    }

    /// The values as integers, if they are integers.
    #[must_use]
    pub fn integers(&self) -> Option<Vec<i128>> {
        Some(match self {
            Self::Byte(values) => values.iter().map(|&value| value.into()).collect(),
            Self::Short(values) => values.iter().map(|&value| value.into()).collect(),
            Self::Int(values) => values.iter().map(|&value| value.into()).collect(),
            Self::Ubyte(values) => values.iter().map(|&value| value.into()).collect(),
            Self::Ushort(values) => values.iter().map(|&value| value.into()).collect(),
            Self::Uint(values) => values.iter().map(|&value| value.into()).collect(),
            Self::Int64(values) => values.iter().map(|&value| value.into()).collect(),
            Self::Uint64(values) => values.iter().map(|&value| value.into()).collect(),
            Self::Char(_) | Self::Float(_) | Self::Double(_) => return None,
        })
    }
}

/// Reverses the bytes of each value of `size` bytes.
pub fn swap(bytes: &mut [u8], size: u64) {
    fn each<const N: usize>(bytes: &mut [u8]) {
        for value in bytes.chunks_exact_mut(N) {
            if let Ok(value) = <&mut [u8; N]>::try_from(value) {
                value.reverse();
            }
        }
    }
    match size {
        2 => each::<2>(bytes),
        4 => each::<4>(bytes),
        8 => each::<8>(bytes),
        _ => {}
    }
}

/// Turns big-endian values of `size` bytes into those of this machine, or back.
pub fn to_host(bytes: &mut [u8], size: u64) {
    if ByteOrder::HOST == ByteOrder::Little {
        swap(bytes, size);
    }
}
