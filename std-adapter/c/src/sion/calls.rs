//! Open, close, read, write, seek.
//!
//! The contract of all functions is that of `include/sion.h`: texts end with a NUL, arrays and
//! buffers have the values that their counts say, and a pointer for a result points to memory for
//! it or is null. Numbers of sets that are not open are errors.
#![allow(unsafe_code, reason = "the functions of sion.h get pointers of C programs")]
#![allow(clippy::missing_safety_doc, reason = "the contract of all is above and in sion.h")]

use super::failure::Failure;
use super::keys::CURRENT_POS;
use super::mode::Mode;
use super::reading::open;
use super::registry::{add, give_up, on, run, with};
use super::set::{Opened, Set};
use super::stdio::malloc_copy;
use super::writing::{NewSet, create};
use crate::boundary::{bytes, path, slice, slice_mut, store};
use libc::{FILE, c_char, c_int, c_void, size_t};
use std::ptr;

const SUCCESS: c_int = 1;
const NOT_SUCCESS: c_int = 0;
const NO_SID: c_int = -1;

/// The bytes of a text.
///
/// # Errors
/// It is a null pointer.
///
/// # Safety
/// The contract of the module.
pub unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a [u8], Failure> {
    // SAFETY: the contract of the module.
    let text = unsafe { bytes(text) };
    text.ok_or_else(|| format!("{what} is a null pointer").into())
}

/// The array of a caller, whose pointer is at `array`.
unsafe fn array<'a, T>(array: *mut *mut T, len: usize, what: &str) -> Result<&'a [T], Failure> {
    // SAFETY: sion.h: "chunksizes, globalranks: the address of a pointer", which may be null.
    let array = unsafe { array.as_ref() }.filter(|array| !array.is_null());
    let array = array.ok_or_else(|| format!("{what} is a null pointer"))?;
    // SAFETY: sion.h: "an array of ntasks values, to write".
    Ok(unsafe { slice(*array, len) })
}

/// Gives values to a caller: in its array, or in new memory if its pointer is null.
///
/// # Errors
/// There is no memory.
///
/// # Safety
/// `array` is null, or points to null or to an array of as many values.
pub unsafe fn give<T: Copy>(array: *mut *mut T, values: &[T]) -> Result<(), Failure> {
    // SAFETY: sion.h: "chunksizes, globalranks: the address of a pointer", which may be null.
    let Some(array) = (unsafe { array.as_mut() }) else { return Ok(()) };
    if array.is_null() {
        *array = malloc_copy(values);
        return if array.is_null() { Err("there is no memory".into()) } else { Ok(()) };
    }
    // SAFETY: sion.h: "to read, a null pointer, or an array of as many values as the set has
    // tasks"; ptr::copy is for memory that may overlap.
    unsafe { ptr::copy(values.as_ptr(), *array, values.len()) };
    Ok(())
}

/// Gives a caller the `FILE *` of a set, if it wants it.
///
/// # Errors
/// The file cannot be opened once more.
///
/// # Safety
/// `fileptr` is null, or points to memory for the result.
pub unsafe fn give_stdio(set: &mut Set, fileptr: *mut *mut FILE) -> Result<(), Failure> {
    if !fileptr.is_null() {
        let stdio = if set.is_posix { ptr::null_mut() } else { set.mirror()?.stdio() };
        // SAFETY: the contract of the module.
        unsafe { store(fileptr, stdio) };
    }
    Ok(())
}

