//! The canonical file of a set, made by all ranks.

use super::set::Set;
use crate::collective::{Collective, Fold};
use crate::error::{Error, Failure};
use crate::operation::Operation;
use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroUsize};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use striae::Output;
use striae::blob::{Convert as Serial, Pieces};
use striae::posix::PosixFile;
use striae::publish::Publish;
use striae_core::integrity::crc32c;

/// The longest path of the hidden file.
const MAX_PATH: usize = 4096;

/// Makes the canonical CDF-5 file of a set by all ranks, byte for byte that of
/// [`striae::blob::Convert`].
///
/// Each rank writes an even part of the file, from start to end, and reads what belongs there from
/// all subfiles that have it: so a value is read by one rank only, except next to gaps of up to
/// 4 KiB, which are read too, and in variables longer than the memory of the set. Headers and maps
/// are read by each rank that needs them. If a set is compared with its seals, a blob is compared
/// by each rank that has a record of it.
///
/// The file is made under a hidden name. Rank 0 gives it its name after all ranks have agreed that
/// it is complete: until then, what had the name stays.
///
/// ```
/// # use striae::striae_core::cdf::{Definition, DimDef, Type, VarDef};
/// # use std::num::NonZeroU32;
/// use striae_mpi::blob::{Convert, Set};
/// use striae_mpi::{Error, Threads};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("heat.nc");
/// # let heat = VarDef { name: "heat", nc_type: Type::Double, dimids: &[0] };
/// # let dims = [DimDef { name: "cell", length: 10 }];
/// # let canonical = Definition { dims: &dims, attrs: &[], vars: &[(heat, &[])] };
/// # let builder = striae::blob::Builder::new(&canonical, NonZeroU32::MIN);
/// # let requests = vec![vec![striae::blob::Request { offset: 0, len: 10 }]];
/// # let writer = builder.decomposition(&[0], requests).decomposed(0, 0).create(&path)?;
/// # writer.rank(0)?.put("heat", 0, &[0.5; 10])?;
/// # writer.close()?;
/// let whole = folder.path().join("whole.nc");
/// let convert = |rank: striae_mpi::threads::Rank| -> Result<(), Error> {
///     let set = Set::open(rank, &path)?; // heat.nc.0000, ...
///     let converted = Convert::new().run(&set, &whole)?;
///     assert!(converted.is_whole);
///     Ok(())
/// };
/// for done in Threads::new(4).run(convert) {
///     done.expect("no rank panicked")?;
/// }
/// let file = striae::cdf::File::open(&whole)?;
/// assert_eq!(file.read::<f64>(file.variable("heat")?)?, [0.5; 10]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Convert {
    force: bool,
    fill: Option<Box<str>>,
    max_size: Option<u64>,
}

/// What [`Convert`] has made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Converted {
    /// The length of the new file in bytes.
    pub bytes: u64,
    /// Whether no rank has found a subfile missing or damaged. Its elements are filled;
    /// [`Set::lost`] names it.
    pub is_whole: bool,
}

/// The new file as a rank has it, and at rank 0 what gives it its name.
type Made = (PosixFile, Option<Publish>);

impl Convert {
    /// Replaces no file.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces an existing file when the new one is complete and on the disk.
    #[must_use]
    pub const fn force(mut self, force: bool) -> Self {
        self.force = force;
        self
    }

    /// Sets the value of elements of decomposed variables that no subfile has, as text. Default:
    /// the fill value of the variable.
    #[must_use]
    pub fn fill(mut self, fill: Option<&str>) -> Self {
        self.fill = fill.map(Box::from);
        self
    }

    /// Writes a file of up to this number of bytes, however small the subfiles are: see
    /// [`Output::max_size`]. Default: `None`, at most what the subfiles justify.
    #[must_use]
    pub const fn max_size(mut self, bytes: Option<u64>) -> Self {
        self.max_size = bytes;
        self
    }

