//! Safe calls of the exported functions, as a C program makes them. For the fuzz targets, which are
//! without `unsafe`.
#![allow(unsafe_code, reason = "calls the exported functions")]

use crate::gsd::handle::{GsdHandle, GsdIndexEntry};
use crate::{gsd, sion};
use libc::c_int;
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on errors of `sion.h` are not written to standard error.
pub fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// A path or a text as C programs have it; what follows a NUL is lost.
fn text(bytes: &[u8]) -> CString {
    let len = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    CString::new(bytes.get(..len).unwrap_or_default()).unwrap_or_default()
}

/// A handle of `gsd.h`.
#[derive(Debug)]
pub struct Handle(Box<GsdHandle>);

impl Handle {
    /// `striae_gsd_create_and_open`, without waiting for the disk.
    ///
    /// # Errors
    /// The number that the call returns.
    pub fn create(path: &Path, application: &[u8]) -> Result<Self, c_int> {
        let (path, application) = (text(path.as_os_str().as_bytes()), text(application));
        let mut handle = Box::new(GsdHandle::EMPTY);
        let mut options = gsd::StriaeGsdOptions::DEFAULT;
        options.durable = 0;
        // SAFETY: gsd.h: "handle: memory for a handle"; all texts end with a NUL.
        let code = unsafe {
            gsd::striae_gsd_create_and_open(
                &raw mut *handle,
                path.as_ptr(),
                application.as_ptr(),
                c"none".as_ptr(),
                gsd::gsd_make_version(1, 4),
                1,
                0,
                &raw const options,
            )
        };
        if code == 0 { Ok(Self(handle)) } else { Err(code) }
    }

    /// `gsd_write_chunk`; `data` must have all values, else the call is not made.
    pub fn write(
        &mut self,
        name: &[u8],
        kind: u32,
        (n, m): (u64, u32),
        flags: u8,
        data: &[u8],
    ) -> Option<c_int> {
        let size = u64::try_from(gsd::gsd_sizeof_type(kind)).ok()?;
        let len = n.checked_mul(m.into()).and_then(|n| n.checked_mul(size));
        if len.is_some_and(|len| usize::try_from(len).is_ok_and(|len| len > data.len())) {
            return None;
        }
        let name = text(name);
        // SAFETY: the handle is open or closed, but made by gsd_create_and_open; `data` has the
        // values, or there are more than memory can have, which the call refuses.
        Some(unsafe {
            let (handle, data) = (&raw mut *self.0, data.as_ptr().cast());
            gsd::gsd_write_chunk(handle, name.as_ptr(), kind, n, m, flags, data)
        })
    }

    /// `gsd_end_frame`.
    pub fn end_frame(&mut self) -> c_int {
        // SAFETY: as in `write`.
        unsafe { gsd::gsd_end_frame(&raw mut *self.0) }
    }

    /// `gsd_flush`.
    pub fn flush(&mut self) -> c_int {
        // SAFETY: as in `write`.
        unsafe { gsd::gsd_flush(&raw mut *self.0) }
    }

    /// `gsd_truncate`.
    pub fn truncate(&mut self) -> c_int {
        // SAFETY: as in `write`.
        unsafe { gsd::gsd_truncate(&raw mut *self.0) }
    }

    /// `gsd_set_maximum_write_buffer_size`.
    pub fn set_buffer(&mut self, size: u64) -> c_int {
        // SAFETY: as in `write`.
        unsafe { gsd::gsd_set_maximum_write_buffer_size(&raw mut *self.0, size) }
    }

    /// `gsd_get_nframes`.
    pub fn frames(&mut self) -> u64 {
        // SAFETY: as in `write`.
        unsafe { gsd::gsd_get_nframes(&raw mut *self.0) }
    }

    /// `gsd_find_chunk` and `gsd_read_chunk`: type, rows, columns and bytes.
    pub fn read(&mut self, frame: u64, name: &[u8]) -> Option<(u8, u64, u32, Vec<u8>)> {
        let name = text(name);
        // SAFETY: as in `write`.
        let entry = unsafe { gsd::gsd_find_chunk(&raw mut *self.0, frame, name.as_ptr()) };
        // SAFETY: gsd.h: "the pointer is valid until the next flush", or null.
        let GsdIndexEntry { n, m, kind, .. } = *unsafe { entry.as_ref() }?;
        let rows = usize::try_from(n).ok()?.checked_mul(usize::try_from(m).ok()?)?;
        let len = rows.checked_mul(gsd::gsd_sizeof_type(kind.into()))?;
        let mut bytes = vec![0; len];
        // SAFETY: `bytes` has place for all values.
        let read =
            unsafe { gsd::gsd_read_chunk(&raw mut *self.0, bytes.as_mut_ptr().cast(), entry) };
        (read == 0).then_some((kind, n, m, bytes))
    }

