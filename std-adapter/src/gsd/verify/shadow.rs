//! What the shadows of the header say of it.

use super::finding::FindingKind;
use super::head::{Basis, Said, differing, report_differing};
use super::{Failed, Report, read};
use crate::posix::PosixFile;
use striae_core::gsd::open::{Head as CoreHead, Open, State};
use striae_core::gsd::raw::{Commit, Image, Shadow};
use striae_core::gsd::shadow::Settled;
use striae_core::gsd::{Error, Record};
use striae_core::span::Span;
use striae_core::step::drive_read;
use zerocopy::IntoBytes;

/// The shadows at `both`, as far as they are right, the later one first.
pub(in crate::gsd) fn read_shadows(
    store: &PosixFile,
    both: u64,
    file_len: u64,
) -> Result<Vec<Shadow>, Failed> {
    let mut shadows = Vec::new();
    for number in 0..2 {
        let offset = Shadow::offset_of(both, number);
        let span = Span::new(offset, Shadow::LEN);
        if let Some(span) = span.filter(|span| span.fits(file_len) && offset >= 256) {
            let mut bytes = [0; 256];
            read(store, span.offset(), &mut bytes)?;
            shadows.extend(Shadow::parse(&bytes).copied());
        }
    }
    let number = |shadow: &Shadow| shadow.new.commit.sequence.get();
    if let [first, second] = shadows.as_slice()
        && number(second).wrapping_sub(number(first)) <= u32::MAX / 2
    {
        shadows.reverse();
    }
    Ok(shadows)
}

/// What is in a file whose commit record holds: that, or what a shadow proves that is one ahead.
///
/// A shadow that is not needed may be damaged: the commit after the next one writes it anew.
pub(super) fn of_record(
    store: &PosixFile,
    file_len: u64,
    (image, record): (Image, Record),
    report: &mut Report<'_>,
) -> Result<Said, Failed> {
    let (start, len) = (record.shadow, Shadow::BOTH_LEN);
    let offset = Shadow::offset_of(start, record.sequence);
    if Span::new(start, len).is_none_or(|span| !span.fits(file_len)) {
        report.wrong(Error::Outside { field: Commit::shadow, start, len, file_len });
    } else {
        let mut bytes = [0; 256];
        read(store, offset, &mut bytes)?;
        if Shadow::parse(&bytes).is_none() {
            let at = offset.saturating_add(Shadow::crc.offset().into());
            report.unusual(Shadow::crc, at, "not right".to_owned(), "that of its bytes");
        }
    }
    let basis = Basis::Committed(record.sequence);
    let said = Said { basis, image, record: Some(record) };
    let said = or_ahead(store, file_len, &image, said, report)?;
    or_later(store, file_len, said, report)
}

/// What is in a file whose header is as `said`, unless a shadow knows of a later commit that was durable:
/// the one in front of which it was written. No crash leaves such a header.
fn or_later(
    store: &PosixFile,
    file_len: u64,
    said: Said,
    report: &mut Report<'_>,
) -> Result<Said, Failed> {
    let Some(record) = said.record else { return Ok(said) };
    let shadows = read_shadows(store, record.shadow, file_len)?;
    let later = shadows.first().and_then(|shadow| {
        let later = shadow.old.record(u64::MAX).ok().flatten()?;
        let ahead = later.sequence.wrapping_sub(record.sequence);
        let is_later = (1..=u32::MAX / 2).contains(&ahead) && later.shadow == record.shadow;
        is_later.then_some((shadow.old, later))
    });
    let Some((image, later)) = later else { return Ok(said) };
    report_differing(&said.image, &image, "as the shadow says", report);
    Ok(Said { basis: Basis::Damaged, image, record: Some(later) })
}

/// What is in a file whose header is, or was to be, as `said`: that, or the commit that comes next.
fn or_ahead(
    store: &PosixFile,
    file_len: u64,
    found: &Image,
    said: Said,
    report: &mut Report<'_>,
) -> Result<Said, Failed> {
    if !said.record.is_some_and(|record| record.one_sync) {
        return Ok(said);
    }
    let mut window = vec![0; 1 << 16];
    match drive_read(&mut Open::new(file_len), store, &mut window) {
        Ok(CoreHead { image, state: State::Ahead(record), .. }) => {
            let (shown, proven) = (found.commit.sequence.get(), record.sequence);
            let offset = Shadow::offset_of(record.shadow, proven);
            report.note(FindingKind::Ahead { offset, shown, proven });
            Ok(Said { basis: Basis::Ahead(proven), image, record: Some(record) })
        }
        _ => {
            report_lost(store, file_len, &said, report)?;
            Ok(said)
        }
    }
}

