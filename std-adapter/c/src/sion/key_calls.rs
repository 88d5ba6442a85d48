//! Key-value records. The contract of the functions is that of the module `calls`.
#![allow(unsafe_code, reason = "the functions of sion.h get pointers of C programs")]
#![allow(clippy::missing_safety_doc, reason = "the contract of all is in sion.h")]

use super::calls::len_of;
use super::keys::{CURRENT_BLOCK, CURRENT_POS};
use super::registry::with;
use crate::boundary::{slice, slice_mut, store};
use libc::{c_char, c_int, c_void, size_t};
use std::mem::offset_of;

const SUCCESS: c_int = 1;
const NOT_SUCCESS: c_int = 0;

/// `sion_key_stat_t`: the records of a key.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct SionKeyStat {
    /// The key.
    pub key: u64,
    /// The number of its records.
    pub num_blocks: i64,
    /// The bytes of all of them.
    pub total_size: i64,
}

/// What `tests/layout.c` compares with its own `sizeof` and `offsetof`.
#[unsafe(no_mangle)]
pub static striae_sion_key_stat_layout: [usize; 4] = [
    size_of::<SionKeyStat>(),
    offset_of!(SionKeyStat, key),
    offset_of!(SionKeyStat, num_blocks),
    offset_of!(SionKeyStat, total_size),
];

/// Writes a record; returns `nitems`, or the largest number after an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_fwrite_key(
    data: *const c_void,
    key: u64,
    size: size_t,
    nitems: size_t,
    sid: c_int,
) -> size_t {
    with("sion_fwrite_key", sid, size_t::MAX, |set| {
        let len = len_of(size, nitems)?;
        if len > 0 && data.is_null() {
            return Err("data is a null pointer".into());
        }
        // SAFETY: sion.h: "data: nitems values of size bytes".
        set.write_key(key, unsafe { slice(data.cast(), len) })?;
        Ok(nitems)
    })
}

/// Reads values of a key from its current record; returns their number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_fread_key(
    data: *mut c_void,
    key: u64,
    size: size_t,
    nitems: size_t,
    sid: c_int,
) -> size_t {
    with("sion_fread_key", sid, 0, |set| {
        let len = len_of(size, nitems)?;
        if data.is_null() {
            return Err("data is a null pointer".into());
        }
        // SAFETY: sion.h: "data: memory for nitems values of size bytes".
        let bytes = unsafe { slice_mut(data.cast(), len) };
        let read = set.with_keys(|keys, stream| Ok(keys.read(stream, key, size, bytes)?))?;
        Ok(read.checked_div(size).unwrap_or(0))
    })
}

/// Starts the iteration over records anew.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_fread_key_iterator_reset(sid: c_int) -> c_int {
    with("sion_fread_key_iterator_reset", sid, NOT_SUCCESS, |set| {
        set.with_keys(|keys, _| {
            keys.reset_records();
            Ok(SUCCESS)
        })
    })
}

/// Goes to the next record, which is then the current one of its key; 0 if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_fread_key_iterator_next(
    sid: c_int,
    key: *mut u64,
    size: *mut size_t,
) -> c_int {
    with("sion_fread_key_iterator_next", sid, NOT_SUCCESS, |set| {
        let next = set.with_keys(|keys, _| Ok(keys.next_record()))?;
        let Some((found, len)) = next else { return Ok(NOT_SUCCESS) };
        // SAFETY: sion.h: "key, size: memory for the results".
        unsafe { store(key, found) };
        // SAFETY: as above.
        unsafe { store(size, size_t::try_from(len)?) };
        Ok(SUCCESS)
    })
}

/// Goes to a position in the records of a key.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_seek_key(sid: c_int, key: u64, block: c_int, position: i64) -> c_int {
    with("sion_seek_key", sid, NOT_SUCCESS, |set| {
        if position == CURRENT_POS && i64::from(block) != CURRENT_BLOCK {
            return Err("SION_CURRENT_POS is only for SION_CURRENT_BLOCK".into());
        }
        let found = set.with_keys(|keys, _| Ok(keys.seek(key, block.into(), position)))?;
        Ok(c_int::from(found))
    })
}

/// Reads the headers of all records of the current rank.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_key_full_scan(sid: c_int) -> c_int {
    with("sion_key_full_scan", sid, NOT_SUCCESS, |set| set.with_keys(|_, _| Ok(SUCCESS)))
}

/// Starts the iteration over keys anew.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_key_list_iterator_reset(sid: c_int) -> c_int {
    with("sion_key_list_iterator_reset", sid, NOT_SUCCESS, |set| {
        set.with_keys(|keys, _| {
            keys.reset_keys();
            Ok(SUCCESS)
        })
    })
}

/// The next key, in the order of first records; 0 if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_key_list_iterator_next(sid: c_int, key: *mut u64) -> c_int {
    with("sion_key_list_iterator_next", sid, NOT_SUCCESS, |set| {
        let next = set.with_keys(|keys, _| Ok(keys.next_key()))?;
        // SAFETY: sion.h: "key: memory for the result".
        unsafe { store(key, next.unwrap_or(0)) };
        Ok(c_int::from(next.is_some()))
    })
}

/// The number of records of a key and their bytes; 0 if there is no such key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_key_get_stat(sid: c_int, key: u64, stat: *mut SionKeyStat) -> c_int {
    with("sion_key_get_stat", sid, NOT_SUCCESS, |set| {
        let found = set.with_keys(|keys, _| Ok(keys.stat(key)))?;
        let Some((records, bytes)) = found else { return Ok(NOT_SUCCESS) };
        let (num_blocks, total_size) = (i64::try_from(records)?, i64::try_from(bytes)?);
        // SAFETY: sion.h: "stat: memory for the structure".
        unsafe { store(stat, SionKeyStat { key, num_blocks, total_size }) };
        Ok(SUCCESS)
    })
}

/// Whether streams are key-value records: a constant `SION_KEYVAL_*`.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_get_keyval_mode(sid: c_int) -> c_int {
    let (none, inline, unknown) = (50, 51, 54);
    with("sion_get_keyval_mode", sid, unknown, |set| {
        Ok(if set.about.is_keyval { inline } else { none })
    })
}

/// The name of a constant `SION_KEYVAL_*`.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_keyval_type_to_str(number: c_int) -> *const c_char {
    match number {
        50 => c"SION_KEYVAL_NONE",
        51 => c"SION_KEYVAL_INLINE",
        52 => c"SION_KEYVAL_META",
        53 => c"SION_KEYVAL_HASH",
        54 => c"SION_KEYVAL_UNKNOWN",
        _ => c"unknown",
    }
    .as_ptr()
}
