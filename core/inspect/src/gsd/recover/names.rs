//! Finds the names: from the list, from an older list, or made from ids.

use super::evidence::Evidence;
use crate::gsd::Failed;
use crate::subject::{Subject, Sum, read as read_bytes, read_pieces, stored_parts};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use alloc::{format, vec};
use striae_core::gsd::layout::{MAX_NAMES, NameBlock};
use striae_core::gsd::{Version, checksums};
use striae_core::integrity::{Checksum, wrong_bit};
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::usize_to_u64;

/// The most bytes of a name list that are read.
const MAX_LEN: u64 = 1 << 26;

/// The most bytes of an older list that are read.
const GUESS_LEN: u64 = 1 << 20;

/// The place of the first name list in files of gsd, and in files of striae.
const FIRST: [u64; 2] = [4352, 1024];

/// Names by their ids.
#[derive(Debug)]
pub(super) struct Names {
    names: Vec<Box<[u8]>>,
    /// Whether there is evidence against them.
    pub(super) are_doubtful: bool,
    /// The number of first ids whose names have a fitting checksum.
    pub(super) proven: u32,
    /// The number of names in the original file, if known.
    pub(super) total: Option<u32>,
    /// The id of the chunks that hold checksums.
    pub(super) sums: Option<u16>,
    invented: BTreeMap<u16, Vec<u8>>,
}

impl Names {
    pub(super) fn find<S: Subject>(subject: &S, evidence: &Evidence) -> Result<Self, Failed<S>> {
        let mut names = match evidence.record {
            Some(record) => {
                let (len, crc) = (u64::from(record.names_len), record.names_crc);
                let mut names = Self::committed(subject, evidence, len, crc)?;
                names.total = Some(record.names);
                names.names.truncate(usize::try_from(record.names).unwrap_or(usize::MAX));
                names.proven = if names.are_doubtful { 0 } else { record.names };
                names
            }
            None => {
                let mut names = Self::plain(subject, evidence)?;
                names.proven = Self::proven(subject, evidence)?;
                names
            }
        };
        names.drop_unusable(evidence.version);
        names.sums = names.id(checksums::NAME);
        Ok(names)
    }

    /// The names of a commit; their checksum proves them.
    fn committed<S: Subject>(
        subject: &S,
        evidence: &Evidence,
        len: u64,
        crc: u32,
    ) -> Result<Self, Failed<S>> {
        let version = evidence.version;
        let places = [evidence.names.location].into_iter();
        let places = places.chain(evidence.more_names.iter().map(|block| block.location));
        let places: Vec<u64> = places.chain(FIRST).collect();
        let mut best = Vec::new();
        for (number, place) in places.iter().enumerate() {
            let mut bytes = read_some(subject, *place, len, evidence.file_len)?;
            let is_whole = usize_to_u64(bytes.len()) == len;
            if is_whole && subject.checksum(Sum::Crc32c)(0, &bytes) == crc {
                return Ok(Self::new(parse(&bytes, version), false));
            }
            if is_whole && correct(&mut bytes, crc, subject.checksum(Sum::Crc32c)) {
                return Ok(Self::new(parse(&bytes, version), true));
            }
            // Behind one that is damaged, others may have moved; and zeros may have cut one short.
            let mut names = parse(&bytes, version);
            let sound = names.iter().take_while(|name| is_text(name)).count();
            let is_damaged = number == 0 && is_whole;
            names.truncate(if is_damaged {
                sound.min(names.len().saturating_sub(1))
            } else {
                sound
            });
            if names.len() > best.len() {
                best = names;
            }
        }
        Ok(Self::new(best, true))
    }

    /// The names of a file without a commit record.
    fn plain<S: Subject>(subject: &S, evidence: &Evidence) -> Result<Self, Failed<S>> {
        let (version, file_len) = (evidence.version, evidence.file_len);
        let list = |place: u64, len: u64| -> Result<_, Failed<S>> {
            Ok(parse(&read_some(subject, place, len, file_len)?, version))
        };
        let NameBlock { location, units } = evidence.names;
        let mut best = list(location, units.saturating_mul(64))?;
        let is_whole = evidence.names_are_whole;
        if is_whole {
            let mut names = Self::new(best, false);
            names.total = Some(names.len());
            return Ok(names);
        }
        for place in FIRST {
            let names = list(place, GUESS_LEN)?;
            if names.len() > best.len() && names.iter().all(|name| is_text(name)) {
                best = names;
            }
        }
        // Longer lists start with the same name.
        let first = best.first().cloned().unwrap_or_default();
        for place in find_all(subject, &first, version, file_len)? {
            let names = list(place, GUESS_LEN)?;
            if names.starts_with(&best) && names.iter().all(|name| is_text(name)) {
                best = names;
            }
        }
        Ok(Self::new(best, true))
    }

