//! A value of the schema of any type, ready to be written.

use crate::element::{Element, raw};
use crate::error::Error;
use crate::schema::{Field, Group, Initial, Kind, Rows};
use crate::values::{Floats, Precision, Quantity, Values};
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::iter;
use striae_core::gsd::ChunkType;
use striae_core::store::usize_to_u64;

/// The values of a [`Field`].
#[derive(Debug, Clone)]
pub(crate) enum Value<'a> {
    /// Integers: their type, and their bytes in a file.
    Integers(ChunkType, Cow<'a, [u8]>),
    Floats(Cow<'a, Floats>),
    Texts(Cow<'a, [String]>),
}

impl Field {
    /// The default value as it is stored in a file, if there is one: type, columns, and the bytes
    /// of one row (or of all rows, if their number is fixed).
    #[must_use]
    pub fn default_row(&self) -> Option<(ChunkType, u32, Vec<u8>)> {
        let (value, m) = Value::of_default(self)?;
        let (kind, row) = value.bytes();
        Some((kind, m, row.into_owned()))
    }
}

impl Value<'static> {
    /// See [`Field::default_row`].
    fn of_default(field: &Field) -> Option<(Self, u32)> {
        let row = match field.default {
            Initial::Values(row) => row,
            Initial::Texts(texts) => {
                let texts: Vec<String> = texts.iter().copied().map(String::from).collect();
                let width = padded(&texts).1;
                return Some((Self::Texts(Cow::Owned(texts)), width));
            }
            Initial::None => return None,
        };
        let value = match field.kind {
            Kind::U8 => Value::integers(&converted::<u8>(row)).into_owned(),
            Kind::U32 | Kind::Tag => Value::integers(&converted::<u32>(row)).into_owned(),
            Kind::U64 => Value::integers(&converted::<u64>(row)).into_owned(),
            Kind::I32 => Value::integers(&converted::<i32>(row)).into_owned(),
            Kind::Float | Kind::F64 | Kind::Text => {
                let row = row.iter().copied().map(f32::from).collect();
                Self::Floats(Cow::Owned(Floats::F32(row)))
            }
        };
        Some((value, field.columns.unwrap_or(1)))
    }
}

/// Converts the numbers to another type that can hold all of them.
fn converted<T: TryFrom<i8>>(row: &[i8]) -> Vec<T> {
    row.iter().filter_map(|&value| T::try_from(value).ok()).collect()
}

impl<'a> Value<'a> {
    pub(crate) fn integers<T: Element>(values: &'a [T]) -> Self {
        Self::Integers(T::KIND, raw(values))
    }

    /// Copies the value into its own memory.
    pub(crate) fn into_owned(self) -> Value<'static> {
        match self {
            Self::Integers(kind, bytes) => Value::Integers(kind, Cow::Owned(bytes.into_owned())),
            Self::Floats(values) => Value::Floats(Cow::Owned(values.into_owned())),
            Self::Texts(texts) => Value::Texts(Cow::Owned(texts.into_owned())),
        }
    }

    /// Converts the numbers to this precision.
    pub(crate) fn of_precision(self, precision: Precision) -> Self {
        match self {
            Self::Floats(values) if values.precision() != precision => {
                Self::Floats(Cow::Owned(values.into_owned().into_precision(precision)))
            }
            value => value,
        }
    }

    /// The type and bytes in a file; texts are [`padded`].
    pub(crate) fn bytes(&self) -> (ChunkType, Cow<'_, [u8]>) {
        match self {
            Self::Integers(kind, bytes) => (*kind, Cow::Borrowed(bytes)),
            Self::Floats(values) => match &**values {
                Floats::F32(values) => (ChunkType::F32, raw(values)),
                Floats::F64(values) => (ChunkType::F64, raw(values)),
            },
            Self::Texts(texts) => (ChunkType::I8, Cow::Owned(padded(texts).0)),
        }
    }

    fn len(&self) -> u64 {
        match self {
            Self::Integers(kind, bytes) => usize_to_u64(bytes.len()) / kind.size(),
            Self::Floats(values) => usize_to_u64(values.len()),
            Self::Texts(texts) => usize_to_u64(texts.len()),
        }
    }

    /// Whether a reader gets the same values, bit for bit.
    pub(crate) fn is_same(&self, other: &Value<'_>) -> bool {
        match (self, other) {
            (Self::Integers(kind, these), Value::Integers(other, those)) => {
                kind == other && these == those
            }
            (Self::Floats(these), Value::Floats(those)) => these.is_same(those),
            (Self::Texts(these), Value::Texts(those)) => these == those,
            _ => false,
        }
    }

    /// Whether these are the default values of a field.
    pub(crate) fn is_default(&self, field: &Field) -> bool {
        match (self, field.default) {
            (Self::Texts(texts), Initial::Texts(default)) => texts.iter().eq(default),
            (Self::Integers(_, bytes), Initial::Values(_)) => {
                let row = field.default_row().map(|(_, _, row)| row).unwrap_or_default();
                bytes.chunks(row.len().max(1)).all(|have| row.starts_with(have))
            }
            (Self::Floats(values), Initial::Values(row)) => {
                let row = row.iter().cycle().map(|&value| f64::from(value).to_bits());
                match &**values {
                    Floats::F32(values) => values
                        .iter()
                        .zip(row)
                        .all(|(&have, want)| f64::from(have).to_bits() == want),
                    Floats::F64(values) => {
                        values.iter().zip(row).all(|(have, want)| have.to_bits() == want)
                    }
                }
            }
            _ => false,
        }
    }

    /// Checks that a chunk of this field can hold the value. `count` gives the number of members of
    /// a group.
    pub(crate) fn check(&self, field: &Field, count: impl Fn(Group) -> u32) -> Result<(), Error> {
        let name = || field.name.as_bytes().into();
        let rows = match field.rows {
            Rows::Fixed(n) => n,
            Rows::Each(group) => count(group).into(),
            Rows::Types | Rows::Sum => return self.check_texts(field),
        };
        let want = rows.saturating_mul(field.columns.unwrap_or(1).into());
        let found = self.len();
        if found == want { Ok(()) } else { Err(Error::Length { name: name(), found, want }) }
    }

    fn check_texts(&self, field: &Field) -> Result<(), Error> {
        let Self::Texts(texts) = self else { return Ok(()) };
        let name = || field.name.as_bytes().into();
        for (number, text) in texts.iter().enumerate() {
            if text.contains('\0') {
                return Err(Error::Nul { name: name(), text: text.clone() });
            }
            // Shapes may be alike, types may not: `types` is what ids are looked up by.
            let is_name = field.name.ends_with("/types");
            if is_name && texts.iter().take(number).any(|before| before == text) {
                return Err(Error::SameType { name: name(), text: text.clone() });
            }
        }
        Ok(())
    }
}

