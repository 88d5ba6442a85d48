//! Reads netCDF maps of E3SM-IO.

use super::columns::{announce, column};
use super::{Decomposition, OnError};
use crate::subject::{Failed, part_of, read};
use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZeroU32;
use striae_core::blob::map::error::Column;
use striae_core::blob::map::table::request;
use striae_core::blob::map::{Error, Place, Ranks, Request, Rule, Table};
use striae_core::cdf::{self, Cursor, Item, ListKind, Reader};
use striae_core::endian::ByteOrder;
use striae_core::source::Window;
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::ReadAt;

/// The bytes at the start of a file that say whether it is a netCDF map.
const START: usize = 1 << 16;

/// Whether the file in `store` is a netCDF map: a netCDF file with a dimension `num_decomp` in its
/// first 64 KiB, of which no more is read. It may be damaged.
///
/// # Errors
/// An error of the store.
pub fn is_netcdf<S: ReadAt>(store: &S) -> Result<bool, Failed<S, Error>> {
    let len = store.size().map_err(DriveError::Store)?;
    let mut start = vec![0; usize::try_from(len).unwrap_or(START).min(START)];
    read(store, 0, &mut start)?;
    let window = Window::new(0, &start, len);
    let mut cursor = Cursor::new(ByteOrder::Big);
    // What is not in the window is not looked for.
    while let Ok(item) = cursor.advance(&window) {
        match item {
            Item::Dim(dim) if part_of(&start, dim.name) == Some(b"num_decomp") => return Ok(true),
            Item::Header { .. } | Item::List { list: ListKind::Dims, .. } => {}
            Item::Name(_) | Item::Dim(_) => {}
            _ => break,
        }
    }
    Ok(false)
}

/// The tables of a netCDF map.
pub(super) fn tables<S: ReadAt>(store: &S) -> Result<Vec<Table>, Failed<S, Error>> {
    let (mut lengths, mut window) = (vec![0; 32], vec![0; 1 << 16]);
    if let Err(DriveError::Format(cdf::Error::DimsMemory { ndims, .. })) =
        Reader::open(store, &mut lengths, &mut window)
    {
        // The header has at least 8 bytes for each of them.
        lengths.resize(usize::try_from(ndims).unwrap_or(0), 0);
    }
    let file = Reader::open(store, &mut lengths, &mut window).map_err(of_cdf)?;
    let (mut count, mut nprocs) = (None, None);
    let dims: Vec<_> = file.dims(&mut window[..]).collect::<Result<_, _>>().map_err(of_cdf)?;
    for dim in dims {
        match name_of(&file, dim.name)?.as_deref() {
            Some("num_decomp") => count = Some(dim.length),
            Some("decomp_nprocs") => nprocs = Some(dim.length),
            _ => {}
        }
    }
    let count = count.filter(|&count| count > 0).ok_or(DriveError::Format(Error::NotMap))?;
    // The names are read once, however many decompositions there are.
    let all: Vec<_> = file.variables(&mut window[..]).collect::<Result<_, _>>().map_err(of_cdf)?;
    let (mut variables, mut attrs) = (BTreeMap::new(), BTreeMap::new());
    for variable in all {
        if let Some(name) = name_of(&file, variable.var.name)? {
            variables.entry(name).or_insert(variable);
        }
    }
    let all: Vec<_> =
        file.attrs(None, &mut window[..]).collect::<Result<_, _>>().map_err(of_cdf)?;
    for attr in all {
        if let Some(name) = name_of(&file, attr.name)? {
            attrs.entry(name).or_insert(attr);
        }
    }
    let mut tables = Vec::new();
    // The first one that is missing ends it: there are fewer than the file has bytes.
    for id in (1..).map_while(NonZeroU32::new).take(usize::try_from(count).unwrap_or(usize::MAX)) {
        let name = |column: Column| format!("D{id}.{}", column.suffix());
        let of_id = Table::VARIABLES.map(|column| variables.get(&name(column)).copied());
        let dims = attrs.get(&name(Column::Dims)).copied();
        let table = Table::of(id, (of_id, dims), file.head().file_len);
        let table = table.map_err(DriveError::Format)?;
        // All are for the same ranks.
        if *nprocs.get_or_insert(table.nprocs()) != table.nprocs() {
            return Err(DriveError::Format(Error::Column { id, column: Column::Nreqs }));
        }
        tables.push(table);
    }
    Ok(tables)
}

