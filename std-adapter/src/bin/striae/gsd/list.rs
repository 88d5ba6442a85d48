//! `striae ls` of a GSD file.

use super::{JsonName, summary};
use crate::args::{LsArgs, Rows as Frames};
use crate::failure::{Failure, FirstError, Sound};
use crate::printable::printable;
use crate::sheet::{Cell, Column, Form, Sheet, left, right};
use crate::text::{json_of, print};
use serde::Serialize;
use std::io::{self, Write};
use striae::Error;
use striae::address::Address;
use striae::gsd::{Chunks, File, NameList};
use striae_core::gsd::{Chunk, ChunkType};

/// The columns of a list; [`Line`] prints them as text.
const COLUMNS: &[Column] =
    &[right("frame", 12), left("type", 9), right("N", 12), right("M", 6), left("name", 0)];

/// The output of `ls --json`.
#[derive(Serialize)]
struct Listing<'a> {
    format: &'static str,
    gsd_version: String,
    application: JsonName<'a>,
    schema: JsonName<'a>,
    schema_version: String,
    frames: u64,
    names: Vec<JsonName<'a>>,
    chunks: [(); 0], // they are printed by themselves
}

/// The chunks. They are read while they are printed, since there may be millions.
pub(super) struct Rows<'a> {
    file: &'a File,
    names: &'a NameList,
    part: Option<Frames>,
    failed: &'a FirstError,
}

/// The row of an index entry that is no valid chunk, with the error.
#[derive(Serialize)]
pub(super) struct WrongRow {
    slot: u64,
    pub(super) error: String,
}

pub(super) fn ls(args: &LsArgs) -> Result<Sound, Failure> {
    let file = File::open(&args.file.path)?;
    file.check_frames(&Frames::of(args.frames, file.frames()))?;
    let failed = FirstError::default();
    if let Err(error) = file.check_names() {
        failed.keep(error);
    }
    let rows = Rows { file: &file, names: file.names()?, part: args.frames, failed: &failed };
    if args.summary {
        summary::summary(&rows, args)?;
    } else if args.json {
        let header = file.header();
        let listing = Listing {
            format: "gsd",
            gsd_version: header.version.to_string(),
            application: JsonName(header.application.as_bytes()),
            schema: JsonName(header.schema.as_bytes()),
            schema_version: header.schema_version.to_string(),
            frames: file.frames(),
            names: rows.names.iter().map(|name| JsonName(name.as_bytes())).collect(),
            chunks: [],
        };
        print(|out| {
            let text = json_of(&args.file.path, &listing)?;
            let end = "]}";
            write!(out, "{}", text.strip_suffix(end).unwrap_or(&text))?;
            rows.write_json(out)?;
            writeln!(out, "{end}")
        })?;
    } else {
        print(|out| match args.addresses {
            true => rows.write_addresses(out),
            false if args.csv => rows.write_csv(args.form(), out),
            false => rows.write_text(out),
        })?;
    }
    failed.into_failure()?;
    Ok(Sound::Yes)
}

