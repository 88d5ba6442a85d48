//! Mutations that know a format: they are the same in every run, keep to the length that is asked
//! for, mend what they break, and leave sound files as they are.

use std::path::Path;
use striae_core::gsd::{Chunk, Reader, State};
use striae_core::hdf5::Reader as Hdf5Reader;
use striae_core::sion::{Meta1, Opened, Physical, SealState};
use striae_fuzz::mutate::{self, Input, Random};
use striae_fuzz::{TARGETS, Target};
use striae_inspect::blob::Sealed;
use striae_inspect::blob::subfile::Head;
use striae_inspect::finding::{Found, Severity};
use striae_inspect::gsd::verify::{Depth, verify};

fn seeds(target: &Target) -> Vec<Vec<u8>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds").join(target.name);
    let mut paths: Vec<_> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

fn formats() -> impl Iterator<Item = (&'static Target, Input)> {
    TARGETS.iter().filter_map(|target| Some((target, target.input?)))
}

#[test]
fn a_seed_always_makes_the_same_of_an_input_and_no_more_than_fits() {
    let (mut made, mut changed) = (0, 0);
    for (target, input) in formats() {
        let seeds = seeds(target);
        for (data, other) in seeds.iter().zip(seeds.iter().rev()) {
            for seed in 0..50 {
                let most = data.len() + 64;
                let one = |random: &mut Random| input.mutated(data, most, random);
                let two = |random: &mut Random| input.crossed(data, other, most, random);
                let first = (one(&mut Random::new(seed)), two(&mut Random::new(seed)));
                let again = (one(&mut Random::new(seed)), two(&mut Random::new(seed)));
                assert_eq!(first, again, "{}", target.name);
                assert!(first.0.len() <= most && first.1.len() <= most, "{}", target.name);
                made += 1;
                changed += u32::from(first.0 != *data);
            }
        }
    }
    assert!(made > 5000, "{made}");
    assert!(changed > made / 4 * 3, "{changed} of {made} are not their input");
}

/// A campaign goes on from what mutations made, so that nothing of a file may be as it should.
#[test]
fn what_mutations_made_can_be_changed_again() {
    let mut made = 0;
    for (target, input) in formats() {
        let seeds = seeds(target);
        for (number, (data, other)) in (0..).zip(seeds.iter().zip(seeds.iter().rev())) {
            let (random, mut data) = (&mut Random::new(number), data.clone());
            for _ in 0..40 {
                let most = data.len() + 64;
                data = input.mutated(&data, most, random);
                data = input.mended(&input.crossed(&data, other, most, random));
                made += 1;
            }
        }
    }
    assert!(made > 4000, "{made}");
}

/// META2 is where META1 has its tables: both lose the same entry.
#[test]
fn tables_that_overlap_lose_an_entry_of_one() {
    let mut data = b"sion".to_vec();
    data.resize(1056 + 16 + 12, 0);
    for (at, value) in [(16, 2), (24, 1), (1072, 1), (1076, 1056)] {
        data[at] = u8::try_from(value & 0xFF).unwrap(); // version, tasks, chunks, META2
        data[at + 1] = u8::try_from(value >> 8).unwrap();
    }
    let lens =
        (0..200).map(|seed| mutate::SION.mutated(&data, data.len(), &mut Random::new(seed)).len());
    assert!(lens.filter(|len| *len < data.len()).count() > 10);
}

/// No byte of a file that its writer left whole is mended, and what is mended stays as it is.
#[test]
fn a_sound_file_needs_no_mending() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let kinds = [("sion", mutate::SION), ("gsd", mutate::GSD), ("cdf", mutate::CDF)];
    let mut files = 0;
    let whole =
        ["gsd_open/committed_checksums", "hdf5_open/superblock2", "hdf5_open/written_empty"];
    for name in whole.into_iter().chain(["blob_open/sealed_cdf5", "blob_open/sealed_hdf5"]) {
        let data = seed(name);
        let (target, _) = name.split_once('/').unwrap();
        let input = Target::named(target).input.unwrap();
        assert_eq!(input.mended(&data), data, "{name}");
        files += 1;
    }
    for (folder, input) in kinds {
        for entry in std::fs::read_dir(golden.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if !path.is_file() || path.extension().is_some_and(|ending| ending == "json") {
                continue;
            }
            let data = std::fs::read(&path).unwrap();
            assert_eq!(input.mended(&data), data, "{path:?}");
            files += 1;
        }
    }
    for (target, input) in formats() {
        for data in seeds(target) {
            let mended = input.mended(&data);
            assert_eq!(input.mended(&mended), mended, "{}", target.name);
            files += 1;
        }
    }
    assert!(files > 400, "{files}");
}

