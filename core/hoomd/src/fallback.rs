//! The values that frames take from frame 0, and the chunks that they need if another frame becomes
//! frame 0 (`spec/gsd-hoomd.md#parts`).
//!
//! Nothing here reads or writes: the input is chunks and numbers of members, the output is the
//! chunks that must be written.

use crate::schema::{Field, Group, Initial, by_name};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use striae_core::gsd::Chunk;

/// Prefix of the names of logged quantities.
const LOG: &[u8] = b"log/";

/// Prefix of the names of state, which no frame takes from frame 0.
const STATE: &[u8] = b"state/";

/// Frames that were written with one frame 0 and will be read with another.
///
/// With their original frame 0 they need nothing; that is the default.
#[derive(Debug, Clone, Default)]
pub struct Fallback {
    shared: Vec<Shared>,
}

/// A chunk of the old or the new frame 0, and its effect on frames without it.
#[derive(Debug, Clone)]
struct Shared {
    id: u16,
    field: Option<&'static Field>,
    is_log: bool,
    /// If set, only frames with the number of members that frame 0 has in this group take it from
    /// frame 0.
    each: Option<Group>,
    old: Option<Chunk>,
    /// Whether its values are lost.
    is_lost: bool,
    old_n: u64,
    new: New,
    new_n: u64,
}

/// The value in the new frame 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum New {
    None,
    /// The value of the old frame 0.
    Old,
    Other,
}

/// A value that a frame needs besides its own chunks, so that it reads as before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Copy this chunk of the old frame 0.
    Copy(Chunk),
    /// Write this number of rows, all with the default value.
    Default(&'static Field, u64),
    /// The frame has no logged quantity with this id, which no chunk can express.
    Absence(u16),
    /// The value was in a chunk of the old frame 0 that is lost.
    Lost,
}

impl Need {
    /// The chunk to be copied.
    #[must_use]
    pub const fn chunk(&self) -> Option<&Chunk> {
        match self {
            Self::Copy(chunk) => Some(chunk),
            _ => None,
        }
    }

    /// Bytes of the chunk to be written.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Copy(chunk) => chunk.span.len(),
            Self::Default(field, rows) => {
                let size = field.kind.types().first().map_or(1, |kind| kind.size().get());
                let row = u64::from(field.columns.unwrap_or(1)).saturating_mul(size);
                rows.saturating_mul(row)
            }
            Self::Absence(_) | Self::Lost => 0,
        }
    }
}

impl Fallback {
    /// The fallback for frames whose frame 0 had these chunks. `name` gives the name for an id,
    /// `members` the N of frame 0.
    ///
    /// # Errors
    /// The errors of `members`.
    pub fn new<'n, E>(
        first: &[Chunk],
        name: impl Fn(u16) -> &'n [u8],
        members: impl FnMut(Group) -> Result<u64, E>,
    ) -> Result<Self, E> {
        let (mut shared, mut members) = (Vec::new(), once(members));
        for chunk in first {
            let Some(mut of) = Shared::of(chunk.id, name(chunk.id)) else { continue };
            of.old_n = members(of.each)?;
            if of.field.is_none() && chunk.n != of.old_n {
                of.each = None; // of a name that the schema does not know, rows may be of anything
            }
            of.old = Some(*chunk);
            shared.push(of);
        }
        Ok(Self { shared })
    }

    /// Marks some chunks of the old frame 0 as lost, and the numbers of members that they stated.
    #[must_use]
    pub fn without<'n>(
        mut self,
        first: &[Chunk],
        name: impl Fn(u16) -> &'n [u8],
        is_lost: impl Fn(u16) -> bool,
    ) -> Self {
        let is_count_lost = |group: &Group| {
            let count = group.count().name.as_bytes();
            first.iter().any(|chunk| name(chunk.id) == count && is_lost(chunk.id))
        };
        let lost: Vec<_> = Group::ALL.into_iter().filter(is_count_lost).collect();
        for shared in &mut self.shared {
            shared.is_lost = is_lost(shared.id);
            if shared.each.is_some_and(|group| lost.contains(&group)) {
                (shared.is_lost, shared.each) = (true, None);
            }
        }
        self
    }

    /// The values that a frame with these chunks needs besides them. `members` gives its N.
    ///
    /// # Errors
    /// The errors of `members`.
    pub fn needs<E>(
        &self,
        own: &[Chunk],
        members: impl FnMut(Group) -> Result<u64, E>,
    ) -> Result<Vec<Need>, E> {
        let (mut needs, mut members, own) = (Vec::new(), once(members), ids_of(own));
        for shared in self.shared.iter().filter(|shared| !own.contains(&shared.id)) {
            needs.extend(shared.need(members(shared.each)?));
        }
        Ok(needs)
    }

    /// Makes this frame the frame 0 of all following frames, with these chunks and its own
    /// [needs](Self::needs).
    ///
    /// # Errors
    /// The errors of `members`.
    pub fn set_first<'n, E>(
        &mut self,
        own: &[Chunk],
        name: impl Fn(u16) -> &'n [u8],
        members: impl FnMut(Group) -> Result<u64, E>,
    ) -> Result<(), E> {
        let (mut members, own_ids) = (once(members), ids_of(own));
        let mut known: BTreeSet<_> = self.shared.iter().map(|shared| shared.id).collect();
        for shared in &mut self.shared {
            shared.new_n = members(shared.each)?;
            shared.new = match own_ids.contains(&shared.id) {
                true => New::Other,
                false if matches!(shared.need(shared.new_n), Some(Need::Copy(_))) => New::Old,
                false => New::None,
            };
        }
        for chunk in own.iter().filter(|chunk| known.insert(chunk.id)) {
            let Some(mut of) = Shared::of(chunk.id, name(chunk.id)) else { continue };
            of.new_n = members(of.each)?;
            of.new = New::Other;
            self.shared.push(of);
        }
        // Frames without it have it from either frame 0.
        self.shared.retain(|shared| shared.each.is_some() || shared.new != New::Old);
        Ok(())
    }
}

