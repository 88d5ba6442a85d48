//! Integers whose byte order is known only at run time.
//!
//! GSD is little-endian and CDF is big-endian; their structures use zerocopy's own types. A SIONlib
//! file has the byte order of the machine that wrote it (`spec/sion.md#byte-orders`), so its
//! integers are stored as bytes and read by `.get(order)`.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The byte order of an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ByteOrder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl ByteOrder {
    /// The byte order of the machine that this code runs on.
    pub const HOST: Self = if cfg!(target_endian = "big") { Self::Big } else { Self::Little };
}

impl core::fmt::Display for ByteOrder {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Little => "little",
            Self::Big => "big",
        })
    }
}

macro_rules! stored_integer {
    ($(#[$doc:meta])* $Name:ident, $int:ty, $len:literal) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
        )]
        #[repr(transparent)]
        pub struct $Name([u8; $len]);

        impl $Name {
            /// Stores `value` in `order`.
            #[must_use]
            pub const fn new(value: $int, order: ByteOrder) -> Self {
                Self(match order {
                    ByteOrder::Little => value.to_le_bytes(),
                    ByteOrder::Big => value.to_be_bytes(),
                })
            }

            /// The value, if the bytes are in `order`.
            #[must_use]
            pub const fn get(self, order: ByteOrder) -> $int {
                match order {
                    ByteOrder::Little => <$int>::from_le_bytes(self.0),
                    ByteOrder::Big => <$int>::from_be_bytes(self.0),
                }
            }
        }

        impl From<[u8; $len]> for $Name {
            fn from(bytes: [u8; $len]) -> Self {
                Self(bytes)
            }
        }

        impl core::fmt::Debug for $Name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, concat!(stringify!($Name), "({:02x?})"), self.0)
            }
        }
    };
}

stored_integer!(
    /// A signed 32-bit integer as stored; read it with the file's byte order.
    I32, i32, 4
);
stored_integer!(
    /// A signed 64-bit integer as stored; read it with the file's byte order.
    I64, i64, 8
);
stored_integer!(
    /// An unsigned 32-bit integer as stored; read it with the file's byte order.
    U32, u32, 4
);
stored_integer!(
    /// An unsigned 64-bit integer as stored; read it with the file's byte order.
    U64, u64, 8
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_orders_are_the_same_on_every_host() {
        let bytes = [1, 2, 3, 4];
        let stored = I32::read_from_bytes(&bytes).unwrap();
        assert_eq!(stored.get(ByteOrder::Little), 0x0403_0201);
        assert_eq!(stored.get(ByteOrder::Big), 0x0102_0304);
        assert_eq!(I32::new(0x0102_0304, ByteOrder::Big).as_bytes(), bytes);
        assert_eq!(
            I64::new(-2, ByteOrder::Little).as_bytes(),
            [254, 255, 255, 255, 255, 255, 255, 255]
        );
        assert_eq!(U64::new(1, ByteOrder::Big).get(ByteOrder::Little), 1 << 56);
    }

    #[test]
    fn host_order_is_the_hosts() {
        let host: [u8; 4] = zerocopy::transmute!(1i32);
        assert_eq!(I32::new(1, ByteOrder::HOST).as_bytes(), host);
    }
}
