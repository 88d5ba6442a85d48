//! Disks that are full for a while, and files that vanish.
//!
//! A limit of the file's size (RLIMIT_FSIZE) stands for the full disk: one process can lower and
//! raise it alone, so this is done in a child. It is tried at many sizes, so that it is reached in
//! every operation.

use super::buddies::copies;
use super::{
    Random, argument, assert_sound, child, is_unclosed, names, payload, payload_from, run,
    set_limit, streams,
};
use std::io::{self, Write};
use std::path::Path;
use striae::Error;
use striae::error::ErrorKind;
use striae::sion::{Builder, Durability, FileWriter, buddy_path};
use striae_core::endian::ByteOrder;

const TASKS: u64 = 4;

#[derive(Debug, Clone, Copy)]
struct Variant {
    nfiles: u32,
    sealed: bool,
    keyval: bool,
    buffer: usize,
    durability: Durability,
    buddies: u32,
}

const fn variant(nfiles: u32, sealed: bool, keyval: bool, buffer: usize) -> Variant {
    Variant { nfiles, sealed, keyval, buffer, durability: Durability::None, buddies: 0 }
}

const VARIANTS: [Variant; 9] = [
    variant(1, true, false, 0),
    variant(1, false, false, 150),
    variant(2, true, false, 1 << 16),
    variant(1, true, true, 0),
    variant(2, false, true, 700),
    Variant { buddies: 1, ..variant(2, true, false, 150) },
    Variant { buddies: 2, ..variant(3, false, true, 0) },
    Variant { durability: Durability::EveryRecord, ..variant(1, true, false, 300) },
    Variant { durability: Durability::EveryRecord, ..variant(1, false, true, 0) },
];

/// A set that is written on a disk that is full now and then.
struct Full<'a> {
    path: &'a Path,
    variant: Variant,
    limit: u64,
    random: Random,
    errors: u64,
    /// What each task was told to have accepted.
    accepted: Vec<Vec<u8>>,
    committed: Option<Vec<Vec<u8>>>,
}

fn is_full(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Io(error) if error.kind() == io::ErrorKind::FileTooLarge)
}

