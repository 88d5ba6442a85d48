//! What a finding says, as values with stable names: for programs.

use super::{Finding, FindingKind};
use crate::finding::{Facts, kind};
use crate::gsd::hoomd;
use striae_core::field::FieldId;
use striae_core::gsd::check_entry::Finding as Entry;
use striae_core::gsd::record::header_offset;
use striae_core::gsd::{Error, raw};

impl Finding {
    /// What it says, as values.
    #[must_use]
    pub fn facts(&self) -> Facts {
        self.what.facts()
    }
}

fn field(name: &'static str, field: FieldId, offset: u64) -> Facts {
    kind(name).field(raw::TABLES, field, offset)
}

fn of_chunk(facts: Facts, frame: u64, id: u16) -> Facts {
    Facts { frame: Some(frame), id: Some(id), ..facts }
}

fn of_error(error: &Error) -> Facts {
    match *error {
        Error::NotGsd { magic } => {
            field("not_gsd", raw::Header::magic, 0).text(magic.escape_ascii().to_string())
        }
        Error::Version { gsd_version } => {
            field("version", raw::Header::gsd_version, 44).value(gsd_version)
        }
        Error::Cut { file_len } => kind("cut").span(0, file_len),
        Error::Outside { field: at, start, len, file_len } => {
            let facts = match header_offset(at) {
                Some(offset) => field("outside", at, offset),
                None => kind("outside"),
            };
            Facts { len: Some(len), ..facts.value(start).max(file_len) }
        }
        Error::ChunkCut { offset, end, file_len } => {
            field("outside", raw::IndexEntry::location, offset).value(end).max(file_len)
        }
        Error::Shared { bytes, file_len } => kind("shared").value(bytes).max(file_len),
        Error::TooSmall { field: at, offset, value, min } => {
            field("too_small", at, offset).value(value).min(min)
        }
        Error::TooLarge { field: at, offset, value, max } => {
            field("too_large", at, offset).value(value).max(max)
        }
        Error::NoType { offset, kind } => {
            field("no_type", raw::IndexEntry::kind, offset).value(kind).min(1).max(11)
        }
        Error::Extent { offset, n, .. } => field("extent", raw::IndexEntry::n, offset).value(n),
        Error::NotTerminated { offset, value } => {
            let at = raw::NameSlot::name;
            field("names_not_terminated", at, offset).value(value).expected(0)
        }
        Error::Checksum { field: at, offset, stored, computed } => {
            field("checksum", at, offset).crcs(stored, computed)
        }
        Error::NoChecksums { frame, id } => of_chunk(kind("no_checksums"), frame, id),
        Error::Unnamed { offset, id, names } => {
            let max = i64::from(names).saturating_sub(1);
            field("unnamed", raw::IndexEntry::id, offset).value(id).max(max)
        }
        Error::Order { offset, frame, before } => {
            let facts = field("order", raw::IndexEntry::frame, offset);
            Facts { frame: Some(frame), ..facts.value(frame).min(before) }
        }
        _ => kind("wrong"),
    }
}

