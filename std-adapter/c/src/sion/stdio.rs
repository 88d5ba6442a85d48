//! `FILE *` and descriptors that programs get, to read and write themselves.
#![allow(unsafe_code, reason = "calls the C library")]

use libc::{FILE, c_int, c_void};
use std::ffi::CString;
use std::fs;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

/// An open file that the program may use as well. It is closed when this is dropped.
#[derive(Debug)]
pub(super) enum Mirror {
    /// In the mode `ansi`.
    Stdio(*mut FILE),
    /// In the mode `posix`.
    Descriptor(fs::File),
}

// SAFETY: the C standard: "each stream has an associated lock", so that any thread may use it.
unsafe impl Send for Mirror {}

impl Mirror {
    /// Opens the file at `path`, to read or also to write.
    pub(super) fn open(path: &Path, writes: bool, posix: bool) -> io::Result<Self> {
        if posix {
            let file = fs::OpenOptions::new().read(true).write(writes).open(path)?;
            return Ok(Self::Descriptor(file));
        }
        let path = CString::new(path.as_os_str().as_bytes())?;
        let mode = if writes { c"r+" } else { c"r" };
        // SAFETY: fopen(3): both are strings that end with a NUL; they live during the call.
        let file = unsafe { libc::fopen(path.as_ptr(), mode.as_ptr()) };
        match file.is_null() {
            true => Err(io::Error::last_os_error()),
            false => Ok(Self::Stdio(file)),
        }
    }

    /// The `FILE *`; null in the mode `posix`.
    pub(super) const fn stdio(&self) -> *mut FILE {
        match self {
            Self::Stdio(file) => *file,
            Self::Descriptor(_) => ptr::null_mut(),
        }
    }

    /// The descriptor; -1 in the mode `ansi`.
    pub(super) fn descriptor(&self) -> c_int {
        match self {
            Self::Stdio(_) => -1,
            Self::Descriptor(file) => file.as_raw_fd(),
        }
    }

    /// Passes what the program has written on, and returns where it stands. Once a write of the
    /// program has failed, this fails until the program has called `clearerr`: a flush that fails
    /// drops what was buffered, so nobody knows whether all of it is in the file.
    pub(super) fn tell(&mut self, writes: bool) -> io::Result<u64> {
        let file = match self {
            Self::Descriptor(file) => return file.stream_position(),
            Self::Stdio(file) => *file,
        };
        // SAFETY: ferror(3): `file` is an open stream; only `drop` closes it.
        if writes && unsafe { libc::ferror(file) } != 0 {
            let why =
                "a write to its FILE * failed, and bytes of it may be lost; clearerr accepts that";
            return Err(io::Error::other(why));
        }
        // SAFETY: fflush(3): `file` is an open stream; only `drop` closes it.
        if writes && unsafe { libc::fflush(file) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: ftello(3): `file` is an open stream; only `drop` closes it.
        let at = unsafe { libc::ftello(file) };
        u64::try_from(at).map_err(|_| io::Error::last_os_error())
    }

    /// Moves to an offset in the file.
    pub(super) fn seek(&mut self, offset: u64) -> io::Result<()> {
        let file = match self {
            Self::Descriptor(file) => return file.seek(SeekFrom::Start(offset)).map(drop),
            Self::Stdio(file) => *file,
        };
        let offset = libc::off_t::try_from(offset).map_err(io::Error::other)?;
        // SAFETY: fseeko(3): `file` is an open stream; only `drop` closes it.
        match unsafe { libc::fseeko(file, offset, libc::SEEK_SET) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        if let Self::Stdio(file) = self {
            // SAFETY: fclose(3): `file` is an open stream; no other call closes it.
            let _ = unsafe { libc::fclose(*file) };
        }
    }
}

/// Copies values into memory of `malloc`, which a C program frees; null if there is no memory.
#[must_use]
pub fn malloc_copy<T: Copy>(values: &[T]) -> *mut T {
    // SAFETY: malloc(3) has no conditions; its memory is aligned for any type.
    let memory = unsafe { libc::malloc(size_of_val(values).max(1)) }.cast::<T>();
    if !memory.is_null() {
        // SAFETY: ptr::copy_nonoverlapping: both are valid for this many values, as `memory` was
        // asked for so many bytes, and new memory overlaps nothing.
        unsafe { ptr::copy_nonoverlapping(values.as_ptr(), memory, values.len()) };
    }
    memory
}

/// Frees memory of [`malloc_copy`].
pub(super) unsafe fn free(memory: *mut c_void) {
    // SAFETY: free(3): "ptr must have been returned by malloc", which the caller promises.
    unsafe { libc::free(memory) }
}
