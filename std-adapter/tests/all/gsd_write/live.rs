//! Readers that look while a writer commits.

use super::{builder, length, values, write_frame};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use striae::gsd::File;

const FRAMES: u64 = 600;

const COMMITS: u64 = 10_000;

/// Looks until the writer is done; what it sees is whole, and at least what was committed before.
fn follow(path: &Path, committed: &AtomicU64, is_done: &AtomicBool) -> u64 {
    let mut file = File::open(path).unwrap();
    let (mut looks, mut last) = (0, 0);
    while !is_done.load(Ordering::SeqCst) {
        let least = committed.load(Ordering::SeqCst);
        file.refresh().unwrap();
        assert!(file.frames() >= least.max(last), "{} of {least}", file.frames());
        last = file.frames();
        looks += 1;
        for frame in last.saturating_sub(3)..last {
            let step = file.chunk(frame, "step").unwrap();
            assert_eq!(file.read::<u64>(&step).unwrap(), [frame]);
            let chunk = file.chunk(frame, "values").unwrap();
            assert!(file.read::<u32>(&chunk).unwrap() == values(frame, length(frame)));
            assert!(file.find(frame, format!("name {frame}")).unwrap().is_some());
        }
    }
    looks
}

#[test]
fn readers_see_whole_commits_and_never_less_than_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    let mut file = builder().names_len(64).create(&path).unwrap();
    let (committed, is_done) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let look = || follow(&path, &committed, &is_done);
        let readers = [(); 3].map(|()| scope.spawn(look));
        for frame in 0..FRAMES {
            file.write(format!("name {frame}"), &[frame], 1).unwrap();
            write_frame(&mut file).unwrap();
            if frame % 3 != 1 {
                file.commit().unwrap();
                committed.store(frame + 1, Ordering::SeqCst);
            }
        }
        file.close().unwrap();
        is_done.store(true, Ordering::SeqCst);
        let looks = readers.map(|reader| reader.join().unwrap());
        println!("{looks:?} looks");
    });
    assert_eq!(File::open(&path).unwrap().frames(), FRAMES);
}

/// A commit of one sync is in a shadow before it is in the header, and two commits later the shadow
/// has another one: a reader that is slow in between must not take the header for all that there
/// is.
#[test]
fn readers_never_see_less_than_before_if_commits_take_one_sync() {
    let folder = crate::in_memory(); // where commits follow one another fastest
    let path = folder.path().join("a.gsd");
    let mut writer = builder().one_sync(true).create(&path).unwrap();
    let is_done = AtomicBool::new(false);
    let look = || {
        let (mut file, mut last) = (File::open(&path).unwrap(), 0);
        while !is_done.load(Ordering::SeqCst) {
            if let Err(error) = file.refresh() {
                // Commits may follow one another faster than a reader looks.
                assert!(error.to_string().contains("whenever it was looked at"), "{error}");
                continue;
            }
            assert!(file.frames() >= last, "{} frames, then {}", last, file.frames());
            last = file.frames();
        }
        last
    };
    std::thread::scope(|scope| {
        let readers = [(); 4].map(|()| scope.spawn(look));
        for frame in 0..COMMITS {
            writer.write("step", &[frame], 1).unwrap();
            writer.end_frame().unwrap();
            writer.commit().unwrap();
        }
        is_done.store(true, Ordering::SeqCst);
        for reader in readers {
            assert!(reader.join().unwrap() > 0);
        }
    });
}
