//! [`Pack`]: a set of the arrays of a netCDF file.

mod assign;
mod requests;

use super::map::Order;
use super::{Builder, Map, Rank, Set, SetOptions, Writer};
use crate::cdf::demand::longest_dimension;
use crate::cdf::{Attribute, File, Region, Variable};
use crate::error::Error;
use crate::error::build::BuildError;
use crate::files::max_open_files;
use crate::posix::PosixFile;
use crate::publish::{Numbering, spare};
use crate::shown;
use crate::store::existing;
use crate::verb::Output;
use requests::distribute;
use std::io;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use striae_core::blob::map::Request;
use striae_core::cdf::{AttrDef, Define, Definition, DimDef, Values, VarDef};
use striae_core::endian::ByteOrder;
use striae_core::span::Span;
use striae_core::store::{ReadAt, usize_to_u64};
use striae_inspect::blob::map::MAX_NPROCS;
use striae_inspect::size::Demand;

/// Makes a set of the arrays of a netCDF file, as E3SM-IO writes it.
#[derive(Debug, Clone)]
pub struct Pack {
    output: Output,
    set: SetOptions,
    subfiles: NonZeroU32,
    grouping: Option<Vec<u32>>,
    is_round_robin: bool,
    processes: Option<NonZeroU32>,
    order: Order,
    decompositions: Vec<(Box<str>, u32)>,
    like: Option<PathBuf>,
}

impl Default for Pack {
    fn default() -> Self {
        Self::new()
    }
}

impl Pack {
    /// Makes one CDF-5 file with a blob for each rank of the map.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            output: Output::new(),
            set: SetOptions::NEW,
            subfiles: NonZeroU32::MIN,
            grouping: None,
            is_round_robin: false,
            processes: None,
            order: Order::Merged,
            decompositions: Vec::new(),
            like: None,
        }
    }

    /// Sets how the files are made.
    #[must_use]
    pub const fn output(mut self, output: Output) -> Self {
        self.output = output;
        self
    }

    crate::blob_set_options!(container world_ranks sealed);

    /// Sets the number of subfiles; see [`Builder::subfiles`].
    #[must_use]
    pub const fn subfiles(mut self, subfiles: NonZeroU32) -> Self {
        self.subfiles = subfiles;
        self
    }

    /// Gives each process a subfile; see [`Builder::grouping`].
    #[must_use]
    pub fn grouping(mut self, subfile_of: Vec<u32>) -> Self {
        self.grouping = Some(subfile_of);
        self
    }

    /// Gives process `p` to subfile `p % N` of N [`subfiles`](Self::subfiles), as E3SM-IO does if
    /// each node took the next process in turn.
    #[must_use]
    pub const fn round_robin(mut self) -> Self {
        self.is_round_robin = true;
        self
    }

    /// Writes as this number of processes would: each has the requests of several ranks of the map.
    /// Default: as many as the map has ranks.
    #[must_use]
    pub const fn processes(mut self, processes: NonZeroU32) -> Self {
        self.processes = Some(processes);
        self
    }

    /// Sets the order of the requests of a process. Default: sorted and merged, as E3SM-IO does
    /// without `-q`.
    #[must_use]
    pub const fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Sets the decomposition of a variable, from 1, or 0 if it has none.
    #[must_use]
    pub fn decomposition(mut self, variable: &str, id: u32) -> Self {
        self.decompositions.push((variable.into(), id));
        self
    }

    /// Gives variables the decompositions that they have in this set.
    #[must_use]
    pub fn like(mut self, set: impl Into<PathBuf>) -> Self {
        self.like = Some(set.into());
        self
    }

    /// Makes the set `out` of the netCDF file `canonical` and of a decomposition map. A variable
    /// that has got no decomposition has the one with its dimensions. Calls `progress` with numbers
    /// of bytes that were written.
    ///
    /// One record of one variable is in memory at once, and the map.
    ///
    /// # Errors
    /// [`BuildError`], among them [`Ambiguous`](BuildError::Ambiguous) for a variable whose
    /// dimensions several decompositions have; errors of the input files; an error of the operating
    /// system.
    pub fn run(
        &self,
        canonical: &Path,
        map: &Path,
        out: &Path,
        progress: &dyn Fn(u64),
    ) -> Result<(), Error> {
        let (file, map) = (File::open(canonical)?, Map::open(map)?);
        let store = PosixFile::open(canonical).map_err(|error| file.error(error))?;
        map.check()?;
        let assigned = assign::assign(&file, &map, &self.decompositions, self.like.as_deref())?;
        let nprocs = u32::try_from(map.nprocs()).unwrap_or(u32::MAX);
        let nprocs = self.processes.or(NonZeroU32::new(nprocs)).unwrap_or(NonZeroU32::MIN);
        let at = |error: BuildError| Error::new(map.path(), error);
        if MAX_NPROCS < nprocs.get().into() {
            return Err(at(BuildError::Processes { nprocs: nprocs.get(), most: MAX_NPROCS }));
        }
        let (dims, attrs, vars) = definition(&file);
        let vars: Vec<_> = vars.iter().map(|(var, attrs)| (*var, attrs.as_slice())).collect();
        let definition = Definition { dims: &dims, attrs: &attrs, vars: &vars };
        let (records, force) = (Some(file.numrecs()), self.output.force);
        let set = SetOptions { records, force, ..self.set.clone() };
        let mut builder = Builder::new(&definition, nprocs).set(set).subfiles(self.subfiles);
        let count = self.subfiles;
        let in_turn = (0..nprocs.get()).map(|process| process % count);
        let in_turn = (self.is_round_robin && count <= nprocs).then(|| in_turn.collect());
        if let Some(grouping) = self.grouping.clone().or(in_turn) {
            builder = builder.grouping(grouping);
        }
        for (of, dimids) in map.decompositions().iter().zip(&assigned.dimids) {
            let requests = distribute(of, nprocs, self.order).map_err(at)?;
            builder = builder.decomposition(dimids, requests);
        }
        for (varid, of) in (0..).zip(&assigned.variables) {
            if let Some(of) = *of {
                builder = builder.decomposed(varid, of);
            }
        }
        let count = builder.nsubfiles().min(nprocs).get(); // more are refused later
        let like = self.like.as_deref().map(assign::header_path);
        let read = [canonical, map.path()].into_iter().chain(like.as_deref());
        spare(Numbering::Subfiles.paths(out, count), read)?;
        self.admit((&file, &store), &map, &builder, &assigned.variables)?;
        let writer = builder.create(out)?;
        let source = Source { file: &file, store, appended: None };
        let requests = |of, rank: u32| builder.requests(of, rank);
        source.write_all(&writer, &assigned.variables, &requests, progress)?;
        writer.close()
    }
}

