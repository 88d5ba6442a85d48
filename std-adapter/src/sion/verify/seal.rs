//! The seal: where it is, whether it is that of this file, and whether the tables are as it says.

use super::{Failed, FindingKind, Report, WINDOW, read};
use crate::posix::PosixFile;
use crc32c::crc32c_append;
use std::num::NonZeroU32;
use striae_core::endian::{ByteOrder, I32, I64};
use striae_core::field::FieldId;
use striae_core::sion::raw::{ChunkCrcEntry, CommitFields, SealTrailer};
use striae_core::sion::seal::checksum_of;
use striae_core::sion::{Error, Head, Layout, Meta1, raw};
use striae_core::span::Span;
use zerocopy::{FromZeros, IntoBytes};

/// A trailer, or what is left of one.
#[derive(Debug, Clone, Copy)]
pub(in crate::sion) struct Found {
    /// Where it is.
    pub(in crate::sion) offset: u64,
    /// The table of checksums of chunks in front of it, if it says where that starts.
    pub(in crate::sion) table: Option<Span>,
    pub(super) trailer: SealTrailer,
    pub(super) state: State,
}

/// What a trailer says about the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It is that of the file.
    Current,
    /// It is that of another state of the file.
    Stale,
    /// It is in the right place, and damaged itself.
    Damaged,
    /// It is in the right place, and of a version that is not known.
    Unknown,
    /// It is that of the file, in which this field has another value now.
    Contradicted { field: FieldId, offset: u64, value: i64, sealed: i64 },
}

/// What a seal says, as it stands there.
#[derive(Clone, Copy)]
struct Numbers {
    version: i32,
    ntasks: i32,
    maxchunks: i32,
    start: i64,
    start_of_seal: i64,
}

impl Numbers {
    fn of(trailer: &SealTrailer, order: ByteOrder) -> Self {
        Self {
            version: trailer.seal_version.get(order),
            ntasks: trailer.ntasks.get(order),
            maxchunks: trailer.maxchunks.get(order),
            start: trailer.start_of_varheader.get(order),
            start_of_seal: trailer.start_of_seal.get(order),
        }
    }

    /// The table of checksums.
    fn table(&self) -> Option<Span> {
        let [ntasks, maxchunks] = [self.ntasks, self.maxchunks].map(u64::try_from);
        let entries = ntasks.ok()?.checked_mul(maxchunks.ok()?)?;
        let start = u64::try_from(self.start_of_seal).ok()?;
        Span::of_table(start, entries, ChunkCrcEntry::TABLE.len.into())
    }

    /// META2 and the mapping.
    fn meta2(&self) -> Option<Span> {
        let [start, end] = [self.start, self.start_of_seal].map(u64::try_from);
        let (start, end) = (start.ok()?, end.ok()?);
        Span::new(start, end.checked_sub(start)?)
    }
}

/// Looks for a seal: behind the tables, which end at `end`, and at the end of the file, where one
/// stands that something else of the file contradicts.
pub(in crate::sion) fn look_for_seal(
    store: &PosixFile,
    head: &Head,
    end: u64,
) -> Result<Option<Found>, Failed> {
    let len = u64::from(SealTrailer::TABLE.len);
    let order = head.meta1.order();
    let usual = head.meta2.and_then(|meta2| {
        let entries = u64::from(head.meta1.ntasks()).checked_mul(meta2.maxchunks().into())?;
        Span::of_table(end, entries, ChunkCrcEntry::TABLE.len.into())
    });
    if let Some(table) = usual.filter(|table| fits(table.end(), head)) {
        let trailer = read_trailer(store, table.end())?;
        let own = Numbers::of(&trailer, order);
        let mut found =
            Found { offset: table.end(), table: Some(table), trailer, state: State::Stale };
        let (has_magic, has_crc) = (trailer.magic == SealTrailer::MAGIC, has_crc(&trailer, order));
        if has_magic != has_crc && (has_magic || own.version == SealTrailer::VERSION) {
            found.state = State::Damaged;
            return Ok(Some(found));
        }
        if has_magic && own.version != SealTrailer::VERSION {
            found.state = State::Unknown;
            return Ok(Some(found));
        }
        if has_magic {
            found.table = own.table().filter(|table| table.end() == found.offset);
            found.state = state_of(store, head, &found)?;
            return Ok(Some(found));
        }
    }
    // Nobody knows that a seal must be there, so this one has to be whole.
    let Some(offset) = head.file_len.checked_sub(len) else { return Ok(None) };
    if offset < head.meta1.layout().commit_fields().end() {
        return Ok(None);
    }
    let trailer = read_trailer(store, offset)?;
    let own = Numbers::of(&trailer, order);
    let is_whole = trailer.magic == SealTrailer::MAGIC && has_crc(&trailer, order);
    let table = own.table().filter(|table| table.end() == offset);
    if !is_whole || own.version != SealTrailer::VERSION || table.is_none() {
        return Ok(None); // data may look like a seal, but hardly like one of this place
    }
    let mut found = Found { offset, table, trailer, state: State::Stale };
    found.state = state_of(store, head, &found)?;
    Ok(Some(found))
}

