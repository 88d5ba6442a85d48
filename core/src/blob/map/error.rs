//! Errors of decomposition maps.

use crate::error::errors;
use crate::words::words;
use core::num::NonZeroU32;

words! {
    /// What is wrong with a text map.
    #[non_exhaustive]
    pub enum Flaw;
    /// There is a word where `version`, `npes` or `ndims` must be, or another one.
    Word => "another word must be here";
    /// There is no number where one must be.
    NoNumber => "a number must be here";
    /// A number exceeds 64 bits.
    Large => "the number is too large";
    /// The line ends before all its numbers.
    Short => "the line ends before all its numbers";
    /// The line has more numbers than it says.
    Long => "the line has too many numbers";
    /// The file ends before the last line that there must be.
    Cut => "the file is cut";
    /// The array has no dimensions.
    NoDims => "the array has no dimensions";
    /// The rank is not less than `npes`. The parser can go on.
    NoRank => "the rank is not less than npes";
    /// The rank is not larger than the one before. The parser can go on.
    RankOrder => "the rank is not larger than the one before";
}

/// A variable or dimension of a netCDF map, after `Dk.`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Column {
    /// `nreqs`: for each rank the number of requests.
    Nreqs,
    /// `fill_starts`: for each rank the number of requests before those that fill holes.
    FillStarts,
    /// `offsets`: for each request its first element.
    Offsets,
    /// `lengths`: for each request the number of elements.
    Lengths,
    /// `dims`: the lengths of the array's dimensions, an attribute of the file.
    Dims,
}

impl Column {
    /// The end of the name.
    #[must_use]
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Nreqs => "nreqs",
            Self::FillStarts => "fill_starts",
            Self::Offsets => "offsets",
            Self::Lengths => "lengths",
            Self::Dims => "dims",
        }
    }
}

errors! {
    /// Why a map cannot be read.
    pub enum Error;

    /// A text map is wrong.
    file Text {
        /// The line, from 1.
        line: u64,
        /// The offset of the wrong bytes.
        offset: u64,
        /// What is wrong.
        flaw: Flaw,
    } => "map: line {line}, offset {offset}: {flaw}";

    /// A netCDF map lacks a variable or attribute, or it has the wrong type or shape.
    file Column {
        id: NonZeroU32,
        /// The variable or attribute.
        column: Column,
    } => "map: D{id}.{} is missing, or of a wrong kind", column.suffix();

    /// A value for a rank is wrong.
    file Rank {
        id: NonZeroU32,
        /// Which value.
        column: Column,
        rank: u64,
        value: i64,
    } => "map: D{id}.{} of rank {rank} is {value}, which is wrong", column.suffix();

    /// There are fewer requests than the ranks have together.
    file Total {
        id: NonZeroU32,
        /// The rank whose requests are not there.
        rank: u64,
        /// The end of its requests.
        end: u64,
        /// The number of requests.
        total: u64,
    } => "map: the requests of rank {rank} in D{id} end at {end}, there are {total} requests";

    /// The array of a decomposition has no elements, or more than 2^64 - 1.
    file Grid { id: NonZeroU32 } => "map: the array of D{id} is empty or too large";

    /// A map cannot have decompositions for different numbers of ranks.
    caller Nprocs {
        id: NonZeroU32,
        nprocs: u64,
        /// That of the decompositions before.
        expected: u64,
    } => "map: D{id} is for {nprocs} ranks, those before are for {expected}";

    /// A netCDF map cannot be for no ranks.
    caller NoRanks => "map: there are no ranks, and a netCDF map has at least one";

    /// A number is too large for a netCDF map.
    caller TooLarge { value: u64, max: u64 } =>
        "map: {value} is too large for a netCDF map, must be at most {max}";

    /// The file is not a netCDF map.
    file NotMap => "map: the file has no dimension num_decomp";

    /// The header of the file cannot be read.
    inner Cdf(error: crate::cdf::Error) => "{error}";
}

const _: () = assert!(size_of::<Error>() <= 40);

impl From<crate::cdf::Error> for Error {
    fn from(error: crate::cdf::Error) -> Self {
        Self::Cdf(error)
    }
}