/// A name in the header of a map; `None` if it is too long for one that a map needs.
fn name_of<S: ReadAt>(
    file: &Reader<'_, S>,
    name: Span,
) -> Result<Option<String>, Failed<S, Error>> {
    let text = file.name(name, &mut [0; NAME_ROOM]).map(|name| name.map(ToOwned::to_owned));
    text.map_err(of_cdf)
}

/// The bytes of `D4294967295.fill_starts`.
const NAME_ROOM: usize = 23;

fn of_cdf<E>(error: DriveError<E, cdf::Error>) -> DriveError<E, Error> {
    error.map_format(Error::from)
}

/// Reads a decomposition by a rule. `on_error` gets errors after which reading goes on: a request
/// with a negative number is left out, and so are all requests of a rank that is wrong.
pub(super) fn read_table<S: ReadAt>(
    store: &S,
    table: &Table,
    rule: Rule,
    on_error: OnError<'_>,
) -> Result<Decomposition, Failed<S, Error>> {
    let id = table.id;
    announce(store, table);
    let dims = column(store, table.dims)?;
    let dims: Option<Vec<u64>> = dims.iter().map(|&length| u64::try_from(length).ok()).collect();
    let dims = dims.ok_or(DriveError::Format(Error::Grid { id }))?;
    let mut known = Decomposition::new(id, dims, table.nprocs()).map_err(DriveError::Format)?;
    let nreqs = column(store, table.nreqs)?;
    let fills = table.fill_starts.map(|fills| column(store, fills)).transpose()?;
    let mut ranks = Ranks::new(id, rule, table.total());
    for (rank, &all) in (0_u64..).zip(&nreqs) {
        let fill = fills.as_ref().map(|fills| {
            let index = usize::try_from(rank).unwrap_or(usize::MAX);
            fills.get(index).copied().unwrap_or(0)
        });
        let place = ranks.next(all, fill).map_err(DriveError::Format)?;
        let start = known.requests.len();
        push_requests(store, table, place, (rank, &mut known.requests), on_error)?;
        let end = known.requests.len();
        let fills = u64::try_from(all).unwrap_or(0).saturating_sub(place.count);
        let fills = Place { start: place.start.saturating_add(place.count), count: fills };
        if rule == Rule::Nreqs {
            push_requests(store, table, fills, (rank, &mut known.requests), on_error)?;
        }
        known.push(rank, start, end);
    }
    Ok(known)
}

fn push_requests<S: ReadAt>(
    store: &S,
    table: &Table,
    place: Place,
    (rank, into): (u64, &mut Vec<Request>),
    on_error: OnError<'_>,
) -> Result<(), Failed<S, Error>> {
    let (mut offsets, mut lengths) = ([0; 4096], [0; 4096]);
    let Place { mut start, mut count } = place;
    while count > 0 {
        let mut found = 0_u64;
        let here = Place { start, count };
        for pair in table.requests(store, here, &mut offsets, &mut lengths)? {
            found = found.saturating_add(1);
            let [offset, length] = pair;
            match request(pair) {
                Some(one) => into.push(one),
                None => {
                    let (column, value) = match offset < 0 {
                        true => (Column::Offsets, offset),
                        false => (Column::Lengths, length),
                    };
                    let error = Error::Rank { id: table.id, column, rank, value: value.into() };
                    on_error(error).map_err(DriveError::Format)?;
                }
            }
        }
        if found == 0 {
            break; // never: the ranks have no more requests than the table
        }
        (start, count) = (start.saturating_add(found), count.saturating_sub(found));
    }
    Ok(())
}
