//! The file that was recognized is the file that is read.

use std::fs;
use std::path::Path;
use striae::format::{Format, Recognized};
use striae::{Error, direct, ffrecord, gsd, sion};

/// A file of each format, as another program wrote it.
const FILES: [(Format, &str); 3] = [
    (Format::Sion, "sion/s03_eight_mixed.sion"),
    (Format::Gsd, "gsd/v20_hoomd14.gsd"),
    (Format::Ffrecord, "ffrecord/many.ffr"),
];

type Open = fn(&Path) -> Result<(), Error>;

/// All that opens a file by its path, and does not mind what else is in it.
const OPENS: &[(Format, &str, Open)] = &[
    (Format::Sion, "open", |path| sion::OpenOptions::new().open(path).map(drop)),
    (Format::Sion, "alone", |path| sion::OpenOptions::new().alone(true).open(path).map(drop)),
    (Format::Sion, "dump", |path| sion::dump::dump(path, &mut |_| Ok(()))),
    (Format::Sion, "verify", |path| striae::Verify::new().sion(path, &mut |_| {}).map(drop)),
    (Format::Sion, "state", |path| sion::verify::state(path).map(drop)),
    (Format::Sion, "recover", |path| sion::recover::Recover::new().examine(path).map(drop)),
    (Format::Gsd, "open", |path| gsd::File::open(path).map(drop)),
    (Format::Gsd, "dump", |path| gsd::dump::dump(path, &mut |_| Ok(()))),
    (Format::Gsd, "verify", |path| striae::Verify::new().gsd(path, &mut |_| {}).map(drop)),
    (Format::Gsd, "recover", |path| gsd::recover::Recover::new().examine(path).map(drop)),
    (Format::Ffrecord, "open", |path| ffrecord::File::open(path).map(drop)),
    (Format::Ffrecord, "dump", |path| ffrecord::dump::dump(path, &mut |_| Ok(()))),
    (Format::Ffrecord, "verify", |path| {
        striae::Verify::new().ffrecord(path, &mut |_| {}).map(drop)
    }),
    (Format::Gsd, "direct", |path| direct::OpenOptions::new().open(path).map(drop)),
];

#[test]
fn a_file_that_takes_the_place_of_a_recognized_one_is_not_read() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden");
    for &(format, name, open) in OPENS {
        let (_, file) = FILES.into_iter().find(|(of, _)| *of == format).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("a.ffr"), folder.path().join("b"));
        fs::copy(golden.join(file), &path).unwrap();
        fs::copy(golden.join(file), &other).unwrap();
        let path = if format == Format::Ffrecord { path } else { moved(&path, "a") };
        let recognized = Recognized::new(&path).unwrap();
        assert_eq!(recognized.format(), format);
        open(&path).unwrap();
        // As good a file, but another one.
        fs::rename(&other, &path).unwrap();
        let error = open(&path).unwrap_err().to_string();
        assert!(error.contains("was replaced by another file"), "{format} {name}: {error}");
        drop(recognized);
        open(&path).unwrap();
    }
}

fn moved(path: &Path, name: &str) -> std::path::PathBuf {
    let to = path.with_file_name(name);
    fs::rename(path, &to).unwrap();
    to
}

#[test]
fn a_format_is_found_once_more_of_a_file_that_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden");
    for (format, file) in FILES {
        let new = folder.path().join("new");
        fs::copy(golden.join(file), &new).unwrap();
        fs::rename(&new, &path).unwrap();
        assert_eq!(Format::of_file(&path).unwrap(), format);
        assert_eq!(Recognized::new(&path).unwrap().format(), format);
    }
}
