//! What every exported function needs: no panic leaves it, C strings are read here, and the text of
//! the last error is kept.
#![allow(unsafe_code, reason = "reads strings and sets errno of C programs")]

use libc::{c_char, c_int};
use std::cell::RefCell;
use std::ffi::{CStr, CString, OsStr};
use std::fmt::Display;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::ptr;
use striae::error::ErrorKind;

thread_local! {
    static LAST: RefCell<Option<CString>> = const { RefCell::new(None) };
}

/// Runs the body of an exported function. A panic does not leave it: the result is `otherwise`.
pub(crate) fn guard<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    // What a body had locked or half changed stays locked or poisoned: later calls fail as well.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        set_errno(libc::EIO);
        remember(&"striae: internal error: a panic in the library");
        otherwise
    })
}

/// Keeps the text of an error for `striae_last_error`.
pub(crate) fn remember(error: &dyn Display) {
    let mut text = error.to_string().into_bytes();
    text.retain(|&byte| byte != 0);
    // A thread that is about to end has no place for it any more.
    let _ = LAST.try_with(|last| *last.borrow_mut() = CString::new(text).ok());
}

/// The text of the last error of this thread, with the file, the field and its offset; an empty
/// string if there was none. The text is valid until the next call of this library by this thread.
#[unsafe(no_mangle)]
pub extern "C" fn striae_last_error() -> *const c_char {
    guard(c"".as_ptr(), || {
        let text = LAST.try_with(|last| last.borrow().as_ref().map(|text| text.as_ptr()));
        text.ok().flatten().unwrap_or(c"".as_ptr())
    })
}

/// Sets `errno` of this thread.
pub(crate) fn set_errno(number: c_int) {
    // SAFETY: __errno_location(3): "returns a pointer to the errno of the calling thread", which
    // is valid as long as the thread.
    unsafe { *libc::__errno_location() = number }
}

/// The number of an error for `errno`.
pub(crate) fn errno_of(error: &io::Error) -> c_int {
    error.raw_os_error().unwrap_or(match error.kind() {
        io::ErrorKind::NotFound => libc::ENOENT,
        io::ErrorKind::PermissionDenied => libc::EACCES,
        io::ErrorKind::AlreadyExists => libc::EEXIST,
        io::ErrorKind::InvalidInput => libc::EINVAL,
        io::ErrorKind::ResourceBusy => libc::EBUSY,
        io::ErrorKind::OutOfMemory => libc::ENOMEM,
        io::ErrorKind::IsADirectory => libc::EISDIR,
        io::ErrorKind::StorageFull => libc::ENOSPC,
        _ => libc::EIO,
    })
}

/// Sets `errno` for an error of the library.
pub(crate) fn set_errno_of(error: &striae::Error) {
    set_errno(match error.kind() {
        ErrorKind::Io(error) => errno_of(error),
        ErrorKind::Exists => libc::EEXIST,
        ErrorKind::Locked => libc::EWOULDBLOCK,
        ErrorKind::Closed => libc::EBADF,
        ErrorKind::NoRoom { .. } => libc::ENOSPC,
        _ => libc::EIO,
    });
}

/// The bytes of a C string, or `None` for a null pointer.
///
/// # Safety
/// `text` is null, or points to a string that ends with a NUL and does not change during `'a`.
#[must_use]
pub unsafe fn bytes<'a>(text: *const c_char) -> Option<&'a [u8]> {
    if text.is_null() {
        return None;
    }
    // SAFETY: CStr::from_ptr: "the memory pointed to by ptr must contain a valid nul terminator at
    // the end of the string", which the caller of this function promises.
    Some(unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// A path from the bytes of a C string.
#[must_use]
pub fn path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// Stores `value` where `place` points to, unless `place` is null.
///
/// # Safety
/// `place` is null, or points to memory of the caller for a `T` that nothing else uses meanwhile.
pub unsafe fn store<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: ptr::write: "dst must be valid for writes", which the caller promises.
        unsafe { ptr::write(place, value) }
    }
}

/// `len` values at `data` as a slice; an empty slice if there are none.
///
/// # Safety
/// `data` is null or points to `len` values that do not change during `'a`.
#[must_use]
pub unsafe fn slice<'a, T>(data: *const T, len: usize) -> &'a [T] {
    if data.is_null() || len == 0 {
        return &[];
    }
    // SAFETY: slice::from_raw_parts: "data must be valid for reads for len * size_of::<T>() many
    // bytes", which the caller promises.
    unsafe { std::slice::from_raw_parts(data, len) }
}

/// `len` bytes at `data` to write to; an empty slice if there are none.
///
/// # Safety
/// `data` is null or points to `len` bytes that nothing else uses during `'a`.
#[must_use]
pub unsafe fn slice_mut<'a>(data: *mut u8, len: usize) -> &'a mut [u8] {
    if data.is_null() || len == 0 {
        return &mut [];
    }
    // SAFETY: slice::from_raw_parts_mut: "data must be valid for both reads and writes for len *
    // size_of::<T>() many bytes", which the caller promises; bytes of any value are valid.
    unsafe { std::slice::from_raw_parts_mut(data, len) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::panic, reason = "the test is about a panic")]
    fn a_panic_becomes_the_other_result_and_has_a_text() {
        assert_eq!(guard(-1, || panic!("as a fault of the library would")), -1);
        // SAFETY: a text that ends with a NUL, valid until the next call.
        let text = unsafe { bytes(striae_last_error()) };
        assert!(text.is_some_and(|text| text.ends_with(b"a panic in the library")));
    }

    #[test]
    fn a_text_with_a_nul_is_kept_without_it() {
        remember(&"a\0b");
        // SAFETY: a text that ends with a NUL, valid until the next call.
        let text = unsafe { bytes(striae_last_error()) };
        assert_eq!(text, Some(&b"ab"[..]));
    }
}
