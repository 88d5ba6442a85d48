//! `extract`.

use super::*;
use rustix::fs::FallocateFlags;

#[test]
fn extract_makes_a_file_of_every_stream() {
    for set in closed_sets().filter(|set| !is_keyval(set)) {
        let out = tempfile::tempdir().unwrap();
        let dir = out.path().join("new").to_str().unwrap().to_owned();
        output(&["extract", main_file(&set), &dir]);
        let tasks = set.tasks();
        let expected = (0..tasks.len()).map(|task| format!("task_{task:05}"));
        assert_eq!(names(&dir), expected.collect(), "{}", set.name);
        for (index, task) in tasks.into_iter().enumerate() {
            let bytes = fs::read(Path::new(&dir).join(format!("task_{index:05}"))).unwrap();
            assert_eq!(hex_sha256(&bytes), task["sha256"].as_str().unwrap(), "{}", set.name);
        }
    }
}

#[test]
fn extract_makes_a_file_of_every_key() {
    for set in closed_sets().filter(is_keyval) {
        let out = tempfile::tempdir().unwrap();
        let dir = out.path().to_str().unwrap();
        output(&["extract", "--threads", "3", main_file(&set), dir]);
        let mut expected = BTreeSet::new();
        for (index, task) in set.tasks().into_iter().enumerate() {
            let records = task["keyval"].as_array().unwrap();
            for key in records.iter().map(|record| record["key"].as_u64().unwrap()) {
                let name = format!("task_{index:05}.key_{key}");
                let bytes = fs::read(out.path().join(&name)).unwrap();
                let address = format!("task/{index}/key/{key}");
                let cat = output(&["cat", main_file(&set), &address]);
                assert_eq!(bytes, cat, "{}", set.name);
                expected.insert(name);
            }
            if records.is_empty() {
                expected.insert(format!("task_{index:05}")); // so that no task's number is missing
            }
        }
        assert_eq!(names(dir), expected);
    }
}

#[test]
fn extract_overwrites_only_when_forced() {
    for name in ["m05_np8_3files", "s17_keyval_straddle"] {
        let set = golden_set(name);
        let out = tempfile::tempdir().unwrap();
        let dir = out.path().to_str().unwrap();
        let mine = out.path().join(if is_keyval(&set) { "task_00001.key_7" } else { "task_00007" });
        fs::write(&mine, b"mine").unwrap();
        let before = names(dir);
        refused(&["extract", main_file(&set), dir], 2, "exists already");
        assert_eq!(names(dir), before, "{name}");
        assert_eq!(fs::read(&mine).unwrap(), b"mine");
        output(&["extract", "--force", main_file(&set), dir]);
        assert_ne!(fs::read(&mine).unwrap(), b"mine");
        assert!(names(dir).len() > 1);
    }
}

#[test]
fn a_failed_extract_leaves_nothing_behind() {
    let copy = Copy::of("s03_eight_mixed");
    let file = fs::read(&copy.main).unwrap();
    // the last task's first block size: the other tasks are sound and may be copied before it
    let varheader = u64::from_le_bytes(file[1076 + 128 + 4..1076 + 128 + 12].try_into().unwrap());
    let place = usize::try_from(varheader).unwrap() + 8 * 8 + 7 * 8;
    copy.overwrite(place, &i64::MAX.to_le_bytes());
    let says = format!("META2.blocksize at offset {place} is 9223372036854775807, must be at most");

    let new = copy.path("new");
    refused(&["extract", "--threads", "1", copy.main(), &new], 1, &says);
    assert!(!Path::new(&new).exists());

    let old = copy.path("old");
    fs::create_dir(&old).unwrap();
    fs::write(Path::new(&old).join("task_00000"), b"mine").unwrap();
    refused(&["extract", "--force", copy.main(), &old], 1, &says);
    assert_eq!(names(&old), BTreeSet::from(["task_00000".to_owned()]));
    assert_eq!(fs::read(Path::new(&old).join("task_00000")).unwrap(), b"mine");
}

