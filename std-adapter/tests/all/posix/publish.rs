//! `publish`.

use rustix::fs::{CWD, FileType, Mode, inotify};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::num::NonZeroU32;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use striae::error::{Error, ErrorKind};
use striae::publish::{Folder, Publish, abandon_all};
use striae_kit::adapter::{argument, child, names, run};

const NAMES: [&str; 3] = ["a", "a.000001", "a.000002"];

fn publish(path: &Path, nfiles: u32, force: bool) -> Result<Publish, Error> {
    let publish = Publish::new(path, NonZeroU32::new(nfiles).unwrap(), force)?;
    for number in 0..nfiles {
        fs::write(publish.hidden(number), format!("new {number}")).unwrap();
    }
    Ok(publish)
}

/// Names and contents of all that is in a folder.
fn listing(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let contents = |path| fs::read(path).unwrap_or_else(|_| b"unreadable".to_vec());
    entries.map(|e| (e.file_name().into_string().unwrap(), contents(e.path()))).collect()
}

fn files(names: &[&str], word: &str) -> BTreeMap<String, Vec<u8>> {
    let numbered = names.iter().enumerate();
    numbered.map(|(n, &name)| (name.to_owned(), format!("{word} {n}").into_bytes())).collect()
}

fn exists(error: &Error, path: &Path) {
    assert!(matches!(error.kind(), ErrorKind::Exists), "{error}");
    assert_eq!(error.path(), path);
}

fn io_kind(error: &Error) -> io::ErrorKind {
    match error.kind() {
        ErrorKind::Io(error) => error.kind(),
        kind => panic!("{kind:?}"),
    }
}

#[test]
fn files_have_their_names_when_they_are_whole_and_not_before() {
    for (nfiles, durable) in [(1, false), (1, true), (3, false), (3, true)] {
        let dir = tempfile::tempdir().unwrap();
        let set = publish(&dir.path().join("a"), nfiles, false).unwrap();
        let visible = |name: &String| !name.starts_with('.');
        assert!(!listing(dir.path()).keys().any(visible));
        for number in 0..nfiles {
            // so that a set can be opened before it has its name
            assert!(set.hidden(number).ends_with(NAMES[usize::try_from(number).unwrap()]));
        }
        set.finish(durable).unwrap();
        let names = &NAMES[..usize::try_from(nfiles).unwrap()];
        assert_eq!(listing(dir.path()), files(names, "new"));
    }
}

#[test]
fn what_is_dropped_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    drop(publish(&dir.path().join("a"), 3, false).unwrap());
    assert!(listing(dir.path()).is_empty());
}

#[test]
#[ignore = "a process of its own, which can make nothing more"]
fn given_up() {
    let Some(_) = argument() else { return };
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    publish(&path("a"), 3, false).unwrap().finish(false).unwrap();
    fs::create_dir(path("below")).unwrap();
    let unfinished = publish(&path("b"), 3, true).unwrap();
    let dropped = publish(&path("below/c"), 1, false).unwrap();
    let inside = publish(&dropped.hidden(1), 1, false).unwrap();
    // One with so many files that it is still being published when all is given up.
    let many = publish(&path("d"), 2000, false).unwrap();
    std::thread::scope(|scope| {
        let published = scope.spawn(|| many.finish(false));
        while !path("d.000001").exists() && !published.is_finished() {
            std::thread::yield_now();
        }
        let threads = [(); 2].map(|()| scope.spawn(abandon_all));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(names(dir.path()).len(), 3 + 1 + 2000);
        published.join().unwrap().unwrap();
    });
    assert!(listing(&path("below")).is_empty());
    assert!(unfinished.finish(false).is_err());
    drop((inside, dropped));
    assert!(publish(&path("e"), 1, false).is_err());
    abandon_all();
    assert_eq!(names(dir.path()).len(), 3 + 1 + 2000);
    println!("given up");
}

#[test]
fn what_is_given_up_leaves_nothing_and_what_is_being_published_is_whole() {
    run(child("posix::publish::given_up", "all"), &["given up"]);
}

