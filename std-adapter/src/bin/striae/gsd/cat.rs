//! `striae cat` of a frame's chunk.

use crate::args::{CatArgs, Part};
use crate::failure::{Failure, Sound};
use crate::text::{printable_but, stdout};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use striae::gsd::{File, Name};
use striae_core::gsd::{Chunk, ChunkType};
use striae_core::span::Span;
use striae_core::store::usize_to_u64;

/// Bytes that are read at once; a multiple of a value's size.
const PIECE: usize = 1 << 20;

pub(super) fn cat(args: &CatArgs) -> Result<Sound, Failure> {
    let (Some(frame), Some(name)) = (args.which.frame, &args.chunk) else {
        let text = "a GSD file has no tasks and no samples: --frame and --chunk choose";
        return Err(Failure::usage(&args.file.path, text));
    };
    let file = super::open(&args.file.path, args.direct)?;
    file.check_names()?;
    let chunk = file.chunk(frame, name.as_bytes())?;
    let rows = file.rows(&chunk, Part::of(args.rows, chunk.n))?;
    if !args.text {
        let mut out = io::stdout().lock();
        let mut written = Ok(());
        file.read_pieces(rows, &mut |bytes| {
            written = out.write_all(bytes);
            written.is_ok()
        })?;
        written.map_err(Failure::stdout)?;
        // What stands behind the last line break is still in memory.
        out.flush().map_err(Failure::stdout)?;
        return Ok(Sound::Yes);
    }
    let mut out = stdout();
    if chunk.kind == ChunkType::Character {
        text(&file, &chunk, rows, &mut out)?;
    } else {
        numbers(&file, &chunk, rows, &mut out)?;
    }
    out.flush().map_err(Failure::stdout)?;
    Ok(Sound::Yes)
}

/// Hands over the bytes of a span, piece by piece.
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

/// The text as one line, without NULs at its end, and without what a terminal would obey.
fn text(file: &File, chunk: &Chunk, span: Span, out: &mut impl Write) -> Result<(), Failure> {
    let whole = file.read_text(chunk)?;
    let skip = span.offset().saturating_sub(chunk.span.offset());
    let skip = usize::try_from(skip).unwrap_or(usize::MAX).min(whole.len());
    let end = skip.saturating_add(usize::try_from(span.len()).unwrap_or(usize::MAX));
    let part = whole.as_bytes().get(skip..end.min(whole.len())).unwrap_or_default();
    let part = printable_but(&Name(part).to_string(), &['\n', '\t']);
    writeln!(out, "{part}").map_err(Failure::stdout)
}

/// The numbers, one row a line. Floating-point numbers have as many digits as tell them apart.
fn numbers(file: &File, chunk: &Chunk, span: Span, out: &mut impl Write) -> Result<(), Failure> {
    let size = usize::try_from(chunk.kind.size().get()).unwrap_or(1);
    let mut column = 0;
    each_piece(file, span, |bytes| {
        for value in bytes.chunks(size) {
            if column > 0 {
                out.write_all(b" ")?;
            }
            number(chunk.kind, value, out)?;
            column = u32::saturating_add(column, 1);
            if column == chunk.m {
                out.write_all(b"\n")?;
                column = 0;
            }
        }
        Ok(())
    })
}

/// A value; `bytes` are as many as its type has.
fn number(kind: ChunkType, bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
    macro_rules! print {
        ($T:ty, $format:literal) => {
            match bytes.try_into() {
                Ok(bytes) => write!(out, $format, <$T>::from_le_bytes(bytes)),
                Err(_) => Ok(()), // never: chunks are whole numbers of values
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