/// Whether a trailer that starts at `offset` ends in the file.
fn fits(offset: u64, head: &Head) -> bool {
    Span::new(offset, SealTrailer::TABLE.len.into()).is_some_and(|span| span.fits(head.file_len))
}

fn read_trailer(store: &PosixFile, offset: u64) -> Result<SealTrailer, Failed> {
    let mut trailer = SealTrailer::new_zeroed();
    read(store, offset, trailer.as_mut_bytes())?;
    Ok(trailer)
}

/// The checksum of the trailer that is in it, and that of its bytes.
fn crc_of(trailer: &SealTrailer, order: ByteOrder) -> (u32, u32) {
    let own = usize::from(SealTrailer::trailer_crc.offset());
    let computed = crc32c_append(0, trailer.as_bytes().get(..own).unwrap_or_default());
    (trailer.trailer_crc.get(order), computed)
}

fn has_crc(trailer: &SealTrailer, order: ByteOrder) -> bool {
    let (stored, computed) = crc_of(trailer, order);
    stored == computed
}

/// What a trailer that is whole says about the file.
fn state_of(store: &PosixFile, head: &Head, found: &Found) -> Result<State, Failed> {
    let meta1 = &head.meta1;
    let own = Numbers::of(&found.trailer, meta1.order());
    if i64::from(own.ntasks) != i64::from(meta1.ntasks()) {
        // Nobody changes ntasks alone, as every table would have to move.
        let field = raw::Meta1::ntasks;
        let (value, sealed) = (meta1.ntasks().into(), own.ntasks.into());
        let contradicted =
            State::Contradicted { field, offset: field.offset().into(), value, sealed };
        let is_alone = is_otherwise_own(store, head, found, &own)?;
        return Ok(if is_alone { contradicted } else { State::Stale });
    }
    let fields = meta1.layout().commit_fields();
    let mut now = CommitFields::new_zeroed();
    if !fields.fits(head.file_len) {
        return Ok(State::Stale);
    }
    read(store, fields.offset(), now.as_mut_bytes())?;
    let maxchunks = now.maxchunks.get(meta1.order());
    let start = now.start_of_varheader.get(meta1.order());
    if (maxchunks, start) == (own.maxchunks, own.start) {
        let end = head.meta2.map_or(u64::MAX, |meta2| meta2.end());
        let is_behind = u64::try_from(own.start_of_seal).is_ok_and(|start| start >= end);
        return Ok(if is_behind && found.table.is_some() { State::Current } else { State::Stale });
    }
    // A later writer leaves a META2 that can be found, and another one if it is in the same place.
    if start != own.start && head.meta2.is_some() {
        return Ok(State::Stale);
    }
    let crc = crc_of_span(store, head, own.meta2())?;
    let is_alone = crc == Some(found.trailer.meta2_crc.get(meta1.order()))
        && (start == own.start || is_otherwise_own(store, head, found, &own)?);
    Ok(match (is_alone, start == own.start) {
        (false, _) => State::Stale,
        (true, true) => {
            let (value, sealed) = (maxchunks.into(), own.maxchunks.into());
            State::Contradicted {
                field: CommitFields::maxchunks,
                offset: fields.offset(),
                value,
                sealed,
            }
        }
        (true, false) => {
            let field = CommitFields::start_of_varheader;
            let offset = fields.offset().saturating_add(field.offset().into());
            State::Contradicted { field, offset, value: start, sealed: own.start }
        }
    })
}

/// Whether META1 is as it was sealed but for the numbers that are also in the trailer.
fn is_otherwise_own(
    store: &PosixFile,
    head: &Head,
    found: &Found,
    own: &Numbers,
) -> Result<bool, Failed> {
    let order = head.meta1.order();
    let count = u32::try_from(own.ntasks).ok().and_then(NonZeroU32::new);
    let Some(ntasks) = count else { return Ok(false) };
    let fields = Layout { ntasks, ..*head.meta1.layout() }.commit_fields();
    let front = usize::from(raw::Meta1::ntasks.offset());
    let behind = u64::from(raw::Meta1::nfiles.offset());
    let rest = fields.offset().checked_sub(behind).and_then(|len| Span::new(behind, len));
    let (Some(rest), true) = (rest, fields.fits(head.file_len)) else { return Ok(false) };
    let mut bytes = [0; Meta1::MAX_LEN];
    let bytes = bytes.get_mut(..front).unwrap_or_default();
    read(store, 0, bytes)?;
    let crc = crc32c_append(0, bytes);
    let crc = crc32c_append(crc, I32::new(own.ntasks, order).as_bytes());
    let crc = crc_from(store, rest, crc)?;
    let crc = crc32c_append(crc, I32::new(own.maxchunks, order).as_bytes());
    let crc = crc32c_append(crc, I64::new(own.start, order).as_bytes());
    Ok(crc == found.trailer.meta1_crc.get(order))
}