impl Full<'_> {
    /// Does `work` until there is room enough for it.
    fn insist<T>(&mut self, work: impl Fn() -> Result<T, Error>) -> T {
        loop {
            match work() {
                Ok(done) => return done,
                Err(error) => self.full(&error),
            }
        }
    }

    /// What was committed can be read, and then there is more room.
    fn full(&mut self, error: &Error) {
        assert!(is_full(error), "{error:?}");
        assert!(error.path().starts_with(self.path.parent().unwrap()), "{error}");
        match &self.committed {
            Some(committed) => {
                // Files of a set are committed one after another: some may have all of it.
                let is_set = self.variant.nfiles > 1;
                let new = self.accepted.iter().map(|new| Some(new).filter(|_| is_set));
                for ((found, old), new) in streams(self.path).iter().zip(committed).zip(new) {
                    assert!(found == old || Some(found) == new, "after {error}");
                }
                self.check_that_copies_have_all();
            }
            None => assert!(is_unclosed(self.path), "after {error}"),
        }
        self.errors += 1;
        self.limit += 1 + self.random.below(900);
        set_limit(self.limit);
    }

    fn create(&mut self) -> FileWriter {
        let Variant { nfiles, sealed, keyval, buffer, durability, buddies } = self.variant;
        let builder = Builder::new(TASKS).chunksize(400).fsblksize(16).nfiles(nfiles);
        let builder = builder.sealed(sealed).keyval(keyval).buffer(buffer).durability(durability);
        let builder = builder.buddies(buddies);
        loop {
            match builder.clone().order(ByteOrder::Big).create(self.path) {
                Ok(file) => return file,
                Err(error) => {
                    assert!(is_full(&error), "{error:?}");
                    assert_eq!(names(self.path.parent().unwrap()), [""; 0], "{error}");
                    self.errors += 1;
                    self.limit += 1 + self.random.below(900);
                    set_limit(self.limit);
                }
            }
        }
    }

    fn write(&mut self, file: &FileWriter, step: u64) {
        let task = self.random.below(TASKS);
        let mut writer = self.insist(|| file.task(task));
        let at = self.accepted[task as usize].len();
        let mut bytes = payload_from(task, at, self.random.index(900));
        if self.variant.keyval {
            loop {
                match writer.write_key(step, &bytes) {
                    Ok(()) => break,
                    Err(error) => self.full(&error),
                }
            }
            let header = [step.to_be_bytes(), (bytes.len() as u64).to_be_bytes()];
            self.accepted[task as usize].extend(header.as_flattened());
            self.accepted[task as usize].extend(&bytes);
            self.committed_each();
        } else if self.random.below(2) == 0 {
            bytes.truncate(400);
            loop {
                match writer.write_record(&bytes) {
                    Ok(()) => break,
                    Err(error) => self.full(&error),
                }
            }
            self.accepted[task as usize].extend(&bytes);
            self.committed_each();
        } else {
            self.write_plain(&mut writer, task, &bytes);
        }
        let _ = writer.flush(); // what fails stays in the buffer
    }

    fn write_plain(&mut self, writer: &mut impl Write, task: u64, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match writer.write(bytes) {
                Ok(n) => {
                    self.accepted[task as usize].extend(&bytes[..n]);
                    bytes = &bytes[n..];
                    self.committed_each();
                }
                Err(error) => {
                    assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
                    self.full(error.get_ref().unwrap().downcast_ref::<Error>().unwrap());
                }
            }
        }
    }

    fn committed_each(&mut self) {
        if self.variant.durability == Durability::EveryRecord {
            assert!(streams(self.path) == self.accepted, "a record that was written");
            self.committed = Some(self.accepted.clone());
        }
    }

    fn commit(&mut self, file: &FileWriter) {
        self.insist(|| file.commit());
        assert!(streams(self.path) == self.accepted, "after a commit");
        self.check_copies();
        self.committed = Some(self.accepted.clone());
    }

    /// What a reader of the set sees is in each of its buddy sets.
    fn check_that_copies_have_all(&self) {
        for buddy in 0..self.variant.buddies {
            let (copies, streams) = (copies(self.path, buddy), streams(self.path));
            assert!(copies.iter().zip(&streams).all(|(copy, stream)| copy.starts_with(stream)));
        }
    }

    /// Goes on with a new writer after a close that failed, with room for everything.
    fn reopen(&self, file: FileWriter) {
        drop(file);
        set_limit(1 << 20);
        FileWriter::reopen(self.path).unwrap().close().unwrap();
        let found = streams(self.path);
        for ((found, old), new) in
            found.iter().zip(self.committed.iter().flatten()).zip(&self.accepted)
        {
            assert!(found == old || found == new);
        }
        for buddy in 0..self.variant.buddies {
            assert!(copies(self.path, buddy) == found, "buddy set {buddy}");
            assert_sound(&buddy_path(self.path, buddy), self.variant.sealed);
        }
        assert_sound(self.path, self.variant.sealed);
    }

    fn close(&mut self, mut file: FileWriter) {
        while let Err(error) = file.close() {
            if self.variant.buddies > 0 && self.committed.is_some() {
                self.check_that_copies_have_all();
                if self.random.below(2) == 0 {
                    self.errors += 1;
                    return self.reopen(file);
                }
            }
            // Of a set, some files may be closed already, with all that was accepted.
            if self.variant.nfiles == 1 {
                self.full_or_closed(&error);
            } else {
                assert!(is_full(&error), "{error:?}");
            }
            self.errors += 1;
            self.limit += 1 + self.random.below(300);
            set_limit(self.limit);
        }
        assert!(streams(self.path) == self.accepted, "after the close");
        self.check_copies();
        assert_sound(self.path, self.variant.sealed);
    }

    fn check_copies(&self) {
        for buddy in 0..self.variant.buddies {
            assert!(copies(self.path, buddy) == self.accepted, "buddy set {buddy}");
        }
    }

    fn full_or_closed(&self, error: &Error) {
        assert!(is_full(error), "{error:?}");
        let Some(committed) = &self.committed else { return assert!(is_unclosed(self.path)) };
        let found = streams(self.path);
        assert!(found == *committed || found == self.accepted, "{error}");
    }
}

