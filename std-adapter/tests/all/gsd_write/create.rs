//! Making files, going on with them, and keeping others out.

use super::{builder, check_frames, gsd, names, write_frame};
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use striae::error::ErrorKind;
use striae::gsd::{Builder, Durability, File, FileWriter, Reopen};
use striae_core::gsd::{Error as GsdError, Version};

#[test]
fn a_new_file_is_empty_and_says_what_it_was_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    let version = Version { major: 1, minor: 4 };
    let builder = Builder::new().application("test 1").schema("hoomd", version);
    let file = builder.create(&path).unwrap();
    assert_eq!((file.path(), file.frames(), file.version()), (&*path, 0, Version::LAYER));
    let read = File::open(&path).unwrap();
    let header = read.header();
    assert_eq!(read.frames(), 0);
    assert_eq!(header.application.as_bytes(), b"test 1");
    assert_eq!((header.schema.as_bytes(), header.schema_version), (&b"hoomd"[..], version));
    assert_eq!(names(folder.path()), ["a.gsd"], "no hidden folder stays");
}

#[test]
fn what_has_the_name_is_refused_or_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    fs::write(&path, "precious").unwrap();
    let error = builder().create(&path).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Exists));
    assert_eq!(fs::read(&path).unwrap(), b"precious");
    drop(builder().force(true).create(&path).unwrap());
    check_frames(&path, 0);
    // A link stays, and what it points to is replaced.
    let link = folder.path().join("link.gsd");
    symlink(&path, &link).unwrap();
    let mut file = builder().force(true).create(&link).unwrap();
    write_frame(&mut file).unwrap();
    file.close().unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    check_frames(&link, 1);
    check_frames(&path, 1);
    let error = builder().force(true).create(folder.path()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Io(io) if io.kind() == io::ErrorKind::IsADirectory));
}

#[test]
fn a_file_in_place_keeps_inode_permissions_and_links() {
    let folder = tempfile::tempdir().unwrap();
    let (path, twin) = (folder.path().join("a.gsd"), folder.path().join("twin.gsd"));
    let in_place = || builder().in_place(true);
    let mut file = in_place().create(&path).unwrap();
    for _ in 0..300 {
        write_frame(&mut file).unwrap();
    }
    file.close().unwrap();
    check_frames(&path, 300);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    fs::hard_link(&path, &twin).unwrap();
    let before = fs::metadata(&path).unwrap();
    let error = in_place().create(&path).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Exists));
    let error = in_place().force(true).align(3).create(&path).unwrap_err();
    assert!(gsd(&error).blames_caller(), "{error}");
    check_frames(&path, 300);
    let mut file = in_place().force(true).create(&path).unwrap();
    let error = in_place().force(true).create(&path).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Locked));
    check_frames(&path, 0);
    write_frame(&mut file).unwrap();
    file.close().unwrap();
    check_frames(&twin, 1);
    let after = fs::metadata(&path).unwrap();
    assert_eq!((before.ino(), before.mode()), (after.ino(), after.mode()));
    assert!(after.len() < before.len());
    assert_eq!(names(folder.path()), ["a.gsd", "twin.gsd"]);
}

#[test]
fn a_file_that_cannot_be_made_leaves_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    let mut file = builder().create(&path).unwrap();
    write_frame(&mut file).unwrap();
    file.close().unwrap();
    let builders = [
        builder().align(3),
        Builder::new().application("x".repeat(64)),
        Builder::new().layer(Version { major: 3, minor: 0 }),
        Builder::new().names_len(1 << 40),
    ];
    for builder in builders {
        let error = builder.force(true).create(&path).unwrap_err();
        assert!(gsd(&error).blames_caller(), "{error}");
        assert_eq!(error.path(), path);
        check_frames(&path, 1);
        assert_eq!(names(folder.path()), ["a.gsd"]);
    }
}

#[test]
fn there_is_one_writer_and_any_number_of_readers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    let is_locked = |error: striae::Error| {
        assert_eq!(error.path(), path);
        assert_eq!(io::Error::from(error).kind(), io::ErrorKind::ResourceBusy);
    };
    let mut first = builder().create(&path).unwrap();
    is_locked(FileWriter::reopen(&path).unwrap_err());
    is_locked(builder().force(true).create(&path).unwrap_err());
    assert!(builder().create(&path).is_err());
    check_frames(&path, 0);
    write_frame(&mut first).unwrap();
    first.commit().unwrap();
    check_frames(&path, 1);
    first.close().unwrap();
    let mut second = FileWriter::reopen(&path).unwrap(); // the close lets others in
    is_locked(FileWriter::reopen(&path).unwrap_err());
    write_frame(&mut second).unwrap();
    second.commit().unwrap();
    drop(second); // and so does a drop
    drop(Reopen::new().lock(false).open(&path).unwrap());
    drop(FileWriter::reopen(&path).unwrap());
    check_frames(&path, 2);
    drop(builder().force(true).create(&path).unwrap());
    check_frames(&path, 0);
}

#[test]
fn whoever_does_not_ask_for_a_lock_is_not_kept_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    let first = builder().create(&path).unwrap();
    drop(Reopen::new().lock(false).open(&path).unwrap());
    let second = Builder::new().lock(false).force(true).create(&path).unwrap();
    drop((first, FileWriter::reopen(&path).unwrap(), second));
}

#[test]
fn frames_follow_those_that_were_there() {
    let folder = tempfile::tempdir().unwrap();
    for durability in [Durability::None, Durability::OnCommit] {
        let path = folder.path().join(format!("{durability:?}.gsd"));
        let mut file = Builder::new().durability(durability).create(&path).unwrap();
        for count in [0, 1, 5, 200, 1] {
            for _ in 0..count {
                write_frame(&mut file).unwrap();
            }
            file.close().unwrap();
            check_frames(&path, file.frames());
            file = Reopen::new().durability(durability).open(&path).unwrap();
        }
        assert_eq!(file.frames(), 207);
    }
}

#[test]
fn what_is_no_file_of_gsd_cannot_be_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    let error = FileWriter::reopen(&path).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Io(io) if io.kind() == io::ErrorKind::NotFound));
    fs::write(&path, "text").unwrap();
    let error = FileWriter::reopen(&path).unwrap_err();
    assert!(matches!(gsd(&error), GsdError::NotGsd { .. }), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"text");
    let error = FileWriter::reopen(folder.path()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Io(io) if io.kind() == io::ErrorKind::IsADirectory));
}

#[test]
fn a_buffer_that_is_set_later_changes_when_bytes_are_written_and_not_which() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, buffers: &[usize]| {
        let path = folder.path().join(name);
        let mut file = builder().create(&path).unwrap();
        for number in 0..40 {
            if let Some(&bytes) = buffers.get(number % buffers.len().max(1)) {
                file.set_buffer(bytes);
            }
            write_frame(&mut file).unwrap();
        }
        file.close().unwrap();
        check_frames(&path, 40);
        fs::read(&path).unwrap()
    };
    let usual = write("usual.gsd", &[]);
    for (name, buffers) in [("none", &[0][..]), ("some", &[1 << 20, 7, 0, 300, 1 << 17])] {
        assert!(write(name, buffers) == usual, "{name}");
    }
}
