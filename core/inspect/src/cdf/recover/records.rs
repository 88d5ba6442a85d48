//! The records of a damaged file: where they are, and how many.

use super::words::{Certainty, Doubt, Loss, Proof};
use crate::cdf::header::Header;
use crate::cdf::items::Variable;
use crate::cdf::verify::is_usual_size;
use crate::subject::{Failed, Subject, WINDOW, read, stored};
use alloc::vec::Vec;
use core::cmp::Reverse;
use striae_core::cdf::Error;
use striae_core::cdf::layout::{padded, whole_records};
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::usize_to_u64;

/// The records of a damaged file that has record variables.
#[derive(Debug)]
pub(super) struct Records {
    /// The number in the header; `None` if it is that of a stream.
    pub(super) claimed: Option<u64>,
    /// The number of records to save.
    pub(super) saved: u64,
    /// The bytes from one record to the next.
    pub(super) recsize: u64,
    /// The variables: their numbers, and where their values of the first record are.
    pub(super) places: Vec<(u64, Span)>,
    /// The span of the first record, from its first value to its last one.
    pub(super) first: Span,
    pub(super) word: Certainty,
    /// Why the distance of two records may be wrong: the first variable with a doubtful size.
    size: Option<Doubt>,
}

impl Records {
    /// Finds the records; `None` if there is no record variable. `is_whole` says that the header
    /// has all of its variables.
    pub(super) fn find<S: Subject + ?Sized>(
        store: &S,
        old: &Header,
        is_whole: bool,
    ) -> Result<Option<Self>, Failed<S, Error>> {
        let head = old.head();
        let claimed = Some(head.numrecs).filter(|_| !head.is_streaming);
        if record_variables(old).next().is_none() {
            return Ok(None);
        }
        let recsize = |first| match is_whole {
            true => Some(head.recsize),
            false => guess(old, claimed, first),
        };
        let first = old.first_record().filter(|&first| {
            // There may be gaps between the variables of a single record: several would overlap.
            let most = match claimed {
                Some(0) => whole(old, first, recsize(first)),
                _ => head.numrecs,
            };
            is_in_order(old, first) && (most <= 1 || first.len() <= head.recsize)
        });
        let (places, first) = match first {
            Some(first) => {
                let own = |one: Variable<'_>| (one.varid(), one.layout().first);
                (record_variables(old).map(own).collect(), first)
            }
            None => joined(old),
        };
        let recsize = recsize(first);
        let whole = whole(old, first, recsize);
        let most = match claimed {
            None => u64::MAX,
            Some(0) if whole > 0 => {
                let end = last_byte(store, first.offset(), head.file_len)?;
                let used = end.saturating_sub(first.offset());
                recsize.map_or(used.min(1), |recsize| used.div_ceil(recsize.max(1)))
            }
            Some(claimed) => claimed,
        };
        // More is not a number of records in this version, whatever the file has.
        let saved = whole.min(most).min(old.version().streaming().saturating_sub(1));
        let word = match (claimed, recsize) {
            (Some(claimed), _) if saved < claimed => {
                Certainty::Lost(Loss::Records { claimed, saved })
            }
            (Some(0), _) if saved > 0 => Certainty::Guess(Doubt::Uncounted),
            (_, Some(recsize)) if !is_whole => Certainty::Guess(Doubt::Distance(recsize)),
            (None, None) => Certainty::Guess(Doubt::OneRecord),
            (None, _) => Certainty::AsFound(Proof::Length),
            (Some(_), _) => Certainty::AsFound(Proof::Header),
        };
        let recsize = recsize.unwrap_or(first.len());
        let size = record_variables(old).find_map(|one| doubt_of_size(old, one));
        let records = Self { claimed, saved, recsize, places, first, word, size };
        Ok(Some(records.doubt_size()))
    }

    /// Doubts where the records are, or how many, if this follows from a doubtful size.
    const fn doubt_size(mut self) -> Self {
        if let (Certainty::AsFound(_), Some(doubt)) = (self.word, self.size)
            && (self.saved > 1 || self.claimed.is_none())
        {
            self.word = Certainty::Guess(doubt);
        }
        self
    }

    /// The span of all saved records; `None` if there are none.
    pub(super) fn span(&self) -> Option<Span> {
        let before = self.saved.checked_sub(1)?.saturating_mul(self.recsize);
        Span::new(self.first.offset(), before.saturating_add(self.first.len()))
    }

    /// Where the bytes of the saved records end, with the padding of the last one.
    pub(super) fn end(&self) -> u64 {
        let Some(before) = self.saved.checked_sub(1) else { return self.first.offset() };
        let last = self.first.offset().saturating_add(before.saturating_mul(self.recsize));
        // A record with gaps between its variables is longer than the next one is away.
        last.saturating_add(self.first.len().max(self.recsize))
    }

    /// The most bytes of the saved records in a new file.
    pub(super) fn bytes(&self) -> u64 {
        let len = |place: &(u64, Span)| place.1.len().saturating_add(3);
        let each = self.places.iter().map(len).fold(0, u64::saturating_add);
        match self.saved {
            0 | 1 => self.saved.saturating_mul(each),
            saved => saved.saturating_mul(self.recsize),
        }
    }

    /// Where the values of a variable in the first record are.
    pub(super) fn place(&self, variable: Variable<'_>) -> Option<Span> {
        let found = self.places.binary_search_by_key(&variable.varid(), |(number, _)| *number);
        Some(self.places.get(found.ok()?)?.1)
    }

