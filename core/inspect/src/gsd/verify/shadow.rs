//! Checks the shadows of the header.

use super::Report;
use crate::gsd::Failed;
use crate::gsd::finding::FindingKind;
use crate::subject::{Subject, read};
use alloc::borrow::ToOwned;
use alloc::vec::Vec;
use striae_core::gsd::raw::{Commit, Image, Shadow};
use striae_core::gsd::verdict::Judge;
use striae_core::gsd::{Error, Record, State};
use striae_core::integrity::crc32c;
use striae_core::span::Span;

/// The sound shadows at `both`, the later one first.
pub(crate) fn read_shadows<S: Subject>(
    subject: &S,
    both: u64,
    file_len: u64,
) -> Result<Vec<Shadow>, Failed<S>> {
    let mut shadows = Vec::new();
    for number in 0..2 {
        let offset = Shadow::offset_of(both, number);
        let span = Span::new(offset, Shadow::LEN);
        if let Some(span) = span.filter(|span| span.fits(file_len) && offset >= 256) {
            let mut bytes = [0; 256];
            read(subject, span.offset(), &mut bytes)?;
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

/// Reports errors and unusual values of the shadows of a file whose header has the image `found`.
///
/// A shadow that is not needed may be damaged: the commit after the next one overwrites it.
pub(super) fn check<S: Subject>(
    subject: &S,
    (file_len, found): (u64, &Image),
    judge: &Judge<true>,
    report: &mut Report<'_>,
) -> Result<(), Failed<S>> {
    let own = found.record(u64::MAX).ok().flatten();
    if let Some(record) = own {
        check_own(subject, file_len, &record, report)?;
    }
    let shown = match judge.state() {
        State::Ahead(record) => {
            let (shown, proven) = (found.commit.sequence.get(), record.sequence);
            let offset = Shadow::offset_of(record.shadow, proven);
            report.add(FindingKind::Ahead { offset, shown, proven });
            Some(record)
        }
        _ => own.or_else(|| judge.record().filter(|_| judge.torn().is_some())),
    };
    match shown.filter(|record| record.one_sync) {
        Some(record) => check_next(subject, file_len, &record, report),
        None => Ok(()),
    }
}

/// Reports the shadow of the commit that the header shows, if it is not sound.
fn check_own<S: Subject>(
    subject: &S,
    file_len: u64,
    record: &Record,
    report: &mut Report<'_>,
) -> Result<(), Failed<S>> {
    let (start, len) = (record.shadow, Shadow::BOTH_LEN);
    let offset = Shadow::offset_of(start, record.sequence);
    if Span::new(start, len).is_none_or(|span| !span.fits(file_len)) {
        report.wrong(Error::Outside { field: Commit::shadow, start, len, file_len });
        return Ok(());
    }
    let mut bytes = [0; 256];
    read(subject, offset, &mut bytes)?;
    if Shadow::parse(&bytes).is_none() {
        let at = offset.saturating_add(Shadow::crc.offset().into());
        report.unusual(Shadow::crc, at, "not right".to_owned(), "that of its bytes");
    }
    Ok(())
}

/// The place of the shadow of the commit after `record`, if commits take one sync and the shadow is
/// sound. If `record` is the last proven commit, that commit is not proven.
pub(crate) fn unproven<S: Subject>(
    subject: &S,
    file_len: u64,
    record: &Record,
) -> Result<Option<u64>, Failed<S>> {
    if !record.one_sync {
        return Ok(None);
    }
    let next = record.sequence.wrapping_add(1);
    let shadows = read_shadows(subject, record.shadow, file_len)?;
    let is_there = shadows.iter().any(|shadow| shadow.new.commit.sequence.get() == next);
    Ok(is_there.then(|| Shadow::offset_of(record.shadow, next)))
}

/// Reports the next shadow if it is damaged, because it may have been the only place of a commit of
/// one sync; or if it is sound, because a part of its commit is missing.
fn check_next<S: Subject>(
    subject: &S,
    file_len: u64,
    record: &Record,
    report: &mut Report<'_>,
) -> Result<(), Failed<S>> {
    if Span::new(record.shadow, Shadow::BOTH_LEN).is_none_or(|span| !span.fits(file_len)) {
        return Ok(());
    }
    let at = |number| Shadow::offset_of(record.shadow, number);
    let next = record.sequence.wrapping_add(1);
    let (mut own, mut other) = ([0; 256], [0; 256]);
    read(subject, at(record.sequence), &mut own)?;
    read(subject, at(next), &mut other)?;
    // The first commit has none in front of it, and zeros there.
    let is_first = Shadow::parse(&own).is_some_and(|own| own.old == own.new);
    let is_empty = is_first && other.iter().all(|&byte| byte == 0);
    let Some((covered, stored)) = other.split_last_chunk() else { return Ok(()) };
    if let Some(offset) = unproven(subject, file_len, record)? {
        report.add(FindingKind::Unproven { offset, number: next });
    }
    if is_empty || Shadow::parse(&other).is_some() {
        return Ok(());
    }
    let (stored, computed) = (u32::from_le_bytes(*stored), crc32c(0, covered));
    let offset = at(next).saturating_add(Shadow::crc.offset().into());
    report.wrong(Error::Checksum { field: Shadow::crc, offset, stored, computed });
    Ok(())
}
