//! What SIONlib 1.7.6 does, by arithmetic: `spec/scale.md` has the sources.

use super::report::Pattern;
use std::num::Saturating;
use striae_mpi_lab::simulated::Model;

type Number = Saturating<u64>;

const fn n(number: u64) -> Number {
    Saturating(number)
}

/// The collectives of SIONlib on one communicator.
struct Collectives {
    splits: Number,
    barriers: Number,
    bcasts: Number,
    /// Gathers to the root and scatters from it, of 8 bytes a rank.
    tables: Number,
}

const OPEN: Collectives = Collectives { splits: n(1), barriers: n(4), bcasts: n(7), tables: n(4) };
const CLOSE: Collectives = Collectives { splits: n(0), barriers: n(2), bcasts: n(1), tables: n(2) };
const CLOSE_OF_SEVERAL: Collectives =
    Collectives { splits: n(0), barriers: n(0), bcasts: n(1), tables: n(2) };

impl Collectives {
    fn calls(&self) -> Number {
        self.splits + self.barriers + self.bcasts + self.tables
    }

    /// Messages and bytes of the root among `ranks` ranks.
    fn root(&self, ranks: Number) -> (Number, Number) {
        let depth = n(ranks.0.next_power_of_two().trailing_zeros().into());
        let messages = depth * (n(2) * (self.splits + self.barriers) + self.bcasts + self.tables);
        (messages, (self.splits + self.tables) * n(8) * ranks)
    }
}

/// Opening a set for writing, and closing it with one chunk a task.
pub(super) fn arithmetic(model: &Model, ranks: u32, files: u32) -> Pattern {
    let (all, nfiles) = (n(ranks.into()), n(files.into()));
    let share = n(all.0.checked_div(nfiles.0).unwrap_or(0));
    let file = all - share * (nfiles - n(1)); // the last one is the largest
    let several = n(u64::from(files > 1));
    let (open, close, set) = (OPEN.root(file), CLOSE.root(file), CLOSE_OF_SEVERAL.root(all));
    let time =
        |(messages, bytes): (Number, Number)| messages * n(model.hop) + bytes * n(model.link_byte);
    // The root makes its file, closes it, and opens it again as every rank does.
    let opens = all + nfiles;
    let meta1 = n(1088) + n(16) * file;
    let mapping = several * (n(8) * all + n(4));
    let meta2 = n(16) * file + n(12) + mapping;
    let create = time(open) + opens * n(model.open) + meta1 * n(model.file_byte);
    let close_time = time(close) + several * time(set) + meta2 * n(model.file_byte);
    let at_close = n(8) * file + several * n(12) * all;
    Pattern {
        create: create.0,
        close: close_time.0,
        collectives: (OPEN.calls() + CLOSE.calls() + several * CLOSE_OF_SEVERAL.calls()).0,
        messages: (open.0 + close.0 + several * set.0).0,
        bytes: (open.1 + close.1 + several * set.1).0,
        opens: opens.0,
        memory: (n(24) * file).max(at_close).0,
    }
}
