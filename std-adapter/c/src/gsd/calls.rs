//! The exported functions of `gsd.h`: pointers in, numbers out.
//!
//! The contract of all of them is that of `include/gsd.h`: `handle` points to a `struct gsd_handle`
//! that was opened and not closed, texts end with a NUL, and a buffer has the bytes that its chunk
//! needs. A null pointer is an error and not a crash.
#![allow(unsafe_code, reason = "the functions of gsd.h get pointers of C programs")]
#![allow(clippy::missing_safety_doc, reason = "the contract of all is above and in gsd.h")]

use super::code::Code;
use super::handle::{GsdHandle, GsdIndexEntry};
use super::read::Seen;
use super::state::{Mode, NewFile, Options, State, create};
use super::write::Settings;
use crate::boundary::{bytes, guard, path, slice, slice_mut};
use libc::{c_char, c_int, c_uint, c_void, size_t};
use std::ptr;
use striae::gsd::ChunkType;

/// Runs the body of a function, which returns its code.
pub(super) fn call(body: impl FnOnce() -> Result<(), Code>) -> c_int {
    guard(-1, || Code::of(body()))
}

fn null(what: &str) -> Code {
    Code::INVALID_ARGUMENT.because(&format_args!("{what} is a null pointer"))
}

fn non_null<T>(value: Option<T>, what: &str) -> Result<T, Code> {
    value.ok_or_else(|| null(what))
}

/// What the handle has behind its pointer.
pub(super) unsafe fn state<'a>(handle: *const GsdHandle) -> Result<&'a State, Code> {
    if handle.is_null() {
        return Err(null("handle"));
    }
    // SAFETY: gsd.h: "handle: an open file", so that it can be read. The field is only written by
    // calls that open or close the handle, which must not run beside others.
    let state = unsafe { (*handle).state };
    // SAFETY: pointer::as_ref: "the pointer must be either null or convertible to a reference";
    // `open` made it with Box::into_raw, and `gsd_close` sets it to null when it frees it.
    unsafe { state.as_ref() }.ok_or_else(|| {
        Code::INVALID_ARGUMENT.because(&"the handle was closed, or was never opened")
    })
}

/// Fills the handle of a caller, which is closed if opening failed.
pub(super) unsafe fn open(
    handle: *mut GsdHandle,
    opened: impl FnOnce() -> Result<State, Code>,
) -> c_int {
    call(|| {
        if handle.is_null() {
            return Err(null("handle"));
        }
        let mut filled = GsdHandle::EMPTY;
        let opened = opened().map(|state| {
            state.show(&mut filled);
            filled.state = Box::into_raw(Box::new(state));
        });
        // SAFETY: gsd.h: "handle: memory for a handle"; ptr::write does not read what was there.
        unsafe { ptr::write(handle, filled) };
        opened
    })
}

/// Works on an open handle, and shows in its public fields what has changed.
pub(super) unsafe fn change(
    handle: *mut GsdHandle,
    work: impl FnOnce(&State) -> Result<(), Code>,
) -> c_int {
    call(|| {
        // SAFETY: the contract of the module.
        let state = unsafe { state(handle) }?;
        let worked = work(state);
        // SAFETY: `state` has checked that it is not null; gsd.h: "one thread at a time
        // changes a handle", so nothing else has a reference to it.
        state.show(unsafe { &mut *handle });
        worked
    })
}

unsafe fn new_file<'a>(
    application: *const c_char,
    schema: *const c_char,
    schema_version: u32,
) -> Result<NewFile<'a>, Code> {
    // SAFETY: the contract of the module, of both.
    let (application, schema) = unsafe { (bytes(application), bytes(schema)) };
    Ok(NewFile {
        application: non_null(application, "application")?,
        schema: non_null(schema, "schema")?,
        schema_version,
        checksums: false,
        align: 1,
    })
}

/// A version as files have it: the major version in the upper half.
#[unsafe(no_mangle)]
pub extern "C" fn gsd_make_version(major: c_uint, minor: c_uint) -> u32 {
    major.wrapping_shl(16) | minor
}

/// Makes an empty file, in place if there is one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gsd_create(
    fname: *const c_char,
    application: *const c_char,
    schema: *const c_char,
    schema_version: u32,
) -> c_int {
    call(|| {
        // SAFETY: the contract of the module.
        let name = non_null(unsafe { bytes(fname) }, "fname")?;
        // SAFETY: the contract of the module.
        let new = unsafe { new_file(application, schema, schema_version) }?;
        let mut writer = create(path(name), &new, Settings::default(), false)?;
        Ok(writer.close()?)
    })
}

