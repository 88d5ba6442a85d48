//! Checks the header, the commit record and its shadows.

use super::{Report, shadow};
use crate::finding::is_mostly;
use crate::gsd::finding::FindingKind;
use crate::gsd::{Failed, Stale};
use crate::subject::{Subject, Sum, read};
use alloc::string::ToString;
use striae_core::field::FieldId;
use striae_core::gsd::layout::{IndexBlock, NameBlock};
use striae_core::gsd::raw::{self, Commit, Header as Raw, Image};
use striae_core::gsd::record::Record;
use striae_core::gsd::verdict::{Basis, Damage, Judge};
use striae_core::gsd::{Error, Header, Version};
use striae_core::integrity::Checksum;
use striae_core::step::drive_read;
use striae_core::store::usize_to_u64;
use zerocopy::{FromZeros, IntoBytes};

/// The header fields as they are, or as they should be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    pub(crate) file_len: u64,
    pub(crate) version: Version,
    pub(crate) basis: Basis,
    /// The commit record, if it or its shadow is sound.
    pub(crate) record: Option<Record>,
    /// The index block that the header shows, as far as it is inside the file.
    pub(crate) shown: IndexBlock,
    /// The whole index block.
    pub(crate) index: IndexBlock,
    /// The name list, as far as it is inside the file.
    pub(crate) names: NameBlock,
    /// Whether the file ends inside the name list.
    pub(crate) are_names_cut: bool,
    /// The number of slots that the header states.
    pub(crate) allocated: u64,
    /// The number of wrong bytes in the header's image, if it was damaged.
    pub(crate) wrong_bytes: usize,
}

/// A header as it is in the file, and the verdict on it.
pub(crate) struct Judged {
    pub(crate) header: raw::Header,
    judge: Judge<true>,
    file_len: u64,
}

impl Judged {
    /// Reads a header with any errors and gets the verdict on it; returns the error if it is not a
    /// header.
    pub(crate) fn read<S: Subject>(
        subject: &S,
        file_len: u64,
    ) -> Result<Result<Self, (Error, raw::Header)>, Failed<S>> {
        let mut header = raw::Header::new_zeroed();
        let len = usize::try_from(file_len).unwrap_or(Header::LEN).min(Header::LEN);
        let bytes = header.as_mut_bytes().get_mut(..len).unwrap_or_default();
        read(subject, 0, bytes)?;
        if let Err(error) = Header::parse(bytes, file_len) {
            // Where only a byte of the magic is wrong, the rest is worth a look.
            let is_nearly = len == Header::LEN
                && is_mostly(&raw::Header::MAGIC.to_le_bytes(), header.as_bytes());
            match error {
                Error::NotGsd { .. } if is_nearly => {}
                Error::NotGsd { .. } | Error::Cut { .. } => return Ok(Err((error, header))),
                _ => {} // all else is told one by one
            }
        }
        let mut judge = Judge::new(&header.image(), file_len);
        let window = &mut [0; Judge::<true>::WINDOW];
        drive_read(&mut judge, subject, window).map_err(|error| error.infallible())?;
        Ok(Ok(Self { header, judge, file_len }))
    }

    /// The version; if it is invalid, the version in the commit record, even a stale one.
    fn version(&self) -> Option<Version> {
        let version = Version::from_number(self.judge.image().gsd_version.get());
        let layer = self.judge.record().map_or(self.judge.image().commit.layer, |it| it.layer);
        [version, Version { major: layer.into(), minor: 0 }]
            .into_iter()
            .find(|version| version.is_readable())
    }

    /// The header fields as they are, or as they should be; `None` if the version is unknown.
    pub(crate) fn head(&self) -> Option<Head> {
        let judge = &self.judge;
        let record = judge.record();
        let mut head = Head::new(judge.image(), record.as_ref(), self.version()?, self.file_len);
        head.basis = judge.basis();
        if head.basis == Basis::Damaged {
            head.wrong_bytes = differing(&self.header.image(), judge.image());
        }
        Some(head)
    }

    /// The stale commit record of a file that gsd has appended to.
    pub(crate) fn stale(&self) -> Option<Commit> {
        (self.judge.basis() == Basis::Appended).then_some(self.judge.image().commit)
    }
}

