//! Disks that are full for a while, and files that vanish.
//!
//! Two things stand for the full disk: a limit of the file's size (RLIMIT_FSIZE), and a small file
//! system in memory, where holes cannot be filled either. A process can change both alone, so
//! this is done in a child. It is tried at many sizes, so that it is reached in every operation.

use super::{
    Random, Variant, argument, child, gsd, names, run, set_limit, value, values, variant,
    write_frame,
};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use striae::Error;
use striae::error::ErrorKind;
use striae::gsd::{Builder, Durability, File, FileWriter};
use striae_core::gsd::ChunkType;

/// What is full.
#[derive(Debug, Clone)]
enum Disk {
    /// Files may have so many bytes.
    Limit(u64),
    /// A file system of so many pages is at this path.
    Pages(PathBuf, u64),
}

impl Disk {
    fn set(&self) {
        match self {
            Self::Limit(bytes) => set_limit(*bytes),
            Self::Pages(path, pages) => {
                let size = format!("remount,size={}k", 4 * pages);
                let mounted = Command::new("mount").args(["-o", &size]).arg(path).status();
                assert!(mounted.unwrap().success());
            }
        }
    }

    fn grow(&mut self, random: &mut Random) {
        match self {
            Self::Limit(bytes) => *bytes += 1 + random.below(900 + *bytes / 20),
            Self::Pages(_, pages) => *pages += 1 + random.below(3),
        }
        self.set();
    }

    fn is_full(&self, error: &Error) -> bool {
        let full = match self {
            Self::Limit(_) => io::ErrorKind::FileTooLarge,
            Self::Pages(..) => io::ErrorKind::StorageFull,
        };
        matches!(error.kind(), ErrorKind::Io(error) if error.kind() == full)
    }
}

const VARIANTS: [Variant; 7] = [
    variant(false, 1, 0),
    variant(true, 1, 100),
    variant(false, 64, 5000),
    variant(true, 1, 1 << 20),
    Variant { durability: Durability::OnCommit, ..variant(false, 1, 1 << 20) },
    Variant { layer: 1, ..variant(false, 1, 3000) },
    Variant { one_sync: true, durability: Durability::OnCommit, ..variant(true, 1, 1 << 20) },
];

/// A file that is written on a disk that is full now and then.
struct Full<'a> {
    path: &'a Path,
    variant: Variant,
    disk: Disk,
    random: Random,
    errors: u64,
    /// Frames that were ended, by the number of values of each.
    ended: Vec<usize>,
    committed: usize,
}

