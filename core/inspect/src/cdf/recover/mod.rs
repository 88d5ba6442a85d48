//! Recovers what is left of a damaged file.
//!
//! The new file has the variables before the first damage in the header, placed anew: in the order
//! of definition and without gaps, as netCDF-C places them. So its length follows from the values,
//! and not from what a damaged `begin` says. It has the whole records. If the number of records is
//! 0, it may have been lost: then the records up to the last byte that is not null are saved. The
//! bytes of the header, except numbers and padding, and the values stay as they were.

mod header;
mod places;
mod records;
mod save;
mod words;

pub use words::{Certainty, Doubt, Loss, Proof};

use super::finding::FindingKind;
use super::header::Header;
use super::items::Variable;
use super::verify::verify;
use crate::certainty::Tally;
use crate::finding::{Found as _, Severity};
pub use crate::recover::Unwritten;
use crate::size::Demand;
use crate::subject::{Failed, Subject, stored};
use alloc::vec::Vec;
use places::Places;
use striae_core::cdf::Error;
use striae_core::cdf::raw::Var1;
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::{WriteAt, usize_to_u64};

/// What can be recovered from a file.
#[derive(Debug)]
pub struct Recovery {
    /// The header of the damaged file, up to the first damage of its grammar.
    old: Header,
    /// The header of the new file.
    header: Header,
    places: Places,
    records: Option<records::Records>,
    contradictions: Vec<FindingKind>,
    rest: Option<Span>,
    lost_variables: u64,
}

/// The records of the damaged file and of the new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Records {
    /// The number in the header; `None` if it is that of a stream.
    pub claimed: Option<u64>,
    /// The number of saved records.
    pub saved: u64,
}

impl Recovery {
    /// Finds what can be recovered from a file, for a new file that is not longer than
    /// [`Demand::limit`] allows.
    ///
    /// # Errors
    /// [`Error`] if no variable can be saved, since the damage is before `var_list`; an error of
    /// the store.
    pub fn examine<S: Subject + ?Sized>(store: &S) -> Result<Self, Failed<S, Error>> {
        Self::examine_for(store, None)
    }

    /// [`examine`](Self::examine) for a new file of at most `max_size` bytes, if it is not `None`.
    ///
    /// # Errors
    /// See [`examine`](Self::examine).
    pub fn examine_for<S: Subject + ?Sized>(
        store: &S,
        max_size: Option<u64>,
    ) -> Result<Self, Failed<S, Error>> {
        // The grammar does not depend on where values are.
        let (old, stopped) = Header::examine(store, &mut |error| match error {
            Error::TooSmall { field, .. } if field == Var1::begin => Ok(()),
            error => Err(error),
        })?;
        let all = old.head().nvars;
        if let (0, Some(error)) = (all, stopped) {
            return Err(DriveError::Format(error));
        }
        let mut contradictions = Vec::new();
        let verified = verify(&store, &mut |what: FindingKind| {
            if what.severity() == Severity::Damage {
                contradictions.push(what);
            }
        });
        verified.map_err(DriveError::Store)?;
        let known = usize_to_u64(old.variables().len());
        let is_whole = known == all && stopped.is_none();
        let records = records::Records::find(store, &old, is_whole)?;
        let data = data_len(store, old.head().file_len)?;
        let places = Places::new(&old, records.as_ref(), (data, max_size));
        let saved = records.as_ref().map_or(0, |records| records.saved);
        let new = header::header_of(&old, &places.kept, saved, places.file_len);
        let header = new.map_err(DriveError::Format)?;
        let mut rest = None;
        if is_whole {
            let end = old.fixed_end().max(records.as_ref().map_or(0, records::Records::end));
            let last = records::last_byte(store, end, old.head().file_len)?;
            rest = Span::between(end, last).filter(|rest| !rest.is_empty());
        }
        let lost_variables = all.saturating_sub(known);
        Ok(Self { old, header, places, records, contradictions, rest, lost_variables })
    }

    /// The header of the new file.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The findings of damage in the file, as [`verify`] reports them.
    #[must_use]
    pub fn contradictions(&self) -> &[FindingKind] {
        &self.contradictions
    }

    /// Bytes after all variables and saved records that are not null: records that the header does
    /// not count, a part of one, or what belongs to nothing. They are not in the new file.
    #[must_use]
    pub const fn rest(&self) -> Option<Span> {
        self.rest
    }

    /// The number of variables whose definition is lost.
    #[must_use]
    pub const fn lost_variables(&self) -> u64 {
        self.lost_variables
    }

    /// The variables that the damaged header defines, as it does, and what becomes of their values.
    #[must_use]
    pub fn variables(&self) -> impl ExactSizeIterator<Item = (Variable<'_>, Certainty)> {
        self.old.variables().zip(self.places.words.iter().copied())
    }

    /// The records before and after.
    #[must_use]
    pub fn records(&self) -> Records {
        let claimed = Some(self.old.head().numrecs).filter(|_| !self.old.head().is_streaming);
        match &self.records {
            Some(records) => Records { claimed: records.claimed, saved: records.saved },
            None => Records { claimed, saved: 0 },
        }
    }

    /// How certain the number of records is; `None` if the file has no record variables.
    #[must_use]
    pub fn of_records(&self) -> Option<Certainty> {
        Some(self.records.as_ref()?.word)
    }

    /// How certain the whole is.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for (_, certainty) in self.variables() {
            tally.add(certainty.word(), 1);
        }
        if let Some(certainty) = self.of_records() {
            tally.add(certainty.word(), 1);
        }
        tally.lost = tally.lost.saturating_add(self.lost_variables);
        tally.is_contradicted = !self.contradictions.is_empty() || self.rest.is_some();
        tally.coverage.add(self.places.saved);
        tally
    }

    /// The length of the new file, and what it is made of. Holes of the damaged file stay holes:
    /// they count as padding, and not as bytes that exist.
    #[must_use]
    pub const fn demand(&self) -> Demand {
        self.places.demand
    }

    /// The length of the new file.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.places.file_len
    }

    /// Writes the new file to `out`, which is empty. `progress` gets the length of each copied
    /// piece.
    ///
    /// # Errors
    /// An error of the store; an error of `out`.
    pub fn save<S: Subject + ?Sized, W: WriteAt>(
        &self,
        store: &S,
        out: &mut W,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), Unwritten<Failed<S, Error>, W::Error>> {
        out.set_size(self.bytes()).map_err(Unwritten::Write)?;
        save::Copy { store, out, progress, window: Vec::new() }.all(self)?;
        // Last: without a header it is no netCDF file.
        out.write_all_at(0, self.header.bytes()).map_err(Unwritten::Write)
    }
}

/// The number of bytes of a file that are not in holes.
fn data_len<S: Subject + ?Sized>(store: &S, file_len: u64) -> Result<u64, Failed<S, Error>> {
    let all = Span::new(0, file_len).unwrap_or(Span::ZERO);
    let sum = stored(store, all).try_fold(0, |sum, part| Ok(part?.len().saturating_add(sum)));
    sum.map_err(DriveError::Store)
}
