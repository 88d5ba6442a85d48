//! Ranks that are processes of MPI.
//!
//! ```no_run
//! use std::time::Duration;
//! use striae_mpi::{Collective, Mpi};
//!
//! let universe = mpi::initialize().ok_or("MPI is initialized already")?;
//! let rank = Mpi::new().deadline(Duration::from_secs(600)).duplicate(&universe.world())?;
//! let [sum] = rank.total(Ok([1]))?;
//! assert_eq!(sum, u64::from(rank.size()));
//! rank.free(Ok(()))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Any level of MPI's thread support is enough; a [`Rank`] stays in the thread that made it. Each
//! return code of MPI is checked.
//!
//! Only [`Mpi::duplicate`] is a collective of MPI, a nonblocking one. All else are messages between
//! two processes, which are tested until they are done, so that a deadline can end each wait: a
//! process that does something else, or nothing, cannot keep the others in a call of MPI. The words
//! of a collective go up a tree of the ranks, in which up to 15 ranks send to one on each of its
//! levels, and the result comes down again. So all ranks call the same, or all learn at once that
//! they do not. Communicators of some of the ranks share that of MPI, and have tags of their own.
//!
//! A rank that does not come within the deadline is named to all by rank 0, or by nobody if it is
//! rank 0: the others wait for its answer as long again, and once more for each 16 times as many
//! ranks.
#![allow(unsafe_code, reason = "the calls of MPI; each says what it relies on")]

mod exchange;
mod left;
mod messages;
mod split;
mod tree;
mod unfreed;

use crate::comm::{Comm, Folded, Step, Transport, Words};
use crate::error::Error;
use mpi::ffi;
use mpi::traits::AsRaw;
use split::Base;
use std::ffi::{c_char, c_int};
use std::mem::MaybeUninit;
use std::rc::Rc;
use std::time::{Duration, Instant};
pub use unfreed::Unfreed;

/// A rank of an MPI program.
pub type Rank = Comm<Communicator>;

/// The settings of a communicator.
#[derive(Debug, Clone, Default)]
pub struct Mpi {
    deadline: Option<Duration>,
}

impl Mpi {
    /// Without a deadline: a rank waits for another one until the launcher ends the job.
    #[must_use]
    pub const fn new() -> Self {
        Self { deadline: None }
    }

    /// How long a rank waits for another one, which then is lost.
    #[must_use]
    pub const fn deadline(self, deadline: Duration) -> Self {
        Self { deadline: Some(deadline) }
    }

    /// A communicator of the same ranks, for this crate alone. All ranks of `comm` call this. The
    /// error handler of `comm` is as before when it returns.
    ///
    /// # Errors
    /// [`Code::Lost`](crate::Code::Lost) after the deadline;
    /// [`Code::Carrier`](crate::Code::Carrier) if MPI fails.
    pub fn duplicate<C>(&self, comm: &C) -> Result<Rank, Error>
    where
        C: mpi::topology::Communicator + AsRaw<Raw = ffi::MPI_Comm>,
    {
        let rank = u32::try_from(comm.rank()).unwrap_or(0);
        let size = u32::try_from(comm.size()).unwrap_or(0);
        self.duplicate_base(Base::of(comm.as_raw()), (rank, size))
    }

    /// As [`duplicate`](Self::duplicate), of a handle of MPI, as programs in C have it.
    ///
    /// # Errors
    /// As [`duplicate`](Self::duplicate).
    ///
    /// # Safety
    /// MPI is initialized, and `comm` is a communicator that is open, and not between two groups.
    pub unsafe fn duplicate_raw(&self, comm: ffi::MPI_Comm) -> Result<Rank, Error> {
        let (mut rank, mut size) = (0, 0);
        // SAFETY: MPI-3.1 6.4.1: local calls with an open communicator, which the caller promises.
        let codes = unsafe {
            [ffi::MPI_Comm_rank(comm, &raw mut rank), ffi::MPI_Comm_size(comm, &raw mut size)]
        };
        let place = (u32::try_from(rank).unwrap_or(0), u32::try_from(size).unwrap_or(0));
        let base = Base::of(comm);
        if codes.into_iter().all(is_success) {
            return self.duplicate_base(base, place);
        }
        Err(Error::carrier(place.0, 0, "MPI_Comm_rank or MPI_Comm_size failed"))
    }

    fn duplicate_base(&self, base: Base, (rank, size): (u32, u32)) -> Result<Rank, Error> {
        let user = Communicator::whole(base, (rank, size), self.deadline);
        let _handler = ErrorsReturn::set(user.base.raw);
        let mut raw = vec![user.base.raw];
        let into = raw.as_mut_ptr();
        // SAFETY: MPI_Comm_idup, MPI-3.1 6.4.2: "it is erroneous to use newcomm before the request
        // is complete"; `raw` is not used before, and is leaked if it never is.
        let begin = [|request| unsafe { ffi::MPI_Comm_idup(user.base.raw, into, request) }];
        let raw = user.run(raw, begin)?.into_iter().next().unwrap_or(user.base.raw); // has one
        user.check(set_errors_return(raw))?;
        Ok(Comm::new(Communicator::whole(Base::of(raw), (rank, size), self.deadline)))
    }
}