#[test]
fn a_name_that_is_taken_is_refused_at_the_start() {
    for taken in NAMES {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        fs::write(dir.path().join(taken), "new 0").unwrap();
        exists(&publish(&path, 3, false).unwrap_err(), &dir.path().join(taken));
        assert_eq!(listing(dir.path()), files(&[taken], "new"));
        fs::remove_file(dir.path().join(taken)).unwrap();
        symlink("nowhere", dir.path().join(taken)).unwrap();
        exists(&publish(&path, 3, false).unwrap_err(), &dir.path().join(taken));
    }
}

#[test]
fn a_name_that_is_taken_meanwhile_is_not_replaced_and_nothing_else_is_left() {
    for taken in NAMES {
        let dir = tempfile::tempdir().unwrap();
        let set = publish(&dir.path().join("a"), 3, false).unwrap();
        fs::write(dir.path().join(taken), "mine 0").unwrap();
        exists(&set.finish(false).unwrap_err(), &dir.path().join(taken));
        assert_eq!(listing(dir.path()), files(&[taken], "mine"));
    }
}

#[test]
fn a_file_that_was_never_made_takes_back_all_others() {
    for missing in 0..3 {
        for (force, durable) in [(false, false), (false, true), (true, false), (true, true)] {
            let dir = tempfile::tempdir().unwrap();
            let old = if force { files(&NAMES, "old") } else { BTreeMap::new() };
            for (name, contents) in &old {
                fs::write(dir.path().join(name), contents).unwrap();
            }
            let set = publish(&dir.path().join("a"), 3, force).unwrap();
            fs::remove_file(set.hidden(missing)).unwrap();
            let error = set.finish(durable).unwrap_err();
            assert_eq!(io_kind(&error), io::ErrorKind::NotFound);
            let name = NAMES[usize::try_from(missing).unwrap()];
            assert_eq!(error.path(), dir.path().join(name));
            assert_eq!(listing(dir.path()), old);
        }
    }
}

#[test]
fn files_are_replaced_when_forced() {
    for nfiles in [1, 3] {
        let names = &NAMES[..nfiles];
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a"), "old").unwrap();
        fs::write(dir.path().join("a.000002"), "old").unwrap();
        let path = dir.path().join("a");
        publish(&path, u32::try_from(nfiles).unwrap(), true).unwrap().finish(true).unwrap();
        let mut expected = files(names, "new");
        expected.entry("a.000002".to_owned()).or_insert_with(|| b"old".to_vec());
        assert_eq!(listing(dir.path()), expected);
    }
}

#[test]
fn any_name_may_be_that_of_a_set() {
    for name in ["new", "replaced", "lock"] {
        let dir = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            publish(&dir.path().join(name), 3, true).unwrap().finish(false).unwrap();
        }
        let names = [name, &format!("{name}.000001"), &format!("{name}.000002")];
        assert_eq!(listing(dir.path()), files(&names, "new"));
    }
}

#[test]
fn a_link_stays_and_what_it_points_to_is_replaced() {
    for nfiles in [1, 3] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("target"), "old").unwrap();
        symlink("target", dir.path().join("a")).unwrap();
        publish(&dir.path().join("a"), nfiles, true).unwrap().finish(false).unwrap();
        assert_eq!(fs::read(dir.path().join("target")).unwrap(), b"new 0");
        assert!(fs::symlink_metadata(dir.path().join("a")).unwrap().is_symlink());
    }
}

#[test]
fn folders_and_pipes_are_never_replaced() {
    for (nfiles, name) in [(1, "a"), (3, "a"), (3, "a.000002")] {
        let dir = tempfile::tempdir().unwrap();
        let (path, taken) = (dir.path().join("a"), dir.path().join(name));
        let refused = |kind| {
            let error = publish(&path, nfiles, true).unwrap_err();
            assert_eq!((io_kind(&error), error.path()), (kind, &*taken));
        };
        // At the start, and when they appear later.
        let set = publish(&path, nfiles, true).unwrap();
        fs::create_dir(&taken).unwrap();
        refused(io::ErrorKind::IsADirectory);
        assert_eq!(io_kind(&set.finish(false).unwrap_err()), io::ErrorKind::IsADirectory);
        fs::remove_dir(&taken).unwrap();
        assert!(listing(dir.path()).is_empty());

        let set = publish(&path, nfiles, true).unwrap();
        rustix::fs::mknodat(CWD, &taken, FileType::Fifo, Mode::RWXU, 0).unwrap();
        refused(io::ErrorKind::InvalidInput);
        assert_eq!(io_kind(&set.finish(false).unwrap_err()), io::ErrorKind::InvalidInput);
        fs::remove_file(&taken).unwrap();
        assert!(listing(dir.path()).is_empty());
    }
}

