//! The ids of names, found by their order in frames or by a table.

use std::collections::HashMap;
use std::sync::Arc;

/// The names of a file with their ids, in memory of its own.
///
/// Frames are most often alike, so a name is first compared with the name at this position in the
/// frame before.
#[derive(Debug, Default)]
pub(super) struct NameIds {
    ids: HashMap<Arc<[u8]>, u16>,
    /// The names of a frame in order: before `next` those of this frame, from `next` on those of
    /// the frame before it.
    order: Vec<(Arc<[u8]>, u16)>,
    next: usize,
}

impl NameIds {
    /// Adds a name. Of equal names, the first one counts.
    pub(super) fn insert(&mut self, name: &[u8], id: u16) {
        self.ids.entry(name.into()).or_insert(id);
    }

    /// The id of a name, if it is at this position in the frame before.
    #[inline]
    pub(super) fn next_id(&mut self, name: &[u8]) -> Option<u16> {
        let (expected, id) = self.order.get(self.next)?;
        if !is_same(expected, name) {
            return None;
        }
        self.next = self.next.saturating_add(1);
        Some(*id)
    }

    /// The id of a name of the file, asked out of turn.
    pub(super) fn find(&self, name: &[u8]) -> Option<u16> {
        self.ids.get(name).copied()
    }

    /// The id of a name of the file that [is not expected](Self::next_id).
    pub(super) fn look_up(&mut self, name: &[u8]) -> Option<u16> {
        let (name, &id) = self.ids.get_key_value(name)?;
        let asked = (Arc::clone(name), id);
        let is_short = self.order.len() < self.ids.len(); // a frame has no name twice
        match self.order.get_mut(self.next) {
            Some(place) => *place = asked,
            None if is_short => self.order.push(asked),
            None => {}
        }
        self.next = self.next.saturating_add(1);
        Some(id)
    }

    /// Ends a frame: the next name is the first of a frame.
    pub(super) const fn end_frame(&mut self) {
        self.next = 0;
    }

    /// Forgets all names.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Whether two names are equal. Most are short, so that this takes less than a call does.
#[inline]
fn is_same(a: &[u8], b: &[u8]) -> bool {
    match a.len() == b.len() {
        false => false,
        true if (8..=16).contains(&a.len()) => ends::<8>(a) == ends::<8>(b),
        true if (4..=8).contains(&a.len()) => ends::<4>(a) == ends::<4>(b),
        true => a == b,
    }
}

/// The first and the last bytes of a name that has as many.
#[inline]
fn ends<const N: usize>(name: &[u8]) -> Option<[&[u8; N]; 2]> {
    Some([name.first_chunk()?, name.last_chunk()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_if_all_of_their_bytes_are() {
        for len in 0..40 {
            let name: Vec<u8> = (1..=len).collect();
            assert!(is_same(&name, &name.clone()), "{len}");
            assert!(!is_same(&name, &[&name[..], b"x"].concat()), "{len}");
            for at in 0..name.len() {
                let mut other = name.clone();
                other[at] ^= 1;
                assert!(!is_same(&name, &other), "{len} {at}");
            }
        }
    }

    #[test]
    fn names_have_their_ids_in_whatever_order_they_are_asked_for() {
        let mut names = NameIds::default();
        for (id, name) in (0..).zip([b"a", b"b", b"c", b"a"]) {
            names.insert(name, id);
        }
        for frame in ["abc", "abc", "ca", "b", "", "abcabc", "cba", "abc"] {
            for name in frame.bytes() {
                let id = names.next_id(&[name]).or_else(|| names.look_up(&[name]));
                assert_eq!(id, Some(u16::from(name - b'a')), "{frame}");
                assert_eq!(names.next_id(b"none").or_else(|| names.look_up(b"none")), None);
            }
            names.end_frame();
        }
    }
}
