//! The names that the grammar gives to dimensions, variables and attributes of a subfile.
//!
//! All other dimensions, variables and attributes are those of the canonical file.

use crate::cdf::Type;
use crate::store::copy_front;
use core::fmt;
use core::num::NonZeroU32;

/// Attribute of the file: the number of processes that wrote the set.
pub const GLOBAL_NPROCS: &str = "global_nprocs";
/// Attribute of the file: the number of decompositions.
pub const NUM_DECOMPOSITIONS: &str = "num_decompositions";
/// Attribute of the file: the number of subfiles of the set.
pub const NUM_SUBFILES: &str = "num_subfiles";
/// The attributes of a file that the canonical file does not have, in their order.
pub const FILE_ATTRIBUTES: [&str; 3] = [GLOBAL_NPROCS, NUM_DECOMPOSITIONS, NUM_SUBFILES];

/// Attribute of a file that only striae writes: the rank of the process of each blob. It stands
/// after the canonical attributes.
pub const WORLD_RANKS: &str = "world_ranks";

/// Attribute of a decomposed variable: its decomposition, from 1.
pub const DECOMPOSITION_ID: &str = "decomposition_ID";
/// Attribute of a decomposed variable: the numbers of its canonical dimensions. Attribute of
/// `Dk.nreqs`: those of the decomposition, which has no record dimension.
pub const GLOBAL_DIMIDS: &str = "global_dimids";
/// The attributes of a variable that the canonical file does not have, in their order.
pub const VARIABLE_ATTRIBUTES: [&str; 2] = [DECOMPOSITION_ID, GLOBAL_DIMIDS];

/// Attribute of the variables of a decomposition: its meaning in words.
pub const DESCRIPTION: &str = "description";

/// Ending of the dimensions that a CDF-5 subfile cannot store with length 0: they have length 1,
/// and `Dk.nreqs` has an attribute of this name with the length 0 (`spec/blob.md#empty`).
pub const EMPTY: [Part; 2] = [Part::Nelems, Part::MaxNreqs];

/// A thing that each decomposition has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Part {
    /// Variable: for each blob the number of its requests.
    Nreqs,
    /// Variable: for each blob the number of elements of the blobs before it.
    BlobStart,
    /// Variable: for each blob the number of its elements.
    BlobCount,
    /// Variable: for each blob the offsets of its requests in the flattened canonical array.
    Offsets,
    /// Variable: for each blob the lengths of its requests.
    Lengths,
    /// Dimension: the number of elements of all blobs.
    Nelems,
    /// Dimension: the largest number of requests of a blob.
    MaxNreqs,
}

/// How the variable of a [`Part`] is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// The type that E3SM-IO gives to the values.
    pub nc_type: Type,
    /// Whether the dimensions are `nblobs` and `Dk.max_nreqs`; else only `nblobs`.
    pub per_request: bool,
    /// The text of the attribute `description`.
    pub description: &'static str,
}

/// Name and storage of each part: variables in definition order, then dimensions.
const ROWS: [(Part, &str, Option<Stored>); 7] = {
    const fn of(nc_type: Type, per_request: bool, description: &'static str) -> Option<Stored> {
        Some(Stored { nc_type, per_request, description })
    }
    [
        (
            Part::Nreqs,
            "nreqs",
            of(Type::Int, false, "Number of noncontiguous requests in individual blobs"),
        ),
        (
            Part::BlobStart,
            "blob_start",
            of(
                Type::Int64,
                false,
                "Starting array indices of individual blobs stored in a variable",
            ),
        ),
        (
            Part::BlobCount,
            "blob_count",
            of(
                Type::Int64,
                false,
                "Number of contiguous array elements in individual blobs stored in a variable",
            ),
        ),
        (
            Part::Offsets,
            "offsets",
            of(
                Type::Int,
                true,
                "Starting indices of flattened canonical noncontiguous requests of individual \
                 blobs",
            ),
        ),
        (
            Part::Lengths,
            "lengths",
            of(
                Type::Int,
                true,
                "Number of elements of flattened canonical noncontiguous requests of individual \
                 blobs",
            ),
        ),
        (Part::Nelems, "nelems", None),
        (Part::MaxNreqs, "max_nreqs", None),
    ]
};

impl Part {
    /// All parts: variables, then dimensions.
    pub(super) const ALL: [Self; 7] = [
        Self::Nreqs,
        Self::BlobStart,
        Self::BlobCount,
        Self::Offsets,
        Self::Lengths,
        Self::Nelems,
        Self::MaxNreqs,
    ];

    /// The variables of a decomposition, in definition order.
    pub const VARIABLES: [Self; 5] =
        [Self::Nreqs, Self::BlobStart, Self::BlobCount, Self::Offsets, Self::Lengths];

