//! The state of a file: what its judgement and the counting of its entries lead to.

use crate::gsd::disk::chunk::Limits;
use crate::gsd::disk::header::Header;
use crate::gsd::disk::record::Record;
use crate::gsd::layout::IndexBlock;
use crate::gsd::raw::Image;
use crate::span::Span;
use crate::step::ReadStep;

/// The state of the commit record (`spec/gsd.md#reading-the-commit-record`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum State {
    /// There is no commit record: all slots up to the first empty one are used.
    Plain,
    /// gsd has appended since the commit record was written: as [`State::Plain`].
    Appended,
    /// The commit record is valid.
    Committed(Record),
    /// A commit was interrupted while the header was written. The shadow has the whole header: the
    /// file is read as of this commit.
    Torn(Record),
    /// A commit of one sync was made, and its header was not written or not durable. A shadow has
    /// the header, and all bytes that the commit added are present: the file is read as of this
    /// commit.
    Ahead(Record),
}

crate::texts! {
    /// The basis of the judgement of a file.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[cfg_attr(feature = "defmt", derive(defmt::Format))]
    #[non_exhaustive]
    pub enum Basis;

    /// There is no commit record: all slots up to the first empty one count.
    Plain => "no commit record";
    /// gsd has appended since the commit record was written: as [`Basis::Plain`].
    Appended => "appended to by gsd";
    /// The commit record is valid; the number of its commit.
    Committed(number: u32) => "commit {number}";
    /// This commit was interrupted; the shadow has the whole header.
    Torn(number: u32) => "commit {number}, cut off while it was published";
    /// The header is older, usually by one commit; a shadow proves this commit.
    Ahead(number: u32) => "commit {number}, ahead of the header";
    /// Bytes of the commit record, or bytes that it covers, have changed; the right ones are a
    /// guess.
    Damaged => "commit record damaged";
}

/// A [`State`] without its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::gsd) enum Kind {
    Plain,
    Appended,
    Committed,
    Torn,
    Ahead,
}

impl Kind {
    /// Whether there is a valid commit record.
    pub(in crate::gsd) const fn has_record(self) -> bool {
        matches!(self, Self::Committed | Self::Torn | Self::Ahead)
    }
}

impl State {
    /// This state without its record.
    pub(in crate::gsd) const fn kind(&self) -> Kind {
        match self {
            Self::Plain => Kind::Plain,
            Self::Appended => Kind::Appended,
            Self::Committed(_) => Kind::Committed,
            Self::Torn(_) => Kind::Torn,
            Self::Ahead(_) => Kind::Ahead,
        }
    }

    /// The state of this kind, with the record of an image.
    pub(in crate::gsd) const fn of(kind: Kind, image: &Image) -> Self {
        let record = Record::from_raw(&image.commit);
        match kind {
            Kind::Plain => Self::Plain,
            Kind::Appended => Self::Appended,
            Kind::Committed => Self::Committed(record),
            Kind::Torn => Self::Torn(record),
            Kind::Ahead => Self::Ahead(record),
        }
    }

    /// The valid commit record, if there is one.
    #[must_use]
    pub const fn record(&self) -> Option<&Record> {
        match self {
            Self::Plain | Self::Appended => None,
            Self::Committed(record) | Self::Torn(record) | Self::Ahead(record) => Some(record),
        }
    }
}

/// The head of a file: all metadata whose size does not grow with the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The length of the file in bytes.
    pub file_len: u64,
    /// The header.
    pub header: Header,
    /// The part of the header that commits change; for a torn header, the correct one.
    pub image: Image,
    /// Whether the header is torn. If a later commit exists, whether the header is torn or that of
    /// the commit before the previous one: then the header of the previous one must be written
    /// first, since only the headers of that commit and the next one have a shadow.
    pub is_torn: bool,
    /// The state of the commit record.
    pub state: State,
    /// The number of used index entries.
    pub entries: u64,
    /// The number of names.
    pub names: u32,
    /// The used bytes of the name list.
    pub names_len: u64,
    /// The number of frames, including frames without chunks, except for those at the end.
    pub frames: u64,
}

impl Head {
    /// What is counted.
    pub(in crate::gsd) const fn counted(&self) -> Counted {
        let Self { entries, names, names_len, frames, .. } = *self;
        Counted { entries, names, names_len, frames }
    }

    /// The limits that entries of this file are checked against.
    #[must_use]
    pub const fn limits(&self) -> Limits {
        Limits { file_len: self.file_len, names: self.names }
    }

    /// The used part of the index block.
    #[must_use]
    pub const fn index(&self) -> IndexBlock {
        IndexBlock { location: self.header.index.location, slots: self.entries }
    }

    /// The used part of the name list.
    #[must_use]
    pub const fn name_list(&self) -> Span {
        match Span::new(self.header.names.location, self.names_len) {
            Some(span) => span,
            None => Span::ZERO, // never: it is a part of the name list, which lies in the file
        }
    }
}

/// What is counted in a file, or is in its commit record.
#[derive(Debug, Clone, Copy)]
pub(in crate::gsd) struct Counted {
    pub(in crate::gsd) entries: u64,
    pub(in crate::gsd) names: u32,
    /// The used bytes of the name list.
    pub(in crate::gsd) names_len: u64,
    pub(in crate::gsd) frames: u64,
}

impl Counted {
    pub(in crate::gsd) const NONE: Self = Self { entries: 0, names: 0, names_len: 0, frames: 0 };
}

/// A read of the machine; see [`ReadStep::Read`].
#[derive(Debug, Clone, Copy)]
pub(in crate::gsd) struct Read {
    pub(in crate::gsd) offset: u64,
    pub(in crate::gsd) need: usize,
    pub(in crate::gsd) want: u64,
}

impl Read {
    pub(in crate::gsd) const fn step<T>(self) -> ReadStep<T> {
        ReadStep::Read { offset: self.offset, need: self.need, want: self.want }
    }
}
