//! Patterns of addresses, and the selection of their matches in a file.

use super::{Address, Encoded, Error, Index, KINDS, Part, decode, format_of};
use crate::formats::Format;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use striae_hoomd::glob;

/// An address, or a pattern of addresses: `*` matches any characters, also none and also `/`; `?`
/// matches one character; `[a-c]` and `[!a-c]` match one character of a set, or not of the set.
///
/// A pattern is compared with displayed addresses, whose numbers count from the start. But a number
/// in a pattern may count from the end: `frame/-1/*`. In `frame/*/particles/*`, the first `*`
/// matches only a number, and no part of the name. `task/*` matches whole tasks, and `task/*/*`
/// matches their keys, or in a set without keys their chunks; `task/*/chunk/*` matches the chunks
/// of any set.
///
/// Bytes of a name that are displayed as `%` and two digits may be written so or, except for `%`
/// and the special characters of patterns, as they are. `?` and `[a-c]` match none of them.
///
/// ```
/// use striae::address::{Address, Pattern};
///
/// let pattern: Pattern = "frame/*/particles/*".parse()?;
/// assert!(pattern.matches(&"frame/9/particles/position".parse()?));
/// assert!(!pattern.matches(&"frame/9/bonds/group".parse()?));
/// # Ok::<(), striae::address::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    One(Address),
    Many(String),
}

/// Compares kind, number and rest separately if both texts have all three.
fn matches(pattern: &str, address: &str) -> bool {
    let pieces = || pattern.splitn(3, '/').zip(address.splitn(3, '/'));
    match pieces().count() {
        3 => pieces().all(|(pattern, piece)| glob::matches(pattern, piece)),
        _ => glob::matches(pattern, address),
    }
}

impl FromStr for Pattern {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if !is_pattern(text) {
            return Ok(Self(Kind::One(text.parse()?)));
        }
        let form = |must| Error::Form { text: text.to_owned(), must };
        let kind = kind_of(text);
        if !is_pattern(kind) && format_of(kind).is_none() {
            return Err(form(&KINDS));
        }
        Ok(Self(Kind::Many(
            displayed(text).ok_or_else(|| form("a pattern with %25 for a % in the name"))?,
        )))
    }
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// The first word of an address or a pattern.
fn kind_of(text: &str) -> &str {
    text.split_once('/').map_or(text, |(kind, _)| kind)
}

/// A pattern with all bytes as displayed addresses have them; `None` if a `%` is not followed by
/// two hexadecimal digits.
fn displayed(pattern: &str) -> Option<String> {
    let (mut left, mut text) = (pattern, String::new());
    while let Some(first) = left.chars().next() {
        let len = match first {
            '*' | '?' => 1,
            '[' => set_len(left).unwrap_or(1),
            '%' => 3,
            other => other.len_utf8(),
        };
        let (piece, rest) = left.split_at_checked(len)?;
        match first {
            '*' | '?' => text.push(first),
            '[' if len > 1 => text.push_str(piece),
            _ => text.push_str(&Encoded(&decode(piece)?).to_string()),
        }
        left = rest;
    }
    Some(text)
}

/// Length in bytes of the set that a pattern starts with, if the set ends.
fn set_len(pattern: &str) -> Option<usize> {
    let set = pattern.strip_prefix('[')?;
    let set = set.strip_prefix('!').unwrap_or(set);
    let mut rest = set.chars();
    rest.next()?; // also a `]` is a character of the set
    let (_, rest) = rest.as_str().split_once(']')?;
    pattern.len().checked_sub(rest.len())
}

impl From<Address> for Pattern {
    fn from(address: Address) -> Self {
        Self(Kind::One(address))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::One(address) => address.fmt(f),
            Kind::Many(text) => f.write_str(text),
        }
    }
}

impl Pattern {
    /// The address, if this is not a pattern of several addresses.
    #[must_use]
    pub const fn address(&self) -> Option<&Address> {
        match &self.0 {
            Kind::One(address) => Some(address),
            Kind::Many(_) => None,
        }
    }

    /// Whether this is the address, or a pattern that matches it.
    #[must_use]
    pub fn matches(&self, address: &Address) -> bool {
        match &self.0 {
            Kind::One(one) => one == address,
            Kind::Many(_) if address.is_part() && !self.has_parts() => false,
            Kind::Many(text) => matches(text, &address.to_string()),
        }
    }