    const fn row(self) -> &'static (Self, &'static str, Option<Stored>) {
        let [nreqs, start, count, offsets, lengths, nelems, max_nreqs] = &ROWS;
        match self {
            Self::Nreqs => nreqs,
            Self::BlobStart => start,
            Self::BlobCount => count,
            Self::Offsets => offsets,
            Self::Lengths => lengths,
            Self::Nelems => nelems,
            Self::MaxNreqs => max_nreqs,
        }
    }

    /// The end of the name, after `Dk.`.
    #[must_use]
    pub const fn suffix(self) -> &'static str {
        self.row().1
    }

    /// How it is stored; `None` for a dimension.
    #[must_use]
    pub const fn stored(self) -> Option<Stored> {
        self.row().2
    }
}

/// A name of the grammar.
///
/// ```
/// use striae_core::blob::{Name, Part};
///
/// let name = Name::parse(b"D12.blob_count").unwrap();
/// assert!(matches!(name, Name::Of { id, part: Part::BlobCount } if id.get() == 12));
/// assert_eq!(Name::parse(b"CLOUD"), None); // of the canonical file
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Name {
    /// Dimension `nblobs`: the number of blobs of the subfile.
    Nblobs,
    /// `Dk.` and the name of a part.
    Of {
        /// The number of the decomposition, from 1: `k`.
        id: NonZeroU32,
        /// The part.
        part: Part,
    },
}

pub(super) const NBLOBS: &str = "nblobs";

impl Name {
    /// The meaning of a name; `None` for the name of something canonical. A name with an `id`
    /// greater than `num_decompositions` is canonical, too.
    #[must_use]
    pub fn parse(name: &[u8]) -> Option<Self> {
        if name == NBLOBS.as_bytes() {
            return Some(Self::Nblobs);
        }
        let rest = name.strip_prefix(b"D")?;
        let dot = rest.iter().position(|&byte| byte == b'.')?;
        let (digits, suffix) = (rest.get(..dot)?, rest.get(dot..)?.strip_prefix(b".")?);
        if digits.first() == Some(&b'0') {
            return None;
        }
        let id = digits.iter().try_fold(0_u32, |id, digit| {
            let digit = Some(digit).filter(|digit| digit.is_ascii_digit())?.checked_sub(b'0')?;
            id.checked_mul(10)?.checked_add(digit.into())
        })?;
        let &(part, ..) = ROWS.iter().find(|row| row.1.as_bytes() == suffix)?;
        Some(Self::Of { id: NonZeroU32::new(id)?, part })
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nblobs => f.write_str(NBLOBS),
            Self::Of { id, part } => write!(f, "D{id}.{}", part.suffix()),
        }
    }
}

/// A name, such as `D3.fill_starts`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Named {
    bytes: [u8; 24],
    len: usize,
}

impl Named {
    pub(super) const EMPTY: Self = Self { bytes: [0; 24], len: 0 };

    pub(super) fn new(id: NonZeroU32, suffix: &str) -> Self {
        let mut name = Self::EMPTY;
        name.put(b"D");
        let mut weight = 1_000_000_000_u32;
        while weight > 0 {
            if weight <= id.get() {
                let digit = id.get().checked_div(weight).unwrap_or(0) % 10;
                name.put(&[b'0'.saturating_add(u8::try_from(digit).unwrap_or(0))]);
            }
            weight /= 10;
        }
        name.put(b".");
        name.put(suffix.as_bytes());
        name
    }

    fn put(&mut self, bytes: &[u8]) {
        let place = self.bytes.get_mut(self.len..).unwrap_or_default();
        self.len = self.len.saturating_add(copy_front(bytes, place));
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    pub(super) fn as_str(&self) -> &str {
        core::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn a_name_reads_as_it_is_written() {
        assert_eq!(Name::parse(b"nblobs"), Some(Name::Nblobs));
        for (part, suffix, _) in ROWS {
            assert_eq!(part.suffix(), suffix);
            for id in [1, 9, 10, u32::MAX] {
                let name = Name::Of { id: NonZeroU32::new(id).unwrap(), part };
                assert_eq!(Name::parse(name.to_string().as_bytes()), Some(name));
            }
        }
        for part in Part::VARIABLES {
            assert!(part.stored().is_some());
        }
        for part in EMPTY {
            assert!(part.stored().is_none());
        }
    }

    #[test]
    fn other_names_are_canonical() {
        for name in [
            &b""[..],
            b"D",
            b"D1",
            b"D1.",
            b".nreqs",
            b"D.nreqs",
            b"D0.nreqs",
            b"D01.nreqs",
            b"D+1.nreqs",
            b"D1.nreqs2",
            b"d1.nreqs",
            b"D4294967296.nreqs",
            b"nblobs2",
            b"D1.total_nreqs",
        ] {
            assert_eq!(Name::parse(name), None, "{name:?}");
        }
    }
}
