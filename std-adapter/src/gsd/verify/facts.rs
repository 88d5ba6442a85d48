//! What a finding says, as values with stable names: for programs.

use super::{Finding, FindingKind};
use crate::finding::Facts;
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

fn with(mut facts: Facts, set: impl FnOnce(&mut Facts)) -> Facts {
    set(&mut facts);
    facts
}

fn kind(kind: &'static str) -> Facts {
    Facts::of(kind)
}

fn field(name: &'static str, field: FieldId, offset: u64) -> Facts {
    kind(name).field(raw::TABLES, field, offset)
}

fn of_chunk(facts: Facts, frame: u64, id: u16) -> Facts {
    with(facts, |it| {
        it.frame = Some(frame);
        it.id = Some(id);
    })
}

fn of_error(error: &Error) -> Facts {
    match *error {
        Error::NotGsd { magic } => {
            field("not_gsd", raw::Header::magic, 0).text(&magic.escape_ascii().to_string())
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
            with(facts.value(start).max(file_len), |it| {
                it.len = Some(len);
            })
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
            with(facts.value(frame).min(before), |it| {
                it.frame = Some(frame);
            })
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
            with(facts.value(start).max(file_len), |it| {
                it.len = Some(len);
            })
        }
        Entry::Overlap { start, len, .. } => with(facts.value(start), |it| {
            it.len = Some(len);
        }),
        Entry::Extent { n, .. } => facts.value(n),
        Entry::Kind { kind, .. } => facts.value(kind).min(1).max(11),
        Entry::Flags { flags, .. } => facts.value(flags).max(0),
        Entry::Unnamed { id, names, .. } => facts.value(id).max(i64::from(names).saturating_sub(1)),
        Entry::Frame { frame, slots, .. } => {
            with(facts.value(frame).max(slots.saturating_sub(1)), |it| {
                it.frame = Some(frame);
            })
        }
        Entry::Order { frame, before, .. } => with(facts.value(frame).min(before), |it| {
            it.frame = Some(frame);
        }),
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
    let facts = with(kind(name), |it| (it.offset, it.frame) = (Some(offset), Some(frame)));
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
                let facts = facts.text(value);
                with(facts, |it| {
                    it.usual = Some((*usual).to_owned());
                })
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
                with(facts, |it| {
                    it.len = Some(span.len());
                })
            }
            Self::Unused { offset, len, count } => with(kind("unused").span(*offset, *len), |it| {
                it.count = Some(*count);
            }),
            Self::Trailing { offset, len } => kind("trailing").span(*offset, *len),
            Self::Unreadable { .. } => kind("unreadable"),
            Self::Ended { offset } => with(kind("ended"), |it| {
                it.offset = Some(*offset);
            }),
            Self::Hoomd { offset, error } => of_hoomd(*offset, error),
            _ => self.index_facts(),
        }
    }

    fn index_facts(&self) -> Facts {
        let names = raw::NameSlot::name;
        match self {
            Self::Hole { offset, used, .. } => {
                let facts = field("hole", raw::IndexEntry::location, *offset).value(0);
                with(facts, |it| {
                    it.count = Some(*used);
                })
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
                with(facts, |it| {
                    it.frame = Some(*frame);
                    it.count = Some(*count);
                })
            }
            Self::NoRows { offset, count } => {
                let facts = field("no_rows", raw::IndexEntry::n, *offset).value(0);
                with(facts, |it| {
                    it.count = Some(*count);
                })
            }
            Self::EarlyText { offset, count } => {
                let facts = field("early_text", raw::IndexEntry::kind, *offset).value(11);
                with(facts, |it| {
                    it.count = Some(*count);
                })
            }
            Self::NameRepeated { offset, id, .. } => {
                with(field("name_repeated", names, *offset), |it| {
                    it.id = Some(*id);
                })
            }
            Self::NameNotText { offset, id, name } => {
                let facts = field("name_not_text", names, *offset);
                with(facts.text(&name.escape_ascii().to_string()), |it| {
                    it.id = Some(*id);
                })
            }
            Self::NameNotTerminated { offset, id } => {
                with(field("name_not_terminated", names, *offset), |it| {
                    it.id = Some(*id);
                })
            }
            Self::NameJunk { offset, count } => with(field("name_junk", names, *offset), |it| {
                it.count = Some(*count);
            }),
            Self::NamesUnused { offset, id, count } => {
                let facts = field("names_unused", names, *offset);
                with(facts, |it| {
                    it.id = Some(*id);
                    it.count = Some(*count);
                })
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
                with(facts, |it| {
                    it.frame = Some(*frame);
                })
            }
            Self::ChunkUnsealed { frame, id, span } => {
                of_chunk(kind("chunk_unsealed").span(span.offset(), span.len()), *frame, *id)
            }
            Self::FramesUnsealed { frame, count } => {
                let facts = kind("frames_unsealed");
                with(facts, |it| {
                    it.frame = Some(*frame);
                    it.count = Some(*count);
                })
            }
            Self::UnreadableChunk { frame, id, span, .. } => {
                of_chunk(kind("unreadable_chunk").span(span.offset(), span.len()), *frame, *id)
            }
            _ => kind("wrong"),
        }
    }
}
