//! The header, the commit record and its shadow: what the file is said to be.

use super::finding::FindingKind;
use super::{Failed, Report, read, shadow};
use crate::format::Format;
use crate::gsd::{Stale, wrong_bit};
use crate::posix::PosixFile;
use std::fmt;
use striae_core::field::FieldId;
use striae_core::gsd::create::SHADOW;
use striae_core::gsd::layout::{IndexBlock, NameBlock};
use striae_core::gsd::raw::{self, Commit, Image, IndexEntry};
use striae_core::gsd::record::{OFFSET, Record};
use striae_core::gsd::{Error, Header, Version};
use striae_core::span::Span;
use striae_core::store::usize_to_u64;
use zerocopy::{FromBytes, FromZeros, IntoBytes};

/// How it is known what is in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Basis {
    /// There is no commit record: all slots up to the first empty one count.
    Plain,
    /// The commit record is older than what gsd has appended: as [`Basis::Plain`].
    Appended,
    /// The commit record holds; its number.
    Committed(u32),
    /// Publishing this commit was cut off; the shadow has all of it.
    Torn(u32),
    /// The header is one commit behind this one, which a shadow proves.
    Ahead(u32),
    /// Bytes of the commit record or of what it covers have changed; what is right is guessed.
    Damaged,
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain => f.write_str("no commit record"),
            Self::Appended => f.write_str("appended to by gsd"),
            Self::Committed(number) => write!(f, "commit {number}"),
            Self::Torn(number) => write!(f, "commit {number}, cut off while it was published"),
            Self::Ahead(number) => write!(f, "commit {number}, one ahead of the header"),
            Self::Damaged => f.write_str("commit record damaged"),
        }
    }
}

/// What the header says, or should say.
#[derive(Debug, Clone, Copy)]
pub(in crate::gsd) struct Head {
    pub(in crate::gsd) file_len: u64,
    pub(in crate::gsd) version: Version,
    pub(in crate::gsd) basis: Basis,
    /// The commit record, if it or its shadow is to be believed.
    pub(in crate::gsd) record: Option<Record>,
    /// The index block that all see, as far as it lies in the file.
    pub(in crate::gsd) shown: IndexBlock,
    /// All of it.
    pub(in crate::gsd) index: IndexBlock,
    /// The name list, as far as it lies in the file.
    pub(in crate::gsd) names: NameBlock,
    /// Whether the file ends inside the name list.
    pub(in crate::gsd) are_names_cut: bool,
    /// Slots that the header claims.
    pub(in crate::gsd) allocated: u64,
    /// Bytes of the header's image that are not as they should be, if damage has changed it.
    pub(in crate::gsd) wrong_bytes: usize,
}

/// What the commit record and the shadow come to.
pub(super) struct Said {
    pub(super) basis: Basis,
    pub(super) image: Image,
    pub(super) record: Option<Record>,
}

pub(super) fn check(
    store: &PosixFile,
    file_len: u64,
    report: &mut Report<'_>,
) -> Result<Option<Head>, Failed> {
    let mut bytes = [0; Header::LEN];
    let len = usize::try_from(file_len).unwrap_or(Header::LEN).min(Header::LEN);
    let bytes = bytes.get_mut(..len).unwrap_or_default();
    read(store, 0, bytes)?;
    match Header::parse(bytes, file_len) {
        // Where only a byte of the magic is wrong, the rest is worth a look.
        Err(error @ Error::NotGsd { .. }) if len == Header::LEN => {
            report.wrong(error);
            if Format::of_bytes(bytes) != Some(Format::Gsd) {
                return Ok(None);
            }
        }
        Err(error @ (Error::NotGsd { .. } | Error::Cut { .. })) => {
            report.wrong(error);
            return Ok(None);
        }
        _ => {} // all else is told one by one
    }
    let mut header = raw::Header::new_zeroed();
    header.as_mut_bytes().copy_from_slice(bytes); // all of it: it is not cut
    let mut said = said(store, file_len, &header.image(), report)?;
    let Some(version) = check_version(&said, report) else { return Ok(None) };
    if let Some(record) = said.record {
        if u16::from(record.layer) != version.major {
            said = Said { basis: Basis::Appended, record: None, ..said }; // gsd_upgrade was here
        }
    }
    check_labels(&header, said.record.as_ref(), report);
    let mut head = blocks(&said, version, file_len, report);
    if said.basis == Basis::Damaged {
        head.wrong_bytes = differing(&header.image(), &said.image);
    }
    if let Some(record) = head.record.filter(|record| record.entries < head.shown.slots) {
        // Nobody but gsd uses a slot that it can see and that is not committed.
        let mut entry = IndexEntry::new_zeroed();
        read(store, head.shown.offset_of(record.entries), entry.as_mut_bytes())?;
        if entry.is_used() {
            (head.record, head.basis, head.index) = (None, Basis::Appended, head.shown);
        }
    }
    if head.basis == Basis::Appended {
        report.note(FindingKind::Appended { stale: Stale::in_image(&said.image) });
    }
    report.summary.basis = Some(head.basis);
    report.summary.version = Some(version);
    Ok(Some(head))
}

