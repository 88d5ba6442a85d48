//! Saves the ranks of a damaged text map whose lines are whole.
//!
//! The first line and the dimensions must be sound. Then each line is judged by itself: a rank is
//! saved if its line has a rank and a count, and the next line as many elements of the array, each
//! once. Of these, the most are kept whose ranks increase, so that one wrong rank loses no others.
//! After a line that is neither, the next lines are a guess until a line has three numbers or
//! more: such a line has elements, so the one before it is that of their rank.

use super::tokens::END;
use super::{Decomposition, Map, text};
use crate::certainty::{Certainty as Words, Tally, Word};
use crate::subject::{Failed, WINDOW, read_windows};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::num::NonZeroU32;
use striae_core::blob::map::{Error, Event, Flaw, Join, Parser, Request};
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::{ReadAt, usize_to_u64};
use striae_core::texts;

/// How certain it is that a rank is as it was written.
pub type Certainty = Words<Proof, Doubt, Loss>;

/// What proves a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proof;

texts! {
    /// Why a rank may be wrong.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Doubt;

    /// After damage, its two lines could be elements of two ranks.
    Damage => "after damage, its lines may be elements of other ranks";
    /// Its last line has no end, so that its last number may lack digits.
    Cut => "its last line has no end, so its last number may lack digits";
    /// The file ends before the last ranks, and elements are in no rank: it may be cut.
    Missing {
        /// The first of them.
        first: u64,
        /// The last rank.
        last: u64,
    } => "the file ends before ranks {first} to {last}, which may have the elements that \
         no other has";
}

texts! {
    /// Why lines are lost.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Loss;

    /// They are not those of a rank.
    Lines => "they are not a rank and its elements";
    /// The rank has elements outside of the array, or has one twice.
    Elements => "it has elements outside of the array, or one twice";
    /// The rank does not come after those before it.
    Order => "it does not come after the ranks before it";
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("its line has a count, and the next line as many elements of the array")
    }
}

/// A rank that was found, lines that are none, or the end of the file before the last ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The rank, if the lines say one.
    pub rank: Option<u64>,
    /// The number of the first line, from 1.
    pub line: u64,
    /// What of it is saved.
    pub certainty: Certainty,
}

/// What can be recovered from a text map.
#[derive(Debug)]
pub struct Recovery {
    map: Map,
    found: Vec<Found>,
}

impl Recovery {
    /// Judges the lines of a text map.
    ///
    /// # Errors
    /// [`Error`] if the first line or the dimensions are damaged; an error of the store.
    pub fn examine<S: ReadAt>(store: &S) -> Result<Self, Failed<S, Error>> {
        let len = store.size().map_err(DriveError::Store)?;
        let all = Span::new(0, len).unwrap_or(Span::ZERO);
        let mut lines = Lines::Head(Parser::default(), (0, 0), Vec::new());
        let mut last = b'\n';
        read_windows(store, all, WINDOW, &mut Vec::new(), |_, bytes| {
            for &byte in bytes {
                lines.take(byte).map_err(DriveError::Format)?;
                last = byte;
                if lines.has_ended() {
                    last = b'\n';
                    return Ok(false);
                }
            }
            Ok(true)
        })?;
        if let Lines::Ranks(ranks) = &mut lines
            && last != b'\n'
        {
            ranks.is_cut = true;
            ranks.take(b'\n');
        }
        match lines {
            // A length without the end of its line may lack digits.
            Lines::Head(mut parser, ..) => {
                let cut = Error::Text { line: parser.line(), offset: len, flaw: Flaw::Cut };
                Err(DriveError::Format(parser.finish().err().unwrap_or(cut)))
            }
            Lines::Ranks(ranks) => Ok(ranks.finish()),
        }
    }

    /// The map of the saved ranks.
    #[must_use]
    pub const fn map(&self) -> &Map {
        &self.map
    }

    /// The ranks in the order of the file, and the lines that are none.
    #[must_use]
    pub fn found(&self) -> &[Found] {
        &self.found
    }

    /// The words of all ranks together. Elements that two ranks have contradict each other.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let is_contradicted = self.map.damage().is_some();
        let mut tally = Tally { is_contradicted, ..Tally::default() };
        self.found.iter().for_each(|found| tally.add(found.certainty.word(), 1));
        tally.coverage.add(usize_to_u64(self.text().len()));
        tally
    }

    /// The new file.
    #[must_use]
    pub fn text(&self) -> String {
        self.map.decompositions().first().map(text).unwrap_or_default()
    }
}

/// The lines of a file.
enum Lines {
    /// The first ones, with the numbers of ranks and of dimensions, and the dimensions so far.
    Head(Parser, (u64, u64), Vec<u64>),
    Ranks(Box<Ranks>),
}

/// The lines of ranks.
struct Ranks {
    known: Decomposition,
    found: Vec<Found>,
    line: u64,
    /// The rank whose elements follow, its count, and the line.
    pending: Option<(u64, u64, u64)>,
    is_sure: bool,
    /// Whether the line at hand is the first one of lines that are none.
    has_damage: bool,
    has_ended: bool,
    /// Whether the line at hand has no end.
    is_cut: bool,
    now: Numbers,
    join: Join,
}

