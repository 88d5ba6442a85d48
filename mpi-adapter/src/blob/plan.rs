//! The places of everything that a rank writes.

use super::{Container, Request, refused, size};
use crate::collective::{Collective, Fold, gather_numbers};
use crate::error::Failure;
use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU32;
use striae::posix::PosixFile;
use striae::striae_inspect::blob::{Dimids, encode};
use striae_core::blob::book::{numbers_of, put_part, row_crc, row_len};
use striae_core::blob::layout::maps_len;
use striae_core::blob::seal::Shape;
use striae_core::blob::{Column, Form, Group, Held, Part, Sealing, Share, Subfile, Width};
use striae_core::cdf::{Define, Plan as CdfPlan};
use striae_core::endian::ByteOrder;
use striae_core::span::Span;
use striae_core::store::usize_to_u64;

/// Bytes of ranks that their first one takes at once.
const WINDOW: usize = 1 << 12;

/// What all ranks of a subfile pass.
pub(super) struct Input<'b, D: ?Sized> {
    pub(super) definition: &'b D,
    pub(super) decompositions: &'b [(Vec<u64>, Vec<Request>)],
    pub(super) partitions: &'b BTreeMap<u64, usize>,
    pub(super) container: Container,
    pub(super) records: Option<u64>,
    pub(super) sealed: bool,
    pub(super) nprocs: u32,
    /// The number of the subfile, and that of all subfiles.
    pub(super) subfile: (u32, NonZeroU32),
    pub(super) world_ranks: bool,
}

/// A canonical variable, and what this rank has of it.
#[derive(Debug)]
pub(super) struct Variable {
    pub(super) name: Box<str>,
    pub(super) column: Column,
    /// What this rank has of it. Before the places are known, it starts after the bytes of the
    /// variables before it in a process-centric blob.
    pub(super) held: Held,
}

/// The places of this rank in its subfile.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) variables: Vec<Variable>,
    pub(super) names: HashMap<Box<str>, usize>,
    pub(super) records: Option<u64>,
    pub(super) blob: u32,
    /// For each decomposition.
    sums: Vec<Sum>,
    /// What comes before the maps, if this is the first rank: at their offsets.
    front: Vec<(u64, Vec<u8>)>,
    maps: Maps,
    /// The checksums of this rank's rows of the maps: those of the variables of the decompositions.
    pub(super) map_sums: Vec<u32>,
    /// The seal, if the subfile gets one.
    pub(super) seal: Option<Sealing>,
}

/// Where the maps are.
#[derive(Debug)]
enum Maps {
    /// Variable-centric: the begins of their variables.
    Values { begins: Vec<u64>, plan: CdfPlan },
    /// Process-centric: the start of this blob, and the end of the file.
    Blobs { start: u64, end: u64 },
    /// Variable-centric, and written already.
    Old,
}

/// The share of this rank in a decomposition, and the numbers of the subfile.
#[derive(Debug, Clone, Copy)]
struct Sum {
    share: Share,
    nelems: u64,
    max_nreqs: u64,
}

/// The bytes of a blob of a process-centric subfile, and of those before it.
#[derive(Debug, Clone, Copy, Default)]
struct Bytes {
    before: u64,
    all: u64,
}

impl Plan {
    /// Makes the plan together with the other ranks of the subfile, whose communicator is `part`.
    pub(super) fn new<C: Collective, D: Define + ?Sized>(
        part: &C,
        input: &Input<'_, D>,
        world_rank: u32,
    ) -> Result<Self, Failure> {
        let sums = sums(part, input.decompositions)?;
        let mut variables = input.variables(part.rank(), &sums);
        let bytes = match input.container {
            Container::Cdf => {
                variables = Ok(part.agree(variables)?);
                Bytes::default()
            }
            Container::Hdf5 => {
                let shares: Vec<_> = sums.iter().map(|sum| sum.share).collect();
                let maps = maps_len(&shares).ok_or_else(size);
                let all = variables.as_ref().map(|(_, len)| *len).map_err(Clone::clone);
                let len = maps.and_then(|maps| maps.checked_add(all?).ok_or_else(size));
                let before = part.exscan(len.clone().map(|len| [len]));
                let [all] = part.total(before.clone().and(len.map(|len| [len])))?;
                let [before] = before?;
                Bytes { before, all }
            }
        };
        let world = match input.world_ranks {
            true => Some(world_ranks(part, world_rank)?),
            false => None,
        };
        let (variables, _) = variables?;
        let blob = (part.rank(), part.size());
        input.place(variables, sums, blob, world.as_deref(), bytes)
    }