/// Some of the processes of a communicator of MPI, and the tags of their messages.
#[derive(Debug)]
pub struct Communicator {
    base: Rc<Base>,
    /// Which communicator of the same processes it is: it is part of all tags.
    context: u32,
    /// The ranks of the processes in `base`; `None` if these are all of them.
    members: Option<Box<[u32]>>,
    rank: u32,
    size: u32,
    /// The rank of this process in `base`, the first communicator.
    world_rank: u32,
    deadline: Option<Duration>,
}

/// Number of tests before the other ranks get a turn.
const TESTS: u32 = 16;

/// A communicator whose errors are return codes until this is dropped.
struct ErrorsReturn {
    comm: ffi::MPI_Comm,
    before: Option<ffi::MPI_Errhandler>,
}

impl ErrorsReturn {
    fn set(comm: ffi::MPI_Comm) -> Self {
        let mut before = MaybeUninit::uninit();
        // SAFETY: MPI-3.1 8.3.1: "Retrieves the error handler currently associated with a
        // communicator"; it is written if the call returns MPI_SUCCESS.
        let before = unsafe {
            let got = ffi::MPI_Comm_get_errhandler(comm, before.as_mut_ptr());
            is_success(got).then(|| before.assume_init())
        };
        set_errors_return(comm);
        Self { comm, before }
    }
}

impl Drop for ErrorsReturn {
    fn drop(&mut self) {
        let Some(mut before) = self.before else { return };
        // SAFETY: MPI-3.1 8.3.1 and 8.3.4: a handler that was got is set, and is freed "once all
        // the objects associated with it have been deallocated". Both calls are local.
        unsafe {
            ffi::MPI_Comm_set_errhandler(self.comm, before);
            ffi::MPI_Errhandler_free(&raw mut before);
        }
    }
}

fn set_errors_return(comm: ffi::MPI_Comm) -> c_int {
    // SAFETY: MPI-3.1 8.3.1: "Attaches a new error handler to a communicator"; a local call.
    unsafe { ffi::MPI_Comm_set_errhandler(comm, ffi::RSMPI_ERRORS_RETURN) }
}

const fn is_success(code: c_int) -> bool {
    code == 0 // MPI_SUCCESS, MPI-3.1 8.4
}

fn to_int(value: impl TryInto<c_int>) -> c_int {
    value.try_into().unwrap_or(c_int::MAX) // ranks and lengths of pieces are ints
}

impl Communicator {
    /// That of all processes of `base`.
    fn whole(base: Base, (rank, size): (u32, u32), deadline: Option<Duration>) -> Self {
        let base = Rc::new(base);
        Self { base, context: 0, members: None, rank, size, world_rank: rank, deadline }
    }

    /// The rank in the first communicator of a rank of this one.
    fn world_rank_of(&self, rank: u32) -> u32 {
        let Some(members) = &self.members else { return rank };
        let at = usize::try_from(rank).unwrap_or(usize::MAX);
        members.get(at).copied().unwrap_or(u32::MAX) // MPI refuses it
    }

    fn lost(&self, rank: u32) -> Error {
        Error::lost(Some(self.world_rank_of(rank)))
    }

    /// An error for a return code.
    fn check(&self, code: c_int) -> Result<(), Error> {
        if is_success(code) {
            return Ok(());
        }
        let (mut class, mut len) = (code, 0);
        let mut text = [0_u8; 1 << 10]; // MPI_MAX_ERROR_STRING is 256 or 512
        // SAFETY: MPI-3.1 8.4: local calls; the text has at most MPI_MAX_ERROR_STRING characters.
        unsafe {
            ffi::MPI_Error_class(code, &raw mut class);
            ffi::MPI_Error_string(code, text.as_mut_ptr().cast::<c_char>(), &raw mut len);
        }
        let text = text.get(..usize::try_from(len).unwrap_or(0)).unwrap_or_default();
        Err(Error::carrier(self.world_rank, class, String::from_utf8_lossy(text)))
    }

    /// After `MPI_Finalize` every call of MPI ends the process.
    fn check_alive(&self) -> Result<(), Error> {
        let mut is_finalized = 0;
        // SAFETY: MPI-3.1 8.7: may be called at any time.
        self.check(unsafe { ffi::MPI_Finalized(&raw mut is_finalized) })?;
        if is_finalized != 0 {
            return Err(Error::carrier(self.world_rank, 0, "this rank has called MPI_Finalize"));
        }
        Ok(())
    }