impl Head {
    /// What the header must have said, whose image this is.
    pub(in crate::gsd) fn of_image(image: &Image, file_len: u64, report: &mut Report<'_>) -> Self {
        let record = image.record(u64::MAX).ok().flatten();
        let said = Said { basis: Basis::Damaged, image: *image, record };
        let version = Version::from_number(image.gsd_version.get());
        Self { wrong_bytes: Image::LEN, ..blocks(&said, version, file_len, report) }
    }
}

fn check_version(said: &Said, report: &mut Report<'_>) -> Option<Version> {
    let gsd_version = said.image.gsd_version.get();
    let version = Version::from_number(gsd_version);
    let (field, offset) = (raw::Header::gsd_version, 44);
    match (version.major, version.minor) {
        (2, 0 | 1) | (1, 0) | (0, 3) => {}
        _ if version.is_readable() => {
            report.unusual(field, offset, version.to_string(), "1.0, 2.0 or 2.1");
        }
        _ => {
            report.wrong(Error::Version { gsd_version });
            // The commit record knows it, too, be it stale.
            let layer = said.record.map_or(said.image.commit.layer, |record| record.layer);
            return Some(Version { major: layer.into(), minor: 0 }).filter(|v| v.is_readable());
        }
    }
    Some(version)
}

fn check_labels(header: &raw::Header, record: Option<&Record>, report: &mut Report<'_>) {
    let labels = [
        (raw::Header::application, 48_u64, &header.application),
        (raw::Header::schema, 112, &header.schema),
    ];
    for (field, offset, bytes) in labels {
        let len = bytes.iter().position(|&byte| byte == 0);
        let Some(len) = len else {
            report.damage(FindingKind::NotTerminated { field, offset });
            continue;
        };
        let (text, rest) = bytes.split_at_checked(len).unwrap_or((bytes, &[]));
        if std::str::from_utf8(text).is_err() {
            report.unusual(field, offset, text.escape_ascii().to_string(), "UTF-8");
        }
        if let Some(at) = rest.iter().position(|&byte| byte != 0) {
            let junk = rest.get(at..).unwrap_or_default();
            let at = offset.saturating_add(usize_to_u64(len.saturating_add(at)));
            report.unusual(field, at, junk.escape_ascii().to_string(), "NULs behind the first");
        }
    }
    if let Some(record) = record {
        let schema_version = header.schema_version.get().to_le_bytes();
        let mut computed = crc32c::crc32c(&schema_version);
        computed = crc32c::crc32c_append(computed, &header.application);
        computed = crc32c::crc32c_append(computed, &header.schema);
        compare(Commit::ident_crc, record.ident_crc, computed, report);
    }
}

/// Reports a checksum of the commit record that is not that of the bytes that it covers.
pub(super) fn compare(field: FieldId, stored: u32, computed: u32, report: &mut Report<'_>) {
    if stored != computed {
        report.wrong(Error::Checksum { field, offset: offset_of(field), stored, computed });
    }
}

/// Where a field of the commit record is.
fn offset_of(field: FieldId) -> u64 {
    OFFSET.saturating_add(field.offset().into())
}

