//! `striae ls --summary`: one line for each name.

use super::JsonName;
use super::list::Rows;
use crate::args::LsArgs;
use crate::failure::Failure;
use crate::printable::printable;
use crate::sheet::{Cell, Column, Sheet, left, right};
use crate::text::{print, print_json_of};
use serde::Serialize;
use std::io;
use striae::gsd::Name;
use striae_core::gsd::{Chunk, ChunkType};

/// The smallest and the largest value.
#[derive(Clone, Copy, Serialize)]
struct Reach(u64, u64);

impl Reach {
    fn add(&mut self, n: u64) {
        *self = Self(self.0.min(n), self.1.max(n));
    }
}

impl std::fmt::Display for Reach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = match self {
            Self(one, other) if one == other => one.to_string(),
            Self(least, most) => format!("{least}-{most}"),
        };
        f.pad(&text)
    }
}

/// A summary of the chunks of a name.
struct Sum {
    id: u16,
    /// Number of frames that have such a chunk, and the last of these frames.
    frames: u64,
    last: u64,
    kinds: Vec<ChunkType>,
    n: Reach,
    m: Reach,
    bytes: u64,
}

impl Sum {
    fn new(chunk: &Chunk) -> Self {
        let (n, m) = (chunk.n, u64::from(chunk.m));
        let (n, m) = (Reach(n, n), Reach(m, m));
        let (id, last, bytes) = (chunk.id, chunk.frame, chunk.span.len());
        Self { id, frames: 1, last, kinds: vec![chunk.kind], n, m, bytes }
    }

    fn add(&mut self, chunk: &Chunk) {
        let is_new = self.last != chunk.frame; // a frame may have two chunks of a name
        self.frames = self.frames.saturating_add(u64::from(is_new));
        self.last = chunk.frame;
        if !self.kinds.contains(&chunk.kind) {
            self.kinds.push(chunk.kind);
        }
        self.n.add(chunk.n);
        self.m.add(chunk.m.into());
        self.bytes = self.bytes.saturating_add(chunk.span.len());
    }
}

#[derive(Serialize)]
struct Summary<'a> {
    format: &'static str,
    frames: u64,
    names: Vec<OfName<'a>>,
}

/// A name in JSON, with the smallest and the largest numbers of rows and columns.
#[derive(Serialize)]
struct OfName<'a> {
    name: JsonName<'a>,
    frames: u64,
    types: Vec<&'static str>,
    #[serde(rename = "N")]
    n: Reach,
    #[serde(rename = "M")]
    m: Reach,
    bytes: u64,
}

/// Prints the names that have chunks, in the order of their ids.
pub(super) fn summary(rows: &Rows<'_>, args: &LsArgs) -> Result<(), Failure> {
    let mut sums: Vec<Option<Sum>> = Vec::new();
    let mut wrong = Vec::new();
    let added = rows.each(|chunk| {
        match chunk {
            Ok(chunk) => {
                let id = usize::from(chunk.id);
                if id >= sums.len() {
                    sums.resize_with(id.saturating_add(1), || None);
                }
                match sums.get_mut(id) {
                    Some(Some(sum)) => sum.add(&chunk),
                    Some(none) => *none = Some(Sum::new(&chunk)),
                    None => {}
                }
            }
            Err(row) => wrong.push(row.error),
        }
        Ok::<(), io::Error>(())
    });
    added.map_err(Failure::stdout)?;
    let sums = sums.into_iter().flatten();
    if args.json {
        let names = sums.map(|sum| OfName {
            name: JsonName(rows.name(sum.id)),
            frames: sum.frames,
            types: sum.kinds.iter().map(|kind| kind.name()).collect(),
            n: sum.n,
            m: sum.m,
            bytes: sum.bytes,
        });
        let (format, frames) = (striae::Format::Gsd.name(), rows.frames());
        let summary = Summary { format, frames, names: names.collect() };
        return print_json_of(&args.file.path, &summary).map(drop);
    }
    print(|out| {
        let mut sheet = Sheet::new(COLUMNS, args.form(), out)?;
        for sum in sums {
            let kinds: Vec<_> = sum.kinds.iter().map(|kind| kind.name()).collect();
            let (kinds, n, m) = (kinds.join(","), sum.n.to_string(), sum.m.to_string());
            let name = printable(&Name(rows.name(sum.id)).to_string());
            let [kinds, n, m, name] = [&kinds, &n, &m, &name].map(|text| Cell::Text(text));
            sheet.row(&[Cell::Number(sum.frames), kinds, n, m, Cell::Number(sum.bytes), name])?;
        }
        wrong.iter().try_for_each(|error| sheet.row(&[Cell::Unknown, Cell::Wrong(error)]))
    })
    .map(drop)
}

const COLUMNS: &[Column] = &[
    right("frames", 12),
    left("type", 9),
    right("N", 14),
    right("M", 9),
    right("bytes", 16),
    left("name", 0),
];