fn of_entry(finding: &Entry) -> Facts {
    let name = match finding {
        Entry::Location { .. } | Entry::Columns { .. } | Entry::Empty { .. } => "too_small",
        Entry::Outside { .. } => "outside",
        Entry::Extent { .. } => "extent",
        Entry::Kind { .. } => "no_type",
        Entry::Flags { .. } | Entry::Frame { .. } => "too_large",
        Entry::Unnamed { .. } => "unnamed",
        Entry::Order { .. } => "order",
        Entry::Unsorted { .. } => "unsorted",
        Entry::Duplicate { .. } => "repeated",
        Entry::Overlap { .. } => "overlap",
        _ => "entry",
    };
    let facts = field(name, finding.field(), finding.offset());
    match *finding {
        Entry::Location { location, .. } => facts.value(location).min(256),
        Entry::Empty { .. } => facts.value(0).min(256),
        Entry::Columns { .. } => facts.value(0).min(1),
        Entry::Outside { start, len, file_len, .. } => {
            Facts { len: Some(len), ..facts.value(start).max(file_len) }
        }
        Entry::Overlap { start, len, .. } => Facts { len: Some(len), ..facts.value(start) },
        Entry::Extent { n, .. } => facts.value(n),
        Entry::Kind { kind, .. } => facts.value(kind).min(1).max(11),
        Entry::Flags { flags, .. } => facts.value(flags).max(0),
        Entry::Unnamed { id, names, .. } => facts.value(id).max(i64::from(names).saturating_sub(1)),
        Entry::Frame { frame, slots, .. } => {
            Facts { frame: Some(frame), ..facts.value(frame).max(slots.saturating_sub(1)) }
        }
        Entry::Order { frame, before, .. } => {
            Facts { frame: Some(frame), ..facts.value(frame).min(before) }
        }
        Entry::Unsorted { frame, id, before, .. } => {
            let min = u32::from(before).saturating_add(1);
            of_chunk(facts.value(id).min(min), frame, id)
        }
        Entry::Duplicate { frame, id, .. } => of_chunk(facts, frame, id),
        _ => facts,
    }
}

fn of_hoomd(offset: u64, error: &hoomd::Error) -> Facts {
    let (name, frame) = match error {
        hoomd::Error::Type { frame, .. } => ("hoomd_type", *frame),
        hoomd::Error::Shape { frame, .. } => ("hoomd_shape", *frame),
        hoomd::Error::NotText { frame, .. } => ("hoomd_text", *frame),
        hoomd::Error::Late { frame, .. } => ("hoomd_late", *frame),
        hoomd::Error::Number { frame, .. } => ("hoomd_number", *frame),
        hoomd::Error::Dimensions { frame, .. } => ("hoomd_dimensions", *frame),
        _ => ("hoomd", 0),
    };
    let facts = Facts { offset: Some(offset), frame: Some(frame), ..kind(name) };
    match *error {
        hoomd::Error::Shape { found: (n, _), want: (Some(want), _), .. } => {
            facts.value(n).expected(want)
        }
        hoomd::Error::Number { value, end, .. } => facts.value(value).max(end.saturating_sub(1)),
        hoomd::Error::Dimensions { value, .. } => facts.value(value).min(2).max(3),
        _ => facts,
    }
}

impl FindingKind {
    pub(in crate::gsd) fn facts(&self) -> Facts {
        match self {
            Self::Wrong(error) => of_error(error),
            Self::Unusual { field: at, offset, value, usual } => {
                let facts = field("unusual", *at, *offset);
                let facts = match value.parse::<i128>() {
                    Ok(value) => facts.value(value),
                    Err(_) => facts.text(value),
                };
                Facts { usual: Some((*usual).to_owned()), ..facts }
            }
            Self::Differs { field: at, offset, value, expected, .. } => {
                field("differs", *at, *offset).value(*value).expected(*expected)
            }
            Self::NotTerminated { field: at, offset } => field("not_terminated", *at, *offset),
            Self::Torn { .. } => field("torn", raw::Commit::commit_crc, 252),
            Self::Ahead { shown, proven, .. } => {
                field("ahead", raw::Commit::sequence, 224).value(*shown).expected(*proven)
            }
            Self::Unproven { offset, number } => {
                let at = offset.saturating_add(raw::Shadow::new.offset().into());
                field("unproven", raw::Shadow::new, at).value(*number)
            }
            Self::Appended { .. } => field("appended", raw::Commit::magic, 176),
            Self::Overlap { second_span, .. } => {
                kind("overlap").span(second_span.offset(), second_span.len())
            }
            Self::BehindEnd { offset, span, data_end } => {
                let facts = field("behind_end", raw::IndexEntry::location, *offset);
                let facts = facts.value(span.offset()).max(*data_end);
                Facts { len: Some(span.len()), ..facts }
            }
            Self::Unused { offset, len, count } => {
                Facts { count: Some(*count), ..kind("unused").span(*offset, *len) }
            }
            Self::Trailing { offset, len } => kind("trailing").span(*offset, *len),
            Self::Unreadable { .. } => kind("unreadable"),
            Self::Ended { offset } => Facts { offset: Some(*offset), ..kind("ended") },
            Self::Hoomd { offset, error } => of_hoomd(*offset, error),
            _ => self.index_facts(),
        }
    }

