//! The functions of the generic interface. Their contract is that of the module `calls` of the
//! crate; callbacks are functions of the program, and are called as the header says.
#![allow(unsafe_code, reason = "the functions of sion.h get pointers of C programs")]
#![allow(clippy::missing_safety_doc, reason = "the contract of all is above and in the header")]

use super::callbacks::{Callbacks, create, free, get, register};
use super::layer::{Layer, Rank};
use crate::calls::{Arguments, paropen, reinit, value};
use crate::mapped::{MappedArguments, paropen_mapped};
use libc::{FILE, c_char, c_int, c_void};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use striae_c::boundary::{bytes, store};
use striae_c::sion::parts::{Failure, Opened, add, close_parallel, run, text};

const SUCCESS: c_int = 1;
const NOT_SUCCESS: c_int = 0;
const NO_ID: c_int = -1;

/// Makes an API without callbacks. Returns its number, or -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_generic_create_api(name: *mut c_char) -> c_int {
    run("sion_generic_create_api", NO_ID, || {
        // SAFETY: the contract of the module.
        unsafe { text(name, "name") }?;
        create()
    })
}

/// Forgets an API.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_generic_free_api(aid: c_int) -> c_int {
    run("sion_generic_free_api", NOT_SUCCESS, || {
        free(aid)?;
        Ok(SUCCESS)
    })
}

/// The function that registers a callback.
macro_rules! registers {
    ($($name:ident, $field:ident, $success:expr, $failure:expr, $doc:literal,
        ($($argument:ty),*) -> $result:ty;)*) => {$(
        #[doc = $doc]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(
            aid: c_int,
            callback: Option<unsafe extern "C" fn($($argument),*) -> $result>,
        ) -> c_int {
            run(stringify!($name), $failure, || {
                register(aid, callback, |callbacks: &mut Callbacks| &mut callbacks.$field)?;
                Ok($success)
            })
        }
    )*};
}

registers! {
    lsion_generic_register_create_local_commgroup_cb, create_group, SUCCESS, NOT_SUCCESS,
        "Registers what makes the group of the processes of a file.",
        (*mut *mut c_void, *mut c_void, c_int, c_int, c_int, c_int, c_int, c_int) -> c_int;
    lsion_generic_register_free_local_commgroup_cb, free_group, SUCCESS, NOT_SUCCESS,
        "Registers what gives such a group back.", (*mut c_void) -> c_int;
    lsion_generic_register_barrier_cb, barrier, SUCCESS, NOT_SUCCESS,
        "Registers what waits for all processes of a group.", (*mut c_void) -> c_int;
    lsion_generic_register_bcastr_cb, bcast, SUCCESS, NOT_SUCCESS,
        "Registers what copies values of one process to all.",
        (*mut c_void, *mut c_void, c_int, c_int, c_int) -> c_int;
    lsion_generic_register_gatherr_cb, gather, SUCCESS, NOT_SUCCESS,
        "Registers what brings as many values of each process to one.",
        (*mut c_void, *mut c_void, *mut c_void, c_int, c_int, c_int) -> c_int;
    lsion_generic_register_gathervr_cb, gatherv, SUCCESS, NOT_SUCCESS,
        "Registers what brings values of each process to one.",
        (*mut c_void, *mut c_void, *mut c_void, c_int, *mut c_int, c_int, c_int) -> c_int;
    lsion_generic_register_scatterr_cb, scatter, SUCCESS, NOT_SUCCESS,
        "Registers what brings as many values of one process to each.",
        (*mut c_void, *mut c_void, *mut c_void, c_int, c_int, c_int) -> c_int;
    lsion_generic_register_scattervr_cb, scatterv, SUCCESS, NOT_SUCCESS,
        "Registers what brings values of one process to each. It is not called.",
        (*mut c_void, *mut c_void, *mut c_void, c_int, *mut c_int, c_int, c_int) -> c_int;
    lsion_generic_register_get_multi_filename_cb, name, 0, -1,
        "Registers what names the physical files: as SIONlib does, or the set is refused.",
        (*const c_char, c_int) -> *mut c_char;
    lsion_generic_register_gather_and_execute_cb, gather_and_execute, SUCCESS, NOT_SUCCESS,
        "Registers what gathers data for one process that writes it. It is not called.",
        (*const c_void, *mut i64, c_int, i64, *mut c_void, c_int, c_int, c_int, c_int,
            super::Process) -> c_int;
    lsion_generic_register_execute_and_scatter_cb, execute_and_scatter, SUCCESS, NOT_SUCCESS,
        "Registers what scatters data that one process has read. It is not called.",
        (*const c_void, *mut i64, c_int, i64, *mut c_void, c_int, c_int, c_int, c_int,
            super::Process) -> c_int;
    lsion_generic_register_get_capability_cb, capability, SUCCESS, NOT_SUCCESS,
        "Registers what says whether a process can write for others. It is not called.",
        (*mut c_void) -> c_int;
}

