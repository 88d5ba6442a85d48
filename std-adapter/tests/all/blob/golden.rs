//! What E3SM-IO wrote.

use super::{all, golden_dir, runs, sha256, threads};
use striae::Format;
use striae::blob::{Container, Convert, Extract, OpenOptions, Set};
use striae::cdf::File;

#[test]
fn every_value_is_read_with_one_and_with_many_threads() {
    for run in runs() {
        for path in run.sets() {
            for n in [1, 3] {
                let set = threads(n).open(&path).unwrap();
                for variable in run.variables() {
                    let name = variable["name"].as_str().unwrap();
                    let found = sha256(&all(&set, name));
                    assert_eq!(found, variable["sha256_be_holes_zero"], "{name} of {path:?}");
                }
                assert!(set.is_whole() && set.lost().is_empty());
            }
        }
    }
}

#[test]
fn a_set_is_its_name_and_each_of_its_subfiles() {
    for run in runs() {
        for path in run.sets() {
            let set = Set::open(&path).unwrap();
            let is_cdf = path.extension().unwrap() == "nc";
            let container = if is_cdf { Container::Cdf } else { Container::Hdf5 };
            assert_eq!(set.container(), container);
            assert_eq!(set.subfiles().count() as u64, set.nsubfiles());
            for (_, subfile) in set.subfiles() {
                assert_eq!(Format::of_file(&subfile).unwrap(), Format::Blob);
                assert_eq!(Set::open(subfile).unwrap().path(), path);
            }
            for (number, subfile) in set.subfiles() {
                let facts = &run.expected["subfiles"][number as usize];
                let bytes = std::fs::metadata(subfile).unwrap().len();
                let nblobs = facts["nblobs"].as_u64().unwrap();
                assert_eq!(set.blobs(number).unwrap(), Some((nblobs, bytes)));
            }
        }
        assert_eq!(Format::of_file(&run.canonical()).unwrap(), Format::Cdf);
    }
}

#[test]
fn the_header_is_that_of_the_canonical_file() {
    for run in runs() {
        let canonical = File::open(run.canonical()).unwrap();
        for path in run.sets() {
            let set = Set::open(path).unwrap();
            assert_eq!(set.header().bytes(), canonical.header().bytes());
            for (variable, expected) in set.header().variables().zip(run.variables()) {
                assert_eq!(variable.name(), expected["name"]);
                let id = set.decomposition(variable);
                assert_eq!(id.map(|id| id as u64), expected["decomposition_ID"].as_u64());
                let Some(id) = id else { continue };
                let decomposition = &set.decompositions().unwrap()[id - 1];
                assert_eq!(decomposition.nelems, expected["elements_per_record"]);
                assert_eq!(decomposition.covered, expected["covered"]);
                assert_eq!(decomposition.overlaps, 0);
            }
        }
    }
}

#[test]
fn convert_makes_the_canonical_file_whatever_the_memory() {
    for run in runs() {
        let expected = std::fs::read(run.canonical()).unwrap();
        for path in run.sets() {
            let dir = tempfile::tempdir().unwrap();
            for (number, bytes) in [1 << 24, 5000, 1].into_iter().enumerate() {
                let set = OpenOptions::new().buffer(bytes).open(&path).unwrap();
                let out = dir.path().join(format!("{number}.nc"));
                Convert::new().fill(Some("0")).run(&set, &out, &|_| ()).unwrap();
                assert!(set.is_whole());
                let file = File::open(&out).unwrap();
                for variable in run.variables() {
                    let name = variable["name"].as_str().unwrap();
                    let variable_of = file.variable(name).unwrap();
                    let mut values = vec![0; variable_of.len() as usize];
                    let start = vec![0; variable_of.shape().len()];
                    let whole = striae::cdf::whole(variable_of, &start);
                    file.read_bytes_into(variable_of, whole, &mut values).unwrap();
                    assert_eq!(sha256(&values), variable["sha256_be_holes_zero"], "{name}");
                }
                // PnetCDF leaves what was in memory in holes.
                if !run.has_holes() {
                    assert!(std::fs::read(&out).unwrap() == expected, "{path:?}");
                }
            }
        }
    }
}

