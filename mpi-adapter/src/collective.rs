//! Ranks that agree.
//!
//! A collective takes what a rank has, or why it has nothing. So no rank returns between two
//! collectives because of an error of its own: the error is an argument of the next one and reaches
//! all ranks alike.

/// A rank's own reason for having nothing, as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code(pub u32);

/// Why a collective has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The lowest rank that had a reason, and its reason. All ranks are in step and may go on.
    Rank {
        /// The rank.
        rank: u32,
        /// Its reason.
        code: Code,
    },
    /// A rank is gone. No collective will succeed from now on.
    Lost {
        /// The rank.
        rank: u32,
    },
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Rank { rank, code: Code(code) } => {
                write!(f, "rank {rank} failed with code {code}")
            }
            Self::Lost { rank } => write!(f, "rank {rank} is gone"),
        }
    }
}

impl std::error::Error for Fault {}

/// What a rank has.
pub type Mine<const N: usize> = Result<[u64; N], Code>;

/// What all ranks get.
pub type All<const N: usize> = Result<[u64; N], Fault>;

/// How the values of all ranks become one: maximum, sum, exclusive or.
pub type Fold = fn(u64, u64) -> u64;

/// The ranks of a parallel program, as one of them sees them. All call the same methods in the same
/// order, and all get the same fault.
pub trait Collective {
    /// This rank, counted from 0.
    fn rank(&self) -> u32;

    /// Number of ranks.
    fn size(&self) -> u32;

    /// The values of all ranks, folded.
    ///
    /// # Errors
    /// [`Fault`].
    fn agree<const N: usize>(&self, mine: Mine<N>, fold: Fold) -> All<N>;

    /// The sum of the values of all lower ranks, and that of all.
    ///
    /// # Errors
    /// [`Fault`]; a sum that is no `u64` is the fault of the rank where it overflows.
    fn exscan(&self, mine: Result<u64, Code>) -> Result<(u64, u64), Fault>;

    /// Agrees, then rank 0 alone does `work`, and all get its answer. After a fault nothing is
    /// done.
    ///
    /// # Errors
    /// [`Fault`].
    fn decide<const N: usize, const M: usize>(
        &self,
        mine: Mine<N>,
        fold: Fold,
        work: impl FnOnce([u64; N]) -> [u64; M],
    ) -> All<M>;
}

impl<C: Collective> Collective for &C {
    fn rank(&self) -> u32 {
        (**self).rank()
    }

    fn size(&self) -> u32 {
        (**self).size()
    }

    fn agree<const N: usize>(&self, mine: Mine<N>, fold: Fold) -> All<N> {
        (**self).agree(mine, fold)
    }

    fn exscan(&self, mine: Result<u64, Code>) -> Result<(u64, u64), Fault> {
        (**self).exscan(mine)
    }

    fn decide<const N: usize, const M: usize>(
        &self,
        mine: Mine<N>,
        fold: Fold,
        work: impl FnOnce([u64; N]) -> [u64; M],
    ) -> All<M> {
        (**self).decide(mine, fold, work)
    }
}
