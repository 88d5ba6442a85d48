//! What is known of a set and of a position. The contract of the functions is that of the module
//! `calls`.
#![allow(unsafe_code, reason = "the functions of sion.h get pointers of C programs")]
#![allow(clippy::missing_safety_doc, reason = "the contract of all is in sion.h")]

use super::failure::Failure;
use super::registry::{run, with};
use super::set::{Opened, Set};
use super::stdio::{free, malloc_copy};
use crate::boundary::{slice, store};
use libc::{c_char, c_int, size_t};
use std::ffi::CString;
use std::mem::offset_of;
use std::os::unix::ffi::OsStrExt;
use std::ptr;

const SUCCESS: c_int = 1;
const NOT_SUCCESS: c_int = 0;

/// Bytes left in the current chunk, to read or to write.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_bytes_avail_in_chunk(sid: c_int) -> i64 {
    with("sion_bytes_avail_in_chunk", sid, -1, |set| {
        set.sync()?;
        let writes = set.writes();
        let track = set.loaded()?;
        let end = if writes { track.entry.place.chunks.chunksize } else { track.len() };
        Ok(i64::try_from(end.saturating_sub(track.at))?)
    })
}

/// Another name of [`lsion_bytes_avail_in_chunk`].
#[unsafe(no_mangle)]
pub extern "C" fn lsion_bytes_avail_in_block(sid: c_int) -> i64 {
    lsion_bytes_avail_in_chunk(sid)
}

/// Bytes of the current rank that were written; -1 for a set that is read.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_get_bytes_written(sid: c_int) -> i64 {
    with("sion_get_bytes_written", sid, -1, |set| {
        set.sync()?;
        Ok(if set.writes() { i64::try_from(set.track()?.bytes())? } else { -1 })
    })
}

/// Bytes before the position of the current rank; -1 for a set that is written.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_get_bytes_read(sid: c_int) -> i64 {
    with("sion_get_bytes_read", sid, -1, |set| {
        set.sync()?;
        Ok(if set.writes() { -1 } else { i64::try_from(set.loaded()?.bytes_before())? })
    })
}

/// Offset of the current position in the physical file.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_get_position(sid: c_int) -> i64 {
    with("sion_get_position", sid, -1, |set| {
        set.sync()?;
        Ok(i64::try_from(set.track()?.offset().ok_or("there is no such position")?)?)
    })
}

/// Puts numbers in an array that a program may have a pointer to: it stays where it is, unless it
/// has to grow.
fn fill(array: &mut Vec<i64>, numbers: impl Iterator<Item = u64>) -> Result<(), Failure> {
    array.clear();
    for number in numbers {
        array.push(i64::try_from(number)?);
    }
    Ok(())
}

/// Fills the arrays of all tasks, in a set that is read only once; returns the number of rows.
fn show_all(set: &mut Set) -> Result<usize, Failure> {
    set.sync()?;
    for rank in 0..set.tracks.len() {
        set.load(rank)?;
    }
    let (tracks, writes) = (&set.tracks, set.writes());
    let maxchunks = tracks.iter().map(|track| track.lens().len()).max().unwrap_or(0);
    if !writes && !set.shown.blockcounts.is_empty() {
        return Ok(maxchunks); // nothing of it changes
    }
    let rows = (0..maxchunks).flat_map(|chunk| {
        tracks.iter().map(move |track| track.lens().get(chunk).copied().unwrap_or(0))
    });
    let counts = tracks.iter().map(|track| u64::try_from(track.lens().len()).unwrap_or(u64::MAX));
    let sizes = tracks.iter().map(|track| track.entry.place.chunks.chunksize);
    let shown = &mut set.shown;
    fill(&mut shown.blocksizes, rows)?;
    fill(&mut shown.blockcounts, counts)?;
    fill(&mut shown.chunksizes, sizes)?;
    shown.globalranks.clear();
    shown.globalranks.extend(tracks.iter().map(|track| track.entry.place.globalrank));
    Ok(maxchunks)
}

/// Where all chunks of all tasks are. The arrays are valid until the next call for this set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_get_locations(
    sid: c_int,
    ntasks: *mut c_int,
    maxchunks: *mut c_int,
    globalskip: *mut i64,
    start_of_varheader: *mut i64,
    chunksizes: *mut *mut i64,
    globalranks: *mut *mut i64,
    blockcount: *mut *mut i64,
    blocksizes: *mut *mut i64,
) -> c_int {
    with("sion_get_locations", sid, NOT_SUCCESS, |set| {
        let most = c_int::try_from(show_all(set)?)?;
        let count = c_int::try_from(set.tracks.len())?;
        for (place, value) in [(ntasks, count), (maxchunks, most)] {
            // SAFETY: sion.h: "memory for the results, or null".
            unsafe { store(place, value) };
        }
        let about = &set.about;
        for (place, value) in
            [(globalskip, about.globalskip), (start_of_varheader, about.start_of_varheader)]
        {
            // SAFETY: sion.h: "memory for the results, or null".
            unsafe { store(place, value) };
        }
        let shown = &mut set.shown;
        for (place, values) in [
            (chunksizes, &mut shown.chunksizes),
            (globalranks, &mut shown.globalranks),
            (blockcount, &mut shown.blockcounts),
            (blocksizes, &mut shown.blocksizes),
        ] {
            // SAFETY: sion.h: "memory for the results, or null".
            unsafe { store(place, values.as_mut_ptr()) };
        }
        Ok(SUCCESS)
    })
}

