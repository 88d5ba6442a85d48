//! The reasons for the words of a recovery.

use crate::certainty;
use striae_core::cdf::Version;
use striae_core::texts;

/// How certain the values of a variable are, or the number of records.
pub type Certainty = certainty::Certainty<Proof, Doubt, Loss>;

texts! {
    /// What proves a structure.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Proof;

    /// The header says it, and the file has the values at their place.
    Header => "as the header says";
    /// The header leaves it to the length of the file.
    Length => "as the length of the file says";
}

texts! {
    /// Why values may be wrong.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Doubt;

    /// They have bytes in common with something else: the number of a variable; `None` for the
    /// records.
    Overlap(other: Option<u64>) => |f| {
        match other {
            Some(other) => write!(f, "it has bytes in common with variable {other}"),
            None => f.write_str("it has bytes in common with the records"),
        }
    };
    /// They begin before a variable that is defined before.
    Order {
        /// Where they begin.
        begin: u64,
        /// The end of the variable before.
        min: u64,
    } => "var.begin is {begin}, but the variable before ends at {min}";
    /// A record variable does not begin where the others of a record say; its values are taken from
    /// there.
    Begin {
        /// Where the header says that it begins.
        found: u64,
        /// Where its values are taken from.
        taken: u64,
    } => "var.begin is {found}, but by the other record variables it is {taken}, from where the \
         values are taken";
    /// The size that the header stores for a variable is not that of its type and dimensions: one
    /// of them is damaged. Of several records, all follow from the sizes of all record variables.
    Size {
        /// The number of the variable.
        number: u64,
        /// The size in the header.
        stored: u64,
        /// The size by the type and the dimensions.
        computed: u64,
    } => "var.vsize of variable {number} is {stored}, but by its type and dimensions it must be \
         {computed}";
    /// The number of records in the header is 0, but there are bytes after it.
    Uncounted => "header.numrecs is 0; these are the records up to the last byte that is not null";
    /// The distance of two records follows from the length of the file, since not all variables are
    /// known.
    Distance(recsize: u64) => "by the length of the file a record has {recsize} bytes; the \
         damaged header does not prove it";
    /// The distance of two records is not known, since not all variables are known, so that only
    /// one is saved.
    OneRecord => "the damaged header does not say where the next one is; there may be more";
}

texts! {
    /// Why values are lost.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Loss;

    /// The file does not have all of them. What is missing has the fill value in the new file.
    Cut {
        /// The bytes that are missing.
        missing: u64,
        /// The bytes of all values.
        len: u64,
    } => "{missing} of {len} bytes are not in the file; they are fill values now";
    /// They begin inside of the header, which cannot be. They have the fill value in the new file.
    Header {
        /// Where they begin.
        begin: u64,
    } => "var.begin is {begin}, which is inside of the header; its bytes are fill values now";
    /// A file with the variable would be larger than the limit, so the new file does not have it.
    Claimed {
        /// The bytes of all values.
        len: u64,
        /// The bytes of them that are missing.
        missing: u64,
        /// The most bytes of a new file.
        limit: u64,
    } => "by its dimensions it has {len} bytes, {missing} of which are not in the file; the new \
         file has at most {limit}";
    /// The variable is larger than its version of the format allows, or begins too far from the
    /// start. The new file does not have it.
    Large {
        /// The bytes of the values, or of one record.
        len: u64,
        version: Version,
    } => "CDF-{} has no place for its {len} bytes", version.number();
    /// Records that the header counts and the file does not have.
    Records {
        /// The number in the header.
        claimed: u64,
        /// The number of saved records.
        saved: u64,
    } => "header.numrecs is {claimed}, the file has {saved}";
}

impl Loss {
    /// Whether the new file has the variable, with fill values.
    #[must_use]
    pub const fn is_filled(self) -> bool {
        matches!(self, Self::Cut { .. } | Self::Header { .. })
    }
}
