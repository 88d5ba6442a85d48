//! Which variables of a damaged file can be saved, from where, and to which place of the new file.

use super::header::{New, len_of};
use super::records::{Records, doubt_of_size, there};
use super::words::{Certainty, Doubt, Loss, Proof};
use crate::cdf::header::Header;
use crate::cdf::items::Variable;
use crate::size::Demand;
use alloc::vec::Vec;
use striae_core::cdf::Version;
use striae_core::cdf::layout::{LargeVars, RecordSize, padded};
use striae_core::span::Span;
use striae_core::store::usize_to_u64;

/// What becomes of the variables of a damaged file.
#[derive(Debug)]
pub(super) struct Places {
    /// Of each variable of the old header.
    pub(super) words: Vec<Certainty>,
    /// The variables of the new file.
    pub(super) kept: Vec<New>,
    /// The bytes of the input that exist, and those of the header, of padding, and of holes.
    pub(super) demand: Demand,
    /// The length of the new file.
    pub(super) file_len: u64,
    /// The bytes of values that are in the new file and not filled.
    pub(super) saved: u64,
}

impl Places {
    /// Judges the variables of a header, and places them anew, in the order of definition and
    /// without gaps, as netCDF-C does it. `existing` bytes of the file are in no hole. `max_size`
    /// is the most bytes of the new file if it is not that of [`Demand::limit`].
    pub(super) fn new(
        old: &Header,
        records: Option<&Records>,
        (existing, max_size): (u64, Option<u64>),
    ) -> Self {
        let mut all: Vec<One<'_>> =
            old.variables().map(|one| One::new(old, one, records)).collect();
        let span = records.and_then(Records::span);
        overlap(&mut all, span);
        padding(&mut all);
        order(&mut all, old.head().header_len, span);
        let padding = usize_to_u64(all.len()).saturating_mul(4);
        let holes = old.head().file_len.saturating_sub(existing);
        let own = old.head().header_len.saturating_add(padding);
        let of_fills = Demand { size: 0, existing, own }; // they are no holes
        let demand = Demand { own: own.saturating_add(holes), ..of_fills };
        let [most, fills] = [demand, of_fills].map(|one| max_size.unwrap_or_else(|| one.limit()));
        let size = len_of(old, all.iter().map(|_| true));
        let size = size.saturating_add(records.map_or(0, Records::bytes));
        fit(&mut all, size, Limits { all: most, fills });
        drop_large(&mut all, old.version());
        let fixed_end = place(&mut all, old);
        let saved = records.map_or(0, |records| records.saved);
        let kept = || (0..).zip(&all).filter(|(_, one)| one.is_kept);
        let of_record = kept().filter(|(_, one)| one.variable.is_record());
        let recsize = of_record
            .fold(RecordSize::EMPTY, |size, (_, one)| size.with(one.first.len()).unwrap_or(size));
        let file_len = fixed_end.saturating_add(recsize.get().saturating_mul(saved));
        let bytes = |one: &One<'_>| match one.variable.is_record() {
            true => one.first.len().saturating_mul(saved),
            false => one.there.len(),
        };
        Self {
            kept: kept().map(|(number, one)| New { number, begin: one.begin }).collect(),
            saved: kept().map(|(_, one)| bytes(one)).fold(0, u64::saturating_add),
            words: all.iter().map(|one| one.word).collect(),
            demand: Demand { size: file_len, ..demand },
            file_len,
        }
    }
}

/// The most bytes of a new file, and of fill values in it.
#[derive(Debug, Clone, Copy)]
struct Limits {
    all: u64,
    fills: u64,
}

/// A variable of the damaged file, and what becomes of it.
struct One<'h> {
    variable: Variable<'h>,
    /// Its values, or those of its first record, as the header says.
    first: Span,
    /// Those that the file has, of a fixed variable.
    there: Span,
    word: Certainty,
    is_kept: bool,
    /// Where it begins in the new file.
    begin: u64,
}

impl<'h> One<'h> {
    /// Judges a variable alone.
    fn new(old: &Header, variable: Variable<'h>, records: Option<&Records>) -> Self {
        let (first, as_found) = (variable.layout().first, Certainty::AsFound(Proof::Header));
        let of = |there, word| Self { variable, first, there, word, is_kept: false, begin: 0 };
        if variable.is_record() {
            let doubt = records.and_then(|records| records.doubt_of(old, variable));
            return of(Span::ZERO, doubt.map_or(as_found, Certainty::Guess));
        }
        let there = there(old, variable);
        let (len, begin) = (first.len(), first.offset());
        let word = match len.saturating_sub(there.len()) {
            0 => doubt_of_size(old, variable).map_or(as_found, Certainty::Guess),
            _ if begin < old.head().header_len => Certainty::Lost(Loss::Header { begin }),
            missing => Certainty::Lost(Loss::Cut { missing, len }),
        };
        of(there, word)
    }

    /// Makes the word a guess, unless it is worse already.
    const fn doubt(&mut self, doubt: Doubt) {
        if let Certainty::AsFound(_) = self.word {
            self.word = Certainty::Guess(doubt);
        }
    }

    const fn drop(&mut self, version: Version) {
        self.word = Certainty::Lost(Loss::Large { len: self.first.len(), version });
        self.is_kept = false;
    }

    /// The values that the file has, with the padding after the last of them.
    fn with_padding(&self) -> Span {
        let is_whole = self.there.len() == self.first.len();
        let padded = Span::new(self.there.offset(), self.padded()).filter(|_| is_whole);
        padded.unwrap_or(self.there)
    }

    fn padded(&self) -> u64 {
        padded(self.first.len()).unwrap_or(u64::MAX)
    }
}

