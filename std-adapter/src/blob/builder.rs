//! [`Builder`]: new sets. Each process of the map is a [`Rank`], with which one thread writes.

pub(super) mod append;
mod buffer;
mod header;
pub(super) mod old;
mod options;
mod sealing;
mod tables;
mod writer;

use crate::error::Error;
use crate::error::build::BuildError;
use crate::posix::PosixFile;
use crate::publish::Publish;
pub use options::SetOptions;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::Path;
use striae_core::blob::Records;
use striae_core::blob::book::Sum;
use striae_core::blob::distribute::{outside, subfile_of};
use striae_core::blob::map::{Grid, Request};
use striae_core::cdf::Define;
use writer::Target;
pub use writer::{Rank, Writer};

/// Makes a set of a canonical definition and of the requests of each rank.
///
/// ```
/// use striae::blob::{Builder, Request};
/// use striae::striae_core::cdf::{Definition, DimDef, Type, VarDef};
/// use std::num::NonZeroU32;
///
/// // Two ranks have 3 cells each.
/// let heat = VarDef { name: "heat", nc_type: Type::Double, dimids: &[0, 1] };
/// let dims = [DimDef::record("time"), DimDef { name: "cell", length: 6 }];
/// let canonical = Definition { dims: &dims, attrs: &[], vars: &[(heat, &[])] };
/// let requests = vec![vec![Request { offset: 0, len: 3 }], vec![Request { offset: 3, len: 3 }]];
///
/// # let folder = std::env::temp_dir().join(format!("striae-builder-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("heat.nc");
/// let nprocs = NonZeroU32::new(2).unwrap();
/// let builder = Builder::new(&canonical, nprocs).decomposition(&[1], requests).decomposed(0, 0);
/// let writer = builder.create(&path)?; // heat.nc.0000
/// std::thread::scope(|scope| {
///     let ranks = [0, 1].map(|rank| writer.rank(rank).unwrap());
///     for rank in ranks {
///         scope.spawn(move || rank.put("heat", 0, &[1.5, 2.5, 3.5]));
///     }
/// });
/// writer.close()?;
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Builder<'d, D: ?Sized> {
    definition: &'d D,
    nprocs: NonZeroU32,
    decompositions: Vec<Decomposed>,
    set: SetOptions,
    subfiles: NonZeroU32,
    grouping: Option<Vec<u32>>,
}

/// A decomposition: its canonical dimensions, and the requests of each rank.
#[derive(Debug)]
struct Decomposed {
    dimids: Vec<u64>,
    requests: Vec<Vec<Request>>,
}

/// The ranks of a subfile, in the order of their blobs.
type Members = Vec<u32>;

impl<'d, D: Define + ?Sized> Builder<'d, D> {
    /// A set of the arrays of `definition` that `nprocs` ranks write: one CDF-5 file.
    #[must_use]
    pub const fn new(definition: &'d D, nprocs: NonZeroU32) -> Self {
        Self {
            definition,
            nprocs,
            decompositions: Vec::new(),
            set: SetOptions::NEW,
            subfiles: NonZeroU32::MIN,
            grouping: None,
        }
    }

    /// Adds a decomposition of arrays with these dimensions, without the record dimension.
    /// `requests` are those of each rank: its elements are written in their order.
    #[must_use]
    pub fn decomposition(mut self, dimids: &[u64], requests: Vec<Vec<Request>>) -> Self {
        self.decompositions.push(Decomposed { dimids: dimids.to_vec(), requests });
        self
    }

    crate::blob_set_options!(decomposed container world_ranks records sealed force);

    /// Writes this number of subfiles. Each gets ranks that follow each other, as many as the
    /// others or one fewer.
    #[must_use]
    pub fn subfiles(mut self, subfiles: NonZeroU32) -> Self {
        self.subfiles = subfiles;
        self.grouping = None;
        self
    }

    /// Gives the rank `r` to subfile `subfile_of[r]`.
    #[must_use]
    pub fn grouping(mut self, subfile_of: Vec<u32>) -> Self {
        let count = subfile_of.iter().max().map_or(1, |last| last.saturating_add(1));
        self.subfiles = NonZeroU32::new(count).unwrap_or(NonZeroU32::MAX);
        self.grouping = Some(subfile_of);
        self
    }

    /// The number of subfiles.
    pub(super) const fn nsubfiles(&self) -> NonZeroU32 {
        self.subfiles
    }

    /// Sets all of them at once.
    pub(super) fn set(mut self, set: SetOptions) -> Self {
        self.set = set;
        self
    }