/// Makes an empty file and opens it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gsd_create_and_open(
    handle: *mut GsdHandle,
    fname: *const c_char,
    application: *const c_char,
    schema: *const c_char,
    schema_version: u32,
    flags: c_uint,
    exclusive_create: c_int,
) -> c_int {
    let opened = || {
        let mode = Mode::new(flags)?;
        if mode == Mode::ReadOnly {
            return Err(Code::FILE_MUST_BE_WRITABLE.because(&"a new file is written"));
        }
        // SAFETY: the contract of the module.
        let name = non_null(unsafe { bytes(fname) }, "fname")?;
        // SAFETY: the contract of the module.
        let new = unsafe { new_file(application, schema, schema_version) }?;
        State::create(path(name), &new, mode, &Options::default(), exclusive_create != 0)
    };
    // SAFETY: the contract of the module.
    unsafe { open(handle, opened) }
}

/// Opens a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gsd_open(
    handle: *mut GsdHandle,
    fname: *const c_char,
    flags: c_uint,
) -> c_int {
    let opened = || {
        // SAFETY: the contract of the module.
        let name = non_null(unsafe { bytes(fname) }, "fname")?;
        State::open(path(name), Mode::new(flags)?, &Options::default())
    };
    // SAFETY: the contract of the module.
    unsafe { open(handle, opened) }
}

/// Removes all frames and names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gsd_truncate(handle: *mut GsdHandle) -> c_int {
    // SAFETY: the contract of the module.
    unsafe { change(handle, State::truncate) }
}

/// Flushes and closes. After an error the handle is still open, and the call can be repeated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gsd_close(handle: *mut GsdHandle) -> c_int {
    call(|| {
        // SAFETY: the contract of the module.
        let state = unsafe { state(handle) }?;
        let closed = state.close();
        if closed.is_err() && state.is_written() {
            return closed; // it may be called again
        }
        // SAFETY: `state` has checked that it is not null. The pointer is read from the handle: one
        // that is made of a reference may not free what it points to.
        let state = unsafe { (*handle).state };
        // SAFETY: Box::from_raw: "memory must have been allocated by Box"; `open` did so, and
        // the next line sets the pointer to null, so this happens once.
        drop(unsafe { Box::from_raw(state.cast_mut()) });
        // SAFETY: `state` has checked that it is not null; the handle is the caller's.
        unsafe { ptr::write(handle, GsdHandle::EMPTY) };
        closed
    })
}

/// Ends the frame.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gsd_end_frame(handle: *mut GsdHandle) -> c_int {
    // SAFETY: the contract of the module.
    unsafe { change(handle, State::end_frame) }
}

/// Makes all ended frames part of the file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gsd_flush(handle: *mut GsdHandle) -> c_int {
    // SAFETY: the contract of the module.
    unsafe { change(handle, State::flush) }
}

/// Adds a chunk to the frame.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gsd_write_chunk(
    handle: *mut GsdHandle,
    name: *const c_char,
    kind: c_uint,
    n: u64,
    m: u32,
    flags: u8,
    data: *const c_void,
) -> c_int {
    call(|| {
        // SAFETY: the contract of the module.
        let state = unsafe { state(handle) }?;
        // SAFETY: the contract of the module.
        let name = non_null(unsafe { bytes(name) }, "name")?;
        let wrong = |why: &str| Code::INVALID_ARGUMENT.because(&why);
        if n > 0 && data.is_null() {
            return Err(null("data"));
        }
        if m == 0 || flags != 0 {
            return Err(wrong("M must be at least 1, and flags 0"));
        }
        let kind = u8::try_from(kind).ok().and_then(ChunkType::from_number);
        let kind = kind.ok_or_else(|| wrong("type must be from 1 to 11"))?;
        let size = n.checked_mul(m.into()).and_then(|n| n.checked_mul(kind.size().get()));
        let size = size.and_then(|size| usize::try_from(size).ok());
        let size = size.filter(|&size| isize::try_from(size).is_ok());
        let size = size.ok_or_else(|| wrong("N rows of M values are too many bytes"))?;
        // SAFETY: gsd.h: "data: N * M values of the type", which is `size` bytes.
        let bytes = unsafe { slice(data.cast::<u8>(), size) };
        let written = state.write_chunk(name, kind, m, bytes);
        let pending = written.unwrap_or_else(|_| state.writing().pending);
        // SAFETY: `state` has checked that it is not null; one thread at a time writes.
        unsafe { (*handle).pending_index_entries = pending };
        written.map(drop)
    })
}