/// Doubts all variables with records.
fn doubt_records(all: &mut [One<'_>], doubt: Doubt) {
    all.iter_mut().filter(|one| one.variable.is_record()).for_each(|one| one.doubt(doubt));
}

/// Doubts variables that have bytes in common, or padding: each of two may be the wrong one.
fn overlap(all: &mut [One<'_>], records: Option<Span>) {
    let fixed = all.iter().enumerate().map(|(number, one)| (one.with_padding(), Some(number)));
    let places = fixed.chain(records.map(|span| (span, None)));
    let mut places: Vec<_> = places.filter(|(span, _)| !span.is_empty()).collect();
    places.sort_unstable_by_key(|(span, number)| (span.offset(), *number));
    let (mut furthest, mut of_records): (Option<(Span, Option<usize>)>, _) = (None, None);
    for (span, number) in places {
        match furthest {
            Some((other, before)) if span.offset() < other.end() => {
                for (one, other) in [(number, before), (before, number)] {
                    let doubt = Doubt::Overlap(other.map(usize_to_u64));
                    match one {
                        Some(one) => all.get_mut(one).into_iter().for_each(|one| one.doubt(doubt)),
                        None => of_records = Some(doubt),
                    }
                }
            }
            _ => {}
        }
        if furthest.is_none_or(|(other, _)| other.end() < span.end()) {
            furthest = Some((span, number));
        }
    }
    if let Some(doubt) = of_records {
        doubt_records(all, doubt);
    }
}

/// Doubts record variables of which one begins in the padding of the other.
fn padding(all: &mut [One<'_>]) {
    let mut before: Option<(usize, u64)> = None;
    for number in 0..all.len() {
        let Some(one) = all.get_mut(number).filter(|one| one.variable.is_record()) else {
            continue;
        };
        let end = one.first.offset().saturating_add(one.padded());
        if let Some((other, min)) = before
            && one.first.offset() < min
        {
            one.doubt(Doubt::Overlap(Some(usize_to_u64(other))));
            let doubt = Doubt::Overlap(Some(usize_to_u64(number)));
            all.get_mut(other).into_iter().for_each(|other| other.doubt(doubt));
        }
        before = Some((number, end));
    }
}

/// Doubts variables that begin before the end of one that is defined before, or of the header. What
/// the file does not have counts for nothing.
fn order(all: &mut [One<'_>], header_len: u64, records: Option<Span>) {
    let mut min = header_len;
    for one in all.iter_mut().filter(|one| !one.there.is_empty()) {
        let begin = one.there.offset();
        if begin < min {
            one.doubt(Doubt::Order { begin, min });
        }
        min = min.max(one.there.end());
    }
    match records.map(Span::offset) {
        Some(begin) if begin < min => doubt_records(all, Doubt::Order { begin, min }),
        _ => {}
    }
}

/// Keeps the variables that a file can have within `limits`: first those that exist, then in the
/// order of definition those of which some bytes are filled, or are those of another one, too.
/// `size` is that of the header and of the records.
fn fit(all: &mut [One<'_>], mut size: u64, limits: Limits) {
    let mut fills = 0_u64;
    for one in &mut *all {
        let is_record = one.variable.is_record();
        one.is_kept = is_record || matches!(one.word, Certainty::AsFound(_));
        size = size.saturating_add(if one.is_kept && !is_record { one.padded() } else { 0 });
    }
    for one in all.iter_mut().filter(|one| !one.is_kept) {
        let (len, with) = (one.first.len(), size.saturating_add(one.padded()));
        let missing = len.saturating_sub(one.there.len());
        let with_fills = fills.saturating_add(missing);
        match (with <= limits.all, with_fills <= limits.fills) {
            (true, true) => (one.is_kept, size, fills) = (true, with, with_fills),
            (is_fair, _) => {
                let limit = if is_fair { limits.fills } else { limits.all };
                one.word = Certainty::Lost(Loss::Claimed { len, missing, limit });
            }
        }
    }
}

/// Drops variables that are too large for their version and not the last ones.
fn drop_large(all: &mut [One<'_>], version: Version) {
    let (mut large, mut wrong, mut has_records) = (LargeVars::new(version), Vec::new(), false);
    for (number, one) in (0..).zip(&*all).filter(|(_, one)| one.is_kept) {
        let is_record = one.variable.is_record();
        has_records |= is_record;
        wrong.extend(large.add(number, one.first.len(), is_record).err());
    }
    wrong.extend(large.not_last(has_records));
    for number in wrong {
        let one = usize::try_from(number).ok().and_then(|number| all.get_mut(number));
        one.into_iter().for_each(|one| one.drop(version));
    }
}

/// Gives the new places, and drops what begins further than its version can say. Returns the end of
/// the fixed variables, where the records begin.
fn place(all: &mut [One<'_>], old: &Header) -> u64 {
    let header_len = |all: &[One<'_>]| len_of(old, all.iter().map(|one| one.is_kept));
    let start = header_len(all);
    let (mut at, mut fixed_end) = (start, start);
    for is_record in [false, true] {
        let is_here = |one: &&mut One<'_>| one.is_kept && one.variable.is_record() == is_record;
        for one in all.iter_mut().filter(is_here) {
            if at > old.version().max_begin() {
                one.drop(old.version());
                continue;
            }
            one.begin = at;
            at = at.saturating_add(one.padded());
        }
        fixed_end = if is_record { fixed_end } else { at };
    }
    // What was dropped made the header shorter.
    let shorter = start.saturating_sub(header_len(all));
    all.iter_mut().for_each(|one| one.begin = one.begin.saturating_sub(shorter));
    fixed_end.saturating_sub(shorter)
}
