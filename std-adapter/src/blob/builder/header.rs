//! The header and the maps of a subfile, and where its values go.

use super::sealing::Sealing;
use super::tables::Tables;
use super::{Builder, Members};
use crate::blob::Container;
use crate::error::ErrorKind;
use crate::error::build::BuildError;
use crate::posix::PosixFile;
use std::collections::HashMap;
use striae_core::blob::layout::{maps_len, width_of_blob};
use striae_core::blob::{Column, Fixed, Form, Group, Held, Share, Subfile, Width};
use striae_core::cdf::{Define, Plan as CdfPlan};
use striae_core::endian::ByteOrder;
use striae_core::store::usize_to_u64;
use striae_inspect::blob::{Compared, Dimids, encode};

/// A canonical variable.
#[derive(Debug)]
pub(super) struct Variable {
    pub(super) name: Box<str>,
    pub(super) column: Column,
    /// Process-centric: what the variables before it have in a blob.
    pub(super) before: Before,
}

/// The parts of a [`Width`].
#[derive(Debug, Default, Clone)]
pub(super) struct Before {
    fixed: Fixed,
    elements: Box<[u64]>,
}

/// Where the values of a subfile go.
#[derive(Debug)]
pub(super) enum Places {
    /// Variable-centric: the begin of each variable, the bytes from record to record, and the plan
    /// of a new file.
    Values { begins: Box<[u64]>, recsize: u64, plan: Option<CdfPlan> },
    /// Process-centric: the place of the variables of each blob.
    Blobs { starts: Box<[u64]>, end: u64 },
}

/// A subfile without values.
#[derive(Debug)]
pub(super) struct Made {
    /// For each blob the share in each decomposition.
    pub(super) shares: Vec<Box<[Share]>>,
    pub(super) places: Places,
    /// What is known of its seal, if it gets one.
    pub(super) seal: Option<Sealing>,
}

/// What all subfiles have, and from what each is made.
#[derive(Debug)]
pub(super) struct Plan<'b, 'd, D: ?Sized> {
    builder: &'b Builder<'d, D>,
    definition: Compared<'d, D>,
    world_ranks: bool,
    pub(super) variables: Vec<Variable>,
    pub(super) names: HashMap<Box<str>, usize>,
    dimids: Dimids,
    /// Process-centric: the bytes of all variables in a blob.
    all: Before,
}

impl<'b, 'd, D: Define + ?Sized> Plan<'b, 'd, D> {
    pub(super) fn new(builder: &'b Builder<'d, D>, world_ranks: bool) -> Result<Self, ErrorKind> {
        let (definition, mut variables) = (builder.definition, Vec::new());
        let mut names = HashMap::new();
        let mut memory = vec![0; builder.decompositions.len()];
        let mut width = Width::new(&mut memory);
        for (varid, var) in (0..).map_while(|varid| Some((varid, definition.var(varid)?))) {
            let decomposition = builder.set.partitions.get(&varid).copied();
            let column = Column::new(definition, &var, decomposition).ok_or(BuildError::Size)?;
            let before = Before { fixed: width.fixed(), elements: width.elements().into() };
            let content = column.content(builder.set.records.unwrap_or(0));
            content.and_then(|content| width.add(content)).ok_or(BuildError::Size)?;
            let name: Box<str> = var.name.into();
            names.insert(name.clone(), variables.len());
            variables.push(Variable { name, column, before });
        }
        let decomposed = builder.decompositions.iter().map(|of| &*of.dimids);
        let dimids = Dimids::new(definition, decomposed).ok_or(BuildError::Size)?;
        let all = Before { fixed: width.fixed(), elements: width.elements().into() };
        if builder.set.container == Container::Hdf5 && builder.set.records.is_none() {
            return Err(BuildError::NoRecords.into());
        }
        let definition = Compared::new(definition);
        Ok(Self { builder, definition, world_ranks, variables, names, dimids, all })
    }

