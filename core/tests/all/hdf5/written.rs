//! Containers that striae writes. `tests/interop/hdf5_blob.py` shows that the HDF5 library reads
//! the golden files, and this that the encoder makes them.

use super::golden_file;
use striae_core::hdf5::{Container, Reader};

fn container(header: &[u8], data: &[u8]) -> Vec<u8> {
    let container = Container::new(header.len() as u64, data.len() as u64).unwrap();
    assert_eq!(container.header().offset(), Container::METADATA as u64);
    [&container.metadata()[..], header, data].concat()
}

#[test]
fn a_written_container_is_that_which_the_hdf5_library_read() {
    let data: Vec<_> = (0..=255).collect();
    assert_eq!(container(b"CDF\x05 header", &data), golden_file("written_blob.h5"));
    assert_eq!(container(b"CDF\x05", b""), golden_file("written_empty.h5"));
}

#[test]
fn a_written_container_is_read_back() {
    for (header_len, data_len) in [(1, 1), (0, 0), (4, 0), (16236, 340), (70000, 1 << 20)] {
        let container = Container::new(header_len, data_len).unwrap();
        let mut file = container.metadata().to_vec();
        file.resize(container.data().end() as usize, 0);
        let mut memory = [0; Reader::<()>::MEMORY];
        let file = Reader::open(&file[..], &mut memory).unwrap();
        for (name, span) in [("header_blob", container.header()), ("data_blob", container.data())] {
            let array = file.dataset(name.as_bytes(), &mut memory).unwrap().unwrap();
            assert_eq!(array.values.len(), span.len());
            assert!(span.is_empty() || array.values == span);
        }
    }
    assert_eq!(Container::new(u64::MAX, 1), None);
    assert_eq!(Container::new(1, u64::MAX), None);
}