#[test]
#[ignore = "a process of its own, whose files are limited"]
fn limited() {
    let Some(_) = argument() else { return };
    let mut errors = 0;
    let mut runs = 0;
    for (seed, variant) in (0..).zip(VARIANTS) {
        for limit in (0..24_000).step_by(307) {
            let folder = tempfile::tempdir().unwrap();
            let mut full = Full {
                path: &folder.path().join("a.sion"),
                variant,
                limit,
                random: Random(seed * 1_000_000 + limit),
                errors: 0,
                accepted: vec![Vec::new(); TASKS as usize],
                committed: None,
            };
            set_limit(limit);
            let file = full.create();
            if variant.durability == Durability::EveryRecord {
                full.committed = Some(full.accepted.clone());
            }
            for step in 0..20 {
                full.write(&file, step);
                if step % 6 == 5 {
                    full.commit(&file);
                }
            }
            full.close(file);
            errors += full.errors;
            runs += 1;
        }
    }
    assert!(errors > runs, "the disk is hardly ever full: {errors}");
    println!("full disks: {runs} sets written, {errors} errors got over");
}

#[test]
fn a_writer_goes_on_when_the_disk_is_not_full_any_more() {
    run(child("write::faults::limited", "1"), &["full disks"]);
}

#[test]
fn a_set_whose_folder_vanishes_cannot_be_committed_and_says_which_file() {
    for nfiles in [1, 2] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gone/a.sion");
        std::fs::create_dir(path.parent().unwrap()).unwrap();
        let mut file = Builder::new(2).nfiles(nfiles).create(&path).unwrap();
        file.task(0).unwrap().write_all(&payload(0, 100)).unwrap();
        file.commit().unwrap();
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
        file.task(0).unwrap().write_all(&payload(0, 100)).unwrap();
        for error in [file.commit().unwrap_err(), file.close().unwrap_err()] {
            assert_eq!(error.path(), path);
            let ErrorKind::Io(io) = error.kind() else { panic!("{error:?}") };
            assert_eq!(io.kind(), io::ErrorKind::NotFound);
            assert!(error.to_string().contains("removed"), "{error}");
        }
    }
}

#[test]
fn a_folder_that_is_not_there_is_an_error_that_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none/a.sion");
    let error = Builder::new(2).create(&path).unwrap_err();
    assert_eq!(error.path(), path);
    assert!(matches!(error.kind(), ErrorKind::Io(io) if io.kind() == io::ErrorKind::NotFound));
    let error = FileWriter::reopen(&path).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Io(io) if io.kind() == io::ErrorKind::NotFound));
}

/// What a user who is not root may not do.
#[test]
#[ignore = "a process of a user who is not root"]
fn forbidden() {
    let Some(argument) = argument() else { return };
    let folder = Path::new(&argument);
    let is_denied = |error: &Error| match error.kind() {
        ErrorKind::Io(error) => error.kind() == io::ErrorKind::PermissionDenied,
        _ => false,
    };
    let denied = |error: Error, path: &str| {
        assert!(is_denied(&error), "{error:?}");
        assert_eq!(error.path(), folder.join(path));
    };
    denied(Builder::new(2).create(folder.join("locked/a")).unwrap_err(), "locked/a");
    let old = std::fs::read(folder.join("open/only")).unwrap();
    let overwrite = Builder::new(2).force(true);
    denied(overwrite.clone().create(folder.join("open/only")).unwrap_err(), "open/only");
    denied(FileWriter::reopen(folder.join("open/only")).unwrap_err(), "open/only");
    // The second file of a set: nothing is left of the first one.
    denied(overwrite.nfiles(2).create(folder.join("open/b")).unwrap_err(), "open/b.000001");
    assert!(std::fs::read(folder.join("open/only")).unwrap() == old);
    assert_eq!(names(&folder.join("open")), ["b.000001", "only"]);
    println!("forbidden: all tried");
}

#[test]
fn what_may_not_be_written_is_left_alone() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let folder = tempfile::tempdir().unwrap();
    let mode = |path: &str, mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(folder.path().join(path), permissions).unwrap();
    };
    for path in ["locked", "open"] {
        std::fs::create_dir(folder.path().join(path)).unwrap();
    }
    for path in ["open/only", "open/b.000001"] {
        Builder::new(2).create(folder.path().join(path)).unwrap().close().unwrap();
        mode(path, 0o444);
    }
    for (path, bits) in [("", 0o755), ("locked", 0o555), ("open", 0o777)] {
        mode(path, bits);
    }
    let mut child = child("write::faults::forbidden", folder.path().to_str().unwrap());
    if rustix::process::geteuid().is_root() {
        child.uid(65534).gid(65534); // to root everything is allowed
    }
    let Ok(output) = child.output() else {
        return println!("skipped: another user may not run this program where it is");
    };
    mode("locked", 0o755);
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && text.contains("all tried"), "{text}\n{errors}");
}
