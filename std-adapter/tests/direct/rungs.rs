//! Every rung, with every option, gives the same bytes.

use crate::*;

/// Each rung with each number of threads and each depth; the other options take turns.
fn options() -> impl Iterator<Item = (Rung, OpenOptions)> {
    let shapes = [1, 8, 64].into_iter().flat_map(|depth| {
        let of_depth = move |threads| (depth, threads);
        [0, 1, 4].into_iter().map(of_depth)
    });
    let cases = shapes.flat_map(|shape| {
        let of_shape = move |dontcache| (shape, dontcache);
        [false, true].into_iter().map(of_shape)
    });
    let cases = cases.flat_map(|case| Rung::ALL.into_iter().map(move |rung| (case, rung)));
    cases.enumerate().map(|(turn, (((depth, threads), dontcache), top))| {
        let max_io = [1000, 4096, 70_000, 1 << 20, u64::MAX][turn / Rung::ALL.len() % 5];
        let options = OpenOptions::new().top(top).dontcache(dontcache).threads(threads);
        let options = options.depth(depth).max_io(max_io).max_gap([0, 5000][turn / 7 % 2]);
        (top, options.threshold([50_000, 0][turn / 11 % 2]).memory([1, 16 << 20][turn / 3 % 2]))
    })
}

/// Reads a file in a folder by all rungs. Those that cannot be had there say so.
pub(crate) fn check_folder(folder: &Path) {
    let bytes = content(200_701);
    let made = made_in(folder, &bytes);
    let mut random = Random(7);
    let whole = DirectFile::open(made.path()).unwrap();
    for (top, options) in options() {
        let file = options.open(made.path()).unwrap();
        check_all(&file, &bytes, &mut random);
        let left: Vec<_> = file.steps().iter().map(|step| step.from).collect();
        assert!(file.rung() >= top);
        assert_eq!(file.rung() == top, left.is_empty(), "{left:?}");
        // A rung that the best file stands on can be had by all; but a kernel may have io_uring,
        // and no AIO.
        let is_there = left != [Rung::Aio] || !file.steps()[0].why.starts_with("setting up AIO: ");
        if top >= whole.rung() && top.is_direct() && is_there {
            assert_eq!(file.rung(), top, "{:?}", file.steps());
        }
    }
}

#[test]
fn every_rung_gives_the_same_bytes_on_a_disk() {
    check_folder(Path::new(env!("CARGO_TARGET_TMPDIR")));
}

#[test]
fn every_rung_gives_the_same_bytes_of_a_file_in_memory() {
    let folder = Path::new("/dev/shm");
    if tempfile::NamedTempFile::new_in(folder).is_err() {
        return println!("skipped: no file can be made in {}", folder.display());
    }
    check_folder(folder);
}

#[test]
fn what_cannot_be_read_directly_is_read_all_the_same_or_refused() {
    // procfs refuses O_DIRECT when a file is opened.
    let path = Path::new("/proc/self/status");
    let file = DirectFile::open(path).unwrap();
    assert_eq!((file.rung(), file.alignment()), (Rung::Buffered, Alignment::NONE));
    assert_eq!(file.steps().len(), 4);
    let refused = OpenOptions::new().policy(Policy::Required).open(path).unwrap_err();
    let ErrorKind::Io(error) = refused.kind() else { panic!("{refused}") };
    assert_eq!(error.kind(), io::ErrorKind::Unsupported);
}

#[test]
fn what_must_be_read_directly_may_not_begin_below() {
    let made = made(&content(1000));
    for top in [Rung::Uncached, Rung::Buffered] {
        let options = OpenOptions::new().policy(Policy::Required).top(top);
        let refused = options.open(made.path()).unwrap_err();
        let ErrorKind::Io(error) = refused.kind() else { panic!("{refused}") };
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}

#[test]
fn what_is_no_file_is_refused_and_not_waited_for() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let fifo = folder.path().join("fifo");
    let mode = rustix::fs::Mode::RUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    for policy in [Policy::Required, Policy::Preferred, Policy::Off] {
        for (path, kind) in [
            (fifo.as_path(), io::ErrorKind::InvalidInput),
            (Path::new("/dev/null"), io::ErrorKind::InvalidInput),
            (folder.path(), io::ErrorKind::IsADirectory),
            (&folder.path().join("none"), io::ErrorKind::NotFound),
        ] {
            let error = OpenOptions::new().policy(policy).open(path).unwrap_err();
            assert_eq!(error.path(), path);
            assert_eq!(io::Error::from(error).kind(), kind, "{}", path.display());
        }
    }
}

#[test]
fn an_empty_file_has_empty_spans() {
    let made = made(&[]);
    for (_, options) in options() {
        let file = options.open(made.path()).unwrap();
        check(&file, &[], &[span(0, 0), span(0, 0)]);
        check(&file, &[], &[]);
        assert_eq!(streamed(&file, &[span(0, 0)], Order::Completed), [Vec::<u8>::new()]);
        assert_eq!(file.read_at(0, &mut [0]).unwrap(), 0);
        file.read_into(0, &mut []).unwrap();
        let error = file.read_into(0, &mut [0]).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Ended { offset: 0 }), "{error}");
    }
}

#[test]
fn numbers_that_are_too_large_are_errors() {
    let made = made(&content(100_000));
    for top in Rung::ALL {
        let file = OpenOptions::new().top(top).open(made.path()).unwrap();
        for span in [span(u64::MAX, 0), span(u64::MAX - 1, 1), span(0, u64::MAX), span(99_999, 2)] {
            let errors = [
                file.read_spans(&[span]).map(drop),
                file.stream([span], Order::Asked).unwrap().next_piece().map(drop),
            ];
            for error in errors.into_iter().filter_map(Result::err) {
                assert!(matches!(error.kind(), ErrorKind::Ended { .. }), "{span:?}: {error}");
            }
        }
        let error = file.read_into(u64::MAX, &mut [0; 9]).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Ended { .. }), "{error}");
        assert_eq!(file.read_at(u64::MAX, &mut [0; 9]).unwrap_or(0), 0);
    }
}
