//! How long everything takes, and how many messages it is.

/// A time, in units of which sums are exact.
pub type Picoseconds = u64;

/// How long everything takes. Each of its numbers is an assumption.
///
/// - A tree of P ranks is ceil(log2 P) deep. A reduction to one rank, a scan, and the distribution
///   of bytes take a hop for each level; a reduction for all ranks takes two. The split of a
///   communicator takes two as well, and every rank gets 8 bytes of every other one, as MPI
///   libraries do it. All ranks leave when the last does.
/// - A message of its own takes a hop, and the receiver takes its bytes one after another.
/// - Files are opened one after another, in the order in which ranks ask for it. Those that ask at
///   the same moment all go on when the last of them has its file.
/// - A rank writes and reads alone, at a speed that no other rank changes.
///
/// A later version may add fields: end a literal with `..Default::default()`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Model {
    /// From one node to another.
    pub hop: Picoseconds,
    /// For a byte on a link.
    pub link_byte: Picoseconds,
    /// For a byte that a rank writes or reads.
    pub file_byte: Picoseconds,
    /// For an open, by the one server of all ranks.
    pub open: Picoseconds,
    /// For a sync.
    pub sync: Picoseconds,
}

impl Default for Model {
    fn default() -> Self {
        Self::new()
    }
}

impl Model {
    /// 1.5 microseconds a hop, 10 GB/s a link, 2 GB/s a writer, 50 000 opens a second, 1
    /// millisecond a sync.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            hop: 1_500_000,
            link_byte: 100,
            file_byte: 500,
            open: 20_000_000,
            sync: 1_000_000_000,
        }
    }

    pub(super) fn cost(&self, kind: Kind, ranks: u32, bytes: u64) -> Cost {
        let depth = u64::from(ranks.max(1).next_power_of_two().trailing_zeros());
        let messages = match kind {
            Kind::Reduce | Kind::Exscan | Kind::Bcast => depth,
            Kind::Allreduce | Kind::Split => depth.saturating_mul(2),
        };
        let hops = messages.saturating_mul(self.hop);
        let bytes = match kind {
            Kind::Split => u64::from(ranks).saturating_mul(8),
            _ => messages.saturating_mul(bytes),
        };
        let time = hops.saturating_add(bytes.saturating_mul(self.link_byte));
        Cost { time, messages, bytes }
    }
}

/// A collective of the message layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Allreduce,
    Reduce,
    Exscan,
    Bcast,
    Split,
}

/// What a collective takes, at the rank that has most to do in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cost {
    pub(super) time: Picoseconds,
    pub(super) messages: u64,
    pub(super) bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_of_a_million_ranks_is_20_hops_deep() {
        let model = Model::new();
        let cost = model.cost(Kind::Allreduce, 1_000_000, 0);
        assert_eq!((cost.time, cost.messages), (60_000_000, 40)); // 60 us
        assert_eq!(model.cost(Kind::Bcast, 1 << 20, 8).bytes, 160);
        assert_eq!(model.cost(Kind::Bcast, (1 << 20) + 1, 8).bytes, 168);
        assert_eq!(model.cost(Kind::Reduce, 1, 72).time, 0);
        assert_eq!(model.cost(Kind::Split, 1_000_000, 0).bytes, 8_000_000);
    }
}