    /// The number of names of the last commit in a file that gsd has appended to: gsd adds new
    /// names after them, even if it moves the list.
    fn proven<S: Subject>(subject: &S, evidence: &Evidence) -> Result<u32, Failed<S>> {
        let Some(commit) = evidence.stale_commit else { return Ok(0) };
        let len = u64::from(commit.names_len.get());
        let bytes = read_some(subject, evidence.names.location, len, evidence.file_len)?;
        let is_proven = usize_to_u64(bytes.len()) == len
            && subject.checksum(Sum::Crc32c)(0, &bytes) == commit.names_crc.get();
        let names = if is_proven { parse(&bytes, evidence.version) } else { Vec::new() };
        Ok(u32::try_from(names.len()).unwrap_or(0))
    }

    const fn new(names: Vec<Box<[u8]>>, are_doubtful: bool) -> Self {
        let invented = BTreeMap::new();
        Self { names, are_doubtful, proven: 0, total: None, sums: None, invented }
    }

    fn len(&self) -> u32 {
        u32::try_from(self.names.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn id(&self, name: &[u8]) -> Option<u16> {
        let at = self.names.iter().position(|known| **known == *name)?;
        u16::try_from(at).ok()
    }

    /// Drops names that cannot be written again: a repeated name except its first occurrence, a
    /// name that is not UTF-8, and a name that fills a slot of layer 1, whose NUL is lost.
    fn drop_unusable(&mut self, version: Version) {
        let mut seen = BTreeSet::new();
        let mut are_doubtful = false;
        for name in &mut self.names {
            // gsd's layer 1 cuts names, also inside a character.
            let is_cut = !version.is_sorted() && name.len() == 63;
            let fills_slot = !version.is_sorted() && name.len() > 63;
            if fills_slot || !is_cut && core::str::from_utf8(name).is_err() {
                *name = Box::default();
                are_doubtful = true;
            }
            if !name.is_empty() && !seen.insert(name.clone()) {
                *name = Box::default();
                are_doubtful = true;
            }
        }
        self.are_doubtful |= are_doubtful;
    }

    /// Replaces names that layer 1 has cut inside a character, which layer 2 cannot have; returns
    /// whether there are any.
    pub(super) fn replace_cut(&mut self) -> bool {
        let mut cut = Vec::new();
        for (name, id) in self.names.iter_mut().zip(0..) {
            if core::str::from_utf8(name).is_err() {
                *name = Box::default();
                cut.push(id);
            }
        }
        cut.iter().for_each(|&id| self.invent(id));
        !cut.is_empty()
    }

    /// The name with this id, if it is known or was made from the id.
    pub(super) fn get(&self, id: u16) -> Option<&[u8]> {
        let known = self.names.get(usize::from(id)).filter(|name| !name.is_empty());
        known.map(|name| &**name).or_else(|| self.invented.get(&id).map(Vec::as_slice))
    }

    pub(super) fn invented(&self) -> impl Iterator<Item = (u16, &[u8])> {
        self.invented.iter().map(|(id, name)| (*id, name.as_slice()))
    }

    /// The bytes of all names.
    pub(super) fn bytes(&self) -> u64 {
        let len = |name: &[u8]| usize_to_u64(name.len()).saturating_add(64);
        let known = self.names.iter().map(|name| len(name));
        let invented = self.invented.values().map(|name| len(name));
        known.chain(invented).fold(0, u64::saturating_add)
    }

    /// Makes a name for this id, if it has none.
    pub(super) fn invent(&mut self, id: u16) {
        if self.get(id).is_some() {
            return;
        }
        let mut name = format!("unknown_{id}").into_bytes();
        while self.names.iter().any(|known| **known == *name) {
            name.push(b'_');
        }
        self.invented.insert(id, name);
    }
}

fn is_text(name: &[u8]) -> bool {
    core::str::from_utf8(name).is_ok_and(|name| !name.chars().any(char::is_control))
}

/// The names in a list, up to the first empty or unterminated one.
fn parse(bytes: &[u8], version: Version) -> Vec<Box<[u8]>> {
    let most = usize::try_from(MAX_NAMES).unwrap_or(usize::MAX);
    let whole = |name: &[u8]| Box::from(name);
    if version.is_sorted() {
        let end = bytes.iter().rposition(|&byte| byte == 0).unwrap_or(0);
        let names = bytes.get(..end).unwrap_or_default().split(|&byte| byte == 0);
        return names.take_while(|name| !name.is_empty()).take(most).map(whole).collect();
    }
    let slots = bytes.chunks_exact(64);
    let names = slots.map(|slot| slot.split(|&byte| byte == 0).next().unwrap_or_default());
    names.take_while(|name| !name.is_empty()).take(most).map(whole).collect()
}

/// The bytes at `place`, at most `len`, or as many as the file has.
fn read_some<S: Subject>(
    subject: &S,
    place: u64,
    len: u64,
    file_len: u64,
) -> Result<Vec<u8>, Failed<S>> {
    let there = Span::between(place, file_len).map_or(0, Span::len);
    let len = len.min(there).min(MAX_LEN);
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
    read_bytes(subject, place, &mut bytes)?;
    Ok(bytes)
}

/// Corrects the one wrong bit; returns whether there was exactly one.
fn correct(bytes: &mut [u8], stored: u32, checksum: Checksum) -> bool {
    let Some((at, bit)) = wrong_bit(bytes, stored, checksum) else { return false };
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= bit;
    }
    true
}

/// The most bytes of a name that are used for a search.
const SEARCHED: usize = 1 << 12;

/// The places where `name` may be the first name of a list, at most 64.
fn find_all<S: Subject>(
    subject: &S,
    name: &[u8],
    version: Version,
    file_len: u64,
) -> Result<Vec<u64>, Failed<S>> {
    let mut wanted = name.to_vec();
    wanted.push(0);
    if !version.is_sorted() {
        wanted.resize(wanted.len().max(64), 0);
    }
    wanted.truncate(SEARCHED);
    let mut found = Vec::new();
    if name.is_empty() {
        return Ok(found);
    }
    let from = 256.min(file_len);
    let all = Span::between(from, file_len).unwrap_or(Span::ZERO);
    let len = usize_to_u64(wanted.len());
    let mut search = Search::new(wanted);
    for part in stored_parts(subject, all, len).map_err(DriveError::Store)? {
        let mut end = part.offset();
        search.seen = 0;
        read_pieces(subject, part, &mut Vec::new(), &mut |piece| {
            for byte in piece {
                end = end.saturating_add(1);
                if search.is_end(byte) && found.len() < 64 {
                    found.push(end.saturating_sub(len));
                }
            }
            true
        })?;
    }
    Ok(found)
}

/// A search by Knuth, Morris and Pratt, in linear time for any input.
struct Search<T> {
    wanted: Vec<T>,
    /// For each non-empty prefix of `wanted`, the length of the longest shorter prefix that it ends
    /// with.
    shorter: Vec<usize>,
    /// The length of the prefix seen so far.
    seen: usize,
}

impl<T: PartialEq + Clone> Search<T> {
    fn new(wanted: Vec<T>) -> Self {
        let mut search = Self { wanted, shorter: vec![0], seen: 0 };
        for item in search.wanted.clone().iter().skip(1) {
            search.take(item);
            search.shorter.push(search.seen);
        }
        Self { seen: 0, ..search }
    }

