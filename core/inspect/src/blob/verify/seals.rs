//! Compares the blobs of a subfile with its seal.

use super::{Check, Failure, Known, Report};
use crate::blob::Flaw;
use crate::blob::finding::FindingKind;
use crate::blob::sealed::{Sealable, Sealed};
use crate::blob::subfile::{Head, Subfile};
use crate::report::Ending as _;
use crate::subject::{Files, Subject, Sum};
use striae_core::blob::seal::Duplicate;
use striae_core::step::{DriveError, drive_read};
use striae_core::store::usize_to_u64;

/// The memory for reading the copies of a seal.
const WINDOW: usize = 1 << 16;

impl<F: Files + ?Sized> Check<'_, F> {
    /// Checks the seal of a subfile, if it has one, and compares with it what it covers.
    pub(super) fn seal(
        store: &F::Subject,
        subfile: &Subfile,
        set: &Known,
        report: &mut Report<'_>,
    ) -> Result<(), Failure<F>> {
        let head = Head::read(store)?;
        let sealed = match Sealed::read(store, &head, subfile.numrecs) {
            Err(DriveError::Format(flaw)) => {
                report.add(super::SetFinding::wrong(flaw));
                None
            }
            sealed => sealed?,
        };
        let Some(sealed) = sealed else { return Ok(()) };
        let find = &mut head.find_seal(store.checksum(Sum::Crc32c));
        let found = drive_read(find, store, &mut alloc::vec![0; WINDOW]);
        for copy in found.map_err(Flaw::of_blob)?.copies {
            if let Duplicate::Damaged(error) = copy {
                report.add(FindingKind::SealCopy { error }.into());
            }
        }
        let (value, usual) = (sealed.seal().facts().numrecs, subfile.numrecs);
        if value < usual {
            report.add(FindingKind::Unsealed { value, usual }.into());
        }
        let canonical = &set.grammar.canonical;
        let (maps, values) = (canonical.decompositions.len(), canonical.variables.len());
        for variable in Sealable::all(maps, values) {
            for (blob, _) in (0..).zip(0..subfile.found) {
                match (sealed.check(store, (subfile, canonical), (variable, blob)), variable) {
                    (Ok(bytes), Sealable::Values(_)) => report.summary.data.add_checked(bytes),
                    // That the file is cut is reported.
                    (Ok(_) | Err(DriveError::Ended { .. }), _) => {}
                    (Err(DriveError::Format(flaw)), _) => {
                        report.add(super::SetFinding::wrong(flaw))
                    }
                    (Err(error), _) => return Err(error),
                }
            }
        }
        report.summary.sealed = report.summary.sealed.saturating_add(usize_to_u64(1));
        Ok(())
    }
}
