//! Values of chunks whose types differ from file to file.

use crate::element::raw;
use crate::source::{Source, read, read_into, read_text};
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use striae_core::gsd::{Chunk, ChunkType};
use striae_core::store::usize_to_u64;
use zerocopy::IntoBytes;

pub use crate::precision::Precision;

/// Numbers of 32 or 64 bits, with the precision of the file.
#[derive(Debug, Clone, PartialEq)]
pub enum Floats {
    /// `float32`.
    F32(Vec<f32>),
    /// `float64`.
    F64(Vec<f64>),
}

impl Floats {
    /// Number of values.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
        }
    }

    /// Whether there are no values.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The precision of the values.
    #[must_use]
    pub const fn precision(&self) -> Precision {
        match self {
            Self::F32(_) => Precision::Single,
            Self::F64(_) => Precision::Double,
        }
    }

    /// One value; 32-bit values are widened without loss.
    #[must_use]
    pub fn get(&self, number: usize) -> Option<f64> {
        match self {
            Self::F32(values) => values.get(number).copied().map(f64::from),
            Self::F64(values) => values.get(number).copied(),
        }
    }

    /// All values; 32-bit values are widened without loss.
    #[must_use]
    pub fn into_f64(self) -> Vec<f64> {
        match self {
            Self::F32(values) => values.into_iter().map(f64::from).collect(),
            Self::F64(values) => values,
        }
    }

    /// All values; 64-bit values are rounded to the nearest.
    #[must_use]
    pub fn into_f32(self) -> Vec<f32> {
        match self {
            Self::F32(values) => values,
            Self::F64(values) => values.into_iter().map(narrow).collect(),
        }
    }

    /// All values, converted to this precision.
    #[must_use]
    pub fn into_precision(self, precision: Precision) -> Self {
        match precision {
            Precision::Single => Self::F32(self.into_f32()),
            Precision::Double => Self::F64(self.into_f64()),
        }
    }

    /// Whether both have the same numbers bit for bit, after 32-bit numbers are widened.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::F32(these), Self::F32(those)) => these.as_bytes() == those.as_bytes(),
            (Self::F64(these), Self::F64(those)) => these.as_bytes() == those.as_bytes(),
            (Self::F32(narrow), Self::F64(wide)) | (Self::F64(wide), Self::F32(narrow)) => {
                let narrow = narrow.iter().map(|&value| f64::from(value).to_bits());
                narrow.eq(wide.iter().map(|value| value.to_bits()))
            }
        }
    }
}

impl From<Vec<f32>> for Floats {
    fn from(values: Vec<f32>) -> Self {
        Self::F32(values)
    }
}

impl From<Vec<f64>> for Floats {
    fn from(values: Vec<f64>) -> Self {
        Self::F64(values)
    }
}

#[allow(clippy::as_conversions, reason = "to the nearest, which nothing else does")]
const fn narrow(value: f64) -> f32 {
    value as f32
}

/// The values of a chunk: `n` rows of `m` values.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantity {
    /// Number of rows; for text, number of bytes.
    pub n: u64,
    /// Number of columns; for text, 1.
    pub m: u32,
    /// All values, row by row.
    pub values: Values,
}

impl Quantity {
    /// Makes rows of `m` values, one row after another.
    #[must_use]
    pub fn rows(values: impl Into<Values>, m: u32) -> Self {
        let values = values.into();
        let len = usize_to_u64(values.len());
        Self { n: len.checked_div(m.into()).unwrap_or(0), m, values }
    }

    /// Makes a text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        let n = usize_to_u64(text.len());
        Self { n, m: 1, values: Values::Text(vec![text]) }
    }

    /// The values of a chunk. A text is one text, whatever the columns of its chunk.
    pub(crate) const fn of(chunk: &Chunk, values: Values) -> Self {
        let (n, m) = match values {
            Values::Text(_) => (chunk.span.len(), 1),
            _ => (chunk.n, chunk.m),
        };
        Self { n, m, values }
    }

    /// Type, rows and columns.
    pub(crate) const fn form(&self) -> (ChunkType, u64, u32) {
        (self.values.kind(), self.n, self.m)
    }
}

