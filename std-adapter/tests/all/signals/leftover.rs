//! What a kill leaves is named by the next run, and what somebody needs is not.

use super::*;
use std::fs;
use striae::publish::leftovers;
use striae_kit::adapter::denying::deny;

/// Starts the work and stops it when there is a hidden folder, which is returned.
fn stopped(work: &Work, input: &Path, out: &Path) -> (Run, PathBuf) {
    for _ in 0..50 {
        let mut run = Run::new(work.command(input, out));
        if run.wait_until(|| Moment::Making.is_now(out)) {
            run.send(Signal::STOP);
            rustix::process::waitpid(
                Some(Pid::from_child(&run.0)),
                rustix::process::WaitOptions::UNTRACED,
            )
            .unwrap();
            // By now it may have given its files their names.
            if let Some(new) = hidden(out).filter(|new| has_file(new)) {
                return (run, new.parent().unwrap().to_owned());
            }
        }
        run.0.kill().unwrap();
        run.end();
        fs::remove_dir_all(out).unwrap();
    }
    panic!("{} is always faster", work.name);
}

fn has_file(folder: &Path) -> bool {
    let mut entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.any(|path| path.is_file() || path.is_dir() && has_file(&path))
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn a_run_that_is_at_work_is_no_leftover_and_a_killed_one_is_named_until_it_is_removed() {
    for work in WORKS {
        let input = work.input();
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("it's out"); // a name that a shell takes apart
        let (run, hidden) = stopped(work, input.path(), &out);
        assert_eq!(leftovers(&out).unwrap(), []);

        run.send(Signal::KILL);
        assert_eq!(run.end().status.signal(), Some(Signal::KILL.as_raw()));
        let found = leftovers(&out).unwrap();
        let [leftover] = found.as_slice() else { panic!("{}: {found:?}", work.name) };
        assert_eq!((&leftover.path, leftover.replaced), (&hidden, 0));
        assert!(leftover.files > 0 && leftover.is_certain);

        // Named once by each run, which does its work.
        let output = Run::new(work.command(input.path(), &out)).end();
        let (text, status) = (stderr(&output), output.status);
        assert!(status.success(), "{}: {status} {text}", work.name);
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.contains(hidden.to_str().unwrap()), "{text}");
        let (_, remove) = text.split_once("; rm -r ").unwrap();
        let remove = format!("rm -r {}", remove.trim_end().strip_suffix(" removes it").unwrap());
        assert!(Command::new("sh").args(["-c", &remove]).status().unwrap().success());
        assert!(!hidden.exists());
        assert_eq!(names(&out).len(), work.files);
        assert_eq!(leftovers(&out).unwrap(), []);
    }
}

#[test]
fn nobody_says_for_certain_what_locks_do_not_tell() {
    let folder = tempfile::tempdir().unwrap();
    let hidden = folder.path().join(".striae-1");
    fs::create_dir_all(hidden.join("new/below")).unwrap();
    fs::create_dir(hidden.join("replaced")).unwrap();
    fs::write(hidden.join("new/below/a"), [1; 5000]).unwrap();
    fs::write(hidden.join("replaced/a"), [1; 5000]).unwrap();
    assert_eq!(leftovers(folder.path()).unwrap(), [], "without a lock, it is not ours");
    fs::write(hidden.join("lock"), "").unwrap();
    let found = || leftovers(folder.path()).unwrap().remove(0);
    let is_same = |is_certain| {
        let found = found();
        assert_eq!((found.files, found.replaced, found.is_certain), (1, 1, is_certain));
        assert!(found.bytes >= 10_000 && found.path == hidden);
    };
    is_same(true);
    let denied = || {
        deny(libc::SYS_flock, rustix::io::Errno::NOLCK);
        is_same(false);
    };
    std::thread::scope(|scope| scope.spawn(denied).join().unwrap());
    let lock = fs::File::open(hidden.join("lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    assert_eq!(leftovers(folder.path()).unwrap(), []);
    fs::remove_file(hidden.join("lock")).unwrap();
    assert_eq!(leftovers(folder.path()).unwrap(), []);
}