/// The checksum of the bytes of `span`; `None` if they are not in the file.
fn crc_of_span(store: &PosixFile, head: &Head, span: Option<Span>) -> Result<Option<u32>, Failed> {
    match span.filter(|span| span.fits(head.file_len)) {
        Some(span) => crc_from(store, span, 0).map(Some),
        None => Ok(None),
    }
}

fn crc_from(store: &PosixFile, span: Span, previous: u32) -> Result<u32, Failed> {
    let len = usize::try_from(span.len()).unwrap_or(usize::MAX).clamp(1, WINDOW);
    checksum_of(&store, span, previous, crc32c_append, &mut vec![0; len])
}

impl Found {
    /// Whether it is that of another state of the file.
    pub(in crate::sion) fn is_stale(&self) -> bool {
        self.state == State::Stale
    }

    /// Entries of a row of its table.
    pub(in crate::sion) fn ntasks(&self, head: &Head) -> NonZeroU32 {
        let own = match self.state {
            State::Stale | State::Contradicted { .. } => {
                self.trailer.ntasks.get(head.meta1.order())
            }
            State::Current | State::Damaged | State::Unknown => 0, // as META1 has it
        };
        let own = u32::try_from(own).ok().and_then(NonZeroU32::new);
        own.unwrap_or(head.meta1.layout().ntasks)
    }

    /// Where the seal ends, if it is one of the file as it is.
    pub(in crate::sion) fn end(&self) -> Option<u64> {
        let end = self.offset.saturating_add(SealTrailer::TABLE.len.into());
        match self.state {
            State::Current | State::Damaged | State::Unknown => Some(end),
            State::Stale | State::Contradicted { .. } => None,
        }
    }

    fn field(&self, field: FieldId) -> u64 {
        self.offset.saturating_add(field.offset().into())
    }
}

/// Reports what the seal says about itself and about the tables. Returns its own table, if what
/// stands there can be trusted.
pub(super) fn check(
    store: &PosixFile,
    head: &Head,
    found: &Found,
    report: &mut Report<'_>,
) -> Result<Option<Span>, Failed> {
    match found.state {
        State::Current => check_tables(store, head, found, report),
        State::Damaged => {
            check_trailer(head, found, report);
            let stored = found.trailer.chunks_crc.get(head.meta1.order());
            let computed = crc_of_span(store, head, found.table)?;
            Ok(found.table.filter(|_| computed == Some(stored)))
        }
        State::Unknown => {
            let field = SealTrailer::seal_version;
            let value = found.trailer.seal_version.get(head.meta1.order());
            report.unusual(field, found.field(field), value, "1, so nothing of it was checked");
            Ok(None)
        }
        State::Stale => {
            report.note(FindingKind::StaleSeal { offset: found.offset });
            Ok(None)
        }
        State::Contradicted { field, offset, value, sealed } => {
            report.damage(FindingKind::NotAsSealed { field, offset, value, sealed });
            Ok(None)
        }
    }
}

/// Says what is wrong with the trailer itself.
fn check_trailer(head: &Head, found: &Found, report: &mut Report<'_>) {
    let (stored, computed) = crc_of(&found.trailer, head.meta1.order());
    if stored != computed {
        let field = SealTrailer::trailer_crc;
        report.wrong(Error::Checksum { field, offset: found.field(field), stored, computed });
    } else {
        let (offset, magic) = (found.field(SealTrailer::magic), found.trailer.magic);
        report.damage(FindingKind::SealMagic { offset, magic });
    }
}

/// Compares META1, META2 with the mapping, and the seal's own table with their checksums.
fn check_tables(
    store: &PosixFile,
    head: &Head,
    found: &Found,
    report: &mut Report<'_>,
) -> Result<Option<Span>, Failed> {
    let (trailer, order) = (&found.trailer, head.meta1.order());
    if trailer.reserved.get(order) != 0 {
        let field = SealTrailer::reserved;
        report.unusual(field, found.field(field), trailer.reserved.get(order), 0);
    }
    let meta1 = Span::new(0, head.meta1.layout().commit_fields().end());
    let meta2 = Numbers::of(trailer, order).meta2();
    let mut is_right = true; // of the last one, in the end
    for (field, stored, span) in [
        (SealTrailer::meta1_crc, trailer.meta1_crc, meta1),
        (SealTrailer::meta2_crc, trailer.meta2_crc, meta2),
        (SealTrailer::chunks_crc, trailer.chunks_crc, found.table),
    ] {
        let (stored, offset) = (stored.get(order), found.field(field));
        let computed = crc_of_span(store, head, span)?.unwrap_or_default();
        is_right = computed == stored;
        if !is_right {
            report.wrong(Error::Checksum { field, offset, stored, computed });
        }
    }
    Ok(found.table.filter(|_| is_right))
}