impl Quantity {
    /// Checks that there are `n` rows of `m` values, and that no text would lose its last
    /// character.
    pub(crate) fn check(&self, name: impl Fn() -> Box<[u8]>) -> Result<(), Error> {
        let found = usize_to_u64(self.values.len());
        let want = match &self.values {
            Values::Text(texts) => {
                if let Some(text) = texts.iter().find(|text| text.ends_with('\0')) {
                    return Err(Error::Nul { name: name(), text: text.clone() });
                }
                1
            }
            _ => self.n.checked_mul(self.m.into()).filter(|_| self.m != 0).unwrap_or(u64::MAX),
        };
        if found == want { Ok(()) } else { Err(Error::Length { name: name(), found, want }) }
    }
}

/// Pads texts with NULs to rows of one width, at least one NUL each; returns the bytes and the
/// width. The width is at least two, because gsd's Python package cannot read texts of width one.
pub(crate) fn padded(texts: &[String]) -> (Vec<u8>, u32) {
    let longest = texts.iter().map(String::len).max().unwrap_or(0);
    let width = longest.saturating_add(1).max(2);
    let mut bytes = Vec::new();
    for text in texts {
        bytes.extend_from_slice(text.as_bytes());
        let pad = width.saturating_sub(text.len());
        bytes.extend(iter::repeat_n(0, pad));
    }
    (bytes, u32::try_from(width).unwrap_or(u32::MAX))
}
