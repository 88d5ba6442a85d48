//! Records that are appended to a set: it becomes the set of all records, byte for byte; and what
//! goes wrong on the way costs no old record.

use super::blob_written::{Set as Golden, subfiles};
use std::fs;
use std::path::{Path, PathBuf};
use striae::blob::verify::Finding;
use striae::blob::{BuildError, Container, ErrorKind as BlobError, Pack, Set, Writer};
use striae::cdf::File;
use striae::error::ErrorKind;
use striae::striae_core::blob::seal::FindSeal;
use striae::striae_core::cdf::Type;
use striae::striae_core::integrity::crc32c;
use striae::striae_core::step::drive_read;
use striae::{Error, Output, Verify};
use striae_inspect::blob::subfile::Head;
use tempfile::TempDir;

/// A canonical file with some records of another one.
fn some_records(canonical: &Path, first: u64, count: u64, to: &Path) -> PathBuf {
    let file = File::open(canonical).unwrap();
    let mut bytes = fs::read(canonical).unwrap();
    let records = file.header().variables().filter(|variable| variable.is_record());
    let begin = records.map(|variable| variable.begin()).min().unwrap() as usize;
    let recsize = file.header().head().recsize as usize;
    bytes.resize(begin + file.numrecs() as usize * recsize, 0);
    let kept = bytes.split_off(begin);
    let kept = &kept[first as usize * recsize..(first + count) as usize * recsize];
    bytes.extend_from_slice(kept);
    bytes[4..12].copy_from_slice(&count.to_be_bytes());
    fs::write(to, bytes).unwrap();
    to.to_owned()
}

/// The golden sets with more than one record.
pub(super) fn sets() -> Vec<Golden> {
    let has_several = |set: &Golden| File::open(set.canonical()).unwrap().numrecs() > 1;
    let sets: Vec<_> = Golden::all().into_iter().filter(has_several).collect();
    assert!(sets.iter().any(|set| set.nsubfiles > 1));
    sets
}

/// Packs a canonical file.
fn pack(set: &Golden, container: Container, sealed: bool, canonical: &Path, out: &Path) {
    let pack = set.pack(container).sealed(sealed).output(Output::new().force(true));
    pack.run(canonical, &set.map, out, &|_| ()).unwrap();
}

pub(super) fn bytes_of(set: &Golden, out: &Path) -> Vec<Vec<u8>> {
    subfiles(out, set.nsubfiles).iter().map(|path| fs::read(path).unwrap()).collect()
}

/// A set of the first record in `grown`, one of all in `whole`, and a file of the others.
pub(super) fn halves(set: &Golden, sealed: bool, folder: &Path) -> (PathBuf, PathBuf, PathBuf) {
    let numrecs = File::open(set.canonical()).unwrap().numrecs();
    let first = some_records(&set.canonical(), 0, 1, &folder.join("first.nc"));
    let all = some_records(&set.canonical(), 0, numrecs, &folder.join("all.nc"));
    let rest = some_records(&set.canonical(), 1, numrecs - 1, &folder.join("rest.nc"));
    let (grown, whole) = (folder.join("grown"), folder.join("whole"));
    pack(set, Container::Cdf, sealed, &first, &grown);
    pack(set, Container::Cdf, sealed, &all, &whole);
    (grown, whole, rest)
}

#[test]
fn an_appended_set_is_the_set_of_all_records() {
    let folder = TempDir::new().unwrap();
    for set in sets() {
        for sealed in [false, true] {
            let (grown, whole, rest) = halves(&set, sealed, folder.path());
            Pack::append(&rest, &grown, &|_| ()).unwrap();
            assert!(bytes_of(&set, &grown) == bytes_of(&set, &whole), "sealed: {sealed}");
            // Nothing to append changes nothing.
            let none = some_records(&rest, 0, 0, &folder.path().join("none.nc"));
            Pack::append(&none, &grown, &|_| ()).unwrap();
            assert!(bytes_of(&set, &grown) == bytes_of(&set, &whole));
        }
    }
}