#[test]
fn a_place_where_no_file_can_be_is_refused_by_its_own_name() {
    let dir = tempfile::tempdir().unwrap();
    for path in [Path::new("/"), Path::new(""), &dir.path().join("..")] {
        let error = publish(path, 1, false).unwrap_err();
        assert_eq!(io_kind(&error), io::ErrorKind::InvalidInput, "{}", path.display());
    }
    let error = publish(&dir.path().join("gone/a"), 1, false).unwrap_err();
    assert_eq!(io_kind(&error), io::ErrorKind::NotFound);
    assert!(!error.to_string().contains(".striae-"), "{error}");
}

/// What happened to the names in `dir` while `work` was done, in order.
fn moves(dir: &Path, work: impl FnOnce()) -> Vec<(inotify::ReadFlags, String)> {
    let events = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
    let what = inotify::WatchFlags::MOVED_FROM
        | inotify::WatchFlags::MOVED_TO
        | inotify::WatchFlags::DELETE
        | inotify::WatchFlags::CREATE;
    inotify::add_watch(&events, dir, what).unwrap();
    work();
    let mut buf = [MaybeUninit::uninit(); 4096];
    let mut reader = inotify::Reader::new(events, &mut buf);
    let mut moves = Vec::new();
    while let Ok(event) = reader.next() {
        let name = event.file_name().unwrap().to_str().unwrap().to_owned();
        moves.push((event.events(), name));
    }
    moves.retain(|(_, name)| !name.starts_with('.'));
    moves
}

#[test]
fn a_set_gets_the_name_it_is_opened_by_last_and_loses_it_first() {
    for force in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        for name in NAMES.iter().filter(|_| force) {
            fs::write(dir.path().join(name), "old").unwrap();
        }
        let set = publish(&dir.path().join("a"), 3, force).unwrap();
        let moves = moves(dir.path(), || set.finish(true).unwrap());
        let opened_by: Vec<_> = (0..moves.len()).filter(|&n| moves[n].1 == "a").collect();
        let last = moves.len() - 1;
        assert_eq!(moves.len(), if force { 6 } else { 3 }, "{moves:?}");
        assert_eq!(opened_by, if force { vec![0, last] } else { vec![last] }, "{moves:?}");
    }
}

#[test]
fn one_file_is_replaced_without_a_moment_in_which_it_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a"), "old").unwrap();
    let set = publish(&dir.path().join("a"), 1, true).unwrap();
    let moves = moves(dir.path(), || set.finish(false).unwrap());
    assert_eq!(moves, [(inotify::ReadFlags::MOVED_TO, "a".to_owned())]);
}

#[test]
fn a_file_that_appeared_while_a_folder_was_filled_stays() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let folder = |force| Folder::new(&out, force, || Ok::<_, Error>(())).unwrap();
    let fill = |force| {
        let folder = folder(force);
        for name in ["a", "b", "c"] {
            fs::write(folder.hidden().join(name), "new").unwrap();
        }
        fs::write(out.join("b"), "of another").unwrap();
        folder.finish([], force)
    };
    let texts = |texts: [&str; 3]| {
        let named = ["a", "b", "c"].into_iter().zip(texts).filter(|(_, text)| !text.is_empty());
        named.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec())).collect()
    };
    assert!(matches!(fill(false).unwrap_err().kind(), ErrorKind::Exists));
    assert_eq!(listing(&out), texts(["", "of another", ""]));
    assert_eq!(fill(true).unwrap(), 3);
    assert_eq!(listing(&out), texts(["new"; 3]));
    // What is read is never replaced.
    let (own, folder) = (fs::metadata(out.join("b")).unwrap(), folder(true));
    fs::write(folder.hidden().join("b"), "newer").unwrap();
    let error = folder.finish([(own.dev(), own.ino())], true).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Source));
    assert_eq!(listing(&out), texts(["new"; 3]));
}
