//! Errors of every format, as tables.
//!
//! The errors of a format are one table, given to the macro `errors`. A row has the party that is
//! to blame, a name, fields, and the text. The macro makes the enum, its `Display`, its [`Party`],
//! and the [`Row`]s that the specification lists.

use core::fmt;

/// Who is to blame for an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Party {
    /// The file breaks its format, or has a part of it that striae does not read.
    File,
    /// The caller asks for what the file, or any file, does not have.
    Caller,
    /// The caller's memory is too small.
    Capacity,
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::File => "file",
            Self::Caller => "caller",
            Self::Capacity => "capacity",
        })
    }
}

/// A row of the table of a format's errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// The name of the variant.
    pub name: &'static str,
    /// Who is to blame.
    pub party: Party,
    /// The names of the variant's values.
    pub fields: &'static [&'static str],
    /// Its meaning, in lines.
    pub meaning: &'static [&'static str],
}

impl Row {
    #[cfg(any(feature = "sion", feature = "gsd", feature = "ffrecord", feature = "cdf"))]
    pub(crate) const fn new(
        name: &'static str,
        party: Party,
        fields: &'static [&'static str],
        meaning: &'static [&'static str],
    ) -> Self {
        Self { name, party, fields, meaning }
    }
}

/// Defines the errors of a format, one row each: the party that is to blame, the variant with its
/// fields, and its text: that of `write!`, or code with a formatter.
///
/// Fields whose names say it need no documentation of their own: `about` lists them.
#[cfg(any(feature = "sion", feature = "gsd", feature = "ffrecord", feature = "cdf"))]
macro_rules! errors {
    (
        $(#[$meta:meta])*
        pub enum $Error:ident;
        $(
            $(#[doc = $meaning:literal])+
            $party:ident $Variant:ident
            $({ $($(#[doc = $about:literal])* $field:ident: $type:ty),+ $(,)? })?
            $(($inner:ident: $inner_type:ty))?
            => $(|$f:ident| $code:block)? $($text:literal $(, $value:expr)*)?;
        )+
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        #[non_exhaustive]
        pub enum $Error {
            $(
                $(#[doc = $meaning])+
                ///
                #[doc = $crate::error::blames!($party)]
                $Variant $({
                    $(#[doc = $crate::about!($field $($about)*)] $field: $type),+
                })? $(($inner_type))?,
            )+
        }

        impl $Error {
            /// All errors, in the order of the enum.
            pub const ROWS: &'static [$crate::error::Row] = &[
                $($crate::error::Row::new(
                    stringify!($Variant),
                    $crate::error::party!($party),
                    &[$($(stringify!($field)),+)? $(stringify!($inner))?],
                    &[$($meaning),+],
                ),)+
            ];

            /// Who is to blame.
            #[must_use]
            pub const fn party(&self) -> $crate::error::Party {
                match self {
                    $(
                        #[allow(unused_variables, reason = "most such have one party")]
                        Self::$Variant { $(0: $inner,)? .. } => {
                            $crate::error::party!($party $(, $inner)?)
                        }
                    )+
                }
            }

            /// Whether the caller is to blame and not the file: for a wrong request or for too
            /// little memory.
            #[must_use]
            pub const fn blames_caller(&self) -> bool {
                !matches!(self.party(), $crate::error::Party::File)
            }
        }

        impl core::fmt::Display for $Error {
            #[allow(clippy::too_many_lines, reason = "a list: the words of each error")]
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match *self {
                    $(
                        #[allow(unused_variables, reason = "texts do not tell all that values do")]
                        Self::$Variant { $($($field),+)? $(0: $inner)? } => {
                            $(write!(f, $text $(, $value)*))?
                            $({ let $f = f; $code })?
                        }
                    )+
                }
            }
        }

        impl core::error::Error for $Error {}
    };
}

/// The [`Party`] of a word; of `inner`, that of the error inside.
#[cfg(any(feature = "sion", feature = "gsd", feature = "ffrecord", feature = "cdf"))]
macro_rules! party {
    (file $(, $inner:ident)?) => {
        $crate::error::Party::File
    };
    (caller $(, $inner:ident)?) => {
        $crate::error::Party::Caller
    };
    (capacity) => {
        $crate::error::Party::Capacity
    };
    (inner) => {
        $crate::error::Party::File
    };
    (inner, $inner:ident) => {
        $inner.party()
    };
}

/// The documentation of a party.
#[cfg(any(feature = "sion", feature = "gsd", feature = "ffrecord", feature = "cdf"))]
macro_rules! blames {
    (file) => {
        "Blames the file."
    };
    (caller) => {
        "Blames the caller."
    };
    (capacity) => {
        "Blames the caller's memory."
    };
    (inner) => {
        "Blames what the error inside blames."
    };
}

/// The documentation of a field of an error, of a finding or of a reason: its own, or that of its
/// name, in all packages of striae.
#[doc(hidden)]
#[macro_export]
macro_rules! about {
    (field) => { "The field." };
    (offset) => { "Its offset in the file, in bytes; of several, that of the first one." };
    (value) => { "The value found." };
    (usual) => { "The usual value." };
    (expected) => { "The right value." };
    (min) => { "The smallest right value." };
    (max) => { "The largest right value." };
    (found) => { "What was found." };
    (want) => { "What must be there; `None` where anything may be." };
    (count) => { "How many there are." };
    (file_len) => { "The length of the file in bytes." };
    (span) => { "Its bytes." };
    (len) => { "The number of its bytes." };
    (bytes) => { "The number of bytes." };
    (stored) => { "The checksum in the file." };
    (computed) => { "The checksum of the bytes as they are now." };
    (error) => { "The error." };
    (kind) => { "The store's kind of error." };
    (message) => { "The store's message." };
    (name) => { "The name." };
    (number) => { "Its number; of several, that of the first one." };
    (item) => { "What it is, in words, with its number." };
    (version) => { "The version." };
    (precision) => { "The precision." };
    (task) => { "The task's local rank." };
    (chunk) => { "The chunk, from 0." };
    (used) => { "The used bytes." };
    (slot) => { "The number of the slot." };
    (frame) => { "The frame; of several, the first one. It may be 0 for all that take from it." };
    (frames) => { "The number of frames." };
    (id) => { "GSD: the id of the name. Blob set, decomposition map: the decomposition, from 1." };
    (blob) => { "The blob, from 0." };
    (of) => { "The request; of several, the first one." };
    (request) => { "The request." };
    (run) => { "Its elements." };
    (rank) => { "The rank." };
    (nprocs) => { "The number of ranks." };
    (globalrank) => { "The global rank." };
    (subfile) => { "The number of the subfile." };
    (nfiles) => { "The number of files of the set." };
    (record) => { "The record." };
    (records) => { "The number of records." };
    (key) => { "The key." };
    (total) => { "The number of elements of the array." };
    ($field:ident $($own:literal)+) => { concat!($($own, "\n"),+) };
}

#[cfg(any(feature = "sion", feature = "gsd", feature = "ffrecord", feature = "cdf"))]
pub(crate) use {blames, errors, party};