    /// The length of the subfile with so many records.
    pub(super) fn file_len(&self, records: u64) -> Result<u64, Failure> {
        match &self.maps {
            Maps::Values { plan, .. } => plan.file_len(records).ok_or_else(size),
            Maps::Blobs { end, .. } => Ok(*end),
            Maps::Old => Err(size()), // never: the length is that of the last record
        }
    }

    /// The places in a subfile that was closed.
    pub(super) fn old(variables: Vec<Variable>, blob: u32) -> Self {
        let names = variables.iter().zip(0..).map(|(one, number)| (one.name.clone(), number));
        let (names, sums, front, map_sums) = (names.collect(), vec![], vec![], vec![]);
        let (records, maps, seal) = (None, Maps::Old, None);
        Self { variables, names, records, blob, sums, front, maps, map_sums, seal }
    }

    /// The byte order of the values in the subfile.
    pub(super) const fn order(&self) -> ByteOrder {
        match self.maps {
            Maps::Values { .. } | Maps::Old => ByteOrder::Big,
            Maps::Blobs { .. } => ByteOrder::Little,
        }
    }

    /// Writes the header, if this is the first rank of the subfile.
    pub(super) fn write_header(&self, file: &PosixFile) -> Result<(), Failure> {
        let mut front = self.front.iter();
        let written = front.try_for_each(|(offset, bytes)| file.write_all_at(*offset, bytes));
        written.map_err(|error| Failure::io("writing the header", &error))
    }

    /// The checksums of this rank's rows of the maps, if there is a seal.
    fn map_sums(&self, decompositions: &[(Vec<u64>, Vec<Request>)]) -> Vec<u32> {
        let mut sums = Vec::new();
        for (sum, (_, requests)) in self.sums.iter().zip(decompositions) {
            for part in Part::VARIABLES.into_iter().filter(|_| self.seal.is_some()) {
                let bytes = sum.bytes(part, requests, self.order());
                let len = usize_to_u64(bytes.len());
                let row_len = match self.maps {
                    Maps::Values { .. } => row_len(part, sum.max_nreqs),
                    Maps::Blobs { .. } | Maps::Old => len,
                };
                sums.push(row_crc(crc32c::crc32c(&bytes), len, row_len));
            }
        }
        sums
    }

    /// Writes what this rank has of the maps: its requests, and its share of the elements.
    pub(super) fn write_maps(
        &mut self,
        decompositions: &[(Vec<u64>, Vec<Request>)],
        file: &PosixFile,
    ) -> Result<(), Failure> {
        let write = |offset: u64, bytes: &[u8]| {
            let written = file.write_all_at(offset, bytes);
            written.map_err(|error| Failure::io("writing the maps", &error))
        };
        self.map_sums = self.map_sums(decompositions);
        let all = self.sums.iter().zip(decompositions);
        match &self.maps {
            Maps::Blobs { start, .. } => {
                let parts = all.flat_map(|(sum, (_, requests))| {
                    let bytes = |part| sum.bytes(part, requests, ByteOrder::Little);
                    Part::VARIABLES.into_iter().flat_map(bytes)
                });
                write(*start, &parts.collect::<Vec<u8>>())
            }
            Maps::Old => Ok(()),
            Maps::Values { begins, .. } => {
                let columns = all.flat_map(|(sum, (_, requests))| {
                    Part::VARIABLES.into_iter().map(move |part| (part, sum, requests))
                });
                for (begin, (part, sum, requests)) in begins.iter().zip(columns) {
                    // What follows the requests of a blob is zero, as a new file is.
                    let row = row_len(part, sum.max_nreqs).checked_mul(self.blob.into());
                    let place = row.and_then(|row| begin.checked_add(row)).ok_or_else(size)?;
                    write(place, &sum.bytes(part, requests, ByteOrder::Big))?;
                }
                Ok(())
            }
        }
    }
}

impl Sum {
    /// What this rank has in a variable of the decomposition.
    fn bytes(&self, part: Part, requests: &[Request], order: ByteOrder) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_part(part, self.share, requests, order, |one| bytes.extend(one));
        bytes
    }
}