/// The numbers of the line at hand.
#[derive(Default)]
struct Numbers {
    count: u64,
    first: (u64, u64),
    number: Option<u64>,
    is_bad: bool,
    /// The first bytes, which may be those of the word after a map.
    start: Vec<u8>,
    /// The first request of the line, and whether an element is outside of the array.
    requests: usize,
    is_outside: bool,
}

impl Lines {
    fn has_ended(&self) -> bool {
        matches!(self, Self::Ranks(ranks) if ranks.has_ended)
    }

    fn take(&mut self, byte: u8) -> Result<(), Error> {
        let (parser, (nprocs, ndims), dims) = match self {
            Self::Ranks(ranks) => {
                ranks.take(byte);
                return Ok(());
            }
            Self::Head(parser, head, dims) => (parser, head, dims),
        };
        match parser.feed(&mut &[byte][..])? {
            Some(Event::Head { nprocs: ranks, ndims: all }) => (*nprocs, *ndims) = (ranks, all),
            Some(Event::Dim { length }) => dims.push(length),
            _ => {}
        }
        let is_whole = *ndims > 0 && usize_to_u64(dims.len()) == *ndims;
        if is_whole && byte == b'\n' {
            let dims = dims.iter().rev().copied().collect();
            let known = Decomposition::new(NonZeroU32::MIN, dims, *nprocs)?;
            *self = Self::Ranks(Box::new(Ranks {
                join: Join::new(known.grid),
                known,
                found: Vec::new(),
                line: parser.line(),
                pending: None,
                is_sure: true,
                has_damage: false,
                has_ended: false,
                is_cut: false,
                now: Numbers::default(),
            }));
        }
        Ok(())
    }
}

impl Ranks {
    fn take(&mut self, byte: u8) {
        let now = &mut self.now;
        match byte {
            b'0'..=b'9' => {
                let digit = u64::from(byte.saturating_sub(b'0'));
                let number = now.number.unwrap_or(0).checked_mul(10);
                let number = number.and_then(|number| number.checked_add(digit));
                now.is_bad |= number.is_none();
                now.number = Some(number.unwrap_or(0));
            }
            b' ' | b'\t' | b'\r' | b'\n' => self.end_number(),
            _ => {
                now.is_bad = true;
                if now.count == 0 && now.start.len() < END.len() {
                    now.start.push(byte);
                }
                self.has_ended |= self.pending.is_none() && self.now.start == END;
            }
        }
        if byte == b'\n' && !self.has_ended {
            self.end_line();
        }
    }

    fn end_number(&mut self) {
        let Some(number) = self.now.number.take() else { return };
        match self.now.count {
            0 => self.now.first.0 = number,
            1 => self.now.first.1 = number,
            _ => {}
        }
        self.now.count = self.now.count.saturating_add(1);
        if self.pending.is_some() {
            let offset = self.known.grid.offset_of(number);
            self.now.is_outside |= number > 0 && offset.is_none();
            self.known.requests.extend(offset.and_then(|offset| self.join.push(offset)));
        }
    }

    fn end_line(&mut self) {
        self.known.requests.extend(self.join.finish());
        let now = core::mem::take(&mut self.now);
        let line = self.line;
        self.line = line.saturating_add(1);
        match self.pending.take() {
            Some((rank, count, at)) if !now.is_bad && now.count == count => {
                self.is_sure |= count > 2;
                self.end_rank((rank, at), now.requests, now.is_outside);
            }
            Some((rank, _, at)) => {
                self.known.requests.truncate(now.requests);
                self.lose(Some(rank), at, Loss::Lines);
                self.begin_rank(&now, line); // its line of elements may be missing
            }
            None if now.count == 0 && !now.is_bad => {} // an empty line between ranks
            None => self.begin_rank(&now, line),
        }
        self.now.requests = self.known.requests.len();
    }

    fn begin_rank(&mut self, now: &Numbers, line: u64) {
        let (rank, count) = now.first;
        if now.is_bad || now.count != 2 || rank >= self.known.nprocs {
            self.lose(None, line, Loss::Lines);
            return;
        }
        self.has_damage = false;
        match count {
            0 => self.end_rank((rank, line), self.known.requests.len(), false),
            _ => self.pending = Some((rank, count, line)),
        }
    }

    fn lose(&mut self, rank: Option<u64>, line: u64, why: Loss) {
        self.is_sure &= why != Loss::Lines;
        // Lines that follow each other, and are of no rank, are one loss.
        if rank.is_some() || !self.has_damage {
            self.found.push(Found { rank, line, certainty: Certainty::Lost(why) });
        }
        self.has_damage = why == Loss::Lines;
    }