    /// Frees a communicator of this crate that is not used any more. Does nothing after
    /// `MPI_Finalize`.
    fn free_raw(mut raw: ffi::MPI_Comm) -> bool {
        let mut is_finalized = 0;
        // SAFETY: MPI-3.1 8.7: may be called at any time.
        let asked = unsafe { ffi::MPI_Finalized(&raw mut is_finalized) };
        // SAFETY: MPI-3.1 6.4.3: "marks the communicator object for deallocation"; nothing is
        // pending. Both libraries do so without the other processes, as the standard anticipates.
        is_success(asked)
            && is_finalized == 0
            && is_success(unsafe { ffi::MPI_Comm_free(&raw mut raw) })
    }

    /// Begins operations, each by one of `begin`, and waits for the end of all. They may use
    /// `buffers` until then, so these are leaked if an operation does not end.
    fn run<B>(
        &self,
        buffers: B,
        begin: impl IntoIterator<Item = impl FnOnce(*mut ffi::MPI_Request) -> c_int>,
    ) -> Result<B, Error> {
        self.check_alive()?;
        let mut requests = Vec::new();
        let begun = begin.into_iter().try_for_each(|begin| {
            // SAFETY: a constant of mpi-sys.
            let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
            let begun = self.check(begin(&raw mut request));
            requests.push(request);
            begun
        });
        match begun.and_then(|()| self.wait(&mut requests)) {
            Ok(()) => Ok(buffers),
            Err(error) => {
                std::mem::forget(buffers);
                Err(error)
            }
        }
    }

    fn wait(&self, requests: &mut [ffi::MPI_Request]) -> Result<(), Error> {
        let done = self.poll(self.deadline, || self.test_all(requests))?;
        done.ok_or_else(|| Error::lost(None))
    }

    fn test_all(&self, requests: &mut [ffi::MPI_Request]) -> Result<Option<()>, Error> {
        let mut statuses = vec![MaybeUninit::<ffi::MPI_Status>::uninit(); requests.len()];
        let (len, mut are_done) = (to_int(requests.len()), 0);
        let (at, into) = (requests.as_mut_ptr(), statuses.as_mut_ptr().cast());
        // SAFETY: MPI-3.1 3.7.5: a local call that writes a flag and a status of each request.
        self.check(unsafe { ffi::MPI_Testall(len, at, &raw mut are_done, into) })?;
        Ok((are_done != 0).then_some(()))
    }

    /// Calls `test` until it has a result, or returns none when the time is over. There may be more
    /// ranks than processors, so the others get a turn; but not after each test, because a test by
    /// Open MPI then gives them one itself.
    fn poll<R>(
        &self,
        time: Option<Duration>,
        mut test: impl FnMut() -> Result<Option<R>, Error>,
    ) -> Result<Option<R>, Error> {
        let start = Instant::now();
        loop {
            for _ in 0..TESTS {
                if let Some(result) = test()? {
                    return Ok(Some(result));
                }
            }
            let waited = start.elapsed();
            if time.is_some_and(|time| waited >= time) {
                return Ok(None);
            }
            match waited < Duration::from_millis(1) {
                true => std::thread::yield_now(),
                false => std::thread::sleep(Duration::from_micros(50)),
            }
        }
    }
}

impl Transport for Communicator {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn world_rank(&self) -> u32 {
        self.world_rank
    }

    fn exchange(
        &self,
        _: Step,
        words: &Words,
        work: Option<&mut dyn FnMut(&mut Words)>,
    ) -> Result<Folded, Error> {
        self.exchange_words(words, work)
    }

    fn bcast(&self, root: u32, bytes: &mut [u8]) -> Result<(), Error> {
        self.copy_from(root, bytes)
    }

    fn send(&self, to: u32, bytes: &[u8]) -> Result<(), Error> {
        self.send_message(to, bytes)
    }

    fn recv(&self, from: u32, buf: &mut [u8]) -> Result<usize, Error> {
        self.receive_message(from, buf)
    }

    fn split(&self, color: u32, key: u32) -> Result<Self, Error> {
        self.child(color.into(), key)
    }

    fn node(&self) -> Result<Self, Error> {
        self.child(split::node_number(), self.rank)
    }

    fn shrink(&self) -> Result<Self, Error> {
        self.of_the_left()
    }

    fn free(self) -> Result<(), Error> {
        self.check_alive()?;
        let Ok(Base { raw, is_freed, .. }) = Rc::try_unwrap(self.base) else {
            return Ok(()); // other communicators still use it
        };
        is_freed.set(true);
        let is_freed = Self::free_raw(raw);
        is_freed
            .then_some(())
            .ok_or_else(|| Error::carrier(self.world_rank, 0, "MPI_Comm_free failed"))
    }

    fn abort(&self, code: i32) -> Error {
        if let Err(error) = self.check_alive() {
            return error;
        }
        // SAFETY: MPI-3.1 8.7: "makes a 'best attempt' to abort all tasks in the group of comm".
        let returned = unsafe { ffi::MPI_Abort(self.base.raw, code) };
        match self.check(returned) {
            Ok(()) => Error::aborted(self.world_rank, code),
            Err(error) => error,
        }
    }
}