    /// Writes the header and the maps of the subfile with this number, of these ranks.
    pub(super) fn subfile(
        &self,
        (number, ranks): (u32, &Members),
        file: &PosixFile,
    ) -> Result<Made, ErrorKind> {
        let tables = Tables::new(&self.builder.decompositions, ranks).ok_or(BuildError::Size)?;
        let sums = tables.sums.iter().map(|sum| (sum.nelems(), sum.max_nreqs()));
        let mut decompositions = self.dimids.decompositions(sums);
        let partitions = self.dimids.partitions(self.variables.iter().map(|one| one.column));
        let world: Vec<_> = ranks.iter().map(|&rank| rank.cast_signed()).collect();
        let group = Group {
            global_nprocs: self.builder.nprocs.get().cast_signed(),
            num_subfiles: self.builder.subfiles.get().cast_signed(),
            nblobs: usize_to_u64(ranks.len()),
            world_ranks: self.world_ranks.then_some(&world),
        };
        let subfile = Subfile::new(&self.definition, group, &mut decompositions, &partitions)?;
        let form = Form::new(&subfile, self.builder.set.sealed)?.ok_or(BuildError::Size)?;
        let number = (number, self.builder.subfiles.get());
        match self.builder.set.container {
            Container::Cdf => {
                let bytes = encode(&subfile, form.plan(), (0, None))?;
                let places = form.plan().places(&subfile);
                let begins: Vec<_> = places.map(|place| place.offset()).collect();
                let maps = usize::try_from(subfile.nmaps()).unwrap_or(usize::MAX);
                let (maps, begins) = begins.split_at_checked(maps).unwrap_or_default();
                file.write_all_at(0, &bytes)?;
                let sealed = form.sealed();
                let mut seal = sealed.and_then(|gap| Sealing::new(gap, number, maps.len(), &bytes));
                tables.write_columns(maps, file, seal.as_mut())?;
                let (begins, plan) = (begins.into(), *form.plan());
                let places = Places::Values { begins, recsize: plan.recsize(), plan: Some(plan) };
                Ok(Made { shares: tables.shares, places, seal })
            }
            Container::Hdf5 => self.process_centric(&subfile, (&form, number), tables, file),
        }
    }

    fn process_centric(
        &self,
        subfile: &Subfile<'_, Compared<'d, D>>,
        (form, number): (&Form, (u32, u32)),
        tables: Tables<'_>,
        file: &PosixFile,
    ) -> Result<Made, ErrorKind> {
        let records = self.builder.set.records.unwrap_or(0);
        let bytes = encode(subfile, form.plan(), (records, Some(ByteOrder::Little)))?;
        let (mut starts, mut at) = (Vec::new(), 0_u64);
        for (blob, shares) in (0..).zip(&tables.shares) {
            let maps = maps_len(shares).and_then(|len| at.checked_add(len));
            let maps = maps.ok_or(BuildError::Size)?;
            starts.push(maps);
            let len = width_of_blob(self.all.fixed, &self.all.elements, blob, shares);
            at = len.and_then(|len| maps.checked_add(len)).ok_or(BuildError::Size)?;
        }
        let (container, sealed) = form.container(at).ok_or(BuildError::Size)?;
        let nmaps = usize::try_from(subfile.nmaps()).unwrap_or(usize::MAX);
        let mut seal = sealed.and_then(|gap| Sealing::new(gap, number, nmaps, &bytes));
        let data = container.data().offset();
        file.write_all_at(0, &container.metadata())?;
        file.write_all_at(container.header().offset(), &bytes)?;
        let mut place = data;
        for ((blob, start), shares) in (0..).zip(&mut starts).zip(&tables.shares) {
            let maps = tables.of_blob(blob);
            file.write_all_at(place, &maps)?;
            if let Some(seal) = &mut seal {
                seal.set_blob(blob, &maps, shares);
            }
            *start = start.saturating_add(data); // the end of the data is in a u64
            let len = width_of_blob(
                self.all.fixed,
                &self.all.elements,
                u32::try_from(blob).unwrap_or(u32::MAX),
                shares,
            );
            place = start.saturating_add(len.unwrap_or(0));
        }
        let places = Places::Blobs { starts: starts.into(), end: container.data().end() };
        Ok(Made { shares: tables.shares, places, seal })
    }
}

impl Places {
    /// What a blob with these shares has of the variable with this number.
    pub(super) fn held(
        &self,
        (number, variable): (usize, &Variable),
        blob: u32,
        shares: &[Share],
    ) -> Option<Held> {
        match self {
            Self::Values { begins, recsize, .. } => {
                variable.column.in_values((*begins.get(number)?, *recsize), blob, shares)
            }
            Self::Blobs { starts, .. } => {
                let start = starts.get(usize::try_from(blob).ok()?)?;
                let Before { fixed, elements } = &variable.before;
                let start = start.checked_add(width_of_blob(*fixed, elements, blob, shares)?)?;
                variable.column.in_blob(start, blob, shares)
            }
        }
    }
}