/// Opens a set, to read all of its tasks, or makes one to write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_open(
    fname: *mut c_char,
    file_mode: *const c_char,
    ntasks: *mut c_int,
    nfiles: *mut c_int,
    chunksizes: *mut *mut i64,
    fsblksize: *mut i32,
    globalranks: *mut *mut c_int,
    fileptr: *mut *mut FILE,
) -> c_int {
    run("sion_open", NO_SID, || {
        // SAFETY: the contract of the module.
        let (name, mode) = unsafe { (text(fname, "fname")?, text(file_mode, "file_mode")?) };
        let mode = Mode::parse(mode).with_environment();
        let mut set = if mode.writes {
            // SAFETY: the contract of the module: null or memory of the caller, all three.
            let counts = unsafe { (ntasks.as_ref(), nfiles.as_ref(), fsblksize.as_ref()) };
            let (Some(&count), nfiles, blksize) = counts else {
                return Err("ntasks is a null pointer".into());
            };
            let count = usize::try_from(count).map_err(|_| format!("ntasks is {count}"))?;
            // SAFETY: the contract of the module.
            let sizes = unsafe { array(chunksizes, count, "chunksizes") }?;
            // SAFETY: the contract of the module.
            let ranks = unsafe { array(globalranks, count, "globalranks") }?;
            let (nfiles, fsblksize) =
                (nfiles.copied().unwrap_or(1), blksize.copied().unwrap_or(-1));
            let new = NewSet { nfiles, chunksizes: sizes, globalranks: ranks, fsblksize };
            match create(path(name), mode, &new) {
                // A program that cannot close a set may make it again, as it does with SIONlib.
                Err(error) if is_locked(&error) => {
                    give_up(|set| set.cannot_close && set.is_at(path(name)));
                    create(path(name), mode, &new)?
                }
                set => set?,
            }
        } else {
            let set = open(path(name), mode)?;
            let sizes = set.tracks.iter().map(|track| track.entry.place.chunks.chunksize);
            let sizes = sizes.map(i64::try_from).collect::<Result<Vec<_>, _>>()?;
            let ranks =
                set.tracks.iter().map(|track| c_int::try_from(track.entry.place.globalrank));
            // SAFETY: the contract of the module.
            unsafe { give(chunksizes, &sizes) }?;
            if !globalranks.is_null() {
                // SAFETY: the contract of the module.
                unsafe { give(globalranks, &ranks.collect::<Result<Vec<_>, _>>()?) }?;
            }
            // SAFETY: the contract of the module.
            unsafe { store(ntasks, c_int::try_from(set.tracks.len())?) };
            // SAFETY: the contract of the module.
            unsafe { store(nfiles, set.about.nfiles) };
            set
        };
        // SAFETY: the contract of the module.
        unsafe { store(fsblksize, set.about.fsblksize) };
        // SAFETY: the contract of the module.
        unsafe { give_stdio(&mut set, fileptr) }?;
        add(set)
    })
}

/// Whether a set could not be made because somebody writes it.
fn is_locked(error: &Failure) -> bool {
    let error = error.downcast_ref().map(striae::Error::kind);
    matches!(error, Some(striae::error::ErrorKind::Locked))
}

/// Opens a set to read one task of it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_open_rank(
    fname: *mut c_char,
    file_mode: *const c_char,
    chunksize: *mut i64,
    fsblksize: *mut i32,
    rank: *mut c_int,
    fileptr: *mut *mut FILE,
) -> c_int {
    run("sion_open_rank", NO_SID, || {
        // SAFETY: the contract of the module.
        let (name, mode) = unsafe { (text(fname, "fname")?, text(file_mode, "file_mode")?) };
        let mode = Mode::parse(mode);
        if mode.writes {
            return Err("one rank alone cannot be written; open the set".into());
        }
        // SAFETY: the contract of the module: null or memory of the caller.
        let rank = *unsafe { rank.as_ref() }.ok_or("rank is a null pointer")?;
        let mut set = open(path(name), mode)?;
        set.go_to(if rank < 0 { c_int::MAX } else { rank })?; // no alias here
        set.is_alone = true;
        let size = i64::try_from(set.track()?.entry.place.chunks.chunksize)?;
        // SAFETY: the contract of the module.
        unsafe { store(chunksize, size) };
        // SAFETY: the contract of the module.
        unsafe { store(fsblksize, set.about.fsblksize) };
        // SAFETY: the contract of the module.
        unsafe { give_stdio(&mut set, fileptr) }?;
        add(set)
    })
}

