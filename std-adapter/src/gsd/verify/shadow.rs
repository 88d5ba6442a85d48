//! What the shadows of the header say of it.

use super::finding::FindingKind;
use super::head::{Basis, Said, report_differing};
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
    Ok(or_ahead(store, file_len, &image, said, report))
}

/// What is in a file whose header is, or was to be, as `said`: that, or the commit that comes next.
fn or_ahead(
    store: &PosixFile,
    file_len: u64,
    found: &Image,
    said: Said,
    report: &mut Report<'_>,
) -> Said {
    if !said.record.is_some_and(|record| record.one_sync) {
        return said;
    }
    let mut window = vec![0; 1 << 16];
    match drive_read(&mut Open::new(file_len), store, &mut window) {
        Ok(CoreHead { image, state: State::Ahead(record), .. }) => {
            let (shown, proven) = (found.commit.sequence.get(), record.sequence);
            let offset = Shadow::offset_of(record.shadow, proven);
            report.note(FindingKind::Ahead { offset, shown, proven });
            Said { basis: Basis::Ahead(proven), image, record: Some(record) }
        }
        _ => said,
    }
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
    Ok(said.map(|said| match said.basis {
        Basis::Torn(_) => or_ahead(store, file_len, image, said, report),
        _ => said,
    }))
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
            let differing = |other: &Image| {
                image.as_bytes().iter().zip(other.as_bytes()).filter(|(a, b)| a != b).count()
            };
            let nearer = match differing(&shadow.old) < differing(&shadow.new) {
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
