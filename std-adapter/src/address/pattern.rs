//! Patterns of addresses, and the selection of their matches in a file.

use super::{Address, Error, Index};
use crate::format::Format;
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
/// matches their keys, or in a set without keys their chunks.
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
        Ok(Self(match text.contains(['*', '?', '[']) {
            true => Kind::Many(text.to_owned()),
            false => Kind::One(text.parse()?),
        }))
    }
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
}

/// What patterns select in a file.
#[derive(Debug)]
pub struct Selection {
    format: Format,
    /// Each pattern, and whether it has matched something.
    patterns: Vec<(Pattern, AtomicBool)>,
}

impl Selection {
    /// Makes a selection for a file of `format` with `count` tasks, frames or samples.
    ///
    /// # Errors
    /// The errors of [`Address::resolve`].
    pub fn new(patterns: &[Pattern], format: Format, count: u64) -> Result<Self, Error> {
        let resolve = |pattern: &Pattern| Ok((pattern.resolve(format, count)?, false.into()));
        let patterns = patterns.iter().map(resolve).collect::<Result<_, _>>()?;
        Ok(Self { format, patterns })
    }

    /// Whether an address is selected. A match is recorded for [`check`](Self::check).
    #[must_use]
    pub fn has(&self, address: &Address) -> bool {
        let mut has = false;
        for (_, found) in self.patterns.iter().filter(|(pattern, _)| pattern.matches(address)) {
            found.store(true, Ordering::Relaxed);
            has = true;
        }
        has
    }

    /// Whether chunks or keys of tasks may be selected.
    #[must_use]
    pub fn has_parts(&self) -> bool {
        self.patterns.iter().any(|(pattern, _)| pattern.has_parts())
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
