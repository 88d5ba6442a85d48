//! How a set is made.

use super::plan::{Input, Plan};
use super::writer::Writer;
use super::{Container, Request, of_striae, refused, size};
use crate::collective::Collective;
use crate::error::{Error, Failure};
use crate::operation::Operation;
use crc32c::{crc32c, crc32c_append};
use std::ffi::OsStr;
use std::num::{NonZeroU32, NonZeroU64};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use striae::blob::SetOptions;
use striae::posix::PosixFile;
use striae::publish::Publish;
use striae::striae_inspect::blob::{Compared, encode};
use striae_core::blob::distribute::{outside, subfile_of};
use striae_core::blob::map::Grid;
use striae_core::cdf::{Alignment, Define, Plan as CdfPlan, Version};

/// The longest path of the hidden folder.
const MAX_PATH: usize = 4096;

/// Makes a set of a canonical definition and of the requests of each rank. All ranks must pass
/// equal options ([`Code::Differ`](crate::Code::Differ)), except their own requests and their
/// [`group`](Self::group).
///
/// ```
/// use striae::striae_core::cdf::{Definition, DimDef, Type, VarDef};
/// use striae_mpi::blob::{Builder, Request};
/// use striae_mpi::{Collective, Error, Threads};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("heat.nc");
/// let write = |rank: striae_mpi::threads::Rank| -> Result<(), Error> {
///     let heat = VarDef { name: "heat", nc_type: Type::Double, dimids: &[0, 1] };
///     let dims = [DimDef::record("time"), DimDef { name: "cell", length: 12 }];
///     let canonical = Definition { dims: &dims, attrs: &[], vars: &[(heat, &[])] };
///     // Each of four ranks has 3 cells.
///     let mine = vec![Request { offset: 3 * u64::from(rank.rank()), len: 3 }];
///     let builder = Builder::new(&canonical).decomposition(&[1], mine).decomposed(0, 0);
///     let mut writer = builder.create(rank, &path)?; // heat.nc.0000
///     let put = writer.put("heat", 0, &[1.5, 2.5, 3.5]);
///     writer.close()?; // all ranks: an error of `put` is that of all of them
///     assert!(put.is_ok());
///     Ok(())
/// };
/// for done in Threads::new(4).run(write) {
///     done.expect("no rank panicked")?;
/// }
/// let set = striae::blob::Set::open(&path)?;
/// assert_eq!(set.read::<f64>(set.variable("heat")?)?, [1.5, 2.5, 3.5].repeat(4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Builder<'d, D: ?Sized> {
    definition: &'d D,
    /// For each decomposition its canonical dimensions and the requests of this rank.
    decompositions: Vec<(Vec<u64>, Vec<Request>)>,
    set: SetOptions,
    grouping: Grouping,
    buffer: usize,
}

/// Which ranks have a subfile together.
#[derive(Debug, Clone, Copy)]
enum Grouping {
    /// Ranks that follow each other, in so many subfiles.
    Blocks(NonZeroU32),
    /// This rank has the subfile with this number.
    Given(u32),
    /// The ranks of a node.
    Nodes,
}

impl<'d, D: Define + ?Sized> Builder<'d, D> {
    /// A set of the arrays of `definition`: one CDF-5 file.
    #[must_use]
    pub const fn new(definition: &'d D) -> Self {
        Self {
            definition,
            decompositions: Vec::new(),
            set: SetOptions::NEW,
            grouping: Grouping::Blocks(NonZeroU32::MIN),
            buffer: 1 << 26,
        }
    }

    /// Adds a decomposition of arrays with these dimensions, without the record dimension.
    /// `requests` are those of this rank: its elements are written in their order.
    #[must_use]
    pub fn decomposition(mut self, dimids: &[u64], requests: Vec<Request>) -> Self {
        self.decompositions.push((dimids.to_vec(), requests));
        self
    }

    striae::blob_set_options!(decomposed container world_ranks records sealed force);

    /// Writes this number of subfiles. Each gets ranks that follow each other, as many as the
    /// others or one fewer.
    #[must_use]
    pub const fn subfiles(mut self, subfiles: NonZeroU32) -> Self {
        self.grouping = Grouping::Blocks(subfiles);
        self
    }