/// Whether the commit record holds; if it does not, whether the shadow says why.
fn said(
    store: &PosixFile,
    file_len: u64,
    image: &Image,
    report: &mut Report<'_>,
) -> Result<Said, Failed> {
    let mut image = *image;
    if !image.has_record() && !has_lost_magic(&mut image, report) {
        return Ok(Said { basis: Basis::Plain, image, record: None });
    }
    // Whether the file is as long as the record says is another question.
    match image.record(u64::MAX) {
        Ok(Some(record)) => {
            return shadow::of_record(store, file_len, (image, record), report);
        }
        Ok(None) => {}
        Err(error) => {
            report.wrong(error);
            return Ok(Said { basis: Basis::Damaged, image, record: None });
        }
    }
    let named = image.commit.shadow.get();
    for both in [named, SHADOW] {
        if let Some(said) = shadow::settle(store, both, file_len, &image, report)? {
            return Ok(said);
        }
    }
    if image.is_moved() {
        return Ok(Said { basis: Basis::Appended, image, record: None });
    }
    if let Some(right) = with_right_bit(&image) {
        report_differing(&image, &right, "as the commit record's checksum says", report);
        let record = right.record(u64::MAX).ok().flatten();
        return Ok(Said { basis: Basis::Damaged, image: right, record });
    }
    let (stored, field) = (image.commit.commit_crc.get(), Commit::commit_crc);
    compare(field, stored, image.commit_crc(crc32c::crc32c_append), report);
    Ok(Said { basis: Basis::Damaged, image, record: None })
}

/// The image whose commit record has the right checksum, if only one bit of it is wrong.
fn with_right_bit(image: &Image) -> Option<Image> {
    let mut bytes = *image.as_bytes().first_chunk::<{ Image::LEN }>()?;
    let stored = image.commit.commit_crc.get();
    let computed = image.commit_crc(crc32c::crc32c_append);
    if (stored ^ computed).is_power_of_two() {
        let mut right = *image;
        right.commit.commit_crc = computed.into(); // it is the checksum itself
        return Some(right);
    }
    // The record covers all but two fields in the middle.
    let (front, rest) = bytes.split_at_mut_checked(32)?;
    let covered = rest.get_mut(8..84)?;
    let mut all = [&*front, &*covered].concat();
    if !wrong_bit::correct(&mut all, stored) {
        return None;
    }
    front.copy_from_slice(all.get(..32)?);
    covered.copy_from_slice(all.get(32..)?);
    Image::read_from_bytes(&bytes).ok()
}

/// Whether `image` has all of a commit record but its magic, and is given that. A writer that was cut
/// off when it adopted a file leaves zeros, or a front of it and zeros: that is none.
fn has_lost_magic(image: &mut Image, report: &mut Report<'_>) -> bool {
    let magic = image.commit.magic;
    if image.commit.as_bytes().iter().all(|&byte| byte == 0) {
        return false;
    }
    let front = magic.iter().zip(&Commit::MAGIC).take_while(|(a, b)| a == b).count();
    let is_unfinished = magic.iter().skip(front).all(|&byte| byte == 0);
    let whole = Image { commit: Commit { magic: Commit::MAGIC, ..image.commit }, ..*image };
    let is_record = matches!(whole.record(u64::MAX), Ok(Some(_)));
    if is_record && !is_unfinished {
        report.damage(FindingKind::Differs {
            field: Commit::magic,
            offset: OFFSET,
            value: u64::from_le_bytes(magic),
            expected: u64::from_le_bytes(Commit::MAGIC),
            by: "as the commit record's checksum says",
        });
        *image = whole;
        return true;
    }
    let text = image.commit.as_bytes().escape_ascii().to_string();
    report.unusual(raw::Header::reserved, OFFSET, text, "zeros or a commit record");
    false
}

/// How many bytes of two images are not the same.
pub(super) fn differing(one: &Image, other: &Image) -> usize {
    one.as_bytes().iter().zip(other.as_bytes()).filter(|(a, b)| a != b).count()
}

