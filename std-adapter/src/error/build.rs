//! Errors of new sets.

use crate::shown::Shown;
use striae_core::blob::map::Request;

/// Why a set cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// Requests or subfiles are not given for as many ranks as there are.
    Ranks {
        /// The number of ranks given.
        given: usize,
        /// The number of ranks.
        nprocs: u32,
    },
    /// A subfile would have no rank.
    NoRank {
        /// The number of the subfile.
        subfile: u32,
    },
    /// There are more subfiles than ranks.
    Subfiles {
        /// The number of subfiles.
        given: u32,
        /// The number of ranks.
        nprocs: u32,
    },
    /// The dimensions of a decomposition are not dimensions of the definition with a fixed length.
    Dims {
        /// The decomposition, from 1.
        id: u32,
    },
    /// A request is not inside the array, or cannot be stored.
    Outside {
        /// The decomposition, from 1.
        id: u32,
        /// The rank.
        rank: u32,
        /// The request.
        request: Request,
        /// The number of elements of the array.
        total: u64,
    },
    /// Two requests of a rank overlap.
    Overlap {
        /// The decomposition, from 1.
        id: u32,
        /// The rank.
        rank: u32,
        /// The first element that both have.
        offset: u64,
    },
    /// An HDF5 set needs the number of records when it is made.
    NoRecords,
    /// The set would be larger than any file.
    Size,
    /// The set has another number of ranks.
    NoSuchRank {
        /// The rank.
        rank: u32,
        /// The number of ranks.
        nprocs: u32,
    },
    /// The set has fewer records.
    Record {
        /// The name of the variable.
        name: Box<str>,
        /// The record.
        record: u64,
        /// The number of records.
        records: u64,
    },
    /// A record that the set had before, or a variable without records, is not written again.
    Stored {
        /// The name of the variable.
        name: Box<str>,
        /// The record.
        record: u64,
    },
    /// Records are not appended to a process-centric set: they are inside the blobs, and all later
    /// blobs would have to be moved.
    ProcessCentric,
    /// The ranks of the blobs are not those of the set.
    WorldRanks,
    /// The file to be appended is not of the arrays of the set.
    Differs {
        /// The name of the variable that is another, or that only one of them has.
        name: Box<str>,
    },
    /// A variable that is not decomposed is written by the first rank of a subfile only.
    NotFirst {
        /// The name of the variable.
        name: Box<str>,
        /// The rank that wrote it.
        rank: u32,
    },
    /// A rank has not written all its elements.
    Incomplete {
        /// The name of the variable.
        name: Box<str>,
        /// The record.
        record: u64,
        /// The rank.
        rank: u32,
    },
    /// More than one decomposition has the dimensions of a variable.
    Ambiguous {
        /// The name of the variable.
        name: Box<str>,
        /// Two of the decompositions, from 1.
        ids: [u32; 2],
    },
    /// A variable cannot be decomposed in this way: its dimensions are others.
    NotOfShape {
        /// The name of the variable.
        name: Box<str>,
        /// The dimensions of the variable, without that of records.
        shape: Box<[u64]>,
        /// The decomposition, from 1.
        id: u32,
        /// The dimensions of the decomposition.
        dims: Box<[u64]>,
    },
    /// The map does not have the decomposition of a variable.
    NoDecomposition {
        /// The name of the variable.
        name: Box<str>,
        /// The decomposition, from 1.
        id: u32,
        /// The number of decompositions.
        count: usize,
    },
    /// The file that is to say the decompositions of variables says none.
    NothingDecomposed,
    /// It is not clear which dimensions of the file are those of a decomposition.
    WhichDims {
        /// The decomposition, from 1.
        id: u32,
        /// The lengths of its dimensions.
        dims: Box<[u64]>,
    },
}

