//! The seal, and whether the tables are as it says. What it is, core judges.

use super::{Failed, FindingKind, Report, WINDOW};
use crate::posix::PosixFile;
use crc32c::crc32c_append;
use striae_core::sion::raw::SealTrailer;
use striae_core::sion::seal::{FindSeal, checksum_of};
use striae_core::sion::verdict::{Found, Verdict};
use striae_core::sion::{Error, Head, Varheader};
use striae_core::step::drive_read;

/// Looks for a seal of a file whose tables end at `end`.
pub(in crate::sion) fn look_for_seal(
    store: &PosixFile,
    head: &Head,
    end: u64,
) -> Result<Option<Found>, Failed> {
    drive_read(&mut FindSeal::new(head, end, crc32c_append), &store, &mut vec![0; WINDOW])
}

/// Reports what the seal says about itself and about the tables. Returns where its own table is, if
/// what stands there can be trusted.
pub(super) fn check(
    store: &PosixFile,
    head: &Head,
    found: &Found,
    report: &mut Report<'_>,
) -> Result<Option<Varheader>, Failed> {
    let (trailer, order) = (found.trailer(), head.meta1.order());
    let mut window = vec![0; WINDOW];
    match *found.verdict() {
        Verdict::Current(seal) => {
            let reserved = trailer.raw().reserved.get(order);
            if reserved != 0 {
                let field = SealTrailer::reserved;
                report.unusual(field, trailer.place(field), reserved, 0);
            }
            let checked = seal.check(&store, crc32c_append, &mut window)?;
            for part in [checked.meta1, checked.meta2, checked.chunks] {
                part.err().into_iter().for_each(|error| report.wrong(error));
            }
            Ok(checked.chunks.ok().map(|()| *seal.varheader()))
        }
        Verdict::Damaged(error, place) => {
            report.damage(kind_of(error));
            let computed = checksum_of(&store, place.crcs(), 0, crc32c_append, &mut window)?;
            Ok((computed == trailer.raw().chunks_crc.get(order)).then_some(place))
        }
        Verdict::Unknown(..) => {
            let (field, version) = (SealTrailer::seal_version, trailer.raw().seal_version);
            let usual = "1, so nothing of it was checked";
            report.unusual(field, trailer.place(field), version.get(order), usual);
            Ok(None)
        }
        Verdict::Stale => {
            report.note(FindingKind::StaleSeal { offset: trailer.offset() });
            Ok(None)
        }
        Verdict::Contradicted(error) => {
            report.damage(kind_of(error));
            Ok(None)
        }
    }
}

/// What the seal is damaged by, or contradicts.
const fn kind_of(error: Error) -> FindingKind {
    match error {
        Error::SealMagic { offset, magic } => FindingKind::SealMagic { offset, magic },
        Error::NotAsSealed { field, offset, value, sealed } => {
            FindingKind::NotAsSealed { field, offset, value, sealed }
        }
        error => FindingKind::Wrong(error),
    }
}
