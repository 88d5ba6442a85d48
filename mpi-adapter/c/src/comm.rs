//! The communicator of a C program.
#![allow(unsafe_code, reason = "calls MPI with handles of C programs")]

use mpi::ffi::{self, MPI_Comm, MPI_Group};
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::time::Duration;
use striae_c::sion::parts::{Failure, Numbered};
use striae_mpi::Mpi;
use striae_mpi::mpi::{Rank, Unfreed};

/// A communicator of the same processes for one set. All of them call this, and those whose
/// environment is wrong tell the others next.
///
/// # Safety
/// `comm` is a handle that MPI has given to the program, of an open communicator.
pub(crate) unsafe fn duplicate(comm: MPI_Comm) -> Result<(Rank, Result<(), Failure>), Failure> {
    check(comm)?;
    let (deadline, mine) = match deadline() {
        Ok(deadline) => (deadline, Ok(())),
        Err(failure) => (None, Err(failure)),
    };
    let settings = deadline.map_or_else(Mpi::new, |deadline| Mpi::new().deadline(deadline));
    // SAFETY: `Mpi::duplicate_raw`: "a communicator that is open, and not between two groups",
    // which the program and `check` promise.
    let rank = unsafe { settings.duplicate_raw(comm) }.map_err(crate::told)?;
    Ok((rank, mine))
}

/// Frees the communicator of a call that failed at all processes, of which none is lost.
pub(crate) fn free_after<T>(done: &Result<T, Failure>, unfreed: Option<&Unfreed>) {
    let Some(numbered) = done.as_ref().err().and_then(|it| it.downcast_ref::<Numbered>()) else {
        return; // nothing failed, or not at all processes
    };
    if !crate::is_severed(numbered) {
        unfreed.into_iter().for_each(Unfreed::free);
    }
}

/// Whether MPI can be called with this handle.
fn check(comm: MPI_Comm) -> Result<(), Failure> {
    let (mut is_ready, mut is_over) = (0, 0);
    // SAFETY: MPI-3.1 8.7: both may be called at any time.
    let codes =
        unsafe { [ffi::MPI_Initialized(&raw mut is_ready), ffi::MPI_Finalized(&raw mut is_over)] };
    if codes != [0, 0] || is_ready == 0 || is_over != 0 {
        return Err("MPI is not initialized, or was finalized".into());
    }
    // SAFETY: a constant of mpi-sys.
    if comm == unsafe { ffi::RSMPI_COMM_NULL } {
        return Err("the communicator is MPI_COMM_NULL".into());
    }
    let mut is_inter = 0;
    // SAFETY: MPI-3.1 6.6.1: a local call with an open communicator.
    if unsafe { ffi::MPI_Comm_test_inter(comm, &raw mut is_inter) } != 0 || is_inter != 0 {
        return Err("the communicator is one between two groups".into());
    }
    Ok(())
}

/// How long a process waits for another one, as `STRIAE_MPI_DEADLINE` says in seconds.
fn deadline() -> Result<Option<Duration>, Failure> {
    let Some(value) = std::env::var_os("STRIAE_MPI_DEADLINE") else { return Ok(None) };
    let seconds = value.to_str().and_then(|value| value.trim().parse::<u32>().ok());
    match seconds {
        Some(0) => Ok(None),
        Some(seconds) => Ok(Some(Duration::from_secs(seconds.into()))),
        None => Err("STRIAE_MPI_DEADLINE is no number of seconds".into()),
    }
}

/// A group of processes, given back when this is dropped.
struct Group(MPI_Group);

impl Group {
    fn of(comm: MPI_Comm) -> Result<Self, Failure> {
        let mut group = MaybeUninit::uninit();
        // SAFETY: MPI-3.1 6.3.2: a local call, which writes the group if it returns MPI_SUCCESS.
        let group = unsafe {
            let got = ffi::MPI_Comm_group(comm, group.as_mut_ptr());
            (got == 0).then(|| group.assume_init())
        };
        group.map(Self).ok_or_else(|| "MPI_Comm_group failed".into())
    }

    fn size(&self) -> Result<c_int, Failure> {
        let mut size = 0;
        // SAFETY: MPI-3.1 6.3.1: a local call.
        let got = unsafe { ffi::MPI_Group_size(self.0, &raw mut size) };
        if got == 0 { Ok(size) } else { Err("MPI_Group_size failed".into()) }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // SAFETY: MPI-3.1 6.3.3: "marks a group object for deallocation"; a local call.
        let _ = unsafe { ffi::MPI_Group_free(&raw mut self.0) };
    }
}

/// The rank in `whole` of the first process of `part`, which is a number of that part. The
/// processes of a part must be in the order that they have in `whole`.
///
/// # Safety
/// Both are handles that MPI has given to the program, of open communicators.
pub(crate) unsafe fn color(whole: MPI_Comm, part: MPI_Comm) -> Result<u32, Failure> {
    check(whole)?;
    check(part)?;
    let (whole, part) = (Group::of(whole)?, Group::of(part)?);
    let size = part.size()?;
    let own: Vec<c_int> = (0..size).collect();
    let mut ranks = own.clone();
    // SAFETY: MPI-3.1 6.3.2: a local call, which reads and writes `size` ranks.
    let translated = unsafe {
        ffi::MPI_Group_translate_ranks(part.0, size, own.as_ptr(), whole.0, ranks.as_mut_ptr())
    };
    if translated != 0 || ranks.iter().any(|rank| *rank < 0) {
        return Err("lComm has processes that gComm has not".into());
    }
    if !ranks.is_sorted() {
        return Err("the processes of lComm must be in the order that they have in gComm".into());
    }
    let first = ranks.first().and_then(|first| u32::try_from(*first).ok());
    first.ok_or_else(|| "lComm has no process".into())
}
