//! The tree of the ranks: who sends to whom in a collective.
//!
//! A rank is a number to the base 16, and its parent is the number without its last digit that is
//! not 0. So up to 16 ranks send to rank 0; and the ranks of a subtree follow each other, as those
//! of a scan must.

/// The base of the numbers.
const BASE: u32 = 16;

/// A tree of so many ranks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tree(pub(super) u32);

impl Tree {
    /// The rank that gets the words of this one; none for rank 0.
    pub(super) fn parent(rank: u32) -> Option<u32> {
        let unit = unit_of(rank)?;
        let digit = rank.checked_div(unit)?.checked_rem(BASE)?;
        rank.checked_sub(digit.checked_mul(unit)?)
    }

    /// The ranks whose words this one gets, in order, each with the end of its subtree.
    pub(super) fn children(self, rank: u32) -> impl Iterator<Item = (u32, u32)> {
        let end = unit_of(rank).unwrap_or(u32::MAX);
        let units = std::iter::successors(Some(1_u32), |unit| unit.checked_mul(BASE));
        let units = units.take_while(move |unit| *unit < end);
        units.flat_map(move |unit| {
            let child = move |digit: u32| rank.checked_add(digit.checked_mul(unit)?);
            let children = (1..BASE).map_while(child).take_while(move |child| *child < self.0);
            children.map(move |child| (child, child.saturating_add(unit).min(self.0)))
        })
    }

    /// The number of levels of the ranks from which words may come to this one.
    pub(super) fn height(self, rank: u32) -> u32 {
        let last = self.children(rank).last().and_then(|(child, _)| unit_of(child));
        last.map_or(0, |unit| (unit.trailing_zeros() >> 2).saturating_add(1))
    }
}

/// The value of the last digit that is not 0.
fn unit_of(rank: u32) -> Option<u32> {
    let zeros = rank.trailing_zeros(); // 32 of a 0
    1_u32.checked_shl(zeros & !3)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::arithmetic_side_effects, reason = "a test: a panic fails it")]
mod tests {
    use super::*;

    #[test]
    fn every_rank_has_one_way_to_rank_0_and_subtrees_are_runs() {
        for size in [1, 2, 3, 15, 16, 17, 31, 33, 255, 256, 257, 300, 4097] {
            let tree = Tree(size);
            let mut seen = 1;
            for rank in 0..size {
                let mut next = rank + 1;
                for (child, end) in tree.children(rank) {
                    assert_eq!((child, Tree::parent(child)), (next, Some(rank)));
                    assert!(tree.height(child) < tree.height(rank), "{child} of {size}");
                    (next, seen) = (end, seen + 1);
                }
                let parent = Tree::parent(rank);
                let own = parent.map(|parent| {
                    tree.children(parent).find(|(child, _)| *child == rank).unwrap().1
                });
                assert_eq!(next, own.unwrap_or(size));
            }
            assert_eq!(seen, size);
            assert_eq!(tree.height(0), size.next_power_of_two().trailing_zeros().div_ceil(4));
        }
    }
}
