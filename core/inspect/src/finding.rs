//! Findings of every format, as values with stable names.
//!
//! The findings of a format are one table, given to the macro `findings`. Each row has a kind, its
//! severity, fields, values and text. The macro makes the enum, its `Display`, its [`Facts`], and
//! the list of [`Kind`]s that the specification prints.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use core::fmt;
use striae_core::field::Table;

pub use striae_core::field::{FieldId, Name as FieldName};

/// How severe a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Unusual, but harmless: all that was written can be read.
    Note,
    /// A reader refuses the file or a part of it, or gets other data than was written.
    Damage,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Note => "note",
            Self::Damage => "damage",
        })
    }
}

/// A kind of finding, as the specification lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kind {
    /// Its name, such as `too_large`; empty if the kind is that of the error inside. Names never
    /// change.
    pub name: &'static str,
    /// The severity of such findings.
    pub severity: Severity,
    /// Its meaning, in lines.
    pub meaning: &'static [&'static str],
}

impl Kind {
    #[doc(hidden)]
    #[must_use]
    pub const fn new(
        name: &'static str,
        severity: Severity,
        meaning: &'static [&'static str],
    ) -> Self {
        Self { name, severity, meaning }
    }
}

/// A finding of any format. `Display` prints it on one line, without file and severity.
///
/// Other crates cannot implement it.
pub trait Found: sealed::Sealed + fmt::Display {
    /// How severe it is.
    fn severity(&self) -> Severity;

    /// The finding as a list of named values.
    fn facts(&self) -> Facts;
}

/// The first damage that a check finds.
///
/// # Errors
/// That of the check.
pub fn first_damage<K: Found, T, E>(
    verify: impl FnOnce(&mut dyn FnMut(K)) -> Result<T, E>,
) -> Result<Option<K>, E> {
    let mut first = None;
    verify(&mut |what: K| {
        if first.is_none() && what.severity() == Severity::Damage {
            first = Some(what);
        }
    })?;
    Ok(first)
}

pub(crate) mod sealed {
    /// No other types are findings.
    #[allow(unnameable_types, reason = "sealed")]
    pub trait Sealed {}
}

/// The amount of a file's data that was compared with checksums.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Coverage {
    /// Bytes of streams, chunks or samples, as stated by the tables.
    pub bytes: u64,
    /// Number of these bytes that were compared with a checksum, whatever the result.
    pub checked: u64,
}

impl Coverage {
    /// Adds `bytes` to the total.
    pub const fn add(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Adds `bytes` to the compared bytes.
    pub const fn add_checked(&mut self, bytes: u64) {
        self.checked = self.checked.saturating_add(bytes);
    }

    /// The result of verifying a file in words: only a file whose data was all compared is called
    /// just sound.
    #[must_use]
    pub const fn verdict(self, damage: u64) -> &'static str {
        match (damage, self.checked) {
            (1.., _) => "damaged",
            (0, checked) if checked >= self.bytes => "sound",
            (0, 0) => "structure sound, data not checked",
            (0, _) => "structure sound, data checked in part",
        }
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} bytes of data compared with checksums", self.checked, self.bytes)
    }
}

/// A value in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// An integer of any field.
    Integer(i128),
    /// Anything else, as text.
    Text(String),
}

