//! Sets that striae writes of E3SM-IO's canonical files are those of E3SM-IO, byte for byte, except
//! for the garbage that E3SM-IO leaves after the requests of a blob; and what it refuses.

use crate::run::output;
use serde_json::Value;
use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::thread;
use striae::blob::{
    BuildError, Builder, Container, Convert, ErrorKind as BlobError, Pack, Request,
};
use striae::cdf::{File, Type};
use striae::error::ErrorKind;
use striae::striae_core::cdf::{self, AttrDef, Definition, DimDef, VarDef};
use striae::striae_core::hdf5;
use striae::{Error, Output};
use tempfile::TempDir;

pub(super) fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/blob")
}

pub(super) fn count(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

/// A set of E3SM-IO: the names of its files, its map, processes, subfiles, and the rule by which
/// processes were dealt to subfiles.
pub(super) struct Set {
    folder: PathBuf,
    pub(super) map: PathBuf,
    nprocs: u32,
    pub(super) nsubfiles: u32,
    is_block: bool,
}

impl Set {
    pub(super) fn all() -> Vec<Self> {
        let folders = fs::read_dir(golden()).unwrap().map(|entry| entry.unwrap().path());
        let mut sets: Vec<_> = folders.filter_map(Self::of).collect();
        sets.sort_by_key(|set| set.folder.clone());
        assert!(sets.len() >= 3 && sets.iter().any(|set| !set.is_block));
        sets
    }

    /// The set in a folder, if its map is there.
    fn of(folder: PathBuf) -> Option<Self> {
        let text = fs::read_to_string(folder.join("expected.json")).ok()?;
        let expected: Value = serde_json::from_str(&text).unwrap();
        let word = |key: &str| {
            let command = expected["command"].as_str().unwrap();
            let word =
                command.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
            word.unwrap().to_owned()
        };
        let map = golden().join("../map").join(word("map"));
        let [nprocs, nsubfiles] = ["np", "nodes"].map(|key| word(key).parse().unwrap());
        let is_block = word("mode") == "block";
        map.exists().then_some(Self { folder, map, nprocs, nsubfiles, is_block })
    }

    fn files(&self, part: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.folder).unwrap().map(|entry| entry.unwrap().path());
        let has = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().contains(part);
        let mut files: Vec<_> = entries.filter(has).collect();
        files.sort();
        files
    }

    pub(super) fn canonical(&self) -> PathBuf {
        self.files("can").remove(0)
    }

    pub(super) fn pack(&self, container: Container) -> Pack {
        let like = self.files(extension(container)).remove(0);
        let pack = Pack::new().container(container).like(like).processes(count(self.nprocs));
        let pack = pack.subfiles(count(self.nsubfiles));
        if self.is_block { pack } else { pack.round_robin() }
    }
}

fn extension(container: Container) -> &'static str {
    match container {
        Container::Cdf => ".nc.",
        Container::Hdf5 => ".h5.",
    }
}

/// The subfiles of a set that was made at `out`.
pub(super) fn subfiles(out: &Path, nsubfiles: u32) -> Vec<PathBuf> {
    (0..nsubfiles).map(|n| PathBuf::from(format!("{}.{n:04}", out.display()))).collect()
}

/// The bytes of a CDF-5 subfile, with zeros after the requests of each blob.
fn without_garbage(path: &Path) -> Vec<u8> {
    let (mut bytes, file) = (fs::read(path).unwrap(), File::open(path).unwrap());
    for id in 1.. {
        let Ok(nreqs) = file.variable(&format!("D{id}.nreqs")) else { break };
        let nreqs: Vec<i32> = file.read(nreqs).unwrap();
        for part in ["offsets", "lengths"] {
            let table = file.variable(&format!("D{id}.{part}")).unwrap();
            let row = table.shape()[1] as usize * 4;
            for (blob, &nreqs) in nreqs.iter().enumerate() {
                let start = table.begin() as usize + blob * row;
                bytes[start + nreqs as usize * 4..start + row].fill(0);
            }
        }
    }
    bytes
}

/// The bytes of the two datasets of an HDF5 subfile.
pub(super) fn datasets(path: &Path) -> [Vec<u8>; 2] {
    let bytes = fs::read(path).unwrap();
    let mut memory = [0; hdf5::Reader::<()>::MEMORY];
    let file = hdf5::Reader::open(&bytes[..], &mut memory).unwrap();
    [&b"header_blob"[..], b"data_blob"].map(|name| {
        let values = file.dataset(name, &mut memory).unwrap().unwrap().values;
        bytes[values.offset() as usize..values.end() as usize].to_vec()
    })
}