impl Rows<'_> {
    /// Calls `each` for each chunk, or for the slot and the error of an invalid entry. Ends at the
    /// first error of `each`.
    pub(super) fn each<E>(
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
            some => self.file.chunks_of_frames(Frames::of(some, self.file.frames())),
        }
    }

    pub(super) fn name(&self, id: u16) -> &[u8] {
        self.names.get(id).map_or(b"", |name| name.as_bytes())
    }

    /// Number of frames to list.
    pub(super) fn frames(&self) -> u64 {
        let frames = Frames::of(self.part, self.file.frames());
        frames.end.saturating_sub(frames.start)
    }

    fn address(&self, frame: u64, id: u16) -> Address {
        Address::chunk(frame, self.name(id))
    }

    fn write_addresses(&self, out: &mut impl Write) -> io::Result<()> {
        self.each(|chunk| match chunk {
            Ok(chunk) => writeln!(out, "{}", self.address(chunk.frame, chunk.id)),
            Err(_) => Ok(()), // told at the end
        })
    }

    fn write_csv(&self, form: Form<'_>, out: &mut impl Write) -> io::Result<()> {
        let names: Vec<_> = self.names.iter().map(|name| printable(&name.to_string())).collect();
        let mut sheet = Sheet::new(COLUMNS, form, out)?;
        self.each(|chunk| match chunk {
            Ok(Chunk { frame, id, kind, n, m, .. }) => {
                let name = names.get(usize::from(id)).map_or("", String::as_str);
                let [frame, n, m] = [frame, n, m.into()].map(Cell::Number);
                sheet.row(&[frame, Cell::Text(kind.name()), n, m, Cell::Text(name)])
            }
            Err(_) => Ok(()), // told at the end
        })
    }

    fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        let mut lines: Vec<_> = self.names.iter().map(|it| JsonLine::new(it.as_bytes())).collect();
        let mut between: &[u8] = b"";
        self.each(|chunk| {
            out.write_all(between)?;
            between = b",";
            match chunk {
                Ok(chunk) => match lines.get_mut(usize::from(chunk.id)) {
                    Some(line) => line.write(&chunk, out),
                    None => JsonLine::new(b"").write(&chunk, out),
                },
                Err(wrong) => Ok(serde_json::to_writer(&mut *out, &wrong)?),
            }
        })
    }

    fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        let names: Vec<_> = self.names.iter().map(|name| printable(&name.to_string())).collect();
        writeln!(out, "{:>12}  {:<9} {:>12} {:>6}  name", "frame", "type", "N", "M")?;
        let mut lines: Vec<_> = names.iter().map(|name| Line::new(name)).collect();
        self.each(|chunk| match chunk {
            Ok(chunk) => match lines.get_mut(usize::from(chunk.id)) {
                Some(line) => out.write_all(line.of(&chunk)),
                None => out.write_all(Line::new("").of(&chunk)),
            },
            Err(WrongRow { error, .. }) => writeln!(out, "{:>12}  {}", "?", printable(&error)),
        })
    }
}

/// The line of the last chunk of a name. Chunks of one name usually differ only in the frame. Then
/// only the number of the frame is replaced, because formatting is the slowest part of a list.
#[derive(Default)]
struct Line<'a> {
    name: &'a str,
    text: Vec<u8>,
    /// Type, rows and columns in the text, if its first bytes have the frame.
    shown: Option<(ChunkType, u64, u32)>,
    /// The frame in the text.
    frame: u64,
}

/// Width of the number of a frame.
const FRAME: usize = 12;

/// Digits of the largest number.
const DIGITS: usize = 20;

impl<'a> Line<'a> {
    fn new(name: &'a str) -> Self {
        Self { name, ..Self::default() }
    }

    /// The line of `chunk`.
    fn of(&mut self, chunk: &Chunk) -> &[u8] {
        let shown = Some((chunk.kind, chunk.n, chunk.m));
        let is_next = self.frame.checked_add(1) == Some(chunk.frame);
        let front = self.text.first_chunk_mut().filter(|_| self.shown == shown);
        self.frame = chunk.frame;
        if !front.is_some_and(|front| (is_next && count_up(front)) || put_frame(chunk.frame, front))
        {
            self.text.clear();
            self.number(FRAME, chunk.frame);
            self.shown = shown.filter(|_| self.text.len() == FRAME);
            self.words(2, 9, chunk.kind.name());
            self.number(13, chunk.n);
            self.number(7, chunk.m.into());
            self.words(2, 0, self.name);
            self.text.push(b'\n');
        }
        &self.text
    }

    /// Appends a number, right-aligned in `columns`; a longer number takes more columns.
    fn number(&mut self, columns: usize, number: u64) {
        let mut digits = [b' '; DIGITS];
        let len = put_number(number, &mut digits);
        let from = DIGITS.saturating_sub(len.max(columns.min(DIGITS)));
        self.text.extend_from_slice(digits.get(from..).unwrap_or_default());
    }

    /// Appends `before` blanks and a text that is padded to `columns`.
    fn words(&mut self, before: usize, columns: usize, text: &str) {
        const BLANKS: [u8; 16] = [b' '; 16];
        self.text.extend_from_slice(BLANKS.get(..before).unwrap_or_default());
        self.text.extend_from_slice(text.as_bytes());
        let rest = columns.saturating_sub(text.len());
        self.text.extend_from_slice(BLANKS.get(..rest).unwrap_or_default());
    }
}

