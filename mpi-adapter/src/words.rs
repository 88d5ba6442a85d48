//! What the ranks fold in a collective: their values, and what shows that all make the same call.

use crate::collective::{Fold, MAX_VALUES};
use crate::error::{Code, Failure};
use crate::operation;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The words of a fold, and how each is folded: sixteen `u64`s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct Words {
    /// The call of the lowest of the ranks.
    call: Call,
    /// The call of the lowest rank whose call is another one; its rank is [`NOBODY`] if all make
    /// the same.
    other: Call,
    /// The lowest rank that failed, or [`NONE`].
    failed: u64,
    /// The lowest rank that did not come, as a rank of the first communicator, or [`NONE`].
    lost: u64,
    /// 1 if a sum was too large.
    overflow: u64,
    /// The [`Fold`] of each value, 8 bits each.
    folds: u64,
    values: [u64; MAX_VALUES],
}

/// No rank.
const NONE: u64 = u64::MAX;
const NOBODY: u32 = u32::MAX;

/// The call that a rank makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Call {
    /// The rank in this communicator, and in the first one.
    rank: u32,
    world_rank: u32,
    stamp: Stamp,
}

/// What must be equal at all ranks in a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(crate) struct Stamp {
    /// The number of the [`Operation`](crate::Operation), and the [`Step`] of it.
    pub(crate) operation: u8,
    pub(crate) step: u8,
    /// Collectives on this communicator since the operation began, this one included.
    pub(crate) steps: u16,
    /// Operations on this communicator up to this one.
    pub(crate) operations: u32,
    /// A number of the arguments of the operation that must be equal.
    pub(crate) arguments: u32,
    /// A number of those of the collective: the root, for example.
    pub(crate) detail: u32,
}

/// A kind of collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Step {
    /// A fold for all ranks.
    Combine,
    /// A fold for rank 0, whose answer all ranks get.
    Decide,
    /// Each rank gets the fold of all lower ranks.
    Scan,
    /// Before bytes of one rank go to all.
    Broadcast,
    /// Before the ranks are split.
    Split,
    /// Before the ranks are split by nodes.
    Node,
    /// Before the communicator is given back.
    Free,
}

impl Step {
    /// Whether each rank gets the fold of all lower ranks.
    #[must_use]
    pub const fn is_scan(self) -> bool {
        matches!(self, Self::Scan)
    }

    #[allow(clippy::as_conversions, reason = "the number of a variant, as `repr(u8)` says")]
    pub(crate) const fn number(self) -> u8 {
        self as u8
    }
}

/// What a rank gets of an exchange of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct Folded {
    /// The words of all ranks, folded, and changed by the work of rank 0.
    pub all: Words,
    /// Those of all lower ranks; at rank 0, what it passed. Only of a [scan](Step::is_scan).
    pub before: Words,
}

impl Stamp {
    pub(crate) const NEW: Self =
        Self { operation: 0, step: 0, steps: 0, operations: 0, arguments: 0, detail: 0 };

    /// Whether a call differs from another one in more than arguments.
    const fn is_another_call(self, other: Self) -> bool {
        self.operation != other.operation
            || self.step != other.step
            || self.steps != other.steps
            || self.operations != other.operations
    }
}

impl Words {
    pub(crate) fn new<const N: usize>(
        values: Result<[u64; N], ()>,
        (rank, world_rank): (u32, u32),
        stamp: Stamp,
        folds: [Fold; N],
    ) -> Self {
        const { assert!(N <= MAX_VALUES, "a collective has at most MAX_VALUES values") };
        let failed = if values.is_ok() { NONE } else { rank.into() };
        let folds = folds.iter().rev().fold(0, |folds, fold| folds << 8 | fold.to_byte());
        let call = Call { rank, world_rank, stamp };
        let other = Call { rank: NOBODY, ..call };
        let values = all_of(values.unwrap_or([0; N]));
        Self { failed, lost: NONE, overflow: 0, folds, values, call, other }
    }

    /// Folds the words of other ranks into these.
    pub fn fold(&mut self, other: &Self) {
        self.failed = self.failed.min(other.failed);
        self.lost = self.lost.min(other.lost);
        self.overflow |= other.overflow;
        self.compare(other);
        let mut folds = self.folds;
        for (value, other) in self.values.iter_mut().zip(other.values) {
            match folds & 0xff {
                1 => *value = (*value).max(other),
                2 => *value = (*value).min(other),
                3 => *value ^= other,
                _ => {
                    let sum = value.checked_add(other);
                    self.overflow |= u64::from(sum.is_none());
                    *value = sum.unwrap_or(u64::MAX);
                }
            }
            folds >>= 8;
        }
    }

    /// Finds the lowest rank whose call is not that of the lowest of all. The ranks may be folded
    /// in any order.
    fn compare(&mut self, other: &Self) {
        let (low, high) =
            if self.call.rank <= other.call.rank { (*self, other) } else { (*other, &*self) };
        // Of the higher ones that do not begin as the lower ones do, the first is the lowest.
        let of_high = if high.call.stamp == low.call.stamp { high.other } else { high.call };
        let other = if of_high.rank < low.other.rank { of_high } else { low.other };
        (self.call, self.other) = (low.call, other);
    }

