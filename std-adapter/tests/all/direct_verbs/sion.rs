//! SIONlib sets.

use super::*;
use std::io::{Read, Seek, SeekFrom, Write};
use striae::direct;
use striae::sion::{Builder, Durability, File, OpenOptions};

const TASKS: usize = 5;

/// Bytes of each task: none, less than a sector, odd, long, many chunks.
const LENS: [usize; TASKS] = [0, 100, 4097, 3_000_001, 700_000];

/// A sealed set of two files.
fn sealed(dir: &Path) -> PathBuf {
    let path = dir.join("a.sion");
    let builder = Builder::new(5).fsblksize(512).chunksize(100_000).nfiles(2).sealed(true);
    let mut file = builder.durability(Durability::None).create(&path).unwrap();
    for (task, len) in LENS.into_iter().enumerate() {
        file.task(task as u64).unwrap().write_all(&content(task, len)).unwrap();
    }
    file.close().unwrap();
    path
}

fn open(path: &Path, options: direct::OpenOptions) -> File {
    match OpenOptions::new().direct(Some(options)).open(path).unwrap() {
        striae::sion::Opened::Closed(file) => file,
        striae::sion::Opened::Unclosed(_) => panic!("was closed"),
    }
}

#[test]
fn a_stream_has_the_same_bytes_and_keeps_its_place() {
    for dir in folders() {
        let path = sealed(dir.path());
        for options in [direct::OpenOptions::new(), direct::OpenOptions::new().max_io(4096)] {
            let file = open(&path, options);
            for (task, len) in LENS.into_iter().enumerate() {
                let wanted = content(task, len);
                let mut stream = file.stream(task as u64).unwrap();
                let mut bytes = Vec::new();
                stream.read_to_end(&mut bytes).unwrap();
                assert!(bytes == wanted);
                for (from, count) in [(0, len), (len / 3, 5), (len / 2, len), (len, 7)] {
                    stream.seek(SeekFrom::Start(from as u64)).unwrap();
                    let mut bytes = Vec::new();
                    let mut each = |piece: &[u8]| {
                        bytes.extend_from_slice(piece);
                        true
                    };
                    stream.read_pieces(count as u64, &mut each).unwrap();
                    let end = len.min(from + count);
                    assert!(bytes == wanted[from..end]);
                    // What comes next is what stands behind it.
                    let mut next = Vec::new();
                    stream.read_to_end(&mut next).unwrap();
                    assert!(next == wanted[end..]);
                }
            }
        }
    }
}

#[test]
fn a_caller_that_wants_no_more_gets_no_more() {
    let dir = &folders()[0];
    let file = open(&sealed(dir.path()), direct::OpenOptions::new().max_io(4096));
    let mut pieces = 0;
    let mut stream = file.stream(3).unwrap();
    let mut each = |_: &[u8]| {
        pieces += 1;
        pieces < 3
    };
    stream.read_pieces(u64::MAX, &mut each).unwrap();
    assert_eq!(pieces, 3);
}

#[test]
fn golden_sets_give_the_same() {
    for path in golden("sion", ".sion", 20) {
        let name = path.to_str().unwrap();
        same(&["verify", "--json", name]);
        same(&["cat", name, "task/0"]);
        same(&["cat", name, "task/1/key/5", "--offset", "3"]);
        same_files(&path, &[]);
    }
}

#[test]
fn a_large_set_gives_the_same_sound_and_damaged() {
    for dir in folders() {
        let path = sealed(dir.path());
        let name = path.to_str().unwrap();
        same_files(&path, &[]);
        for (task, &len) in LENS.iter().enumerate().take(TASKS) {
            let address = format!("task/{task}");
            let cat = same(&["cat", name, &address, "--offset", "0"]);
            assert!(cat.stdout == content(task, len));
            same(&["cat", name, &address, "--offset", "1", "--length", "70000"]);
            same(&["cat", name, &format!("{address}/chunk/1")]);
        }
        assert!(same(&["verify", name]).status.success());
        says_how(&["cat", name, "task/0"], &path);
        says_how(&["extract", "--force", name, dir.path().join("out").to_str().unwrap()], &path);

        // A byte of each file, and then a cut.
        let set = File::open(&path).unwrap();
        for task in [2, 4] {
            let entry = set.task(task).unwrap();
            let file = &[path.clone(), dir.path().join("a.sion.000001")][entry.file as usize];
            let mut bytes = fs::read(file).unwrap();
            bytes[entry.place.chunks.start as usize + 2000] ^= 0x10;
            fs::write(file, &bytes).unwrap();
        }
        let found = same(&["verify", "--json", name]);
        assert_eq!(found.status.code(), Some(1));
        assert_eq!(text(&found.stdout).matches("\"chunk_checksum\"").count(), 2);
        let len = fs::metadata(&path).unwrap().len();
        fs::File::options().write(true).open(&path).unwrap().set_len(len / 2).unwrap();
        assert_eq!(same(&["verify", "--json", name]).status.code(), Some(1));
        same(&["cat", name, "task/2"]);
        same_files(&path, &[]);
    }
}

#[test]
fn holes_are_not_read_and_stay_holes() {
    for dir in folders() {
        let path = dir.path().join("h.sion");
        let builder = Builder::new(1).fsblksize(4096).chunksize(1 << 20).sealed(true);
        let mut file = builder.durability(Durability::None).create(&path).unwrap();
        let mut task = file.task(0).unwrap();
        task.write_all(&[0; 1 << 19]).unwrap();
        task.write_all(&content(1, 1000)).unwrap();
        drop(task);
        file.close().unwrap();
        let start = File::open(&path).unwrap().task(0).unwrap().place.chunks.start;
        let file = fs::File::options().write(true).open(&path).unwrap();
        let punch = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
        rustix::fs::fallocate(&file, punch, start, 1 << 19).unwrap();
        assert!(same(&["verify", path.to_str().unwrap()]).status.success());
        same_files(&path, &[]);
    }
}

#[test]
fn threads_that_copy_directly_manage_with_few_descriptors() {
    let dir = &folders()[0];
    let path = dir.path().join("many.sion");
    let builder = Builder::new(64).fsblksize(4096).chunksize(100_000).nfiles(32);
    let mut file = builder.durability(Durability::None).create(&path).unwrap();
    for task in 0..64_u64 {
        let bytes = content(task as usize, 90_000);
        file.task(task).unwrap().write_all(&bytes).unwrap();
    }
    file.close().unwrap();
    for direct in [&[][..], &["--direct"]] {
        let out = dir.path().join(format!("{}.sion", direct.len()));
        let mut shell = Command::new("sh");
        let script = "ulimit -n 44 && exec \"$0\" \"$@\"";
        shell.args(["-c", script, env!("CARGO_BIN_EXE_striae"), "convert", "--threads", "8"]);
        let done = shell.args(direct).arg(&path).arg(&out).output().unwrap();
        assert!(done.status.success(), "{direct:?}: {}", text(&done.stderr));
        let file = File::open(&out).unwrap();
        for task in 0..64_u64 {
            let mut bytes = Vec::new();
            file.stream(task).unwrap().read_to_end(&mut bytes).unwrap();
            assert!(bytes == content(task as usize, 90_000), "{direct:?}: task {task}");
        }
    }
}