/// Where the shadow of the commit after `record` is, if commits take one sync and the shadow is
/// right: where `record` is the last commit that is proven, that one is not.
pub(in crate::gsd) fn unproven(
    store: &PosixFile,
    file_len: u64,
    record: &Record,
) -> Result<Option<u64>, Failed> {
    if !record.one_sync {
        return Ok(None);
    }
    let next = record.sequence.wrapping_add(1);
    let shadows = read_shadows(store, record.shadow, file_len)?;
    let is_there = shadows.iter().any(|shadow| shadow.new.commit.sequence.get() == next);
    Ok(is_there.then(|| Shadow::offset_of(record.shadow, next)))
}

/// Reports the next shadow if it is damaged: a commit of one sync may have been in it, and nowhere
/// else; or if it is right: not all of its commit is there.
fn report_lost(
    store: &PosixFile,
    file_len: u64,
    said: &Said,
    report: &mut Report<'_>,
) -> Result<(), Failed> {
    let is_there = |record: &Record| {
        Span::new(record.shadow, Shadow::BOTH_LEN).is_some_and(|span| span.fits(file_len))
    };
    let Some(record) = said.record.filter(is_there) else { return Ok(()) };
    let at = |number| Shadow::offset_of(record.shadow, number);
    let next = record.sequence.wrapping_add(1);
    let (mut own, mut other) = ([0; 256], [0; 256]);
    read(store, at(record.sequence), &mut own)?;
    read(store, at(next), &mut other)?;
    // The first commit has none in front of it, and zeros there.
    let is_first = Shadow::parse(&own).is_some_and(|own| own.old == own.new);
    let is_empty = is_first && other.iter().all(|&byte| byte == 0);
    let Some((covered, stored)) = other.split_last_chunk() else { return Ok(()) };
    if let Some(offset) = unproven(store, file_len, &record)? {
        report.note(FindingKind::Unproven { offset, number: next });
    }
    if is_empty || Shadow::parse(&other).is_some() {
        return Ok(());
    }
    let (stored, computed) = (u32::from_le_bytes(*stored), crc32c::crc32c(covered));
    let offset = at(next).saturating_add(Shadow::crc.offset().into());
    report.wrong(Error::Checksum { field: Shadow::crc, offset, stored, computed });
    Ok(())
}

/// What a header is whose commit record has a wrong checksum, if the shadows at `both` know.
pub(super) fn settle(
    store: &PosixFile,
    both: u64,
    file_len: u64,
    image: &Image,
    report: &mut Report<'_>,
) -> Result<Option<Said>, Failed> {
    let shadows = read_shadows(store, both, file_len)?;
    let best = shadows.iter().min_by_key(|shadow| shadow.settle(image));
    let said = best.map(|shadow| by_shadow(image, shadow, report));
    match said {
        Some(said) if matches!(said.basis, Basis::Torn(_)) => {
            or_ahead(store, file_len, image, said, report).map(Some)
        }
        said => Ok(said),
    }
}

/// What a header is whose commit record has a wrong checksum.
fn by_shadow(image: &Image, shadow: &Shadow, report: &mut Report<'_>) -> Said {
    match shadow.settle(image) {
        Settled::Torn => {
            let new = shadow.new;
            let record = new.record(u64::MAX).ok().flatten();
            let fields = |image: &Image| image.as_bytes().get(..40).map(<[u8]>::to_vec);
            let harmless = fields(image) == fields(&new);
            let torn = FindingKind::Torn { harmless };
            if harmless {
                report.note(torn)
            } else {
                report.damage(torn)
            }
            let basis = Basis::Torn(new.commit.sequence.get());
            Said { basis, image: new, record }
        }
        Settled::Appended => Said { basis: Basis::Appended, image: *image, record: None },
        Settled::Damaged => {
            let nearer = match differing(image, &shadow.old) < differing(image, &shadow.new) {
                true => shadow.old,
                false => shadow.new,
            };
            let records = [shadow.old.commit, shadow.new.commit];
            let is_append =
                |commit| shadow.settle(&Image { commit, ..*image }) == Settled::Appended;
            if !records.contains(&image.commit) && records.into_iter().any(is_append) {
                // It is only the record that has changed, which nobody needs any more.
                let whole = Image { commit: nearer.commit, ..*image };
                report_differing(image, &whole, "as the shadow says", report);
                return Said { basis: Basis::Damaged, image: *image, record: None };
            }
            let record = nearer.record(u64::MAX).ok().flatten();
            report_differing(image, &nearer, "as the shadow says", report);
            Said { basis: Basis::Damaged, image: nearer, record }
        }
    }
}
