//! `striae info` of an ffrecord file.

use crate::args::{InfoArgs, Lines};
use crate::failure::{Failure, Sound};
use serde::Serialize;
use striae::Error;
use striae::ffrecord::File;

/// The first bytes of the last sample of a packed folder.
const PACKED: &[u8] = b"piouhjgbr";

/// The output of `info --json`.
#[derive(Serialize)]
struct Info {
    format: &'static str,
    samples: u64,
    bytes: u64,
    header_bytes: u64,
    meta_crc: Option<u32>,
    packed_folder: bool,
}

pub(super) fn info(args: &InfoArgs) -> Result<Sound, Failure> {
    let file = File::open(&args.file.path)?;
    let head = file.head();
    let info = Info {
        format: "ffrecord",
        samples: file.n(),
        bytes: head.file_len,
        header_bytes: head.layout.header_len(),
        meta_crc: Some(head.checksum_meta).filter(|&crc| crc != 0),
        packed_folder: is_packed_folder(&file)?,
    };
    args.print(&info, || Ok(lines(&info)))
}

/// Whether ffrecord's `pack_folder` made the file: its last sample has the names of the others.
fn is_packed_folder(file: &File) -> Result<bool, Error> {
    let Some(last) = file.n().checked_sub(1) else { return Ok(false) };
    let Ok(last) = file.sample(last) else { return Ok(false) };
    let mut front = [0; PACKED.len()];
    let len = file.read_span(last.span, &mut front)?;
    Ok(len == PACKED.len() && front == PACKED)
}

fn lines(info: &Info) -> Lines {
    let mut lines = vec![
        ("format", "ffrecord".to_owned()),
        ("samples", info.samples.to_string()),
        ("bytes", info.bytes.to_string()),
        ("header and tables", format!("{} bytes", info.header_bytes)),
    ];
    let checksums = match info.meta_crc {
        Some(_) => "of the tables and of every sample: verify checks them",
        None => "of every sample, and not of the tables: written by an old version",
    };
    lines.push(("checksums", checksums.to_owned()));
    if info.packed_folder {
        let text = "yes: the last sample has the names of the others, as a pickle of Python's";
        lines.push(("packed folder", text.to_owned()));
    }
    lines
}
