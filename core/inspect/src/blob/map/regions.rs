//! Whose bytes are where in a text map.

use super::tokens::{End, Role, tokens};
use crate::map::{Body, Kind, Map, Region, up_to};
use crate::subject::{Failed, Subject};
use alloc::vec;
use alloc::vec::Vec;
use striae_core::blob::map::Error;
use striae_core::span::Span;
use striae_core::step::DriveError;

/// Opens a map of a text map: whose bytes are where. An owner is a rank. It reads the whole file,
/// and needs 24 bytes for each rank.
///
/// # Errors
/// An error of the store. Damage is [unknown](Kind::Unknown) bytes.
pub fn map<S: Subject>(store: &S) -> Result<Map<'_, S, Error>, Failed<S, Error>> {
    let file_len = store.size().map_err(DriveError::Store)?;
    let (mut ranks, mut head) = (Vec::<Rank>::new(), file_len);
    let end = tokens(store, &mut |token| {
        match token.role {
            Role::Rank { rank } => {
                head = head.min(token.place.offset());
                ranks.push(Rank { rank, begin: token.place.offset(), elements: None });
            }
            Role::Element { index: 0, .. } => {
                if let Some(last) = ranks.last_mut() {
                    last.elements = Some(token.place.offset());
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    let (end, damage) = match end {
        End::Whole(end) => (end, None),
        End::Damaged(at, error) => (at, Some(error)),
    };
    let header = Span::new(0, head.min(end)).unwrap_or(Span::ZERO);
    let parts = vec![Region::table(header, Kind::Header, "head")];
    let body = Ranks { ranks, end, file_len, is_damaged: damage.is_some() };
    Map::new(store, file_len, parts, body, ("rank", damage)).map_err(DriveError::Store)
}

/// The places of a rank.
struct Rank {
    rank: u64,
    begin: u64,
    /// That of its first element.
    elements: Option<u64>,
}

struct Ranks {
    ranks: Vec<Rank>,
    /// Where the map ends, or its damage begins.
    end: u64,
    file_len: u64,
    is_damaged: bool,
}

impl<S: Subject> Body<S, Error> for Ranks {
    fn at(&mut self, _: &S, offset: u64) -> Result<Region, Failed<S, Error>> {
        if offset >= self.end {
            let kind = if self.is_damaged { Kind::Unknown } else { Kind::Unclaimed };
            return Ok(Region::of(up_to(offset, self.file_len), kind, None));
        }
        let next = self.ranks.partition_point(|rank| rank.begin <= offset);
        let end = self.ranks.get(next).map_or(self.end, |next| next.begin.min(self.end));
        let Some(rank) = next.checked_sub(1).and_then(|last| self.ranks.get(last)) else {
            return Ok(Region::of(up_to(offset, end), Kind::Unclaimed, None));
        };
        let (kind, end) = match rank.elements {
            Some(elements) if offset >= elements => (Kind::Data, end),
            Some(elements) => (Kind::Index, elements.min(end)),
            None => (Kind::Index, end),
        };
        Ok(Region::of(up_to(offset, end), kind, Some(rank.rank)))
    }
}