/// Decompositions in a collective.
const SUMS: usize = 3;

/// The share of this rank in each decomposition, and the sums of all ranks.
fn sums<C: Collective>(
    part: &C,
    decompositions: &[(Vec<u64>, Vec<Request>)],
) -> Result<Vec<Sum>, Failure> {
    let mut sums = Vec::new();
    for some in decompositions.chunks(SUMS) {
        let own = own_numbers(some);
        let counts = own.as_ref().map(|own| own.map(|[count, _]| count)).map_err(Clone::clone);
        let before = part.exscan(counts);
        let [a, b, c] = own.clone().unwrap_or_default();
        let folds = [Fold::Sum, Fold::Max, Fold::Sum, Fold::Max, Fold::Sum, Fold::Max];
        let mine = before.clone().and(own.map(|_| [a[0], a[1], b[0], b[1], c[0], c[1]]));
        let all = part.combine(mine, folds)?;
        let both = before?.into_iter().zip([a, b, c]).zip(all.chunks_exact(2));
        for (((start, [count, nreqs]), all), _) in both.zip(some) {
            let (nelems, max_nreqs) = all.first().zip(all.last()).unwrap_or((&0, &0));
            let share = Share { nreqs, start, count };
            sums.push(Sum { share, nelems: *nelems, max_nreqs: *max_nreqs });
        }
    }
    Ok(sums)
}

/// The elements and the requests of this rank in up to three decompositions.
fn own_numbers(some: &[(Vec<u64>, Vec<Request>)]) -> Result<[[u64; 2]; SUMS], Failure> {
    let mut numbers = [[0; 2]; SUMS];
    for (numbers, (_, requests)) in numbers.iter_mut().zip(some) {
        let (nreqs, count) = numbers_of(requests).ok_or_else(size)?;
        *numbers = [count, nreqs];
    }
    Ok(numbers)
}

/// The ranks of the blobs at the first rank; others only need their number.
fn world_ranks<C: Collective>(part: &C, world_rank: u32) -> Result<Vec<i32>, Failure> {
    let mut ranks = Vec::new();
    gather_numbers(part, 0, Ok([world_rank]), WINDOW, |_, rank| {
        ranks.extend(rank.iter().map(|rank| rank.cast_signed()));
        Ok(())
    })?;
    ranks.resize(usize::try_from(part.size()).unwrap_or(0), 0);
    Ok(ranks)
}

