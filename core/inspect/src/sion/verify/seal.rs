//! Checks the seal, and compares the tables with it. The core crate decides what a seal is.

use super::{Failed, FindingKind, Report, WINDOW};
use crate::subject::{Subject, Sum};
use alloc::vec;
use striae_core::sion::FindSeal;
use striae_core::sion::raw::SealTrailer;
use striae_core::sion::seal::checksum_of;
use striae_core::sion::verdict::{FoundTrailer, Verdict};
use striae_core::sion::{Head, Varheader};
use striae_core::step::drive_read;

/// Searches for a seal of a file whose tables end at `end`.
pub(crate) fn look_for_seal<S: Subject>(
    store: &S,
    head: &Head,
    end: u64,
) -> Result<Option<FoundTrailer>, Failed<S>> {
    let mut find = FindSeal::new(head, end, store.checksum(Sum::Crc32c));
    drive_read(&mut find, store, &mut vec![0; WINDOW])
}

/// Reports problems of the seal and of the tables that it covers. Returns the place of the seal's
/// own table, if its contents can be trusted.
pub(super) fn check<S: Subject>(
    store: &S,
    head: &Head,
    found: &FoundTrailer,
    report: &mut Report<'_>,
) -> Result<Option<Varheader>, Failed<S>> {
    let (trailer, order) = (found.trailer(), head.meta1.order());
    let checksum = store.checksum(Sum::Crc32c);
    let mut window = vec![0; WINDOW];
    match *found.verdict() {
        Verdict::Current(seal) => {
            let number = trailer.raw().set_number.get(order);
            if number < 0 {
                let field = SealTrailer::set_number;
                report.unusual(field, trailer.place(field), number, "0 or more");
            }
            let checked = seal.check(store, checksum, &mut window)?;
            for part in [checked.meta1, checked.meta2, checked.chunks] {
                part.err().into_iter().for_each(|error| report.wrong(error));
            }
            Ok(checked.chunks.ok().map(|()| *seal.varheader()))
        }
        Verdict::Damaged(error, place) => {
            report.wrong(error);
            let computed = checksum_of(store, place.crcs(), 0, checksum, &mut window)?;
            Ok((computed == trailer.raw().chunks_crc.get(order)).then_some(place))
        }
        Verdict::Unknown(..) => {
            let (field, version) = (SealTrailer::seal_version, trailer.raw().seal_version);
            let usual = "1 or 2, so nothing of it was checked";
            report.unusual(field, trailer.place(field), version.get(order), usual);
            Ok(None)
        }
        Verdict::Stale => {
            report.add(FindingKind::StaleSeal { offset: trailer.offset() });
            Ok(None)
        }
        Verdict::Contradicted(error) => {
            report.wrong(error);
            Ok(None)
        }
    }
}
