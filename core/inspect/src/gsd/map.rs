//! Whose bytes are where in a file.

use super::{Failed, each_entry};
use crate::map::{Body, Kind, Map, Region, disjoint, up_to};
use crate::subject::{Subject, read};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use striae_core::gsd::layout::IndexBlock;
use striae_core::gsd::open::Open;
use striae_core::gsd::raw::{self, IndexEntry, Shadow};
use striae_core::gsd::{Chunk, Error, Head, Header, Reader, checksums};
use striae_core::span::Span;
use striae_core::step::DriveError;
use zerocopy::FromBytes;

/// Entries that are all read; of a longer index, so many around the place that is asked for.
const NEAR: u64 = 1 << 8;

/// The longest index that is read as a whole: 2 MiB.
const WHOLE: u64 = 1 << 16;

/// Bytes of a window that names are read in.
const WINDOW: usize = 1 << 12;

/// Opens a map of a file. An index of at most 2 MiB is read once. Of a longer one, entries are
/// looked up near the place that is asked for, as chunks are written mostly in the order of the
/// index: a chunk whose entry is far from that place is shown as unclaimed. Owners are frames.
///
/// # Errors
/// What is wrong with the header, if it is none or of another layout; the store's.
pub fn map<S: Subject>(store: &S) -> Result<Map<'_, S, Error>, Failed<S>> {
    use Error::{Cut, NotGsd, Version};
    let file_len = store.size().map_err(DriveError::Store)?;
    let (head, mut damage) = match Reader::open(store, &mut [0; Open::WINDOW]) {
        Ok(reader) => (Some(reader), None),
        Err(DriveError::Format(error @ (Cut { .. } | NotGsd { .. } | Version { .. }))) => {
            return Err(DriveError::Format(error));
        }
        Err(DriveError::Format(error)) => (None, Some(error)),
        Err(error) => return Err(error),
    };
    let mut bytes = [0; Header::LEN];
    read(store, 0, &mut bytes)?;
    let header = raw::Header::ref_from_bytes(&bytes);
    let header = header.map_err(|_| DriveError::Ended { offset: 0 })?;
    let parts = tables_of(header, head.as_ref().map(Reader::head), file_len);

    let mut chunks = Chunks::new(file_len);
    if let Some(reader) = &head {
        let id = reader.name_id(checksums::NAME, &mut vec![0; WINDOW]);
        chunks.head = Some(*reader.head());
        chunks.checksums = id.ok().flatten();
        if !chunks.is_long() {
            chunks.load(store, 0..reader.head().entries)?;
            damage = damage.or(chunks.wrong);
        }
    }
    Map::new(store, file_len, parts, chunks, ("frame", damage)).map_err(DriveError::Store)
}

/// The header, and what it leads to.
fn tables_of(header: &raw::Header, head: Option<&Head>, file_len: u64) -> Vec<Region> {
    let image = head.map_or(header.image(), |head| head.image);
    let shown = image.index();
    let record = head.and_then(|head| head.state.record());
    let index = record.and_then(|record| record.index(shown)).unwrap_or(shown);
    let all = Span::new(0, raw::Header::TABLE.len.into());
    let shadow = header.image().has_record().then(|| header.image().commit.shadow.get());
    let shadow = shadow.and_then(|offset| Span::new(offset, Shadow::BOTH_LEN));
    let names = image.name_block().span();
    let fits = |span: &Span| span.fits(file_len);
    let used = |span: Option<Span>, len: Option<u64>| {
        let (span, len) = (span?, len.unwrap_or(u64::MAX));
        Some((Span::new(span.offset(), span.len().min(len))?, span.skip(len)))
    };
    let entries = head.and_then(|head| head.index().span()).map(Span::len);
    let entries = head.map(|_| entries.unwrap_or(0));
    // Of an index that is cut, slots are there, and of names nobody can say where they end.
    let (index, slots) = used(index.span(), entries).unzip();
    let (names, room) = used(names.filter(fits), head.map(|head| head.names_len)).unzip();
    let (index_name, names_name) = (IndexEntry::TABLE.part, raw::NameSlot::TABLE.part);
    let tables = [
        (all, Kind::Header, raw::Header::TABLE.part),
        (shadow.filter(fits), Kind::Shadow, Shadow::TABLE.part),
        (index, Kind::Index, index_name),
        (slots, Kind::Free, index_name),
        (names, Kind::Names, names_name),
        (room, Kind::Free, names_name),
    ];
    let table = |(span, kind, name)| Some(Region::table(span?, kind, name));
    tables.into_iter().filter_map(table).collect()
}

