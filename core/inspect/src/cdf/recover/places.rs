//! Which variables of a damaged file can be saved, from where, and to which place of the new file.

use super::header::{New, len_of};
use super::records::{Records, there};
use super::words::{Certainty, Doubt, Loss, Proof};
use crate::cdf::header::Header;
use crate::cdf::items::Variable;
use crate::size::Demand;
use alloc::vec;
use alloc::vec::Vec;
use striae_core::cdf::Version;
use striae_core::cdf::layout::{RecordSize, padded};
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
        let variables: Vec<Variable<'_>> = old.variables().collect();
        let mut judge = Judge { old, words: words(old, &variables, records), variables };
        judge.overlap(records);
        judge.order(records);
        let padding = usize_to_u64(judge.variables.len()).saturating_mul(4);
        let holes = old.head().file_len.saturating_sub(existing);
        let own = old.head().header_len.saturating_add(padding);
        let of_fills = Demand { size: 0, existing, own }; // they are no holes
        let demand = Demand { own: own.saturating_add(holes), ..of_fills };
        let [all, fills] = [demand, of_fills].map(|one| max_size.unwrap_or_else(|| one.limit()));
        let of_records = records.map_or(0, |records| records.bytes());
        let mut is_kept = judge.fitting(Limits { all, fills }, of_records);
        judge.drop_large(&mut is_kept);
        let kept = judge.place(&mut is_kept);
        let file_len = judge.file_len(&kept, records);
        let saved = judge.saved(&kept, records);
        let demand = Demand { size: file_len, ..demand };
        Self { words: judge.words, kept, demand, file_len, saved }
    }
}

/// The words of variables alone.
fn words(old: &Header, variables: &[Variable<'_>], records: Option<&Records>) -> Vec<Certainty> {
    let header_len = old.head().header_len;
    let word = |variable: &Variable<'_>| {
        let first = variable.layout().first;
        if variable.is_record() {
            let doubt = records.and_then(|records| records.doubt_of(*variable));
            return doubt.map_or(Certainty::AsFound(Proof::Header), Certainty::Guess);
        }
        let missing = first.len().saturating_sub(there(old, *variable).len());
        match missing {
            0 => Certainty::AsFound(Proof::Header),
            _ if first.offset() < header_len => {
                Certainty::Lost(Loss::Header { begin: first.offset() })
            }
            missing => Certainty::Lost(Loss::Cut { missing, len: first.len() }),
        }
    };
    variables.iter().map(word).collect()
}

/// The most bytes of a new file, and of fill values in it.
#[derive(Debug, Clone, Copy)]
struct Limits {
    all: u64,
    fills: u64,
}

struct Judge<'h> {
    old: &'h Header,
    variables: Vec<Variable<'h>>,
    words: Vec<Certainty>,
}