    /// Gives this rank to the subfile `number`. All ranks call this, and each subfile from 0 to the
    /// largest number has a rank.
    #[must_use]
    pub const fn group(mut self, number: u32) -> Self {
        self.grouping = Grouping::Given(number);
        self
    }

    /// Writes a subfile for the ranks of each node, in the order of the nodes' first ranks.
    #[must_use]
    pub const fn by_node(mut self) -> Self {
        self.grouping = Grouping::Nodes;
        self
    }

    /// Sets how many bytes of values a rank keeps in memory, 64 MiB by default. When there are
    /// more, they are written before [`Writer::flush`].
    #[must_use]
    pub const fn buffer(mut self, bytes: usize) -> Self {
        self.buffer = bytes;
        self
    }

    /// Makes the subfiles `PATH.0000`, `PATH.0001` and so on, with headers and maps but without
    /// values. They get their names at the close. All ranks call this.
    ///
    /// Besides splitting the communicator it takes 7 calls of the message layer on all ranks, and
    /// on those of a subfile 2 for each 3 decompositions and 2 more, or 3 more for HDF5. A rank
    /// needs memory for the header and for its own requests.
    ///
    /// # Errors
    /// The failure of a rank, at all ranks: [`Code::Refused`](crate::Code::Refused) for requests,
    /// subfiles or definitions that no set can have, and for names that are taken;
    /// [`Code::Differ`](crate::Code::Differ); [`Code::Full`](crate::Code::Full) if a subfile would
    /// be too long; an error of the operating system. No file is left.
    pub fn create<C: Collective>(
        &self,
        comm: C,
        path: impl AsRef<Path>,
    ) -> Result<Writer<C>, Error> {
        let path = path.as_ref();
        let definition = Compared::new(self.definition);
        let checked = self.check(&definition, path);
        comm.begin(Operation::BlobCreate, checked.as_ref().map_or(0, |options| *options));
        comm.agree(checked.map(drop))?;
        let (part, group) = self.split(&comm)?;
        let input = self.input(&definition, group, comm.size());
        let plan = Plan::new(&part, &input, comm.rank());
        let (mut publish, mut folder) = (None, Vec::new());
        let made = plan.as_ref().map(drop).map_err(Clone::clone).and_then(|()| {
            if comm.rank() == 0 {
                let made = Publish::subfiles(path, group.subfiles, self.set.force);
                let made = made.map_err(|error| of_striae("making the set", &error))?;
                let hidden = made.hidden(0);
                folder = hidden.parent().unwrap_or(path).as_os_str().as_bytes().to_vec();
                publish = Some(made);
            }
            Ok(())
        });
        let folder = comm.bcast(0, made.map(|()| folder.as_slice()), MAX_PATH)?;
        let mut plan = plan.map_err(Error::agreed)?; // never: no rank has failed
        let folder = Path::new(OsStr::from_bytes(&folder));
        let hidden = in_folder(Some(folder), path, group.number);
        let file = open(&part, &plan, &hidden);
        let written =
            file.and_then(|file| plan.write_maps(&self.decompositions, &file).map(|()| file));
        let file = comm.agree(written)?;
        // Others than local file systems may tell an error of a write only when the file is synced.
        let is_synced = self.set.force || !file.is_local();
        Ok(Writer::new((comm, part), file.into(), publish, plan, (self.buffer, is_synced)))
    }

