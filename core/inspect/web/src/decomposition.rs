//! Decomposition maps as text.

use crate::file::{Named, Store, Wrong};
use crate::json::{Json, list, row};
use striae_inspect::blob::map::{Decomposition, Map};

fn open<S: Store>(file: &Named<S>) -> Result<Map, Wrong> {
    Map::read(&file.store).map_err(Wrong::of(&file.name))
}

/// The number of elements of a rank.
fn elements(of: &Decomposition, rank: u64) -> u64 {
    of.requests(rank).iter().map(|request| request.len).fold(0, u64::saturating_add)
}

pub(crate) fn info<S: Store>(file: &Named<S>) -> Result<Json, Wrong> {
    let map = open(file)?;
    let row = row().with("path", file.name.as_str()).with("format", "map");
    let Some(first) = map.decompositions().first() else { return Ok(row) };
    let covered = first.ranks().map(|rank| elements(first, rank)).fold(0, u64::saturating_add);
    Ok(row
        .with("nprocs", map.nprocs())
        .with("dims", first.dims().to_vec())
        .with("nelems", first.grid().total())
        .with("ranks", first.ranks().count())
        .with("requests", first.count())
        .with("covered", covered))
}

pub(crate) fn ls<S: Store>(file: &Named<S>) -> Result<Json, Wrong> {
    let map = open(file)?;
    let listed = |of: &Decomposition| {
        let ranks = of.ranks().map(|rank| {
            let requests = of.requests(rank).len();
            row().with("rank", rank).with("requests", requests).with("elements", elements(of, rank))
        });
        row()
            .with("id", of.id().get())
            .with("dims", of.dims().to_vec())
            .with("nelems", of.grid().total())
            .with("requests", of.count())
            .with("ranks", list(ranks))
    };
    Ok(row()
        .with("path", file.name.as_str())
        .with("format", "map")
        .with("nprocs", map.nprocs())
        .with("decompositions", list(map.decompositions().iter().map(listed))))
}