    /// The requests of a rank in a decomposition.
    pub(crate) fn requests(&self, decomposition: usize, rank: u32) -> &[Request] {
        let of = self.decompositions.get(decomposition);
        let rank = usize::try_from(rank).unwrap_or(usize::MAX);
        of.and_then(|of| of.requests.get(rank)).map_or(&[], Vec::as_slice)
    }

    /// The elements of all requests of each decomposition.
    pub(crate) fn elements(&self) -> Vec<u64> {
        let lens = |of: &Decomposed| {
            let requests = of.requests.iter().flatten().map(|request| request.len);
            requests.fold(0, u64::saturating_add)
        };
        self.decompositions.iter().map(lens).collect()
    }

    /// The ranks of each subfile.
    fn members(&self) -> Result<(Vec<Members>, bool), BuildError> {
        let (nprocs, count) = (self.nprocs.get(), self.subfiles.get());
        let block = |rank: u32| {
            let subfile = subfile_of(rank.into(), NonZeroU64::from(self.nprocs), count.into());
            subfile.and_then(|subfile| u32::try_from(subfile).ok()).unwrap_or(u32::MAX)
        };
        if let Some(given) = self.grouping.as_ref().map(Vec::len)
            && u32::try_from(given) != Ok(nprocs)
        {
            return Err(BuildError::Ranks { given, nprocs });
        }
        if count > nprocs {
            return Err(BuildError::Subfiles { given: count, nprocs });
        }
        let mut members = vec![Members::new(); usize::try_from(count).unwrap_or(0)];
        let mut is_block = true;
        for rank in 0..nprocs {
            let index = usize::try_from(rank).unwrap_or(usize::MAX);
            let subfile = match &self.grouping {
                Some(grouping) => grouping.get(index).copied().unwrap_or(0),
                None => block(rank),
            };
            is_block &= subfile == block(rank);
            let of = usize::try_from(subfile).ok().and_then(|of| members.get_mut(of));
            of.ok_or(BuildError::NoRank { subfile })?.push(rank);
        }
        match (0..).zip(&members).find(|(_, ranks)| ranks.is_empty()) {
            Some((subfile, _)) => Err(BuildError::NoRank { subfile }),
            None => Ok((members, is_block)),
        }
    }

    /// Checks that all requests are those of the ranks, and inside the arrays.
    fn check(&self) -> Result<(), BuildError> {
        for (id, decomposition) in (1_u32..).zip(&self.decompositions) {
            let (nprocs, given) = (self.nprocs.get(), decomposition.requests.len());
            if u32::try_from(given) != Ok(nprocs) {
                return Err(BuildError::Ranks { given, nprocs });
            }
            let grid = Grid::of_dims(self.definition, &decomposition.dimids);
            let grid = grid.ok_or(BuildError::Dims { id })?;
            for (rank, requests) in (0_u32..).zip(&decomposition.requests) {
                if let Some(request) = outside(requests, grid) {
                    return Err(BuildError::Outside { id, rank, request, total: grid.total() });
                }
            }
        }
        Ok(())
    }

    /// Makes the subfiles `PATH.0000`, `PATH.0001` and so on, with headers and maps but without
    /// values. They get their names when [`Writer::close`] has found them complete.
    ///
    /// # Errors
    /// [`BuildError`]; [`Exists`](crate::error::ErrorKind::Exists);
    /// [`Locked`](crate::error::ErrorKind::Locked) if another writer has the set that is to be
    /// replaced; an error of the operating system.
    pub fn create(&self, path: impl AsRef<Path>) -> Result<Writer, Error> {
        let path = path.as_ref();
        let at = |error: BuildError| Error::new(path, error);
        self.check().map_err(at)?;
        let (members, is_block) = self.members().map_err(at)?;
        let world_ranks = self.set.world_ranks.unwrap_or(!is_block);
        let publish = Publish::subfiles(path, self.subfiles, self.set.force)?;
        let plan = header::Plan::new(self, world_ranks);
        let plan = plan.map_err(|error| Error::new(path, error))?;
        let mut subfiles = Vec::new();
        for (number, members) in (0..).zip(&members) {
            let to = Writer::final_path(path, number);
            let made = PosixFile::create(&publish.hidden(number), false).map_err(Into::into);
            let made = made.and_then(|file| plan.subfile((number, members), &file));
            subfiles.push(made.map_err(|kind| Error::new(&to, kind))?);
        }
        let nsums = if self.set.sealed { plan.variables.len() } else { 0 };
        Ok(Writer::new(
            path,
            Target::New { publish, durable: self.set.force },
            (self.set.container, Records { before: None, all: self.set.records }),
            (plan.variables, plan.names),
            (subfiles, &members),
            &|_, _| vec![Sum::default(); nsums].into(),
        ))
    }
}
