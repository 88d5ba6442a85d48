//! Bodies that only read: each list and each byte that a file leads to, once. They compare nothing,
//! so that an engine tries as many inputs as the format allows; beside each is one with laws.

use striae_core::blob::map::Parser;
use striae_core::cdf::Reader as CdfReader;
use striae_core::ffrecord::Reader as FfrecordReader;
use striae_core::gsd::Reader as GsdReader;
use striae_core::sion::{Meta1, Opened, Physical};
use striae_kit::hdf5_opening::{Known, read_all};

/// The input is a physical SIONlib file: its tasks, the lengths of their chunks, its mapping.
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