#[test]
fn records_in_any_order_are_sealed_as_in_order() {
    let folder = TempDir::new().unwrap();
    let set = &sets()[0];
    let (grown, _, rest) = halves(set, true, folder.path());
    let twice = folder.path().join("twice");
    for path in subfiles(&grown, set.nsubfiles) {
        let name = path.file_name().unwrap().to_str().unwrap().replace("grown", "twice");
        fs::copy(&path, folder.path().join(name)).unwrap();
    }
    Pack::append(&rest, &twice, &|_| ()).unwrap();
    Pack::append(&rest, &twice, &|_| ()).unwrap();

    let first = Set::open(&twice).unwrap();
    let records = first.header().numrecs();
    let sub = File::open(&subfiles(&twice, set.nsubfiles)[0]).unwrap();
    assert_eq!(sub.numrecs(), records);
    // The same values by hand, the last record first and one of them twice.
    let writer = Writer::append(&grown).unwrap();
    let files: Vec<_> =
        subfiles(&twice, set.nsubfiles).iter().map(|path| File::open(path).unwrap()).collect();
    let (mut rank, order) = (0, (writer.records()..records).rev().chain([writer.records()]));
    let order: Vec<_> = order.collect();
    for file in &files {
        let nblobs = file.header().dims().find(|dim| dim.name == "nblobs").unwrap().length;
        for blob in 0..nblobs {
            let handle = writer.rank(rank).unwrap();
            rank += 1;
            for variable in file.header().variables().filter(|variable| variable.is_record()) {
                let id = variable.attribute("decomposition_ID");
                let id = id.map(|id| id.values().integers().unwrap()[0]);
                if id.is_none() && blob > 0 {
                    continue;
                }
                for &record in &order {
                    put(file, &handle, variable, id.map(|id| (id, blob as usize)), record);
                }
            }
        }
    }
    writer.close().unwrap();
    assert!(bytes_of(set, &grown) == bytes_of(set, &twice));
}

/// Puts what a subfile has of a record.
fn put(
    file: &File,
    rank: &striae::blob::Rank<'_>,
    variable: striae::cdf::Variable<'_>,
    of: Option<(i128, usize)>,
    record: u64,
) {
    let share = |(id, blob): (i128, usize)| {
        let ints = |part: &str| {
            let table = file.variable(&format!("D{id}.{part}")).unwrap();
            file.read::<i64>(table).unwrap()[blob] as usize
        };
        ints("blob_start")..ints("blob_start") + ints("blob_count")
    };
    macro_rules! put {
        ($T:ty) => {{
            let all: Vec<$T> = file.read(variable).unwrap();
            let each = all.len() / file.numrecs() as usize;
            let values = &all[record as usize * each..][..each];
            let values = of.map_or(values, |of| &values[share(of)]);
            rank.put(variable.name(), record, values).unwrap();
        }};
    }
    match variable.nc_type() {
        Type::Double => put!(f64),
        Type::Float => put!(f32),
        Type::Int => put!(i32),
        Type::Char => put!(u8),
        other => panic!("{other:?}"),
    }
}

/// As a power cut leaves a set between two subfiles: the last one counts the new records.
#[test]
fn a_set_whose_subfiles_have_other_numbers_of_records_has_the_least() {
    let folder = TempDir::new().unwrap();
    for set in sets().into_iter().filter(|set| set.nsubfiles > 1) {
        for sealed in [false, true] {
            let (grown, whole, rest) = halves(&set, sealed, folder.path());
            let paths = subfiles(&grown, set.nsubfiles);
            let old = bytes_of(&set, &grown);
            Pack::append(&rest, &grown, &|_| ()).unwrap();
            for (path, old) in paths.iter().zip(&old).take(set.nsubfiles as usize - 1) {
                fs::write(path, old).unwrap();
            }
            let (last, old) = (paths.last().unwrap(), old.last().unwrap());
            if sealed {
                // The copy that is replaced last still has the old number of records.
                let head = Head::read(&&old[..]).unwrap();
                let found = drive_read(&mut head.find_seal(crc32c), &old[..], &mut [0; 512]);
                let facts = head.facts(1, crc32c).unwrap();
                let copy = 1 - found.unwrap().next(1);
                let place = facts.shape.places(head.gap(), true).unwrap()[copy];
                let mut bytes = fs::read(last).unwrap();
                for span in [place.head, place.tie, place.table] {
                    let span = span.offset() as usize..span.end() as usize;
                    bytes[span.clone()].copy_from_slice(&old[span]);
                }
                fs::write(last, &bytes).unwrap();
                let found =
                    drive_read(&mut FindSeal::new(head.gap(), crc32c), &bytes[..], &mut [0; 512]);
                assert!(found.unwrap().judge(&facts).unwrap().is_some());
            }
            let checked = striae::blob::OpenOptions::new().checked(true);
            let read = checked.open(&grown).unwrap();
            assert_eq!(read.header().numrecs(), 1);
            let pressure = read.variable("PS").unwrap();
            match pressure.nc_type() {
                Type::Float => drop(read.read::<f32>(pressure).unwrap()),
                _ => drop(read.read::<f64>(pressure).unwrap()),
            }
            // Without seals nobody can know that an append was cut.
            assert_eq!(read.is_whole(), sealed, "{:?}", read.lost());
            let mut kinds = Vec::new();
            let each = &mut |found: Finding| kinds.push(found.facts().kind);
            let verified = Verify::new().blob(&grown, each).unwrap();
            assert_eq!(verified.is_sound(), sealed, "{kinds:?}");
            assert!(kinds.contains(&if sealed { "uncounted" } else { "records" }), "{kinds:?}");

            Pack::append(&rest, &grown, &|_| ()).unwrap();
            assert!(bytes_of(&set, &grown) == bytes_of(&set, &whole), "sealed: {sealed}");
        }
    }
}

