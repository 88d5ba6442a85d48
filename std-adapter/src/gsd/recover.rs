//! Recovering the frames of damaged files: the frames that [`striae_inspect::gsd::recover`] judges
//! as good are written to a new file.
//!
//! ```
//! use striae::gsd::recover::Recover;
//!
//! # let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/doc");
//! # let cut = format!("{golden}/bad_trunc_relocated_index.gsd");
//! # let folder = tempfile::tempdir()?;
//! # let whole = folder.path().join("whole.gsd");
//! let recovery = Recover::new().examine(&cut)?;
//! for run in recovery.runs() {
//!     println!("frames {:?}: {}", run.frames, run.certainty);
//! }
//! recovery.write(&whole, &|_| {})?;
//! assert_eq!(striae::gsd::File::open(&whole)?.frames(), 475);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::convert::part::write_default;
use super::hoomd::schema::Field;
use super::write::{Builder, FileWriter, Source, make};
use super::{ErrorKind, verify};
use crate::error::Error;
use crate::publish::spare;
use crate::store::bulk::Bulk;
use crate::store::{Inspected, existing};
use crate::verb::{Options, Output as Made, Plain, judgement_of};
use std::path::{Path, PathBuf};
use striae_core::gsd::Chunk;
use striae_core::store::ReadAt;
use striae_hoomd::room::Room;
use striae_inspect::gsd::recover::{Copied, Output, Recovery as Judged, Unwritten};

pub use striae_inspect::gsd::recover::{Certainty, Doubt, Loss, Proof, Run};

/// How to recover a file.
///
/// The damaged file is only read. Its header or the shadow of its header must be there; whatever
/// else is missing, the rest is judged.
pub type Recover = Options<Plain<Recovery>>;

impl Recover {
    /// Judges all frames of the file at `path`.
    ///
    /// # Errors
    /// [`Format`](super::ErrorKind::Format) if neither the header nor its shadow is there; an error
    /// of the operating system.
    pub fn examine(&self, path: impl AsRef<Path>) -> Result<Recovery, Error> {
        let path = path.as_ref();
        let bulk = Bulk::open(path, None)?;
        let judged = Judged::examine(&Inspected::new(&bulk, &|_| {}));
        let judged = judged.map_err(|error| Error::new(path, error))?;
        Ok(Recovery { path: path.to_owned(), bulk, judged, output: self.output })
    }
}

/// What can be recovered from a file.
#[derive(Debug)]
pub struct Recovery {
    path: PathBuf,
    bulk: Bulk,
    judged: Judged,
    output: Made,
}

judgement_of!(Recovery.judged: Judged);

impl Recovery {
    /// Writes the recovered frames to a new file and closes it. The new file has the layer, the
    /// alignment and the use of checksums of the old one. `progress` gets the length of each copied
    /// piece of a chunk.
    ///
    /// Frames keep their order. If frames are lost, the frames after them get smaller numbers. The
    /// file gets its name when it is complete: see [`Publish`](crate::publish::Publish).
    ///
    /// # Errors
    /// After an error, nothing has changed.
    ///
    /// - [`Exists`](crate::error::ErrorKind::Exists) if the file exists and may not be replaced;
    ///   [`Source`](crate::error::ErrorKind::Source) if it is the damaged one, which never is.
    /// - [`TooLarge`](crate::error::ErrorKind::TooLarge) if the file would be larger than the
    ///   damaged one justifies; [`NoRoom`](crate::error::ErrorKind::NoRoom).
    /// - [`Damaged`](ErrorKind::Damaged) if the new file would not be sound for
    ///   [`Verify`](crate::Verify).
    /// - An error of the operating system.
    pub fn write(&self, out: &Path, progress: &dyn Fn(u64)) -> Result<(), Error> {
        let existing = existing(self.bulk.file()).map_err(|error| Error::new(&self.path, error))?;
        let (demand, bytes) = (self.judged.demand(existing), self.judged.bytes());
        let because = format_args!(
            "N and M in its index make chunks of {bytes} bytes, index and alignment can add the \
             rest, and {existing} bytes of it exist"
        );
        spare([out.to_owned()], [&*self.path])?;
        self.output.admit(&self.path, &demand, because)?;
        Made::has_room(out, bytes)?;
        make(&self.output, out, &self.path, |hidden| {
            let mut writer = Builder::like(&self.judged.attributes()).hidden().create(hidden)?;
            let len = self.bulk.size().map_err(|error| Error::new(&self.path, error))?;
            let from = |room| Source::new(&self.path, &self.bulk, progress, room);
            let (own, first) = (from(Room::damaged(len)), from(Room::new(len).most(u64::MAX)));
            let mut new = New { writer: &mut writer, own, first };
            self.judged.save(&Inspected::new(&self.bulk, &|_| {}), &mut new).map_err(|error| {
                match error {
                    Unwritten::Read(error) => Error::new(&self.path, error),
                    Unwritten::Write(error) => error,
                }
            })?;
            writer.close()?;
            // What the judgement has overlooked is not published.
            let made = Bulk::open(hidden, None)?;
            match verify::first_damage(out, &made, &mut |_| true)? {
                Some(finding) => Err(Error::new(out, ErrorKind::Damaged(Box::new(finding)))),
                None => Ok(()),
            }
        })
    }
}

/// The new file and its sources in the damaged one.
struct New<'a> {
    writer: &'a mut FileWriter,
    /// The source of the chunks of frames.
    own: Source<'a>,
    /// The source of the values that frames take from a lost frame 0.
    first: Source<'a>,
}

impl Output for New<'_> {
    type Error = Error;

    fn copy(&mut self, name: &[u8], chunk: &Chunk, copied: Copied) -> Result<(), Error> {
        let from = match copied {
            Copied::Own => &mut self.own,
            Copied::First => &mut self.first,
        };
        self.writer.copy_chunk(name, chunk, from)
    }

    fn add_default(&mut self, field: &'static Field, rows: u64) -> Result<(), Error> {
        write_default(self.writer, field, rows).map(drop)
    }

    fn end_frame(&mut self) -> Result<(), Error> {
        self.writer.end_frame().map(drop)
    }
}