impl Full<'_> {
    /// Does `work` until there is room enough for it.
    fn insist<T>(
        &mut self,
        file: &mut FileWriter,
        mut work: impl FnMut(&mut FileWriter) -> Result<T, Error>,
    ) -> T {
        loop {
            match work(file) {
                Ok(done) => return done,
                Err(error) => self.full(&error),
            }
        }
    }

    /// What was committed can be read, and then there is more room.
    fn full(&mut self, error: &Error) {
        assert!(self.disk.is_full(error), "{error:?}");
        assert_eq!(error.path(), self.path);
        self.check();
        self.errors += 1;
        self.disk.grow(&mut self.random);
    }

    /// That a reader sees what was committed, or what a commit that failed was about to.
    fn check(&self) {
        let file = File::open(self.path).unwrap();
        let frames = file.frames() as usize;
        assert!(frames == self.committed || frames == self.ended.len(), "{frames} frames");
        for (frame, &len) in (0..).zip(&self.ended[..frames]) {
            let chunk = file.chunk(frame, "values").unwrap();
            assert!(file.read::<u32>(&chunk).unwrap() == values(frame, len), "frame {frame}");
            let chunk = file.chunk(frame, format!("name {frame}")).unwrap();
            assert_eq!(file.read::<u32>(&chunk).unwrap(), [value(frame, 0)]);
            assert_eq!(
                file.chunks_of(frame).unwrap().count(),
                2 + usize::from(self.variant.checksums)
            );
        }
    }

    fn create(&mut self) -> FileWriter {
        loop {
            match self.variant.builder().create(self.path) {
                Ok(file) => return file,
                Err(error) => {
                    // The hidden folder may have no place either; errors name the file all the
                    // same.
                    assert!(self.disk.is_full(&error), "{error:?}");
                    assert_eq!(error.path(), self.path);
                    assert_eq!(names(self.path.parent().unwrap()), [""; 0], "{error}");
                    self.errors += 1;
                    self.disk.grow(&mut self.random);
                }
            }
        }
    }

    fn write_frame(&mut self, file: &mut FileWriter) {
        let frame = file.frames();
        let len = match self.random.below(9) {
            0 => 20_000 + self.random.index(3000),
            _ => self.random.index(300),
        };
        let all = values(frame, len);
        if self.random.below(2) == 0 {
            self.insist(file, |file| file.write("values", &all, 1));
        } else {
            self.insist(file, |file| {
                let mut chunk = file.begin_chunk("values", ChunkType::U32, 1)?;
                for piece in all.chunks(50) {
                    let bytes: Vec<u8> = piece.iter().flat_map(|x| x.to_le_bytes()).collect();
                    if let Err(error) = chunk.write_all(&bytes) {
                        let error = error.into_inner().unwrap().downcast::<Error>().unwrap();
                        return Err(*error); // and all of it once more
                    }
                }
                chunk.finish()
            });
        }
        let name = format!("name {frame}");
        self.insist(file, |file| file.write(&name, &[value(frame, 0)], 1));
        self.insist(file, FileWriter::end_frame);
        self.ended.push(len);
    }

    /// Writes a frame, and all of it again after each error.
    fn write_frame_anew(&mut self, file: &mut FileWriter) {
        let frame = file.frames();
        let len = self.random.index(9000);
        let (first, rest) = (values(frame, len), format!("name {frame}"));
        let write = |file: &mut FileWriter| {
            file.write("values", &first, 1)?;
            file.write(&rest, &[value(frame, 0)], 1)?;
            file.end_frame()
        };
        while let Err(error) = write(file) {
            file.discard_frame();
            assert_eq!(file.frames(), frame);
            self.full(&error);
        }
        self.ended.push(len);
    }

    fn commit(&mut self, file: &mut FileWriter) {
        self.insist(file, FileWriter::commit);
        self.committed = self.ended.len();
        self.check();
    }

    fn write(&mut self) {
        let mut file = self.create();
        for step in 0..24 {
            match step % 3 {
                0 => self.write_frame_anew(&mut file),
                _ => self.write_frame(&mut file),
            }
            if step % 6 == 5 {
                self.commit(&mut file);
            }
            if step == 12 && self.variant.layer == 1 {
                self.insist(&mut file, FileWriter::upgrade);
                self.committed = self.ended.len();
                self.check();
            }
        }
        self.insist(&mut file, FileWriter::close);
        self.committed = self.ended.len();
        self.check();
        let mut file = loop {
            match self.variant.reopen().open(self.path) {
                Ok(file) => break file,
                Err(error) => self.full(&error),
            }
        };
        self.write_frame(&mut file);
        self.insist(&mut file, FileWriter::close);
        self.committed = self.ended.len();
        self.check();
    }
}

/// Writes files on disks of all sizes.
fn write_all(folder: &Path, disk: impl Fn(u64) -> Disk, sizes: impl Iterator<Item = u64> + Clone) {
    let (mut errors, mut runs) = (0, 0);
    for (seed, variant) in (0..).zip(VARIANTS) {
        for size in sizes.clone() {
            let path = folder.join("files");
            std::fs::create_dir(&path).unwrap();
            let mut full = Full {
                path: &path.join("a.gsd"),
                variant,
                disk: disk(size),
                random: Random(seed * 1_000_000 + size),
                errors: 0,
                ended: Vec::new(),
                committed: 0,
            };
            full.disk.set();
            full.write();
            errors += full.errors;
            runs += 1;
            std::fs::remove_dir_all(path).unwrap();
        }
    }
    assert!(errors > runs, "the disk is hardly ever full: {errors}");
    println!("full disks: {runs} files written, {errors} errors got over");
}

#[test]
#[ignore = "a process of its own, whose files are limited"]
fn limited() {
    let Some(folder) = argument() else { return };
    write_all(Path::new(&folder), Disk::Limit, (0..30_000).step_by(1997));
}