#[test]
fn nothing_is_replaced_if_something_cannot_be() {
    let set = golden_set("m05_np8_3files");
    let out = tempfile::tempdir().unwrap();
    fs::write(out.path().join("task_00000"), b"mine").unwrap();
    fs::create_dir(out.path().join("task_00003")).unwrap();
    let dir = out.path().to_str().unwrap();
    let before = names(dir);
    refused(&["extract", "--force", main_file(&set), dir], 2, "task_00003: is a directory");
    assert_eq!(names(dir), before);
    assert_eq!(fs::read(out.path().join("task_00000")).unwrap(), b"mine");
    let file = out.path().join("task_00000");
    refused(&["extract", main_file(&set), file.to_str().unwrap()], 2, "not a directory");
}

#[test]
fn extract_keeps_holes() {
    const BLOCK: u64 = 4096;
    let name = "s24_big_chunk_small_write";
    let copy = Copy::of(name);
    let file = fs::read(&copy.main).unwrap();
    let start = golden_set(name).tasks()[0]["start"].as_u64().unwrap();
    // the first task's block size: as if it had written its chunk up to the end of a hole
    let used = (start + 65536) / BLOCK * BLOCK - start;
    let varheader = u64::from_le_bytes(file[1076 + 32 + 4..1076 + 32 + 12].try_into().unwrap());
    copy.overwrite(usize::try_from(varheader).unwrap() + 2 * 8, &used.to_le_bytes());
    let main = fs::File::options().write(true).open(&copy.main).unwrap();
    let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    rustix::fs::fallocate(&main, punch, start + 1000, used - 1000).unwrap();

    let new = copy.path("new");
    output(&["extract", copy.main(), &new]);
    let extracted = Path::new(&new).join("task_00000");
    fs::File::open(&extracted).unwrap().sync_all().unwrap(); // blocks have a place now
    let start = usize::try_from(start).unwrap();
    let mut expected = file[start..start + 1000].to_vec();
    expected.resize(usize::try_from(used).unwrap(), 0);
    assert_eq!(fs::read(&extracted).unwrap(), expected);
    assert!(fs::metadata(&extracted).unwrap().blocks() * 512 <= 2 * BLOCK);
}

#[test]
fn extract_never_replaces_a_file_that_it_reads() {
    let golden = |path: &str| format!("{}/../tests/golden/{path}", env!("CARGO_MANIFEST_DIR"));
    let copies = |names: &[(String, &str)]| {
        let folder = Folder::new();
        for (from, name) in names {
            fs::copy(from, folder.path(name)).unwrap();
        }
        folder
    };
    let set = |number: &str| golden(&format!("sion/m05_np8_3files.sion{number}"));
    let one = copies(&[(golden("sion/s01_one_task.sion"), "task_00000")]);
    let second = copies(&[
        (set(""), "a.sion"),
        (set(".000001"), "a.sion.000001"),
        (set(".000002"), "a.sion.000002"),
    ]);
    std::os::unix::fs::symlink("a.sion.000002", second.path("task_00001")).unwrap();
    let gsd = copies(&[(golden("gsd/v21_hoomd_full_single.gsd"), "particles.position.npy")]);
    let ffr = copies(&[(golden("ffrecord/many.ffr"), "sample_00001")]);
    let cases = [
        (one, "task_00000"),
        (second, "a.sion"),
        (gsd, "particles.position.npy"),
        (ffr, "sample_00001"),
    ];
    for (folder, name) in cases {
        let read = || -> Vec<_> {
            let names = folder.names().into_iter();
            names.map(|name| (fs::read(folder.path(&name)).unwrap(), name)).collect()
        };
        let before = read();
        let dir = folder.path("");
        let args = ["extract", "--force", &folder.path(name), &dir];
        refused(&args, 2, "is a source, and would be replaced");
        assert!(read() == before, "{name}");
    }
}
