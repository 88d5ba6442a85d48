//! GSD files.

use super::*;
use striae::address::Address;
use striae::direct;
use striae::gsd::{Builder, File, OpenOptions};

/// A file of frames with checksums: a long chunk, a short one, one of one value, and in some frames
/// text.
fn sealed(dir: &Path) -> PathBuf {
    let path = dir.join("a.gsd");
    let mut file = Builder::new().checksums(true).create(&path).unwrap();
    for frame in 0..40_usize {
        let long = if frame == 7 { 3_000_000 } else { 30_000 };
        file.write("long", &content(frame, long), 3).unwrap();
        file.write("short", &content(frame, 300), 1).unwrap();
        if frame % 3 == 0 {
            file.write("step", &[frame as u64], 1).unwrap();
        }
        file.end_frame().unwrap();
    }
    file.close().unwrap();
    path
}

#[test]
fn chunks_have_the_same_bytes() {
    for dir in folders() {
        let path = sealed(dir.path());
        let plain = File::open(&path).unwrap();
        let options = direct::OpenOptions::new();
        for options in [options, options.max_io(4096), options.policy(direct::Policy::Off)] {
            let file = OpenOptions::new().checked(true).direct(Some(options)).open(&path).unwrap();
            assert!(file.direct().is_some() && plain.direct().is_none());
            for chunk in plain.chunks().map(Result::unwrap) {
                let wanted = plain.read_bytes(&chunk).unwrap();
                assert!(file.read_bytes(&chunk).unwrap() == wanted);
                let mut bytes = Vec::new();
                let mut each = |piece: &[u8]| {
                    bytes.extend_from_slice(piece);
                    true
                };
                file.read_pieces(chunk.span, &mut each).unwrap();
                assert!(bytes == wanted);
            }
        }
    }
}

#[test]
fn golden_files_give_the_same() {
    for path in golden("gsd", ".gsd", 40) {
        let name = path.to_str().unwrap();
        same(&["verify", "--json", name]);
        same_files(&path, &[]);
        if let Ok(file) = File::open(&path) {
            for chunk in file.chunks().take(4).filter_map(Result::ok) {
                let Ok(of) = file.name(&chunk) else { continue };
                let address = Address::chunk(chunk.frame, of.as_bytes()).to_string();
                same(&["cat", name, &address]);
                same(&["cat", name, &address, "--text"]);
            }
        }
    }
}

#[test]
fn a_large_file_gives_the_same_sound_and_damaged() {
    for dir in folders() {
        let path = sealed(dir.path());
        let name = path.to_str().unwrap();
        same_files(&path, &[]);
        same_files(&path, &["--frames", "5..9", "frame/*/long"]);
        let cat = same(&["cat", name, "frame/7/long"]);
        assert!(cat.stdout == content(7, 3_000_000));
        same(&["cat", name, "frame/7/long", "--rows", "1..100000"]);
        same(&["cat", name, "frame/6/step", "--text"]);
        assert!(same(&["verify", name]).status.success());
        says_how(&["cat", name, "frame/0/long"], &path);
        says_how(&["verify", name], &path);

        let file = File::open(&path).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        for (frame, chunk) in [(7, "long"), (11, "short"), (12, "step")] {
            let span = file.chunk(frame, chunk).unwrap().span;
            bytes[(span.offset() + span.len() / 2) as usize] ^= 1;
        }
        fs::write(&path, &bytes).unwrap();
        let found = same(&["verify", "--json", name]);
        assert_eq!(found.status.code(), Some(1));
        assert_eq!(text(&found.stdout).matches("\"chunk_checksum\"").count(), 3);
        fs::File::options().write(true).open(&path).unwrap().set_len(1_000_000).unwrap();
        assert_eq!(same(&["verify", "--json", name]).status.code(), Some(1));
        same_files(&path, &[]);
        same(&["cat", name, "frame/7/long"]);
    }
}