    fn index_facts(&self) -> Facts {
        let names = raw::NameSlot::name;
        match self {
            Self::Hole { offset, used, .. } => {
                let facts = field("hole", raw::IndexEntry::location, *offset).value(0);
                Facts { count: Some(*used), ..facts }
            }
            Self::Entry(finding) => of_entry(finding),
            Self::HalfEntry { offset, .. } => {
                field("half_entry", raw::IndexEntry::location, offset.saturating_add(16)).value(0)
            }
            Self::Repeated { offset, frame, id } => {
                of_chunk(field("repeated", raw::IndexEntry::id, *offset), *frame, *id)
            }
            Self::ManyFrames { offset, frame, slots, count } => {
                let facts = field("many_frames", raw::IndexEntry::frame, *offset);
                let facts = facts.value(*frame).max(slots.saturating_sub(1));
                Facts { frame: Some(*frame), count: Some(*count), ..facts }
            }
            Self::NoRows { offset, count } => {
                let facts = field("no_rows", raw::IndexEntry::n, *offset).value(0);
                Facts { count: Some(*count), ..facts }
            }
            Self::EarlyText { offset, count } => {
                let facts = field("early_text", raw::IndexEntry::kind, *offset).value(11);
                Facts { count: Some(*count), ..facts }
            }
            Self::NameRepeated { offset, id, .. } => {
                Facts { id: Some(*id), ..field("name_repeated", names, *offset) }
            }
            Self::NameNotText { offset, id, name } => {
                let facts = field("name_not_text", names, *offset);
                Facts { id: Some(*id), ..facts.text(name.escape_ascii().to_string()) }
            }
            Self::NameNotTerminated { offset, id } => {
                Facts { id: Some(*id), ..field("name_not_terminated", names, *offset) }
            }
            Self::NameJunk { offset, count } => {
                Facts { count: Some(*count), ..field("name_junk", names, *offset) }
            }
            Self::NamesUnused { offset, id, count } => {
                let facts = field("names_unused", names, *offset);
                Facts { id: Some(*id), count: Some(*count), ..facts }
            }
            _ => self.sum_facts(),
        }
    }

    fn sum_facts(&self) -> Facts {
        match self {
            Self::Chunk { frame, id, span, stored, computed } => {
                let facts = field("chunk_checksum", raw::ChecksumRow::crc, span.offset());
                let facts = facts.span(span.offset(), span.len()).crcs(*stored, *computed);
                of_chunk(facts, *frame, *id)
            }
            Self::ChunkLost { offset, frame, id } => {
                let facts = field("chunk_lost", raw::ChecksumRow::id, *offset).value(*id);
                Facts { frame: Some(*frame), ..facts }
            }
            Self::ChunkUnsealed { frame, id, span } => {
                of_chunk(kind("chunk_unsealed").span(span.offset(), span.len()), *frame, *id)
            }
            Self::FramesUnsealed { frame, count } => {
                let facts = kind("frames_unsealed");
                Facts { frame: Some(*frame), count: Some(*count), ..facts }
            }
            Self::UnreadableChunk { frame, id, span, .. } => {
                of_chunk(kind("unreadable_chunk").span(span.offset(), span.len()), *frame, *id)
            }
            _ => kind("wrong"),
        }
    }
}
