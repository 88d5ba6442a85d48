//! A file that all ranks read.

use super::rows::fingerprint_of;
use super::{Named, of_striae, refused};
use crate::collective::{Collective, Fold};
use crate::error::{Code, Error, Failure};
use crate::operation::Operation;
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use striae::gsd::{File as Whole, OpenOptions};
use striae::posix::PosixFile;
use striae::striae_hoomd::element::to_host;
use striae_core::gsd::{Checksums, Chunk, ChunkType, Element, checksums};
use striae_core::integrity::{Crc32cParts, crc32c};
use striae_core::span::Span;
use striae_core::store::ReadAt;
use zerocopy::IntoBytes;

/// A GSD file that all ranks read.
///
/// Only rank 0 reads header, names and index: it finds a chunk and tells the others where it is.
/// Each rank then reads its own rows through its own handle.
///
/// ```
/// use striae_mpi::gsd::File;
/// use striae_mpi::{Collective, Error, Threads};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("run.gsd");
/// let mut writer = striae::gsd::Builder::new().checksums(true).create(&path)?;
/// writer.write("particles/position", &[0.5_f32; 30], 3)?; // 10 rows
/// writer.end_frame()?;
/// writer.close()?;
///
/// let read = |rank: striae_mpi::threads::Rank| -> Result<usize, Error> {
///     let file = File::open(rank, &path)?;
///     let chunk = file.chunk(0, "particles/position")?;
///     let part = file.read::<f32>(&chunk)?; // compared with the checksum, too
///     assert_eq!(part.values.len() as u64, 3 * (part.rows.end - part.rows.start));
///     Ok(part.values.len())
/// };
/// let counts: Result<Vec<_>, _> =
///     Threads::new(4).run(read).into_iter().map(|done| done.expect("no rank panicked")).collect();
/// assert_eq!(counts?, [6, 9, 6, 9]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct File<C> {
    comm: C,
    /// The file with its names and its index, at rank 0.
    whole: Option<Whole>,
    file: PosixFile,
    frames: u64,
}

/// The part of a chunk that a rank has read.
#[derive(Debug, Clone, PartialEq)]
pub struct Part<T> {
    /// The rows in the chunk.
    pub rows: Range<u64>,
    /// Their values, row by row.
    pub values: Vec<T>,
}

impl<C: Collective> File<C> {
    /// Opens the file at `path`. All ranks call this. It takes three calls of the message layer.
    ///
    /// # Errors
    /// The failure of a rank, at all ranks: [`Code::Damaged`] if it is no GSD file or is damaged;
    /// an error of the operating system; [`Code::Differ`] if the ranks pass different paths.
    pub fn open(comm: C, path: impl AsRef<Path>) -> Result<Self, Error> {
        let (path, mut whole) = (path.as_ref(), None);
        let open =
            || PosixFile::open(path).map_err(|error| Failure::io("opening the file", &error));
        comm.begin(Operation::GsdOpen, crc32c(0, path.as_os_str().as_bytes()));
        let [frames, number] = comm.decide(Ok([]), [], |[]| {
            let opened = OpenOptions::new().open(path);
            let opened = opened.map_err(|error| of_striae("opening the file", &error))?;
            let (frames, (_, number)) = (opened.frames(), open()?.identity());
            whole = Some(opened);
            Ok([frames, number])
        })?;
        let file = open().and_then(|file| match file.identity() {
            (_, other) if other == number => Ok(file),
            _ => Err(super::builder::replaced()),
        });
        let file = comm.agree(file)?;
        Ok(Self { comm, whole, file, frames })
    }

    /// The communicator of the file.
    pub const fn comm(&self) -> &C {
        &self.comm
    }

    /// Returns the communicator.
    pub fn into_comm(self) -> C {
        self.comm
    }

    /// Number of frames, including frames without chunks.
    #[must_use]
    pub const fn frames(&self) -> u64 {
        self.frames
    }

    /// Finds the chunk `name` of a frame, which must have it: its type, rows, columns and place.
    /// All ranks call this with equal arguments. It takes two calls of the message layer.
    ///
    /// # Errors
    /// [`Error`]: [`Code::Refused`] if the file does not have the frame, or the frame does not have
    /// the chunk; [`Code::Damaged`]; an error of the operating system; [`Code::Differ`].
    pub fn chunk(&self, frame: u64, name: impl AsRef<[u8]>) -> Result<Chunk, Error> {
        let name = name.as_ref();
        self.comm.begin(Operation::GsdChunk, fingerprint_of(frame, name));
        let found = self.comm.decide(Ok([]), [], |[]| {
            let Some(whole) = &self.whole else { return Ok([0; 6]) }; // never: this is rank 0
            let what = Named(name);
            let found = whole.find(frame, name).map_err(|error| of_striae(&what, &error))?;
            let Some(Chunk { id, kind, n, m, span, .. }) = found else {
                let text = format_args!("{what}: frame {frame} does not have it");
                return Err(Failure::new(Code::Refused, text));
            };
            Ok([id.into(), kind.number().into(), n, m.into(), span.offset(), span.len()])
        })?;
        let [id, kind, n, m, offset, len] = found;
        let kind = u8::try_from(kind).ok().and_then(ChunkType::from_number);
        let numbers = (u16::try_from(id), u32::try_from(m), kind, Span::new(offset, len));
        match numbers {
            (Ok(id), Ok(m), Some(kind), Some(span)) => Ok(Chunk { frame, id, kind, n, m, span }),
            // Never: rank 0 has them from a chunk.
            _ => Err(Error::agreed(Failure::new(Code::Damaged, "a chunk that cannot be"))),
        }
    }

