//! What a finding says, as values with stable names: for programs.

use super::{Finding, FindingKind};
use crate::finding::Facts;
use striae_core::field::FieldId;
use striae_core::sion::{Error, raw};

impl Finding {
    /// What it says, as values.
    #[must_use]
    pub fn facts(&self) -> Facts {
        self.what.facts()
    }
}

trait SionFacts {
    fn sion(self, field: FieldId, offset: u64) -> Self;
    fn chunk(self, task: u32, chunk: u64) -> Self;
}

impl SionFacts for Facts {
    fn sion(self, field: FieldId, offset: u64) -> Self {
        self.field(raw::TABLES, field, offset)
    }

    fn chunk(mut self, task: u32, chunk: u64) -> Self {
        (self.task, self.chunk) = (Some(task), Some(chunk));
        self
    }
}

fn with(mut facts: Facts, set: impl FnOnce(&mut Facts)) -> Facts {
    set(&mut facts);
    facts
}

fn kind(kind: &'static str) -> Facts {
    Facts::of(kind)
}

fn of_error(error: &Error) -> Facts {
    match *error {
        Error::NotSion { magic } => {
            kind("not_sion").sion(raw::Ident::magic, 0).text(&magic.escape_ascii().to_string())
        }
        Error::Sionlib2 { version } => {
            kind("sionlib2").sion(raw::Ident::version, 8).value(version).max(1999)
        }
        Error::FormatVersion { fileformat_version: value } => {
            let field = raw::Ident::fileformat_version;
            kind("format_version").sion(field, 16).value(value).min(2).max(5)
        }
        Error::Cut { field, offset, file_len, .. } => {
            let facts = kind("cut").sion(field, offset);
            with(facts, |it| {
                it.len = Some(file_len.saturating_sub(offset));
            })
        }
        Error::TooSmall { field, offset, value, min } => {
            kind("too_small").sion(field, offset).value(value).min(min)
        }
        Error::TooLarge { field, offset, value, max } => {
            kind("too_large").sion(field, offset).value(value).max(max)
        }
        Error::Differs { field, value, expected, .. } => {
            let offset = field.offset().into();
            kind("differs").sion(field, offset).value(value).expected(expected)
        }
        Error::RecordCut { .. } => kind("record_cut"),
        Error::NotClosed { offset } => {
            kind("not_closed").sion(raw::CommitFields::start_of_varheader, offset).value(0)
        }
        Error::Checksum { field, offset, stored, computed } => {
            kind("checksum").sion(field, offset).crcs(stored, computed)
        }
        Error::NotAsSealed { field, offset, value, sealed } => {
            kind("not_as_sealed").sion(field, offset).value(value).expected(sealed)
        }
        Error::SealMagic { offset, magic } => {
            let text = magic.escape_ascii().to_string();
            kind("seal_magic").sion(raw::SealTrailer::magic, offset).text(&text)
        }
        _ => kind("wrong"),
    }
}

impl FindingKind {
    fn facts(&self) -> Facts {
        match self {
            Self::Wrong(error) => of_error(error),
            Self::Unusual { field, offset, value, usual } => {
                let facts = kind("unusual").sion(*field, *offset);
                let mut facts = facts.text(value);
                facts.usual = Some(usual.clone());
                facts
            }
            Self::NotClosed { offset } => of_error(&Error::NotClosed { offset: *offset }),
            Self::Overlap { offset, task, chunk, used, .. } => {
                let facts = kind("overlap").sion(raw::BlocksizeEntry::blocksize, *offset);
                facts.value(used.len()).chunk(*task, *chunk)
            }
            Self::Record { offset, task, .. } => {
                let facts = kind("record_cut").sion(raw::RecordHeader::len, *offset);
                with(facts, |it| {
                    it.task = Some(*task);
                })
            }
            Self::Misled { offset, entry, globalrank, .. } => {
                let facts = kind("misled").sion(raw::MappingEntry::filenumber, *offset);
                facts.value(*globalrank).expected(*entry)
            }
            Self::Repeated { globalrank, .. } => {
                let mut facts = kind("repeated").sion(raw::GlobalrankEntry::globalrank, 0);
                facts.offset = None; // they are in several places
                facts.value(*globalrank)
            }
            Self::Trailing { offset, len } => kind("trailing").span(*offset, *len),
            Self::Chunk { task, chunk, used, stored, computed } => {
                let facts = kind("chunk_checksum").sion(raw::ChunkCrcEntry::crc, 0);
                let facts = facts.span(used.offset(), used.len());
                facts.chunk(*task, *chunk).crcs(*stored, *computed)
            }
            Self::UnreadableChunk { task, chunk, used, .. } => {
                kind("unreadable_chunk").span(used.offset(), used.len()).chunk(*task, *chunk)
            }
            Self::NotAsSealed { field, offset, value, sealed } => {
                let (field, offset) = (*field, *offset);
                of_error(&Error::NotAsSealed { field, offset, value: *value, sealed: *sealed })
            }
            Self::SealMagic { offset, magic } => {
                of_error(&Error::SealMagic { offset: *offset, magic: *magic })
            }
            Self::StaleSeal { offset } => {
                let len = raw::SealTrailer::TABLE.len.into();
                kind("stale_seal").span(*offset, len)
            }
            Self::Missing { first, last } => kind("missing").min(*first).max(*last),
            Self::Unreadable { .. } => kind("unreadable"),
            Self::Ended { offset } => with(kind("ended"), |it| {
                it.offset = Some(*offset);
            }),
            Self::TooManyTasks { ntasks, limit } => {
                kind("too_many_tasks").value(*ntasks).max(*limit)
            }
        }
    }
}
