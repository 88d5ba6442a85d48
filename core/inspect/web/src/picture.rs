//! What `map` shows: cells of any part of a file, or its regions.

use crate::file::{Named, Store, Wrong};
use crate::format::Format;
use crate::json::{Json, hex, list, row};
use alloc::vec::Vec;
use core::fmt;
use core::num::NonZeroU64;
use striae_core::field::Table;
use striae_core::span::Span;
use striae_inspect::map::{Cell, Kind, Map, Region};
use striae_inspect::subject::Failed;
use striae_inspect::{blob, cdf, ffrecord, gsd, sion};

/// The part of a file that is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    /// Where it starts.
    pub(crate) start: u64,
    /// Where it ends.
    pub(crate) end: u64,
    /// The most cells, or regions.
    pub(crate) most: u64,
    /// Whether regions are shown as they are, not in cells.
    pub(crate) is_of_regions: bool,
}

pub(crate) fn map<S: Store>(file: &Named<S>, format: Format, view: View) -> Result<Json, Wrong> {
    let (name, store) = (file.name.as_str(), &file.store);
    match format {
        Format::Sion => show(name, sion::map(store), view),
        Format::Gsd => show(name, gsd::map(store), view),
        Format::Ffrecord => show(name, ffrecord::map(store), view),
        Format::Cdf => show(name, cdf::map(store), view),
        Format::Blob => show(name, blob::map(store), view),
        Format::Map => show(name, blob::map::map(store), view),
    }
}

fn show<S: Store, F: fmt::Display>(
    name: &str,
    map: Result<Map<'_, S, F>, Failed<S, F>>,
    view: View,
) -> Result<Json, Wrong> {
    let wrong = Wrong::of(name);
    let mut map = map.map_err(&wrong)?;
    let end = view.end.min(map.file_len());
    let span = Span::between(view.start, end).unwrap_or(Span::ZERO);
    let damage = map.damage().map(|damage| Wrong::new(name, damage).to_string());
    let shown = row()
        .with("path", name)
        .with("bytes", map.file_len())
        .with("owner", map.owner())
        .with("damage", damage)
        .with("tables", list(map.parts().iter().map(of_region)));
    if view.is_of_regions {
        let (mut at, mut regions) = (span.offset(), Vec::new());
        let mut left = view.most;
        while at < span.end() && left > 0 {
            let region = map.at(at).map_err(&wrong)?;
            at = region.span.end().max(at.saturating_add(1));
            left = left.saturating_sub(1);
            regions.push(of_region(&region));
        }
        return Ok(shown.with("regions", regions).with("end", at));
    }
    let cell_len = span.len().div_ceil(view.most.max(1));
    let cell_len = NonZeroU64::new(cell_len).unwrap_or(NonZeroU64::MIN);
    let cells = map.cells_of(span, cell_len).map_err(&wrong)?;
    let kinds = cells
        .amounts
        .present()
        .map(|(kind, bytes)| row().with("kind", kind.look().name).with("bytes", bytes));
    let kinds: Vec<Json> = kinds.collect();
    Ok(shown
        .with("sampled", cells.is_sampled)
        .with("kinds", kinds)
        .with("cell_bytes", cell_len.get())
        .with("cells", list(cells.cells.iter().map(of_cell))))
}

fn of_region(region: &Region) -> Json {
    let Region { span, kind, owner, name } = *region;
    let name = Some(name).filter(|name| !name.is_empty());
    row()
        .with("kind", kind.look().name)
        .with("offset", span.offset())
        .with("bytes", span.len())
        .with_some("owner", owner)
        .with_some("name", name)
}

fn of_cell(cell: &Cell) -> Json {
    row()
        .with("kind", cell.kind.look().name)
        .with("offset", cell.span.offset())
        .with("bytes", cell.span.len())
        .with_some("owner", cell.owner)
        .with_some("mark", cell.mark.map(|kind| kind.look().name))
}

/// The legend: kinds with their letters and colours.
pub(crate) fn legend() -> Json {
    list(Kind::ALL.map(|kind| {
        let look = kind.look();
        row()
            .with("kind", look.name)
            .with("letter", alloc::string::String::from(look.letter))
            .with("colour", colour(kind.colour_of(None)))
            .with("odd", colour(kind.colour_of(Some(1))))
            .with("is_data", kind.is_data())
            .with("is_exact", kind.is_exact())
            .with("description", look.description)
    }))
}

fn colour(rgb: [u8; 3]) -> alloc::string::String {
    alloc::format!("#{}", hex(&rgb))
}

/// The tables of the formats: the part of the file that names of fields start with, and the
/// structure whose fields they are, as the specification has it.
pub(crate) fn tables() -> Json {
    let formats: [(&str, &[&Table]); 6] = [
        ("sion", striae_core::sion::raw::TABLES),
        ("gsd", striae_core::gsd::raw::TABLES),
        ("ffrecord", striae_core::ffrecord::raw::TABLES),
        ("cdf", striae_core::cdf::raw::TABLES),
        ("blob", striae_core::hdf5::raw::TABLES),
        ("blob", striae_core::blob::raw::TABLES),
    ];
    list(formats.into_iter().flat_map(|(format, tables)| {
        tables.iter().map(move |table| {
            row().with("format", format).with("part", table.part).with("structure", table.name)
        })
    }))
}

use alloc::string::ToString;
