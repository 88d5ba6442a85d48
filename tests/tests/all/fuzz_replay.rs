//! What the fuzz targets promise holds for their saved seeds, and for mutations of them.
//!
//! The bodies are those of `fuzz/src/lib.rs`. Mutations come from a fixed sequence, so that every
//! run is the same one.

use std::path::Path;
use striae_fuzz::mutate::Random;
use striae_fuzz::{TARGETS, Target};

/// Values that fields do not expect.
const ODD: [i64; 8] = [0, 1, -1, 2, i64::MIN, i64::MAX, 1 << 31, 0x7fff_ffff];

/// Marsaglia's xorshift64.
struct Xorshift(u64);

impl Xorshift {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % bound.max(1)
    }
}

/// Mutations of each seed: fewer where one takes long, for it looks at many power cuts, or writes
/// files. The job `fuzz-smoke` tries more, and looks where they lead.
fn mutations(target: &Target) -> u64 {
    match target.name {
        "gsd_write" => 40,
        "gsd_recover" => 50,
        "c_gsd" | "c_sion" => 100,
        "sion_write" => 60,
        "sion_convert" | "sion_recover" | "gsd_open" | "gsd_append" => 250,
        _ => 500,
    }
}

fn seeds(target: &Target) -> Vec<(String, Vec<u8>)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds").join(target.name);
    let entries = std::fs::read_dir(&dir).unwrap_or_else(|error| panic!("{dir:?}: {error}"));
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), std::fs::read(path).unwrap())).collect()
}

/// Changes a few places of `input`: bits, bytes, whole integers in either order, the length.
fn mutate(input: &mut Vec<u8>, random: &mut Xorshift) {
    for _ in 0..=random.below(4) {
        // metadata are at the front and at the back; what is between is of less interest
        let len = input.len();
        let at = match random.below(3) {
            0 => random.below(len.min(1300)),
            1 => len - 1 - random.below(len.min(160)),
            _ => random.below(len),
        };
        let odd = ODD[random.below(ODD.len())];
        let bytes = if random.below(2) == 0 { odd.to_le_bytes() } else { odd.to_be_bytes() };
        match random.below(6) {
            0 => input[at] ^= 1 << random.below(8),
            1 => input[at] = bytes[random.below(8)],
            2 => input[at..].iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte),
            3 => input[at & !3..].iter_mut().zip(&bytes[..4]).for_each(|(to, byte)| *to = *byte),
            4 if at > 0 => input.truncate(at),
            _ => input.insert(at, bytes[0]),
        }
    }
}

/// Runs the body, and says which input it was that broke it.
fn run(target: &Target, input: &[u8], what: &str) {
    let outcome = std::panic::catch_unwind(|| (target.body)(input));
    assert!(outcome.is_ok(), "{}: {what}: {} bytes", target.name, input.len());
}

#[test]
fn every_seed_keeps_what_its_target_promises() {
    for target in TARGETS {
        let seeds = seeds(target);
        assert!(!seeds.is_empty(), "{} has no seeds", target.name);
        for (name, seed) in seeds {
            run(target, &seed, &name);
        }
        run(target, &[], "no input");
    }
}

#[test]
fn mutations_of_every_seed_keep_what_its_target_promises() {
    let try_all = |target: &Target| {
        for (name, seed) in seeds(target) {
            let mut random = Xorshift(0x9e37_79b9_7f4a_7c15);
            for number in 0..mutations(target) {
                let mut input = seed.clone();
                mutate(&mut input, &mut random);
                run(target, &input, &format!("mutation {number} of {name}"));
            }
            let Some(kind) = target.input else { continue };
            for number in 0..mutations(target) / 5 {
                let number = u32::try_from(number).unwrap();
                let made = kind.mutated(&seed, seed.len() + 256, &mut Random::new(number));
                run(target, &kind.mended(&made), &format!("structure {number} of {name}"));
            }
        }
    };
    std::thread::scope(|scope| {
        for target in TARGETS {
            scope.spawn(move || try_all(target));
        }
    });
}

/// The laws of `sion_recover`: the new file is sound, and not larger than the old one justifies;
/// the work is in proportion to the old one.
#[test]
fn what_is_recovered_of_mutated_golden_files_is_sound_and_bounded() {
    let target = Target::named("sion_recover");
    let mut inputs = 0;
    for set in striae_kit::golden_sets::golden_sets() {
        let mut random = Xorshift(0x2545_f491_4f6c_dd1d);
        for file in set.files.iter().filter(|file| file.len() < 1 << 16) {
            run(&target, file, &set.name);
            for number in 0..100 {
                let mut input = file.clone();
                mutate(&mut input, &mut random);
                run(&target, &input, &format!("mutation {number} of {}", set.name));
                inputs += 1;
            }
        }
    }
    println!("{inputs} mutated golden files");
    assert!(inputs > 4000, "{inputs}");
}

#[test]
fn every_folder_of_seeds_has_a_target() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds");
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut folders: Vec<_> =
        folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
    folders.sort();
    let mut names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
    names.sort_unstable();
    assert_eq!(folders, names);
}
