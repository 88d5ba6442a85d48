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
//! return code of MPI is checked. Collectives are nonblocking calls that are tested until they are
//! done, so that a deadline can end them; only splitting and shrinking are blocking, right after
//! the ranks agreed to do so. Among up to 16 ranks, short collectives are messages between rank 0
//! and the others.
#![allow(unsafe_code, reason = "the calls of MPI; each says what it relies on")]

mod few;
mod left;

use crate::comm::{Comm, Transport, Words};
use crate::error::Error;
use mpi::ffi;
use mpi::traits::AsRaw;
use std::cell::OnceCell;
use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

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
        let world_rank = u32::try_from(comm.rank()).unwrap_or(0);
        let user = Communicator {
            raw: comm.as_raw(),
            rank: world_rank,
            size: u32::try_from(comm.size()).unwrap_or(0),
            world_rank,
            deadline: self.deadline,
        };
        let _handler = ErrorsReturn::set(user.raw);
        let mut raw = vec![user.raw];
        let into = raw.as_mut_ptr();
        // SAFETY: MPI_Comm_idup, MPI-3.1 6.4.2: "it is erroneous to use newcomm before the request
        // is complete"; `raw` is not used before, and is leaked if it never is.
        let raw =
            user.run(raw, [|request| unsafe { ffi::MPI_Comm_idup(user.raw, into, request) }])?;
        let raw = raw.into_iter().next().unwrap_or(user.raw); // it has one element
        Ok(Comm::new(user.child(raw)?))
    }
}

/// A duplicated or split communicator, with an error handler that returns.
#[derive(Debug)]
pub struct Communicator {
    raw: ffi::MPI_Comm,
    rank: u32,
    size: u32,
    world_rank: u32,
    deadline: Option<Duration>,
}

/// MPI's handles of [`Words`] and [`Words::fold`], made once and kept to the end.
#[derive(Debug, Clone, Copy)]
struct Handles {
    words: ffi::MPI_Datatype,
    fold: ffi::MPI_Op,
}

thread_local! {
    static HANDLES: OnceCell<Handles> = const { OnceCell::new() };
}

/// Messages are cut into pieces of this length; MPI counts in `int`.
const PIECE: usize = 1 << 30;

/// The tag of messages of [`Transport::send`]; `few` and `left` have others.
const TAG: c_int = 0;

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

/// Folds words for MPI.
unsafe extern "C" fn fold(
    from: *mut c_void,
    into: *mut c_void,
    len: *mut c_int,
    _: *mut ffi::MPI_Datatype,
) {
    let (from, into) = (from.cast::<Words>(), into.cast::<Words>());
    // SAFETY: MPI-3.1 5.9.5: "invec and inoutvec are arrays of len elements"; MPI does not say how
    // they are aligned.
    unsafe {
        for at in 0..usize::try_from(*len).unwrap_or(0) {
            let mut words = into.add(at).read_unaligned();
            words.fold(&from.add(at).read_unaligned());
            into.add(at).write_unaligned(words);
        }
    }
}

