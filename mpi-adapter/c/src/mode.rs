//! The words of mode strings that are for several processes, and what the environment says to them.

use std::ffi::OsString;
use striae_c::sion::parts::{Mode, words};
use striae_core::sion::{ChunkRule, Grouping};
use striae_mpi::Collect;
use striae_mpi::sion::Builder;

/// How processes write together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Together {
    /// Whether some write for others.
    pub(crate) is_collective: bool,
    /// Whether they write into their own streams what others have.
    merges: bool,
    collsize: i32,
    /// The number of buddy sets.
    buddies: u32,
}

impl Together {
    /// Reads a mode string. As in SIONlib, unknown words are ignored, and so is `cmerge` without
    /// `collective`.
    pub(crate) fn parse(text: &[u8]) -> Self {
        let mut together = Self { is_collective: false, merges: false, collsize: -1, buddies: 0 };
        for (key, value) in words(text) {
            match key {
                b"collective" => together.is_collective = true,
                b"cmerge" | b"collectivemerge" => together.merges = true,
                b"collsize" => together.collsize = number(value),
                b"buddy" => together.buddies = u32::try_from(number(value)).unwrap_or(0).max(1),
                _ => {}
            }
        }
        together
    }

    /// What the environment says in place of the mode string, for `ntasks` tasks of a file.
    pub(crate) fn with(mut self, environment: Environment, ntasks: u32) -> Self {
        let Environment { collsize, collnum, .. } = environment;
        if collsize.is_none() && collnum.is_none() {
            return self;
        }
        let ntasks = i32::try_from(ntasks).unwrap_or(i32::MAX);
        if let Some(collsize) = collsize {
            self.collsize = collsize.min(ntasks);
        } else if let Some(number) = collnum.filter(|number| *number > 0) {
            let number = number.min(ntasks).max(1).unsigned_abs();
            self.collsize = ntasks.unsigned_abs().div_ceil(number).try_into().unwrap_or(i32::MAX);
        }
        self.is_collective = self.collsize != 0;
        self
    }

    /// Whether records of others are in the stream of a process.
    pub(crate) const fn merges(self) -> bool {
        self.is_collective && self.merges
    }

    pub(crate) const fn buddies(self) -> u32 {
        self.buddies
    }

    /// A builder that writes so. Without messages between two processes nobody writes for others.
    pub(crate) fn apply(self, builder: Builder, (is_posix, has_messages): (bool, bool)) -> Builder {
        let alone = Collect::new().ranks_per_writer(1);
        let builder = if self.buddies > 0 { builder.buddies(self.buddies) } else { builder };
        if !self.is_collective {
            // As a FILE * does; with descriptors, what is written is in the file at once.
            return if is_posix { builder } else { builder.collect(alone) };
        }
        let grouping = Grouping::of_collsize(self.collsize);
        let rule =
            if self.merges { ChunkRule::Merged(grouping) } else { ChunkRule::Packed(grouping) };
        let ranks = u32::try_from(self.collsize).ok().filter(|size| *size > 0);
        let collect = match ranks {
            _ if self.merges || !has_messages => alone,
            Some(ranks) => Collect::new().ranks_per_writer(ranks),
            None => Collect::new(),
        };
        builder.rule(rule).collect(collect)
    }
}

/// What the environment of the first process says; that of the others does not count, as in
/// SIONlib.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Environment {
    collsize: Option<i32>,
    collnum: Option<i32>,
    /// Whether streams are key-value records.
    pub(crate) keyval: Option<bool>,
}

impl Environment {
    /// That of this process.
    pub(crate) fn own() -> Self {
        let value = |name: &str| -> Option<OsString> {
            let names = [format!("LSION_{name}"), format!("SION_{name}")];
            names.into_iter().find_map(std::env::var_os)
        };
        let of = |name: &str| value(name).map(|value| number(value.as_encoded_bytes()));
        let keyval = Mode::parse(b"").with_environment().keyval;
        Self { collsize: of("COLLSIZE"), collnum: of("COLLNUM"), keyval }
    }

    /// As words that are not 0 if there is a value.
    pub(crate) fn to_words(self) -> [u64; 3] {
        let word = |number: Option<i32>| {
            number.map_or(0, |number| u64::from(number.cast_unsigned()).saturating_add(1))
        };
        [word(self.collsize), word(self.collnum), word(self.keyval.map(i32::from))]
    }

    pub(crate) fn from_words(words: [u64; 3]) -> Self {
        let [collsize, collnum, keyval] = words.map(|word| {
            let number = word.checked_sub(1).and_then(|word| u32::try_from(word).ok());
            number.map(u32::cast_signed)
        });
        Self { collsize, collnum, keyval: keyval.map(|keyval| keyval != 0) }
    }
}

/// As `atoi`: the number at the start of a text, or 0.
fn number(text: &[u8]) -> i32 {
    let text = std::str::from_utf8(text).unwrap_or_default().trim_start();
    let is_part =
        |(at, byte): (usize, char)| byte.is_ascii_digit() || at == 0 && "+-".contains(byte);
    let end = text.char_indices().find(|place| !is_part(*place)).map_or(text.len(), |(at, _)| at);
    text.get(..end).and_then(|text| text.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_sionlib() {
        let nothing = Together { is_collective: false, merges: false, collsize: -1, buddies: 0 };
        assert_eq!(Together::parse(b"bw,posix,unknown"), nothing);
        let collective = Together { is_collective: true, ..nothing };
        assert_eq!(Together::parse(b"bw,collective"), collective);
        let four = Together { collsize: 4, ..collective };
        assert_eq!(Together::parse(b"collective,collsize=4,bw"), four);
        assert_eq!(Together::parse(b"collective,collsize=-1"), collective);
        assert!(!Together::parse(b"bw,cmerge,collsize=4").merges());
        assert!(Together::parse(b"bw,cmerge,collective").merges());
        assert_eq!(Together::parse(b"bw,buddy").buddies(), 1);
        assert_eq!(Together::parse(b"bw,buddy=2").buddies(), 2);
    }

    #[test]
    fn the_environment_counts_before_the_words() {
        let words = Together::parse(b"bw,collective,collsize=4");
        let of = |collsize, collnum| Environment { collsize, collnum, keyval: None };
        assert_eq!(words.with(of(None, None), 8), words);
        assert!(!words.with(of(Some(0), None), 8).is_collective);
        assert_eq!(words.with(of(Some(16), None), 8).collsize, 8);
        let five = Together::parse(b"bw").with(of(None, Some(2)), 9);
        assert_eq!((five.is_collective, five.collsize), (true, 5));
    }

    #[test]
    fn all_processes_get_the_environment_of_the_first() {
        for environment in [
            Environment::default(),
            Environment { collsize: Some(-1), collnum: Some(i32::MAX), keyval: Some(false) },
            Environment { collsize: Some(0), collnum: Some(i32::MIN), keyval: Some(true) },
        ] {
            assert_eq!(Environment::from_words(environment.to_words()), environment);
        }
        assert_eq!(Environment::default().to_words(), [0; 3]);
    }

    #[test]
    fn a_number_is_read_as_by_atoi() {
        let numbers = ["12", " -1", "+3x", "x", ""].map(|text| number(text.as_bytes()));
        assert_eq!(numbers, [12, -1, 3, 0, 0]);
    }
}
