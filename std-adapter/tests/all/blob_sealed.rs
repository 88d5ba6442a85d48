//! Sealed sets: the values are those of a set without a seal, and the seal has the checksum of each
//! blob of each variable.

use super::blob_written::{Set, datasets, subfiles};
use std::fs;
use std::path::{Path, PathBuf};
use striae::Output;
use striae::blob::Container;
use striae::blob::recover::Recover;
use striae::cdf::{File, Variable};
use striae::striae_core::blob::seal::{Duplicate, Facts, FindSeal, Seal, Shape, header_crc};
use striae::striae_core::hdf5;
use striae::striae_core::integrity::crc32c;
use striae::striae_core::span::Span;
use striae::striae_core::step::drive_read;
use striae_inspect::blob::grammar::Canonical;
use striae_inspect::blob::sealed::{Sealable, Sealed};
use striae_inspect::blob::subfile::{Head, Subfile};
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
        tie: None,
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

/// The bytes of a blob of a CDF-5 subfile as a process-centric one has them.
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

/// The bytes of a subfile that its seal covers, except numrecs.
fn covered(path: &Path, container: Container) -> Vec<bool> {
    let mut covered = vec![false; fs::read(path).unwrap().len()];
    let mut cover = |span: Span| covered[span.offset() as usize..span.end() as usize].fill(true);
    let (header, first) = parts(path, container);
    cover(header.rest(12).unwrap());
    if container == Container::Hdf5 {
        cover(Span::between(first, fs::metadata(path).unwrap().len()).unwrap());
        return covered;
    }
    let file = File::open(path).unwrap();
    for variable in file.header().variables() {
        let layout = variable.layout();
        cover(layout.first);
        (0..file.numrecs()).filter_map(|record| layout.record(record)).for_each(&mut cover);
    }
    covered
}

/// Whether all that a seal covers is as sealed.
fn is_as_sealed(bytes: &[u8], set: &Canonical, container: Container) -> bool {
    let bytes = &bytes;
    let Ok(head) = Head::read(bytes) else { return false };
    let Ok(subfile) = Subfile::open(bytes, set, container) else { return false };
    let Ok(Some(sealed)) = Sealed::read(bytes, &head, subfile.numrecs) else { return false };
    Sealable::all(set.decompositions.len(), set.variables.len()).all(|variable| {
        (0..subfile.nblobs as u32)
            .all(|blob| sealed.check(bytes, (&subfile, set), (variable, blob)).is_ok())
    })
}

#[test]
fn a_flipped_bit_of_a_sealed_subfile_is_found() {
    let folder = TempDir::new().unwrap();
    let set = &Set::all()[0];
    for container in [Container::Cdf, Container::Hdf5] {
        let path = &packed(set, container, true, folder.path())[0];
        let bytes = fs::read(path).unwrap();
        let canonical = Head::read(&&bytes[..]).unwrap().grammar.canonical;
        assert!(is_as_sealed(&bytes, &canonical, container));
        let mut count = 0;
        for (at, is_covered) in covered(path, container).into_iter().enumerate() {
            // A few hundred bits of all that is covered.
            if !is_covered || at % 89 != 0 {
                continue;
            }
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            assert!(!is_as_sealed(&flipped, &canonical, container), "bit {} of {at}", at % 8);
            count += 1;
        }
        assert!(count > 200, "{count}");
    }
}

#[test]
fn a_damaged_blob_costs_its_own_elements_of_one_variable() {
    let folder = TempDir::new().unwrap();
    let has_records = |set: &Set| File::open(set.canonical()).unwrap().numrecs() > 1;
    let set = &Set::all().into_iter().find(has_records).unwrap();
    let path = &packed(set, Container::Cdf, true, folder.path())[0];
    let (cdf, twin) = (File::open(path).unwrap(), fs::read(path).unwrap());
    let variable = cdf.variable("U").unwrap();
    let count = cdf.read::<i64>(cdf.variable("D3.blob_count").unwrap()).unwrap();
    assert_eq!(variable.attribute("decomposition_ID").unwrap().values().integers(), Some(vec![3]));
    let name = folder.path().join("sealed");
    for container in [Container::Cdf, Container::Hdf5] {
        let path = &packed(set, container, true, folder.path())[0];
        let read = |checked| {
            let set = striae::blob::OpenOptions::new().checked(checked).open(&name).unwrap();
            let values: Vec<f64> = set.read(set.variable("U").unwrap()).unwrap();
            let others: Vec<f64> = set.read(set.variable("U250").unwrap()).unwrap();
            let fill = set.fill_value(set.variable("U").unwrap());
            (values, others, set.lost(), f64::from_be_bytes(fill))
        };
        let (whole, others, lost, fill) = read(true);
        assert!(lost.is_empty());

        // The first value of the second blob in the last record.
        let mut bytes = fs::read(path).unwrap();
        let record = cdf.numrecs() - 1;
        let value = bytes_of(&cdf, &twin, variable, 1);
        let len = count[1] as usize * 8;
        let value = &value[len * record as usize..][..len];
        let value = match container {
            Container::Cdf => value.to_vec(),
            Container::Hdf5 => little(&cdf, variable, 1, value.to_vec()),
        };
        let mut places = bytes.windows(len).enumerate().filter(|(_, bytes)| *bytes == value);
        let (at, _) = places.next().unwrap();
        assert!(places.next().is_none(), "these values are only once in the file");
        bytes[at] ^= 0x10;
        fs::write(path, &bytes).unwrap();

        let (wrong, _, lost, _) = read(false);
        assert!(lost.is_empty(), "nothing is compared");
        assert_eq!(whole.iter().zip(&wrong).filter(|(a, b)| a != b).count(), 1);

        let (filled, unharmed, lost, _) = read(true);
        assert_eq!(others, unharmed);
        let differ: Vec<_> = whole.iter().zip(&filled).filter(|(a, b)| a != b).collect();
        assert_eq!(differ.len() as i64, count[1] * cdf.numrecs() as i64);
        assert!(differ.iter().all(|(_, filled)| **filled == fill), "{differ:?}");
        let [lost] = &lost[..] else { panic!("{lost:?}") };
        assert_eq!(lost.values.unwrap() as i64, count[1] * cdf.numrecs() as i64);
        let text = lost.error.to_string();
        assert!(text.contains("variable U: blob 1 is not as sealed"), "{text}");
    }
}