/// What a frame took that was given up is free again, although the disk stays as full as it is.
#[test]
#[ignore = "a process of its own, whose files are limited"]
fn given_up() {
    let Some(folder) = argument() else { return };
    set_limit(200_000);
    for (number, variant) in VARIANTS.iter().enumerate() {
        let path = Path::new(&folder).join(format!("{number}.gsd"));
        let mut file = variant.builder().create(&path).unwrap();
        for frame in 0..8 {
            file.write("values", &values(frame, 2000), 1).unwrap();
            let more = if frame % 2 == 0 {
                file.write("more", &values(frame, 1 << 17), 1).map(drop)
            } else {
                let mut chunk = file.begin_chunk("more", ChunkType::U8, 1).unwrap();
                // more than is gathered before it is written
                (0..60).try_for_each(|_| {
                    chunk
                        .write_all(&[7; 40_000])
                        .map_err(|error| *error.into_inner().unwrap().downcast::<Error>().unwrap())
                })
            };
            let full = |error: Error| io::Error::from(error).kind() == io::ErrorKind::FileTooLarge;
            assert!(more.is_err_and(full), "{variant:?}");
            file.discard_frame();
            file.write("values", &values(frame, 1000), 1).unwrap();
            assert_eq!(file.end_frame().unwrap(), frame);
            if frame % 3 == 0 {
                file.commit().unwrap();
            }
        }
        file.close().unwrap();
        let file = File::open(&path).unwrap();
        assert_eq!(file.frames(), 8);
        for frame in 0..8 {
            let chunk = file.chunk(frame, "values").unwrap();
            assert!(file.read::<u32>(&chunk).unwrap() == values(frame, 1000), "{frame}");
            let chunks = file.chunks_of(frame).unwrap().count();
            assert_eq!(chunks, 1 + usize::from(variant.checksums));
        }
    }
    println!("full disks: frames given up");
}

#[test]
#[ignore = "a process of its own, which has a small file system"]
fn small() {
    let Some(folder) = argument() else { return };
    let mount =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=4k", "none", &folder]).status();
    if !mount.is_ok_and(|status| status.success()) {
        return println!("skipped: this process may not mount a file system");
    }
    let disk = |pages| Disk::Pages(PathBuf::from(&folder), 2 + pages);
    write_all(Path::new(&folder), disk, 0..12);
}

/// What a child says of its work.
const SAID: &[&str] = &["full disks", "skipped"];

#[test]
fn a_writer_goes_on_when_the_limit_is_raised() {
    let folder = tempfile::tempdir().unwrap();
    run(child("gsd_write::faults::limited", folder.path().to_str().unwrap()), SAID);
}

#[test]
fn a_frame_that_is_given_up_takes_no_room() {
    let folder = tempfile::tempdir().unwrap();
    run(child("gsd_write::faults::given_up", folder.path().to_str().unwrap()), SAID);
}

#[test]
fn a_writer_goes_on_when_the_disk_is_not_full_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let inner = child("gsd_write::faults::small", folder.path().to_str().unwrap());
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount"]).arg(inner.get_program()).args(inner.get_args());
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let probe = Command::new("unshare").args(["--map-root-user", "--mount", "true"]).status();
    if !probe.is_ok_and(|status| status.success()) {
        return println!("skipped: this process may not have mounts of its own");
    }
    run(command, SAID);
}

#[test]
fn a_file_that_vanishes_cannot_be_committed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    let mut file = Builder::new().create(&path).unwrap();
    write_frame(&mut file).unwrap();
    file.commit().unwrap();
    std::fs::remove_file(&path).unwrap();
    write_frame(&mut file).unwrap();
    let errors =
        [file.commit().unwrap_err(), file.truncate().unwrap_err(), file.close().unwrap_err()];
    for error in errors {
        assert_eq!(error.path(), path);
        assert_eq!(
            error.to_string(),
            format!("{}: was removed while it was written", path.display())
        );
        assert_eq!(io::Error::from(error).kind(), io::ErrorKind::NotFound);
    }
}

#[test]
fn a_folder_that_is_not_there_is_an_error_that_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none/a.gsd");
    for error in [Builder::new().create(&path).unwrap_err(), FileWriter::reopen(&path).unwrap_err()]
    {
        assert_eq!(error.path(), path);
        assert_eq!(io::Error::from(error).kind(), io::ErrorKind::NotFound);
    }
}

#[test]
fn a_damaged_file_is_not_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    let mut file = Builder::new().create(&path).unwrap();
    write_frame(&mut file).unwrap();
    file.close().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[190] ^= 1; // of the commit record
    std::fs::write(&path, &bytes).unwrap();
    let error = FileWriter::reopen(&path).unwrap_err();
    assert!(!gsd(&error).blames_caller(), "{error}");
    assert!(std::fs::read(&path).unwrap() == bytes);
}