#[test]
fn a_packed_set_is_that_of_e3sm_io() {
    let folder = TempDir::new().unwrap();
    for set in Set::all() {
        for container in [Container::Cdf, Container::Hdf5] {
            let pack = set.pack(container).world_ranks(false).output(Output::new().force(true));
            let out = folder.path().join("out");
            pack.run(&set.canonical(), &set.map, &out, &|_| ()).unwrap();
            let theirs = set.files(extension(container));
            assert_eq!(theirs.len(), set.nsubfiles as usize);
            for (ours, theirs) in subfiles(&out, set.nsubfiles).iter().zip(theirs) {
                match container {
                    Container::Cdf => {
                        assert!(fs::read(ours).unwrap() == without_garbage(&theirs), "{theirs:?}");
                    }
                    Container::Hdf5 => assert!(datasets(ours) == datasets(&theirs), "{theirs:?}"),
                }
            }
        }
    }
}

#[test]
fn ranks_are_stored_if_they_do_not_follow_from_the_number_of_subfiles() {
    let folder = TempDir::new().unwrap();
    for set in Set::all() {
        let out = folder.path().join(set.folder.file_name().unwrap());
        set.pack(Container::Cdf).run(&set.canonical(), &set.map, &out, &|_| ()).unwrap();
        for (subfile, path) in (0_i128..).zip(subfiles(&out, set.nsubfiles)) {
            let file = File::open(path).unwrap();
            let ranks = file.header().attribute("world_ranks").map(|ranks| ranks.values());
            let all = 0..i128::from(set.nprocs);
            let mut own = all.filter(|rank| rank % i128::from(set.nsubfiles) == subfile);
            match ranks {
                Some(ranks) => assert!(!set.is_block && own.by_ref().eq(ranks.integers().unwrap())),
                None => assert!(set.is_block),
            }
        }
        // Ranks say something of the set, not of the array.
        let new = folder.path().join("canonical.nc");
        let convert = Convert::new().output(Output::new().force(true));
        let made = striae::blob::Set::open(&out).unwrap();
        convert.run(&made, &new, &|_| ()).unwrap();
        assert!(File::open(&new).unwrap().header().attribute("world_ranks").is_none());
    }
}

#[test]
fn the_program_deals_processes_in_turn_and_takes_the_names_of_e3sm_io() {
    let folder = TempDir::new().unwrap();
    let sets = Set::all();
    let set = sets.iter().find(|set| !set.is_block).unwrap();
    for (container, name, ending) in
        [(Container::Cdf, "cdf", "nc"), (Container::Hdf5, "hdf5", "h5")]
    {
        let ours = folder.path().join(format!("ours.{ending}"));
        let theirs = folder.path().join(format!("theirs.{ending}"));
        set.pack(container).run(&set.canonical(), &set.map, &theirs, &|_| ()).unwrap();
        let like = set.files(extension(container)).remove(0);
        let (canonical, count) = (set.canonical(), set.nsubfiles.to_string());
        let paths = [&set.map, &like, &ours, &canonical].map(|path| path.to_str().unwrap());
        let [map, like, out, canonical] = paths;
        let blob = ["pack", "--format", "blob", "--container", name, "--map", map, "--like", like];
        let dealt = ["--subfiles", &count, "--grouping", "round-robin", out, canonical];
        output(&[&blob[..], &dealt].concat());
        let theirs = subfiles(&theirs, set.nsubfiles);
        for (ours, theirs) in subfiles(&ours, set.nsubfiles).iter().zip(theirs) {
            assert!(fs::read(ours).unwrap() == fs::read(theirs).unwrap(), "{ours:?}");
        }
    }
}

/// The error of a set that cannot be made; no file is left.
fn refused(result: Result<(), Error>, folder: &Path) -> BuildError {
    let error = result.unwrap_err();
    assert_eq!(fs::read_dir(folder).unwrap().count(), 0, "{error}");
    match error.kind() {
        ErrorKind::Blob(BlobError::Build(error)) => error.clone(),
        kind => panic!("{kind}"),
    }
}

#[test]
fn a_variable_with_two_possible_decompositions_is_named() {
    let folder = TempDir::new().unwrap();
    let set = Set::all().remove(0);
    let out = folder.path().join("out");
    let run = |pack: Pack| pack.run(&set.canonical(), &set.map, &out, &|_| ());
    let error = refused(run(Pack::new()), folder.path());
    assert_eq!(error, BuildError::Ambiguous { name: "lat".into(), ids: [1, 2] });
    let error = refused(run(Pack::new().decomposition("lat", 3)), folder.path());
    assert_eq!(
        error,
        BuildError::NotOfShape {
            name: "lat".into(),
            shape: [53].into(),
            id: 3,
            dims: [6, 53].into()
        }
    );
    let error = refused(run(Pack::new().decomposition("lat", 4)), folder.path());
    assert_eq!(error, BuildError::NoDecomposition { name: "lat".into(), id: 4, count: 3 });
    let error = refused(run(Pack::new().like(set.canonical())), folder.path());
    assert_eq!(error, BuildError::NothingDecomposed);
}

