//! Sealed sets: the values are those of a set without a seal, and the seal has the checksum of each
//! blob of each variable.

use super::blob_written::{Set, datasets, subfiles};
use std::fs;
use std::path::{Path, PathBuf};
use striae::Output;
use striae::blob::Container;
use striae::cdf::{File, Variable};
use striae::striae_core::blob::seal::{Duplicate, Facts, FindSeal, Seal, Shape, header_crc};
use striae::striae_core::hdf5;
use striae::striae_core::integrity::crc32c;
use striae::striae_core::span::Span;
use striae::striae_core::step::drive_read;
use tempfile::TempDir;

/// A set of E3SM-IO's arrays that was packed into a folder.
fn packed(set: &Set, container: Container, sealed: bool, folder: &Path) -> Vec<PathBuf> {
    let out = folder.join(if sealed { "sealed" } else { "plain" });
    let pack = set.pack(container).sealed(sealed).output(Output::new().force(true));
    pack.run(&set.canonical(), &set.map, &out, &|_| ()).unwrap();
    subfiles(&out, set.nsubfiles)
}

/// The places of the header and of the first value of a subfile, and the header's own offset.
fn parts(path: &Path, container: Container) -> (Span, u64) {
    match container {
        Container::Cdf => {
            let file = File::open(path).unwrap();
            let first = file.header().variables().map(Variable::begin).min().unwrap();
            (Span::new(0, file.header().head().header_len).unwrap(), first)
        }
        Container::Hdf5 => {
            let bytes = fs::read(path).unwrap();
            let mut memory = [0; hdf5::Reader::<()>::MEMORY];
            let file = hdf5::Reader::open(&bytes[..], &mut memory).unwrap();
            let mut of = |name: &[u8]| file.dataset(name, &mut memory).unwrap().unwrap().values;
            (of(b"header_blob"), of(b"data_blob").offset())
        }
    }
}

/// What a subfile says, and its gap. The variables are counted in `cdf`, a CDF-5 subfile.
fn facts(path: &Path, container: Container, cdf: &File) -> (Facts, Span) {
    let (header, values_begin) = parts(path, container);
    let bytes = fs::read(path).unwrap();
    let bytes = &bytes[header.offset() as usize..header.end() as usize];
    let nblobs = cdf.header().dims().find(|dim| dim.name == "nblobs").unwrap().length;
    let facts = Facts {
        shape: Shape::new(nblobs, cdf.header().variables().count() as u64).unwrap(),
        header_len: header.len(),
        header_crc: header_crc(bytes, crc32c),
        values_begin,
        numrecs: cdf.numrecs(),
    };
    (facts, Span::between(header.end(), values_begin).unwrap())
}

fn seal_of(path: &Path, (facts, gap): (Facts, Span)) -> Option<Seal> {
    let bytes = fs::read(path).unwrap();
    let found = drive_read(&mut FindSeal::new(gap, crc32c), &bytes[..], &mut [0; 512]).unwrap();
    if let [Duplicate::Whole(one), Duplicate::Whole(other)] = found.copies {
        assert_eq!(one.facts(), other.facts());
    }
    found.judge(&facts).unwrap()
}

/// The bytes of blob `blob` of a variable of a CDF-5 subfile, in all records.
fn bytes_of(file: &File, bytes: &[u8], variable: Variable<'_>, blob: usize) -> Vec<u8> {
    let ints = |name: &str| file.read::<i64>(file.variable(name).unwrap()).unwrap();
    let size = variable.nc_type().size() as usize;
    let records = if variable.is_record() { file.numrecs() } else { 1 };
    let mut found = Vec::new();
    for record in 0..records {
        let layout = variable.layout();
        let span = layout.record(record).unwrap_or(layout.first);
        let values = &bytes[span.offset() as usize..span.end() as usize];
        found.extend_from_slice(match variable.attribute("decomposition_ID") {
            Some(id) => {
                let id = id.values().integers().unwrap()[0];
                let start = ints(&format!("D{id}.blob_start"))[blob] as usize * size;
                let count = ints(&format!("D{id}.blob_count"))[blob] as usize * size;
                &values[start..start + count]
            }
            None if is_map(variable) => {
                let nblobs = variable.shape()[0] as usize;
                values.chunks(values.len() / nblobs).nth(blob).unwrap()
            }
            None if blob == 0 => values,
            None => &[],
        });
    }
    found
}

fn is_map(variable: Variable<'_>) -> bool {
    variable.name().starts_with('D') && variable.name().contains('.')
}

/// The same bytes in a process-centric subfile.
fn little(file: &File, variable: Variable<'_>, blob: usize, mut bytes: Vec<u8>) -> Vec<u8> {
    if let Some((id, "offsets" | "lengths")) = variable.name().split_once('.') {
        let nreqs = file.read::<i32>(file.variable(&format!("{id}.nreqs")).unwrap()).unwrap();
        bytes.truncate(nreqs[blob] as usize * 4);
    }
    bytes.chunks_mut(variable.nc_type().size() as usize).for_each(<[u8]>::reverse);
    bytes
}

#[test]
fn a_seal_has_the_checksum_of_each_blob_of_each_variable() {
    let folder = TempDir::new().unwrap();
    for set in Set::all() {
        let cdf = packed(&set, Container::Cdf, true, folder.path());
        let twins: Vec<_> = cdf.iter().map(|path| fs::read(path).unwrap()).collect();
        let files: Vec<_> = cdf.iter().map(|path| File::open(path).unwrap()).collect();
        for container in [Container::Cdf, Container::Hdf5] {
            let paths = packed(&set, container, true, folder.path());
            for ((path, file), twin) in paths.iter().zip(&files).zip(&twins) {
                let facts = facts(path, container, file);
                let seal = seal_of(path, facts).unwrap();
                let bytes = fs::read(path).unwrap();
                for (number, variable) in file.header().variables().enumerate() {
                    for blob in 0..facts.0.shape.nblobs() {
                        let own = bytes_of(file, twin, variable, blob as usize);
                        let own = match container {
                            Container::Cdf => own,
                            Container::Hdf5 => little(file, variable, blob as usize, own),
                        };
                        let at = seal.entry(number as u32, blob).unwrap().offset() as usize;
                        let entry = bytes[at..at + 4].try_into().unwrap();
                        seal.check(number as u32, blob, entry, crc32c(0, &own)).unwrap();
                    }
                }
            }
        }
    }
}

#[test]
fn a_sealed_set_has_the_values_of_one_without_a_seal() {
    let folder = TempDir::new().unwrap();
    for set in Set::all() {
        for container in [Container::Cdf, Container::Hdf5] {
            let plain = packed(&set, container, false, folder.path());
            let sealed = packed(&set, container, true, folder.path());
            for (plain, sealed) in plain.iter().zip(&sealed) {
                if container == Container::Hdf5 {
                    assert!(datasets(plain) == datasets(sealed));
                    continue;
                }
                let values = |path: &Path| {
                    let (_, first) = parts(path, container);
                    fs::read(path).unwrap().split_off(first as usize)
                };
                assert!(values(plain) == values(sealed));
                let file = File::open(plain).unwrap();
                assert_eq!(seal_of(plain, facts(plain, container, &file)), None);
            }
        }
    }
}