impl Communicator {
    /// Wraps a new communicator of which this process is a rank.
    fn child(&self, raw: ffi::MPI_Comm) -> Result<Self, Error> {
        self.check(set_errors_return(raw))?;
        let (mut rank, mut size) = (0, 0);
        // SAFETY: MPI-3.1 6.4.1: local calls that write an int each.
        self.check(unsafe { ffi::MPI_Comm_rank(raw, &raw mut rank) })?;
        // SAFETY: as above.
        self.check(unsafe { ffi::MPI_Comm_size(raw, &raw mut size) })?;
        let (rank, size) = (u32::try_from(rank).unwrap_or(0), u32::try_from(size).unwrap_or(0));
        Ok(Self { raw, rank, size, world_rank: self.world_rank, deadline: self.deadline })
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

    fn handles(&self) -> Result<Handles, Error> {
        if let Some(handles) = HANDLES.with(|handles| handles.get().copied()) {
            return Ok(handles);
        }
        // SAFETY: constants of mpi-sys; errors without a communicator are those of one of these,
        // MPI-3.1 8.3 and MPI-4.0 9.3.
        let [world, own] = unsafe { [ffi::RSMPI_COMM_WORLD, ffi::RSMPI_COMM_SELF] };
        let _handlers = [ErrorsReturn::set(world), ErrorsReturn::set(own)];
        let count = to_int(size_of::<Words>() >> 3);
        let (mut words, mut op) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: MPI-3.1 4.1.2, 4.1.9, 5.9.5: local calls that write a handle each; `Words` is
        // `repr(C)` of that number of u64.
        unsafe {
            let make = ffi::MPI_Type_contiguous(count, ffi::RSMPI_UINT64_T, words.as_mut_ptr());
            self.check(make)?;
            self.check(ffi::MPI_Type_commit(words.as_mut_ptr()))?;
            self.check(ffi::MPI_Op_create(Some(fold), 1, op.as_mut_ptr()))?;
            let handles = Handles { words: words.assume_init(), fold: op.assume_init() };
            Ok(HANDLES.with(|cell| *cell.get_or_init(|| handles)))
        }
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
        let mut statuses = vec![MaybeUninit::<ffi::MPI_Status>::uninit(); requests.len()];
        self.poll(|| {
            let (len, mut are_done) = (to_int(requests.len()), 0);
            let (at, into) = (requests.as_mut_ptr(), statuses.as_mut_ptr().cast());
            // SAFETY: MPI-3.1 3.7.5: a local call that writes a flag and a status of each request.
            self.check(unsafe { ffi::MPI_Testall(len, at, &raw mut are_done, into) })?;
            Ok((are_done != 0).then_some(()))
        })
    }

    /// Calls `test` until it has a result or the deadline is over. There may be more ranks than
    /// processors, so the others get a turn; but not after each test, because a test by Open MPI
    /// then gives them one itself.
    fn poll<R>(&self, mut test: impl FnMut() -> Result<Option<R>, Error>) -> Result<R, Error> {
        let start = Instant::now();
        loop {
            for _ in 0..TESTS {
                if let Some(result) = test()? {
                    return Ok(result);
                }
            }
            let waited = start.elapsed();
            if self.deadline.is_some_and(|deadline| waited >= deadline) {
                return Err(Error::lost(None));
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

    fn reduce(&self, words: &mut Words, to: Option<u32>) -> Result<(), Error> {
        if self.is_few() {
            return self.reduce_few(words, to);
        }
        let (Handles { words: kind, fold }, raw) = (self.handles()?, self.raw);
        let mut buffers = (vec![*words], vec![*words]);
        let (from, into) = (buffers.0.as_ptr().cast(), buffers.1.as_mut_ptr().cast());
        // SAFETY: MPI-3.1 5.12.8, 5.12.10: the buffers have one element of `kind` each, and are
        // used by nobody else until the request is complete.
        let begin = |request| unsafe {
            match to {
                None => ffi::MPI_Iallreduce(from, into, 1, kind, fold, raw, request),
                Some(to) => ffi::MPI_Ireduce(from, into, 1, kind, fold, to_int(to), raw, request),
            }
        };
        let (_, into) = self.run(buffers, [begin])?;
        into.into_iter().for_each(|folded| *words = folded);
        Ok(())
    }

    fn exscan(&self, words: &mut Words) -> Result<(), Error> {
        self.exscan_in_steps(words)
    }

    fn bcast(&self, root: u32, bytes: &mut [u8]) -> Result<(), Error> {
        if self.is_short(bytes.len()) {
            return self.bcast_short(root, bytes);
        }
        for piece in bytes.chunks_mut(PIECE) {
            let mut buffer = piece.to_vec();
            let (at, len) = (buffer.as_mut_ptr().cast(), to_int(buffer.len()));
            // SAFETY: MPI-3.1 5.12.2: the buffer has `len` bytes and is used by nobody else until
            // the request is complete.
            let begin = |request| unsafe {
                ffi::MPI_Ibcast(at, len, ffi::RSMPI_UINT8_T, to_int(root), self.raw, request)
            };
            let buffer = self.run(buffer, [begin])?;
            piece.copy_from_slice(&buffer);
        }
        Ok(())
    }

    fn send(&self, to: u32, bytes: &[u8]) -> Result<(), Error> {
        let Ok(len) = c_int::try_from(bytes.len()) else {
            let text = format_args!("a message of {} bytes, must be below 2^31", bytes.len());
            return Err(Error::carrier(self.world_rank, 0, text));
        };
        let buffer = bytes.to_vec();
        let at = buffer.as_ptr().cast();
        // SAFETY: MPI-3.1 3.7.2: the buffer has `len` bytes and is not changed until the request is
        // complete.
        let begin = |request| unsafe {
            ffi::MPI_Isend(at, len, ffi::RSMPI_UINT8_T, to_int(to), TAG, self.raw, request)
        };
        self.run(buffer, [begin]).map(drop)
    }

    fn recv(&self, from: u32, buf: &mut [u8]) -> Result<usize, Error> {
        self.check_alive()?;
        let (mut message, len) = self.poll(|| {
            let (mut is_there, mut len) = (0, 0);
            let (mut message, mut status) = (MaybeUninit::uninit(), MaybeUninit::uninit());
            // SAFETY: MPI-3.1 3.8.2, 3.2.5: local calls; message and status are written if the flag
            // is true.
            unsafe {
                self.check(ffi::MPI_Improbe(
                    to_int(from),
                    TAG,
                    self.raw,
                    &raw mut is_there,
                    message.as_mut_ptr(),
                    status.as_mut_ptr(),
                ))?;
                if is_there == 0 {
                    return Ok(None);
                }
                let kind = ffi::RSMPI_UINT8_T;
                self.check(ffi::MPI_Get_count(status.as_ptr(), kind, &raw mut len))?;
                Ok(Some((message.assume_init(), len)))
            }
        })?;
        let mut buffer = vec![0; usize::try_from(len).unwrap_or(0)];
        let at = buffer.as_mut_ptr().cast();
        // SAFETY: MPI-3.1 3.8.3: the buffer has the length of the message and is used by nobody
        // else until the request is complete.
        let begin = |request| unsafe {
            ffi::MPI_Imrecv(at, len, ffi::RSMPI_UINT8_T, &raw mut message, request)
        };
        let buffer = self.run(buffer, [begin])?;
        buf.iter_mut().zip(&buffer).for_each(|(to, byte)| *to = *byte);
        Ok(buffer.len())
    }

    fn split(&self, color: u32, key: u32) -> Result<Self, Error> {
        self.check_alive()?;
        let mut raw = MaybeUninit::uninit();
        // SAFETY: MPI-3.1 6.4.2: all ranks call this; a communicator is written on success.
        let raw = unsafe {
            let (color, key) = (to_int(color), to_int(key));
            self.check(ffi::MPI_Comm_split(self.raw, color, key, raw.as_mut_ptr()))?;
            raw.assume_init()
        };
        self.child(raw)
    }

    fn node(&self) -> Result<Self, Error> {
        self.check_alive()?;
        let mut raw = MaybeUninit::uninit();
        // SAFETY: MPI-3.1 6.4.2: as for a split.
        let raw = unsafe {
            let (kind, info) = (ffi::RSMPI_COMM_TYPE_SHARED, ffi::RSMPI_INFO_NULL);
            let key = to_int(self.rank);
            let code = ffi::MPI_Comm_split_type(self.raw, kind, key, info, raw.as_mut_ptr());
            self.check(code)?;
            raw.assume_init()
        };
        self.child(raw)
    }

    fn shrink(&self) -> Result<Self, Error> {
        self.of_the_left()
    }

    fn free(mut self) -> Result<(), Error> {
        self.check_alive()?;
        // SAFETY: MPI-3.1 6.4.3: "marks the communicator object for deallocation"; all ranks call
        // this, and nothing is pending.
        let code = unsafe { ffi::MPI_Comm_free(&raw mut self.raw) };
        self.check(code)
    }

    fn abort(&self, code: i32) -> Error {
        if let Err(error) = self.check_alive() {
            return error;
        }
        // SAFETY: MPI-3.1 8.7: "makes a 'best attempt' to abort all tasks in the group of comm".
        let returned = unsafe { ffi::MPI_Abort(self.raw, code) };
        match self.check(returned) {
            Ok(()) => Error::aborted(self.world_rank, code),
            Err(error) => error,
        }
    }
}
