//! Sets with any tasks of each process. Their contract is that of the module `calls`.
#![allow(unsafe_code, reason = "the functions of sion.h get pointers of C programs")]
#![allow(
    clippy::missing_safety_doc,
    reason = "the contract of all is in `calls` and in the header"
)]

use crate::calls::{Wish, value};
use crate::comm::{duplicate, free_after};
use crate::create::{New, Tasks, chunksize, create};
use crate::mode::Together;
use crate::open::{Old, Wanted, open};
use libc::{FILE, c_char, c_int};
use mpi::ffi::MPI_Comm;
use std::fmt::Debug;
use striae_c::boundary::{path, slice, store};
use striae_c::sion::parts::{
    Failure, Mode, Opened, Set, add, close_parallel, give, give_stdio, run, text,
};
use striae_mpi::Collective;
use striae_mpi::mpi::Unfreed;
use striae_mpi::sion::Placed;

const NO_SID: c_int = -1;

/// What a program passes by the functions that open a set with any tasks of each process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MappedArguments {
    pub(crate) fname: *const c_char,
    pub(crate) file_mode: *const c_char,
    pub(crate) nfiles: *mut c_int,
    pub(crate) nlocaltasks: *mut c_int,
    pub(crate) globalranks: *mut *mut c_int,
    pub(crate) chunksizes: *mut *mut i64,
    pub(crate) filenumbers: *mut *mut c_int,
    pub(crate) lranks: *mut *mut c_int,
    pub(crate) fsblksize: *mut i32,
    pub(crate) fileptr: *mut *mut FILE,
}

/// Opens a set with any tasks of each process.
pub(crate) unsafe fn paropen_mapped<C: Collective + Debug + 'static>(
    (comm, mine): (C, Result<(), Failure>),
    unfreed: Option<Unfreed>,
    arguments: MappedArguments,
    has_messages: bool,
) -> Result<Set, Failure> {
    // SAFETY: the contract of the module.
    let wish = mine.and_then(|()| unsafe { mapped_wish(arguments, has_messages) });
    let set = match wish {
        Ok(Wish::Read(old)) => open(comm, Ok(old)),
        Ok(Wish::Write(new)) => create(comm, Ok(new.freed_by(unfreed.clone()))),
        Err(failure) => create(comm, Err(failure)), // the others get it in either case
    };
    let set = set.and_then(|mut set| {
        // SAFETY: the contract of the module.
        let shown = unsafe { show_mapped(&mut set, arguments) };
        set.agree(shown)?;
        Ok(set)
    });
    free_after(&set, unfreed.as_ref());
    set
}

/// The array of a caller, whose pointer is at `array`.
unsafe fn array<'a, T>(array: *mut *mut T, len: usize, what: &str) -> Result<&'a [T], Failure> {
    // SAFETY: the contract of the module.
    let values = unsafe { array.as_ref() }.filter(|array| !array.is_null() || len == 0);
    let values = values.ok_or_else(|| format!("{what} is a null pointer"))?;
    // SAFETY: the header: "arrays of nlocaltasks values".
    Ok(unsafe { slice(*values, len) })
}

/// Refuses an array of a caller that does not know how many values it gets, as SIONlib does.
unsafe fn check_null<T>(array: *mut *mut T, what: &str) -> Result<(), Failure> {
    // SAFETY: the contract of the module.
    match unsafe { array.as_ref() }.is_none_or(|array| array.is_null()) {
        true => Ok(()),
        false => Err(format!("{what} must be null if nlocaltasks is -1").into()),
    }
}

unsafe fn mapped_wish(arguments: MappedArguments, has_messages: bool) -> Result<Wish, Failure> {
    let MappedArguments { fname, file_mode, nlocaltasks, globalranks, .. } = arguments;
    // SAFETY: the contract of the module.
    let (name, words) = unsafe { (text(fname, "fname")?, text(file_mode, "file_mode")?) };
    let (mode, path) = (Mode::parse(words), path(name).to_owned());
    // SAFETY: the contract of the module.
    let count = unsafe { value(nlocaltasks, "nlocaltasks") }?;
    if !mode.writes {
        let wanted = match usize::try_from(count) {
            Err(_) => {
                // SAFETY: the contract of the module.
                unsafe { check_null(globalranks, "globalranks") }?;
                // SAFETY: the contract of the module.
                unsafe { check_null(arguments.filenumbers, "mapping_filenrs") }?;
                // SAFETY: the contract of the module.
                unsafe { check_null(arguments.lranks, "mapping_lranks") }?;
                Wanted::Dealt
            }
            Ok(count) => {
                // SAFETY: the contract of the module.
                let ranks = unsafe { array(globalranks, count, "globalranks") }?;
                Wanted::Ranks(ranks.iter().map(|&rank| rank.into()).collect())
            }
        };
        return Ok(Wish::Read(Old { path, mode, wanted }));
    }
    let count = usize::try_from(count).map_err(|_| format!("nlocaltasks is {count}"))?;
    // SAFETY: the contract of the module.
    let (ranks, sizes) = unsafe {
        let sizes = array(arguments.chunksizes, count, "chunksizes")?;
        (array(globalranks, count, "globalranks")?, sizes)
    };
    // SAFETY: the contract of the module.
    let (files, locals) = unsafe {
        let locals = array(arguments.lranks, count, "mapping_lranks")?;
        (array(arguments.filenumbers, count, "mapping_filenrs")?, locals)
    };
    // SAFETY: the contract of the module.
    let number = unsafe { value(arguments.nfiles, "numFiles") }?;
    let nfiles = u32::try_from(number).ok().filter(|number| *number > 0);
    let nfiles = nfiles.ok_or_else(|| format!("numFiles is {number}, must be positive"))?;
    let place = |((&globalrank, &size), (&file, &local))| -> Result<Placed, Failure> {
        Ok(Placed {
            file: u32::try_from(file)?,
            local: u32::try_from(local)?,
            globalrank: u32::try_from(globalrank)?,
            chunksize: chunksize(size)?,
        })
    };
    let all = ranks.iter().zip(sizes).zip(files.iter().zip(locals));
    let tasks = Tasks::Placed { tasks: all.map(place).collect::<Result<_, _>>()?, nfiles };
    // SAFETY: the contract of the module.
    let fsblksize = unsafe { value(arguments.fsblksize, "fsblksize") }.unwrap_or(-1);
    let together = Together::parse(words);
    Ok(Wish::Write(New { path, mode, together, fsblksize, tasks, has_messages, unfreed: None }))
}

