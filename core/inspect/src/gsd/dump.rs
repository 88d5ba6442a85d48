//! Lists every metadata field of a GSD file, with its offset, bytes and value.
//!
//! The fields are those of core's tables ([`striae_core::gsd::raw`]), which are also in
//! `spec/gsd.md`. Lines come in this order: header, commit record, shadow, index, name list. Empty
//! slots of the index are not shown; other slots are, even if they do not count. Data is not shown.

use crate::dump::{Each, Line, Lines, WINDOW, name_of};
use crate::subject;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::num::NonZeroU64;
use striae_core::field::Field;
use striae_core::gsd::layout::{IndexBlock, NameBlock};
use striae_core::gsd::open::Open;
use striae_core::gsd::{self as core_gsd, ChunkType, Error, Head, Reader, Version, raw};
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::{ReadAt, usize_to_u64};
use zerocopy::FromBytes;

/// The range of the header that commits change, without the commit record.
const CHANGED: core::ops::Range<u16> = 8..48;

type Failed<S> = subject::Failed<S, Error>;

/// Passes every metadata field of a file to `each`. The file may be damaged or cut; as many fields
/// as possible are found.
///
/// # Errors
/// The reason why no more fields were found; an error of the store; an error that `each` returned.
pub fn dump<'a, S: ReadAt>(store: &'a S, each: &'a mut Each<'a, S>) -> Result<(), Failed<S>> {
    let head = Reader::open(store, &mut [0; Open::WINDOW]).ok().map(|reader| *reader.head());
    Dump { out: Lines::new(store, each)?, head }.file()
}

struct Dump<'a, S: ReadAt> {
    out: Lines<'a, S, Error>,
    /// The head of the file as a reader sees it, if a reader can open it.
    head: Option<Head>,
}