/// Finds a chunk of a flushed frame; null if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gsd_find_chunk(
    handle: *mut GsdHandle,
    frame: u64,
    name: *const c_char,
) -> *const GsdIndexEntry {
    guard(ptr::null(), || {
        // SAFETY: the contract of the module.
        let state = unsafe { state(handle) };
        // SAFETY: the contract of the module.
        match (state.and_then(State::fresh), unsafe { bytes(name) }) {
            (Ok(seen), Some(name)) => seen.find(frame, name).unwrap_or(ptr::null()),
            _ => ptr::null(),
        }
    })
}

/// Reads all bytes of a chunk.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gsd_read_chunk(
    handle: *mut GsdHandle,
    data: *mut c_void,
    chunk: *const GsdIndexEntry,
) -> c_int {
    call(|| {
        // SAFETY: the contract of the module.
        let state = unsafe { state(handle) }?;
        // SAFETY: pointer::as_ref: "either null or convertible to a reference"; gsd.h: "chunk:
        // what gsd_find_chunk has found", which lives until the next flush, or a copy of it. This
        // call may be the first to see a flush, which ends it.
        let entry = &non_null(unsafe { chunk.as_ref() }.copied(), "chunk")?;
        if data.is_null() {
            return Err(null("data"));
        }
        let size = Seen::len(entry).and_then(|size| usize::try_from(size).ok());
        let size = size.filter(|&size| isize::try_from(size).is_ok()).ok_or_else(|| {
            Code::FILE_CORRUPT.because(&"gsd_read_chunk: no chunk has so many bytes")
        })?;
        // SAFETY: gsd.h: "data: memory for all values of the chunk", which is `size` bytes.
        state.read_chunk(entry, unsafe { slice_mut(data.cast(), size) })
    })
}

/// Number of frames that are flushed; 0 for a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gsd_get_nframes(handle: *mut GsdHandle) -> u64 {
    guard(0, || {
        // SAFETY: the contract of the module.
        let state = unsafe { state(handle) };
        state.map_or(0, |state| state.seen().frames)
    })
}

/// Bytes of a value of a type; 0 for an unknown type.
#[unsafe(no_mangle)]
pub extern "C" fn gsd_sizeof_type(kind: c_uint) -> size_t {
    let kind = u8::try_from(kind).ok().and_then(ChunkType::from_number);
    kind.and_then(|kind| usize::try_from(kind.size().get()).ok()).unwrap_or(0)
}

/// The next name that starts with `match`; null if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gsd_find_matching_chunk_name(
    handle: *mut GsdHandle,
    start: *const c_char,
    prev: *const c_char,
) -> *const c_char {
    guard(ptr::null(), || {
        // SAFETY: the contract of the module.
        let state = unsafe { state(handle) };
        // SAFETY: the contract of the module.
        match (state.and_then(State::fresh), unsafe { bytes(start) }) {
            (Ok(seen), Some(start)) => {
                let name = seen.matching(start, prev.cast());
                name.map_or(ptr::null(), <*const u8>::cast)
            }
            _ => ptr::null(),
        }
    })
}

/// Turns a file of an older layer into one of layer 2.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gsd_upgrade(handle: *mut GsdHandle) -> c_int {
    // SAFETY: the contract of the module.
    unsafe { change(handle, State::upgrade) }
}

/// Bytes that are gathered before a write; 0 for a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gsd_get_maximum_write_buffer_size(handle: *mut GsdHandle) -> u64 {
    guard(0, || {
        // SAFETY: the contract of the module.
        unsafe { state(handle) }.map_or(0, |state| state.writing().buffer)
    })
}

/// Sets the bytes that are gathered before a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gsd_set_maximum_write_buffer_size(
    handle: *mut GsdHandle,
    size: u64,
) -> c_int {
    let set = |state: &State| match size {
        0 => Err(Code::INVALID_ARGUMENT.because(&"size must be at least 1")),
        size => {
            state.writing().set_buffer(size);
            Ok(())
        }
    };
    // SAFETY: the contract of the module.
    unsafe { change(handle, set) }
}

/// Number of chunks after which the end of a frame flushes, as in gsd 3; 0 for a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gsd_get_index_entries_to_buffer(handle: *mut GsdHandle) -> u64 {
    guard(0, || {
        // SAFETY: the contract of the module.
        unsafe { state(handle) }.map_or(0, |state| state.writing().entries_to_buffer)
    })
}

/// Sets the number of chunks after which the end of a frame flushes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gsd_set_index_entries_to_buffer(
    handle: *mut GsdHandle,
    number: u64,
) -> c_int {
    let set = |state: &State| match number {
        0 => Err(Code::INVALID_ARGUMENT.because(&"number must be at least 1")),
        number => {
            state.writing().entries_to_buffer = number;
            Ok(())
        }
    };
    // SAFETY: the contract of the module.
    unsafe { change(handle, set) }
}