/// Closes a set. After an error it is still open.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_close(sid: c_int) -> c_int {
    with("sion_close", sid, NOT_SUCCESS, |set| {
        if set.is_dup {
            set.is_over = true;
            return Ok(SUCCESS); // it only reads; other processes may not close one of theirs
        }
        if set.opened != Opened::Serially {
            return Err(set.fail("was opened in parallel: close it by sion_parclose_mpi"));
        }
        let done = set.close();
        let of_file = done.as_ref().err().and_then(|error| error.downcast_ref());
        set.is_over = done.is_ok() || of_file.is_some_and(striae::Error::is_removed);
        set.cannot_close = done.is_err();
        done.map(|()| SUCCESS)
    })
}

/// Writes `nitems` values of `size` bytes into one chunk, or nothing; returns `nitems` or 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_fwrite(
    data: *const c_void,
    size: size_t,
    nitems: size_t,
    sid: c_int,
) -> size_t {
    with("sion_fwrite", sid, 0, |set| {
        let len = len_of(size, nitems)?;
        if len > 0 && data.is_null() {
            return Err("data is a null pointer".into());
        }
        // SAFETY: sion.h: "data: nitems values of size bytes".
        set.write(unsafe { slice(data.cast(), len) })?;
        Ok(if len == 0 { 0 } else { nitems })
    })
}

/// Reads `nitems` values of `size` bytes, which must be in one chunk, or nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_fread(
    data: *mut c_void,
    size: size_t,
    nitems: size_t,
    sid: c_int,
) -> size_t {
    with("sion_fread", sid, 0, |set| {
        let len = len_of(size, nitems)?;
        if data.is_null() {
            return Err("data is a null pointer".into());
        }
        // SAFETY: sion.h: "data: memory for nitems values of size bytes".
        let is_read = set.read(unsafe { slice_mut(data.cast(), len) })?;
        Ok(if len == 0 || !is_read { 0 } else { nitems })
    })
}

/// Bytes of some values, if memory can have so many.
///
/// # Errors
/// It cannot.
pub fn len_of(size: size_t, nitems: size_t) -> Result<usize, Failure> {
    let len = size.checked_mul(nitems).filter(|&len| isize::try_from(len).is_ok());
    len.ok_or_else(|| format!("{nitems} values of {size} bytes are too many").into())
}

/// Skips the rest of the chunk, unless it has room for so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_ensure_free_space(sid: c_int, bytes: i64) -> c_int {
    with("sion_ensure_free_space", sid, NOT_SUCCESS, |set| {
        set.ensure_free_space(bytes)?;
        Ok(SUCCESS)
    })
}

/// Whether the stream has no more bytes; goes to the next chunk if one is at its end.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_feof(sid: c_int) -> c_int {
    with("sion_feof", sid, -1, |set| {
        set.sync()?;
        let has_more = set.loaded()?.advance();
        set.place()?;
        Ok(c_int::from(!has_more))
    })
}

/// Makes all that was written part of the files.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_flush(sid: c_int) -> c_int {
    with("sion_flush", sid, NOT_SUCCESS, |set| {
        set.commit()?;
        Ok(SUCCESS)
    })
}

/// Goes to a rank, a chunk and a position.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_seek(sid: c_int, rank: c_int, block: c_int, position: i64) -> c_int {
    with("sion_seek", sid, NOT_SUCCESS, |set| {
        seek(set, rank, block, position)?;
        Ok(SUCCESS)
    })
}

fn seek(set: &mut Set, rank: c_int, block: c_int, position: i64) -> Result<(), Failure> {
    let before = set.rank;
    set.go_to(rank)?;
    let sought = set.seek(block, position);
    sought.inspect_err(|_| set.rank = before)?;
    if set.rank != before && position == CURRENT_POS && !set.writes() && !set.about.is_keyval {
        set.track()?.advance(); // as in SIONlib: a program asks next how many bytes the chunk has
    }
    set.place()
}

