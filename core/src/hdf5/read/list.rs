//! Lists of items that are found in small parts of work: messages, links, attributes.

use crate::hdf5::error::Result;
use crate::source::Source;
use core::ops::ControlFlow::{Break, Continue};

/// The result of a small part of the work on a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Progress<T> {
    /// The next item.
    Found(T),
    /// There is no item yet.
    Working,
    /// There are no more items.
    End,
}

/// The next item of the list whose place is `state`, or `None` after the last one. What is known
/// after each part of the work is kept in `state`.
pub(super) fn next<S: Source + ?Sized, K: Copy, T>(
    source: &S,
    state: &mut K,
    advance: impl Fn(&mut K, &S) -> Result<Progress<T>>,
) -> Result<Option<T>> {
    let pins = source.pins();
    loop {
        let mut next = *state;
        let progress = advance(&mut next, source)?;
        *state = next;
        match progress {
            Progress::Found(item) => return Ok(Some(item)),
            Progress::Working => source.set_pins(pins),
            Progress::End => return Ok(None),
        }
    }
}

/// The first thing that `pick` makes of an item of the list whose place is `state`.
pub(super) fn find<S: Source + ?Sized, K: Copy, T, R>(
    source: &S,
    state: &mut K,
    advance: impl Fn(&mut K, &S) -> Result<Progress<T>>,
    pick: impl Fn(&S, T) -> Result<Option<R>>,
) -> Result<Option<R>> {
    source.walk(state, |source, mut next| {
        let found = match advance(&mut next, source)? {
            Progress::Found(item) => pick(source, item)?,
            Progress::Working => None,
            Progress::End => return Ok(Break(None)),
        };
        Ok(found.map_or(Continue(next), |found| Break(Some(found))))
    })
}
