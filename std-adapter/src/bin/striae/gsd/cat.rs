//! `striae cat` of a GSD file.

use crate::args::{CatArgs, Rows};
use crate::failure::{Failure, Sound};
use crate::printable::{count, printable_but};
use crate::text::stdout;
use std::io::{self, Write};
use striae::address::{Address, Encoded, Index};
use striae::error::ErrorKind;
use striae::gsd::hoomd::{Found, Trajectory, schema};
use striae::gsd::{self, File, Name};
use striae::{Error, Format};
use striae_core::gsd::{Chunk, ChunkType};
use striae_core::span::Span;
use striae_core::store::usize_to_u64;

/// Number of bytes that are read at once; a multiple of the size of each type.
const PIECE: usize = 1 << 20;

pub(super) fn cat(args: &CatArgs) -> Result<Sound, Failure> {
    let pattern = args.address.clone();
    let file = super::open(&args.file.path, args.direct)?;
    file.check_names()?;
    let at = |error: striae::address::Error| Error::new(&args.file.path, error);
    if let Some(address) = pattern.address() {
        if let Address::Chunk(Index::FromStart(frame), name) =
            address.resolve(Format::Gsd, file.frames()).map_err(at)?
        {
            match find(&file, frame, &name)? {
                Found::Chunk(chunk) => {
                    let rows = file.rows(&chunk, Rows::of(args.rows, chunk.n))?;
                    file.admit(&args.max_size.output(), rows.len())?;
                    cat_chunk(args, &file, &chunk)?;
                }
                Found::Default { kind, m, n, row } => {
                    cat_default(args, &file, (kind, m, n), &row)?;
                }
            }
        }
        return Ok(Sound::Yes);
    }
    let chosen = file.selection(&[pattern])?;
    let has =
        |chunk: &Chunk, name: Name<'_>| chosen.has(&Address::chunk(chunk.frame, name.as_bytes()));
    let mut size = 0_u64;
    file.each_selected(0..file.frames(), has, |chunk| {
        size = size.saturating_add(file.rows(&chunk, Rows::of(args.rows, chunk.n))?.len());
        Ok::<_, Failure>(())
    })?;
    file.admit(&args.max_size.output(), size)?;
    file.each_selected(0..file.frames(), has, |chunk| cat_chunk(args, &file, &chunk))?;
    chosen.check().map_err(at)?;
    Ok(Sound::Yes)
}

/// The chunk of a frame; in a trajectory, what readers of the schema hoomd find if the frame does
/// not have it: the chunk of frame 0, or the default.
fn find(file: &File, frame: u64, name: &[u8]) -> Result<Found, Failure> {
    let error = match file.chunk(frame, name) {
        Ok(chunk) => return Ok(Found::Chunk(chunk)),
        Err(error) => error,
    };
    if !is_missing(&error) {
        return Err(error.into());
    }
    let is_trajectory = file.header().schema.as_bytes() == schema::NAME.as_bytes()
        && schema::is_readable(file.header().schema_version);
    let found = match is_trajectory {
        true => Trajectory::new(file.clone())?.frame(frame)?.find_named(name)?,
        false => None,
    };
    found.ok_or_else(|| with_nearest(file, frame, name, error))
}

/// Whether the file has no such chunk or name.
const fn is_missing(error: &Error) -> bool {
    use gsd::ErrorKind::{NoChunk, NoName};
    matches!(error.kind(), ErrorKind::Gsd(NoChunk { .. } | NoName { .. }))
}

/// Writes rows that all have the default value.
fn cat_default(
    args: &CatArgs,
    file: &File,
    (kind, m, n): (ChunkType, u32, u64),
    bytes: &[u8],
) -> Result<(), Failure> {
    let wanted = Rows::of(args.rows, n);
    if wanted.end > n {
        let text = format!("--rows ends at {}, but there are {}", wanted.end, count(n, "row"));
        return Err(Failure::usage(file.path(), &text));
    }
    let size = kind.size().get().saturating_mul(m.into());
    let len = wanted.end.saturating_sub(wanted.start).saturating_mul(size);
    file.admit(&args.max_size.output(), len)?;
    let size = usize::try_from(size).unwrap_or(1).max(1);
    let rows = bytes.chunks(size).cycle();
    let skip = usize::try_from(wanted.start).unwrap_or(usize::MAX);
    let rows = rows.skip(skip.checked_rem(bytes.len().div_ceil(size).max(1)).unwrap_or(0));
    let mut out = stdout();
    let mut printed = Row { kind, m, column: 0 };
    for (_, row) in wanted.zip(rows) {
        let written = match args.text {
            true => printed.print(row, &mut out),
            false => out.write_all(row),
        };
        written.map_err(Failure::stdout)?;
    }
    out.flush().map_err(Failure::stdout)
}

/// The most names of a hint.
const NAMES: usize = 12;

