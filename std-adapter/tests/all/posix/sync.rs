//! A disk that failed is not believed again.

use std::error::Error as _;
use std::io::Write;
use std::path::Path;
use striae::error::ErrorKind;
use striae::{gsd, sion};
use striae_kit::adapter::denying::on_a_failing_disk;

/// In one folder, which is on a disk.
fn with_file(check: impl FnOnce(&Path)) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    check(&folder.path().join("a"));
}

/// That a writer's first commit failed by the disk, and what came then by what it remembers.
fn check_writer(first: striae::Error, then: [Result<(), striae::Error>; 4]) {
    let ErrorKind::Io(error) = first.kind() else { panic!("{first}") };
    assert_eq!(error.raw_os_error(), Some(libc::EIO));
    assert!(first.source().is_none());
    for result in then {
        let error = result.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::SyncFailed), "{error}");
    }
}

#[test]
fn a_writer_promises_no_commit_after_a_failed_one() {
    with_file(|path| {
        let mut file = sion::Builder::new(2).chunksize(100).create(path).unwrap();
        file.commit().unwrap();
        let mut task = file.task(0).unwrap();
        task.write_all(b"lost").unwrap();
        let first = on_a_failing_disk(|| file.commit().unwrap_err());
        assert!(task.write_all(&[1; 1 << 20]).is_err());
        let again = [file.commit(), file.task(1).map(drop), file.close(), file.close()];
        check_writer(first, again);
        assert_eq!(sion::File::open(path).unwrap().ntasks(), 2);
    });
    for buffer in [0, 1 << 20] {
        with_file(|path| {
            let mut file = gsd::Builder::new().buffer(buffer).create(path).unwrap();
            file.write("a", &[1_u8; 9], 1).unwrap();
            file.end_frame().unwrap();
            let first = on_a_failing_disk(|| file.commit().unwrap_err());
            let write = file.write("a", &[2_u8], 1).map(drop);
            let again = [write, file.commit(), file.close(), file.close()];
            check_writer(first, again);
            assert!(gsd::File::open(path).unwrap().frames() <= 1);
        });
    }
}