impl Pack {
    /// Refuses a set that is larger than the netCDF file justifies: requests may overlap, and the
    /// file may be cut or have holes.
    fn admit<D: Define + ?Sized>(
        &self,
        (file, store): (&File, &PosixFile),
        map: &Map,
        builder: &Builder<'_, D>,
        assigned: &[Option<usize>],
    ) -> Result<(), Error> {
        let existing = existing(store).map_err(|error| file.error(error))?;
        let elements = builder.elements();
        let (mut longest, mut sum, mut copies) = (None, 0_u64, 0_u64);
        for (variable, of) in file.header().variables().zip(assigned) {
            let (len, layout) = (variable.len(), variable.layout());
            let of = of.and_then(|index| elements.get(index));
            let bytes = match of {
                // Each subfile has a copy.
                None => {
                    copies = copies.saturating_add(len);
                    len.saturating_mul(builder.nsubfiles().get().into())
                }
                Some(elements) => {
                    let records = len.checked_div(layout.first.len()).unwrap_or(0);
                    elements.saturating_mul(layout.value_len).saturating_mul(records)
                }
            };
            sum = sum.saturating_add(bytes);
            if longest.is_none_or(|(_, _, most)| bytes > most) {
                longest = Some((variable, of, bytes));
            }
        }
        let (tables, own_tables) = builder.tables();
        sum = sum.saturating_add(tables);
        let because = longest.map(|(variable, of, most)| match of {
            _ if most < tables => format!(
                "the tables of all blobs have room for the most requests that {} gives to one",
                shown::path(map.path())
            ),
            Some(elements) => format!(
                "the requests of {} have {elements} elements of variable {}",
                shown::path(map.path()),
                variable.name().escape_debug()
            ),
            None => longest_dimension(variable, file.header()),
        });
        let copies = copies.min(existing).saturating_mul(builder.nsubfiles().get().into());
        let own = copies.saturating_add(own_tables);
        let demand = Demand { size: sum, existing, own };
        self.output.admit(file.path(), &demand, because.unwrap_or_default())
    }