    /// Why the values of a variable may be wrong.
    pub(super) fn doubt_of(&self, old: &Header, variable: Variable<'_>) -> Option<Doubt> {
        let (found, taken) = (variable.begin(), self.place(variable)?.offset());
        let size = doubt_of_size(old, variable);
        match (&self.word, self.saved) {
            (_, 1..) if found != taken => Some(Doubt::Begin { found, taken }),
            (_, 1..) if size.is_some() => size,
            (Certainty::Guess(distance @ Doubt::Distance(_)), 2..) => Some(*distance),
            (_, 2..) => self.size,
            _ => None,
        }
    }
}

fn record_variables(old: &Header) -> impl Iterator<Item = Variable<'_>> {
    old.variables().filter(|variable| variable.is_record())
}

/// Why the size of a variable may be wrong: no library stores this `vsize` for its type and
/// dimensions.
pub(super) fn doubt_of_size(old: &Header, variable: Variable<'_>) -> Option<Doubt> {
    let computed = old.version().stored_vsize(variable.layout().first.len());
    let (number, stored) = (variable.varid(), variable.vsize());
    let doubt = Doubt::Size { number, stored, computed };
    Some(doubt).filter(|_| !is_usual_size(old, variable))
}

/// The number of records that the file has room for.
fn whole(old: &Header, first: Span, recsize: Option<u64>) -> u64 {
    if first.offset() < old.head().header_len || first.is_empty() {
        return 0;
    }
    let next = recsize.unwrap_or(u64::MAX); // of a single record nothing is known
    whole_records(first, next, old.head().file_len)
}

/// Whether the variables of a record follow each other, after the header.
fn is_in_order(old: &Header, first: Span) -> bool {
    let mut end = 0;
    let in_order = record_variables(old).all(|one| {
        let place = one.layout().first;
        let is_after = end <= place.offset();
        end = place.end();
        is_after
    });
    in_order && old.head().header_len <= first.offset()
}

/// The places of variables that follow each other without gaps, as all libraries write them. They
/// begin where most variables say.
fn joined(old: &Header) -> (Vec<(u64, Span)>, Span) {
    let mut next = 0_u64;
    let mut all = Vec::new();
    for variable in record_variables(old) {
        let len = variable.layout().first.len();
        all.push((variable, next, len));
        next = next.saturating_add(padded(len).unwrap_or(u64::MAX));
    }
    let len = all.last().map_or(0, |(_, skip, len)| skip.saturating_add(*len));
    let mut begins: Vec<u64> =
        all.iter().filter_map(|(one, skip, _)| one.begin().checked_sub(*skip)).collect();
    begins.sort_unstable();
    let fixed = old.variables().filter(|variable| !variable.is_record());
    let min = fixed.map(|one| there(old, one).end()).fold(old.head().header_len, u64::max);
    let is_possible = |begin: u64| {
        min <= begin && Span::new(begin, len).is_some_and(|first| first.fits(old.head().file_len))
    };
    // Of several that as many variables say, the first one that can be.
    let runs = begins.chunk_by(|one, other| one == other);
    let runs = runs.filter_map(|run| Some((run.len(), *run.first()?)));
    let most = runs.max_by_key(|&(count, begin)| (count, is_possible(begin), Reverse(begin)));
    let begin = most.map_or(u64::MAX, |(_, begin)| begin);
    let place = |&(one, skip, len): &(Variable<'_>, u64, u64)| {
        let place = Span::new(begin.saturating_add(skip), len);
        (one.varid(), place.unwrap_or(Span::ZERO))
    };
    let places: Vec<_> = all.iter().map(place).collect();
    (places, Span::new(begin, len).unwrap_or(Span::ZERO))
}

/// The bytes from one record to the next if only the first variables are known: those of all
/// records divided by their number. The record of a single one needs none.
fn guess(old: &Header, claimed: Option<u64>, first: Span) -> Option<u64> {
    let all = old.head().file_len.checked_sub(first.offset())?;
    let claimed = claimed.filter(|&claimed| claimed > 1)?;
    let recsize = all.checked_div(claimed).filter(|_| all.checked_rem(claimed) == Some(0))?;
    Some(recsize).filter(|&recsize| recsize >= old.head().recsize.max(first.len()))
}

/// The end of the last byte of the file from `start` on that is not null; `start` if there is none.
/// Holes are not read.
pub(super) fn last_byte<S: Subject + ?Sized>(
    store: &S,
    start: u64,
    file_len: u64,
) -> Result<u64, Failed<S, Error>> {
    let all = Span::between(start, file_len).unwrap_or(Span::ZERO);
    let parts: Vec<Span> =
        stored(store, all).collect::<Result<_, _>>().map_err(DriveError::Store)?;
    let mut window = Vec::new();
    for part in parts.iter().rev() {
        let mut end = part.end();
        while end > part.offset() {
            let from = end.saturating_sub(WINDOW.get()).max(part.offset());
            window.resize(usize::try_from(end.saturating_sub(from)).unwrap_or(0), 0);
            read(store, from, &mut window)?;
            if let Some(last) = window.iter().rposition(|&byte| byte != 0) {
                return Ok(from.saturating_add(usize_to_u64(last)).saturating_add(1));
            }
            end = from;
        }
    }
    Ok(start)
}

/// The bytes of a fixed variable that are in the file.
pub(super) fn there(old: &Header, variable: Variable<'_>) -> Span {
    let first = variable.layout().first;
    let end = first.end().min(old.head().file_len);
    Span::between(first.offset(), end)
        .filter(|span| span.offset() >= old.head().header_len)
        .unwrap_or(Span::ZERO)
}