/// Fills the array of the current task, if it is another one's, or may have changed.
fn show_lens(set: &mut Set) -> Result<(), Failure> {
    let (rank, writes) = (set.rank, set.writes());
    if writes || set.shown.lens_of != Some(rank) {
        let lens = set.loaded()?.lens().to_vec();
        let shown = &mut set.shown;
        shown.lens.reserve(set.about.maxchunks.saturating_sub(shown.lens.len()));
        fill(&mut shown.lens, lens.into_iter())?;
        shown.lens_of = Some(rank);
    }
    Ok(())
}

/// Chunk and position of the current rank, and the used bytes of its chunks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_get_current_location(
    sid: c_int,
    block: *mut c_int,
    position: *mut i64,
    maxchunks: *mut c_int,
    chunksizes: *mut *mut i64,
) -> c_int {
    with("sion_get_current_location", sid, NOT_SUCCESS, |set| {
        set.sync()?;
        show_lens(set)?;
        let track = set.track()?;
        let (chunk, at) = (c_int::try_from(track.chunk)?, i64::try_from(track.at)?);
        let count = c_int::try_from(set.shown.lens.len())?;
        for (place, value) in [(block, chunk), (maxchunks, count)] {
            // SAFETY: sion.h: "memory for the results, or null".
            unsafe { store(place, value) };
        }
        // SAFETY: as above.
        unsafe { store(position, at) };
        // SAFETY: as above.
        unsafe { store(chunksizes, set.shown.lens.as_mut_ptr()) };
        Ok(SUCCESS)
    })
}

/// Offsets and chunks at which all tasks stand.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_get_current_locations(
    sid: c_int,
    ntasks: *mut c_int,
    positions: *mut *mut i64,
    blocks: *mut *mut i64,
) -> c_int {
    with("sion_get_current_locations", sid, NOT_SUCCESS, |set| {
        set.sync()?;
        let offsets = set.tracks.iter().map(|track| track.offset().unwrap_or(0));
        let chunks = set.tracks.iter().map(|track| u64::try_from(track.chunk).unwrap_or(0));
        fill(&mut set.shown.positions, offsets)?;
        fill(&mut set.shown.blocks, chunks)?;
        // SAFETY: sion.h: "memory for the results, or null".
        unsafe { store(ntasks, c_int::try_from(set.tracks.len())?) };
        let shown = &mut set.shown;
        for (place, values) in [(positions, &mut shown.positions), (blocks, &mut shown.blocks)] {
            // SAFETY: as above.
            unsafe { store(place, values.as_mut_ptr()) };
        }
        Ok(SUCCESS)
    })
}

/// The mapping of a set of several files: file and local rank of each task. -1 if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_get_mapping(
    sid: c_int,
    mapping_size: *mut c_int,
    mapping: *mut *mut i32,
    numfiles: *mut c_int,
) -> c_int {
    with("sion_get_mapping", sid, NOT_SUCCESS, |set| {
        let about = &mut set.about;
        let size = c_int::try_from(about.mapping.len() / 2)?;
        // SAFETY: sion.h: "memory for the results, or null".
        unsafe { store(mapping_size, if size == 0 { -1 } else { size }) };
        if size > 0 {
            // SAFETY: as above.
            unsafe { store(mapping, about.mapping.as_mut_ptr()) };
        }
        // SAFETY: as above.
        unsafe { store(numfiles, about.nfiles) };
        Ok(SUCCESS)
    })
}

/// Number of physical files of the set.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_get_number_of_files(sid: c_int) -> c_int {
    with("sion_get_number_of_files", sid, -1, |set| Ok(set.about.nfiles))
}

/// Number of the physical file in its set.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_get_filenumber(sid: c_int) -> c_int {
    with("sion_get_filenumber", sid, -1, |set| Ok(set.about.filenumber))
}

/// Whether the set was opened serially.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_is_serial_opened(sid: c_int) -> c_int {
    with("sion_is_serial_opened", sid, -1, |set| Ok(c_int::from(set.opened == Opened::Serially)))
}

/// 0: file systems get no hints.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_using_hints(sid: c_int) -> c_int {
    with("sion_using_hints", sid, -1, |_| Ok(0))
}

