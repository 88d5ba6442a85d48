//! Variables of CDF-5 subfiles that begin where they cannot: readers refuse the subfile, and
//! recover calls none of them found.

use super::made::Made;
use super::{copied, golden_dir};
use crate::run::striae;
use serde_json::Value;
use std::path::Path;
use striae::Verify;
use striae::blob::{OpenOptions, Set};
use striae::cdf::{File, Type};

/// The offset of the `begin` of a variable in a header: its size comes before it.
fn begin_at(bytes: &[u8], file: &File, name: &str) -> usize {
    let variable = file.variable(name).unwrap();
    let field = [variable.vsize().to_be_bytes(), variable.begin().to_be_bytes()].concat();
    let header_len = usize::try_from(file.header().head().header_len).unwrap();
    let mut found = bytes[..header_len].windows(16).enumerate().filter(|(_, part)| *part == field);
    let (at, _) = found.next().unwrap();
    assert_eq!(found.next(), None);
    at + 8
}

/// The only subfile of a set of E3SM-IO, in which T850 begins in the header.
#[test]
fn a_begin_in_the_header_is_refused_by_all_readers_of_a_set() {
    let (dir, set) = copied(&golden_dir().join("f4_n4_s1/blob_h1.nc"));
    let path = set.with_extension("nc.0000");
    let mut bytes = std::fs::read(&path).unwrap();
    let file = File::open(&path).unwrap();
    let at = begin_at(&bytes, &file, "T850");
    let min = file.variable("T850").unwrap().begin();
    drop(file);
    bytes[at..at + 8].copy_from_slice(&2_u64.to_be_bytes());
    std::fs::write(&path, bytes).unwrap();

    let says = format!("blob_h1.nc.0000: var.begin at offset {at} is 2, must be at least {min}");
    let (set, out) = (set.to_str().unwrap(), dir.path().join("out.nc"));
    let out = out.to_str().unwrap();
    let folder = dir.path().join("folder");
    for args in [
        &["convert", set, out][..],
        &["cat", set, "variable/T850"],
        &["extract", set, folder.to_str().unwrap()],
        &["ls", set],
        &["info", set],
    ] {
        let stderr = striae(args).assert().code(1).get_output().stderr.clone();
        let stderr = String::from_utf8(stderr).unwrap();
        assert!(stderr.contains(&says), "{args:?}: {stderr}");
    }
    let file = File::open(out).unwrap();
    let values: Vec<f64> = file.read(file.variable("T850").unwrap()).unwrap();
    assert!(values.iter().all(|value| *value == values[0]), "they are fill values");

    let args = ["recover", "--force", "--json", set, out];
    let output = striae(&args).assert().code(1).get_output().stdout.clone();
    let report: Value = serde_json::from_slice(&output).unwrap();
    let variables = report["variables"].as_array().unwrap();
    let others = variables.iter().filter(|one| one["name"] != "T850");
    assert!(others.clone().all(|one| one["word"] != "lost"), "{report}");
    // The one before it in the record may have the wrong place as well.
    let doubtful = others.clone().filter(|one| one["word"] != "as found");
    assert_eq!(doubtful.count(), 1, "{report}");
    assert_eq!(
        (others.count() + 1, &report["lost"][0]["variable"]),
        (variables.len(), &"T850".into())
    );
}

/// One bit of the number of blobs, of which there are 4: the decompositions have elements, and no
/// blob has them.
#[test]
fn a_subfile_that_states_no_blobs_is_refused_and_not_filled_in_silence() {
    let (_dir, set) = copied(&golden_dir().join("f4_n4_s1/blob_h1.nc"));
    let path = set.with_extension("nc.0000");
    let mut bytes = std::fs::read(&path).unwrap();
    let name = b"\0\0\0\0\0\0\0\x06nblobs\0\0";
    let at = bytes.windows(16).position(|part| part == name).unwrap() + 16;
    assert_eq!(bytes[at..at + 8], 4_u64.to_be_bytes());
    bytes[at + 7] = 0;
    std::fs::write(&path, bytes).unwrap();
    let stderr =
        striae(&["ls", set.to_str().unwrap()]).assert().code(1).get_output().stderr.clone();
    let stderr = String::from_utf8(stderr).unwrap();
    assert!(stderr.contains("blob_h1.nc.0000"), "{stderr}");
    let mut kinds = Vec::new();
    Verify::new().blob(&set, &mut |found| kinds.push(found.facts().kind)).unwrap();
    assert!(kinds.contains(&"elements"), "{kinds:?}");
}

