//! The functions for MPI, and those of all ways of communication.
//!
//! The contract of all functions is that of `include/striae_sion_mpi.h`: texts end with a NUL,
//! arrays and buffers have the values that their counts say, a pointer for a result points to
//! memory for it or is null, and communicators are handles that MPI has given to the program.
#![allow(unsafe_code, reason = "the functions of sion.h get pointers of C programs")]
#![allow(clippy::missing_safety_doc, reason = "the contract of all is above and in the header")]

use crate::comm::{color, duplicate, free_after};
use crate::create::{New, Tasks, chunksize, create};
use crate::mode::Together;
use crate::open::{Old, Wanted, open};
use libc::{FILE, c_char, c_int, c_void, size_t};
use mpi::ffi::MPI_Comm;
use std::ffi::CString;
use std::fmt::Debug;
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use striae_c::boundary::{path, slice, slice_mut, store};
use striae_c::sion::parts::{
    Failure, Mode, Opened, Set, add, close_parallel, give_stdio, len_of, malloc_copy, run, text,
    with,
};
use striae_mpi::Collective;
use striae_mpi::mpi::Unfreed;

const SUCCESS: c_int = 1;
const NOT_SUCCESS: c_int = 0;
const NO_SID: c_int = -1;

/// What a program passes by the functions that open a set with a task of each process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arguments {
    pub(crate) fname: *const c_char,
    pub(crate) file_mode: *const c_char,
    pub(crate) nfiles: *mut c_int,
    pub(crate) chunksize: *mut i64,
    pub(crate) fsblksize: *mut i32,
    pub(crate) fileptr: *mut *mut FILE,
    pub(crate) newfname: *mut *mut c_char,
}

/// The value of a caller.
pub(crate) unsafe fn value<T: Copy>(place: *const T, what: &str) -> Result<T, Failure> {
    // SAFETY: the contract of the module: null or memory of the caller.
    unsafe { place.as_ref() }.copied().ok_or_else(|| format!("{what} is a null pointer").into())
}

/// Opens a set with a task of each process, to write or to read it. `color` finds what file a
/// process writes to, if the program does not give a number of files.
pub(crate) unsafe fn paropen<C: Collective + Debug + 'static>(
    (comm, mine): (C, Result<(), Failure>),
    unfreed: Option<Unfreed>,
    arguments: Arguments,
    (color, has_messages): (impl FnOnce() -> Result<u32, Failure>, bool),
) -> Result<Set, Failure> {
    // SAFETY: the contract of the module.
    let wish = mine.and_then(|()| unsafe { wish(arguments, (color, has_messages)) });
    // What the first process of a merged group has is that of all, and no size to ask for again.
    let is_merged = matches!(&wish, Ok(Wish::Write(new)) if new.together.merges());
    let chunksize = if is_merged { ptr::null_mut() } else { arguments.chunksize };
    let set = match wish {
        Ok(Wish::Read(old)) => open(comm, Ok(old)),
        Ok(Wish::Write(new)) => create(comm, Ok(new.freed_by(unfreed.clone()))),
        Err(failure) => create(comm, Err(failure)), // the others get it in either case
    };
    let set = set.and_then(|mut set| {
        // SAFETY: the contract of the module.
        let shown = unsafe { show(&mut set, Arguments { chunksize, ..arguments }) };
        set.agree(shown)?;
        Ok(set)
    });
    free_after(&set, unfreed.as_ref());
    set
}

/// What a process wants to open.
#[derive(Debug)]
pub(crate) enum Wish {
    Read(Old),
    Write(New),
}

unsafe fn wish(
    arguments: Arguments,
    (color, has_messages): (impl FnOnce() -> Result<u32, Failure>, bool),
) -> Result<Wish, Failure> {
    let Arguments { fname, file_mode, nfiles, chunksize: size, fsblksize, .. } = arguments;
    // SAFETY: the contract of the module.
    let (name, words) = unsafe { (text(fname, "fname")?, text(file_mode, "file_mode")?) };
    let (mode, path) = (Mode::parse(words), path(name).to_owned());
    // SAFETY: the contract of the module.
    let (number, size) = unsafe { (value(nfiles, "numFiles")?, value(size, "chunksize")) };
    if !mode.writes {
        return Ok(Wish::Read(Old { path, mode, wanted: Wanted::Own }));
    }
    let chunksize = chunksize(size?)?;
    // SAFETY: the contract of the module.
    let fsblksize = unsafe { value(fsblksize, "fsblksize") }.unwrap_or(-1);
    let tasks = match u32::try_from(number).ok().filter(|number| *number > 0) {
        Some(nfiles) => Tasks::One { chunksize, nfiles },
        None => Tasks::Colored { chunksize, color: color()? },
    };
    let together = Together::parse(words);
    Ok(Wish::Write(New { path, mode, together, fsblksize, tasks, has_messages, unfreed: None }))
}

