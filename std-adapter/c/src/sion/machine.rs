//! Byte orders, versions, locks: what no set is needed for, or only its number.
#![allow(unsafe_code, reason = "the functions of sion.h get pointers of C programs")]
#![allow(clippy::missing_safety_doc, reason = "the contract of all is in sion.h")]

use super::registry::{run, with};
use crate::boundary::{bytes, guard, path, slice_mut, store};
use libc::{FILE, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this machine is big-endian.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_get_endianness() -> c_int {
    c_int::from(cfg!(target_endian = "big"))
}

/// Whether the data of a set are stated to be big-endian.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_get_file_endianness(sid: c_int) -> c_int {
    with("sion_get_file_endianness", sid, -1, |set| Ok(c_int::from(set.about.is_big)))
}

/// Whether the data of a set have another byte order than this machine.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_endianness_swap_needed(sid: c_int) -> c_int {
    with("sion_endianness_swap_needed", sid, -1, |set| {
        Ok(c_int::from(set.about.is_big != cfg!(target_endian = "big")))
    })
}

/// Copies `n` values of `size` bytes, with the bytes of each in reverse order if `do_swap` is not
/// 0. Source and target may be the same or overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_swap(
    target: *mut c_void,
    source: *mut c_void,
    size: c_int,
    n: c_int,
    do_swap: c_int,
) {
    run("sion_swap", (), || {
        let (size, n) = (usize::try_from(size)?, usize::try_from(n)?);
        let len = super::calls::len_of(size, n)?;
        if len == 0 {
            return Ok(());
        }
        if target.is_null() || source.is_null() {
            return Err("target or source is a null pointer".into());
        }
        // SAFETY: sion.h: "target, source: n values of size bytes"; ptr::copy is for memory that
        // may overlap.
        unsafe { ptr::copy(source.cast::<u8>(), target.cast::<u8>(), len) };
        if do_swap != 0 {
            // SAFETY: as above.
            let bytes = unsafe { slice_mut(target.cast(), len) };
            bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
        }
        Ok(())
    });
}

/// The version of SIONlib whose interface this is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_get_version(
    main_version: *mut c_int,
    sub_version: *mut c_int,
    patch_level: *mut c_int,
    fileformat_version: *mut c_int,
) -> c_int {
    for (place, value) in
        [main_version, sub_version, patch_level, fileformat_version].into_iter().zip([1, 7, 6, 5])
    {
        // SAFETY: sion.h: "memory for the results, or null".
        unsafe { store(place, value) };
    }
    1
}

/// 1: several threads may use one set.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_is_thread_safe() -> c_int {
    1
}

static HAS_LOCKS: AtomicBool = AtomicBool::new(false);

/// A callback that locks or unlocks.
type Callback = Option<unsafe extern "C" fn(*mut c_void) -> c_int>;

/// Accepts locks of the program, which are not needed.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_lock_register_lock_callbacks(
    lock: Callback,
    unlock: Callback,
    _data: *mut c_void,
) -> c_int {
    HAS_LOCKS.store(lock.is_some() && unlock.is_some(), Ordering::Relaxed);
    1
}

/// Whether the program has registered locks.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_lock_user_callbacks_defined() -> c_int {
    c_int::from(HAS_LOCKS.load(Ordering::Relaxed))
}

/// Whether there is a file of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lsion_file_stat_file(fname: *const c_char) -> c_int {
    guard(0, || {
        // SAFETY: sion.h: "fname: a text that ends with a NUL".
        let name = unsafe { bytes(fname) };
        c_int::from(name.is_some_and(|name| std::fs::metadata(path(name)).is_ok()))
    })
}

/// Ends the debug output of SIONlib, of which there is none.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_dclose() {}

fn second(name: &str, sid: c_int) -> c_int {
    with(name, sid, 0, |set| Err(set.fail("cannot use a second FILE *, or one that was closed")))
}

/// Is refused: the `FILE *` of a set cannot be replaced.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_set_second_fp(sid: c_int, _file: *mut FILE) -> c_int {
    second("sion_set_second_fp", sid)
}

/// Is refused, as there is no second `FILE *`.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_unset_second_fp(sid: c_int) -> c_int {
    second("sion_unset_second_fp", sid)
}

/// Is refused: the set closes its `FILE *` itself.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_set_fp_closed(sid: c_int) -> c_int {
    second("sion_set_fp_closed", sid)
}