    /// Reads this rank's part of a chunk: the rows are dealt evenly, in the order of the ranks. All
    /// ranks call this with the same chunk. If the frame has checksums, those of the parts are
    /// combined and compared. It takes three calls of the message layer.
    ///
    /// # Errors
    /// [`Error`]: [`Code::Refused`] if the values have another type; [`Code::Damaged`] if they do
    /// not match their checksum, or the file has become shorter; an error of the operating system,
    /// also if there is no memory for the values.
    pub fn read<T: Element>(&self, chunk: &Chunk) -> Result<Part<T>, Error> {
        self.comm.begin(Operation::GsdRead, fingerprint_of_read(chunk, "even parts"));
        let rows = crate::even_part(chunk.n, self.comm.rank(), self.comm.size());
        let read = self.read_here(chunk, rows);
        let mine = read.as_ref().map(|(_, sum)| [sum.word().into()]).map_err(Clone::clone);
        let joined = self.comm.decide(mine, [Fold::Xor], |[word]| {
            let word = u32::try_from(word).unwrap_or(0); // parts have 32 bits
            self.check(chunk, Crc32cParts::from_word(word)).map(|()| [])
        });
        joined.and(read.map(|(part, _)| part).map_err(Error::agreed))
    }

    /// Reads rows of a chunk that each rank chooses. All ranks call this. Nothing is compared with
    /// checksums. It takes one call of the message layer.
    ///
    /// # Errors
    /// [`Code::Refused`] if the chunk does not have all of the rows; as [`read`](Self::read).
    pub fn read_rows<T: Element>(&self, chunk: &Chunk, rows: Range<u64>) -> Result<Part<T>, Error> {
        self.comm.begin(Operation::GsdRead, fingerprint_of_read(chunk, "rows"));
        let read = self.read_here(chunk, rows);
        self.comm.agree(read).map(|(part, _)| part)
    }

    /// Reads rows, and returns their part of the chunk's checksum as well.
    fn read_here<T: Element>(
        &self,
        chunk: &Chunk,
        rows: Range<u64>,
    ) -> Result<(Part<T>, Crc32cParts), Failure> {
        let what = "reading a chunk";
        if chunk.kind != T::KIND {
            let text = format_args!("{what} of {:?} as one of {:?}", chunk.kind, T::KIND);
            return Err(Failure::new(Code::Refused, text));
        }
        let span = chunk.rows(rows.clone()).map_err(|error| refused(what, error))?;
        let count = span.len().checked_div(T::KIND.size().get()).unwrap_or(0);
        let count = usize::try_from(count).ok();
        let mut values =
            count.and_then(|count| T::new_vec_zeroed(count).ok()).ok_or_else(|| {
                let error = io::Error::from(io::ErrorKind::OutOfMemory);
                Failure::io(what, &error)
            })?;
        let (bytes, mut sum) = (values.as_mut_bytes(), Crc32cParts::NONE);
        let read = self.file.read_exact_at(span.offset(), bytes);
        read.map_err(|error| Failure::io(what, &io::Error::from(error)))?;
        let after = chunk.span.end().saturating_sub(span.end());
        sum.add(crc32c::crc32c(bytes), span.len(), after);
        to_host(&mut values);
        Ok((Part { rows, values }, sum))
    }

    /// Compares a chunk with its checksum, if its frame has checksums.
    fn check(&self, chunk: &Chunk, sum: Crc32cParts) -> Result<(), Failure> {
        let Some(whole) = &self.whole else { return Ok(()) }; // never: this is rank 0
        let what = "comparing a chunk with its checksum";
        let at = |error: striae::Error| of_striae(what, &error);
        let Some(own) = whole.find(chunk.frame, checksums::NAME).map_err(at)? else {
            return Ok(());
        };
        if own.id == chunk.id {
            return Ok(());
        }
        let bytes = whole.read_bytes(&own).map_err(at)?;
        let append = crc32c::crc32c_append;
        let compared = Checksums::parse(own, &bytes, append)
            .and_then(|sums| sums.check(chunk, sum.crc(chunk.span.len()), append));
        compared.map_err(|error| refused(what, error))
    }
}

/// A number of what must be equal at all ranks that read a chunk.
fn fingerprint_of_read(chunk: &Chunk, how: &str) -> u32 {
    crc32c(0, format!("{how} {chunk:?}").as_bytes())
}
