//! Frames, small and large, and what a commit costs.

use crate::{ROUNDS, row_prepared};
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use striae::gsd::{Builder, FileWriter};

pub(crate) fn all(dir: &Path) {
    let in_memory = dir.starts_with("/dev/shm");
    let few = if in_memory { 20_000 } else { 200 };
    for (what, frames, each) in [
        ("closed once", 200_000, u64::MAX),
        ("committed each 100 frames", 20_000, 100),
        ("committed each frame", few, 1),
    ] {
        small(dir, what, frames, each, &Builder::new());
    }
    let one_sync = Builder::new().one_sync(true);
    small(dir, "committed each frame with one sync", few, 1, &one_sync);
    small(dir, "with checksums, closed once", 200_000, u64::MAX, &Builder::new().checksums(true));
    large(dir, "closed once", u64::MAX, &Builder::new());
    large(dir, "committed each frame", 1, &Builder::new());
    large(dir, "with checksums, closed once", u64::MAX, &Builder::new().checksums(true));
}

/// Writes `frames` of 280 bytes in 3 chunks, against as many bytes of data and of entries: each
/// frame's with a write, and with a sync behind each of both where ours commits.
fn small(dir: &Path, what: &str, frames: u64, each: u64, builder: &Builder) {
    let values: Vec<f32> = (0..30_u8).map(f32::from).collect();
    let what = format!("{frames} frames of 3 chunks of 10 rows, {what}");
    compare(dir, &what, [frames, each, 280, 96], builder, |file| {
        file.write("position", &values, 3).unwrap();
        file.write("velocity", &values, 3).unwrap();
        file.write("mass", &values[..10], 1).unwrap();
    });
}

/// Writes frames with 12 MB in one chunk.
fn large(dir: &Path, what: &str, each: u64, builder: &Builder) {
    let values = vec![1.0_f32; 3_000_000];
    let len = 4 * values.len() as u64;
    let what = format!("20 frames of 12 MB, {what}");
    compare(dir, &what, [20, each, len, 32], builder, |file| {
        file.write("position", &values, 3).unwrap();
    });
}

fn compare(
    dir: &Path,
    what: &str,
    [frames, each, len, entries]: [u64; 4],
    builder: &Builder,
    mut write: impl FnMut(&mut FileWriter),
) {
    let (path, raw_path) = (dir.join("written.gsd"), dir.join("written.raw"));
    let bytes = vec![1; usize::try_from(len.max(entries)).unwrap()];
    let clean = || {
        let _ = fs::remove_file(&path);
        let _ = fs::remove_file(&raw_path);
        rustix::fs::sync();
    };
    let ours = || {
        let mut file = builder.create(&path).unwrap();
        for frame in 1..=frames {
            write(&mut file);
            file.end_frame().unwrap();
            if frame % each == 0 {
                file.commit().unwrap();
            }
        }
        file.close().unwrap();
    };
    let raw = || {
        let file = fs::File::create(&raw_path).unwrap();
        let data = 512 + frames * entries;
        for frame in 0..frames {
            let part = &bytes[..usize::try_from(len).unwrap()];
            file.write_all_at(part, data + frame * len).unwrap();
            if (frame + 1) % each == 0 {
                file.sync_data().unwrap();
            }
            let part = &bytes[..usize::try_from(entries).unwrap()];
            file.write_all_at(part, 512 + frame * entries).unwrap();
            if (frame + 1) % each == 0 {
                file.sync_data().unwrap();
            }
        }
        file.sync_data().unwrap();
    };
    row_prepared(what, "plain writes of the same bytes", ROUNDS, clean, ours, raw);
}