#[test]
fn a_file_that_is_read_is_no_subfile_of_the_new_set_however_ranks_are_dealt() {
    let folder = TempDir::new().unwrap();
    let set = Set::all().into_iter().find(|set| set.nprocs > 1).unwrap();
    let source = folder.path().join("out.0001");
    fs::copy(set.canonical(), &source).unwrap();
    let pack = set.pack(Container::Cdf).subfiles(count(1)).output(Output::new().force(true));
    let pack = pack.grouping((0..set.nprocs).map(|rank| rank % 2).collect());
    let error = pack.run(&source, &set.map, &folder.path().join("out"), &|_| ()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Source), "{error}");
    assert!(fs::read(&source).unwrap() == fs::read(set.canonical()).unwrap());
}

#[test]
fn a_set_that_says_the_decompositions_is_not_replaced() {
    let folder = TempDir::new().unwrap();
    let set = Set::all().remove(0);
    let out = folder.path().join("out");
    let pack = set.pack(Container::Cdf).subfiles(count(1)).output(Output::new().force(true));
    let run = |pack: &Pack| pack.run(&set.canonical(), &set.map, &out, &|_| ());
    run(&pack).unwrap();
    let first = folder.path().join("out.0000");
    let before = fs::read(&first).unwrap();
    for like in [&out, &first] {
        let error = run(&pack.clone().like(like)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Source), "{error}");
        assert!(fs::read(&first).unwrap() == before);
    }
}

#[test]
fn too_many_processes_are_refused() {
    let folder = TempDir::new().unwrap();
    let set = Set::all().remove(0);
    let out = folder.path().join("out");
    let pack = set.pack(Container::Cdf).processes(NonZeroU32::MAX);
    let error = refused(pack.run(&set.canonical(), &set.map, &out, &|_| ()), folder.path());
    assert_eq!(error, BuildError::Processes { nprocs: u32::MAX, most: 1 << 24 });
}

#[test]
fn requests_that_overlap_or_are_outside_of_the_array_are_refused() {
    let folder = TempDir::new().unwrap();
    let canonical = folder.path().join("x.nc"); // an array of 2 x 20: two records of no variable
    let dims = [DimDef { name: "y", length: 2 }, DimDef { name: "x", length: 20 }];
    let definition = Definition { dims: &dims, attrs: &[], vars: &[] };
    let plan = cdf::Plan::new(&definition, striae::cdf::Version::Cdf5, cdf::Alignment::COMPACT);
    let (mut bytes, mut window) = (vec![0; plan.unwrap().header_len() as usize], [0; 512]);
    let encode = cdf::Encode::new(&definition, &plan.unwrap(), 0, &mut window);
    encode.unwrap().run(&mut &mut bytes[..]).unwrap();
    fs::write(&canonical, bytes).unwrap();
    let made = TempDir::new().unwrap();
    let run = |map: &str| {
        let map = golden().join("../map").join(map);
        Pack::new().run(&canonical, &map, &made.path().join("out"), &|_| ())
    };
    for (map, text) in [
        ("ov_in.nc", "request 1 of rank 0 (3 elements from 4) overlaps request 0 of rank 0"),
        ("ov_x.nc", "of rank 1 (14 elements from 6) overlaps request"),
        ("oob.nc", "request 0 of rank 1 (15 elements from 8) ends after the array of 20"),
    ] {
        let error = run(map).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::DamagedMap(_)) && error.to_string().contains(text)
        );
        assert!(fs::read_dir(made.path()).unwrap().next().is_none(), "{map}");
    }
}

