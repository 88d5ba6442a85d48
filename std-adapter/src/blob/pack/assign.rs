//! Which variable has which decomposition.

use crate::blob::subfile::Head;
use crate::blob::{BuildError, Container, Map, first_subfile};
use crate::cdf::{File, Header, Variable};
use crate::error::Error;
use crate::posix::PosixFile;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use striae_core::blob::names::{DECOMPOSITION_ID, GLOBAL_DIMIDS};
use striae_inspect::blob::subfile::container;

/// The decomposition of each variable, and the dimensions of each decomposition.
#[derive(Debug)]
pub(super) struct Assigned {
    pub(super) variables: Vec<Option<usize>>,
    pub(super) dimids: Vec<Vec<u64>>,
}

/// The dimensions of a variable without the record dimension: their numbers and lengths.
fn dims<'h>(variable: Variable<'h>) -> (&'h [u64], &'h [u64]) {
    let skip = usize::from(variable.is_record());
    (
        variable.dimids().get(skip..).unwrap_or_default(),
        variable.shape().get(skip..).unwrap_or_default(),
    )
}

pub(super) fn assign(
    file: &File,
    map: &Map,
    given: &[(Box<str>, u32)],
    like: Option<&Path>,
) -> Result<Assigned, Error> {
    let mut wanted: HashMap<&str, u32> = HashMap::new();
    let like = like.map(|path| header_of(path).and_then(|header| decomposed(path, header)));
    let like = like.transpose()?;
    for variable in like.iter().flat_map(Header::variables) {
        let id = variable.attribute(DECOMPOSITION_ID).and_then(|id| id.values().integers());
        let id = id.and_then(|id| u32::try_from(*id.first()?).ok()).unwrap_or(0);
        wanted.insert(variable.name(), id);
    }
    for (name, id) in given {
        if file.header().variable(name).is_none() {
            return Err(file.error(BuildError::NoVariable { name: name.clone() }));
        }
        wanted.insert(name, *id);
    }
    let shapes: Vec<_> = map.decompositions().iter().map(|of| of.dims()).collect();
    let mut dimids: Vec<Option<Vec<u64>>> = vec![None; shapes.len()];
    let of = |variable: Variable<'_>| -> Result<Option<usize>, BuildError> {
        let (name, (_, shape)) = (|| variable.name().into(), dims(variable));
        let fitting = || shapes.iter().enumerate().filter(|(_, dims)| **dims == shape);
        match wanted.get(variable.name()) {
            Some(0) => Ok(None),
            Some(&id) => {
                let index = usize::try_from(id).ok().and_then(|id| id.checked_sub(1));
                let count = shapes.len();
                let none = || BuildError::NoDecomposition { name: name(), id, count };
                let dims = *index.and_then(|index| shapes.get(index)).ok_or_else(none)?;
                let (shape, dims) = (shape.into(), dims.into());
                match shape == dims {
                    true => Ok(index),
                    false => Err(BuildError::NotOfShape { name: name(), shape, id, dims }),
                }
            }
            None => {
                let mut fitting = fitting().map(|(index, _)| index);
                match (fitting.next(), fitting.next()) {
                    (Some(one), Some(other)) => {
                        let id = |index: usize| {
                            u32::try_from(index.saturating_add(1)).unwrap_or(u32::MAX)
                        };
                        let ids = [id(one), id(other)];
                        Err(BuildError::Ambiguous { name: name(), ids })
                    }
                    (one, _) => Ok(one),
                }
            }
        }
    };
    let mut variables = Vec::new();
    for variable in file.header().variables() {
        let index = of(variable).map_err(|error| file.error(error))?;
        if let Some(dimids) = index.and_then(|index| dimids.get_mut(index)) {
            dimids.get_or_insert_with(|| dims(variable).0.to_vec());
        }
        variables.push(index);
    }
    let dimids = (1_u32..).zip(dimids).zip(shapes).map(|((id, dimids), shape)| {
        let like = like.as_ref().and_then(|like| dimids_like(like, id, file, shape));
        let dimids = like.or(dimids).or_else(|| dimids_of_shape(file, shape));
        dimids.ok_or_else(|| file.error(BuildError::WhichDims { id, dims: shape.into() }))
    });
    Ok(Assigned { variables, dimids: dimids.collect::<Result<_, _>>()? })
}

/// The header, if it says of any variable that it is decomposed.
fn decomposed(path: &Path, header: Header) -> Result<Header, Error> {
    let is_any = header.variables().any(|one| one.attribute(DECOMPOSITION_ID).is_some());
    if is_any { Ok(header) } else { Err(Error::new(path, BuildError::NothingDecomposed)) }
}

/// The dimensions that a decomposition has in a set, if they have these lengths here.
fn dimids_like(like: &Header, id: u32, file: &File, shape: &[u64]) -> Option<Vec<u64>> {
    let nreqs = like.variable(&format!("D{id}.nreqs"))?;
    let dimids = nreqs.attribute(GLOBAL_DIMIDS)?.values().integers()?;
    let dimids: Vec<_> = dimids.into_iter().map(u64::try_from).collect::<Result<_, _>>().ok()?;
    let lengths = dimids.iter().map(|&dimid| file.header().dim(dimid).map(|dim| dim.length));
    lengths.eq(shape.iter().map(|&length| Some(length))).then_some(dimids)
}

/// The dimensions of a decomposition that no variable has: those of the first variable of this
/// shape; else the first ones of these lengths, each once if there are enough. Which of several it
/// is changes no element.
fn dimids_of_shape(file: &File, shape: &[u64]) -> Option<Vec<u64>> {
    let of_shape = |variable: &Variable<'_>| dims(*variable).1 == shape;
    if let Some(first) = file.header().variables().find(of_shape) {
        return Some(dims(first).0.to_vec());
    }
    let mut dimids: Vec<u64> = Vec::new();
    for &length in shape {
        let dims = (0..).zip(file.header().dims()).filter(|(_, dim)| !dim.is_record);
        let of_length = dims.filter(|(_, dim)| dim.length == length).map(|(dimid, _)| dimid);
        let of_length: Vec<u64> = of_length.collect();
        let new = of_length.iter().find(|dimid| !dimids.contains(dimid));
        let dimid = *new.or(of_length.first())?;
        dimids.push(dimid);
    }
    Some(dimids)
}

/// The file that has the header of a set or of one of its subfiles.
pub(super) fn header_path(path: &Path) -> PathBuf {
    first_subfile(path).unwrap_or_else(|| path.into())
}

/// The header of a set or of one of its subfiles.
fn header_of(path: &Path) -> Result<Header, Error> {
    let path = header_path(path);
    let path = path.as_path();
    let file = PosixFile::open(path).map_err(|error| Error::new(path, error))?;
    match container(&file).map_err(|error| Error::new(path, error))? {
        Container::Cdf => Ok(File::open(path)?.header().clone()),
        Container::Hdf5 => Ok(Head::read(&file).map_err(|error| Error::new(path, error))?.header),
    }
}