    /// Whether `wanted` ends with this item.
    fn is_end(&mut self, item: &T) -> bool {
        self.take(item);
        let is_end = self.seen == self.wanted.len();
        if is_end {
            self.fall_back();
        }
        is_end
    }

    fn take(&mut self, item: &T) {
        while self.wanted.get(self.seen) != Some(item) {
            if self.seen == 0 {
                return;
            }
            self.fall_back();
        }
        self.seen = self.seen.saturating_add(1);
    }

    fn fall_back(&mut self) {
        let longest = self.seen.checked_sub(1).and_then(|at| self.shorter.get(at));
        self.seen = longest.copied().unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    /// Counts how often it is compared.
    #[derive(Clone)]
    struct Counted<'a>(u8, &'a Cell<usize>);

    impl PartialEq for Counted<'_> {
        fn eq(&self, other: &Self) -> bool {
            self.1.set(self.1.get().saturating_add(1));
            self.0 == other.0
        }
    }

    #[test]
    fn a_name_is_found_everywhere_by_few_comparisons_whatever_it_is() {
        let repeated = |bytes: &[u8], count| bytes.repeat(count);
        for (text, name) in [
            (repeated(b"a", 3000), repeated(b"a", 1000)),
            (repeated(b"a", 3000), [&repeated(b"a", 999)[..], b"\0"].concat()),
            (repeated(b"aab", 1000), b"aabaabaa".to_vec()),
            (repeated(b"abcabd", 500), b"abcabdabcabc".to_vec()),
            (b"xpositionposition\0position\0".to_vec(), b"position\0".to_vec()),
            (repeated(b"b", 100), b"b".to_vec()),
        ] {
            let count = Cell::new(0);
            let items = |bytes: &[u8]| bytes.iter().map(|&byte| Counted(byte, &count)).collect();
            let (wanted, all): (Vec<_>, Vec<_>) = (items(&name), items(&text));
            let mut search = Search::new(wanted);
            let ends = (1..).zip(&all).filter(|(_, item)| search.is_end(item));
            let found: Vec<usize> =
                ends.map(|(end, _): (usize, _)| end.saturating_sub(name.len())).collect();
            let windows = text.windows(name.len()).enumerate();
            let right: Vec<_> = windows.filter(|(_, it)| *it == name).map(|(at, _)| at).collect();
            assert_eq!(found, right, "{}", name.escape_ascii());
            assert!(
                count.get() <= (text.len().saturating_add(name.len())).saturating_mul(2),
                "{}",
                count.get()
            );
        }
    }
}
