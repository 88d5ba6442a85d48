//! Compares the blobs of a subfile with its seal.

use super::{Check, Failure, Known, Report};
use crate::blob::finding::FindingKind;
use crate::blob::flaw::Flaw;
use crate::blob::grammar::Canonical;
use crate::blob::sealed::{Sealable, Sealed, span};
use crate::blob::subfile::{Head, Subfile};
use crate::report::Ending as _;
use crate::subject::Files;
use striae_core::step::DriveError;

impl<F: Files + ?Sized> Check<'_, F> {
    /// Checks the seal of a subfile, if it has one, and compares with it what it covers.
    pub(super) fn seal(
        store: &F::Subject,
        (head, subfile): (&Head, &Subfile),
        set: &Known,
        report: &mut Report<'_>,
    ) -> Result<(), Failure<F>> {
        let sealed = match Sealed::read_live(store, head, subfile.numrecs) {
            Err(DriveError::Format(flaw)) => {
                report.add(super::SetFinding::wrong(flaw));
                None
            }
            sealed => sealed?,
        };
        let Some(sealed) = sealed else { return Ok(()) };
        if let Some(error) = sealed.damaged_copy() {
            report.add(FindingKind::SealCopy { error }.into());
        }
        let canonical = set.canonical();
        sealed.read_all(store, (subfile, canonical));
        let (maps, values) = (canonical.decompositions.len(), canonical.variables.len());
        for variable in Sealable::all(maps, values) {
            for (blob, _) in (0..).zip(0..subfile.found) {
                match (sealed.check(store, (subfile, canonical), (variable, blob)), variable) {
                    (Ok(bytes), Sealable::Values(_)) => report.summary.data.add_checked(bytes),
                    // That the file is cut is reported.
                    (Ok(_) | Err(DriveError::Ended { .. }), _) => {}
                    (Err(DriveError::Format(flaw)), _) => {
                        if let (Sealable::Values(_), Flaw::NotAsSealed { .. }) = (variable, &flaw) {
                            let bytes = compared(&sealed, (subfile, canonical), (variable, blob));
                            report.summary.data.add_checked(bytes);
                        }
                        report.add(super::SetFinding::wrong(flaw));
                    }
                    (Err(error), _) => return Err(error),
                }
            }
        }
        let (value, usual) = (sealed.certain(), subfile.numrecs);
        if value < usual {
            report.add(FindingKind::Unsealed { value, usual }.into());
        }
        report.summary.sealed = report.summary.sealed.saturating_add(1);
        Ok(())
    }
}

/// The bytes of a blob that is not as sealed: these bytes are compared with the seal, too, and
/// count.
fn compared(
    sealed: &Sealed,
    (subfile, set): (&Subfile, &Canonical),
    (variable, blob): (Sealable, u32),
) -> u64 {
    let records = sealed.records(set, variable);
    let last = records.checked_sub(1).and_then(|last| span(subfile, set, (variable, blob), last));
    let records = if variable.is_record(set) { records.min(subfile.numrecs) } else { 1 };
    last.map_or(0, |last| last.len().saturating_mul(records))
}
