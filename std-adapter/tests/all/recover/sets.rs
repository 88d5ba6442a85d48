//! What recover and convert promise, on sets of several files with a wrong byte or without a file.

use super::library::is_sound;
use super::streams;
use std::fs;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use striae::Output;
use striae::sion::recover::{Certainty, Recover};
use striae::sion::{Builder, Convert, File};

const TASKS: u64 = 5;

/// A set of 3 files, which was committed once before it was closed.
fn make(path: &Path, sealed: bool, keyval: bool) {
    let builder = Builder::new(TASKS).nfiles(3).fsblksize(512).chunksize(300);
    let mut set = builder.sealed(sealed).keyval(keyval).create(path).unwrap();
    for round in 0..2 {
        for number in 0..TASKS {
            let len = 90 + 60 * number as usize * (1 + round);
            let bytes: Vec<u8> = (0..len).map(|at| (at * 7 + round) as u8 | 1).collect();
            let mut task = set.task(number).unwrap();
            match keyval {
                true => task.write_key(number % 2, &bytes).unwrap(),
                false => task.write_all(&bytes).unwrap(),
            }
            task.flush().unwrap();
        }
        set.commit().unwrap();
    }
    set.close().unwrap();
}

fn files(path: &Path) -> Vec<PathBuf> {
    let name = |number| match number {
        0 => path.to_owned(),
        _ => format!("{}.{number:06}", path.display()).into(),
    };
    (0..3).map(name).collect()
}

/// What the verbs make of a set, whose streams were `whole`: whether recover calls it sound.
fn check(path: &Path, whole: &[Vec<u8>], what: &str) -> bool {
    let out = path.with_file_name("out");
    let output = Output::new().threads(NonZeroUsize::MIN);
    let done = |is_made: bool| {
        if is_made {
            assert!(is_sound(&out), "{what}");
        }
        assert_eq!(files(&out).iter().any(|file| file.exists()), is_made, "{what}");
    };
    let remove = || files(&out).iter().for_each(|file| drop(fs::remove_file(file)));
    let mut is_called_sound = false;
    if let Ok(recovery) = Recover::new().output(output).examine(path) {
        is_called_sound = recovery.is_sound();
        let made = recovery.write(&out, &|_| {}).is_ok();
        done(made);
        if made {
            for (task, found) in recovery.tasks().zip(streams(&out)) {
                let is_right = found == whole[task.task as usize];
                assert!(is_right || task.certainty() != Certainty::Exact, "{what}: {task:?}");
            }
        }
        remove();
    }
    if let Ok(set) = File::open(path) {
        done(Convert::new().output(output).run(&set, &out, &|_| {}).is_ok());
        remove();
    }
    is_called_sound
}

/// A bit of every 11th byte of each file, and without it: for 4 kinds of sets.
#[test]
fn what_is_made_of_a_set_with_a_wrong_byte_is_sound_and_what_is_exact_is_right() {
    let (mut cases, mut sound) = (0, 0);
    for (sealed, keyval) in [(true, false), (true, true), (false, false), (false, true)] {
        let dir = crate::in_memory();
        let path = dir.path().join("a.sion");
        make(&path, sealed, keyval);
        let whole = streams(&path);
        assert!(check(&path, &whole, "undamaged"));
        for (number, file) in files(&path).iter().enumerate() {
            let bytes = fs::read(file).unwrap();
            let is_hole =
                |at: usize| bytes[at..bytes.len().min(at + 64)].iter().all(|&byte| byte == 0);
            for at in (0..bytes.len()).step_by(11).filter(|at| !is_hole(*at) || at % 352 == 0) {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << (at / 11 % 8);
                fs::write(file, &damaged).unwrap();
                let what = format!("sealed {sealed}, keyval {keyval}: file {number}, byte {at}");
                sound += u32::from(check(&path, &whole, &what));
                cases += 1;
            }
            fs::remove_file(file).unwrap();
            assert!(!check(&path, &whole, "without a file"), "{number}");
            fs::write(file, &bytes).unwrap();
        }
    }
    println!("{cases} cases, {sound} are called sound");
    assert!(cases > 1200 && sound > 400, "{cases}, {sound}");
}