    /// Makes `out`. All ranks call this with equal arguments. It takes 5 calls of the message
    /// layer, whatever the size of the set, and memory as [`striae::blob::OpenOptions::buffer`]
    /// says.
    ///
    /// # Errors
    /// The failure of a rank, at all ranks: [`Code::Differ`](crate::Code::Differ);
    /// [`Code::Refused`](crate::Code::Refused) if `out` is or would be a subfile of the set, even
    /// if files may be replaced, or if the fill value is none of the type of a variable; an error
    /// of the operating system, EEXIST if `out` is there already, EBUSY if another writer has the
    /// file that is to be replaced. What had the name stays.
    pub fn run<C: Collective>(
        &self,
        set: &Set<C>,
        out: impl AsRef<Path>,
    ) -> Result<Converted, Error> {
        let (comm, out) = (set.comm(), out.as_ref());
        let output = Output::new().threads(NonZeroUsize::MIN).max_size(self.max_size);
        let serial = Serial::new().output(output).fill(self.fill.as_deref());
        let pieces = serial.pieces(set.whole(), out).map_err(Failure::from);
        let cut = pieces.as_ref().ok().map(Pieces::cut); // the same at all ranks
        let equal = crc32c(0, format!("{out:?} {self:?} {cut:?}").as_bytes());
        comm.begin(Operation::BlobConvert, equal);
        let pieces = comm.agree(pieces)?;
        let made = self.make(set, out, &pieces)?;
        let written = made.and_then(|(file, publish)| {
            let mine = crate::even_part(pieces.count(), comm.rank(), comm.size());
            pieces.write(mine, (&file, out), &|_| ())?;
            // Others than local file systems may tell an error of a write only then.
            if self.force || !file.is_local() {
                file.sync().map_err(|error| Failure::io("syncing the new file", &error))?;
            }
            Ok((file, publish))
        });
        let is_lost = u64::from(!set.whole().is_whole());
        let (words, done) = match written {
            Ok(done) => (Ok([is_lost]), Some(done)),
            Err(failure) => (Err(failure), None),
        };
        let [is_lost] = comm.decide(words, [Fold::Max], |[is_lost]| {
            let Some((file, Some(publish))) = done else { return Ok([is_lost]) }; // never: rank 0
            pieces.end((&file, out))?;
            publish.finish(self.force)?;
            Ok([is_lost])
        })?;
        Ok(Converted { bytes: pieces.bytes(), is_whole: is_lost == 0 })
    }

    /// Makes the hidden file at rank 0, and opens it at the others. A rank that cannot has its
    /// failure for the next collective.
    fn make<C: Collective>(
        &self,
        set: &Set<C>,
        out: &Path,
        pieces: &Pieces<'_>,
    ) -> Result<Result<Made, Failure>, Error> {
        let comm = set.comm();
        if comm.rank() != 0 {
            let path = PathBuf::from(OsString::from_vec(comm.bcast(0, Ok(&[]), MAX_PATH)?));
            let file = PosixFile::open_rw(&path);
            let file = file.map_err(|error| Failure::io("opening the new file", &error));
            return Ok(file.map(|file| (file, None)));
        }
        let made = self.begin(set.whole(), out, pieces).map_err(Failure::from);
        let path = made.as_ref().map(|(_, publish)| publish.hidden(0).into_os_string());
        let path = path.as_ref().map(|path| path.as_bytes()).map_err(|error| (*error).clone());
        comm.bcast(0, path, MAX_PATH)?;
        Ok(made.map(|(file, publish)| (file, Some(publish))))
    }

    fn begin(
        &self,
        set: &striae::blob::Set,
        out: &Path,
        pieces: &Pieces<'_>,
    ) -> Result<(PosixFile, Publish), striae::Error> {
        let mut publish = Publish::new(out, NonZeroU32::MIN, self.force)?;
        if let Some((_, path)) = set.subfiles().next() {
            publish = publish.like(&path);
        }
        let file = PosixFile::create(&publish.hidden(0), false);
        let file = file.map_err(|error| striae::Error::new(out, error))?;
        pieces.begin((&file, out))?;
        Ok((file, publish))
    }
}