/// The communicator of a program with callbacks.
fn rank(aid: c_int, group: *mut c_void, (rank, size): (c_int, c_int)) -> Result<Rank, Failure> {
    let callbacks = get(aid)?;
    let Callbacks { create_group, free_group, barrier, bcast, gather, gatherv, scatter, .. } =
        callbacks;
    let groups = create_group.is_some() && free_group.is_some() && barrier.is_some();
    let values = bcast.is_some() && gather.is_some() && gatherv.is_some() && scatter.is_some();
    if !groups || !values || callbacks.scatterv.is_none() {
        return Err("the API has not all callbacks that are needed".into());
    }
    let place = (u32::try_from(rank)?, u32::try_from(size)?);
    if place.0 >= place.1 {
        return Err(format!("grank is {rank} of {size}").into());
    }
    Ok(Rank::new(Layer::new(callbacks, group, place)))
}

/// Whether the program names a physical file as SIONlib does.
fn check_name(aid: c_int, fname: *const c_char, number: c_int) -> Result<(), Failure> {
    let Some(name) = get(aid)?.name else { return Ok(()) };
    // SAFETY: the contract of the module.
    let whole = unsafe { text(fname, "fname") }?;
    let wanted = striae_core::sion::filename::Sibling(u32::try_from(number)?).to_string();
    let wanted = [whole, wanted.as_bytes()].concat();
    let fname = CString::new(std::ffi::OsStr::from_bytes(whole).as_bytes())?;
    // SAFETY: the header: "the name of a physical file, in memory of malloc".
    let named = unsafe { name(fname.as_ptr(), number) };
    // SAFETY: as above.
    let is_same = unsafe { bytes(named) } == Some(wanted.as_slice());
    // SAFETY: as above: free(3) frees memory of malloc, and nothing if the pointer is null.
    unsafe { libc::free(named.cast()) };
    match is_same {
        true => Ok(()),
        false => Err("get_multi_filename has another name than SIONlib for a file".into()),
    }
}

/// Opens a set with a task of each process. All processes of the group call this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_generic_paropen(
    aid: c_int,
    fname: *const c_char,
    file_mode: *const c_char,
    chunksize: *mut i64,
    fsblksize: *mut i32,
    group: *mut c_void,
    grank: c_int,
    gsize: c_int,
    filenumber: *mut c_int,
    nfiles: *mut c_int,
    _lrank: *const c_int,
    _lsize: *const c_int,
    fileptr: *mut *mut FILE,
    newfname: *mut *mut c_char,
) -> c_int {
    run("sion_generic_paropen", NO_ID, || {
        let comm = rank(aid, group, (grank, gsize))?;
        // SAFETY: the contract of the module.
        let number = unsafe { value(nfiles, "numfiles") };
        let mut own = if number.as_ref().is_ok_and(|number| *number == 1) { 1 } else { 0 };
        let color = || {
            // SAFETY: the contract of the module.
            let number = unsafe { value(filenumber, "filenumber") }?;
            check_name(aid, fname, number)?;
            Ok(u32::try_from(number)?)
        };
        let arguments = Arguments {
            fname,
            file_mode,
            nfiles: &raw mut own,
            chunksize,
            fsblksize,
            fileptr,
            newfname,
        };
        // SAFETY: the contract of the module.
        let set = unsafe { paropen((comm, Ok(())), None, arguments, (color, false)) }?;
        // SAFETY: the contract of the module.
        unsafe { store(nfiles, own) };
        // SAFETY: the contract of the module.
        unsafe { store(filenumber, set.about().filenumber) };
        add(set)
    })
}

/// Opens a set with any tasks of each process. All processes of the group call this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_generic_paropen_mapped(
    aid: c_int,
    fname: *mut c_char,
    file_mode: *const c_char,
    nfiles: *mut c_int,
    group: *mut c_void,
    grank: c_int,
    gsize: c_int,
    nlocaltasks: *mut c_int,
    globalranks: *mut *mut c_int,
    chunksizes: *mut *mut i64,
    filenumbers: *mut *mut c_int,
    lranks: *mut *mut c_int,
    fsblksize: *mut i32,
    fileptr: *mut *mut FILE,
) -> c_int {
    run("sion_generic_paropen_mapped", NO_ID, || {
        let comm = rank(aid, group, (grank, gsize))?;
        let arguments = MappedArguments {
            fname,
            file_mode,
            nfiles,
            nlocaltasks,
            globalranks,
            chunksizes,
            filenumbers,
            lranks,
            fsblksize,
            fileptr,
        };
        // SAFETY: the contract of the module.
        add(unsafe { paropen_mapped((comm, Ok(())), None, arguments, false) }?)
    })
}

/// Closes a set that [`lsion_generic_paropen`] has opened. It is closed also after an error.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_generic_parclose(sid: c_int) -> c_int {
    close_parallel("sion_generic_parclose", sid, &[Opened::InParallel])
}

/// Closes a set that [`lsion_generic_paropen_mapped`] has opened.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_generic_parclose_mapped(sid: c_int) -> c_int {
    close_parallel("sion_generic_parclose_mapped", sid, &[Opened::Mapped])
}

/// Gives the chunks of each task another size, before anything is written.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_generic_parreinit(sid: c_int, chunksize: i64) -> c_int {
    reinit("sion_generic_parreinit", sid, chunksize)
}