    /// `gsd_find_matching_chunk_name`: all names that start so.
    pub fn names(&mut self, start: &[u8]) -> Vec<Vec<u8>> {
        let (start, mut prev, mut names) = (text(start), ptr::null(), Vec::new());
        loop {
            // SAFETY: as in `write`; `prev` is null or what the call has returned.
            prev = unsafe {
                gsd::gsd_find_matching_chunk_name(&raw mut *self.0, start.as_ptr(), prev)
            };
            if prev.is_null() {
                return names;
            }
            // SAFETY: gsd.h: a text that ends with a NUL, valid until the next flush.
            names.push(unsafe { CStr::from_ptr(prev) }.to_bytes().to_vec());
        }
    }

    /// `gsd_close`.
    pub fn close(&mut self) -> c_int {
        // SAFETY: as in `write`.
        unsafe { gsd::gsd_close(&raw mut *self.0) }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.close();
    }
}

/// `sion_open` to write a set of one file: chunk sizes, one for each task.
#[must_use]
pub fn sion_create(path: &Path, mode: &CStr, sizes: &[i64], fsblksize: i32) -> c_int {
    let (path, mut nfiles, mut unit) = (text(path.as_os_str().as_bytes()), 1, fsblksize);
    let Ok(mut ntasks) = c_int::try_from(sizes.len()) else { return -1 };
    let (mut sizes, mut ranks) = (sizes.to_vec(), (0..ntasks).collect::<Vec<_>>());
    let (mut sizes_at, mut ranks_at) = (sizes.as_mut_ptr(), ranks.as_mut_ptr());
    // SAFETY: sion.h: all texts end with a NUL, and the arrays have `ntasks` values.
    unsafe {
        sion::lsion_open(
            path.as_ptr().cast_mut(),
            mode.as_ptr(),
            &raw mut ntasks,
            &raw mut nfiles,
            &raw mut sizes_at,
            &raw mut unit,
            &raw mut ranks_at,
            ptr::null_mut(),
        )
    }
}

/// `sion_open` to read; the sid and the number of tasks.
#[must_use]
pub fn sion_open(path: &Path) -> (c_int, c_int) {
    let (path, mut ntasks, mut nfiles, mut unit) = (text(path.as_os_str().as_bytes()), 0, 0, 0);
    // SAFETY: sion.h: all texts end with a NUL; pointers are null or of memory for the result.
    let sid = unsafe {
        sion::lsion_open(
            path.as_ptr().cast_mut(),
            c"br".as_ptr(),
            &raw mut ntasks,
            &raw mut nfiles,
            ptr::null_mut(),
            &raw mut unit,
            ptr::null_mut(),
            ptr::null_mut(),
        )
    };
    (sid, ntasks)
}

/// `sion_fwrite` of bytes.
#[must_use]
pub fn sion_fwrite(bytes: &[u8], sid: c_int) -> usize {
    // SAFETY: `bytes` has as many bytes as are asked for.
    unsafe { sion::lsion_fwrite(bytes.as_ptr().cast(), 1, bytes.len(), sid) }
}

/// `sion_fread` of bytes.
pub fn sion_fread(bytes: &mut [u8], sid: c_int) -> usize {
    // SAFETY: `bytes` has as many bytes as are asked for.
    unsafe { sion::lsion_fread(bytes.as_mut_ptr().cast(), 1, bytes.len(), sid) }
}

/// Writes bytes with the `FILE *` of a set, as a program does; the chunk must have room for them.
/// Returns their number.
#[must_use]
pub fn stdio_write(bytes: &[u8], sid: c_int) -> usize {
    let file = sion::lsion_get_fp(sid);
    if file.is_null() {
        return 0;
    }
    // SAFETY: fwrite(3): `file` is open until sion_close, and `bytes` has as many bytes.
    unsafe { libc::fwrite(bytes.as_ptr().cast(), 1, bytes.len(), file) }
}

/// Reads bytes with the `FILE *` of a set, as a program does; returns their number.
pub fn stdio_read(bytes: &mut [u8], sid: c_int) -> usize {
    let file = sion::lsion_get_fp(sid);
    if file.is_null() {
        return 0;
    }
    // SAFETY: fread(3): `file` is open until sion_close, and `bytes` has place for as many bytes.
    unsafe { libc::fread(bytes.as_mut_ptr().cast(), 1, bytes.len(), file) }
}

/// `sion_get_current_location`: chunk, position, and the used bytes of all chunks.
#[must_use]
pub fn sion_location(sid: c_int) -> Option<(c_int, i64, Vec<i64>)> {
    let (mut block, mut position, mut chunks, mut lens) = (0, 0, 0, ptr::null_mut());
    // SAFETY: sion.h: all are memory for results.
    let found = unsafe {
        sion::lsion_get_current_location(
            sid,
            &raw mut block,
            &raw mut position,
            &raw mut chunks,
            &raw mut lens,
        )
    };
    if found != 1 {
        return None;
    }
    // SAFETY: sion.h: "their used bytes": `chunks` of them, valid until the next call.
    let lens = unsafe { crate::boundary::slice(lens, usize::try_from(chunks).ok()?) };
    Some((block, position, lens.to_vec()))
}