/// Goes to a rank, a chunk and a position, and gives the `FILE *` there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_seek_fp(
    sid: c_int,
    rank: c_int,
    block: c_int,
    position: i64,
    fileptr: *mut *mut FILE,
) -> c_int {
    with("sion_seek_fp", sid, NOT_SUCCESS, |set| {
        let sought = seek(set, rank, block, position);
        // SAFETY: the contract of the module.
        unsafe { give_stdio(set, fileptr) }?;
        sought?;
        Ok(SUCCESS)
    })
}

/// The `FILE *` of the current task, at its position; null in the mode `posix`.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_get_fp(sid: c_int) -> *mut FILE {
    with("sion_get_fp", sid, ptr::null_mut(), |set| match set.is_posix {
        true => Ok(ptr::null_mut()),
        false => Ok(set.mirror()?.stdio()),
    })
}

/// The descriptor of the current task, at its position; -1 in the mode `ansi`.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_get_fd(sid: c_int) -> c_int {
    with("sion_get_fd", sid, -1, |set| match set.is_posix {
        true => Ok(set.mirror()?.descriptor()),
        false => Ok(-1),
    })
}

/// Makes the `FILE *`, whose buffer has a block of the file system by itself.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_optimize_fp_buffer(sid: c_int) -> c_int {
    with("sion_optimize_fp_buffer", sid, NOT_SUCCESS, |set| {
        set.mirror()?;
        Ok(SUCCESS)
    })
}

/// Opens the files of a set that is read once more, at the same positions.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_dup(sid: c_int, mode: c_int, rank: c_int, _key: u64) -> c_int {
    const RANKS: [c_int; 2] = [-202, -203]; // SION_DUP_RANK, SION_DUP_RANK_KEY
    run("sion_dup", NO_SID, || {
        let mut new = on(sid, Set::duplicate)?;
        if RANKS.contains(&mode) {
            new.go_to(rank)?;
            new.is_alone = true;
        }
        add(new)
    })
}

/// Closes a set that `sion_dup` has made.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_dedup(sid: c_int) -> c_int {
    with("sion_dedup", sid, NOT_SUCCESS, |set| {
        set.is_over = set.is_dup;
        match set.is_dup {
            true => Ok(SUCCESS),
            false => Err(set.fail("was not made by sion_dup: close it by sion_close")),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sion::reading::{Stream, Streams};
    use crate::sion::set::About;
    use std::path::Path;
    use std::sync::Arc;
    use striae::sion::TaskEntry;

    /// What several processes read, and close at once.
    #[derive(Debug)]
    struct OfAll;

    impl Streams for OfAll {
        fn chunk_lens(&self, _: &TaskEntry) -> Result<Vec<u64>, Failure> {
            Err("nothing is read".into())
        }

        fn stream(&self, _: &TaskEntry) -> Result<Box<dyn Stream>, Failure> {
            Err("nothing is read".into())
        }

        fn close(&self, _: Result<(), Failure>) -> Result<(), Failure> {
            Err("waits for processes that do not close".into())
        }
    }

    #[test]
    fn a_duplicate_of_a_parallel_set_is_closed_without_the_other_processes() {
        let known = (About::default(), Vec::new());
        let set = Set::reading(Path::new("set"), known, Arc::new(OfAll));
        let sid = add(set.opened(Opened::InParallel)).unwrap_or(NO_SID);
        let dup = lsion_dup(sid, -201, 0, 0); // SION_DUP_ALL
        assert!(sid >= 0 && dup >= 0);
        assert_eq!((lsion_close(dup), lsion_close(dup)), (SUCCESS, NOT_SUCCESS));
        assert_eq!(lsion_close(sid), NOT_SUCCESS, "all processes close it");
        give_up(|set| set.opened == Opened::InParallel);
        assert_eq!(lsion_close(sid), NOT_SUCCESS);
    }
}
