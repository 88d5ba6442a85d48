//! Lists every metadata field of a physical file, with its offset, bytes and value.
//!
//! The fields are those of core's tables ([`striae_core::sion::raw`]), which are also in
//! `spec/sion.md`. Lines come in file order: META1, META2, the mapping, a seal. Headers of
//! key-value records come last, task by task, because they are scattered between META1 and META2.
//! Data is not shown.

use super::verify::{Behind, Failed, Fixed, look_behind, look_for_seal, start_field};
use crate::dump::{Each, Line, Lines, WINDOW, name_of};
use crate::subject::Subject;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::num::{NonZeroU32, NonZeroU64};
use striae_core::endian::{ByteOrder, I32, I64, U32, U64};
use striae_core::field::{Field, FieldId, Table};
use striae_core::sion::locate::ChunkSum;
use striae_core::sion::verdict::Verdict;
use striae_core::sion::{
    Error, FormatVersion, Head, KeyvalMode, Listed, Meta1, Meta2, Opened, Physical, raw,
};
use striae_core::span::Span;
use striae_core::step::DriveError;
use zerocopy::FromBytes;

/// Passes every metadata field of a physical file to `each`. The file may be damaged, cut, or not
/// closed; as many fields as possible are found.
///
/// # Errors
/// The reason why no more fields were found, or the first error that a reader of the file would
/// return; an error of the store; an error that `each` returned.
pub fn dump<'a, S: Subject>(store: &'a S, each: &'a mut Each<'a, S>) -> Result<(), Failed<S>> {
    let order = ByteOrder::Little; // until the field is read that says it
    Dump { order, out: Lines::new(store, each)? }.file()?;
    first_refusal(store)
}

/// The first error that a reader of all tasks would return.
fn first_refusal<S: Subject>(store: &S) -> Result<(), Failed<S>> {
    match Physical::open(store, &mut [0; Meta1::MAX_LEN])? {
        Opened::Closed(file) => file.tasks(vec![0; WINDOW])?.try_for_each(|task| {
            task?;
            Ok(())
        }),
        Opened::Unclosed(file) => file.tasks(vec![0; WINDOW]).map(drop),
    }
}

struct Dump<'a, S: Subject> {
    order: ByteOrder,
    out: Lines<'a, S, Error>,
}