    fn end_rank(&mut self, (rank, line): (u64, u64), start: usize, is_outside: bool) {
        let requests = self.known.requests.get(start..).unwrap_or_default();
        if is_outside || has_twice(requests) {
            self.known.requests.truncate(start);
            return self.lose(Some(rank), line, Loss::Elements);
        }
        let certainty = match (self.is_cut, self.is_sure) {
            (true, _) => Certainty::Guess(Doubt::Cut),
            (false, true) => Certainty::AsFound(Proof),
            (false, false) => Certainty::Guess(Doubt::Damage),
        };
        self.found.push(Found { rank: Some(rank), line, certainty });
        self.known.push(rank, start, self.known.requests.len());
    }

    fn finish(mut self) -> Recovery {
        if let Some((rank, _, line)) = self.pending.take() {
            self.known.requests.truncate(self.now.requests);
            self.lose(Some(rank), line, Loss::Lines);
        }
        self.keep_increasing();
        // The number of a rank that is out of order says nothing of where the file ends.
        let is_placed = |found: &&Found| found.certainty != Certainty::Lost(Loss::Order);
        let ranks = self.found.iter().filter(is_placed).filter_map(|found| found.rank);
        let first = ranks.max().map_or(0, |last| last.saturating_add(1));
        let requests = self.known.requests.iter();
        let elements = requests.map(|request| request.len).fold(0, u64::saturating_add);
        // PIO writes a line for each rank, and `END` only after all of them.
        let is_whole = self.has_ended || self.known.grid.total() <= elements;
        if first < self.known.nprocs && !is_whole {
            let last = self.known.nprocs.saturating_sub(1);
            let certainty = Certainty::Guess(Doubt::Missing { first, last });
            self.found.push(Found { rank: None, line: self.line, certainty });
        }
        let (nprocs, decompositions) = (self.known.nprocs, vec![self.known]);
        Recovery { map: Map { nprocs, decompositions }, found: self.found }
    }
}

impl Ranks {
    /// Loses ranks that do not come after those before them: as few as possible of those that are
    /// no guess, so that one wrong digit loses one rank, and guesses where they contradict others.
    fn keep_increasing(&mut self) {
        let saved = |found: &Found| found.rank.filter(|_| found.certainty.word() != Word::Lost);
        let all: Vec<usize> =
            (0..).zip(&self.found).filter_map(|(at, one)| saved(one).map(|_| at)).collect();
        let rank = |at: usize| self.found.get(at).and_then(|found| found.rank).unwrap_or(u64::MAX);
        let is_guess =
            |at: &usize| self.found.get(*at).is_some_and(|one| one.certainty.word() == Word::Guess);
        let sure: Vec<usize> = all.iter().copied().filter(|at| !is_guess(at)).collect();
        let kept = longest_increasing(&sure, rank);
        // Between those that are kept, guesses that increase.
        let (mut chosen, mut next) =
            (Vec::with_capacity(all.len()), kept.iter().copied().peekable());
        for at in all {
            if next.peek() == Some(&at) {
                next.next();
                chosen.push(at);
            } else if is_guess(&at)
                && chosen.last().is_none_or(|&last| rank(last) < rank(at))
                && next.peek().is_none_or(|&next| rank(at) < rank(next))
            {
                chosen.push(at);
            }
        }
        let (mut chosen, lists) =
            (chosen.into_iter().peekable(), core::mem::take(&mut self.known.lists));
        let requests = core::mem::take(&mut self.known.requests);
        let mut lists = lists.into_iter();
        for (at, found) in (0..).zip(&mut self.found) {
            if saved(found).is_none() {
                continue;
            }
            let Some(list) = lists.next() else { break };
            if chosen.next_if_eq(&at).is_none() {
                found.certainty = Certainty::Lost(Loss::Order);
                continue;
            }
            let start = self.known.requests.len();
            self.known.requests.extend_from_slice(requests.get(list.requests).unwrap_or_default());
            self.known.push(list.rank, start, self.known.requests.len());
        }
    }
}

/// As many of the items, in order, as have increasing numbers.
fn longest_increasing(items: &[usize], number: impl Fn(usize) -> u64) -> Vec<usize> {
    // Of the sequences of each length, the one that ends with the smallest number: its last item.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(items.len());
    let of = |index: usize| items.get(index).map_or(u64::MAX, |&item| number(item));
    for (index, &item) in items.iter().enumerate() {
        let len = ends.partition_point(|&end| of(end) < number(item));
        before.push(len.checked_sub(1).and_then(|last| ends.get(last).copied()));
        match ends.get_mut(len) {
            Some(end) if number(item) < of(*end) => *end = index,
            Some(_) => {} // of equal numbers the first one
            None => ends.push(index),
        }
    }
    let mut kept = Vec::with_capacity(ends.len());
    let mut at = ends.last().copied();
    while let Some(index) = at {
        kept.extend(items.get(index).copied());
        at = before.get(index).copied().flatten();
    }
    kept.reverse();
    kept
}

/// Whether requests have an element in common.
fn has_twice(requests: &[Request]) -> bool {
    let mut sorted: Vec<_> = requests.iter().map(|one| (one.offset, one.end())).collect();
    sorted.sort_unstable();
    sorted.windows(2).any(|pair| matches!(pair, [(_, end), (next, _)] if next < end))
}
