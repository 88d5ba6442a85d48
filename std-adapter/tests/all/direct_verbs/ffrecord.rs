//! ffrecord files.

use super::*;
use striae::direct;
use striae::ffrecord::{Builder, File};

/// Samples of no byte, of a few, and of many.
const LENS: [usize; 6] = [300, 0, 5, 3_000_000, 70_000, 4096];

fn made(dir: &Path) -> PathBuf {
    let path = dir.join("a.ffr");
    let mut writer = Builder::new().samples(LENS.len() as u64).create(&path).unwrap();
    for (number, len) in LENS.into_iter().enumerate() {
        writer.write(&content(number, len)).unwrap();
    }
    writer.finish().unwrap();
    path
}

#[test]
fn samples_have_the_same_bytes() {
    for dir in folders() {
        let path = made(dir.path());
        let options = direct::OpenOptions::new();
        for options in [options, options.max_io(4096), options.policy(direct::Policy::Off)] {
            let file = File::open_direct(&path, Some(options)).unwrap();
            for (number, len) in LENS.into_iter().enumerate() {
                assert!(file.read_checked(number as u64).unwrap() == content(number, len));
                file.check(&file.sample(number as u64).unwrap()).unwrap();
            }
        }
    }
}

#[test]
fn golden_files_give_the_same() {
    for path in golden("ffrecord", ".ffr", 5) {
        let name = path.to_str().unwrap();
        same(&["verify", "--json", name]);
        same(&["cat", name, "sample/0"]);
        same_files(&path, &[]);
    }
}

#[test]
fn a_large_file_gives_the_same_sound_and_damaged() {
    for dir in folders() {
        let path = made(dir.path());
        let name = path.to_str().unwrap();
        same_files(&path, &[]);
        let cat = same(&["cat", name, "sample/3"]);
        assert!(cat.stdout == content(3, LENS[3]));
        same(&["cat", name, "sample/4", "--offset", "7", "--length", "60000"]);
        assert!(same(&["verify", name]).status.success());
        says_how(&["cat", name, "sample/2"], &path);
        says_how(&["verify", name], &path);

        let file = File::open(&path).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        for number in [2, 3] {
            let span = file.sample(number).unwrap().span;
            bytes[(span.offset() + span.len() / 2) as usize] ^= 1;
        }
        fs::write(&path, &bytes).unwrap();
        let found = same(&["verify", "--json", name]);
        assert_eq!(found.status.code(), Some(1));
        assert_eq!(text(&found.stdout).matches("\"severity\":\"damage\"").count(), 2);
        assert_eq!(same(&["cat", name, "sample/3"]).status.code(), Some(1));
        same_files(&path, &[]);
        fs::File::options().write(true).open(&path).unwrap().set_len(1_000_000).unwrap();
        assert_eq!(same(&["verify", "--json", name]).status.code(), Some(1));
        same_files(&path, &[]);
    }
}
