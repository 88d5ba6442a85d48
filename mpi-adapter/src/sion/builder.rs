//! Options for a new set, and its creation.

use super::FileWriter;
use super::part::{Part, Plan, io_failure, refused};
use crate::collect::{Collect, Handle};
use crate::collective::Collective;
use crate::error::{Error, Failure};
use std::io;
use std::num::NonZeroU32;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use striae::posix::PosixFile;
use striae_core::endian::ByteOrder;
use striae_core::integrity::crc32c;
use striae_core::sion::filegroups::{EvenFiles, FileGroups};
use striae_core::sion::filename::Sibling;
use striae_core::sion::{Attributes, ChunkRule};
use striae_core::store::WriteAt;

/// Options for a new set with a task for each rank.
///
/// All options but [`chunksize`](Self::chunksize) must be equal at all ranks; a rank that differs
/// is an error at all of them ([`Code::Differ`](crate::Code::Differ)). The number of files is used
/// before that can be checked: ranks that pass different numbers fail at the deadline.
///
/// ```
/// use striae_mpi::sion::Builder;
/// use striae_mpi::{Collective, Threads};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("run.sion");
/// let done = Threads::new(5).run(|rank| {
///     let text = format!("rank {} was here", rank.rank());
///     let mut file = Builder::new().chunksize(1 << 20).nfiles(2).create(rank, &path)?;
///     let written = file.write(text.as_bytes()); // its error is that of all at the close
///     file.close().map(|_| assert!(written.is_ok()))
/// });
/// done.into_iter().try_for_each(|done| done.expect("no rank panicked"))?;
/// assert_eq!(striae::sion::File::open(&path)?.task(4)?.bytes, 15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Builder {
    chunksize: u64,
    options: Options,
}

#[derive(Debug, Clone)]
struct Options {
    nfiles: u32,
    fsblksize: Option<u32>,
    order: ByteOrder,
    data_order: ByteOrder,
    prefix: Option<Vec<u8>>,
    overwrite: bool,
    sealed: bool,
    collect: Option<Collect>,
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// One file, chunks of 1 MiB, the file system's block size, the machine's byte order.
    #[must_use]
    pub const fn new() -> Self {
        let options = Options {
            nfiles: 1,
            fsblksize: None,
            order: ByteOrder::HOST,
            data_order: ByteOrder::HOST,
            prefix: None,
            overwrite: false,
            sealed: false,
            collect: None,
        };
        Self { chunksize: 1 << 20, options }
    }

    /// Sets the size of each chunk of this rank in bytes. It is rounded up to the block size of the
    /// file system. A rank with size 0 has no room.
    #[must_use]
    pub const fn chunksize(mut self, bytes: u64) -> Self {
        self.chunksize = bytes;
        self
    }

    /// Sets the number of physical files. All files get the same number of consecutive ranks; the
    /// last one also gets the rest.
    #[must_use]
    pub const fn nfiles(mut self, nfiles: u32) -> Self {
        self.options.nfiles = nfiles;
        self
    }

    /// Sets the number of bytes that chunk sizes are rounded up to, in place of the block size of
    /// the folder, which each rank asks for itself.
    #[must_use]
    pub const fn fsblksize(mut self, bytes: u32) -> Self {
        self.options.fsblksize = Some(bytes);
        self
    }

    /// Sets the byte order of the metadata.
    #[must_use]
    pub const fn order(mut self, order: ByteOrder) -> Self {
        self.options.order = order;
        self
    }

    /// Sets the byte order that is stated for the data; striae never swaps the data.
    #[must_use]
    pub const fn data_order(mut self, order: ByteOrder) -> Self {
        self.options.data_order = order;
        self
    }

    /// Sets the set name that is stored in the files, in place of the path at which they are made;
    /// at most 1023 bytes.
    #[must_use]
    pub fn prefix(mut self, prefix: Vec<u8>) -> Self {
        self.options.prefix = Some(prefix);
        self
    }

    /// Empties files that exist already, instead of refusing them.
    #[must_use]
    pub const fn overwrite(mut self, overwrite: bool) -> Self {
        self.options.overwrite = overwrite;
        self
    }

    /// Sets whether commits and the close add checksums of everything.
    #[must_use]
    pub const fn sealed(mut self, sealed: bool) -> Self {
        self.options.sealed = sealed;
        self
    }

    /// Lets few ranks write for all, and short records wait in memory. Otherwise every rank opens its
    /// file and writes each record at once.
    #[must_use]
    pub const fn collect(mut self, collect: Collect) -> Self {
        self.options.collect = Some(collect);
        self
    }