impl Judge<'_> {
    /// Makes a word a guess, unless it is worse already.
    fn doubt(&mut self, number: usize, doubt: Doubt) {
        if let Some(word @ Certainty::AsFound(_)) = self.words.get_mut(number) {
            *word = Certainty::Guess(doubt);
        }
    }

    /// Doubts variables that begin before the end of one that is defined before. What the file does
    /// not have counts for nothing.
    fn order(&mut self, records: Option<&Records>) {
        let mut min = self.old.head().header_len;
        for number in 0..self.variables.len() {
            let Some(variable) = self.variables.get(number).filter(|one| !one.is_record()) else {
                continue;
            };
            let there = there(self.old, *variable);
            if there.is_empty() {
                continue;
            }
            if there.offset() < min {
                self.doubt(number, Doubt::Order { begin: there.offset(), min });
            }
            min = min.max(there.end());
        }
        match records.and_then(Records::span).map(Span::offset) {
            Some(begin) if begin < min => self.doubt_records(Doubt::Order { begin, min }),
            _ => {}
        }
    }

    /// Doubts variables that have bytes in common: each of two may be the wrong one.
    fn overlap(&mut self, records: Option<&Records>) {
        let fixed = (0..).zip(&self.variables).filter(|(_, variable)| !variable.is_record());
        let fixed = fixed.map(|(number, variable)| (there(self.old, *variable), Some(number)));
        let records = records.and_then(Records::span).map(|span| (span, None));
        let mut all: Vec<_> = fixed.chain(records).filter(|(span, _)| !span.is_empty()).collect();
        all.sort_unstable_by_key(|(span, number)| (span.offset(), *number));
        let (mut furthest, mut of_records): (Option<(Span, Option<usize>)>, _) = (None, None);
        for (span, number) in all {
            match furthest {
                Some((other, before)) if span.offset() < other.end() => {
                    for (one, other) in [(number, before), (before, number)] {
                        let doubt = Doubt::Overlap(other.map(usize_to_u64));
                        match one {
                            Some(one) => self.doubt(one, doubt),
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
            self.doubt_records(doubt);
        }
    }

    /// Doubts all variables with records.
    fn doubt_records(&mut self, doubt: Doubt) {
        for number in 0..self.variables.len() {
            if self.variables.get(number).is_some_and(|one| one.is_record()) {
                self.doubt(number, doubt);
            }
        }
    }

    /// The variables that a file can have within `limits`: first those that exist, then in the
    /// order of definition those of which some bytes are filled, or are those of another one, too.
    fn fitting(&mut self, limits: Limits, of_records: u64) -> Vec<bool> {
        let clean =
            self.words.iter().zip(&self.variables).map(|(word, variable)| {
                variable.is_record() || matches!(word, Certainty::AsFound(_))
            });
        let mut is_kept: Vec<bool> = clean.collect();
        let every = vec![true; is_kept.len()];
        let (mut size, mut fills) = (len_of(self.old, &every).saturating_add(of_records), 0_u64);
        let len = |variable: &Variable<'_>| match variable.is_record() {
            true => 0,
            false => padded(variable.layout().first.len()).unwrap_or(u64::MAX),
        };
        let sizes = self.variables.iter().zip(&is_kept).filter(|(_, is_kept)| **is_kept);
        size = sizes.map(|(one, _)| len(one)).fold(size, u64::saturating_add);
        let all = self.variables.iter().zip(&mut self.words).zip(&mut is_kept);
        for ((variable, word), is_kept) in all.filter(|(_, is_kept)| !**is_kept) {
            let with = size.saturating_add(len(variable));
            let len = variable.layout().first.len();
            let missing = len.saturating_sub(there(self.old, *variable).len());
            let with_fills = fills.saturating_add(missing);
            match (with <= limits.all, with_fills <= limits.fills) {
                (true, true) => (*is_kept, size, fills) = (true, with, with_fills),
                (is_fair, _) => {
                    let limit = if is_fair { limits.fills } else { limits.all };
                    *word = Certainty::Lost(Loss::Claimed { len, missing, limit });
                }
            }
        }
        is_kept
    }

    fn drop(&mut self, number: usize, is_kept: &mut [bool]) {
        let version = self.old.version();
        let len = self.variables.get(number).map_or(0, |one| one.layout().first.len());
        if let (Some(word), Some(is_kept)) = (self.words.get_mut(number), is_kept.get_mut(number)) {
            *word = Certainty::Lost(Loss::Large { len, version });
            *is_kept = false;
        }
    }

    /// Drops variables that are too large for their version and not the last ones.
    fn drop_large(&mut self, is_kept: &mut [bool]) {
        let version = self.old.version();
        let (mut fixed, mut record, mut has_records) = (None, None, false);
        for number in 0..self.variables.len() {
            let Some(variable) = self.variables.get(number).copied() else { continue };
            if !is_kept.get(number).is_some_and(|is_kept| *is_kept) {
                continue;
            }
            let is_record = variable.is_record();
            has_records |= is_record;
            let last = if is_record { &mut record } else { &mut fixed };
            let before = last.take();
            let is_large = version.max_len() < variable.layout().first.len();
            let is_never_right = is_large && version == Version::Cdf5;
            *last = Some(number).filter(|_| is_large && !is_never_right);
            let never = Some(number).filter(|_| is_never_right);
            before.into_iter().chain(never).for_each(|number| self.drop(number, is_kept));
        }
        if let Some(number) = fixed.filter(|_| has_records) {
            self.drop(number, is_kept);
        }
    }

    /// The new places; drops what begins further than its version can say.
    fn place(&mut self, is_kept: &mut [bool]) -> Vec<New> {
        let max = match self.old.version() {
            Version::Cdf1 => 0x7fff_ffff,
            Version::Cdf2 | Version::Cdf5 => i64::MAX.unsigned_abs(),
        };
        let mut at = len_of(self.old, is_kept);
        let mut kept = Vec::new();
        for is_record in [false, true] {
            for number in 0..self.variables.len() {
                let Some(variable) = self.variables.get(number).copied() else { continue };
                let is_here = is_kept.get(number).is_some_and(|is_kept| *is_kept);
                if !is_here || variable.is_record() != is_record {
                    continue;
                }
                if at > max {
                    self.drop(number, is_kept);
                    continue;
                }
                kept.push(New { number, begin: at });
                let len = padded(variable.layout().first.len()).unwrap_or(u64::MAX);
                at = at.saturating_add(len);
            }
        }
        // What was dropped made the header shorter.
        let first = kept.first().map_or(0, |new| new.begin);
        let shorter = first.saturating_sub(len_of(self.old, is_kept));
        kept.iter_mut().for_each(|new| new.begin = new.begin.saturating_sub(shorter));
        kept.sort_unstable_by_key(|new| new.number);
        kept
    }

    fn layouts<'k>(&'k self, kept: &'k [New]) -> impl Iterator<Item = (New, Variable<'k>)> {
        kept.iter().filter_map(|new| Some((*new, *self.variables.get(new.number)?)))
    }

    fn file_len(&self, kept: &[New], records: Option<&Records>) -> u64 {
        let is_kept = |number| kept.binary_search_by_key(&number, |new| new.number).is_ok();
        let is_kept: Vec<bool> = (0..self.variables.len()).map(is_kept).collect();
        let (mut end, mut first) = (len_of(self.old, &is_kept), None);
        let mut sizes = RecordSize::EMPTY;
        for (new, variable) in self.layouts(kept) {
            let len = variable.layout().first.len();
            if variable.is_record() {
                first = first.or(Some(new.begin));
                sizes = sizes.with(len).unwrap_or(sizes);
            } else {
                let len = padded(len).unwrap_or(u64::MAX);
                end = end.max(new.begin.saturating_add(len));
            }
        }
        match (first, records.map_or(0, |records| records.saved)) {
            (Some(first), 1..) => {
                let saved = records.map_or(0, |records| records.saved);
                first.saturating_add(sizes.get().saturating_mul(saved))
            }
            _ => end,
        }
    }

    fn saved(&self, kept: &[New], records: Option<&Records>) -> u64 {
        let records = records.map_or(0, |records| records.saved);
        let len = |variable: Variable<'_>| match variable.is_record() {
            true => variable.layout().first.len().saturating_mul(records),
            false => there(self.old, variable).len(),
        };
        self.layouts(kept).map(|(_, variable)| len(variable)).fold(0, u64::saturating_add)
    }
}
