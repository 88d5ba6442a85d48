//! Bodies that only read: each list and each byte that a file leads to, once. They compare nothing,
//! so that an engine tries as many inputs as the format allows; beside each is one with laws.

use std::num::NonZeroU32;
use striae_core::blob::map::Parser;
use striae_core::blob::map::table::{Ranks, Rule, Table};
use striae_core::cdf::Reader as CdfReader;
use striae_core::ffrecord::Reader as FfrecordReader;
use striae_core::gsd::Reader as GsdReader;
use striae_core::sion::{KeyvalMode, Meta1, Opened, Physical, Records};
use striae_hoomd::{File, Trajectory};
use striae_inspect::blob::subfile::Head;
use striae_inspect::blob::{Sealed, Subfile};
use striae_kit::hdf5_opening::{Known, read_all};

/// Frames that are read; each may be as long as the file.
const FRAMES: u64 = 4;

/// Members of a group that are read: more of them are the default, which takes no place in a file.
const MEMBERS: u32 = 1 << 10;

/// The input is a physical SIONlib file: its tasks, the lengths of their chunks, their records, its
/// mapping.
pub fn sion_plain(data: &[u8]) {
    match Physical::open(data, &mut [0; Meta1::MAX_LEN]) {
        Err(_) => {}
        Ok(Opened::Unclosed(file)) => {
            let Ok(tasks) = file.tasks([0; 512]) else { return };
            tasks.for_each(drop);
        }
        Ok(Opened::Closed(file)) => {
            let Ok(tasks) = file.tasks([0; 512]) else { return };
            for listed in tasks.flatten() {
                file.chunk_lens(listed.task, [0; 512]).for_each(drop);
                if file.meta1().keyval() == KeyvalMode::Inline
                    && let Ok(records) =
                        Records::new(&mut file.stream(listed.task), file.meta1().order())
                {
                    records.for_each(drop);
                }
            }
            let Ok(Some(mapping)) = file.mapping() else { return };
            let _ = mapping.entry(mapping.len() / 2);
        }
    }
}

/// The input is a GSD file: its names and its chunks.
pub fn gsd_plain(data: &[u8]) {
    let Ok(file) = GsdReader::open(data, &mut [0; 256]) else { return };
    let mut names = file.names([0; 512]);
    while let Ok(Some(_)) = names.next() {}
    file.chunks([0; 512]).for_each(drop);
}

/// The input is a GSD file of the schema hoomd: the first frames, and what was logged.
pub fn hoomd_plain(data: &[u8]) {
    let Ok(all) = Trajectory::<File<&[u8]>>::open(data) else { return };
    for frame in all.frames(..all.len().min(FRAMES)).flatten() {
        if frame.particles().n().is_ok_and(|n| n <= MEMBERS) {
            let _ = frame.read();
        }
    }
    let _ = all.logs().frames(0..all.len().min(FRAMES)).read();
}

/// The input is a classic netCDF file: its header.
pub fn cdf_plain(data: &[u8]) {
    let (mut lengths, mut page) = ([0; 64], [0; 512]);
    let Ok(file) = CdfReader::open(data, &mut lengths, &mut page) else { return };
    file.variables([0; 512]).for_each(drop);
}

/// The input is an HDF5 file: the links of its root group, their arrays, the attributes.
pub fn hdf5_plain(data: &[u8]) {
    let _ = read_all(data, &mut Known::default());
}

/// The input is a subfile of a blob set, in either container: its header, where its blobs are, its
/// seal; or a netCDF map: the requests of its ranks.
pub fn blob_plain(data: &[u8]) {
    if let Ok(head) = Head::read(&data)
        && let Ok(subfile) = Subfile::examine(&data, &head, &mut |_| Ok(()))
    {
        let _ = Sealed::read(&data, &head, subfile.numrecs);
    }
    let (mut lengths, mut page) = ([0; 64], [0; 512]);
    let Ok(file) = CdfReader::open(data, &mut lengths, &mut page) else { return };
    for id in (1..=2).filter_map(NonZeroU32::new) {
        let Ok(table) = Table::find(&file, id, &mut page) else { continue };
        let mut ranks = Ranks::new(id, Rule::Nreqs, table.total());
        let nreqs = table.nreqs.offset().try_into().ok().and_then(|start: usize| data.get(start..));
        for value in striae_core::blob::map::table::values(nreqs.unwrap_or_default())
            .take(table.nprocs().try_into().unwrap_or(0))
        {
            let Ok(place) = ranks.next(value, None) else { break };
            let (mut offsets, mut lengths) = ([0; 512], [0; 512]);
            if let Ok(requests) = table.requests(&data, place, &mut offsets, &mut lengths) {
                requests.for_each(drop);
            }
        }
    }
}

/// The input is an ffrecord file: the places of its samples.
pub fn ffrecord_plain(data: &[u8]) {
    let Ok(file) = FfrecordReader::open(data, &mut [0; 512]) else { return };
    file.samples(0..file.n(), [0; 512]).for_each(drop);
}

/// The input is a text map: its numbers.
pub fn map_plain(mut data: &[u8]) {
    let mut parser = Parser::default();
    while let Ok(Some(_)) = parser.feed(&mut data) {}
    let _ = parser.finish();
}
