//! Any bytes: an error, or a reading that ends, over whatever the file is read.

use super::{READ, golden_dir, golden_file};
use striae_core::hdf5::{Error, Search, superblock};
use striae_core::source::Fault;
use striae_kit::hdf5_opening::{agrees, hdf5_open};
use striae_kit::hosts::stride;

fn all_names() -> Vec<String> {
    let names = std::fs::read_dir(golden_dir()).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    let names: Vec<_> =
        names.filter(|name| name.contains(".h5") && !name.ends_with("json")).collect();
    assert!(names.len() > 10);
    names
}

#[test]
fn a_view_of_any_pages_has_what_a_slice_has() {
    for name in all_names() {
        let file = golden_file(&name);
        for page_len in (0..=128).chain([200, 256, 512, 1024, 4096]) {
            agrees(&file, page_len);
        }
    }
}

#[test]
fn pages_of_96_bytes_are_enough() {
    for name in READ {
        let file = golden_file(name);
        let mut memory = vec![0; 4 * 96];
        let file = striae_core::hdf5::Reader::open(&file[..], &mut memory).unwrap();
        assert!(file.links(&mut vec![0; 4 * 96]).all(|link| link.is_ok()));
    }
}

/// A file that ends before its last array ends: the error says so.
#[test]
fn every_prefix_ends_in_an_error_or_lacks_other_arrays_only() {
    let file = golden_file("es_h1.h5.0001");
    for len in (0..file.len()).step_by(stride(5)) {
        let prefix = &file[..len];
        let found = superblock::root(prefix)
            .and_then(|root| Search::default().dataset(prefix, root, b"data_blob"));
        match found {
            Err(
                Fault::Miss(_) | Fault::Format(Error::NotHdf5 { .. } | Error::OutOfFile { .. }),
            ) => {}
            other => panic!("{len}: {other:?}"),
        }
    }
    for name in READ {
        let file = golden_file(name);
        let step = if file.len() < 5000 { 1 } else { 37 };
        for len in (0..file.len()).step_by(step) {
            agrees(&file[..len], 96);
        }
    }
}

/// All metadata of the new format have checksums: no flipped bit goes unseen.
#[test]
fn every_flipped_bit_of_the_metadata_is_an_error() {
    let file = golden_file("es_h1.h5.0001");
    let find = |file: &[u8]| {
        let root = superblock::root(file)?;
        let header = Search::default().dataset(file, root, b"header_blob")?;
        Ok::<_, Fault<Error>>((header, Search::default().dataset(file, root, b"data_blob")?))
    };
    let right = find(&file).unwrap();
    let metadata = 763;
    for bit in 0..8 * metadata {
        let mut file = file.clone();
        file[bit / 8] ^= 1 << (bit % 8);
        assert_ne!(find(&file), Ok(right), "bit {bit}");
        assert!(find(&file).is_err(), "bit {bit}");
    }
}

#[test]
fn a_flipped_bit_of_the_old_metadata_is_read_alike_and_ends() {
    let file = golden_file("superblock0.h5");
    // On a slow host a bit of every third byte, each of the eight in turn.
    for bit in (0..8 * file.len().min(2048)).step_by(stride(23)) {
        let mut file = file.clone();
        file[bit / 8] ^= 1 << (bit % 8);
        agrees(&file, 96);
    }
    for name in READ {
        hdf5_open(&golden_file(name));
    }
}

/// Each integer of the metadata at its extremes.
#[test]
fn odd_values_are_read_alike_and_end() {
    for name in ["superblock0.h5", "superblock2.h5"] {
        let file = golden_file(name);
        for at in (0..file.len().min(4096)).step_by(4 * stride(15)) {
            for value in [0, file.len() as u64, u64::MAX] {
                for len in [2, 8] {
                    let mut file = file.clone();
                    let end = file.len().min(at + len);
                    file[at..end].copy_from_slice(&value.to_le_bytes()[..end - at]);
                    agrees(&file, 96);
                }
            }
        }
    }
}