/// The chunks of all frames.
struct Chunks {
    file_len: u64,
    /// What a reader makes of the file, if it can read it.
    head: Option<Head>,
    /// The id of the chunks that hold checksums.
    checksums: Option<u16>,
    /// Those of the slots that were looked at last, in order of their places.
    loaded: Vec<Region>,
    slots: Range<u64>,
    wrong: Option<Error>,
}

impl Chunks {
    const fn new(file_len: u64) -> Self {
        let (head, checksums, wrong) = (None, None, None);
        Self { file_len, head, checksums, loaded: Vec::new(), slots: 0..0, wrong }
    }

    fn is_long(&self) -> bool {
        self.head.is_some_and(|head| head.entries > WHOLE)
    }

    fn load<S: Subject>(&mut self, store: &S, slots: Range<u64>) -> Result<(), Failed<S>> {
        let Some(head) = self.head else { return Ok(()) };
        let (index, mut found, mut wrong) = (head.index(), Vec::new(), None);
        each_entry(store, index, slots.clone(), |slot, entry| {
            match Chunk::parse(entry, index, slot, head.limits()) {
                Ok(Some(chunk)) => {
                    let is_sum = self.checksums == Some(chunk.id);
                    let kind = if is_sum { Kind::Checksums } else { Kind::Data };
                    found.push(Region::of(chunk.span, kind, Some(chunk.frame)));
                }
                Ok(None) => {}
                Err(error) => wrong = wrong.or(Some(error)),
            }
            Ok(true)
        })?;
        (self.loaded, self.slots, self.wrong) = (disjoint(found), slots, wrong);
        Ok(())
    }

    /// Loads the slots around the one whose chunk is at `offset`, if these are not loaded.
    fn look_near<S: Subject>(
        &mut self,
        store: &S,
        index: IndexBlock,
        offset: u64,
    ) -> Result<(), Failed<S>> {
        // What is at an end of the window may be far from its place.
        let quarter = self.loaded.len() / 4;
        let mut inner = self.loaded.iter().skip(quarter).take(quarter.saturating_mul(2));
        let is_behind = inner.next().is_some_and(|first| first.span.offset() <= offset);
        if is_behind && inner.next_back().is_some_and(|last| offset < last.span.offset()) {
            return Ok(());
        }
        let (mut low, mut high) = (0, index.slots);
        while low < high {
            let middle = low.midpoint(high);
            let mut bytes = [0; 32];
            read(store, index.offset_of(middle), &mut bytes)?;
            let entry = IndexEntry::ref_from_bytes(&bytes);
            let place = entry.map_or(0, |entry| entry.location.get());
            match u64::try_from(place).unwrap_or(0) <= offset {
                true => low = middle.saturating_add(1),
                false => high = middle,
            }
        }
        let first = low.saturating_sub(NEAR / 2);
        let slots = first..first.saturating_add(NEAR).min(index.slots);
        if slots != self.slots { self.load(store, slots) } else { Ok(()) }
    }
}

impl<S: Subject> Body<S, Error> for Chunks {
    fn at(&mut self, store: &S, offset: u64) -> Result<Region, Failed<S>> {
        let all = up_to(offset, self.file_len);
        let Some(head) = self.head else { return Ok(Region::of(all, Kind::Unknown, None)) };
        if self.is_long() {
            self.look_near(store, head.index(), offset)?;
        }
        let behind = self.loaded.partition_point(|chunk| chunk.span.end() <= offset);
        match self.loaded.get(behind) {
            Some(chunk) if chunk.span.offset() <= offset => {
                Ok(Region { span: up_to(offset, chunk.span.end()), ..*chunk })
            }
            next => {
                let end = next.map_or(all.end(), |chunk| chunk.span.offset());
                let kind = if self.wrong.is_some() { Kind::Unknown } else { Kind::Unclaimed };
                Ok(Region::of(up_to(offset, end), kind, None))
            }
        }
    }

    fn is_near(&self) -> bool {
        self.is_long()
    }
}