    /// Appends all records of the netCDF file `canonical` to the CDF-5 set `set`, which has the
    /// same variables; see [`Writer::append`]. Variables without records stay as they are. Calls
    /// `progress` with numbers of bytes that were written. This has no options.
    ///
    /// # Errors
    /// [`BuildError::Differs`] if the variables are others; the errors of [`Writer::append`];
    /// errors of `canonical`; an error of the operating system. If `canonical` is at fault, no
    /// record was appended.
    pub fn append(canonical: &Path, set: &Path, progress: &dyn Fn(u64)) -> Result<(), Error> {
        let file = File::open(canonical)?;
        let store = PosixFile::open(canonical).map_err(|error| file.error(error))?;
        let (writer, requests, known) = Writer::append_to(set, true, || {
            let known = Set::open(set)?;
            match differs(&file, &known) {
                Some(name) => Err(file.error(BuildError::Differs { name })),
                None => Ok(known),
            }
        })?;
        let of = |variable: Variable<'_>| known.decomposition(variable)?.checked_sub(1);
        let variables: Vec<_> = known.header().variables().map(of).collect();
        let requests = |of: usize, rank: u32| {
            let own = usize::try_from(rank).ok().and_then(|rank| requests.get(rank));
            own.and_then(|own| own.get(of)).map_or(&[][..], Vec::as_slice)
        };
        let source = Source { file: &file, store, appended: Some(writer.records()) };
        source.write_all(&writer, &variables, &requests, progress)?;
        writer.close()
    }
}

/// The name of a variable that a file and a set do not both have in the same place with the same
/// type, and dimensions of the same names and lengths.
fn differs(file: &File, set: &Set) -> Option<Box<str>> {
    let (mut ours, mut theirs) = (file.header().variables(), set.header().variables());
    loop {
        let (our, their) = (ours.next(), theirs.next());
        let inner = |variable: Variable<'_>| {
            variable.shape().get(usize::from(variable.is_record())..).map(<[u64]>::to_vec)
        };
        let key =
            |variable: Variable<'_>| (variable.nc_type(), variable.is_record(), inner(variable));
        // Two dimensions of one length may have changed places.
        let has_dims_of = |our: Variable<'_>, their: Variable<'_>| {
            our.dims().map(|dim| dim.name).eq(their.dims().map(|dim| dim.name))
        };
        match (our, their) {
            (None, None) => return None,
            (Some(our), Some(their))
                if our.name() == their.name()
                    && key(our) == key(their)
                    && has_dims_of(our, their) => {}
            (our, their) => return our.or(their).map(|variable| variable.name().into()),
        }
    }
}

/// The netCDF file, and where its values end.
struct Source<'f> {
    file: &'f File,
    store: PosixFile,
    /// The number of records of the set to which these are appended.
    appended: Option<u64>,
}

