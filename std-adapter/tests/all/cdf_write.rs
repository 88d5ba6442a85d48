//! Writing netCDF files: a name with the first commit, one writer at a time, appending.

use std::path::Path;
use striae::cdf::{
    AttrDef, Builder, Definition, DimDef, File, Region, Slab, Type, VarDef, Version, Writer,
};
use striae::error::ErrorKind;

const DIMS: [DimDef<'_>; 2] = [DimDef { name: "x", length: 3 }, DimDef::record("t")];
const SAMPLE: VarDef<'_> = VarDef { name: "sample", nc_type: Type::Short, dimids: &[1, 0] };
const LABEL: VarDef<'_> = VarDef { name: "label", nc_type: Type::Char, dimids: &[0] };

fn create(builder: Builder, path: &Path) -> Result<Writer, striae::Error> {
    let vars = [(SAMPLE, &[AttrDef::new("_FillValue", &-9_i16)][..]), (LABEL, &[])];
    builder.create(path, &Definition { dims: &DIMS, attrs: &[], vars: &vars })
}

fn put(file: &mut Writer, first: i16) {
    file.put(0, &[first, first + 1, first + 2]).unwrap();
    file.end_record().unwrap();
}

fn samples(path: &Path) -> Vec<i16> {
    let file = File::open(path).unwrap();
    file.read(file.variable("sample").unwrap()).unwrap()
}

#[test]
fn a_file_has_its_name_with_its_first_commit_and_its_records_with_theirs() {
    for version in Version::ALL {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.nc");
        let mut file = create(Builder::new(version), &path).unwrap();
        file.put(1, "abc").unwrap();
        put(&mut file, 0);
        assert!(!path.exists());
        file.commit().unwrap();
        put(&mut file, 10);
        assert_eq!(samples(&path), [0, 1, 2]);
        assert_eq!((file.records(), file.committed()), (2, 1));
        drop(file); // the second record was not committed

        let mut file = Builder::new(version).append(&path).unwrap();
        assert_eq!(file.records(), 1);
        let region = Region { start: &[1, 2], count: &[1, 1], stride: None };
        let slab = Slab::new(file.layout(0).unwrap(), &[2, 3], region).unwrap();
        file.put_slab(0, slab, &7_i16).unwrap();
        file.end_record().unwrap();
        file.close().unwrap();
        assert_eq!(samples(&path), [0, 1, 2, -9, -9, 7]);
        let len = path.metadata().unwrap().len();
        assert_eq!(len, 512 + 4 + 2 * 6); // header, label, records without padding
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 1);
    }
}

#[test]
fn a_file_that_is_not_committed_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.nc");
    let mut file = create(Builder::new(Version::Cdf1), &path).unwrap();
    put(&mut file, 0);
    drop(file);
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0);
}

#[test]
fn there_is_one_writer_and_what_is_there_is_replaced_only_if_that_is_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.nc");
    let mut file = create(Builder::new(Version::Cdf5), &path).unwrap();
    put(&mut file, 0);
    file.commit().unwrap();
    let refused = |result: Result<Writer, striae::Error>| result.unwrap_err();
    let over = Builder::new(Version::Cdf5).force(true);
    assert!(matches!(refused(Builder::new(Version::Cdf5).append(&path)).kind(), ErrorKind::Locked));
    assert!(matches!(refused(create(over, &path)).kind(), ErrorKind::Locked));
    assert!(matches!(
        refused(create(Builder::new(Version::Cdf5), &path)).kind(),
        ErrorKind::Exists
    ));
    file.close().unwrap();

    let mut file = create(over, &path).unwrap();
    put(&mut file, 50);
    assert_eq!(samples(&path), [0, 1, 2]);
    file.close().unwrap();
    assert_eq!(samples(&path), [50, 51, 52]);
}

#[test]
fn a_definition_that_no_file_can_have_is_refused_before_there_is_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.nc");
    let vars = [(VarDef { nc_type: Type::Int64, ..SAMPLE }, &[][..])];
    let definition = Definition { dims: &DIMS, attrs: &[], vars: &vars };
    let error = Builder::new(Version::Cdf2).create(&path, &definition).unwrap_err();
    assert!(error.to_string().ends_with("variable 0: the version does not have its type"));
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0);
}

/// A file that could not get its name is not lost: the call can be repeated.
#[test]
fn a_name_that_is_taken_meanwhile_can_be_freed() {
    for closes in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.nc");
        let mut file = create(Builder::new(Version::Cdf1), &path).unwrap();
        put(&mut file, 0);
        std::fs::write(&path, "another's").unwrap();
        for _ in 0..2 {
            assert!(matches!(file.commit().unwrap_err().kind(), ErrorKind::Exists));
            assert_eq!(std::fs::read(&path).unwrap(), b"another's");
        }
        std::fs::remove_file(&path).unwrap();
        let done = if closes { file.close() } else { file.commit() };
        done.unwrap();
        assert_eq!(samples(&path), [0, 1, 2]);
    }
}

/// What nobody could find is not called written.
#[test]
fn a_file_that_was_removed_is_not_committed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.nc");
    let mut file = create(Builder::new(Version::Cdf1), &path).unwrap();
    put(&mut file, 0);
    file.commit().unwrap();
    put(&mut file, 10);
    std::fs::remove_file(&path).unwrap();
    for error in [file.commit().unwrap_err(), file.close().unwrap_err()] {
        assert_eq!(error.path(), path);
        assert!(error.to_string().contains("was removed while it was written"), "{error}");
    }
}
