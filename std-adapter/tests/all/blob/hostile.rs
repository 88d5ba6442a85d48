//! Any bytes are read right or refused.

use super::made::Made;
use super::{copied, golden_dir, threads};
use striae::Error;
use striae::blob::Set;
use striae::cdf::whole;

/// Reads all values of a set whose only subfile has these bytes.
fn read(bytes: &[u8]) -> Result<(), Error> {
    let dir = crate::in_memory();
    let path = dir.path().join("a.0000");
    std::fs::write(&path, bytes).unwrap();
    let set = threads(1).buffer(1 << 14).open(&path)?;
    set.decompositions()?;
    for variable in set.header().variables() {
        let start = vec![0; variable.shape().len()];
        let mut left = 1 << 15; // bytes that are looked at: a header may claim any number
        set.read_pieces(variable, whole(variable, &start), None, &mut |bytes| {
            left -= bytes.len().min(left);
            left > 0
        })?;
    }
    Ok(())
}

/// A subfile with a small header.
fn small() -> Vec<u8> {
    let dir = crate::in_memory();
    let subfiles = vec![vec![vec![(0, 2), (3, 1)], vec![(2, 1)]]];
    Made { rows: 1, columns: 5, numrecs: 2, subfiles }.write(dir.path());
    let bytes = std::fs::read(dir.path().join("set.nc.0000")).unwrap();
    read(&bytes).unwrap();
    bytes
}

#[test]
fn a_cut_header_is_refused() {
    let bytes = small();
    let header = bytes.len() - 200;
    for len in 0..header {
        if read(&bytes[..len]).is_ok() {
            assert!(len > 600, "{len}"); // values are missing, and filled
        }
    }
}

#[test]
fn a_wrong_bit_does_no_harm() {
    let bytes = small();
    for at in 0..bytes.len() {
        for bit in [0, 7] {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1 << bit;
            let _ = read(&bytes);
        }
    }
}

#[test]
fn a_wrong_byte_in_the_container_does_no_harm() {
    let bytes = std::fs::read(golden_dir().join("f4_n4_s1/blob_h1.h5.0000")).unwrap();
    read(&bytes).unwrap();
    let header = bytes.windows(4).position(|bytes| bytes == b"CDF\x05").unwrap();
    let data = header + 16236;
    for at in (0..700).step_by(5).chain((header..header + 600).step_by(3)).chain(data..data + 100) {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x81;
        let _ = read(&bytes);
    }
}

/// In HDF5 the blobs prove the number of records. A subfile that counts 2^62 of them is lost, and
/// another subfile counts; without one, there are no more records than bytes.
#[test]
fn records_that_no_blob_has_are_not_made() {
    let whole = Set::open(golden_dir().join("f8_n8_s3rr/blob_h1.h5")).unwrap();
    let (_dir, copy) = copied(whole.path());
    for (number, from) in whole.subfiles() {
        let mut bytes = std::fs::read(&from).unwrap();
        let at = bytes.windows(4).position(|bytes| bytes == b"CDF\x05").unwrap() + 4;
        assert_eq!(bytes[at..at + 8], whole.header().numrecs().to_le_bytes());
        bytes[at..at + 8].copy_from_slice(&(1_u64 << 62).to_le_bytes());
        std::fs::write(copy.with_file_name(from.file_name().unwrap()), &bytes).unwrap();
        let set = Set::open(&copy).unwrap();
        if number < 2 {
            assert_eq!(set.header().numrecs(), whole.header().numrecs(), "{number}");
        } else {
            assert!(set.header().numrecs() <= bytes.len() as u64);
        }
        assert!(set.blobs(number).unwrap().is_none());
        assert!(set.lost().iter().any(|lost| lost.number == number));
    }
}