impl Source<'_> {
    /// Writes all variables of all ranks, some subfiles at a time.
    fn write_all<'b>(
        &self,
        writer: &Writer,
        variables: &[Option<usize>],
        requests: &dyn Fn(usize, u32) -> &'b [Request],
        progress: &dyn Fn(u64),
    ) -> Result<(), Error> {
        let count = writer.nsubfiles();
        let step = u32::try_from(max_open_files()).unwrap_or(1).max(1);
        let mut first = 0;
        while first < count {
            let end = first.saturating_add(step).min(count);
            let ranks = writer.ranks_of(first..end);
            let ranks = ranks.map(|rank| writer.rank(rank)).collect::<Result<Vec<_>, _>>()?;
            self.write(&ranks, variables, requests, progress)?;
            first = end;
        }
        Ok(())
    }

    /// Writes all variables of some ranks.
    fn write<'b>(
        &self,
        ranks: &[Rank<'_>],
        variables: &[Option<usize>],
        requests: &dyn Fn(usize, u32) -> &'b [Request],
        progress: &dyn Fn(u64),
    ) -> Result<(), Error> {
        let (mut values, mut elements) = (Vec::new(), Vec::new());
        for ((number, variable), of) in self.file.header().variables().enumerate().zip(variables) {
            let size = variable.nc_type().size();
            let records = match (variable.is_record(), self.appended) {
                (true, _) => self.file.numrecs(),
                (false, None) => 1,
                (false, Some(_)) => continue,
            };
            let skip = self.appended.unwrap_or(0);
            for record in 0..records {
                let end = self.read(variable, record, &mut values)?;
                for rank in ranks {
                    let (bytes, is_whole) = match of {
                        None if rank.is_first() => (&values, end == values.len()),
                        None => continue,
                        Some(of) => {
                            let requests = requests(*of, rank.number());
                            let is_whole = gather(requests, size, &values, end, &mut elements);
                            (&elements, is_whole)
                        }
                    };
                    if !is_whole {
                        return Err(self.cut(variable, record));
                    }
                    let place = skip.saturating_add(record);
                    rank.put_bytes(number, place, ByteOrder::Big, bytes)?;
                    progress(usize_to_u64(bytes.len()));
                }
            }
        }
        Ok(())
    }

    /// Reads a record of a variable, or all of one without records. The file may end before: if no
    /// rank has the last elements of the last variable, E3SM-IO does not write them. Returns how
    /// many bytes there are.
    fn read(
        &self,
        variable: Variable<'_>,
        record: u64,
        values: &mut Vec<u8>,
    ) -> Result<usize, Error> {
        let layout = variable.layout();
        let span = if variable.is_record() { layout.record(record) } else { Some(layout.first) };
        let span = span.unwrap_or(Span::ZERO);
        let (len, mut end) = (usize::try_from(span.len()).unwrap_or(usize::MAX), 0);
        values.clear();
        let at = |error: io::Error| self.file.error(error);
        values.try_reserve_exact(len).map_err(|_| at(io::ErrorKind::OutOfMemory.into()))?;
        values.resize(len, 0);
        while end < len {
            let offset = span.offset().saturating_add(usize_to_u64(end));
            let rest = values.get_mut(end..).unwrap_or_default();
            match self.store.read_at(offset, rest).map_err(at)? {
                0 => break,
                more => end = end.saturating_add(more),
            }
        }
        Ok(end)
    }

    /// The error for values that are not in the file.
    fn cut(&self, variable: Variable<'_>, record: u64) -> Error {
        let mut count = variable.shape().to_vec();
        let mut start = vec![0; count.len()];
        if let (true, [count, ..], [start, ..]) =
            (variable.is_record(), count.as_mut_slice(), start.as_mut_slice())
        {
            (*count, *start) = (1, record);
        }
        let region = Region { start: &start, count: &count, stride: None };
        let slab = self.file.slab(variable, region);
        slab.err().unwrap_or_else(|| self.file.error(io::Error::from(io::ErrorKind::UnexpectedEof)))
    }
}

/// Collects the elements of some requests. Whether all of them are before `end`.
fn gather(
    requests: &[Request],
    size: u64,
    values: &[u8],
    end: usize,
    elements: &mut Vec<u8>,
) -> bool {
    elements.clear();
    let bytes = |count: u64| usize::try_from(count.saturating_mul(size)).unwrap_or(usize::MAX);
    requests.iter().all(|request| {
        let run = values.get(bytes(request.offset)..bytes(request.end()));
        elements.extend_from_slice(run.unwrap_or_default()); // the builder has checked them
        bytes(request.end()) <= end
    })
}

type Vars<'h> = Vec<(VarDef<'h>, Vec<AttrDef<'h>>)>;

/// The definition of a file.
fn definition(file: &File) -> (Vec<DimDef<'_>>, Vec<AttrDef<'_>>, Vars<'_>) {
    let header = file.header();
    let dims = header.dims().map(|dim| {
        let length = if dim.is_record { 0 } else { dim.length };
        DimDef { name: dim.name, length }
    });
    let vars = header.variables().map(|var| {
        let (name, nc_type, dimids) = (var.name(), var.nc_type(), var.dimids());
        (VarDef { name, nc_type, dimids }, attrs(var.attributes(), header.order()))
    });
    (dims.collect(), attrs(header.attributes(), header.order()), vars.collect())
}

fn attrs<'h>(
    attributes: impl Iterator<Item = Attribute<'h>>,
    order: ByteOrder,
) -> Vec<AttrDef<'h>> {
    let attr = |attribute: Attribute<'h>| {
        let values = Values::new(attribute.nc_type(), order, attribute.bytes());
        AttrDef { name: attribute.name(), values }
    };
    attributes.map(attr).collect()
}