/// The first subfile of a backup and the others of today are no set: both copies of their seals are
/// of records that the first one does not have.
#[test]
fn a_subfile_whose_records_cannot_be_taken_back_is_left_as_it_is() {
    let folder = TempDir::new().unwrap();
    for set in sets().into_iter().filter(|set| set.nsubfiles > 1) {
        let (grown, _, rest) = halves(&set, true, folder.path());
        let old = bytes_of(&set, &grown);
        Pack::append(&rest, &grown, &|_| ()).unwrap();
        fs::write(&subfiles(&grown, set.nsubfiles)[0], &old[0]).unwrap();
        let before = bytes_of(&set, &grown);
        let error = Pack::append(&rest, &grown, &|_| ()).unwrap_err().to_string();
        assert!(error.contains("is older than the other subfiles"), "{error}");
        assert!(bytes_of(&set, &grown) == before);
    }
}

/// Subfiles that were cut, that count fewer records than the first one, or whose values would be in
/// the header: nothing tells which of their values are right, so nothing is written.
#[test]
fn a_damaged_subfile_is_refused_and_all_are_left_as_they_are() {
    let folder = TempDir::new().unwrap();
    for set in sets() {
        let (grown, _, rest) = halves(&set, false, folder.path());
        Pack::append(&rest, &grown, &|_| ()).unwrap();
        let paths = subfiles(&grown, set.nsubfiles);
        let sound = bytes_of(&set, &grown);
        for (number, path) in paths.iter().enumerate() {
            let bytes = &sound[number];
            let header = striae_inspect::cdf::Header::read(&&bytes[..]).unwrap();
            let numrecs = header.head().numrecs;
            let variables = || header.variables().filter(|variable| variable.is_record());
            let ends = variables()
                .map(|variable| variable.layout().record(numrecs - 1).unwrap().end() as usize);
            let end = ends.max().unwrap();
            let begin = variables().map(|variable| variable.begin()).max().unwrap();
            let stored = begin.to_be_bytes();
            let at = bytes.windows(8).position(|bytes| bytes == stored).unwrap();

            let mut cases = vec![(bytes[..end - 1].to_vec(), "the file ends at".to_owned())];
            let mut bad = bytes.clone();
            bad[at..at + 8].copy_from_slice(&8_u64.to_be_bytes());
            cases.push((bad, "begin".to_owned()));
            if number > 0 {
                let mut bad = bytes.clone();
                bad[4..12].copy_from_slice(&(numrecs - 1).to_be_bytes());
                cases.push((bad, format!("is {}, must be at least {numrecs}", numrecs - 1)));
            }
            for (bad, expected) in cases {
                fs::write(path, &bad).unwrap();
                let before = bytes_of(&set, &grown);
                let error = Pack::append(&rest, &grown, &|_| ()).unwrap_err();
                assert_eq!(error.path(), path, "{error}");
                assert!(error.to_string().contains(&expected), "{error}: {expected}");
                assert!(bytes_of(&set, &grown) == before, "{error}");
            }
            fs::write(path, bytes).unwrap();
        }
        Pack::append(&rest, &grown, &|_| ()).unwrap();
    }
}

/// A file of other variables is refused before records are taken back that not all subfiles have.
#[test]
fn a_refused_file_leaves_the_records_of_a_cut_append() {
    let folder = TempDir::new().unwrap();
    for set in sets().into_iter().filter(|set| set.nsubfiles > 1) {
        let (grown, _, rest) = halves(&set, false, folder.path());
        let old = bytes_of(&set, &grown);
        Pack::append(&rest, &grown, &|_| ()).unwrap();
        fs::write(&subfiles(&grown, set.nsubfiles)[0], &old[0]).unwrap();
        let before = bytes_of(&set, &grown);
        let mut other = fs::read(&rest).unwrap();
        let at = other.windows(6).position(|bytes| bytes == b"CLDHGH").unwrap();
        other[at] = b'X';
        fs::write(&rest, other).unwrap();
        let error = build_error(Pack::append(&rest, &grown, &|_| ()).unwrap_err());
        assert_eq!(error, BuildError::Differs { name: "XLDHGH".into() });
        assert!(bytes_of(&set, &grown) == before);
    }
}