/// The words of a recovery, and the values of the variables in the new file.
fn recovered(set: &Path) -> Vec<(String, String, Vec<i64>)> {
    let out = set.with_file_name("out.nc");
    let args = ["recover", "--force", "--json", set.to_str().unwrap(), out.to_str().unwrap()];
    let output = striae(&args).assert().get_output().stdout.clone();
    let report: Value = serde_json::from_slice(&output).unwrap();
    let file = File::open(&out).unwrap();
    let word = |one: &Value| {
        let [name, word] = ["name", "word"].map(|key| one[key].as_str().unwrap().to_owned());
        let variable = file.variable(&name).unwrap();
        let values = match variable.nc_type() {
            Type::Int => file.read::<i32>(variable).unwrap().into_iter().map(i64::from).collect(),
            _ => file.read::<i64>(variable).unwrap(),
        };
        (name, word, values)
    };
    report["variables"].as_array().unwrap().iter().map(word).collect()
}

/// Each variable of a subfile begins in the header, at the first one, 4 bytes later, and after the
/// end of the file.
#[test]
fn values_of_a_wrong_place_are_never_found_and_never_read() {
    let dir = crate::in_memory();
    let blob = |first: u32| vec![(first, 3), (first + 4, 2)];
    let subfiles = vec![vec![blob(0), blob(6)], vec![blob(12), blob(18)]];
    Made { rows: 4, columns: 6, numrecs: 2, subfiles }.write(dir.path());
    let set = dir.path().join("set.nc");
    let sound = recovered(&set);
    let path = set.with_extension("nc.0001");
    let bytes = std::fs::read(&path).unwrap();
    let file = File::open(&path).unwrap();
    let begins: Vec<_> = file.header().variables().map(|one| one.begin()).collect();
    let (mut refused, mut found) = (0, 0);
    for (number, variable) in file.header().variables().enumerate() {
        let at = begin_at(&bytes, &file, variable.name());
        for begin in [2, begins[0], begins[number] + 4, bytes.len() as u64 + 512] {
            let mut wrong = bytes.clone();
            wrong[at..at + 8].copy_from_slice(&begin.to_be_bytes());
            if wrong == bytes {
                continue;
            }
            std::fs::write(&path, &wrong).unwrap();
            let case = format!("{} at {begin}", variable.name());
            for ((name, word, values), (_, _, whole)) in recovered(&set).iter().zip(&sound) {
                let is_right = values == whole;
                assert!(is_right || !["exact", "as found"].contains(&&**word), "{case}: {name}");
                found += usize::from(is_right);
                let is_own = name == variable.name();
                assert!(!is_own || word == "lost" || word == "guess", "{case}: {word}");
            }
            let mut begins = 0;
            let each = &mut |finding: striae::cdf::verify::Finding| {
                let facts = finding.facts();
                let is_begin =
                    facts.kind == "too_small" && facts.field.as_deref() == Some("var.begin");
                begins += usize::from(is_begin);
            };
            Verify::new().cdf(&path, each).unwrap();
            let opened = Set::open(&set).unwrap();
            let subfile = opened.blobs(1).unwrap();
            assert_eq!(subfile.is_none(), begins > 0, "{case}");
            if begins > 0 {
                let text = opened.lost()[0].error.to_string();
                assert!(text.contains("var.begin at offset "), "{case}: {text}");
                refused += 1;
            }
            let mended = OpenOptions::new().mend(true).open(&set).unwrap();
            // Without tables nothing of it is known.
            assert!(mended.blobs(1).unwrap().is_some() || begin > bytes.len() as u64, "{case}");
        }
    }
    std::fs::write(&path, bytes).unwrap();
    assert!(refused >= 20 && found >= 20, "{refused} {found}");
}