    /// Makes the set; its first file is `path`. All ranks call this. Besides splitting the
    /// communicator it takes three calls of the message layer, and one more for several files.
    /// With [`collect`](Self::collect) the ranks of a writer get a communicator before: up to three
    /// calls more.
    ///
    /// # Errors
    /// The failure of a rank, at all ranks: an option that no file can hold, or an error of the
    /// operating system; [`Code::Differ`](crate::Code::Differ). Files that were made stay,
    /// unclosed.
    pub fn create<C: Collective>(
        &self,
        comm: C,
        path: impl AsRef<Path>,
    ) -> Result<FileWriter<C>, Error> {
        let overwrite = self.options.overwrite;
        self.create_in(comm, path, move |name, anew| match anew {
            true => PosixFile::create(name, overwrite),
            false => PosixFile::open_rw(name),
        })
    }

    /// As [`create`](Self::create), in files of any kind. `open` gets the path of a physical file,
    /// and whether to make it: rank 0 of the file does before any other rank opens it.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn create_in<C: Collective, F>(
        &self,
        comm: C,
        path: impl AsRef<Path>,
        open: impl Fn(&Path, bool) -> io::Result<F> + 'static,
    ) -> Result<FileWriter<C, F>, Error>
    where
        for<'f> &'f F: WriteAt<Error = io::Error>,
    {
        let path = path.as_ref();
        let groups = EvenFiles::new(comm.size().into(), self.options.nfiles.into());
        let (groups, globalrank) = (groups.map_err(refused), comm.rank());
        let number = |groups: EvenFiles| groups.address(globalrank).map_or(0, |(file, _)| file);
        let file = groups.as_ref().map(|groups| number(*groups)).map_err(Clone::clone);
        let (whole, comm) = match self.options.nfiles {
            1 => (None, comm),
            _ => {
                let part = comm.split(file.clone())?;
                (Some(comm), part)
            }
        };
        let name = sibling_path(path, file.as_ref().copied().unwrap_or(0));
        let plan = file.and_then(|file| self.plan(path, groups?, file, globalrank));
        let part = self.collected(comm, plan, move |anew| open(&name, anew));
        let part = super::agree(whole.as_ref(), part)?;
        Ok(FileWriter { whole, part })
    }

    /// Makes a physical file.
    fn collected<C: Collective, F>(
        &self,
        comm: C,
        plan: Result<Plan<'_>, Failure>,
        open: impl Fn(bool) -> io::Result<F> + 'static,
    ) -> Result<Part<C, F>, Error>
    where
        for<'f> &'f F: WriteAt<Error = io::Error>,
    {
        let Some(collect) = self.options.collect else {
            return Part::create(comm, plan, Handle::new(open, None, 0));
        };
        let mine = plan.as_ref().map(drop).map_err(Clone::clone);
        let (group, failure) = match collect.group(&comm, mine)? {
            Ok(group) => (group, None),
            Err(failure) => (None, Some(failure)),
        };
        let plan = failure.map_or(plan, Err);
        Part::create(comm, plan, Handle::new(open, group, collect.limit()))
    }

    fn plan<'a>(
        &'a self,
        path: &'a Path,
        groups: EvenFiles,
        filenumber: u32,
        globalrank: u32,
    ) -> Result<Plan<'a>, Failure> {
        let Options { nfiles, order, data_order, sealed, .. } = self.options;
        let fsblksize = self.block_size(path)?;
        let attributes =
            Attributes { order, data_order, fsblksize, nfiles, filenumber, keyval: false };
        let unit = NonZeroU32::new(fsblksize).unwrap_or(NonZeroU32::MIN); // Meta1 refuses 0
        let mut stored =
            ChunkRule::Aligned.stored(unit, std::iter::once(self.chunksize)).map_err(refused)?;
        let name = path.as_os_str().as_bytes();
        let fingerprint = crc32c(0, name);
        let options = format!("{fsblksize} {:?}", self.options);
        let is_first_of_several = nfiles > 1 && filenumber == 0;
        let ntasks = (0..nfiles).map(|file| u64::from(groups.ntasks(file))).sum();
        Ok(Plan {
            attributes,
            prefix: self.options.prefix.as_deref().unwrap_or(name),
            sealed,
            groups,
            entries: if is_first_of_several { ntasks } else { 0 },
            fingerprint: crc32c(fingerprint, options.as_bytes()),
            globalrank,
            chunksize: stored.next().unwrap_or(0),
        })
    }

    /// SIONlib takes 2 MiB for a block size above 32 MiB (`spec/sion.md#meta1`).
    fn block_size(&self, path: &Path) -> Result<u32, Failure> {
        if let Some(fsblksize) = self.options.fsblksize {
            return Ok(fsblksize);
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = std::fs::metadata(folder.unwrap_or(Path::new(".")));
        let bytes = folder.map_err(io_failure("asking for the block size of the folder"))?;
        let bytes = u32::try_from(bytes.blksize()).ok();
        Ok(bytes.filter(|bytes| (1..=32 << 20).contains(bytes)).unwrap_or(2 << 20))
    }
}

fn sibling_path(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(Sibling(number).to_string());
    name.into()
}