#[test]
fn a_set_that_takes_the_name_gets_no_records_of_the_old_one() {
    let folder = TempDir::new().unwrap();
    let set = &sets()[0];
    let (grown, whole, rest) = halves(set, false, folder.path());
    let other = bytes_of(set, &whole);
    let writer = Writer::append(&grown).unwrap();
    let forced = set.pack(Container::Cdf).output(Output::new().force(true));
    let error = forced.run(&set.canonical(), &set.map, &grown, &|_| ()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Locked), "{error}");
    // It is moved away, with and without an open file of the writer, and another one is there.
    let rank = writer.rank(0).unwrap();
    let aside = folder.path().join("aside");
    let paths = || subfiles(&grown, set.nsubfiles).into_iter().zip(subfiles(&aside, set.nsubfiles));
    paths().for_each(|(path, aside)| fs::rename(path, aside).unwrap());
    for (path, whole) in subfiles(&grown, set.nsubfiles).iter().zip(&other) {
        fs::write(path, whole).unwrap();
    }
    drop(rank);
    let error = writer.rank(0).unwrap_err().to_string();
    assert!(error.contains("was replaced"), "{error}");
    drop(writer);
    assert!(bytes_of(set, &grown) == other);
    // Nobody could find the records of files that are removed.
    let writer = Writer::append(&aside).unwrap();
    let rank = writer.rank(0).unwrap();
    paths().for_each(|(_, aside)| fs::remove_file(aside).unwrap());
    drop(rank);
    assert!(writer.rank(0).is_err());
    assert!(Pack::append(&rest, &aside, &|_| ()).is_err());
}

fn build_error(error: Error) -> BuildError {
    match error.kind() {
        ErrorKind::Blob(BlobError::Build(error)) => error.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_cannot_be_appended_changes_nothing() {
    let folder = TempDir::new().unwrap();
    let set = &sets()[0];
    let (grown, whole, rest) = halves(set, true, folder.path());
    let old = bytes_of(set, &grown);

    // Another file, a rank without its values, an old record, a variable without records.
    let mut other = fs::read(&rest).unwrap();
    let at = other.windows(6).position(|bytes| bytes == b"CLDHGH").unwrap();
    other[at] = b'X';
    let path = folder.path().join("other.nc");
    fs::write(&path, other).unwrap();
    let differs = BuildError::Differs { name: "XLDHGH".into() };
    assert_eq!(build_error(Pack::append(&path, &grown, &|_| ()).unwrap_err()), differs);

    // A dimension of another name: of two of one length, it may be the other one.
    let file = File::open(&rest).unwrap();
    let variable = file.header().variables().find(|variable| variable.shape().len() > 1).unwrap();
    let name = variable.dims().nth(1).unwrap().name;
    let mut other = fs::read(&rest).unwrap();
    let is_name = |bytes: &[u8]| bytes == name.as_bytes();
    let at = other.windows(name.len()).position(is_name).unwrap();
    other[at] = b'X';
    fs::write(&path, other).unwrap();
    let error = build_error(Pack::append(&path, &grown, &|_| ()).unwrap_err());
    assert!(matches!(error, BuildError::Differs { .. }), "{error}");

    let writer = Writer::append(&grown).unwrap();
    let locked = Writer::append(&grown).unwrap_err();
    assert!(matches!(locked.kind(), ErrorKind::Locked), "{locked}");
    let rank = writer.rank(0).unwrap();
    for (name, record) in [("date", 0), ("lev", 0), ("lev", 1)] {
        let values = [0_f64; 6];
        let error = match name {
            "date" => rank.put(name, record, &[0_i32]).unwrap_err(),
            _ => rank.put(name, record, &values).unwrap_err(),
        };
        assert_eq!(build_error(error), BuildError::Stored { name: name.into(), record });
    }
    rank.put("date", 1, &[7_i32]).unwrap();
    drop(rank);
    let error = build_error(writer.close().unwrap_err());
    assert!(matches!(error, BuildError::Incomplete { record: 1, .. }), "{error:?}");
    for (path, old) in subfiles(&grown, set.nsubfiles).iter().zip(&old) {
        let now = fs::read(path).unwrap();
        assert!(now[..old.len()] == old[..], "only bytes after the last record");
    }
    Pack::append(&rest, &grown, &|_| ()).unwrap();
    assert!(bytes_of(set, &grown) == bytes_of(set, &whole));

    pack(set, Container::Hdf5, false, &rest, &whole);
    let error = build_error(Pack::append(&rest, &whole, &|_| ()).unwrap_err());
    assert_eq!(error, BuildError::ProcessCentric);
}