impl Head {
    /// The header fields from this image.
    pub(crate) fn of_image(image: &Image, file_len: u64) -> Self {
        let record = image.record(u64::MAX).ok().flatten();
        let version = Version::from_number(image.gsd_version.get());
        let head = Self::new(image, record.as_ref(), version, file_len);
        Self { wrong_bytes: Image::LEN, ..head }
    }

    /// The blocks that an image names, as far as they are inside the file.
    fn new(image: &Image, record: Option<&Record>, version: Version, file_len: u64) -> Self {
        let fitting = |location: u64, len: u64| {
            let room = file_len.saturating_sub(location).checked_div(len).unwrap_or(0);
            if location < 256 { 0 } else { room }
        };
        let (mut shown, mut names) = (image.index(), image.name_block());
        let allocated = shown.slots;
        let mut index = record.and_then(|record| record.index(shown)).unwrap_or(shown);
        shown.slots = shown.slots.min(fitting(shown.location, 32));
        index.slots = index.slots.min(fitting(index.location, 32));
        let are_names_cut = names.units > fitting(names.location, 64);
        names.units = names.units.min(fitting(names.location, 64));
        let (basis, record, wrong_bytes) = (Basis::Damaged, record.copied(), 0);
        Self {
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
}

pub(super) fn check<S: Subject>(
    subject: &S,
    file_len: u64,
    report: &mut Report<'_>,
) -> Result<Option<Head>, Failed<S>> {
    let judged = match Judged::read(subject, file_len)? {
        Ok(judged) => judged,
        Err((error, _)) => {
            report.wrong(error);
            return Ok(None);
        }
    };
    if let Err(error @ Error::NotGsd { .. }) = Header::parse(judged.header.as_bytes(), file_len) {
        report.wrong(error);
    }
    let found = check_record(&judged, report);
    shadow::check(subject, (file_len, &found), &judged.judge, report)?;
    check_version(&judged, report);
    let Some(head) = judged.head() else { return Ok(None) };
    // Nobody but gsd_upgrade changes the layer.
    let own = found.record(u64::MAX).ok().flatten();
    let own = own.filter(|record| u16::from(record.layer) == head.version.major);
    let record = head.record.or(own);
    check_labels(&judged.header, record.as_ref(), subject.checksum(Sum::Crc32c), report);
    check_blocks(judged.judge.image(), &head, report);
    if head.basis == Basis::Appended {
        let stale = Stale::in_image(judged.judge.image());
        report.add(FindingKind::Appended { stale });
    }
    report.summary.basis = Some(head.basis);
    report.summary.version = Some(head.version);
    Ok(Some(head))
}

/// Reports errors of the commit record; returns the image that was checked.
fn check_record(judged: &Judged, report: &mut Report<'_>) -> Image {
    let (judge, mut found) = (&judged.judge, judged.header.image());
    if judge.has_lost_magic() {
        report.add(FindingKind::Differs {
            field: Commit::magic,
            offset: Commit::OFFSET,
            value: u64::from_le_bytes(found.commit.magic),
            expected: u64::from_le_bytes(Commit::MAGIC),
            by: "as the commit record's checksum says",
        });
        found.commit.magic = Commit::MAGIC;
    } else if !found.has_record() && found.commit.as_bytes().iter().any(|&byte| byte != 0) {
        let text = found.commit.as_bytes().escape_ascii().to_string();
        report.unusual(raw::Header::reserved, Commit::OFFSET, text, "zeros or a commit record");
    }
    match judge.torn() {
        Some(true) => report.add(FindingKind::TornBehind {}),
        Some(false) => report.add(FindingKind::Torn {}),
        None => {}
    }
    match (judge.damage(), judge.restored()) {
        (Some(Damage::Error(error)), _) => report.wrong(error),
        (Some(Damage::Bit), Some(right)) => {
            report_differing(&found, right, "as the commit record's checksum says", report);
        }
        (_, Some(right)) => report_differing(&found, right, "as the shadow says", report),
        _ => {}
    }
    found
}

fn check_version(judged: &Judged, report: &mut Report<'_>) {
    let gsd_version = judged.judge.image().gsd_version.get();
    let version = Version::from_number(gsd_version);
    match (version.major, version.minor) {
        (2, 0 | 1) | (1, 0) | (0, 3) => {}
        _ if version.is_readable() => {
            let text = version.to_string();
            report.unusual(raw::Header::gsd_version, 44, text, "1.0, 2.0 or 2.1");
        }
        _ => report.wrong(Error::Version { gsd_version }),
    }
}

fn check_labels(
    header: &raw::Header,
    record: Option<&Record>,
    checksum: Checksum,
    report: &mut Report<'_>,
) {
    let labels = [
        (raw::Header::application, 48_u64, &header.application),
        (raw::Header::schema, 112, &header.schema),
    ];
    for (field, offset, bytes) in labels {
        let len = bytes.iter().position(|&byte| byte == 0);
        let Some(len) = len else {
            report.add(FindingKind::NotTerminated { field, offset });
            continue;
        };
        let (text, rest) = bytes.split_at_checked(len).unwrap_or((bytes, &[]));
        if core::str::from_utf8(text).is_err() {
            report.unusual(field, offset, text.escape_ascii().to_string(), "UTF-8");
        }
        if let Some(at) = rest.iter().position(|&byte| byte != 0) {
            let junk = rest.get(at..).unwrap_or_default();
            let at = offset.saturating_add(usize_to_u64(len.saturating_add(at)));
            report.unusual(field, at, junk.escape_ascii().to_string(), "NULs behind the first");
        }
    }
    if let Some(record) = record {
        compare(Commit::ident_crc, record.ident_crc, header.ident_crc(checksum), report);
    }
}

/// Reports a checksum of the commit record that differs from the checksum of the bytes it covers.
pub(super) fn compare(field: FieldId, stored: u32, computed: u32, report: &mut Report<'_>) {
    if stored != computed {
        report.wrong(Error::Checksum { field, offset: offset_of(field), stored, computed });
    }
}

/// The offset of a field of the commit record.
fn offset_of(field: FieldId) -> u64 {
    Commit::OFFSET.saturating_add(field.offset().into())
}

/// The number of bytes in which two images differ.
fn differing(one: &Image, other: &Image) -> usize {
    one.as_bytes().iter().zip(other.as_bytes()).filter(|(a, b)| a != b).count()
}

/// Reports each field of `image` that differs from the published image.
fn report_differing(image: &Image, published: &Image, by: &'static str, report: &mut Report<'_>) {
    let of_header = raw::Header::FIELDS.iter().filter(|field| (8..48).contains(&field.offset));
    let of_header = of_header.map(|field| (0, field, field.offset.into(), 8_usize));
    let of_record = Commit::FIELDS.iter().map(|field| {
        let table = Commit::magic.table();
        (table, field, Commit::OFFSET.saturating_add(field.offset.into()), 136_usize)
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
            report.add(FindingKind::Differs { field, offset, value, expected, by });
        }
    }
}

/// Reports blocks that are not inside the file.
fn check_blocks(image: &Image, head: &Head, report: &mut Report<'_>) {
    let (index, names, file_len) = (image.index(), image.name_block(), head.file_len);
    if let Some(record) = head.record.filter(|record| record.data_end > file_len) {
        let (field, value) = (Commit::data_end, record.data_end);
        report.wrong(Error::TooLarge { field, offset: offset_of(field), value, max: file_len });
    }
    for (units, checked, count) in [
        (Raw::index_allocated_entries, index.check(file_len), index.slots),
        (Raw::namelist_allocated_entries, names.check(file_len), names.units),
    ] {
        if let Err(error) = checked {
            report.wrong(error);
        }
        if count == 0 {
            let offset = units.offset().into();
            report.wrong(Error::TooSmall { field: units, offset, value: 0, min: 1 });
        }
    }
    let Some(record) = head.record else { return };
    let (value, max, shown) = match record.index(index) {
        Some(whole) => {
            (whole.slots, file_len.saturating_sub(whole.location) / 32, head.shown.slots)
        }
        None => (record.index_reserved, 0, 0),
    };
    if value > shown.max(max) {
        let field = Commit::index_reserved;
        report.wrong(Error::TooLarge { field, offset: offset_of(field), value, max });
    }
}