impl<S: ReadAt> Dump<'_, S> {
    fn file(&mut self) -> Result<(), Failed<S>> {
        let header = self.header()?;
        if header.image().has_record() {
            let shadow = header.image().commit.shadow.get();
            for number in 0..2 {
                let offset = raw::Shadow::offset_of(shadow, number);
                let span = Span::new(offset, raw::Shadow::LEN);
                if span.is_some_and(|span| span.fits(self.out.file_len)) {
                    self.shadow(offset, number)?;
                }
            }
        }
        let image = self.head.map_or(header.image(), |head| head.image);
        self.index(image.index())?;
        self.names(image.name_block(), Version::from_number(image.gsd_version.get()))
    }

    /// The header, as far as the file goes, with its commit record.
    fn header(&mut self) -> Result<raw::Header, Failed<S>> {
        use Error::{NotGsd, Version};
        let file_len = self.out.file_len;
        for field in raw::Header::FIELDS {
            let (offset, len) = (field.offset.into(), field.size.into());
            if Span::new(offset, len).is_none_or(|span| !span.fits(file_len)) {
                return Err(DriveError::Format(Error::Cut { file_len }));
            }
            let bytes = self.out.bytes(offset, field.size.into())?;
            match bytes.starts_with(&raw::Commit::MAGIC) && field.name == "reserved" {
                true => self.out.structure(raw::Commit::TABLE, (offset, &[]), value_of)?,
                false => {
                    let name = name_of(raw::Header::TABLE, field, &[]);
                    self.out.field((name, field), offset, value_of)?;
                }
            }
        }
        let bytes = self.out.bytes(0, core_gsd::Header::LEN)?;
        let parsed = core_gsd::Header::parse(bytes, u64::MAX);
        if let Err(error @ (NotGsd { .. } | Version { .. })) = parsed {
            return Err(DriveError::Format(error)); // what follows is laid out in another way
        }
        raw::Header::read_from_bytes(bytes).map_err(|_| DriveError::Ended { offset: 0 })
    }

    /// The two images of the header that the shadow holds, field by field.
    fn shadow(&mut self, base: u64, number: u32) -> Result<(), Failed<S>> {
        let table = raw::Shadow::TABLE;
        for field in table.fields {
            let mut offset = base.saturating_add(field.offset.into());
            if field.ty != "Image" {
                let name = format!("{}[{number}].{}", table.part, field.name);
                self.out.field((name, field), offset, value_of)?;
                continue;
            }
            let changed = raw::Header::FIELDS.iter().filter(|it| CHANGED.contains(&it.offset));
            for part in changed.chain(raw::Commit::FIELDS) {
                let name = format!("{}[{number}].{}.{}", table.part, field.name, part.name);
                self.out.field((name, part), offset, value_of)?;
                offset = offset.saturating_add(part.size.into());
            }
        }
        Ok(())
    }

    /// All slots of the index that are not empty, as far as the file goes.
    fn index(&mut self, shown: IndexBlock) -> Result<(), Failed<S>> {
        let record = self.head.as_ref().and_then(|head| head.state.record());
        let block = record.and_then(|record| record.index(shown)).unwrap_or(shown);
        let table = raw::IndexEntry::TABLE;
        let len = u64::from(table.len);
        for slot in 0..block.slots {
            let offset = block.offset_of(slot);
            if Span::new(offset, len).is_none_or(|span| !span.fits(self.out.file_len)) {
                break; // a reader says so
            }
            if self.out.bytes(offset, table.len.into())?.iter().any(|&byte| byte != 0) {
                self.out.structure(table, (offset, &[slot]), value_of)?;
            }
        }
        match self.head {
            Some(head) => {
                let used = format_args!("{} of {} slots", head.entries, block.slots).to_string();
                self.out.derived("index.used", used)?;
                self.out.derived("frames", head.frames)
            }
            None => Ok(()),
        }
    }

    /// All names up to the first empty one, as far as the file goes.
    fn names(&mut self, block: NameBlock, version: Version) -> Result<(), Failed<S>> {
        let table = raw::NameSlot::TABLE;
        let Some(field) = table.fields.first() else { return Ok(()) };
        let Some(list) = block.span().filter(|list| list.fits(self.out.file_len)) else {
            return Ok(()); // a reader says so
        };
        let mut left = list;
        for id in 0..list.len() {
            let bytes = match version.is_sorted() {
                true => self.packed_name(left)?,
                false => {
                    let len = left.len().min(table.len.into());
                    let len = usize::try_from(len).unwrap_or(usize::MAX);
                    self.out.bytes(left.offset(), len)?.to_vec()
                }
            };
            if bytes.first().is_none_or(|&byte| byte == 0) {
                break;
            }
            let len = usize_to_u64(bytes.len());
            let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
            let (name, value) = (name_of(table, field, &[id]), text_of(text));
            let offset = left.offset();
            self.out.line(Line::Field { name, offset, len, bytes, value, position: None })?;
            let Some(rest) = left.rest(len) else { break };
            left = rest;
        }
        Ok(())
    }

    /// The bytes up to and including a NUL, or all that are left.
    fn packed_name(&mut self, left: Span) -> Result<Vec<u8>, Failed<S>> {
        const PIECE: NonZeroU64 = NonZeroU64::new(256).unwrap();
        const { assert!(WINDOW >= 256) };
        let mut name = Vec::new();
        for piece in left.pieces(PIECE) {
            let len = usize::try_from(piece.len()).unwrap_or(usize::MAX);
            let piece = self.out.bytes(piece.offset(), len)?;
            if let Some(end) = piece.iter().position(|&byte| byte == 0) {
                name.extend_from_slice(piece.get(..=end).unwrap_or_default());
                break;
            }
            name.extend_from_slice(piece);
        }
        Ok(name)
    }
}

fn value_of(field: &Field, bytes: &[u8]) -> String {
    let mut low = [0; 8];
    for (to, from) in low.iter_mut().zip(bytes) {
        *to = *from;
    }
    let number = u64::from_le_bytes(low);
    let half = u32::try_from(number).unwrap_or(0);
    match (field.ty, field.name) {
        ("U64", "magic") => format!("{number:#018x}"),
        ("I64", _) => i64::from_le_bytes(low).to_string(),
        ("U32", "schema_version" | "gsd_version") => Version::from_number(half).to_string(),
        ("U32", "index_crc" | "names_crc" | "ident_crc" | "commit_crc" | "crc") => {
            format!("{number:#010x}")
        }
        ("u8", "kind") => match bytes.first().and_then(|&kind| ChunkType::from_number(kind)) {
            Some(kind) => format!("{number} ({kind})"),
            None => number.to_string(),
        },
        ("U64" | "U32" | "U16" | "u8", _) => number.to_string(),
        _ if bytes.iter().all(|&byte| byte == 0) => "zeros".to_owned(),
        (_, "magic") => bytes.escape_ascii().to_string(),
        _ => text_of(bytes.split(|&byte| byte == 0).next().unwrap_or_default()),
    }
}

fn text_of(bytes: &[u8]) -> String {
    match core::str::from_utf8(bytes) {
        Ok(text) => text.escape_debug().to_string(),
        Err(_) => bytes.escape_ascii().to_string(),
    }
}
