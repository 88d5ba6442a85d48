//! The chunks of a task since the last commit.

use striae_core::sion::Error as SionError;
use striae_core::sion::pen::{Finished, Ledger};

/// Chunks of a task that were finished since the last commit: a ledger that grows.
#[derive(Debug, Default)]
pub struct FinishedChunks(pub Vec<Finished>);

impl Ledger for FinishedChunks {
    fn push(&mut self, chunk: Finished) -> Result<(), SionError> {
        self.0.push(chunk);
        Ok(())
    }

    fn retain(&mut self, keep: impl FnMut(&Finished) -> bool) {
        self.0.retain(keep);
    }
}