impl<S: Subject> Dump<'_, S> {
    fn file(&mut self) -> Result<(), Failed<S>> {
        let fixed = self.fixed()?;
        let refused =
            || fixed.errors.first().map_or(Ok(()), |error| Err(DriveError::Format(*error)));
        let Some(meta1) = fixed.meta1 else { return refused() };
        let layout = meta1.layout();
        let ntasks = u64::from(meta1.ntasks());
        let mut sum = Some(ChunkSum::new(*layout));
        self.table(raw::GlobalrankEntry::TABLE, layout.globalranks().offset(), ntasks, &[])?;
        for task in 0..ntasks {
            let table = raw::ChunksizeEntry::TABLE;
            let entry = layout.chunksizes().entry(task, table.len.into());
            let offset = entry.map_or(u64::MAX, Span::offset);
            self.structure(table, offset, &[task])?;
            let value = self.out.bytes(offset, 8)?;
            let value = I64::read_from_bytes(value).map_or(0, |value| value.get(self.order));
            sum = sum.and_then(|mut sum| sum.add(value).is_ok().then_some(sum));
        }
        let at = layout.commit_fields().offset();
        let commit_fields = self.structure(raw::CommitFields::TABLE, at, &[]);
        if !fixed.is_wrong(raw::Meta1::fsblksize) {
            self.out.derived("first", layout.first_chunk())?;
            sum.map_or(Ok(()), |sum| self.out.derived("globalskip", sum.sum()))?;
        }
        match commit_fields {
            Err(DriveError::Format(Error::Cut { .. })) => return Err(not_closed(&meta1)),
            result => result?,
        }
        let head = self.meta2(&meta1)?;
        self.behind(&head)?;
        refused()?;
        if meta1.keyval() == KeyvalMode::Inline { self.records() } else { Ok(()) }
    }

    /// The fixed part of META1, by its version.
    fn fixed(&mut self) -> Result<Fixed, Failed<S>> {
        self.structure(raw::Ident::TABLE, 0, &[])?;
        let len = usize::try_from(self.out.file_len).unwrap_or(usize::MAX).min(Meta1::MAX_LEN);
        // How long the file is, is seen when the tables are read.
        let fixed = Fixed::parse(self.out.bytes(0, len)?.to_vec(), u64::MAX);
        for error in &fixed.errors {
            use Error::{FormatVersion, NotSion, Sionlib2};
            if matches!(error, NotSion { .. } | Sionlib2 { .. } | FormatVersion { .. }) {
                return Err(DriveError::Format(*error)); // what follows is laid out in another way
            }
        }
        let is_v2 = match (&fixed.meta1, raw::Ident::ref_from_prefix(&fixed.bytes)) {
            (Some(meta1), _) => meta1.fileformat_version() == FormatVersion::V2,
            (None, Ok((ident, _))) => ident.fileformat_version.get(self.order) == 2,
            (None, Err(_)) => false,
        };
        let table = if is_v2 { raw::Meta1V2::TABLE } else { raw::Meta1::TABLE };
        for field in table.fields.iter().filter(|field| structure_of(field).is_none()) {
            self.field(table, field, 0, &[])?;
        }
        Ok(fixed)
    }

    /// META2, as far as the file goes.
    fn meta2(&mut self, meta1: &Meta1) -> Result<Head, Failed<S>> {
        let layout = meta1.layout();
        let bytes = self.out.bytes(layout.commit_fields().offset(), 12)?.to_vec();
        let meta2 = Meta2::parse(&bytes, meta1, self.out.file_len);
        let commit_fields = raw::CommitFields::read_from_bytes(&bytes);
        let (Ok(commit_fields), false) = (commit_fields, matches!(meta2, Ok(None))) else {
            return Err(not_closed(meta1));
        };
        let field = raw::CommitFields::start_of_varheader;
        if let Err(error) = meta2 {
            use Error::{TooLarge, TooSmall};
            match error {
                TooSmall { field: wrong, .. } | TooLarge { field: wrong, .. } if wrong == field => {
                    return Err(DriveError::Format(error));
                }
                _ => {} // some of it is in the file
            }
        }
        let start = u64::try_from(commit_fields.start_of_varheader.get(self.order)).unwrap_or(0);
        let ntasks = u64::from(meta1.ntasks());
        self.table(raw::BlockcountEntry::TABLE, start, ntasks, &[])?;
        let maxchunks = u64::try_from(commit_fields.maxchunks.get(self.order)).unwrap_or(0);
        for chunk in 0..maxchunks {
            // Behind the row of block counts.
            let rows = Span::of_table(start, chunk.saturating_add(1), layout.table_len());
            self.table(
                raw::BlocksizeEntry::TABLE,
                rows.map_or(u64::MAX, Span::end),
                ntasks,
                &[chunk],
            )?;
        }
        Ok(Head {
            file_len: self.out.file_len,
            meta1: *meta1,
            meta2: meta2.map_err(DriveError::Format)?,
        })
    }

    /// The mapping, or the other bytes after META2.
    fn behind(&mut self, head: &Head) -> Result<(), Failed<S>> {
        let Some(meta2) = head.meta2 else { return Ok(()) };
        let behind = look_behind(self.out.store, head)?;
        if !matches!(behind, Behind::Nothing) {
            self.structure(raw::MappingSize::TABLE, meta2.end(), &[])?;
        }
        let entries = meta2.end().saturating_add(raw::MappingSize::TABLE.len.into());
        match behind {
            Behind::Mapping(mapping) => {
                self.table(raw::MappingEntry::TABLE, entries, mapping.len(), &[])?;
            }
            Behind::Wrong(error @ Error::Cut { count, .. }) => {
                self.table(raw::MappingEntry::TABLE, entries, count, &[])?;
                return Err(DriveError::Format(error));
            }
            Behind::Wrong(error) => return Err(DriveError::Format(error)),
            Behind::Size(_) | Behind::Nothing => {}
        }
        let end = behind.end(head);
        let seal = look_for_seal(self.out.store, head, end)?;
        let end = seal.and_then(|seal| seal.end()).unwrap_or(end);
        if let Some(seal) = seal {
            if let Some((table, ntasks)) = seal.table(&head.meta1) {
                self.crcs(table, ntasks)?;
            }
            let trailer = seal.trailer();
            let table =
                trailer.raw_v2().map_or(raw::SealTrailer::TABLE, |_| raw::SealTrailerV2::TABLE);
            self.structure(table, trailer.offset(), &[])?;
            if *seal.verdict() == Verdict::Stale {
                self.out.derived("stale", "the seal is that of an older state of the file")?;
            }
        }
        match self.out.file_len.checked_sub(end).and_then(NonZeroU64::new) {
            Some(len) => self.out.derived("trailing", format_args!("{len} bytes at offset {end}")),
            None => Ok(()),
        }
    }

    /// The checksums of chunks, in rows of `ntasks`.
    fn crcs(&mut self, table: Span, ntasks: NonZeroU32) -> Result<(), Failed<S>> {
        let entry = raw::ChunkCrcEntry::TABLE;
        // Exact: both have at most 32 bits.
        let row_len = u64::from(entry.len).saturating_mul(u64::from(ntasks.get()));
        for chunk in 0..table.len().checked_div(row_len).unwrap_or(0) {
            let row = table.entry(chunk, row_len).unwrap_or(table);
            self.table(entry, row.offset(), ntasks.get().into(), &[chunk])?;
        }
        Ok(())
    }

    /// The headers of all key-value records.
    fn records(&mut self) -> Result<(), Failed<S>> {
        let store = self.out.store;
        let opened = Physical::open(store, &mut [0; Meta1::MAX_LEN])?;
        let Opened::Closed(file) = opened else { return Ok(()) };
        for listed in file.tasks(vec![0; WINDOW])? {
            self.records_of(&file, listed?)?;
        }
        Ok(())
    }

    /// The headers of one task's records. A header is shown even if its value is cut.
    fn records_of(
        &mut self,
        file: &Physical<&S>,
        Listed { task, bytes: total }: Listed,
    ) -> Result<(), Failed<S>> {
        let table = raw::RecordHeader::TABLE;
        let header_len = u64::from(table.len);
        let mut stream = file.stream(task);
        // Positions of the stream.
        let (mut rest, mut record) = (Span::new(0, total).unwrap_or(Span::ZERO), 0u64);
        while !rest.is_empty() {
            let (position, left) = (rest.offset(), rest.len());
            let cut = |len| DriveError::Format(Error::RecordCut { position, len, left });
            if left < header_len {
                return Err(cut(header_len));
            }
            let mut header = [0; size_of::<raw::RecordHeader>()];
            for field in table.fields {
                let place = rest.rest(field.offset.into()).map_or(rest.end(), Span::offset);
                stream.seek_to(place);
                let offset = stream.next_span(1)?.map_or(0, |span| span.offset());
                stream.seek_to(place);
                let bytes = header.get_mut(usize::from(field.offset)..).unwrap_or_default();
                let bytes = bytes.get_mut(..usize::from(field.size)).unwrap_or_default();
                stream.read_all(bytes)?;
                let name = name_of(table, field, &[task.local.into(), record]);
                self.line(field, name, offset, bytes.to_vec(), Some(place))?;
            }
            let header = raw::RecordHeader::read_from_bytes(&header);
            let len = header.map_or(0, |header| header.len.get(self.order));
            let whole = header_len.saturating_add(len);
            rest = rest.rest(whole).ok_or_else(|| cut(whole))?;
            record = record.saturating_add(1);
        }
        Ok(())
    }

    /// `count` consecutive structures. Ends at the end of the file, whatever `count` claims.
    fn table(
        &mut self,
        table: &'static Table,
        offset: u64,
        count: u64,
        index: &[u64],
    ) -> Result<(), Failed<S>> {
        let mut index = index.to_vec();
        for number in 0..count {
            let before = Span::of_table(offset, number, table.len.into());
            index.push(number);
            self.structure(table, before.map_or(u64::MAX, Span::end), &index)?; // is cut
            index.pop();
        }
        Ok(())
    }

    /// The fields of the structure at `base`, including those of nested structures.
    fn structure(
        &mut self,
        table: &'static Table,
        base: u64,
        index: &[u64],
    ) -> Result<(), Failed<S>> {
        for field in table.fields {
            self.field(table, field, base, index)?;
        }
        Ok(())
    }

    fn field(
        &mut self,
        table: &'static Table,
        field: &'static Field,
        base: u64,
        index: &[u64],
    ) -> Result<(), Failed<S>> {
        let offset = base.saturating_add(field.offset.into());
        let place = Span::new(offset, field.size.into());
        if place.is_none_or(|place| !place.fits(self.out.file_len)) {
            let field = id_of(table, field);
            let file_len = self.out.file_len;
            return Err(DriveError::Format(Error::Cut { field, offset, count: 1, file_len }));
        }
        let bytes = self.out.bytes(offset, field.size.into())?.to_vec();
        if let (raw::Ident::endianness, Some(bytes)) = (id_of(table, field), bytes.first_chunk()) {
            [self.order, _] = raw::Ident::orders(*bytes);
        }
        self.line(field, name_of(table, field, index), offset, bytes, None)
    }

    fn line(
        &mut self,
        field: &Field,
        name: String,
        offset: u64,
        mut bytes: Vec<u8>,
        position: Option<u64>,
    ) -> Result<(), Failed<S>> {
        let value = value_of(field, &bytes, self.order);
        if field.name == "filenameprefix" {
            let end = bytes.iter().rposition(|byte| *byte != 0);
            bytes.truncate(end.map_or(0, |end| end.saturating_add(1)));
        }
        let len = field.size.into();
        self.out.line(Line::Field { name, offset, len, bytes, value, position })
    }
}

