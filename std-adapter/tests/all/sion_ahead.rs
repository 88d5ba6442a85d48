//! Short reads of a stream in order are few calls of the operating system, and give what long reads
//! give.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use striae::direct;
use striae::sion::{self, Builder, File, Opened};
use striae_kit::adapter::Random;

/// Bytes of the stream of task 1, in chunks of 100 000.
const LEN: usize = 1 << 20;

/// Bytes of a short record.
const RECORD: usize = 64;

/// A set of two tasks whose chunks alternate, and the stream of task 1.
fn made(folder: &Path) -> (PathBuf, Vec<u8>) {
    let path = folder.join("a.sion");
    let bytes: Vec<u8> = (0..LEN as u64).map(|at| (at * at + (at >> 8)) as u8).collect();
    let mut set = Builder::new(2).chunksize(100_000).fsblksize(512).create(&path).unwrap();
    set.task(0).unwrap().write_all(&vec![9; LEN]).unwrap();
    set.task(1).unwrap().write_all(&bytes).unwrap();
    set.close().unwrap();
    (path, bytes)
}

fn open_direct(path: &Path) -> File {
    let options = direct::OpenOptions::new().max_io(8192);
    match sion::OpenOptions::new().direct(Some(options)).open(path).unwrap() {
        Opened::Closed(file) => file,
        Opened::Unclosed(_) => panic!("it was closed"),
    }
}

/// The calls of reading that this thread has made, and the bytes that they gave it.
fn reads() -> (u64, u64) {
    let text = fs::read_to_string("/proc/thread-self/io").unwrap();
    let field = |name| -> u64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().parse().unwrap()
    };
    (field("syscr:"), field("rchar:"))
}

/// What `work` adds to [`reads`], less what asking adds.
fn reads_of(work: impl FnOnce()) -> (u64, u64) {
    let [none, before] = [(); 2].map(|()| reads());
    work();
    let after = reads();
    let own = (before.0 - none.0, before.1 - none.1);
    (after.0 - before.0 - own.0, (after.1 - before.1).saturating_sub(own.1 + 100))
}

#[test]
fn reads_of_any_length_anywhere_give_the_stream() {
    let folder = super::in_memory();
    let on_disk = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (path, bytes) = made(folder.path());
    let (disk, _) = made(on_disk.path());
    for (file, rounds) in [(File::open(&path).unwrap(), 20_000), (open_direct(&disk), 2000)] {
        let mut stream = file.stream(1).unwrap();
        let (mut random, mut position) = (Random(7), 0);
        let mut buf = vec![0; 40_000];
        for _ in 0..rounds {
            match random.below(40) {
                0 => position = random.below(LEN as u64 + 1) as usize,
                1 => position = position.saturating_sub(random.below(20_000) as usize),
                _ => {}
            }
            stream.seek(SeekFrom::Start(position as u64)).unwrap();
            let most = [80, 80, 80, 300, 9000, 40_000][random.below(6) as usize];
            let asked = random.below(most) as usize;
            let n = stream.read(&mut buf[..asked]).unwrap();
            assert_eq!(n == 0, asked == 0 || position == LEN, "{asked} at {position}");
            assert!(buf[..n] == bytes[position..position + n], "{n} at {position}");
            if random.below(100) == 0 {
                stream = stream.clone();
            }
            position += n;
        }
    }
}

#[test]
fn short_records_in_order_take_few_calls() {
    let folder = super::in_memory();
    let (path, bytes) = made(folder.path());
    let mut stream = File::open(&path).unwrap().stream(1).unwrap();
    let mut record = [0; RECORD];
    let (calls, _) = reads_of(|| {
        for expected in bytes.chunks_exact(RECORD) {
            stream.read_exact(&mut record).unwrap();
            assert!(record == expected);
        }
    });
    // 16 KiB each, and less at the ends of 11 chunks.
    let most = LEN as u64 / 16_384 + 2 * 11 + 3;
    assert!(calls <= most, "{calls} calls, at most {most}");
}

#[test]
fn short_records_anywhere_read_no_more_than_they_are() {
    let folder = super::in_memory();
    let (path, bytes) = made(folder.path());
    let mut stream = File::open(&path).unwrap().stream(1).unwrap();
    let mut record = [0; RECORD];
    let backwards = (0..1000).rev().map(|at| at * 1000 + 500);
    let (calls, read) = reads_of(|| {
        for at in backwards {
            stream.seek(SeekFrom::Start(at as u64)).unwrap();
            stream.read_exact(&mut record).unwrap();
            assert!(record == bytes[at..at + RECORD]);
        }
    });
    // A record that crosses the end of a chunk is two reads, and the second one may read ahead.
    assert!(calls <= 1011 && read <= (1000 * RECORD + 11 * 16_384) as u64, "{calls}, {read}");
}

#[test]
fn what_cannot_be_read_ahead_hides_nothing_before_it() {
    for is_direct in [false, true] {
        let on_disk = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let (path, bytes) = made(on_disk.path());
        let file = if is_direct { open_direct(&path) } else { File::open(&path).unwrap() };
        let mut stream = file.stream(1).unwrap();
        let cut = stream.clone().next_span(10_000).unwrap().unwrap().end();
        let writable = OpenOptions::new().write(true).open(&path).unwrap();
        writable.set_len(cut).unwrap();
        let mut record = [0; 100];
        for expected in bytes[..10_000].chunks_exact(100) {
            stream.read_exact(&mut record).unwrap();
            assert!(record == expected);
        }
        let error = stream.read(&mut record).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{error}");
        assert_eq!(stream.stream_position().unwrap(), 10_000);
    }
}
