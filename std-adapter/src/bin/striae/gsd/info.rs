//! `striae info` of a GSD file.

use super::JsonName;
use super::hoomd::Hoomd;
use crate::args::{InfoArgs, Lines};
use crate::failure::{Failure, Sound};
use crate::printable::printable;
use serde::Serialize;
use striae::gsd::{File, Name, Stale};
use striae_core::gsd::{Head, State};
use striae_core::span::Span;

/// The output of `info --json`.
#[derive(Serialize)]
struct Info<'a> {
    format: &'static str,
    gsd_version: String,
    application: JsonName<'a>,
    schema: JsonName<'a>,
    schema_version: String,
    frames: u64,
    names: u32,
    entries: u64,
    bytes: u64,
    index: Block,
    namelist: Block,
    /// `none`, `appended`, `committed`, `torn` or `ahead`.
    record: &'static str,
    commit: Option<Commit>,
    /// The options that a stale commit record states for the frames that it covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    stale: Option<Gone>,
    /// The contents of a trajectory, if the schema is hoomd.
    #[serde(skip_serializing_if = "Option::is_none")]
    hoomd: Option<Hoomd<'a>>,
}

/// The block of an index or of a name list.
#[derive(Serialize)]
struct Block {
    location: u64,
    bytes: u64,
    used: u64,
}

/// The contents of the commit record.
#[derive(Serialize)]
struct Commit {
    sequence: u32,
    data_end: u64,
    align: u64,
    checksums: bool,
}

/// The options that do not apply to frames that gsd has appended, nor to later frames.
#[derive(Serialize)]
struct Gone {
    align: u64,
    checksums: bool,
}

pub(super) fn info(args: &InfoArgs) -> Result<Sound, Failure> {
    let file = File::open(&args.file.path)?;
    let (hoomd, failed) = Hoomd::new(&file, &args.file.path);
    let info = Info { hoomd, ..Info::new(file.head()) };
    let done = args.print(&info, || Ok(lines(file.head(), &info)))?;
    failed.map_or(Ok(done), |error| Err(error.into()))
}

impl<'a> Info<'a> {
    fn new(head: &'a Head) -> Self {
        let header = &head.header;
        Self {
            format: "gsd",
            gsd_version: header.version.to_string(),
            application: JsonName(header.application.as_bytes()),
            schema: JsonName(header.schema.as_bytes()),
            schema_version: header.schema_version.to_string(),
            frames: head.frames,
            names: head.names,
            entries: head.entries,
            bytes: head.file_len,
            index: index(head),
            namelist: Block {
                location: header.names.location,
                bytes: header.names.span().map_or(0, Span::len),
                used: head.names_len,
            },
            record: match head.state {
                State::Plain => "none",
                State::Appended => "appended",
                State::Committed(_) => "committed",
                State::Torn(_) => "torn",
                State::Ahead(_) => "ahead",
            },
            commit: head.state.record().map(|record| Commit {
                sequence: record.sequence,
                data_end: record.data_end,
                align: align(record.align),
                checksums: record.checksums,
            }),
            stale: Stale::of(head).map(|Stale { align, checksums, .. }| Gone { align, checksums }),
            hoomd: None,
        }
    }
}

/// The current index: a commit record may know a later one than the header.
fn index(head: &Head) -> Block {
    let shown = head.header.index;
    let block = head.state.record().and_then(|record| record.index(shown)).unwrap_or(shown);
    Block {
        location: block.location,
        bytes: block.span().map_or(0, Span::len),
        used: head.index().span().map_or(0, Span::len),
    }
}

fn align(power: u8) -> u64 {
    1u64.checked_shl(power.into()).unwrap_or(0)
}

fn lines(head: &Head, info: &Info<'_>) -> Lines {
    let header = &head.header;
    let text = |bytes: &[u8]| printable(&Name(bytes).to_string());
    let block = |block: &Block| {
        format!("{} of {} bytes at offset {} used", block.used, block.bytes, block.location)
    };
    let mut lines = vec![
        ("format", format!("GSD, file layer {}", header.version)),
        ("application", text(header.application.as_bytes())),
        ("schema", format!("{} {}", text(header.schema.as_bytes()), header.schema_version)),
        ("frames", head.frames.to_string()),
        ("names", head.names.to_string()),
        ("index entries", head.entries.to_string()),
        ("index", block(&info.index)),
        ("name list", block(&info.namelist)),
        ("bytes", head.file_len.to_string()),
    ];
    let commit = match head.state {
        State::Plain => "none".to_owned(),
        State::Appended => "stale: gsd has appended since, and all of that is read".to_owned(),
        State::Committed(record) => format!("number {}", record.sequence),
        State::Torn(record) => {
            format!(
                "number {}, cut off while it was published, and read all the same",
                record.sequence
            )
        }
        State::Ahead(record) => {
            let number = record.sequence;
            format!("number {number}, as a shadow proves; gsd sees an older one")
        }
    };
    lines.push(("commit record", commit));
    if let Some(record) = head.state.record() {
        let checked = if record.checksums { "yes: verify checks them" } else { "no" };
        lines.push(("checksums", checked.to_owned()));
        lines.push(("chunks aligned to", format!("{} bytes", align(record.align))));
    }
    if let Some(stale) = Stale::of(head) {
        lines.push(("gone with it", format!("{stale}, of what came since and is to come")));
    }
    lines.extend(info.hoomd.iter().flat_map(Hoomd::lines));
    lines
}
