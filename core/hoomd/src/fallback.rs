//! What frames take from frame 0, and what they need when another frame becomes frame 0
//! (`spec/gsd-hoomd.md#parts`).
//!
//! Nothing here reads or writes: chunks and numbers of members go in, what must be written comes
//! out.

use crate::schema::{Field, Group, Initial, by_name};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use striae_core::gsd::Chunk;

/// Names of logged quantities start with it.
const LOG: &[u8] = b"log/";

/// What starts with it stands where it is meant.
const STATE: &[u8] = b"state/";

/// Frames that were written with one frame 0 and are to be read with another.
///
/// With the one that they were written with they need nothing: that is the default.
#[derive(Debug, Clone, Default)]
pub struct Fallback {
    shared: Vec<Shared>,
}

/// A chunk of the old frame 0 or of the new one: what it means for frames without it.
#[derive(Debug, Clone)]
struct Shared {
    id: u16,
    field: Option<&'static Field>,
    is_log: bool,
    /// Only frames with as many members of this group take it from frame 0.
    each: Option<Group>,
    old: Option<Chunk>,
    /// Whether nobody knows its values any more.
    is_lost: bool,
    old_n: u64,
    new: New,
    new_n: u64,
}

/// What the new frame 0 has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum New {
    None,
    /// What the old one had.
    Old,
    Other,
}

/// What a frame must have besides its own chunks, to be read as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// A chunk of the old frame 0.
    Copy(Chunk),
    /// So many rows, all of them the default one.
    Default(&'static Field, u64),
    /// That it has no logged quantity of this id, which no chunk can say.
    Absence(u16),
    /// A chunk of the old frame 0 that is lost.
    Lost,
}

impl Need {
    /// The chunk that is to be copied.
    #[must_use]
    pub const fn chunk(&self) -> Option<&Chunk> {
        match self {
            Self::Copy(chunk) => Some(chunk),
            _ => None,
        }
    }

    /// Bytes of the chunk that it is.
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
    /// For frames whose frame 0 had these chunks, without its checksums. `name` gives names by id,
    /// `members` the N of frame 0.
    ///
    /// # Errors
    /// Those of `members`.
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

    /// With some chunks of the old frame 0 lost, and with them what their members were.
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

    /// What a frame with these chunks must have besides them. `members` gives its N.
    ///
    /// # Errors
    /// Those of `members`.
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

    /// The frames to come have this frame as their frame 0: with these chunks, and what it
    /// [needs](Self::needs) besides.
    ///
    /// # Errors
    /// Those of `members`.
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

/// `members`, asked once for each group, since it may read a file; 0 for what has no group.
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
    /// That of a name; `None` if no frame takes it from frame 0.
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

    /// What a frame of `n` members must have if it does not have this.
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