/// Gives the results of a mapped open to the caller: of a set that is read, in the order of the
/// global ranks that it wants.
unsafe fn show_mapped(set: &mut Set, arguments: MappedArguments) -> Result<(), Failure> {
    let MappedArguments { nlocaltasks, globalranks, .. } = arguments;
    // SAFETY: the contract of the module.
    let wanted = unsafe { value(nlocaltasks, "nlocaltasks") }?;
    let mut entries: Vec<_> = set.tracks().iter().map(|track| *track.entry()).collect();
    let is_dealt = wanted < 0;
    if is_dealt {
        entries.sort_by_key(|entry| entry.place.globalrank);
        let ranks = entries.iter().map(|entry| c_int::try_from(entry.place.globalrank));
        // SAFETY: the contract of the module.
        unsafe { give(globalranks, &ranks.collect::<Result<Vec<_>, _>>()?) }?;
    } else {
        // SAFETY: the contract of the module.
        let ranks = unsafe { array(globalranks, usize::try_from(wanted)?, "globalranks") }?;
        let found = |rank: &c_int| {
            let is_it = |entry: &&_| -> bool {
                let entry: &striae::sion::TaskEntry = entry;
                entry.place.globalrank == i64::from(*rank)
            };
            entries.iter().find(is_it).copied()
        };
        entries = ranks.iter().filter_map(found).collect();
    }
    let sizes = entries.iter().map(|entry| i64::try_from(entry.place.chunks.chunksize));
    // SAFETY: the contract of the module.
    unsafe { give(arguments.chunksizes, &sizes.collect::<Result<Vec<_>, _>>()?) }?;
    let files = entries.iter().map(|entry| c_int::try_from(entry.file));
    // SAFETY: the contract of the module.
    unsafe { give(arguments.filenumbers, &files.collect::<Result<Vec<_>, _>>()?) }?;
    let locals = entries.iter().map(|entry| c_int::try_from(entry.place.local));
    // SAFETY: the contract of the module.
    unsafe { give(arguments.lranks, &locals.collect::<Result<Vec<_>, _>>()?) }?;
    // SAFETY: the contract of the module.
    unsafe { store(nlocaltasks, c_int::try_from(entries.len())?) };
    // SAFETY: the contract of the module.
    unsafe { store(arguments.nfiles, set.about().nfiles) };
    // SAFETY: the contract of the module.
    unsafe { store(arguments.fsblksize, set.about().fsblksize) };
    if entries.is_empty() {
        // SAFETY: the contract of the module.
        unsafe { store(arguments.fileptr, std::ptr::null_mut()) };
        return Ok(());
    }
    // SAFETY: the contract of the module.
    unsafe { give_stdio(set, arguments.fileptr) }
}

/// Opens a set with any tasks of each process. All processes of `gComm` call this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_paropen_mapped_mpi(
    fname: *mut c_char,
    file_mode: *const c_char,
    nfiles: *mut c_int,
    whole: MPI_Comm,
    nlocaltasks: *mut c_int,
    globalranks: *mut *mut c_int,
    chunksizes: *mut *mut i64,
    filenumbers: *mut *mut c_int,
    lranks: *mut *mut c_int,
    fsblksize: *mut i32,
    fileptr: *mut *mut FILE,
) -> c_int {
    run("sion_paropen_mapped_mpi", NO_SID, || {
        // SAFETY: the contract of the module.
        let opened = unsafe { duplicate(whole) }?;
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
        let unfreed = Some(opened.0.unfreed());
        // SAFETY: the contract of the module.
        add(unsafe { paropen_mapped(opened, unfreed, arguments, true) }?)
    })
}

/// Closes a set that [`lsion_paropen_mapped_mpi`] has opened.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_parclose_mapped_mpi(sid: c_int) -> c_int {
    close_parallel("sion_parclose_mapped_mpi", sid, &[Opened::Mapped])
}
