//! netCDF maps: the requests of each rank, by both rules.

use super::{golden_file, shared_file};
use std::num::NonZeroU32;
use striae_core::blob::map::error::Column;
use striae_core::blob::map::table::{request, values};
use striae_core::blob::map::{Error, Place, Ranks, Request, Rule, Table};
use striae_core::cdf::Reader;
use striae_core::step::DriveError;

fn id(id: u32) -> NonZeroU32 {
    NonZeroU32::new(id).unwrap()
}

fn find(map: &[u8], number: u32) -> Result<Table, Error> {
    let (mut lengths, mut window) = ([0; 32], [0; 512]);
    let file = Reader::open(map, &mut lengths, &mut window).unwrap();
    Table::find(&file, id(number), &mut window).map_err(|error| match error {
        DriveError::Format(error) => error,
        error => panic!("{error}"),
    })
}

fn bytes(map: &[u8], span: striae_core::span::Span) -> &[u8] {
    &map[span.offset() as usize..span.end() as usize]
}

/// The requests of each rank.
pub(super) fn lists(map: &[u8], number: u32, rule: Rule) -> Vec<Vec<Request>> {
    let table = find(map, number).unwrap();
    let mut ranks = Ranks::new(table.id, rule, table.total());
    let mut fills = values(bytes(map, table.fill_starts.unwrap()));
    let nreqs = values(bytes(map, table.nreqs));
    let places: Vec<_> = nreqs.map(|nreqs| ranks.next(nreqs, fills.next()).unwrap()).collect();
    assert_eq!(places.len() as u64, table.nprocs());
    places.into_iter().map(|place| list(map, &table, place)).collect()
}

/// Reads a list through windows of 20 and 24 bytes.
fn list(map: &[u8], table: &Table, mut place: Place) -> Vec<Request> {
    let mut list = Vec::new();
    while place.count > 0 {
        let (mut offsets, mut lengths) = ([0; 20], [0; 24]);
        let pairs = table.requests(&map, place, &mut offsets, &mut lengths).unwrap();
        let count = list.len() as u64;
        list.extend(pairs.map(|pair| request(pair).unwrap()));
        let count = list.len() as u64 - count;
        assert_eq!(count, place.count.min(5));
        place = Place { start: place.start + count, count: place.count - count };
    }
    list
}

#[test]
fn a_table_gives_each_rank_its_requests() {
    let request = |(offset, len)| Request { offset, len };
    let map = golden_file("map_f_holes_5p.nc");
    let lists_1 = lists(&map, 1, Rule::Nreqs);
    let expected = [vec![(0, 21)], vec![(21, 11)], vec![(32, 10)], vec![], vec![(42, 11)]];
    assert_eq!(lists_1, expected.map(|list| list.into_iter().map(request).collect::<Vec<_>>()));
    assert_eq!(lists(&map, 1, Rule::FillStarts), lists_1);
    let dims = find(&map, 3).unwrap().dims;
    assert!(values(bytes(&map, dims)).eq([6, 53]));
}

#[test]
fn a_missing_decomposition_is_named() {
    let map = golden_file("map_f_holes_5p.nc");
    let missing = Error::Column { id: id(4), column: Column::Nreqs };
    assert_eq!(find(&map, 4), Err(missing));
    assert_eq!(
        find(&map, u32::MAX),
        Err(Error::Column { id: id(u32::MAX), column: Column::Nreqs })
    );
}

#[test]
fn numbers_of_ranks_are_checked() {
    let id = id(1);
    let mut ranks = Ranks::new(id, Rule::Nreqs, 10);
    assert_eq!(ranks.next(4, Some(3)), Ok(Place { start: 0, count: 3 }));
    let wrong = |column, value| Err(Error::Rank { id, column, rank: 1, value });
    assert_eq!(ranks.next(-1, None), wrong(Column::Nreqs, -1));
    assert_eq!(ranks.next(2, Some(3)), wrong(Column::FillStarts, 3));
    assert_eq!(ranks.next(2, Some(-3)), wrong(Column::FillStarts, -3));
    assert_eq!(ranks.next(7, None), Err(Error::Total { id, rank: 1, end: 11, total: 10 }));
    assert_eq!(ranks.next(6, None), Ok(Place { start: 4, count: 6 }));
    let mut ranks = Ranks::new(id, Rule::FillStarts, 10);
    assert_eq!(ranks.next(4, Some(3)), Ok(Place { start: 0, count: 3 }));
    assert_eq!(ranks.next(4, Some(2)), Ok(Place { start: 3, count: 2 }));
    assert_eq!(ranks.end(), 5);
}

/// The map that E3SM-IO ships for the I case has requests that fill holes, and the raw elements of
/// each rank: by the right rule these are its requests, by E3SM-IO's rule only those of rank 0 are.
#[test]
fn the_rule_decides_who_has_what() {
    let Some(map) = shared_file("map_i_case_16p.nc") else { return };
    let (mut lengths, mut window) = ([0; 32], [0; 512]);
    let file = Reader::open(&map[..], &mut lengths, &mut window).unwrap();
    let mut raw = |name: &[u8]| {
        let variable = file.variable(name, &mut window).unwrap().unwrap();
        values(bytes(&map, variable.layout.first)).map(|value| value as u64).collect::<Vec<_>>()
    };
    let (counts, offsets) = (raw(b"D1.raw_nreqs"), raw(b"D1.raw_offsets"));
    let mut rest = &offsets[..];
    let mut right = [0, 0];
    assert_eq!(counts.len(), 16);
    for (rank, &count) in counts.iter().enumerate() {
        let (elements, after) = rest.split_at(count as usize);
        rest = after;
        for (number, rule) in [Rule::Nreqs, Rule::FillStarts].into_iter().enumerate() {
            let list = &lists(&map, 1, rule)[rank];
            let found = list.iter().flat_map(|request| request.offset + 1..=request.end());
            right[number] += usize::from(found.eq(elements.iter().copied()));
        }
    }
    assert_eq!(right, [16, 1]);
}