/// Defines the values of a finding, each with its name, its type and its meaning.
macro_rules! facts {
    ($($(#[doc = $meaning:literal])+ $name:ident: $type:ty => $value:expr,)*) => {
        /// The values of a finding; a value that does not apply is `None`. Names of kinds and
        /// fields never change.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Facts {
            /// The kind of finding: `too_large`, `checksum`.
            pub kind: &'static str,
            $($(#[doc = $meaning])+ pub $name: Option<$type>,)*
        }

        impl Facts {
            /// Calls `each` with all values that apply except the kind, by name, in the order of
            /// printed lists.
            pub fn each(&self, mut each: impl FnMut(&'static str, Value)) {
                $(if let Some(value) = &self.$name {
                    let to_value: fn(&$type) -> Value = $value;
                    each(stringify!($name), to_value(value));
                })*
            }
        }
    };
}

facts! {
    /// The name of the field, as in messages: `META1.ntasks`.
    field: String => |text| Value::Text(text.clone()),
    /// The offset in the physical file of the field, or of the wrong bytes.
    offset: u64 => |&number| number.into(),
    /// The number of bytes from there that the finding is about.
    len: u64 => |&number| number.into(),
    /// SION: the task's local rank in the physical file.
    task: u32 => |&number| number.into(),
    /// SION: the chunk, from 0.
    chunk: u64 => |&number| number.into(),
    /// GSD: the frame, from 0.
    frame: u64 => |&number| number.into(),
    /// GSD: index of the chunk's name.
    id: u16 => |&number| number.into(),
    /// ffrecord: the sample, from 0.
    sample: u64 => |&number| number.into(),
    /// netCDF: the variable, from 0.
    variable: u64 => |&number| number.into(),
    /// Blob set: the blob in the subfile, from 0.
    blob: u64 => |&number| number.into(),
    /// Decomposition map, blob set: the decomposition, from 1.
    decomposition: u32 => |&number| number.into(),
    /// Decomposition map, blob set: the rank.
    rank: u64 => |&number| number.into(),
    /// Decomposition map, blob set: the request or the element in the list, from 0.
    index: u64 => |&number| number.into(),
    /// Decomposition map: the line of a text map, from 1.
    line: u64 => |&number| number.into(),
    /// The number of cases, if one finding is about several.
    count: u64 => |&number| number.into(),
    /// The value found.
    value: Value => Value::clone,
    /// The smallest allowed value.
    min: i128 => |&number| number.into(),
    /// The largest allowed value.
    max: i128 => |&number| number.into(),
    /// The only allowed value.
    expected: i128 => |&number| number.into(),
    /// The usual value, in words.
    usual: String => |text| Value::Text(text.clone()),
    /// The stored checksum.
    stored: u32 => |&number| number.into(),
    /// The checksum of the present bytes.
    computed: u32 => |&number| number.into(),
}

impl<I: Into<i128>> From<I> for Value {
    fn from(number: I) -> Self {
        Self::Integer(number.into())
    }
}

/// Whether most of the first bytes agree with a format's magic: a file with a damaged magic still
/// belongs to that format.
#[must_use]
pub fn is_mostly(magic: &[u8], bytes: &[u8]) -> bool {
    magic.iter().zip(bytes).filter(|(a, b)| a == b).count() > magic.len() / 2
}

/// A count with its noun: `1 name`, `2 names`.
#[derive(Debug, Clone, Copy)]
pub struct Count(pub u64, pub &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(count, thing) = *self;
        write!(f, "{count} {thing}{}", if count == 1 { "" } else { "s" })
    }
}

impl Facts {
    /// Makes facts of this kind, without values.
    #[must_use]
    pub fn of(kind: &'static str) -> Self {
        Self { kind, ..Self::default() }
    }

    /// Sets the field and its offset. `tables` are those of the format.
    #[must_use]
    pub fn field(self, tables: &'static [&'static Table], field: FieldId, offset: u64) -> Self {
        let name = field.find(tables).map(|_| format!("{}", FieldName(tables, field)));
        Self { field: name, offset: Some(offset), ..self }
    }

    /// Sets the value found.
    #[must_use]
    pub fn value(self, value: impl Into<i128>) -> Self {
        Self { value: Some(Value::Integer(value.into())), ..self }
    }

    /// Sets the value found: a number, or any other text.
    #[must_use]
    pub fn text(self, value: &str) -> Self {
        let value = match value.parse() {
            Ok(number) => Value::Integer(number),
            Err(_) => Value::Text(value.to_owned()),
        };
        Self { value: Some(value), ..self }
    }

    /// Sets the bytes found, as text.
    #[must_use]
    pub fn bytes(self, value: &[u8]) -> Self {
        self.text(&format!("{}", value.escape_ascii()))
    }

    /// Sets the bytes that the finding is about.
    #[must_use]
    pub fn span(self, offset: u64, len: u64) -> Self {
        Self { offset: Some(offset), len: Some(len), ..self }
    }

    /// Sets the stored and the computed checksum.
    #[must_use]
    pub fn crcs(self, stored: u32, computed: u32) -> Self {
        Self { stored: Some(stored), computed: Some(computed), ..self }
    }

    /// Sets the smallest allowed value.
    #[must_use]
    pub fn min(self, min: impl Into<i128>) -> Self {
        Self { min: Some(min.into()), ..self }
    }

    /// Sets the largest allowed value.
    #[must_use]
    pub fn max(self, max: impl Into<i128>) -> Self {
        Self { max: Some(max.into()), ..self }
    }

    /// Sets the only allowed value.
    #[must_use]
    pub fn expected(self, expected: impl Into<i128>) -> Self {
        Self { expected: Some(expected.into()), ..self }
    }

    /// Sets the number of cases that this finding stands for.
    #[must_use]
    pub fn count(self, count: u64) -> Self {
        Self { count: Some(count), ..self }
    }
}

/// Defines the findings of a format, one row each: severity, name of the kind, variant with its
/// fields, its [`Facts`], and its text: that of `write!`, or code with a formatter.
///
/// A row without a kind has the kind of the error inside. Rows after `also` are errors of the core
/// crate, or findings of another table: they name a function that returns their facts, and the list
/// of their kinds; `kinds` is the list for errors in rows without a kind.
///
/// A field whose name says it needs no documentation of its own: `about` of core lists them.
///
/// With `reading` before `also`, there are the rows of a store that fails; fields in braces come
/// before the message.
macro_rules! findings {
    (
        $(#[$meta:meta])*
        pub enum $enum:ident;
        $(
            $(#[doc = $meaning:literal])+
            $severity:ident $($kind:literal)? $variant:ident { $($fields:tt)* }
            |$facts:ident| $says:expr
            $(, |$f:ident| $code:expr)? $(=> $text:literal $(, $arg:expr)*)?;
        )*
        reading $({ $($more:tt)* })?
        also $($rest:tt)*
    ) => {
        $crate::finding::findings! {
            $(#[$meta])*
            pub enum $enum;
            $(
                $(#[doc = $meaning])+
                $severity $($kind)? $variant { $($fields)* }
                |$facts| $says
                $(, |$f| $code)? $(=> $text $(, $arg)*)?;
            )*
            /// The store could not be read.
            Damage "unreadable" Unreadable {
                $($($more)*,)?
                /// The store's message.
                message: alloc::string::String,
            }
            |facts| facts
            => "{message}";
            /// The file became shorter while it was read.
            Damage "ended" Ended {
                /// Offset at which a byte was expected.
                offset: u64,
            }
            |facts| $crate::finding::Facts { offset: Some(*offset), ..facts }
            => "ended at offset {offset} while it was read";
            also $($rest)*
        }
    };
    (
        $(#[$meta:meta])*
        pub enum $enum:ident;
        $(
            $(#[doc = $meaning:literal])+
            $severity:ident $($kind:literal)? $variant:ident {
                $($(#[doc = $about:literal])* $field:ident: $type:ty),* $(,)?
            }
            |$facts:ident| $says:expr
            $(, |$f:ident| $code:expr)? $(=> $text:literal $(, $arg:expr)*)?;
        )*
        also
        $(
            $(#[doc = $other_meaning:literal])+
            $other_severity:ident $other:ident($other_type:ty) $facts_of:path, $kinds:path;
        )*
        $(kinds $more_kinds:path;)*
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $enum {
            $(
                $(#[doc = $meaning])+
                $variant {
                    $(#[doc = striae_core::about!($field $($about)*)] $field: $type),*
                },
            )*
            $(
                $(#[doc = $other_meaning])+
                $other($other_type),
            )*
        }

        impl $enum {
            /// All kinds of finding, a list for each part of the table.
            pub const KINDS: &'static [&'static [$crate::finding::Kind]] = &[
                &[$($crate::finding::Kind::new(
                    concat!($($kind)?),
                    $crate::finding::Severity::$severity,
                    &[$($meaning),+],
                )),*],
                $($kinds,)*
                $($more_kinds,)*
            ];
        }

        impl $crate::finding::sealed::Sealed for $enum {}

        impl $crate::finding::Found for $enum {
            fn severity(&self) -> $crate::finding::Severity {
                match self {
                    $(Self::$variant { .. } => $crate::finding::Severity::$severity,)*
                    $(Self::$other(_) => $crate::finding::Severity::$other_severity,)*
                }
            }

            fn facts(&self) -> $crate::finding::Facts {
                match self {
                    $(
                        #[allow(unused_variables, reason = "values do not tell all that texts do")]
                        Self::$variant { $($field),* } => {
                            let $facts = $crate::finding::Facts::of(concat!($($kind)?));
                            $says
                        }
                    )*
                    $(Self::$other(other) => $facts_of(other),)*
                }
            }
        }

        impl core::fmt::Display for $enum {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self {
                    $(
                        #[allow(unused_variables, reason = "texts do not tell all that values do")]
                        Self::$variant { $($field),* } => {
                            $(write!(f, $text $(, $arg)*))?
                            $({ let $f = f; $code })?
                        }
                    )*
                    $(Self::$other(other) => core::fmt::Display::fmt(other, f),)*
                }
            }
        }
    };
}

/// Defines the [`Facts`] of core's errors, one row each: meaning, kind, variant with its fields,
/// and values. Errors without a row blame the caller and are never found in a file.
macro_rules! error_facts {
    (
        $(#[$meta:meta])*
        $vis:vis fn $name:ident($error:ident), $severity:ident $kinds:ident;
        $(
            $(#[doc = $meaning:literal])+
            $kind:literal $variant:ident { $($field:tt)* } |$facts:ident| $says:expr;
        )*
    ) => {
        $(#[$meta])*
        #[must_use]
        $vis fn $name(error: &$error) -> $crate::finding::Facts {
            match *error {
                $(
                    $error::$variant { $($field)* } => {
                        let $facts = $crate::finding::Facts::of($kind);
                        $says
                    }
                )*
                _ => $crate::finding::Facts::of("wrong"),
            }
        }

        /// The kinds of findings that errors are.
        pub(super) const $kinds: &[$crate::finding::Kind] = &[
            $($crate::finding::Kind::new(
                $kind,
                $crate::finding::Severity::$severity,
                &[$($meaning),+],
            ),)*
        ];
    };
}

#[allow(unused_imports, reason = "without a format nobody uses them")]
pub(crate) use {error_facts, findings};