/// The error for a missing chunk, with the names that start with the wanted one, or the most
/// similar name in the frame, as a hint.
fn with_nearest(file: &File, frame: u64, name: &[u8], error: Error) -> Failure {
    let of_frame = || file.chunks_of(frame).into_iter().flatten();
    let names = || of_frame().filter_map(|chunk| file.name(&chunk.ok()?).ok());
    let folder = [name.strip_suffix(b"/").unwrap_or(name), b"/"].concat();
    let below = names().filter(|name| name.as_bytes().starts_with(&folder));
    let below: Vec<_> = below.map(|name| Encoded(name.as_bytes()).to_string()).collect();
    if let Some((shown, rest)) = below.split_at_checked(NAMES.min(below.len()))
        && !shown.is_empty()
    {
        let more = if rest.is_empty() { "" } else { ", ..." };
        return Failure::Hinted(error, format!("it has {}{more}", shown.join(", ")));
    }
    let names = names();
    let wanted = Encoded(name).to_string();
    let likeness = |name: String| (strsim::jaro_winkler(&wanted, &name), name);
    let nearest = names.map(|name| likeness(Encoded(name.as_bytes()).to_string()));
    let nearest = nearest.filter(|(likeness, name)| *likeness > 0.8 && *name != wanted);
    match nearest.max_by(|(one, _), (other, _)| one.total_cmp(other)) {
        Some((_, nearest)) => Failure::Hinted(error, format!("did you mean {nearest}?")),
        None => error.into(),
    }
}

fn cat_chunk(args: &CatArgs, file: &File, chunk: &Chunk) -> Result<(), Failure> {
    let rows = file.rows(chunk, Rows::of(args.rows, chunk.n))?;
    if !args.text {
        let mut out = io::stdout().lock();
        let mut written = Ok(());
        file.read_pieces(rows, &mut |bytes| {
            written = out.write_all(bytes);
            written.is_ok()
        })?;
        written.map_err(Failure::stdout)?;
        // The bytes after the last line break are still in the buffer.
        return out.flush().map_err(Failure::stdout);
    }
    let mut out = stdout();
    if chunk.kind == ChunkType::Character {
        text(file, chunk, rows, &mut out)?;
    } else {
        numbers(file, chunk, rows, &mut out)?;
    }
    out.flush().map_err(Failure::stdout)
}

/// Calls `each` for the bytes of a span, piece by piece.
fn each_piece(
    file: &File,
    span: Span,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<(), Failure> {
    let len = usize::try_from(span.len()).unwrap_or(PIECE).min(PIECE);
    let mut buf = vec![0; len];
    let mut done = 0;
    while let Some(rest) = span.part(done, span.len().saturating_sub(done)) {
        if rest.is_empty() {
            break;
        }
        let n = file.read_span(rest, &mut buf)?;
        each(buf.get(..n).unwrap_or_default()).map_err(Failure::stdout)?;
        done = done.saturating_add(usize_to_u64(n));
    }
    Ok(())
}

/// Prints the text without trailing NULs, with control characters escaped.
fn text(file: &File, chunk: &Chunk, span: Span, out: &mut impl Write) -> Result<(), Failure> {
    let whole = file.read_text(chunk)?;
    let skip = span.offset().saturating_sub(chunk.span.offset());
    let skip = usize::try_from(skip).unwrap_or(usize::MAX).min(whole.len());
    let end = skip.saturating_add(usize::try_from(span.len()).unwrap_or(usize::MAX));
    let part = whole.as_bytes().get(skip..end.min(whole.len())).unwrap_or_default();
    let part = printable_but(&Name(part).to_string(), &['\n', '\t']);
    writeln!(out, "{part}").map_err(Failure::stdout)
}

/// Prints the numbers, one line for each row. Floating-point numbers have as many digits as are
/// needed to distinguish them.
fn numbers(file: &File, chunk: &Chunk, span: Span, out: &mut impl Write) -> Result<(), Failure> {
    let mut row = Row { kind: chunk.kind, m: chunk.m, column: 0 };
    each_piece(file, span, |bytes| row.print(bytes, out))
}

/// The row of numbers that is printed now.
struct Row {
    kind: ChunkType,
    m: u32,
    column: u32,
}

impl Row {
    /// Prints values that follow those before.
    fn print(&mut self, bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
        let size = usize::try_from(self.kind.size().get()).unwrap_or(1);
        for value in bytes.chunks(size) {
            if self.column > 0 {
                out.write_all(b" ")?;
            }
            number(self.kind, value, out)?;
            self.column = self.column.saturating_add(1);
            if self.column == self.m {
                out.write_all(b"\n")?;
                self.column = 0;
            }
        }
        Ok(())
    }
}

/// Prints a value. `bytes` has the size of its type.
fn number(kind: ChunkType, bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
    macro_rules! print {
        ($T:ty, $format:literal) => {
            match bytes.try_into() {
                Ok(bytes) => write!(out, $format, <$T>::from_le_bytes(bytes)),
                Err(_) => Ok(()), // never happens: a chunk has whole values
            }
        };
    }
    match kind {
        ChunkType::U8 | ChunkType::Character => print!(u8, "{}"),
        ChunkType::U16 => print!(u16, "{}"),
        ChunkType::U32 => print!(u32, "{}"),
        ChunkType::U64 => print!(u64, "{}"),
        ChunkType::I8 => print!(i8, "{}"),
        ChunkType::I16 => print!(i16, "{}"),
        ChunkType::I32 => print!(i32, "{}"),
        ChunkType::I64 => print!(i64, "{}"),
        ChunkType::F32 => print!(f32, "{:?}"), // with an exponent where that is shorter
        ChunkType::F64 => print!(f64, "{:?}"),
    }
}
