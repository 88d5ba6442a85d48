//! Errors of new sets.

use crate::shown::Shown;
use striae_core::blob::map::Request;
use striae_core::texts;

texts! {
    /// Why a set cannot be made.
    #[derive(Debug, Clone, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum BuildError;

    /// Requests or subfiles are not given for as many ranks as there are.
    Ranks {
        /// The number of ranks given.
        given: usize,
        nprocs: u32,
    } => "{given} processes are given, the set has {nprocs}";
    /// A subfile would have no rank.
    NoRank { subfile: u32 } => "subfile {subfile} would have no process";
    /// There are more subfiles than ranks.
    Subfiles {
        /// The number of subfiles.
        given: u32,
        nprocs: u32,
    } => "the set cannot have {given} subfiles: each needs a process, of {nprocs}";
    /// The dimensions of a decomposition are not dimensions of the definition with a fixed length.
    Dims { id: u32 } => "decomposition {id}: its dimensions do not have fixed lengths";
    /// A set cannot have so many ranks.
    Processes {
        nprocs: u32,
        /// The most that it can have.
        most: u64,
    } => "the set cannot have {nprocs} processes, at most {most}";
    /// A request is not inside the array, or cannot be stored.
    Outside { id: u32, rank: u32, request: Request, total: u64 } =>
        "decomposition {id}, process {rank}: {} elements from {} are not in the array of {total}, \
         or cannot be stored", request.len, request.offset;
    /// Two requests of a rank overlap.
    Overlap {
        id: u32,
        rank: u32,
        /// The first element that both have.
        offset: u64,
    } => "decomposition {id}, process {rank}: two requests have element {offset}";
    /// An HDF5 set needs the number of records when it is made.
    NoRecords => "an HDF5 set needs the number of records";
    /// The set would be larger than any file.
    Size => "would be larger than any file";
    /// The set has another number of ranks.
    NoSuchRank { rank: u32, nprocs: u32 } => "there is no process {rank}, the set has {nprocs}";
    /// The set has fewer records.
    Record { name: Box<str>, record: u64, records: u64 } =>
        "variable {}: there is no record {record} of {records}", shown(name);
    /// A record that the set had before, or a variable without records, is not written again.
    Stored { name: Box<str>, record: u64 } =>
        "variable {}: record {record} is in the set already", shown(name);
    /// Records are not appended to a process-centric set: they are inside the blobs, and all later
    /// blobs would have to be moved.
    ProcessCentric =>
        "records cannot be appended to HDF5 sets: they are inside the blobs, and all later blobs \
         would have to be moved";
    /// The ranks of the blobs are not those of the set.
    WorldRanks => "the attribute world_ranks is wrong";
    /// The file to be appended is not of the arrays of the set: a variable is another, or only one
    /// of them has it.
    Differs { name: Box<str> } =>
        "variable {}: the set and the file do not both have it in the same place, with the same \
         type, and dimensions of the same names and lengths", shown(name);
    /// A variable that is not decomposed is written by the first rank of a subfile only.
    NotFirst { name: Box<str>, rank: u32 } =>
        "variable {} is not decomposed: process {rank} does not write it", shown(name);
    /// A rank has not written all its elements.
    Incomplete { name: Box<str>, record: u64, rank: u32 } =>
        "process {rank} has not written record {record} of variable {}", shown(name);
    /// More than one decomposition has the dimensions of a variable.
    Ambiguous {
        name: Box<str>,
        /// Two of the decompositions, from 1.
        ids: [u32; 2],
    } => |f| {
        let (name, [one, other]) = (shown(name), ids);
        write!(
            f,
            "variable {name}: decompositions {one} and {other} have its dimensions, so it must be \
             said which it has"
        )
    };
    /// A variable cannot be decomposed in this way: its dimensions are others.
    NotOfShape {
        name: Box<str>,
        /// The lengths of the variable's dimensions, without that of records.
        shape: Box<[u64]>,
        id: u32,
        /// The lengths of the decomposition's dimensions.
        dims: Box<[u64]>,
    } => "variable {} has {} elements, decomposition {id} has {}", shown(name), by(shape), by(dims);
    /// The map does not have the decomposition of a variable.
    NoDecomposition { name: Box<str>, id: u32, count: usize } =>
        "variable {}: there is no decomposition {id}, the map has {count}", shown(name);
    /// The netCDF file does not have a variable that is to get a decomposition.
    NoVariable { name: Box<str> } => "there is no variable {}", shown(name);
    /// The file that is to say the decompositions of variables says none.
    NothingDecomposed => "is no file of a blob set: no variable has a decomposition";
    /// It is not clear which dimensions of the file are those of a decomposition.
    WhichDims {
        id: u32,
        /// The lengths of its dimensions.
        dims: Box<[u64]>,
    } => "decomposition {id} has {} elements, no dimensions have these lengths", by(dims);
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
