//! Collective operations of the ranks of a parallel program.
//!
//! Each rank passes its value, or the reason why it has none, to a collective. So no rank returns
//! between two collectives because of its own error: the error is an argument of the next
//! collective, and all ranks get it.

/// The reason of a rank for having no value, as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code(pub u32);

/// The reason why a collective has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A rank had no value: the lowest such rank and its reason. All ranks are in step and may
    /// continue.
    Rank {
        /// The rank.
        rank: u32,
        /// The reason.
        code: Code,
    },
    /// A rank is gone. All later collectives fail.
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

/// The value that a rank passes to a collective.
pub type Mine<const N: usize> = Result<[u64; N], Code>;

/// The result of a collective on all ranks.
pub type All<const N: usize> = Result<[u64; N], Fault>;

/// The function that combines the values of all ranks: maximum, sum, exclusive or.
pub type Fold = fn(u64, u64) -> u64;

/// The ranks of a parallel program, as seen by one of them. All ranks call the same methods in the
/// same order, and all get the same fault.
pub trait Collective {
    /// This rank, counted from 0.
    fn rank(&self) -> u32;

    /// Number of ranks.
    fn size(&self) -> u32;

    /// The combined values of all ranks.
    ///
    /// # Errors
    /// [`Fault`] if a rank had no value or is gone.
    fn agree<const N: usize>(&self, mine: Mine<N>, fold: Fold) -> All<N>;

    /// The sum of the values of all lower ranks, and the sum of all.
    ///
    /// # Errors
    /// [`Fault`]; if a sum overflows `u64`, the fault names the rank where it overflows.
    fn exscan(&self, mine: Result<u64, Code>) -> Result<(u64, u64), Fault>;

    /// Agrees on the values, then rank 0 alone runs `work`, and all ranks get its result. After a
    /// fault `work` is not run.
    ///
    /// # Errors
    /// [`Fault`] if a rank had no value or is gone.
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