/// What makes mending worth its time: of files that are changed, more are opened by their commit
/// record, or by their seal, than if their checksums had stayed.
#[test]
fn mended_files_get_through_the_checksums() {
    let committed = seeds_named("gsd_open").into_iter().filter(|data| is_committed(data));
    let (mut opened, mut made, mut broken) = (0, 0, 0);
    for data in committed {
        for seed in 0..100 {
            let changed = mutate::GSD.mutated(&data, data.len() + 64, &mut Random::new(seed));
            let mended = mutate::GSD.mended(&changed);
            made += 1;
            opened += u32::from(is_committed(&mended) && mended != data);
            broken += u32::from(is_committed(&changed) && changed != data);
        }
    }
    assert!(made >= 300, "{made}");
    assert!(opened > broken + made / 20, "{opened} of {made} mended, {broken} as they were");

    let sealed =
        seeds_named("sion_recover").into_iter().filter(|data| data.ends_with(b"SION seal"));
    let mut sealed_files = 0;
    for data in sealed {
        let start = data.windows(4).position(|window| window == b"sion").unwrap();
        let mut other = data.clone();
        let trailer = other.len() - 64;
        other[trailer + 40] ^= 1; // set_number
        let mended = mutate::SION.mended(&other);
        let file = Physical::open(&mended[start..], &mut [0; Meta1::MAX_LEN]).unwrap();
        let Opened::Closed(file) = file else { panic!("not closed") };
        assert!(matches!(file.seal(), Ok(SealState::Sealed(_))), "{:?}", file.seal());
        let Ok(Opened::Closed(file)) = Physical::open(&other[start..], &mut [0; Meta1::MAX_LEN])
        else {
            panic!("not closed")
        };
        assert!(!matches!(file.seal(), Ok(SealState::Sealed(_))), "{:?}", file.seal());
        sealed_files += 1;
    }
    assert!(sealed_files > 0);
}

fn seed(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds").join(name)).unwrap()
}

/// Both copies of the seal of a subfile, in both containers: of a changed header, of a changed tie.
#[test]
fn a_changed_subfile_is_sealed_again() {
    let sealed = |data: &[u8]| {
        let head = Head::read(&data).map_err(|error| error.to_string())?;
        let numrecs = head.grammar.numrecs.unwrap_or(0);
        let seal = Sealed::read(&data, &head, numrecs).map_err(|error| error.to_string())?;
        let seal = seal.ok_or("no seal")?;
        seal.damaged_copy().map_or(Ok(()), |damage| Err(damage.to_string()))
    };
    for name in ["blob_open/sealed_cdf5", "blob_open/sealed_hdf5"] {
        let data = seed(name);
        assert_eq!(sealed(&data), Ok(()), "{name}");
        let heads = data.windows(16).enumerate().filter(|(_, bytes)| bytes == b"striae blob seal");
        let heads: Vec<usize> = heads.map(|(at, _)| at).collect();
        let [first, last] = heads[..] else { panic!("{heads:?}") };
        // the tables, which the ties precede, and a checksum of the header
        for at in [first + 64 + 24, last - 1, last + 30] {
            let mut other = data.clone();
            other[at] ^= 1;
            assert!(sealed(&other).is_err(), "{name} {at}");
            assert_eq!(sealed(&mutate::BLOB.mended(&other)), Ok(()), "{name} {at}");
        }
    }
}

#[test]
fn changed_messages_of_hdf5_have_right_checksums() {
    let data = seed("hdf5_open/superblock2");
    let open = |data: &[u8]| {
        let mut memory = vec![0; Hdf5Reader::<()>::MEMORY];
        let found = Hdf5Reader::open(data, &mut memory)?.dataset(b"dataset_00", &mut memory);
        found.map(|found| found.is_some())
    };
    assert!(matches!(open(&data), Ok(true)));
    // flags of consistency in the superblock, a name of another array in the root group
    let name = data.windows(10).position(|bytes| bytes == b"dataset_02").unwrap();
    for at in [11, name + 9] {
        let mut other = data.clone();
        other[at] ^= 1;
        let wrong = open(&other).unwrap_err().to_string();
        assert!(wrong.contains("checksum"), "{wrong}");
        assert!(matches!(open(&mutate::HDF5.mended(&other)), Ok(true)), "{at}");
    }
}

#[test]
fn changed_chunks_of_gsd_have_right_checksums() {
    let damage = |data: &[u8]| {
        let mut damage = 0;
        let each = &mut |finding: striae_inspect::gsd::FindingKind| {
            damage += u32::from(finding.severity() == Severity::Damage);
        };
        verify(&data, Depth::Data, each).unwrap();
        damage
    };
    let data = seed("gsd_open/committed_checksums");
    assert_eq!(damage(&data), 0);
    let file = Reader::open(&data[..], &mut [0; 256]).unwrap();
    let chunks: Vec<Chunk> = file.chunks([0; 512]).map(Result::unwrap).collect();
    assert!(chunks.len() > 2, "{chunks:?}");
    for chunk in chunks.iter().filter(|chunk| !chunk.span.is_empty()) {
        let mut other = data.clone();
        other[usize::try_from(chunk.span.offset()).unwrap()] ^= 1;
        assert!(damage(&other) > 0, "{chunk:?}");
        assert_eq!(damage(&mutate::GSD.mended(&other)), 0, "{chunk:?}");
    }
}

fn seeds_named(name: &str) -> Vec<Vec<u8>> {
    seeds(&Target::named(name))
}

/// Whether it is opened, and by its commit record.
fn is_committed(data: &[u8]) -> bool {
    Reader::open(data, &mut [0; 256])
        .is_ok_and(|file| matches!(file.head().state, State::Committed(_)))
}
