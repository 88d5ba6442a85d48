//! Whose bytes are where in a file.

use crate::map::{Body, Kind, Map, Region, up_to};
use crate::subject::{Failed, Subject, read};
use alloc::vec;
use striae_core::ffrecord::find::Find;
use striae_core::ffrecord::open::Open;
use striae_core::ffrecord::{Error, Head, raw};
use striae_core::span::Span;
use striae_core::step::{DriveError, drive_read};

/// Opens a map of a file. Samples are looked up when they are asked for.
///
/// # Errors
/// What is wrong with the header; the store's.
pub fn map<S: Subject>(store: &S) -> Result<Map<'_, S, Error>, Failed<S, Error>> {
    let file_len = store.size().map_err(DriveError::Store)?;
    let head = drive_read(&mut Open::new(file_len), store, &mut [0; Open::WINDOW])?;
    let (checksums, offsets) = (head.layout.checksums(), head.layout.offsets());
    let header = Span::between(0, checksums.offset()).unwrap_or(Span::ZERO);
    let parts = vec![
        Region::table(header, Kind::Header, raw::Header::TABLE.part),
        Region::table(checksums, Kind::Checksums, raw::Checksum::TABLE.part),
        Region::table(offsets, Kind::Index, raw::Offset::TABLE.part),
    ];
    let map = Map::new(store, file_len, parts, Samples(head), ("sample", None));
    map.map_err(DriveError::Store)
}

struct Samples(Head);

impl<S: Subject> Body<S, Error> for Samples {
    fn at(&mut self, store: &S, offset: u64) -> Result<Region, Failed<S, Error>> {
        let Head { layout, file_len, .. } = self.0;
        // Those before `low` start at or before `offset`, that at `high`, if there is one, behind
        // it: offsets that are not in order may hide a sample, and not more.
        let (mut low, mut high, mut end) = (0, layout.n(), file_len);
        while low < high {
            let middle = low.midpoint(high);
            let mut bytes = [0; 8];
            read(store, layout.offset_at(middle), &mut bytes)?;
            let start = u64::try_from(i64::from_le_bytes(bytes)).unwrap_or(0);
            match start <= offset {
                true => low = middle.saturating_add(1),
                false => (high, end) = (middle, start),
            }
        }
        let rest = up_to(offset, end);
        let Some(number) = low.checked_sub(1) else {
            return Ok(Region::of(rest, Kind::Unclaimed, None));
        };
        let mut find = Find::new(&self.0, number).map_err(DriveError::Format)?;
        let kind = match drive_read(&mut find, store, &mut [0; Find::WINDOW]) {
            Ok(_) => Kind::Data,
            Err(DriveError::Format(_)) => Kind::Unknown,
            Err(error) => return Err(error),
        };
        Ok(Region::of(rest, kind, Some(number)))
    }
}