/// The values of all variables of a file, as bytes, with the variable's name.
fn all_values(path: &Path) -> Vec<(String, Vec<u8>)> {
    let (file, bytes) = (File::open(path).unwrap(), fs::read(path).unwrap());
    let variables = file.header().variables().map(|variable| {
        let records = if variable.is_record() { file.numrecs() } else { 1 };
        let spans = (0..records).map(|record| {
            let layout = variable.layout();
            layout.record(record).unwrap_or(layout.first)
        });
        let values = spans.flat_map(|span| &bytes[span.offset() as usize..span.end() as usize]);
        (variable.name().to_owned(), values.copied().collect())
    });
    variables.collect()
}

/// A value that is not as sealed is not taken for a right one: its blob is filled and listed. If
/// the seal itself is damaged, all values are there, and the set is not called complete.
#[test]
fn recover_believes_a_seal_before_a_value_and_values_before_no_seal() {
    let folder = TempDir::new().unwrap();
    let set = Set::all().into_iter().find(|set| set.nsubfiles > 1).unwrap();
    for container in [Container::Cdf, Container::Hdf5] {
        let paths = packed(&set, container, true, folder.path());
        let (out, twin) = (folder.path().join("out.nc"), folder.path().join("twin.nc"));
        let force = Recover::new().output(Output::new().force(true));
        let name = folder.path().join("sealed");
        let sound = force.examine(&name).unwrap();
        sound.write(&twin, &|_| {}).unwrap();
        assert!(sound.is_complete());
        let expected = all_values(&twin);
        let path = &paths[1];
        let bytes = fs::read(path).unwrap();
        let head = Head::read(&&bytes[..]).unwrap();
        let canonical = &head.grammar.canonical;
        let subfile = Subfile::open(&&bytes[..], canonical, container).unwrap();
        let index = canonical.variables.iter().position(|one| &*one.name == "PS").unwrap();
        let width = canonical.variables[index].nc_type.size();
        let id = canonical.variables[index].decomposition.unwrap();

        let mut bad = bytes.clone();
        let at = subfile.elements(index, id, (0, 0, width)).unwrap() as usize;
        bad[at] ^= 1;
        fs::write(path, &bad).unwrap();
        let recovery = force.examine(&name).unwrap();
        recovery.write(&out, &|_| {}).unwrap();
        assert!(!recovery.is_complete());
        let error = recovery.damaged()[0].error.to_string();
        assert!(error.contains("variable PS: blob 0 is not as sealed"), "{error}");
        let [lost] = recovery.lost_values() else { panic!("{:?}", recovery.lost_values()) };
        let file = File::open(&out).unwrap();
        assert_eq!((&*lost.name, &lost.records), ("PS", &Some(0..file.numrecs())));
        let count = subfile.share(0, id).count;
        assert_eq!(lost.values, count * file.numrecs());
        let pressure = file.variable("PS").unwrap();
        let total = pressure.shape()[1..].iter().product::<u64>();
        let fill = recovery.set().fill_value(recovery.set().variable("PS").unwrap());
        for ((name, found), (_, expected)) in all_values(&out).into_iter().zip(&expected) {
            let mut expected = expected.clone();
            for (record, request) in (0..file.numrecs())
                .flat_map(|record| lost.ranges.iter().map(move |request| (record, request)))
                .filter(|_| name == "PS")
            {
                for element in request.offset..request.end() {
                    let at = ((record * total + element) * width) as usize;
                    expected[at..at + width as usize].copy_from_slice(&fill[..width as usize]);
                }
            }
            assert!(found == expected, "{container:?}: {name}");
        }

        let mut bad = bytes.clone();
        let facts = head.facts(file.numrecs(), crc32c).unwrap();
        for place in facts.shape.places(head.gap(), true).unwrap() {
            bad[place.table.offset() as usize] ^= 1;
        }
        fs::write(path, &bad).unwrap();
        let recovery = force.examine(&name).unwrap();
        recovery.write(&out, &|_| {}).unwrap();
        assert_eq!(recovery.damaged()[0].number, 1);
        assert!(!recovery.is_complete() && recovery.lost_values().is_empty());
        assert!(all_values(&out) == expected);
        fs::write(path, &bytes).unwrap();
    }
}