impl std::fmt::Display for BuildError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ranks { given, nprocs } => {
                write!(f, "{given} processes are given, the set has {nprocs}")
            }
            Self::NoRank { subfile } => write!(f, "subfile {subfile} would have no process"),
            Self::Subfiles { given, nprocs } => {
                write!(f, "{given} subfiles cannot be made for {nprocs} processes: each needs one")
            }
            Self::Dims { id } => {
                write!(f, "decomposition {id}: its dimensions do not have fixed lengths")
            }
            Self::Outside { id, rank, request, total } => write!(
                f,
                "decomposition {id}, process {rank}: {} elements from {} are not in the array of \
                 {total}, or cannot be stored",
                request.len, request.offset
            ),
            Self::Overlap { id, rank, offset } => {
                write!(f, "decomposition {id}, process {rank}: two requests have element {offset}")
            }
            Self::NoRecords => f.write_str("an HDF5 set needs the number of records"),
            Self::Size => f.write_str("would be larger than any file"),
            Self::NoSuchRank { rank, nprocs } => {
                write!(f, "there is no process {rank}, the set has {nprocs}")
            }
            Self::Record { name, record, records } => {
                write!(f, "variable {}: there is no record {record} of {records}", shown(name))
            }
            Self::Stored { name, record } => {
                write!(f, "variable {}: record {record} is in the set already", shown(name))
            }
            Self::ProcessCentric => f.write_str(
                "records cannot be appended to HDF5 sets: they are inside the blobs, and all later \
                 blobs would have to be moved",
            ),
            Self::WorldRanks => f.write_str("the attribute world_ranks is wrong"),
            Self::Differs { name } => write!(
                f,
                "variable {}: the set and the file do not both have it in the same place, with the \
                 same type and dimensions",
                shown(name)
            ),
            Self::NotFirst { name, rank } => {
                let name = shown(name);
                write!(f, "variable {name} is not decomposed: process {rank} does not write it")
            }
            Self::Incomplete { name, record, rank } => {
                let name = shown(name);
                write!(f, "process {rank} has not written record {record} of variable {name}")
            }
            _ => self.of_pack(f),
        }
    }
}

impl BuildError {
    /// The text of an error of the assignment of decompositions to variables.
    fn of_pack(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ambiguous { name, ids: [one, other] } => {
                let name = shown(name);
                write!(
                    f,
                    "variable {name}: decompositions {one} and {other} have its dimensions, so it \
                     must be said which it has"
                )
            }
            Self::NotOfShape { name, shape, id, dims } => {
                let (name, shape, dims) = (shown(name), by(shape), by(dims));
                write!(f, "variable {name} has {shape} elements, decomposition {id} has {dims}")
            }
            Self::NoDecomposition { name, id, count } => {
                let name = shown(name);
                write!(f, "variable {name}: there is no decomposition {id}, the map has {count}")
            }
            Self::NothingDecomposed => {
                f.write_str("is no file of a blob set: no variable has a decomposition")
            }
            Self::WhichDims { id, dims } => {
                let dims = by(dims);
                write!(
                    f,
                    "decomposition {id} has {dims} elements, no dimensions have these lengths"
                )
            }
            _ => Ok(()), // never: these have their texts
        }
    }
}

fn shown(name: &str) -> Shown<'_> {
    Shown::new(name.as_bytes())
}

/// The lengths of dimensions: `3 x 4`.
fn by(lengths: &[u64]) -> String {
    let lengths: Vec<_> = lengths.iter().map(u64::to_string).collect();
    if lengths.is_empty() { "1".to_owned() } else { lengths.join(" x ") }
}

impl From<BuildError> for crate::error::ErrorKind {
    fn from(error: BuildError) -> Self {
        Self::Blob(super::blob::ErrorKind::Build(error))
    }
}

#[cfg(test)]
mod tests {
    use super::{BuildError, Request};

    #[test]
    fn errors_call_a_process_a_process() {
        let (name, request) = (Box::<str>::from("heat"), Request { offset: 3, len: 4 });
        let errors = [
            BuildError::Ranks { given: 2, nprocs: 3 },
            BuildError::NoRank { subfile: 1 },
            BuildError::Subfiles { given: 4, nprocs: 3 },
            BuildError::Outside { id: 1, rank: 2, request, total: 5 },
            BuildError::Overlap { id: 1, rank: 2, offset: 4 },
            BuildError::NoSuchRank { rank: 3, nprocs: 3 },
            BuildError::NotFirst { name: name.clone(), rank: 1 },
            BuildError::Incomplete { name, record: 0, rank: 1 },
        ];
        for text in errors.map(|error| error.to_string()) {
            assert!(text.contains("process") && !text.contains("rank"), "{text}");
        }
    }
}