    /// The words of so many ranks that all have these: only sums change.
    #[must_use]
    pub fn times(mut self, ranks: u64) -> Self {
        let mut folds = self.folds;
        for value in &mut self.values {
            if folds & 0xff == Fold::Sum.to_byte() {
                let sum = value.checked_mul(ranks);
                self.overflow |= u64::from(sum.is_none());
                *value = sum.unwrap_or(u64::MAX);
            }
            folds >>= 8;
        }
        self
    }

    /// Whether all ranks came, make the same call, and have values: only then rank 0 does its work.
    #[must_use]
    pub const fn is_agreed(&self) -> bool {
        self.failed == NONE && self.lost == NONE && self.other.rank == NOBODY
    }

    /// A rank did not come; the lowest one is kept.
    #[cfg(feature = "mpi")]
    pub(crate) fn lose(&mut self, world_rank: u32) {
        self.lost = self.lost.min(world_rank.into());
    }

    /// The lowest rank that did not come, as a rank of the first communicator.
    #[cfg(feature = "mpi")]
    pub(crate) fn lost(&self) -> Option<u32> {
        u32::try_from(self.lost).ok()
    }

    /// The answer of rank 0, in place of the values; without one, rank 0 has failed.
    pub(crate) fn answer<const N: usize>(&mut self, values: Option<[u64; N]>) {
        self.overflow = 0;
        match values {
            Some(values) => self.values = all_of(values),
            None => self.failed = 0,
        }
    }

    /// The lowest rank that failed.
    pub(crate) fn failed(&self) -> Option<u32> {
        u32::try_from(self.failed).ok()
    }

    pub(crate) const fn is_overflow(&self) -> bool {
        self.overflow != 0
    }

    pub(crate) fn values<const N: usize>(&self) -> [u64; N] {
        self.values.first_chunk().copied().unwrap_or([0; N]) // N is at most MAX_VALUES
    }

    /// How the calls of the ranks differ. All ranks find the same, without a message.
    ///
    /// A rank that failed may not know its arguments, so its failure counts if the calls differ in
    /// nothing else.
    pub(crate) fn difference(&self) -> Option<Failure> {
        let (mine, other) = (self.call, self.other);
        let is_another_call = other.stamp.is_another_call(mine.stamp);
        if other.rank == NOBODY || self.failed != NONE && !is_another_call {
            return None;
        }
        let (name, first) = (operation::name(mine.stamp.operation), mine.world_rank);
        let text = if mine.stamp.operation != other.stamp.operation {
            let theirs = operation::name(other.stamp.operation);
            format!("this rank calls {theirs}, rank {first} calls {name}: all must call the same")
        } else if is_another_call {
            let [ours, theirs] = [mine, other].map(|Call { stamp, .. }| stamp.operations);
            let [our_step, their_step] = [mine, other].map(|Call { stamp, .. }| stamp.steps);
            format!(
                "this rank is in step {their_step} of operation {theirs} on this communicator, \
                 rank {first} in step {our_step} of operation {ours}, {name}: all must make the \
                 same calls"
            )
        } else {
            format!(
                "this rank passed other arguments than rank {first} to {name}: they must be equal"
            )
        };
        Some(Failure::new(Code::Differ, text).at(Some(other.world_rank)))
    }
}

fn all_of<const N: usize>(values: [u64; N]) -> [u64; MAX_VALUES] {
    let mut all = [0; MAX_VALUES];
    all.iter_mut().zip(values).for_each(|(to, value)| *to = value);
    all
}

impl Fold {
    const fn to_byte(self) -> u64 {
        match self {
            Self::Sum => 0,
            Self::Max => 1,
            Self::Min => 2,
            Self::Xor => 3,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: a panic fails it")]
mod tests {
    use super::*;
    use crate::error::Error;

    /// Words of a rank with these arguments.
    fn words(rank: u32, arguments: u32) -> Words {
        Words::new(Ok([1]), (rank, rank), Stamp { arguments, ..Stamp::NEW }, [Fold::Sum])
    }

    #[test]
    fn any_order_of_folds_finds_the_lowest_rank_that_differs() {
        // Every choice of one of three arguments by five ranks, folded in every order of a tree.
        for choice in 0..3_u32.pow(5) {
            let arguments: Vec<u32> = (0..5).map(|rank| choice / 3_u32.pow(rank) % 3).collect();
            let all: Vec<Words> =
                (0..).zip(&arguments).map(|(rank, it)| words(rank, *it)).collect();
            let lowest = arguments.iter().position(|it| *it != arguments[0]);
            for order in 0..120 {
                let (mut left, mut rest, mut order) = (all.clone(), Vec::new(), order);
                for len in (1..=5).rev() {
                    rest.push(left.remove(order % len));
                    order /= len;
                }
                for cut in 1..5 {
                    let fold = |some: &[Words]| {
                        some.iter().copied().reduce(|mut sum, it| {
                            sum.fold(&it);
                            sum
                        })
                    };
                    let (mut sum, high) =
                        (fold(&rest[..cut]).unwrap(), fold(&rest[cut..]).unwrap());
                    sum.fold(&high);
                    let found = sum.difference().and_then(|failure| Error::agreed(failure).rank());
                    assert_eq!(found.map(|rank| usize::try_from(rank).unwrap()), lowest);
                    assert_eq!((sum.values(), sum.is_agreed()), ([5], lowest.is_none()));
                }
            }
        }
    }
}
