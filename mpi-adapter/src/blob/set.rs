//! A set that all ranks read.

use super::{of_striae, refused};
use crate::collective::{Collective, Fold};
use crate::error::{Error, Failure};
use crate::operation::Operation;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use striae::blob::{OpenOptions, Set as Whole};
use striae::cdf::{Element, Region};
use striae_core::integrity::crc32c;

/// A set of blob files that all ranks read, any number of them for any number of writers: each
/// takes an even part of a variable or of a region.
///
/// Each rank opens the set for itself, so its memory is that of [`striae::blob::Set`]: it grows
/// with the requests of the decompositions that are read. Values are read by one rank only, except
/// between parts of a blob that are closer than 512 elements.
///
/// ```
/// # use striae::striae_core::cdf::{Definition, DimDef, Type, VarDef};
/// # use std::num::NonZeroU32;
/// use striae_mpi::blob::Set;
/// use striae_mpi::{Collective, Error, Threads};
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
/// let read = |rank: striae_mpi::threads::Rank| -> Result<u64, Error> {
///     let number = rank.rank();
///     let set = Set::open(rank, &path)?;
///     let part = set.read::<f64>("heat")?; // 10 cells for 4 ranks
///     assert_eq!(part.start, [[0, 2, 5, 7][number as usize]]);
///     Ok(part.values.len() as u64)
/// };
/// let counts: Result<Vec<_>, _> =
///     Threads::new(4).run(read).into_iter().map(|done| done.expect("no rank panicked")).collect();
/// assert_eq!(counts?, [2, 3, 2, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Set<C> {
    comm: C,
    whole: Whole,
}

/// The part of a region that a rank has read.
#[derive(Debug, Clone, PartialEq)]
pub struct Part<T> {
    /// The first index in each dimension of the variable.
    pub start: Vec<u64>,
    /// The number of indices in each dimension; 0 in one of them if the rank has no part.
    pub count: Vec<u64>,
    /// The values, in C order. Elements that no subfile has are filled.
    pub values: Vec<T>,
    /// Whether no rank has found a subfile missing or damaged so far. Its elements are filled.
    pub is_whole: bool,
}

impl<C: Collective> Set<C> {
    /// Opens the set with this name, or the set of which `path` is a subfile. All ranks call this.
    /// It takes one call of the message layer.
    ///
    /// # Errors
    /// The failure of a rank, at all ranks: [`Code::Refused`](crate::Code::Refused) if the files
    /// are no set; [`Code::Differ`](crate::Code::Differ) if the ranks have found different sets; an
    /// error of the operating system.
    pub fn open(comm: C, path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(comm, path, &OpenOptions::new())
    }

    /// Opens a set with options of each rank. As [`open`](Self::open).
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(
        comm: C,
        path: impl AsRef<Path>,
        options: &OpenOptions,
    ) -> Result<Self, Error> {
        let opened = options.open(path).map_err(|error| of_striae("opening the set", &error));
        let equal = opened.as_ref().map_or(0, |whole| {
            let crc = crc32c(0, whole.path().as_os_str().as_bytes());
            let crc = crc32c(crc, whole.header().bytes());
            crc32c(crc, &whole.missing_count().to_le_bytes())
        });
        comm.begin(Operation::BlobOpen, equal);
        let whole = comm.agree(opened)?;
        Ok(Self { comm, whole })
    }

    /// The communicator of the set.
    pub const fn comm(&self) -> &C {
        &self.comm
    }

    /// Returns the communicator.
    pub fn into_comm(self) -> C {
        self.comm
    }

    /// The set, as this rank sees it.
    pub const fn whole(&self) -> &Whole {
        &self.whole
    }

    /// Reads this rank's part of all values of a variable; records are the first dimension. As
    /// [`read_region`](Self::read_region).
    ///
    /// # Errors
    /// As [`read_region`](Self::read_region).
    pub fn read<T: Element>(&self, name: &str) -> Result<Part<T>, Error> {
        let shape = self.whole.variable(name).map(|variable| variable.shape().to_vec());
        let count = shape.unwrap_or_default(); // the error comes again
        let start = vec![0; count.len()];
        self.read_region(name, Region { start: &start, count: &count, stride: None })
    }

    /// Reads this rank's part of a region. All ranks call this with equal arguments. It takes one
    /// call of the message layer.
    ///
    /// The region is dealt along one dimension in even parts, in the order of the ranks: the first
    /// one with at least as many indices as there are ranks, or the one with the most.
    ///
    /// # Errors
    /// The failure of a rank, at all ranks: [`Code::Refused`](crate::Code::Refused) if the set does
    /// not have the variable or the variable the region, or if its values have another type;
    /// [`Code::Differ`](crate::Code::Differ); an error of the operating system that says nothing
    /// about a subfile.
    pub fn read_region<T: Element>(
        &self,
        name: &str,
        region: Region<'_>,
    ) -> Result<Part<T>, Error> {
        let text = format!("{name} {:?} {:?} {:?}", region.start, region.count, region.stride);
        self.comm.begin(Operation::BlobRead, crc32c(0, text.as_bytes()));
        let read = self.read_here(name, region);
        let mine = read.as_ref().map(|part| [u64::from(!part.is_whole)]);
        let [is_lost] = self.comm.combine(mine.map_err(Clone::clone), [Fold::Max])?;
        let part = read.map_err(Error::agreed)?; // never: no rank has failed
        Ok(Part { is_whole: is_lost == 0, ..part })
    }

    fn read_here<T: Element>(&self, name: &str, region: Region<'_>) -> Result<Part<T>, Failure> {
        let at = |error: striae::Error| of_striae("reading a variable", &error);
        let variable = self.whole.variable(name).map_err(at)?;
        let dims = variable.shape().len();
        let has_dims = |list: &[u64]| list.len() == dims;
        if !has_dims(region.start) || !has_dims(region.count) {
            return Err(refused(format_args!("a region of variable {name} has {dims} dimensions")));
        }
        let (start, count) = part_of(region, self.comm.rank(), self.comm.size());
        let own = Region { start: &start, count: &count, stride: region.stride };
        let values = self.whole.read_region(variable, own).map_err(at)?;
        Ok(Part { values, is_whole: self.whole.is_whole(), start, count })
    }
}

/// The part of rank `rank` of a region that is dealt to `size` ranks.
fn part_of(region: Region<'_>, rank: u32, size: u32) -> (Vec<u64>, Vec<u64>) {
    let (mut start, mut count) = (region.start.to_vec(), region.count.to_vec());
    let is_enough = |count: &u64| *count >= u64::from(size);
    let most = || {
        let all = count.iter().enumerate().rev(); // of equal ones the first
        all.max_by_key(|(_, count)| **count).map(|(dim, _)| dim)
    };
    let dim = count.iter().position(is_enough).or_else(most);
    let place = dim.and_then(|dim| Some((dim, start.get_mut(dim)?, count.get_mut(dim)?)));
    let Some((dim, first, len)) = place else {
        return (start, count); // one value without dimensions, which every rank gets
    };
    let part = crate::even_part(*len, rank, size);
    let stride = region.stride.and_then(|stride| stride.get(dim)).copied().unwrap_or(1);
    *first = first.saturating_add(part.start.saturating_mul(stride));
    *len = part.end.saturating_sub(part.start);
    if *len == 0 {
        *first = region.start.get(dim).copied().unwrap_or(0); // nothing, but inside
    }
    (start, count)
}