/// About how much memory a set needs, and how many descriptors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_get_sizeof(
    sid: c_int,
    numbytes: *mut c_int,
    numfds: *mut c_int,
) -> c_int {
    // SAFETY: sion.h: "memory for the results, or null".
    unsafe { store(numbytes, -1) };
    // SAFETY: as above.
    unsafe { store(numfds, -1) };
    with("sion_get_sizeof", sid, -1, |set| {
        let lens = set.tracks.iter().map(|track| size_of_val(track.lens()));
        let own = size_of::<Set>().saturating_add(size_of_val(set.tracks.as_slice()));
        let bytes = lens.fold(own, usize::saturating_add);
        let fds = set.about.paths.len().saturating_add(set.mirrors.len());
        // SAFETY: as above.
        unsafe { store(numbytes, c_int::try_from(bytes).unwrap_or(c_int::MAX)) };
        // SAFETY: as above.
        unsafe { store(numfds, c_int::try_from(fds).unwrap_or(c_int::MAX)) };
        Ok(SUCCESS)
    })
}

/// `sion_io_stat_t`: the files of a set.
#[repr(C)]
#[derive(Debug)]
pub struct SionIoStat {
    /// The number of files.
    pub nfiles: c_int,
    /// Their names.
    pub names: *mut *const c_char,
    /// The bytes of all streams of each.
    pub sizes: *mut size_t,
    /// What the program does with each: `SION_ROLE_WRITER` or `SION_ROLE_READER`.
    pub roles: *mut c_int,
}

/// What `tests/layout.c` compares with its own `sizeof` and `offsetof`.
#[unsafe(no_mangle)]
pub static striae_sion_io_stat_layout: [usize; 5] = [
    size_of::<SionIoStat>(),
    offset_of!(SionIoStat, nfiles),
    offset_of!(SionIoStat, names),
    offset_of!(SionIoStat, sizes),
    offset_of!(SionIoStat, roles),
];

/// The files of a set; null after an error. Freed by [`lsion_free_io_info`].
#[unsafe(no_mangle)]
pub extern "C" fn lsion_get_io_info(sid: c_int) -> *mut SionIoStat {
    lsion_get_io_info_by_spec(sid, -1, 0)
}

/// The files of a set of which the program has one of these roles.
#[unsafe(no_mangle)]
pub extern "C" fn lsion_get_io_info_by_spec(
    sid: c_int,
    roles: c_int,
    _flag: c_int,
) -> *mut SionIoStat {
    const WRITER: c_int = 4;
    const READER: c_int = 16;
    with("sion_get_io_info", sid, ptr::null_mut(), |set| {
        show_all(set)?;
        let role = if set.writes() { WRITER } else { READER };
        let mut files = Vec::new();
        for &(number, ref path) in &set.about.paths {
            let tasks = set.tracks.iter().filter(|track| track.entry.file == number);
            let bytes = tasks.fold(0, |sum: u64, track| sum.saturating_add(track.bytes()));
            files.push((CString::new(path.as_os_str().as_bytes())?, size_t::try_from(bytes)?));
        }
        files.retain(|_| roles & role != 0);
        let names = files.iter().map(|(name, _)| copy_of(name)).collect::<Vec<_>>();
        let sizes = files.iter().map(|(_, size)| *size).collect::<Vec<_>>();
        let stat = SionIoStat {
            nfiles: c_int::try_from(files.len())?,
            names: malloc_copy(&names),
            sizes: malloc_copy(&sizes),
            roles: malloc_copy(&vec![role; files.len()]),
        };
        Ok(malloc_copy(&[stat.into_raw()]).cast())
    })
}

fn copy_of(name: &CString) -> *const c_char {
    malloc_copy(name.as_bytes_with_nul()).cast()
}

/// A copy of the structure that can be copied to memory of `malloc`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Raw(c_int, *mut *const c_char, *mut size_t, *mut c_int);

impl SionIoStat {
    const fn into_raw(self) -> Raw {
        Raw(self.nfiles, self.names, self.sizes, self.roles)
    }
}

/// Frees the files of a set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lsion_free_io_info(info: *mut SionIoStat) -> c_int {
    run("sion_free_io_info", NOT_SUCCESS, || {
        // SAFETY: sion.h: "info: what sion_get_io_info has returned, or null".
        let Some(stat) = (unsafe { info.as_ref() }) else { return Ok(NOT_SUCCESS) };
        // SAFETY: `names` has `nfiles` pointers.
        for name in unsafe { slice(stat.names, usize::try_from(stat.nfiles)?) } {
            // SAFETY: `copy_of` has it from malloc.
            unsafe { free(name.cast_mut().cast()) };
        }
        for part in [stat.names.cast(), stat.sizes.cast(), stat.roles.cast(), info.cast()] {
            // SAFETY: `malloc_copy` has made all of them, and they are not used any more.
            unsafe { free(part) };
        }
        Ok(SUCCESS)
    })
}