fn not_closed<E>(meta1: &Meta1) -> DriveError<E, Error> {
    DriveError::Format(Error::NotClosed { offset: start_field(meta1) })
}

/// The nested structure that a field holds, if any.
fn structure_of(field: &Field) -> Option<&'static Table> {
    raw::TABLES.iter().find(|table| table.name == field.ty).copied()
}

fn id_of(table: &Table, field: &Field) -> FieldId {
    let number = (0u8..).zip(raw::TABLES).find(|(_, other)| other.name == table.name);
    FieldId::new(number.map_or(u8::MAX, |(number, _)| number), field.offset)
}

fn value_of(field: &Field, bytes: &[u8], order: ByteOrder) -> String {
    let integer = match field.ty {
        "I32" => I32::read_from_bytes(bytes).ok().map(|value| value.get(order).to_string()),
        "I64" => I64::read_from_bytes(bytes).ok().map(|value| value.get(order).to_string()),
        "U32" => {
            U32::read_from_bytes(bytes).ok().map(|value| format!("{:#010x}", value.get(order)))
        }
        "U64" => U64::read_from_bytes(bytes).ok().map(|value| value.get(order).to_string()),
        _ => None,
    };
    match (integer, field.name, bytes) {
        (Some(integer), ..) => integer,
        (None, "endianness", &[b0, b1, b2, b3]) => {
            let [meta, data] = raw::Ident::orders([b0, b1, b2, b3]);
            format!("{meta}-endian, user data {data}-endian")
        }
        _ => {
            let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
            String::from_utf8_lossy(text).escape_debug().to_string()
        }
    }
}
