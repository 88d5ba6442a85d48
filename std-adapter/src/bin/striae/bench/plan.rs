//! The spans to read, and their order.

use super::args::{ReadArgs, Sizes};
use striae_core::span::Span;
use striae_core::store::usize_to_u64;

/// Pseudorandom numbers (SplitMix64): a seed always gives the same numbers.
pub(super) struct Random(u64);

impl Random {
    /// The generator for one turn.
    pub(super) fn of_turn(args: &ReadArgs, turn: u32) -> Self {
        let mut random = Self(args.seed);
        let seed = random.next().wrapping_add(turn.into());
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `least` to `most`, inclusive.
    fn between(&mut self, least: u64, most: u64) -> u64 {
        let count = most.saturating_sub(least).saturating_add(1);
        least.saturating_add(self.next().checked_rem(count).unwrap_or(0))
    }

    /// Puts items into random order.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            let other = self.between(0, usize_to_u64(at));
            items.swap(at, usize::try_from(other).unwrap_or(0));
        }
    }

    /// The spans of a turn. All are within the file.
    pub(super) fn spans(&mut self, args: &ReadArgs, file_len: u64) -> Vec<Span> {
        let (Sizes { min, max }, mut next) = (args.size, 0);
        let spans = (0..args.count.get()).filter_map(|_| {
            let len = self.between(min, max).min(file_len);
            let last = file_len.saturating_sub(len);
            let offset = match args.sequential {
                true if next <= last => next,
                true => 0, // from the start again
                false => {
                    let offset = self.between(0, last);
                    let past = args.align.and_then(|align| offset.checked_rem(align));
                    offset.saturating_sub(past.unwrap_or(0))
                }
            };
            next = offset.saturating_add(len);
            Span::new(offset, len)
        });
        spans.collect()
    }
}