#[test]
fn extract_makes_the_arrays_whatever_the_memory() {
    for run in runs() {
        for path in run.sets() {
            for bytes in [1 << 24, 3000] {
                let set = OpenOptions::new().buffer(bytes).open(&path).unwrap();
                let dir = tempfile::tempdir().unwrap();
                let done = Extract::new().fill(Some("0")).run(&set, dir.path(), &|_| ()).unwrap();
                assert_eq!(done.files, run.variables().len() as u64);
                for variable in run.variables() {
                    let name = variable["name"].as_str().unwrap();
                    let array = std::fs::read(dir.path().join(format!("{name}.npy"))).unwrap();
                    let header = u16::from_le_bytes([array[8], array[9]]) as usize + 10;
                    let found = sha256(&array[header..]);
                    assert_eq!(found, variable["sha256_be_holes_zero"], "{name} of {path:?}");
                }
            }
        }
    }
}

#[test]
fn holes_have_the_fill_value() {
    let path = golden_dir().join("f5h_n5_s1/blob_h1.h5");
    let set = Set::open(path).unwrap();
    let mut own = 0;
    for variable in set.header().variables().filter(|one| set.decomposition(*one).is_some()) {
        let id = set.decomposition(variable).unwrap();
        if set.decompositions().unwrap()[id - 1].covered == 0 {
            continue;
        }
        let values: Vec<f64> = set.read(variable).unwrap();
        let fill = match variable.attribute("_FillValue") {
            Some(_) => f64::from(1e20_f32),
            None => 9.969_209_968_386_869e36, // NC_FILL_DOUBLE
        };
        own += usize::from(variable.attribute("_FillValue").is_some());
        let decomposition = &set.decompositions().unwrap()[id - 1];
        let records = if variable.is_record() { set.header().numrecs() } else { 1 };
        let holes = (decomposition.nelems - decomposition.covered) * records;
        let found = values.iter().filter(|value| **value == fill).count();
        assert_eq!(found as u64, holes, "{}", variable.name());
    }
    assert!(own > 0);
}

/// E3SM-IO makes several dimensions of length 0 for a subfile without elements.
#[test]
fn a_subfile_without_elements_is_read() {
    let dir = golden_dir().join("../blob_empty");
    let set = Set::open(dir.join("es_h1.h5.0001")).unwrap();
    assert_eq!(set.nsubfiles(), 2);
    for decomposition in set.decompositions().unwrap() {
        assert_eq!(decomposition.covered, decomposition.nelems);
    }
    assert_eq!(set.blobs(1).unwrap(), Some((1, 18624)));
    assert!(set.is_whole(), "{:?}", set.lost());
    // Its only records are one of the record dimension, which is the first of these dimensions.
    let records: Vec<_> = set.header().dims().filter(|dim| dim.is_record).collect();
    assert_eq!((records.len(), records[0].name, records[0].length), (1, "time", 1));
    let one = set.variable("ndbase").unwrap();
    assert_eq!(set.read::<i32>(one).unwrap(), [0]); // the number of the process

    // Alone, it still has the variables that are not decomposed.
    let alone = tempfile::tempdir().unwrap();
    let path = alone.path().join("a.h5.0001");
    std::fs::copy(dir.join("es_h1.h5.0001"), &path).unwrap();
    let set = Set::open(path).unwrap();
    for name in ["ndbase", "mdt", "date", "nsteph"] {
        assert_eq!(set.read::<i32>(set.variable(name).unwrap()).unwrap(), [1]);
    }
    let chars = set.read::<u8>(set.variable("date_written").unwrap()).unwrap();
    assert_eq!(chars, [b'b'; 8]);
    assert_eq!(set.missing().collect::<Vec<_>>(), [0]);
    assert!(set.lost().is_empty());
}
