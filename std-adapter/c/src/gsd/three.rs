//! Functions as gsd 3 has them: those that read flush first. `gsd.h` refers to them if a program
//! defines `STRIAE_GSD_3`. The contract is that of the module `calls`.
#![allow(unsafe_code, reason = "the functions get pointers of C programs")]
#![allow(clippy::missing_safety_doc, reason = "the contract of all is in gsd.h")]

use super::calls::{
    change, gsd_find_chunk, gsd_find_matching_chunk_name, gsd_get_nframes, gsd_read_chunk, state,
};
use super::handle::{GsdHandle, GsdIndexEntry};
use super::state::State;
use crate::boundary::guard;
use libc::{c_char, c_int, c_void};
use std::ptr;

/// Flushes ended frames, if there are any; returns what `gsd_flush` does.
unsafe fn flush(handle: *mut GsdHandle) -> c_int {
    // SAFETY: the contract of the module.
    let waits = guard(false, || unsafe { state(handle) }.is_ok_and(State::has_ended_frames));
    match waits {
        // SAFETY: the contract of the module.
        true => unsafe { change(handle, State::flush) },
        false => 0,
    }
}

/// Number of ended frames.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn striae_gsd3_get_nframes(handle: *mut GsdHandle) -> u64 {
    // SAFETY: the contract of the module.
    let flushed = unsafe { gsd_get_nframes(handle) };
    guard(flushed, || {
        // SAFETY: the contract of the module.
        let state = unsafe { state(handle) };
        state.ok().and_then(|state| state.writing().frames()).unwrap_or(flushed)
    })
}

/// Flushes, and finds a chunk.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn striae_gsd3_find_chunk(
    handle: *mut GsdHandle,
    frame: u64,
    name: *const c_char,
) -> *const GsdIndexEntry {
    // SAFETY: the contract of the module.
    match unsafe { flush(handle) } {
        // SAFETY: the contract of the module.
        0 => unsafe { gsd_find_chunk(handle, frame, name) },
        _ => ptr::null(),
    }
}

/// Flushes, and reads a chunk.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn striae_gsd3_read_chunk(
    handle: *mut GsdHandle,
    data: *mut c_void,
    chunk: *const GsdIndexEntry,
) -> c_int {
    // SAFETY: pointer::as_ref: "either null or convertible to a reference"; gsd.h: what
    // gsd_find_chunk has found. A flush ends it, so it is copied.
    let entry = unsafe { chunk.as_ref() }.copied();
    // SAFETY: the contract of the module.
    match unsafe { flush(handle) } {
        0 => {
            let chunk = entry.as_ref().map_or(ptr::null(), ptr::from_ref);
            // SAFETY: the contract of the module.
            unsafe { gsd_read_chunk(handle, data, chunk) }
        }
        error => error,
    }
}

/// Flushes, and finds the next name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn striae_gsd3_find_matching_chunk_name(
    handle: *mut GsdHandle,
    start: *const c_char,
    prev: *const c_char,
) -> *const c_char {
    // SAFETY: the contract of the module.
    match unsafe { flush(handle) } {
        // SAFETY: the contract of the module.
        0 => unsafe { gsd_find_matching_chunk_name(handle, start, prev) },
        _ => ptr::null(),
    }
}