/// Adds 1 to a right-aligned number of at least one digit. Returns whether it has room.
fn count_up(columns: &mut [u8; FRAME]) -> bool {
    for digit in columns.iter_mut().rev() {
        match *digit {
            b'9' => *digit = b'0',
            b' ' => {
                *digit = b'1';
                return true;
            }
            _ => {
                *digit = digit.saturating_add(1);
                return true;
            }
        }
    }
    false
}

/// A row in JSON of the last chunk of a name, without the frame, which it has twice.
struct JsonLine<'a> {
    name: &'a [u8],
    /// What is between the two, and the type, rows and columns in it.
    text: Vec<u8>,
    shown: Option<(ChunkType, u64, u32)>,
    /// What is after the second.
    end: String,
}

impl<'a> JsonLine<'a> {
    fn new(name: &'a [u8]) -> Self {
        let address = Address::chunk(0, name).to_string();
        let end = format!("{}\"}}", address.strip_prefix("frame/0").unwrap_or_default());
        Self { name, text: Vec::new(), shown: None, end }
    }

    fn write(&mut self, chunk: &Chunk, out: &mut impl Write) -> io::Result<()> {
        let &Chunk { frame, kind, n, m, .. } = chunk;
        if self.shown != Some((kind, n, m)) {
            self.text = b",\"name\":".to_vec();
            serde_json::to_writer(&mut self.text, &JsonName(self.name))?;
            let kind = kind.name();
            write!(self.text, ",\"type\":\"{kind}\",\"N\":{n},\"M\":{m},\"address\":\"frame/")?;
            self.shown = Some((chunk.kind, n, m));
        }
        let mut digits = [0; DIGITS];
        let len = put_number(frame, &mut digits);
        let digits = digits.get(DIGITS.saturating_sub(len)..).unwrap_or_default();
        out.write_all(b"{\"frame\":")?;
        out.write_all(digits)?;
        out.write_all(&self.text)?;
        out.write_all(digits)?;
        out.write_all(self.end.as_bytes())
    }
}

/// Writes the number of a frame, right-aligned. Returns whether it has room.
fn put_frame(frame: u64, columns: &mut [u8; FRAME]) -> bool {
    const TOO_LARGE: u64 = 10_u64.pow(12);
    if frame >= TOO_LARGE {
        return false;
    }
    *columns = [b' '; FRAME];
    put_number(frame, columns);
    true
}

/// Writes the digits of a number, right-aligned, as many as fit. Returns how many were written.
fn put_number(mut number: u64, columns: &mut [u8]) -> usize {
    let mut len = 0usize;
    for digit in columns.iter_mut().rev() {
        *digit = b'0'.saturating_add(u8::try_from(number % 10).unwrap_or(0));
        number /= 10;
        len = len.saturating_add(1);
        if number == 0 {
            break;
        }
    }
    len
}

#[cfg(test)]
mod tests {
    use super::*;
    use striae_core::span::Span;

    #[test]
    fn a_line_is_the_same_whatever_stood_there_before() {
        let (n, m, kind) = (7, 3, ChunkType::F32);
        let wide = [999_999_999_998, 999_999_999_999, 1_000_000_000_000, 1_000_000_000_001];
        let near = [0, 1, 2, 8, 9, 10, 11, 98, 99, 100, 99, 100, 100, 0, 1_000, 9_999, 10_000];
        let mut line = Line::new("name");
        for frame in near.into_iter().chain(wide).chain([u64::MAX - 1, 5, 6]) {
            for m in [m, m, 1, m] {
                let chunk = Chunk { frame, id: 0, kind, n, m, span: Span::ZERO };
                let kind = kind.name();
                let expected = format!("{frame:>12}  {kind:<9} {n:>12} {m:>6}  name\n");
                assert_eq!(String::from_utf8_lossy(line.of(&chunk)), expected);
            }
        }
        for frame in 0..1_200 {
            let chunk = Chunk { frame, id: 0, kind, n, m, span: Span::ZERO };
            assert!(line.of(&chunk).starts_with(format!("{frame:>12} ").as_bytes()));
        }
    }
}
