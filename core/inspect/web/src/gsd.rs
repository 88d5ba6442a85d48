//! GSD files.

use crate::address;
use crate::file::{Named, Store, Wrong, text_of};
use crate::json::{Json, list, row};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use striae_core::gsd::{Chunk, Error, Head, State, find::Find, open::Open};
use striae_core::span::Span;
use striae_core::step::{DriveError, drive_read};
use striae_hoomd::Trajectory;
use striae_hoomd::shown::Shown;
use striae_hoomd::source::{File, Open as _, Source as _};
use striae_inspect::gsd::Stale;

/// The prefix of the names of logged quantities.
const LOG: &str = "log/";

type Gsd<'a, S> = File<&'a S>;

fn open<S: Store>(file: &Named<S>) -> Result<Gsd<'_, S>, Wrong> {
    // First what the program opens it with, whose errors have no frame around them.
    let opened = striae_core::gsd::Reader::open(&file.store, &mut [0; Open::WINDOW]);
    opened.map_err(Wrong::of(&file.name))?;
    File::open(&file.store).map_err(Wrong::of(&file.name))
}

fn head_of(file_name: &str, head: &Head) -> Json {
    let header = &head.header;
    row()
        .with("path", file_name)
        .with("format", "gsd")
        .with("gsd_version", header.version.to_string())
        .with("application", Json::name(header.application.as_bytes()))
        .with("schema", Json::name(header.schema.as_bytes()))
        .with("schema_version", header.schema_version.to_string())
        .with("frames", head.frames)
}

pub(crate) fn info<S: Store>(file: &Named<S>) -> Result<Json, Wrong> {
    let gsd = open(file)?;
    let head = gsd.head();
    let shown = head.header.index;
    let index = head.state.record().and_then(|record| record.index(shown)).unwrap_or(shown);
    let (index_len, used) = (index.span(), head.index().span());
    let names = head.header.names;
    let commit = head.state.record().map(|record| {
        row()
            .with("sequence", record.sequence)
            .with("data_end", record.data_end)
            .with("align", 1_u64.checked_shl(record.align.into()).unwrap_or(0))
            .with("checksums", record.checksums)
    });
    let stale = Stale::of(head)
        .map(|stale| row().with("align", stale.align).with("checksums", stale.checksums));
    let record = match head.state {
        State::Plain => "none",
        State::Appended => "appended",
        State::Committed(_) => "committed",
        State::Torn(_) => "torn",
        State::Ahead(_) => "ahead",
    };
    let row = head_of(&file.name, head)
        .with("names", head.names)
        .with("entries", head.entries)
        .with("bytes", head.file_len)
        .with("index", block(index.location, index_len, used.map_or(0, Span::len)))
        .with("namelist", block(names.location, names.span(), head.names_len))
        .with("record", record)
        .with("commit", commit)
        .with_some("stale", stale);
    Ok(row.with_some("hoomd", hoomd(file, &gsd)))
}

fn block(location: u64, span: Option<Span>, used: u64) -> Json {
    let bytes = span.map_or(0, Span::len);
    row().with("location", location).with("bytes", bytes).with("used", used)
}

/// The contents of a trajectory, or why it cannot be read; `None` if the file has another schema.
fn hoomd<S: Store>(file: &Named<S>, gsd: &Gsd<'_, S>) -> Option<Json> {
    if gsd.head().header.schema.as_bytes() != b"hoomd" {
        return None;
    }
    Some(
        trajectory(file, gsd)
            .unwrap_or_else(|error| row().with("error", Wrong::new(&file.name, error).to_string())),
    )
}

fn trajectory<S: Store>(file: &Named<S>, gsd: &Gsd<'_, S>) -> Result<Json, String> {
    let text = |error| text_of(&error);
    let trajectory = Trajectory::<Gsd<'_, S>>::open(&file.store).map_err(text)?;
    let names = gsd.names().map_err(text)?;
    let log = names
        .with_prefix(LOG)
        .map(|(_, name)| Json::name(name.as_bytes().get(LOG.len()..).unwrap_or_default()));
    let log: Vec<Json> = log.collect();
    let Some(last) = trajectory.len().checked_sub(1) else {
        let row = row().with("steps", Json::Null).with("particles", Json::Null);
        return Ok(row.with("types", list::<Json>([])).with("log", log));
    };
    let (first, last) = (trajectory.frame(0).map_err(text)?, trajectory.frame(last).map_err(text)?);
    let steps = [first.step().map_err(text)?, last.step().map_err(text)?];
    let particles = [first.particles().n().map_err(text)?, last.particles().n().map_err(text)?];
    let types = first.particles().types().map_err(text)?;
    let row = row().with("steps", list(steps)).with("particles", list(particles));
    Ok(row.with("types", types).with("log", log))
}

pub(crate) fn ls<S: Store>(file: &Named<S>, (from, count): (u64, u64)) -> Result<Json, Wrong> {
    let gsd = open(file)?;
    let head = gsd.head();
    let names = gsd.names().map_err(Wrong::of(&file.name))?;
    let name = |id: u16| names.get(id).map_or(&b""[..], |name| name.as_bytes());
    let mut chunks = gsd.reader().chunks(vec![0; 1 << 16]).ordered();
    let skip = usize::try_from(from).unwrap_or(usize::MAX);
    let take = usize::try_from(count).unwrap_or(usize::MAX);
    let chunks = core::iter::from_fn(|| {
        let chunk = chunks.next()?;
        Some((chunks.slot().saturating_sub(1), chunk))
    });
    let chunks = chunks.skip(skip).take(take);
    let rows = chunks.map(|(slot, chunk)| match chunk {
        Ok(Chunk { frame, id, kind, n, m, .. }) => row()
            .with("frame", frame)
            .with("name", Json::name(name(id)))
            .with("type", kind.name())
            .with("N", n)
            .with("M", m)
            .with("address", address::of_chunk(frame, name(id))),
        Err(error) => row().with("slot", slot).with("error", wrong_entry(file, error).to_string()),
    });
    let rows: Vec<Json> = rows.collect();
    let all = names.iter().map(|name| Json::name(name.as_bytes()));
    Ok(head_of(&file.name, head).with("names", list(all)).with("chunks", rows))
}

fn wrong_entry<S: Store>(file: &Named<S>, error: DriveError<S::Error, Error>) -> Wrong {
    Wrong::of(&file.name)(error)
}

/// The first error that a reader of all chunks gets.
pub(crate) fn first_refusal<S: Store>(file: &Named<S>) -> Result<(), Wrong> {
    let gsd = open(file)?;
    let mut chunks = gsd.reader().chunks(vec![0; 1 << 16]).ordered();
    chunks.try_for_each(|chunk| chunk.map(drop)).map_err(Wrong::of(&file.name))
}

/// The place of the chunk with this name in a frame.
pub(crate) fn places<S: Store>(
    file: &Named<S>,
    frame: u64,
    name: &[u8],
) -> Result<Vec<Span>, Wrong> {
    let gsd = open(file)?;
    let names = gsd.names().map_err(Wrong::of(&file.name))?;
    let found = match names.id(name) {
        Some(id) => {
            let mut find = Find::new(gsd.head(), frame, id, 128).ordered();
            drive_read(&mut find, gsd.reader().store(), &mut vec![0; 1 << 12])
        }
        None => Ok(None),
    };
    let chunk = found.map_err(Wrong::of(&file.name))?;
    let none = || format!("frame {frame} has no chunk {}", Shown::new(name));
    Ok(vec![chunk.ok_or_else(|| Wrong::new(&file.name, none()))?.span])
}
