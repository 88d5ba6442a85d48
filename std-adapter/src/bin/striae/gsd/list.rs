//! `striae ls` of a GSD file.

use super::JsonName;
use crate::args::{LsArgs, Part};
use crate::failure::{Failure, FirstError, Sound};
use crate::text::{print_json, printable, stdout, unless_gone};
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use std::io::{self, Write};
use striae::Error;
use striae::gsd::{Chunks, File, NameList};
use striae_core::gsd::Chunk;

/// What `ls --json` prints.
#[derive(Serialize)]
struct Listing<'a> {
    format: &'static str,
    gsd_version: String,
    application: JsonName<'a>,
    schema: JsonName<'a>,
    schema_version: String,
    frames: u64,
    names: Vec<JsonName<'a>>,
    chunks: Rows<'a>,
}

/// The chunks, read while they are printed: there may be millions.
struct Rows<'a> {
    file: &'a File,
    names: &'a NameList,
    part: Option<Part>,
    failed: &'a FirstError,
}

/// A chunk.
#[derive(Serialize)]
struct Row<'a> {
    frame: u64,
    name: JsonName<'a>,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(rename = "N")]
    n: u64,
    #[serde(rename = "M")]
    m: u32,
}

/// An entry of the index that is none of a chunk, and why.
#[derive(Serialize)]
struct WrongRow {
    slot: u64,
    error: String,
}

pub(super) fn ls(args: &LsArgs) -> Result<Sound, Failure> {
    if args.keys {
        let path = args.file.path.display();
        let text = format!("{path}: a GSD file has no key-value records, which --keys would list");
        return Err(Failure::Usage(text));
    }
    let file = File::open(&args.file.path)?;
    file.check_frames(&Part::of(args.frames, file.frames()))?;
    let failed = FirstError::default();
    let rows = Rows { file: &file, names: file.names()?, part: args.frames, failed: &failed };
    if args.json {
        let header = file.header();
        print_json(&Listing {
            format: "gsd",
            gsd_version: header.version.to_string(),
            application: JsonName(header.application.as_bytes()),
            schema: JsonName(header.schema.as_bytes()),
            schema_version: header.schema_version.to_string(),
            frames: file.frames(),
            names: rows.names.iter().map(|name| JsonName(name.as_bytes())).collect(),
            chunks: rows,
        })?;
    } else {
        let mut out = stdout();
        let written = rows.write_text(&mut out).and_then(|()| out.flush());
        unless_gone(written)?;
    }
    failed.into_failure()?;
    Ok(Sound::Yes)
}

impl Rows<'_> {
    /// Hands over each chunk, or the slot and the error of one that is none, until that fails.
    fn each<E>(
        &self,
        mut each: impl FnMut(Result<Chunk, WrongRow>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut chunks = match self.chunks() {
            Ok(chunks) => chunks,
            Err(error) => {
                self.failed.keep(error);
                return Ok(());
            }
        };
        while let Some(chunk) = chunks.next() {
            each(chunk.map_err(|error| {
                let slot = chunks.slot().saturating_sub(1);
                WrongRow { slot, error: self.failed.keep(error) }
            }))?;
        }
        Ok(())
    }

    fn chunks(&self) -> Result<Chunks<'_>, Error> {
        match self.part {
            None => Ok(self.file.chunks()),
            some => self.file.chunks_of_frames(Part::of(some, self.file.frames())),
        }
    }

    fn name(&self, id: u16) -> &[u8] {
        self.names.get(id).map_or(b"", |name| name.as_bytes())
    }

    fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        let names: Vec<_> = self.names.iter().map(|name| printable(&name.to_string())).collect();
        writeln!(out, "{:>12}  {:<9} {:>12} {:>6}  name", "frame", "type", "N", "M")?;
        let mut line = Line::default();
        self.each(|chunk| match chunk {
            Ok(chunk) => {
                line.0.clear();
                line.number(12, chunk.frame);
                line.text(2, 9, chunk.kind.name());
                line.number(13, chunk.n);
                line.number(7, chunk.m.into());
                line.text(2, 0, names.get(usize::from(chunk.id)).map_or("", |name| name));
                line.0.push(b'\n');
                out.write_all(&line.0)
            }
            Err(WrongRow { error, .. }) => writeln!(out, "{:>12}  {}", "?", printable(&error)),
        })
    }
}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(None)?;
        self.each(|chunk| match chunk {
            Ok(Chunk { frame, id, kind, n, m, .. }) => {
                let (name, kind) = (JsonName(self.name(id)), kind.name());
                rows.serialize_element(&Row { frame, name, kind, n, m })
            }
            Err(wrong) => rows.serialize_element(&wrong),
        })?;
        rows.end()
    }
}

/// A line of text. Formatting numbers one by one takes longer than all else that a list does.
#[derive(Default)]
struct Line(Vec<u8>);

impl Line {
    /// A number at the right of so many columns, or of more if it needs them.
    fn number(&mut self, columns: usize, mut number: u64) {
        const DIGITS: usize = 20;
        let mut digits = [b' '; DIGITS];
        let mut len = 0usize;
        for digit in digits.iter_mut().rev() {
            *digit = b'0'.saturating_add(u8::try_from(number % 10).unwrap_or(0));
            number /= 10;
            len = len.saturating_add(1);
            if number == 0 {
                break;
            }
        }
        let from = DIGITS.saturating_sub(len.max(columns.min(DIGITS)));
        self.0.extend_from_slice(digits.get(from..).unwrap_or_default());
    }

    /// A text behind so many blanks, with blanks up to so many columns.
    fn text(&mut self, before: usize, columns: usize, text: &str) {
        const BLANKS: [u8; 16] = [b' '; 16];
        self.0.extend_from_slice(BLANKS.get(..before).unwrap_or_default());
        self.0.extend_from_slice(text.as_bytes());
        let rest = columns.saturating_sub(text.len());
        self.0.extend_from_slice(BLANKS.get(..rest).unwrap_or_default());
    }
}
