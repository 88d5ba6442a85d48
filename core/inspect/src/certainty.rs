//! The words for what a recovery returns, the same in every format.
//!
//! | word | promise |
//! |---|---|
//! | exact | a checksum covers every byte, and all bytes were compared with it |
//! | as found | the structure is proven, and the text says by what; no checksum covers every byte |
//! | guess | it may be what was written, and the text says why this is not known |
//! | lost | it is not in the output, and the text says why |
//!
//! A recovery is sound if nothing is a guess or lost, and nothing in the file contradicts it.

use crate::finding::Coverage;
use core::fmt;

/// How certain it is that bytes are those that were written: `P` proves a structure, `D` is a
/// doubt, `L` a loss. `Display` prints the word and the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty<P, D, L> {
    /// A checksum covers every byte, and all bytes were compared with it.
    Exact,
    /// The structure is proven by `P`; no checksum covers every byte.
    AsFound(P),
    /// They may be wrong.
    Guess(D),
    /// They cannot be returned.
    Lost(L),
}

/// The word of a [`Certainty`], from the best to the worst.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Word {
    /// A checksum covers every byte, and all bytes were compared with it.
    #[default]
    Exact,
    /// The structure is proven; no checksum covers every byte.
    AsFound,
    /// It may be wrong.
    Guess,
    /// It is not in the output.
    Lost,
}

impl Word {
    /// The word, for text and for JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::AsFound => "as found",
            Self::Guess => "guess",
            Self::Lost => "lost",
        }
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl<P, D, L> Certainty<P, D, L> {
    /// Its word.
    #[must_use]
    pub const fn word(&self) -> Word {
        match self {
            Self::Exact => Word::Exact,
            Self::AsFound(_) => Word::AsFound,
            Self::Guess(_) => Word::Guess,
            Self::Lost(_) => Word::Lost,
        }
    }

    /// Whether the output has the bytes.
    #[must_use]
    pub const fn is_saved(&self) -> bool {
        !matches!(self, Self::Lost(_))
    }

    /// The reason for the word.
    pub const fn why(&self) -> Why<'_, P, D, L> {
        Why(self)
    }
}

impl<P: fmt::Display, D: fmt::Display, L: fmt::Display> fmt::Display for Certainty<P, D, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.word(), self.why())
    }
}

/// The reason for a word, as text.
#[derive(Debug, Clone, Copy)]
pub struct Why<'a, P, D, L>(&'a Certainty<P, D, L>);

impl<P: fmt::Display, D: fmt::Display, L: fmt::Display> fmt::Display for Why<'_, P, D, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Certainty::Exact => f.write_str("as its checksums say"),
            Certainty::AsFound(proof) => proof.fmt(f),
            Certainty::Guess(doubt) => doubt.fmt(f),
            Certainty::Lost(loss) => loss.fmt(f),
        }
    }
}

/// What a whole recovery returns. `Display` is the end of its report: the verdict, and how many
/// bytes were compared with checksums.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// Number of streams, frames or values that are exact.
    pub exact: u64,
    /// Number of those that are as found.
    pub as_found: u64,
    /// Number of those that are a guess.
    pub guesses: u64,
    /// Number of those that are lost.
    pub lost: u64,
    /// Whether something else in the file contradicts what was returned: its header, its tables, or
    /// another file of the set.
    pub is_contradicted: bool,
    /// The bytes that were returned, and how many of them were compared with checksums that fit.
    pub coverage: Coverage,
}

impl Tally {
    /// Adds so many streams, frames or values with this word.
    pub const fn add(&mut self, word: Word, number: u64) {
        let count = match word {
            Word::Exact => &mut self.exact,
            Word::AsFound => &mut self.as_found,
            Word::Guess => &mut self.guesses,
            Word::Lost => &mut self.lost,
        };
        *count = count.saturating_add(number);
    }

    /// Whether everything is exact or as found, and nothing contradicts it.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.guesses == 0 && self.lost == 0 && !self.is_contradicted
    }

    /// Whether everything is exact: every byte was compared with a checksum.
    #[must_use]
    pub const fn is_exact(&self) -> bool {
        self.is_sound() && self.as_found == 0 && self.coverage.checked >= self.coverage.bytes
    }

    /// The worst word; what contradicts makes it a guess.
    #[must_use]
    pub const fn word(&self) -> Word {
        match (self.lost, self.guesses, self.is_contradicted) {
            (1.., _, _) => Word::Lost,
            (0, 1.., _) | (0, 0, true) => Word::Guess,
            (0, 0, false) if self.is_exact() => Word::Exact,
            (0, 0, false) => Word::AsFound,
        }
    }

    /// The verdict on the whole.
    #[must_use]
    pub const fn verdict(&self) -> &'static str {
        match self.word() {
            Word::Exact => "exact",
            Word::AsFound => "as found",
            Word::Guess => "a guess",
            Word::Lost => "a part is lost",
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.verdict(), self.coverage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bytes_that_were_compared_are_called_exact() {
        let mut tally = Tally::default();
        assert_eq!(tally.word(), Word::Exact); // of nothing
        tally.coverage.add(2);
        tally.coverage.add_checked(1);
        tally.add(Word::Exact, 1);
        assert_eq!((tally.word(), tally.is_sound()), (Word::AsFound, true));
        tally.coverage.add_checked(1);
        assert_eq!((tally.word(), tally.is_sound()), (Word::Exact, true));
        tally.is_contradicted = true;
        assert_eq!((tally.word(), tally.is_sound()), (Word::Guess, false));
        tally.is_contradicted = false;
        tally.add(Word::Guess, 3);
        assert_eq!((tally.word(), tally.is_sound()), (Word::Guess, false));
        tally.add(Word::Lost, 1);
        assert_eq!((tally.word(), tally.is_sound(), tally.guesses), (Word::Lost, false, 3));
        let mut tally = Tally::default();
        tally.add(Word::AsFound, 2);
        assert_eq!((tally.word(), tally.is_sound()), (Word::AsFound, true)); // of no bytes
    }
}