    fn input<'b>(
        &'b self,
        definition: &'b Compared<'d, D>,
        group: Group,
        nprocs: u32,
    ) -> Input<'b, Compared<'d, D>> {
        Input {
            definition,
            decompositions: &self.decompositions,
            partitions: &self.set.partitions,
            container: self.set.container,
            records: self.set.records,
            sealed: self.set.sealed,
            nprocs,
            subfile: (group.number, group.subfiles),
            world_ranks: self.set.world_ranks.unwrap_or(!group.is_block),
        }
    }

    /// Checks the arguments of this rank, and returns a number of those that all have equal.
    fn check(&self, definition: &Compared<'_, D>, path: &Path) -> Result<u32, Failure> {
        for (dimids, requests) in &self.decompositions {
            let grid = Grid::of_dims(self.definition, dimids).ok_or_else(|| {
                refused("a decomposition of other than fixed dimensions of the definition")
            })?;
            if let Some(Request { offset, len }) = outside(requests, grid) {
                let total = grid.total();
                let text = format_args!("a request of {len} elements from {offset} of {total}");
                return Err(refused(text));
            }
        }
        if self.set.container == Container::Hdf5 && self.set.records.is_none() {
            return Err(refused("an HDF5 set needs the number of records when it is made"));
        }
        let plan = CdfPlan::new(definition, Version::Cdf5, Alignment::COMPACT);
        let plan = plan.map_err(refused)?;
        let header = encode(definition, &plan, (0, None)).map_err(refused)?;
        let crc = crc32c_append(crc32c(path.as_os_str().as_bytes()), &header);
        let grouping = match self.grouping {
            Grouping::Given(_) => Grouping::Given(0), // each rank has its own
            grouping => grouping,
        };
        let dimids: Vec<_> = self.decompositions.iter().map(|(dimids, _)| dimids).collect();
        let options = (grouping, dimids, &self.set);
        Ok(crc32c_append(crc, format!("{options:?}").as_bytes()))
    }

    /// Splits the ranks into those of each subfile.
    fn split<C: Collective>(&self, comm: &C) -> Result<(C, Group), Error> {
        let (rank, size_of_all) = (u64::from(comm.rank()), NonZeroU64::from(one_or(comm.size())));
        let block = |count: u64| subfile_of(rank, size_of_all, count);
        let number = match self.grouping {
            Grouping::Blocks(count) => block(count.get().into()).ok_or_else(size),
            Grouping::Given(number) => Ok(number.into()),
            Grouping::Nodes => node_number(comm)?,
        };
        let wanted = match self.grouping {
            Grouping::Blocks(count) => u64::from(count.get()),
            _ => 0,
        };
        let last = number.clone().map(|number| [number.saturating_add(1).max(wanted)]);
        let [count] = comm.max(last)?;
        if count > u64::from(comm.size()) {
            let text = format_args!("{count} subfiles of {} ranks", comm.size());
            return Err(Error::agreed(refused(text))); // all of them know
        }
        let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX); // below the size
        let part = comm.split(number.clone().map(narrow))?;
        let of_number = number.as_ref().ok().copied();
        let others = u64::from(of_number != block(count));
        let firsts = u64::from(part.rank() == 0);
        let [others, groups] = comm.total(number.clone().map(|_| [others, firsts]))?;
        if groups != count {
            return Err(Error::agreed(refused("each subfile must have a rank"))); // all know
        }
        let number = number.map(narrow).unwrap_or(0);
        Ok((part, Group { number, subfiles: one_or(narrow(count)), is_block: others == 0 }))
    }
}

/// The subfile of this rank.
#[derive(Debug, Clone, Copy)]
struct Group {
    number: u32,
    subfiles: NonZeroU32,
    /// Whether the subfiles have the ranks that they get by default.
    is_block: bool,
}

fn one_or(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN)
}

/// The number of this rank's node, in the order of the nodes' first ranks.
fn node_number<C: Collective>(comm: &C) -> Result<Result<u64, Failure>, Error> {
    let node = comm.node(Ok(()))?;
    let before = comm.exscan(Ok([u64::from(node.rank() == 0)]));
    let bytes = before.as_ref().map(|[number]| number.to_le_bytes()).map_err(Clone::clone);
    let bytes = bytes.as_ref().map(<[u8; 8]>::as_slice).map_err(Clone::clone);
    let number = node.bcast(0, bytes, 8).map_err(Failure::from);
    let number =
        number.map(|bytes| bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)));
    let freed = node.free(Ok(())).map_err(Failure::from);
    Ok(number.and_then(|number| freed.map(|()| number)))
}

fn in_folder(folder: Option<&Path>, path: &Path, number: u32) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{number:04}"));
    folder.unwrap_or(path).join(name)
}

/// Makes the subfile with its header at its first rank, and then opens it at the others.
fn open<C: Collective>(part: &C, plan: &Plan, path: &Path) -> Result<PosixFile, Failure> {
    let at = |error| Failure::io("making a subfile", &error);
    let made = match part.rank() {
        0 => PosixFile::create(path, false).map_err(at).and_then(|file| {
            plan.write_header(&file)?;
            Ok(Some(file))
        }),
        _ => Ok(None),
    };
    part.agree(made)?.map_or_else(|| PosixFile::open_rw(path).map_err(at), Ok)
}