macro_rules! values {
    ($($(#[$doc:meta])* $Kind:ident($T:ty),)+) => {
        /// Values of any type.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Values {
            $($(#[$doc])* $Kind(Vec<$T>),)+
            /// `character`: one text per frame, without the NULs at its end.
            Text(Vec<String>),
        }

        impl Values {
            /// The type of the values in a file.
            #[must_use]
            pub const fn kind(&self) -> ChunkType {
                match self {
                    $(Self::$Kind(_) => ChunkType::$Kind,)+
                    Self::Text(_) => ChunkType::Character,
                }
            }

            /// Number of values.
            #[must_use]
            pub const fn len(&self) -> usize {
                match self {
                    $(Self::$Kind(values) => values.len(),)+
                    Self::Text(texts) => texts.len(),
                }
            }

            pub(crate) fn read<F: Source>(file: &F, chunk: &Chunk) -> Result<Self, F::Error> {
                Ok(match chunk.kind {
                    $(ChunkType::$Kind => Self::$Kind(read(file, chunk)?),)+
                    ChunkType::Character => Self::Text(vec![read_text(file, chunk)?]),
                })
            }

            /// This number of copies, one after another; `None` if the memory cannot be allocated.
            pub(crate) fn repeated(&self, times: usize) -> Option<Self> {
                Some(match self {
                    $(Self::$Kind(values) => Self::$Kind(repeated(values, times)?),)+
                    Self::Text(texts) => Self::Text(repeated(texts, times)?),
                })
            }

            /// The bytes in a file, little-endian; of texts, those of the first. An empty text gets
            /// a NUL, because gsd cannot read a text of no bytes.
            #[must_use]
            pub fn bytes(&self) -> Cow<'_, [u8]> {
                match self {
                    $(Self::$Kind(values) => raw(values),)+
                    Self::Text(texts) => match texts.first().filter(|text| !text.is_empty()) {
                        Some(text) => Cow::Borrowed(text.as_bytes()),
                        None => Cow::Borrowed(&[0]),
                    },
                }
            }

            /// Reads the values of a chunk into a part of these values, which have the type of the
            /// chunk.
            pub(crate) fn put<F: Source>(
                &mut self,
                file: &F,
                chunk: &Chunk,
                part: Range<usize>,
            ) -> Result<(), F::Error> {
                match self {
                    $(Self::$Kind(values) => {
                        read_into(file, chunk, values.get_mut(part).unwrap_or_default())
                    })+
                    Self::Text(texts) => {
                        let text = read_text(file, chunk)?;
                        texts.splice(part, [text]);
                        Ok(())
                    }
                }
            }
        }

        $(impl From<Vec<$T>> for Values {
            fn from(values: Vec<$T>) -> Self {
                Self::$Kind(values)
            }
        })+
    };
}

values! {
    /// `uint8`.
    U8(u8),
    /// `uint16`.
    U16(u16),
    /// `uint32`.
    U32(u32),
    /// `uint64`.
    U64(u64),
    /// `int8`.
    I8(i8),
    /// `int16`.
    I16(i16),
    /// `int32`.
    I32(i32),
    /// `int64`.
    I64(i64),
    /// `float32`.
    F32(f32),
    /// `float64`.
    F64(f64),
}

impl Values {
    /// Whether there are no values.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

pub(crate) fn repeated<T: Clone>(values: &[T], times: usize) -> Option<Vec<T>> {
    let len = values.len().checked_mul(times)?;
    let mut all = Vec::new();
    all.try_reserve_exact(len).ok()?;
    for _ in 0..times {
        all.extend_from_slice(values);
    }
    Some(all)
}
