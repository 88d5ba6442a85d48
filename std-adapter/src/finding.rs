//! What checking a file finds, as values with stable names: for programs, whatever the format.

use std::fmt;
use striae_core::field::Table;

pub use striae_core::field::FieldId;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Unusual, and no reader minds: all that was written can be read.
    Note,
    /// A reader refuses the file or a part of it, or gets something else than was written.
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

/// How much of a file's data was compared with checksums. Its `Display` says so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Coverage {
    /// Bytes of streams, chunks or samples, as far as tables tell.
    pub bytes: u64,
    /// Bytes of these that were compared with a checksum, whatever that came to.
    pub checked: u64,
}

impl Coverage {
    pub(crate) const fn add(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    pub(crate) const fn add_checked(&mut self, bytes: u64) {
        self.checked = self.checked.saturating_add(bytes);
    }

    /// What verifying a file came to, in words: only one whose data were all checked is just sound.
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

/// A value that stands in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// An integer of any field.
    Integer(i128),
    /// Anything else, as text.
    Text(String),
}

/// What a finding says; what does not apply is `None`. Names of kinds and fields do not change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Facts {
    /// What kind of finding it is: `too_large`, `checksum`.
    pub kind: &'static str,
    /// The field as texts name it: `META1.ntasks`.
    pub field: Option<String>,
    /// Where it is in the physical file, or where what is wrong starts.
    pub offset: Option<u64>,
    /// Bytes that are meant from there on.
    pub len: Option<u64>,
    /// The value that stands there.
    pub value: Option<Value>,
    /// The smallest right value.
    pub min: Option<i128>,
    /// The largest right value.
    pub max: Option<i128>,
    /// The only right value.
    pub expected: Option<i128>,
    /// What usually stands there, in words.
    pub usual: Option<String>,
    /// The checksum that stands there.
    pub stored: Option<u32>,
    /// The checksum of the bytes as they are.
    pub computed: Option<u32>,
    /// SION: the task's local rank in the physical file.
    pub task: Option<u32>,
    /// SION: the chunk, from 0.
    pub chunk: Option<u64>,
    /// GSD: the frame, from 0.
    pub frame: Option<u64>,
    /// GSD: index of the chunk's name.
    pub id: Option<u16>,
    /// ffrecord: the sample, from 0.
    pub sample: Option<u64>,
    /// How many there are, if a finding is told once for all.
    pub count: Option<u64>,
}

/// A finding of this kind, and nothing else yet.
pub(crate) fn kind(kind: &'static str) -> Facts {
    Facts { kind, ..Facts::default() }
}

impl Facts {
    /// `tables` are those of the format.
    pub(crate) fn field(mut self, tables: &[&'static Table], field: FieldId, offset: u64) -> Self {
        let name = field.find(tables);
        self.field = name.map(|(table, field)| format!("{}.{}", table.part, field.name));
        self.offset = Some(offset);
        self
    }

    pub(crate) fn value(mut self, value: impl Into<i128>) -> Self {
        self.value = Some(Value::Integer(value.into()));
        self
    }

    pub(crate) fn text(mut self, value: impl Into<String>) -> Self {
        self.value = Some(Value::Text(value.into()));
        self
    }

    pub(crate) const fn span(mut self, offset: u64, len: u64) -> Self {
        (self.offset, self.len) = (Some(offset), Some(len));
        self
    }

    pub(crate) const fn crcs(mut self, stored: u32, computed: u32) -> Self {
        (self.stored, self.computed) = (Some(stored), Some(computed));
        self
    }

    pub(crate) fn min(mut self, min: impl Into<i128>) -> Self {
        self.min = Some(min.into());
        self
    }

    pub(crate) fn max(mut self, max: impl Into<i128>) -> Self {
        self.max = Some(max.into());
        self
    }

    pub(crate) fn expected(mut self, expected: impl Into<i128>) -> Self {
        self.expected = Some(expected.into());
        self
    }
}
