//! Functions that older programs call. Their contract is that of the module `calls`.
#![allow(unsafe_code, reason = "the functions of sion.h get pointers of C programs")]
#![allow(
    clippy::missing_safety_doc,
    reason = "the contract of all is in `calls` and in the header"
)]

use crate::calls::{lsion_coll_fread, lsion_coll_fwrite, lsion_parclose_mpi, lsion_paropen_mpi};
use libc::{FILE, c_char, c_int, c_void, size_t};
use mpi::ffi::MPI_Comm;
use std::ffi::CString;
use striae_c::boundary::store;
use striae_c::sion::parts::{run, text};

const SUCCESS: c_int = 1;
const NOT_SUCCESS: c_int = 0;

/// As [`lsion_paropen_mpi`], for a file of each local communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_paropen_comms_mpi(
    fname: *mut c_char,
    file_mode: *const c_char,
    nfiles: *mut c_int,
    whole: MPI_Comm,
    part: MPI_Comm,
    chunksize: *mut i64,
    fsblksize: *mut i32,
    globalrank: *mut c_int,
    fileptr: *mut *mut FILE,
    _newfname: *mut c_char,
) -> c_int {
    // SAFETY: the contract of the module.
    unsafe { store(nfiles, 0) };
    let name = std::ptr::null_mut();
    // SAFETY: the contract of the module; `part` lives during the call.
    unsafe {
        lsion_paropen_mpi(
            fname,
            file_mode,
            nfiles,
            whole,
            &raw const part,
            chunksize,
            fsblksize,
            globalrank,
            fileptr,
            name,
        )
    }
}

/// As [`lsion_paropen_mpi`], without the name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_paropen_multi_mpi(
    fname: *mut c_char,
    file_mode: *const c_char,
    nfiles: *mut c_int,
    whole: MPI_Comm,
    part: *mut MPI_Comm,
    chunksize: *mut i64,
    fsblksize: *mut i32,
    globalrank: *mut c_int,
    fileptr: *mut *mut FILE,
    _newfname: *mut c_char,
) -> c_int {
    let name = std::ptr::null_mut();
    // SAFETY: the contract of the module.
    unsafe {
        lsion_paropen_mpi(
            fname, file_mode, nfiles, whole, part, chunksize, fsblksize, globalrank, fileptr, name,
        )
    }
}

/// What [`lsion_file_check_par_cb_mpi`] opens a set with.
#[derive(Debug)]
pub struct FileCheck {
    file_mode: CString,
    whole: MPI_Comm,
    nfiles: c_int,
    part: MPI_Comm,
}

/// How all processes of `gComm` try to open a set. Null after an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_file_check_par_args_init_mpi(
    file_mode: *const c_char,
    whole: MPI_Comm,
    nfiles: c_int,
    part: MPI_Comm,
) -> *mut FileCheck {
    run("sion_file_check_par_args_init_mpi", std::ptr::null_mut(), || {
        // SAFETY: the contract of the module.
        let file_mode = CString::new(unsafe { text(file_mode, "file_mode") }?)?;
        Ok(Box::into_raw(Box::new(FileCheck { file_mode, whole, nfiles, part })))
    })
}

/// Frees what [`lsion_file_check_par_args_init_mpi`] has returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_file_check_par_args_free_mpi(arguments: *mut FileCheck) -> c_int {
    run("sion_file_check_par_args_free_mpi", NOT_SUCCESS, || {
        if !arguments.is_null() {
            // SAFETY: Box::from_raw: "raw must be a pointer that Box::into_raw has returned", which
            // the header demands; it is not used any more.
            drop(unsafe { Box::from_raw(arguments) });
        }
        Ok(SUCCESS)
    })
}

/// Whether all processes can open a set so. All of them call this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_file_check_par_cb_mpi(
    fname: *mut c_char,
    arguments: *mut c_void,
) -> c_int {
    // SAFETY: the header: "what sion_file_check_par_args_init_mpi has returned", or null.
    let Some(check) = (unsafe { arguments.cast::<FileCheck>().as_ref() }) else {
        return NOT_SUCCESS;
    };
    let (mut chunksize, mut fsblksize, mut globalrank) = (0, -1, -1);
    let mut nfiles = check.nfiles; // the next check has it as it was
    let (file, name) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the contract of the module; the other pointers are to memory of this function.
    let sid = unsafe {
        lsion_paropen_mpi(
            fname,
            check.file_mode.as_ptr(),
            &raw mut nfiles,
            check.whole,
            &raw const check.part,
            &raw mut chunksize,
            &raw mut fsblksize,
            &raw mut globalrank,
            file,
            name,
        )
    };
    if sid < 0 { NOT_SUCCESS } else { lsion_parclose_mpi(sid) }
}

/// Another name of [`lsion_coll_fwrite`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_coll_fwrite_mpi(
    data: *const c_void,
    size: size_t,
    nitems: size_t,
    sid: c_int,
) -> size_t {
    // SAFETY: the contract of the module.
    unsafe { lsion_coll_fwrite(data, size, nitems, sid) }
}

/// Another name of [`lsion_coll_fread`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_coll_fread_mpi(
    data: *mut c_void,
    size: size_t,
    nitems: size_t,
    sid: c_int,
) -> size_t {
    // SAFETY: the contract of the module.
    unsafe { lsion_coll_fread(data, size, nitems, sid) }
}