/// Reports each field of `image` that is not as it was published.
pub(super) fn report_differing(
    image: &Image,
    published: &Image,
    by: &'static str,
    report: &mut Report<'_>,
) {
    let of_header = raw::Header::FIELDS.iter().filter(|field| (8..48).contains(&field.offset));
    let of_header = of_header.map(|field| (0, field, field.offset.into(), 8_usize));
    let of_record = Commit::FIELDS.iter().map(|field| {
        let table = Commit::magic.table();
        (table, field, OFFSET.saturating_add(field.offset.into()), 136_usize)
    });
    for (table, field, offset, skipped) in of_header.chain(of_record) {
        let at = usize::try_from(offset).unwrap_or(0).saturating_sub(skipped);
        let value = |image: &Image| {
            let bytes = image.as_bytes().get(at..).unwrap_or_default();
            let mut value = [0; 8];
            for (to, from) in value.iter_mut().zip(bytes.iter().take(field.size.into())) {
                *to = *from;
            }
            u64::from_le_bytes(value)
        };
        let (value, expected) = (value(image), value(published));
        if value != expected {
            let field = FieldId::new(table, field.offset);
            report.damage(FindingKind::Differs { field, offset, value, expected, by });
        }
    }
}

/// The blocks that the header names, as far as they lie in the file.
fn blocks(said: &Said, version: Version, file_len: u64, report: &mut Report<'_>) -> Head {
    let Said { basis, image, record } = *said;
    let (mut shown, mut names) = (image.index(), image.name_block());
    let allocated = shown.slots;
    if let Some(record) = record.filter(|record| record.data_end > file_len) {
        let (field, value) = (Commit::data_end, record.data_end);
        report.wrong(Error::TooLarge { field, offset: offset_of(field), value, max: file_len });
    }
    let place = |field, offset, location: u64, len: Option<u64>, report: &mut Report<'_>| {
        let len = len.unwrap_or(u64::MAX);
        if location < 256 {
            let value = i64::try_from(location).unwrap_or(i64::MAX);
            report.wrong(Error::TooSmall { field, offset, value, min: 256 });
        } else if Span::new(location, len).is_none_or(|span| !span.fits(file_len)) {
            report.wrong(Error::Outside { field, start: location, len, file_len });
        }
    };
    let too_few = |field, offset| Error::TooSmall { field, offset, value: 0, min: 1 };
    let (location, slots) = (raw::Header::index_location, raw::Header::index_allocated_entries);
    place(location, 8, shown.location, shown.slots.checked_mul(32), report);
    if shown.slots == 0 {
        report.wrong(too_few(slots, 16));
    }
    let (location, units) =
        (raw::Header::namelist_location, raw::Header::namelist_allocated_entries);
    place(location, 24, names.location, names.units.checked_mul(64), report);
    if names.units == 0 {
        report.wrong(too_few(units, 32));
    }
    let index = match record.map(|record| record.index(shown)) {
        Some(Some(index)) => {
            let max = file_len.saturating_sub(index.location) / 32;
            if index.slots > shown.slots.max(max) {
                let (field, value) = (Commit::index_reserved, index.slots);
                report.wrong(Error::TooLarge { field, offset: offset_of(field), value, max });
            }
            index
        }
        Some(None) => {
            let (field, value) = (Commit::index_reserved, image.commit.index_reserved.get());
            report.wrong(Error::TooLarge { field, offset: offset_of(field), value, max: 0 });
            shown
        }
        None => shown,
    };
    let fitting = |location: u64, len: u64| {
        let room = file_len.saturating_sub(location).checked_div(len).unwrap_or(0);
        if location < 256 { 0 } else { room }
    };
    shown.slots = shown.slots.min(fitting(shown.location, 32));
    let are_names_cut = names.units > fitting(names.location, 64);
    names.units = names.units.min(fitting(names.location, 64));
    let index = IndexBlock { slots: index.slots.min(fitting(index.location, 32)), ..index };
    let wrong_bytes = 0;
    Head {
        file_len,
        version,
        basis,
        record,
        shown,
        index,
        names,
        are_names_cut,
        allocated,
        wrong_bytes,
    }
}
