//! A toy format: a list of nodes with links, their names in a heap, and an object for each link.

use core::ops::ControlFlow::{Break, Continue};
use striae_core::source::{Fault, Source};
use zerocopy::little_endian::U32;

pub(super) const LINKS_A_NODE: u32 = 8;
pub(super) const NAME: usize = 12;

/// `n` links whose objects are `apart` bytes from each other, in no order.
pub(super) fn folder(n: u32, apart: u32) -> Vec<u8> {
    let nodes = n.div_ceil(LINKS_A_NODE);
    let heap = 4 + nodes * (8 + 8 * LINKS_A_NODE);
    let objects = heap + 12 * n;
    let mut file = vec![0; (objects + n * apart) as usize];
    let mut put =
        |at: u32, value: u32| file[at as usize..][..4].copy_from_slice(&value.to_le_bytes());
    put(0, if n == 0 { 0 } else { 4 });
    for node in 0..nodes {
        let at = 4 + node * (8 + 8 * LINKS_A_NODE);
        put(at, if node + 1 == nodes { 0 } else { at + 8 + 8 * LINKS_A_NODE });
        put(at + 4, (n - node * LINKS_A_NODE).min(LINKS_A_NODE));
    }
    for link in 0..n {
        let (node, number) = (link / LINKS_A_NODE, link % LINKS_A_NODE);
        let at = 4 + node * (8 + 8 * LINKS_A_NODE) + 8 + 8 * number;
        let object = objects + link * 7919 % n * apart;
        put(at, heap + 12 * link);
        put(at + 4, object);
        put(heap + 12 * link, link ^ 0x5555);
        put(object, link + 1);
    }
    file
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Error {
    TooManyLinks(u32),
}

/// What outlives a restart.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Known {
    first: Option<u32>,
    place: Option<Place>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Place {
    next: u32,
    /// Links left in this node, and where they begin.
    left: u32,
    links: u32,
    found: Found,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) links: u32,
    pub(super) sum: u64,
}

/// Sums up all links. A step looks at three places.
pub(super) fn list<S: Source + ?Sized>(
    source: &S,
    known: &mut Known,
) -> Result<Found, Fault<Error>> {
    let next = *source.once(&mut known.first, |source| Ok(source.read::<U32>(0)?.get()))?;
    let most = source.file_len() / 8;
    let place = known.place.get_or_insert(Place { next, ..Place::default() });
    source.walk(place, |source, mut place| {
        if let Some(left) = place.left.checked_sub(1) {
            let &[name, object] = source.read::<[U32; 2]>(place.links.into())?;
            let object = source.read::<U32>(object.get().into())?.get();
            let name = source.read::<[u8; NAME]>(name.get().into())?;
            let bytes = name.iter().fold(0, |sum, &byte| sum * 31 % 1_000_003 + u64::from(byte));
            place.left = left;
            place.links = place.links.wrapping_add(8);
            place.found.links += 1;
            place.found.sum = place.found.sum * 31 % 1_000_003 + u64::from(object) + bytes;
            if u64::from(place.found.links) > most {
                return Err(Fault::Format(Error::TooManyLinks(place.found.links)));
            }
        } else if place.next != 0 {
            let &[next, left] = source.read::<[U32; 2]>(place.next.into())?;
            place.links = place.next.wrapping_add(8);
            (place.next, place.left) = (next.get(), left.get());
            place.found.links += u32::from(left.get() == 0); // an empty node counts, against rings
            if u64::from(place.found.links) > most {
                return Err(Fault::Format(Error::TooManyLinks(place.found.links)));
            }
        } else {
            return Ok(Break(place.found));
        }
        Ok(Continue(place))
    })
}
