//! A communicator of MPI whose ranks went with an operation that failed.

use super::{Communicator, Rank, split::Base};
use mpi::ffi;
use std::cell::Cell;
use std::rc::{Rc, Weak};

/// What frees a communicator of MPI when an operation that took its [`Rank`] has failed.
///
/// ```no_run
/// # use striae_mpi::{Code, Mpi, sion::Builder};
/// # fn open(rank: striae_mpi::mpi::Rank) -> Result<(), striae_mpi::Error> {
/// let unfreed = rank.unfreed();
/// let file = Builder::new().create(rank, "run.sion").inspect_err(|error| {
///     if !matches!(error.code(), Code::Lost | Code::Carrier(_) | Code::Aborted(_)) {
///         unfreed.free(); // or each failure leaves a communicator
///     }
/// })?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Unfreed {
    raw: ffi::MPI_Comm,
    base: Weak<Base>,
    is_freed: Rc<Cell<bool>>,
}

impl Rank {
    /// What frees the communicator of MPI if this is dropped.
    #[must_use]
    pub fn unfreed(&self) -> Unfreed {
        let base = &self.transport().base;
        let is_freed = Rc::clone(&base.is_freed);
        Unfreed { raw: base.raw, base: Rc::downgrade(base), is_freed }
    }
}

impl Unfreed {
    /// Frees the communicator, unless that was done, or a rank of it or of its parts is left in
    /// this process. This waits for no other process: it is right after an error that all ranks
    /// have, none of which is lost.
    pub fn free(&self) {
        if self.base.strong_count() == 0 && !self.is_freed.replace(true) {
            let _ = Communicator::free_raw(self.raw); // there is an error already
        }
    }
}