/// Gives the results of an open to the caller.
unsafe fn show(set: &mut Set, arguments: Arguments) -> Result<(), Failure> {
    let Arguments { nfiles, chunksize, fsblksize, fileptr, newfname, .. } = arguments;
    let track = set.tracks().first().ok_or("this process has no task")?;
    let size = i64::try_from(track.entry().place.chunks.chunksize)?;
    let name = set.about().paths.first().map(|(_, path)| path.as_os_str().as_bytes());
    let name = CString::new(name.unwrap_or_default())?;
    // SAFETY: the contract of the module.
    unsafe { give_stdio(set, fileptr) }?;
    // SAFETY: the contract of the module.
    unsafe { store(nfiles, set.about().nfiles) };
    // SAFETY: the contract of the module.
    unsafe { store(fsblksize, set.about().fsblksize) };
    // SAFETY: the contract of the module.
    unsafe { store(chunksize, size) };
    if !newfname.is_null() {
        let copy = malloc_copy(name.as_bytes_with_nul());
        // SAFETY: the contract of the module.
        unsafe { store(newfname, copy.cast()) };
    }
    Ok(())
}

/// Opens a set with a task of each process. All processes of `gComm` call this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_paropen_mpi(
    fname: *const c_char,
    file_mode: *const c_char,
    nfiles: *mut c_int,
    whole: MPI_Comm,
    part: *const MPI_Comm,
    chunksize: *mut i64,
    fsblksize: *mut i32,
    globalrank: *mut c_int,
    fileptr: *mut *mut FILE,
    newfname: *mut *mut c_char,
) -> c_int {
    run("sion_paropen_mpi", NO_SID, || {
        // SAFETY: the contract of the module.
        let (comm, mine) = unsafe { duplicate(whole) }?;
        let rank = c_int::try_from(comm.rank())?;
        let arguments =
            Arguments { fname, file_mode, nfiles, chunksize, fsblksize, fileptr, newfname };
        // SAFETY: the contract of the module.
        let color = || unsafe { color(whole, value(part, "lComm")?) };
        let unfreed = Some(comm.unfreed());
        // SAFETY: the contract of the module.
        let set = unsafe { paropen((comm, mine), unfreed, arguments, (color, true)) }?;
        // SAFETY: the contract of the module.
        unsafe { store(globalrank, rank) };
        add(set)
    })
}

/// Closes a set that [`lsion_paropen_mpi`] has opened. All processes call this. It is closed also
/// after an error.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_parclose_mpi(sid: c_int) -> c_int {
    close_parallel("sion_parclose_mpi", sid, &[Opened::InParallel])
}

/// Gives the chunks of each task another size, before anything is written. All processes call this.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_parreinit_mpi(sid: c_int, chunksize: i64) -> c_int {
    reinit("sion_parreinit_mpi", sid, chunksize)
}

pub(crate) fn reinit(name: &str, sid: c_int, chunksize: i64) -> c_int {
    with(name, sid, NOT_SUCCESS, |set| {
        set.reinit(chunksize)?;
        Ok(SUCCESS)
    })
}

/// Writes `nitems` values of `size` bytes of each process, into one chunk. If the set is
/// collective, all processes of a file call this. Returns `nitems` or 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_coll_fwrite(
    data: *const c_void,
    size: size_t,
    nitems: size_t,
    sid: c_int,
) -> size_t {
    with("sion_coll_fwrite", sid, 0, |set| {
        let record = len_of(size, nitems).and_then(|len| match len > 0 && data.is_null() {
            true => Err("data is a null pointer".into()),
            // SAFETY: sion.h: "data: nitems values of size bytes".
            false => Ok(unsafe { slice(data.cast::<u8>(), len) }),
        });
        let len = record.as_ref().map_or(0, |record| record.len());
        set.coll_write(record)?;
        Ok(if len == 0 { 0 } else { nitems })
    })
}

/// Reads `nitems` values of `size` bytes of each process, which must be in one chunk. A process
/// needs no other one for that.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_coll_fread(
    data: *mut c_void,
    size: size_t,
    nitems: size_t,
    sid: c_int,
) -> size_t {
    with("sion_coll_fread", sid, 0, |set| {
        let len = len_of(size, nitems)?;
        if len == 0 {
            return Ok(0);
        }
        if data.is_null() {
            return Err("data is a null pointer".into());
        }
        // SAFETY: sion.h: "data: memory for nitems values of size bytes".
        let is_read = set.read(unsafe { slice_mut(data.cast(), len) })?;
        Ok(if is_read { nitems } else { 0 })
    })
}
