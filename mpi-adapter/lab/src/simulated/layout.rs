//! Which ranks run, and for how many each of them stands.

use super::Simulated;

/// One of several parts, and how many equal ones it stands for, itself included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) number: u32,
    pub(super) stands_for: u64,
}

impl Part {
    /// A part that stands for no other.
    pub(super) const ONE: Self = Self { number: 0, stands_for: 1 };

    /// The parts that are needed of `count`: the first, one for all between, and the last.
    fn chosen(count: u32, every: bool) -> Vec<Self> {
        let one = |number| Self { number, stands_for: 1 };
        let last = count.saturating_sub(1);
        if every || count <= 3 {
            return (0..count).map(one).collect();
        }
        vec![one(0), Self { number: 1, stands_for: last.saturating_sub(1).into() }, one(last)]
    }
}

/// A rank that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Runner {
    pub(super) rank: u32,
    /// Its rank among those of its file.
    pub(super) local: u32,
    /// Number of ranks of its file.
    pub(super) in_file: u32,
    pub(super) file: Part,
    /// Its node among those of its file.
    pub(super) node: Part,
}

impl Runner {
    /// All that run, in order.
    pub(super) fn all(world: &Simulated) -> Vec<Self> {
        let Simulated { ranks, files, ranks_per_node, every, .. } = *world;
        let files = files.clamp(1, ranks.max(1));
        let (share, last) = (ranks.checked_div(files).unwrap_or(0), files.saturating_sub(1));
        let mut all = Vec::new();
        for file in Part::chosen(files, every) {
            let start = file.number.saturating_mul(share);
            let in_file = if file.number == last { ranks.saturating_sub(start) } else { share };
            for node in Part::chosen(in_file.div_ceil(ranks_per_node.max(1)), every) {
                let first = node.number.saturating_mul(ranks_per_node);
                let end = first.saturating_add(ranks_per_node).min(in_file);
                let runner = |local: u32| {
                    let rank = start.saturating_add(local);
                    Self { rank, local, in_file, file, node }
                };
                all.extend((first..end).map(runner));
            }
        }
        all
    }

    /// How many ranks of the world it stands for.
    pub(super) const fn stands_for(&self) -> u64 {
        self.file.stands_for.saturating_mul(self.node.stands_for)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: a panic fails it")]
mod tests {
    use super::*;

    #[test]
    fn those_that_run_stand_for_all_ranks() {
        for ranks in [1, 2, 7, 128, 129, 1000, 65_536, 1_000_003, 2_000_000_000] {
            for files in [1, 2, 3, 4, 1000] {
                for ranks_per_node in [1, 7, 128] {
                    let world = Simulated::new(ranks).files(files).ranks_per_node(ranks_per_node);
                    let all = Runner::all(&world);
                    let sum: u64 = all.iter().map(Runner::stands_for).sum();
                    assert_eq!(sum, u64::from(ranks), "{world:?}");
                    assert!(all.windows(2).all(|pair| pair[0].rank < pair[1].rank), "{world:?}");
                    assert_eq!(all[0].rank, 0);
                    assert_eq!(all.last().unwrap().rank, ranks - 1);
                }
            }
        }
    }

    #[test]
    fn every_rank_runs_if_it_has_to() {
        let all = Runner::all(&Simulated::new(1003).files(4).ranks_per_node(7).every_rank());
        assert!(all.iter().map(|runner| runner.rank).eq(0..1003));
        assert!(all.iter().all(|runner| runner.stands_for() == 1));
    }
}
