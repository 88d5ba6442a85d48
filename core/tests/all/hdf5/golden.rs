//! Files of the HDF5 library.

use super::{READ, golden_file};
use serde_json::Value;
use std::collections::BTreeMap;
use striae_core::endian::ByteOrder;
use striae_core::hdf5::{Array, Class, Error, Feature, Reader};
use striae_core::source::Fault;
use striae_core::step::DriveError;

type File<'a> = Reader<&'a [u8]>;

fn memory() -> [u8; 1024] {
    [0; Reader::<()>::MEMORY]
}

fn compare(name: &str, array: &Array, json: &Value, bytes: &[u8]) {
    let class = match array.element.class {
        Class::Integer { is_signed: true } => "i",
        Class::Integer { is_signed: false } => "u",
        Class::Float => "f",
        Class::Text => "S",
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(class, json["class"], "{name}");
    assert_eq!(u64::from(array.element.size), json["size"], "{name}");
    let is_big = array.element.order == ByteOrder::Big;
    assert_eq!(is_big, json["order"] == "big", "{name}");
    let lengths = &bytes[array.shape.lengths.offset() as usize..];
    let lengths = lengths.chunks_exact(8).take(usize::from(array.shape.rank));
    let shape: Vec<_> = lengths.map(|l| u64::from_le_bytes(l.try_into().unwrap())).collect();
    assert_eq!(serde_json::to_value(shape).unwrap(), json["shape"], "{name}");
    if let Some(offset) = json["offset"].as_u64() {
        assert_eq!(array.values.offset(), offset, "{name}");
    }
    let values = &bytes[array.values.offset() as usize..][..array.values.len() as usize];
    let values: String = values.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(values, json["bytes"], "{name}");
}

#[test]
fn every_array_is_what_h5py_reads() {
    for name in &READ[..3] {
        let bytes = golden_file(name);
        let json: Value = serde_json::from_slice(&golden_file(&format!("{name}.json"))).unwrap();
        let file = File::open(&bytes, &mut memory()).unwrap();
        for (name, json) in json["datasets"].as_object().unwrap() {
            let array = file.dataset(name.as_bytes(), &mut memory()).unwrap().unwrap();
            compare(name, &array, json, &bytes);
        }
        let json = json["attributes"].as_object().unwrap();
        for (name, json) in json {
            let found = file.attribute(name.as_bytes(), &mut memory()).unwrap().unwrap();
            compare(name, &found.array, json, &bytes);
        }
        let mut memory = memory();
        let attributes: Vec<_> = file.attributes(&mut memory).map(Result::unwrap).collect();
        assert_eq!(attributes.len(), json.len());
        assert_eq!(file.attribute(b"none", &mut memory), Ok(None));
        assert_eq!(file.dataset(b"none", &mut memory), Ok(None));
    }
}

#[test]
fn every_link_is_met_once() {
    for name in &READ[..3] {
        let bytes = golden_file(name);
        let json: Value = serde_json::from_slice(&golden_file(&format!("{name}.json"))).unwrap();
        let file = File::open(&bytes, &mut memory()).unwrap();
        let mut memory = memory();
        let links = file.links(&mut memory).map(Result::unwrap).map(|link| {
            let name = &bytes[link.name.offset() as usize..link.name.end() as usize];
            (String::from_utf8(name.to_vec()).unwrap(), link.object)
        });
        let mut links: BTreeMap<_, _> = links.collect();
        if *name == "superblock0.h5" {
            assert_eq!(links.remove("soft"), Some(None));
            assert!(links.remove("group").unwrap().is_some());
        }
        let datasets: Vec<_> = json["datasets"].as_object().unwrap().keys().cloned().collect();
        assert_eq!(links.keys().cloned().collect::<Vec<_>>(), datasets);
    }
}

#[test]
fn a_blob_file_has_its_two_arrays() {
    let bytes = golden_file("es_h1.h5.0001");
    let file = File::open(&bytes, &mut memory()).unwrap();
    let [header, data] = [&b"header_blob"[..], b"data_blob"]
        .map(|name| file.dataset(name, &mut memory()).unwrap().unwrap());
    for array in [header, data] {
        assert_eq!(array.element.class, Class::Integer { is_signed: false });
        assert_eq!((array.element.size, array.shape.rank), (1, 1));
        assert_eq!(array.shape.nelems, array.values.len());
    }
    assert_eq!(&bytes[header.values.offset() as usize..][..4], b"CDF\x05");
    assert_eq!(data.values.end(), bytes.len() as u64);
}

#[test]
fn what_is_not_read_is_refused_by_name() {
    for (name, feature) in [
        ("chunked", Feature::Chunked),
        ("filters", Feature::Filters),
        ("compact", Feature::Compact),
        ("external", Feature::External),
        ("not_allocated", Feature::NotAllocated),
        ("soft_link", Feature::LinkKind),
        ("dense_links", Feature::DenseLinks),
    ] {
        let bytes = golden_file(&format!("refused_{name}.h5"));
        let file = File::open(&bytes, &mut memory()).unwrap();
        match file.dataset(b"d", &mut memory()) {
            Err(DriveError::Format(Fault::Format(Error::Unsupported {
                feature: found, ..
            }))) => {
                assert_eq!(found, feature, "{name}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
    let bytes = golden_file("refused_dense_attributes.h5");
    let file = File::open(&bytes, &mut memory()).unwrap();
    assert!(matches!(
        file.attribute(b"title", &mut memory()),
        Err(DriveError::Format(Fault::Format(Error::Unsupported {
            feature: Feature::DenseAttributes,
            ..
        })))
    ));
    let bytes = golden_file("refused_user_block.h5");
    assert!(matches!(
        File::open(&bytes, &mut memory()),
        Err(DriveError::Format(Fault::Format(Error::NotHdf5 { .. })))
    ));
}
