//! Decomposition maps.

use crate::host::{Host, Text};
use crate::{Fail, entries};
use core::fmt::Write;
use core::num::NonZeroU32;
use striae_core::blob::map::error::Column;
use striae_core::blob::map::table::{request, values};
use striae_core::blob::map::{
    Error, Event, Faults, Flaw, Grid, Join, Parser, Place, Ranks, Request, Rule, Table,
    sort_and_merge,
};
use striae_core::blob::{Place as ElementPlace, Run};
use striae_core::cdf::Reader;

/// Requests from lent bytes.
fn requests_of(bytes: &[u8]) -> [Request; 8] {
    let mut requests = [Request::default(); 8];
    for (request, bytes) in requests.iter_mut().zip(bytes.chunks_exact(2)) {
        if let &[offset, len] = bytes {
            *request = Request { offset: offset.into(), len: len.into() };
        }
    }
    requests
}

entries! {
    fn gate_map_text(bytes) {
        let (mut rest, mut parser, mut sum) = (&*bytes, Parser::default(), 0);
        let mut take = |event| {
            sum ^= match event {
                Event::Head { nprocs, ndims } => nprocs ^ ndims,
                Event::Dim { length } => length,
                Event::Rank { rank, count } => rank ^ count,
                Event::Element { element, offset } => element ^ offset,
            };
        };
        while let Some(event) = parser.feed(&mut rest)? {
            take(event);
        }
        parser.finish()?.into_iter().for_each(take);
        Ok(sum ^ parser.line())
    }

    fn gate_map_join(bytes, rows: u64, row: u64) {
        let grid = Grid::new(&[rows, row]).ok_or(Fail)?;
        let (mut join, mut sum) = (Join::new(grid), grid.total() ^ grid.row().get());
        for &byte in &*bytes {
            let Some(offset) = grid.offset_of(byte.into()) else { continue };
            sum ^= join.push(offset).map_or(0, Request::end) ^ u64::from(grid.begins_row(offset));
        }
        Ok(sum ^ join.finish().ok_or(Fail)?.end())
    }

    fn gate_map_merge(bytes, rows: u64, row: u64) {
        let grid = Grid::new(&[rows, row]).ok_or(Fail)?;
        let mut requests = requests_of(bytes);
        let count = sort_and_merge(&mut requests, grid);
        let merged = requests.get(..count).ok_or(Fail)?;
        Ok(merged.iter().fold(0, |sum, request| sum ^ request.end()))
    }

    fn gate_map_faults(bytes, rows: u64, row: u64) {
        let grid = Grid::new(&[rows, row]).ok_or(Fail)?;
        let mut runs = [Run::default(); 8];
        for (run, Request { offset, len }) in runs.iter_mut().zip(requests_of(bytes)) {
            *run = Run { offset, len, place: ElementPlace::default() };
        }
        let faults = Faults::new(&mut runs, grid);
        Ok(faults.fold(0, |sum, fault| sum + u64::from(fault.is_inside_a_rank())))
    }

    fn gate_map_ranks(_bytes, id: u32, total: u64, nreqs: i32, fills: i32) {
        let id = NonZeroU32::new(id).ok_or(Fail)?;
        let mut ranks = Ranks::new(id, Rule::FillStarts, total);
        let place = ranks.next(nreqs, Some(fills))?;
        let none = ([None; Table::VARIABLES.len()], None);
        let is_table = Table::of(id, none, total).is_ok();
        Ok(place.start ^ place.count ^ ranks.end() ^ u64::from(is_table))
    }

    fn gate_map_table(bytes, id: u32, start: u64, count: u64, at: usize) {
        let mut lengths = [0; 16];
        let file = Reader::open(Host { file: 0 }, &mut lengths, bytes)?;
        let table = Table::find(&file, NonZeroU32::new(id).ok_or(Fail)?, bytes)?;
        let (offsets, lengths) = bytes.split_at_mut_checked(at).ok_or(Fail)?;
        let place = Place { start, count };
        let mut sum = table.nprocs() ^ table.total();
        for pair in table.requests(file.store(), place, offsets, lengths)? {
            sum ^= request(pair).ok_or(Fail)?.end();
        }
        Ok(sum ^ values(offsets).fold(0, |sum, value| sum ^ u64::from(value.unsigned_abs())))
    }

    fn gate_text64_map_error(_bytes, id: u32, line: u64, value: i64) {
        let (id, column) = (NonZeroU32::new(id).ok_or(Fail)?, Column::Nreqs);
        write!(Text, "{}", column.suffix())?;
        for error in [
            Error::Text { line, offset: line, flaw: Flaw::Word },
            Error::Column { id, column },
            Error::Rank { id, column, rank: line, value },
            Error::Total { id, rank: line, end: line, total: 0 },
            Error::Grid { id },
            Error::Nprocs { id, nprocs: line, expected: 0 },
            Error::NoRanks,
            Error::TooLarge { value: line, max: 0 },
            Error::NotMap,
        ] {
            core::hint::black_box(error.blames_caller());
            write!(Text, "{error}")?;
        }
        Ok(0)
    }
}