const DIMS: [DimDef<'_>; 2] = [DimDef::record("time"), DimDef { name: "cell", length: 6 }];

/// Variables `heat`, decomposed, and `day`, not decomposed.
fn with_definition<T>(work: impl FnOnce(&Definition<'_>) -> T) -> T {
    let heat = VarDef { name: "heat", nc_type: Type::Short, dimids: &[0, 1] };
    let day = VarDef { name: "day", nc_type: Type::Double, dimids: &[0] };
    let units = [AttrDef::new("units", "K")];
    work(&Definition { dims: &DIMS, attrs: &[], vars: &[(heat, &units), (day, &[])] })
}

/// Rank 0 has cells 4, 5 and 0; rank 1 has none; rank 2 has cell 2. Cells 1 and 3 are holes.
fn requests() -> Vec<Vec<Request>> {
    let request = |offset, len| Request { offset, len };
    vec![vec![request(4, 2), request(0, 1)], vec![], vec![request(2, 1)]]
}

#[test]
fn threads_write_any_number_of_records_in_any_order() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out.nc");
    with_definition(|definition| {
        let builder = Builder::new(definition, count(3)).subfiles(count(3));
        let builder = builder.decomposition(&[1], requests()).decomposed(0, 0);
        let writer = builder.create(&out).unwrap();
        thread::scope(|scope| {
            for rank in 0..3 {
                let rank = writer.rank(rank).unwrap();
                scope.spawn(move || {
                    for record in [2, 0, 1] {
                        let values: Vec<_> = (0..[3, 0, 1][rank.number() as usize])
                            .map(|place| record as i16 * 100 + rank.number() as i16 * 10 + place)
                            .collect();
                        rank.put("heat", record, &values).unwrap();
                        rank.put("day", record, &[record as f64]).unwrap();
                    }
                });
            }
        });
        writer.flush().unwrap();
        assert!(!subfiles(&out, 1)[0].exists());
        writer.close().unwrap();
    });
    let paths = subfiles(&out, 3);
    let read = |path: &Path| {
        let file = File::open(path).unwrap();
        let heat: Vec<i16> = file.read(file.variable("heat").unwrap()).unwrap();
        let day: Vec<f64> = file.read(file.variable("day").unwrap()).unwrap();
        assert_eq!((file.numrecs(), day), (3, vec![0.0, 1.0, 2.0]));
        heat
    };
    assert_eq!(read(&paths[0]), [0, 1, 2, 100, 101, 102, 200, 201, 202]);
    assert_eq!(read(&paths[1]), [0, 0, 0]); // a value that no blob has, in each record
    assert_eq!(read(&paths[2]), [20, 120, 220]);
    let file = File::open(&paths[1]).unwrap();
    let nreqs = file.variable("D1.nreqs").unwrap();
    for name in ["nelems", "max_nreqs"] {
        assert_eq!(nreqs.attribute(name).unwrap().values().integers(), Some(vec![0]));
    }
}

#[test]
fn a_set_is_refused_until_every_rank_has_written_its_elements() {
    let folder = TempDir::new().unwrap();
    let made = folder.path().join("made");
    fs::create_dir(&made).unwrap();
    for container in [Container::Cdf, Container::Hdf5] {
        with_definition(|definition| {
            let builder = Builder::new(definition, count(3)).container(container);
            let builder = builder.decomposition(&[1], requests()).decomposed(0, 0).records(2);
            let writer = builder.create(made.join("out")).unwrap();
            let [first, _, last] = [0, 1, 2].map(|rank| writer.rank(rank).unwrap());
            for record in 0..2 {
                first.put("heat", record, &[1_i16, 2, 3]).unwrap();
                first.put("day", record, &[1.0]).unwrap();
            }
            last.put("heat", 1, &[7_i16]).unwrap();
            let kind = |result: Result<(), Error>| result.unwrap_err().to_string();
            let wrong = kind(last.put("day", 0, &[1.0]));
            assert!(wrong.ends_with("variable day is not decomposed: process 2 does not write it"));
            assert!(kind(last.put("heat", 2, &[1_i16])).ends_with("there is no record 2 of 2"));
            assert!(kind(last.put("heat", 0, &[1_i16, 2])).contains("4 bytes, the values have 2"));
            assert!(kind(last.put("heat", 0, &[1.5])).ends_with("its values are of type short"));
            assert!(kind(last.put("cold", 0, &[1_i16])).ends_with("there is no variable cold"));
            drop((first, last));
            let error = refused(writer.close(), &made);
            assert_eq!(error, BuildError::Incomplete { name: "heat".into(), record: 0, rank: 2 });
        });
    }
}

#[test]
fn a_set_that_cannot_be_is_refused_before_a_file_is_made() {
    let folder = TempDir::new().unwrap();
    with_definition(|definition| {
        let create = |builder: Builder<'_, Definition<'_>>| {
            let made = builder.create(folder.path().join("out")).map(|_| ());
            refused(made, folder.path())
        };
        let new = || Builder::new(definition, count(3)).decomposition(&[1], requests());
        assert_eq!(create(new().container(Container::Hdf5)), BuildError::NoRecords);
        assert_eq!(create(new().subfiles(count(4))), BuildError::Subfiles { given: 4, nprocs: 3 });
        assert_eq!(create(new().grouping(vec![0, 2, 2])), BuildError::NoRank { subfile: 1 });
        let error = BuildError::Ranks { given: 2, nprocs: 3 };
        assert_eq!(create(new().grouping(vec![0, 1])), error);
        assert_eq!(create(new().decomposition(&[1], vec![vec![], vec![]])), error);
        let dims = |dimid| create(new().decomposition(&[dimid], vec![vec![], vec![], vec![]]));
        assert_eq!([dims(0), dims(5)], [BuildError::Dims { id: 2 }, BuildError::Dims { id: 2 }]);
    });
}