fn ids_of(chunks: &[Chunk]) -> BTreeSet<u16> {
    chunks.iter().map(|chunk| chunk.id).collect()
}

/// Calls `members` once for each group, because it may read the file; 0 for chunks without a group.
fn once<E>(
    mut members: impl FnMut(Group) -> Result<u64, E>,
) -> impl FnMut(Option<Group>) -> Result<u64, E> {
    let mut known = Vec::new();
    move |group| {
        let Some(group) = group else { return Ok(0) };
        if let Some((_, n)) = known.iter().find(|(known, _)| *known == group) {
            return Ok(*n);
        }
        let n = members(group)?;
        known.push((group, n));
        Ok(n)
    }
}

impl Shared {
    /// The entry for a chunk name; `None` if no frame takes such a chunk from frame 0.
    fn of(id: u16, name: &[u8]) -> Option<Self> {
        if name.starts_with(STATE) {
            return None;
        }
        let field = by_name(name);
        let each = match field {
            Some(field) => field.rows.group(),
            None => Group::of_name(name),
        };
        let is_log = name.starts_with(LOG);
        let (old, is_lost, new) = (None, false, New::None);
        Some(Self { id, field, is_log, each, old, is_lost, old_n: 0, new, new_n: 0 })
    }

    /// The value that a frame of `n` members needs if it does not have this chunk.
    fn need(&self, n: u64) -> Option<Need> {
        let is_alike = |of: u64| self.each.is_none() || of == n;
        let old = self.old.filter(|_| is_alike(self.old_n));
        let new = if is_alike(self.new_n) { self.new } else { New::None };
        match (old, new) {
            (None, New::None) | (_, New::Old) => None,
            // No values are no others, and gsd's C library does not read a chunk of no rows.
            _ if self.each.is_some() && n == 0 => None,
            (Some(_), _) if self.is_lost => Some(Need::Lost),
            (Some(chunk), _) => Some(Need::Copy(chunk)),
            (None, New::Other) if self.is_log => Some(Need::Absence(self.id)),
            // Of a name that the schema does not know, nobody looks in frame 0.
            (None, New::Other) => {
                let field = self.field.filter(|field| field.default != Initial::None)?;
                Some(Need::Default(field, n))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use striae_core::gsd::ChunkType;
    use striae_core::span::Span;

    #[test]
    fn the_members_of_a_group_are_asked_for_once_a_frame_however_many_chunks_there_are() {
        let span = Span::new(256, 4).unwrap();
        let kind = ChunkType::F32;
        let first = (0..100).map(|id| Chunk { id, frame: 0, n: 1, m: 1, kind, span });
        let first: Vec<_> = first.collect();
        let asked = Cell::new(0);
        let members = |_| {
            asked.set(asked.get() + 1);
            Ok::<_, ()>(1)
        };
        let name = |_| &b"particles/other"[..];
        let mut fallback = Fallback::new(&first, name, members).unwrap();
        assert_eq!(asked.replace(0), 1);
        assert_eq!(fallback.needs(&[], members).unwrap().len(), 100);
        assert_eq!(asked.replace(0), 1);
        fallback.set_first(&first[..50], name, members).unwrap();
        assert_eq!(asked.replace(0), 1);
        assert_eq!(fallback.needs(&first[..10], members).unwrap().len(), 40);
        assert_eq!(asked.replace(0), 1);
    }
}