    /// Returns the pattern for a file: see [`Address::resolve`].
    ///
    /// # Errors
    /// The errors of [`Address::resolve`].
    pub fn resolve(&self, format: Format, count: u64) -> Result<Self, Error> {
        let text = match &self.0 {
            Kind::One(address) => return address.resolve(format, count).map(Self::from),
            Kind::Many(text) => text,
        };
        let mut parts = text.splitn(3, '/');
        let (kind, index) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        if format_of(kind).is_some_and(|(of, _)| of.addresses() != format.addresses()) {
            return Err(Error::NotOf { address: text.clone(), format });
        }
        let Ok(index @ Index::FromEnd(_)) = index.parse() else { return Ok(self.clone()) };
        if kind == "rank" {
            return Ok(self.clone());
        }
        let out = || Error::OutOfRange { address: text.clone(), format, count };
        let number = index.of(count).ok_or_else(out)?;
        let rest = parts.next().map_or_else(String::new, |rest| format!("/{rest}"));
        Ok(Self(Kind::Many(format!("{kind}/{number}{rest}"))))
    }

    /// Whether it may match parts of tasks.
    fn has_parts(&self) -> bool {
        match &self.0 {
            Kind::One(address) => address.is_part(),
            Kind::Many(text) => text.matches('/').count() > 1,
        }
    }

    /// Whether it is a pattern that may match parts of this task.
    fn has_parts_of(&self, task: &Address) -> bool {
        let Kind::Many(text) = &self.0 else { return false };
        let task = task.to_string();
        let mut pieces = text.splitn(3, '/').zip(task.split('/'));
        self.has_parts() && pieces.all(|(pattern, piece)| glob::matches(pattern, piece))
    }

    /// Whether it matches chunks of tasks also in a set with keys.
    fn is_of_chunks(&self) -> bool {
        match &self.0 {
            Kind::One(_) => true,
            Kind::Many(text) => {
                text.splitn(3, '/').nth(2).is_some_and(|part| part.starts_with("chunk/"))
            }
        }
    }
}

/// What patterns select in a file.
#[derive(Debug)]
pub struct Selection {
    format: Format,
    /// Each pattern, and whether it has matched something.
    patterns: Vec<(Pattern, AtomicBool)>,
    /// Whether tasks have keys.
    keyed: bool,
}

impl Selection {
    /// Makes a selection for a file of `format` with `count` tasks, frames or samples.
    ///
    /// # Errors
    /// The errors of [`Address::resolve`].
    pub fn new(patterns: &[Pattern], format: Format, count: u64) -> Result<Self, Error> {
        let resolve = |pattern: &Pattern| Ok((pattern.resolve(format, count)?, false.into()));
        let patterns = patterns.iter().map(resolve).collect::<Result<_, _>>()?;
        Ok(Self { format, patterns, keyed: false })
    }

    /// Sets whether tasks have keys: then patterns match chunks only if they say `chunk/`.
    pub(crate) const fn keyed(mut self, keyed: bool) -> Self {
        self.keyed = keyed;
        self
    }

    /// Whether an address is selected. A match is recorded for [`check`](Self::check).
    #[must_use]
    pub fn has(&self, address: &Address) -> bool {
        let mut has = false;
        let is_chunk = address.is_chunk_of_task();
        let is_match = |pattern: &Pattern| {
            pattern.matches(address) && (!is_chunk || self.may_be_chunk(pattern))
        };
        for (_, found) in self.patterns.iter().filter(|(pattern, _)| is_match(pattern)) {
            found.store(true, Ordering::Relaxed);
            has = true;
        }
        has
    }

    /// The parts of a task whose addresses are selected, without a pattern.
    pub(crate) fn parts_of(&self, task: u64) -> impl Iterator<Item = Part> {
        self.patterns.iter().filter_map(move |(pattern, _)| match pattern.address() {
            Some(Address::Task(Index::FromStart(of), part)) if *of == task => Some(*part),
            _ => None,
        })
    }

    /// Whether a pattern may match chunks of the task with these addresses.
    pub(crate) fn lists_chunks(&self, task: &[Address]) -> bool {
        self.lists(task, |pattern| self.may_be_chunk(pattern))
    }

    /// Whether a pattern may match keys of the task with these addresses.
    pub(crate) fn lists_keys(&self, task: &[Address]) -> bool {
        self.lists(task, |pattern| self.keyed && !pattern.is_of_chunks())
    }

    fn lists(&self, task: &[Address], is_listed: impl Fn(&Pattern) -> bool) -> bool {
        let has = |pattern: &Pattern| task.iter().any(|task| pattern.has_parts_of(task));
        self.patterns.iter().any(|(pattern, _)| is_listed(pattern) && has(pattern))
    }

    fn may_be_chunk(&self, pattern: &Pattern) -> bool {
        !self.keyed || pattern.is_of_chunks()
    }

    /// Checks that each pattern has matched an address, after [`has`](Self::has) was called for all
    /// addresses of the file.
    ///
    /// # Errors
    /// [`Error::NoMatch`].
    pub fn check(&self) -> Result<(), Error> {
        match self.patterns.iter().find(|(_, found)| !found.load(Ordering::Relaxed)) {
            None => Ok(()),
            Some((pattern, _)) => {
                Err(Error::NoMatch { pattern: pattern.to_string(), format: self.format })
            }
        }
    }
}
