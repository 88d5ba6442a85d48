//! What a finding says, as values with stable names: for programs.

use super::{Finding, FindingKind};
use striae_core::field::FieldId;
use striae_core::sion::{Error, raw};

/// A value that stands in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// An integer.
    Integer(i64),
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
    pub min: Option<i64>,
    /// The largest right value.
    pub max: Option<i64>,
    /// The only right value.
    pub expected: Option<i64>,
    /// What usually stands there, in words.
    pub usual: Option<String>,
    /// The checksum that stands there.
    pub stored: Option<u32>,
    /// The checksum of the bytes as they are.
    pub computed: Option<u32>,
    /// The task's local rank in the physical file.
    pub task: Option<u32>,
    /// The chunk, from 0.
    pub chunk: Option<u64>,
}

impl Finding {
    /// What it says, as values.
    #[must_use]
    pub fn facts(&self) -> Facts {
        self.what.facts()
    }
}

fn kind(kind: &'static str) -> Facts {
    Facts { kind, ..Facts::default() }
}

impl Facts {
    fn field(mut self, field: FieldId, offset: u64) -> Self {
        let name = field.find(raw::TABLES);
        self.field = name.map(|(table, field)| format!("{}.{}", table.part, field.name));
        self.offset = Some(offset);
        self
    }

    fn value(mut self, value: impl Into<i64>) -> Self {
        self.value = Some(Value::Integer(value.into()));
        self
    }

    fn text(mut self, value: impl Into<String>) -> Self {
        self.value = Some(Value::Text(value.into()));
        self
    }

    fn chunk(mut self, task: u32, chunk: u64) -> Self {
        (self.task, self.chunk) = (Some(task), Some(chunk));
        self
    }

    fn span(mut self, offset: u64, len: u64) -> Self {
        (self.offset, self.len) = (Some(offset), Some(len));
        self
    }

    const fn crcs(mut self, stored: u32, computed: u32) -> Self {
        (self.stored, self.computed) = (Some(stored), Some(computed));
        self
    }

    const fn min(mut self, min: i64) -> Self {
        self.min = Some(min);
        self
    }

    const fn max(mut self, max: i64) -> Self {
        self.max = Some(max);
        self
    }

    const fn expected(mut self, expected: i64) -> Self {
        self.expected = Some(expected);
        self
    }
}

fn of_error(error: &Error) -> Facts {
    match *error {
        Error::NotSion { magic } => {
            kind("not_sion").field(raw::Ident::magic, 0).text(magic.escape_ascii().to_string())
        }
        Error::Sionlib2 { version } => {
            kind("sionlib2").field(raw::Ident::version, 8).value(version).max(1999)
        }
        Error::FormatVersion { fileformat_version: value } => {
            let field = raw::Ident::fileformat_version;
            kind("format_version").field(field, 16).value(value).min(2).max(5)
        }
        Error::Cut { field, offset, file_len, .. } => {
            let facts = kind("cut").field(field, offset);
            Facts { len: Some(file_len.saturating_sub(offset)), ..facts }
        }
        Error::TooSmall { field, offset, value, min } => {
            kind("too_small").field(field, offset).value(value).min(min)
        }
        Error::TooLarge { field, offset, value, max } => {
            kind("too_large").field(field, offset).value(value).max(max)
        }
        Error::Differs { field, value, expected, .. } => {
            let offset = field.offset().into();
            kind("differs").field(field, offset).value(value).expected(expected)
        }
        Error::RecordCut { .. } => kind("record_cut"),
        Error::NotClosed { offset } => {
            kind("not_closed").field(raw::CommitFields::start_of_varheader, offset).value(0)
        }
        Error::Checksum { field, offset, stored, computed } => {
            kind("checksum").field(field, offset).crcs(stored, computed)
        }
        _ => kind("wrong"),
    }
}

impl FindingKind {
    fn facts(&self) -> Facts {
        match self {
            Self::Wrong(error) => of_error(error),
            Self::Unusual { field, offset, value, usual } => {
                let facts = kind("unusual").field(*field, *offset);
                let facts = match value.parse::<i64>() {
                    Ok(value) => facts.value(value),
                    Err(_) => facts.text(value),
                };
                Facts { usual: Some(usual.clone()), ..facts }
            }
            Self::NotClosed { offset } => of_error(&Error::NotClosed { offset: *offset }),
            Self::Overlap { offset, task, chunk, used, .. } => {
                let facts = kind("overlap").field(raw::BlocksizeEntry::blocksize, *offset);
                facts.value(i64::try_from(used.len()).unwrap_or(i64::MAX)).chunk(*task, *chunk)
            }
            Self::Record { offset, task, .. } => {
                let facts = kind("record_cut").field(raw::RecordHeader::len, *offset);
                Facts { task: Some(*task), ..facts }
            }
            Self::Misled { offset, entry, globalrank, .. } => {
                let expected = i64::try_from(*entry).unwrap_or(i64::MAX);
                let facts = kind("misled").field(raw::MappingEntry::filenumber, *offset);
                facts.value(*globalrank).expected(expected)
            }
            Self::Repeated { globalrank, .. } => {
                let mut facts = kind("repeated").field(raw::GlobalrankEntry::globalrank, 0);
                facts.offset = None; // they are in several places
                facts.value(*globalrank)
            }
            Self::Trailing { offset, len } => kind("trailing").span(*offset, *len),
            Self::Chunk { task, chunk, used, stored, computed } => {
                let facts = kind("chunk_checksum").field(raw::ChunkCrcEntry::crc, 0);
                let facts = facts.span(used.offset(), used.len());
                facts.chunk(*task, *chunk).crcs(*stored, *computed)
            }
            Self::UnreadableChunk { task, chunk, used, .. } => {
                kind("unreadable_chunk").span(used.offset(), used.len()).chunk(*task, *chunk)
            }
            Self::NotAsSealed { field, offset, value, sealed } => {
                kind("not_as_sealed").field(*field, *offset).value(*value).expected(*sealed)
            }
            Self::SealMagic { offset, magic } => {
                let text = magic.escape_ascii().to_string();
                kind("seal_magic").field(raw::SealTrailer::magic, *offset).text(text)
            }
            Self::StaleSeal { offset } => {
                let len = raw::SealTrailer::TABLE.len.into();
                kind("stale_seal").span(*offset, len)
            }
            Self::Missing { first, last } => {
                kind("missing").min((*first).into()).max((*last).into())
            }
            Self::Unreadable { .. } => kind("unreadable"),
            Self::Ended { offset } => Facts { offset: Some(*offset), ..kind("ended") },
            Self::TooManyTasks { ntasks, limit } => {
                let [ntasks, limit] =
                    [*ntasks, *limit].map(|n| i64::try_from(n).unwrap_or(i64::MAX));
                kind("too_many_tasks").value(ntasks).max(limit)
            }
        }
    }
}