impl<D: Define + ?Sized> Input<'_, D> {
    /// The variables without their places, and the bytes of all of them in the blob.
    fn variables(&self, blob: u32, sums: &[Sum]) -> Result<(Vec<Variable>, u64), Failure> {
        let shares: Vec<_> = sums.iter().map(|sum| sum.share).collect();
        let (mut variables, mut memory) = (Vec::new(), vec![0; sums.len()]);
        let mut width = Width::new(&mut memory);
        for (varid, var) in (0..).map_while(|varid| Some((varid, self.definition.var(varid)?))) {
            let decomposition = self.partitions.get(&varid).copied();
            let column = Column::new(self.definition, &var, decomposition).ok_or_else(size)?;
            if decomposition.is_some_and(|of| of >= shares.len()) {
                return Err(refused("no such decomposition"));
            }
            let content = column.content(self.records.unwrap_or(0)).ok_or_else(size)?;
            let start = width.of_blob(blob, &shares).ok_or_else(size)?;
            width.add(content).ok_or_else(size)?;
            let held = column.in_blob(start, blob, &shares).ok_or_else(size)?;
            variables.push(Variable { name: var.name.into(), column, held });
        }
        let all = width.of_blob(blob, &shares).ok_or_else(size)?;
        Ok((variables, all))
    }

    /// The plan of this rank, with the places of its variables.
    fn place(
        &self,
        mut variables: Vec<Variable>,
        sums: Vec<Sum>,
        (blob, nblobs): (u32, u32),
        world: Option<&[i32]>,
        bytes: Bytes,
    ) -> Result<Plan, Failure> {
        let decomposed = self.decompositions.iter().map(|(dimids, _)| &**dimids);
        let dimids = Dimids::new(self.definition, decomposed).ok_or_else(size)?;
        let numbers = sums.iter().map(|sum| (sum.nelems, sum.max_nreqs));
        let mut decompositions = dimids.decompositions(numbers);
        let partitions = dimids.partitions(variables.iter().map(|one| one.column));
        let group = Group {
            global_nprocs: self.nprocs.cast_signed(),
            num_subfiles: self.subfile.1.get().cast_signed(),
            nblobs: nblobs.into(),
            world_ranks: world,
        };
        let subfile = Subfile::new(self.definition, group, &mut decompositions, &partitions);
        let subfile = subfile.map_err(refused)?;
        let form = Form::new(&subfile, self.sealed).map_err(refused)?.ok_or_else(size)?;
        let (front, maps, seal) = match self.container {
            Container::Cdf => self.values(&subfile, &form, blob, &sums, &mut variables)?,
            Container::Hdf5 => {
                self.blobs(&subfile, &form, blob == 0, &sums, &mut variables, bytes)?
            }
        };
        let names = variables.iter().zip(0..).map(|(one, number)| (one.name.clone(), number));
        let names = names.collect();
        let (records, map_sums) = (self.records, Vec::new());
        Ok(Plan { variables, names, records, blob, sums, front, maps, map_sums, seal })
    }

    /// The places in a process-centric subfile.
    fn blobs(
        &self,
        subfile: &Subfile<'_, D>,
        form: &Form,
        is_first: bool,
        sums: &[Sum],
        variables: &mut [Variable],
        bytes: Bytes,
    ) -> Result<(Front, Maps, Option<Sealing>), Failure> {
        let (container, sealed) = form.container(bytes.all).ok_or_else(size)?;
        let shares: Vec<_> = sums.iter().map(|sum| sum.share).collect();
        let start = container.data().offset().saturating_add(bytes.before); // inside the data
        let after_maps = maps_len(&shares).and_then(|len| start.checked_add(len));
        for variable in variables {
            let start = after_maps.and_then(|after| after.checked_add(variable.held.start));
            variable.held.start = start.ok_or_else(size)?;
        }
        let mut front = Vec::new();
        if is_first {
            let records = self.records.unwrap_or(0);
            let header = encode(subfile, form.plan(), (records, Some(ByteOrder::Little)));
            let header = header.map_err(refused)?;
            front.push((0, container.metadata().to_vec()));
            front.push((container.header().offset(), header));
        }
        let header = front.last().map_or(&[][..], |(_, header)| header);
        let seal = sealed.and_then(|gap| self.sealing(gap, form, header));
        Ok((front, Maps::Blobs { start, end: container.data().end() }, seal))
    }

    /// The seal in a gap. Only the first rank of a subfile needs the header.
    fn sealing(&self, gap: (Shape, Span), form: &Form, header: &[u8]) -> Option<Sealing> {
        let (number, of) = self.subfile;
        let header = (form.plan().header_len(), header);
        Sealing::new(gap, (number, of.get()), header, crc32c::crc32c_append)
    }

    /// The places in a variable-centric subfile. Only its first rank makes the header.
    fn values(
        &self,
        subfile: &Subfile<'_, D>,
        form: &Form,
        blob: u32,
        sums: &[Sum],
        variables: &mut [Variable],
    ) -> Result<(Front, Maps, Option<Sealing>), Failure> {
        let (plan, shares) = (*form.plan(), sums.iter().map(|sum| sum.share).collect::<Vec<_>>());
        let mut front = Vec::new();
        if blob == 0 {
            front.push((0, encode(subfile, &plan, (0, None)).map_err(refused)?));
        }
        let mut begins = plan.places(subfile).map(|place| place.offset());
        let nmaps = usize::try_from(subfile.nmaps()).unwrap_or(usize::MAX);
        let maps = begins.by_ref().take(nmaps).collect();
        for (variable, begin) in variables.iter_mut().zip(begins) {
            let held = variable.column.in_values((begin, plan.recsize()), blob, &shares);
            variable.held = held.ok_or_else(size)?;
        }
        let header = front.last().map_or(&[][..], |(_, header)| header);
        let seal = form.sealed().and_then(|gap| self.sealing(gap, form, header));
        Ok((front, Maps::Values { begins: maps, plan }, seal))
    }
}

/// The bytes before the maps, at their offsets.
type Front = Vec<(u64, Vec<u8>)>;
