//! A process that is killed at any moment while it writes and commits.
//!
//! The child says how many frames are surely there.

use super::{Random, Variant, argument, child, values, variant};
use std::io::Write;
use std::path::Path;
use striae::Error;
use striae::gsd::{Durability, File, FileWriter};
use striae_core::gsd::{ChunkType, State};
use striae_kit::adapter::killed::{Moment, Said, kill, tell};

const KILLS: u64 = 100;

/// Frames that a child writes if nobody kills it.
const FRAMES: u64 = 400;

const VARIANTS: [Variant; 8] = [
    variant(false, 1, 0),
    variant(true, 1, 1 << 20),
    variant(false, 512, 3000),
    Variant { durability: Durability::OnCommit, ..variant(true, 64, 1 << 20) },
    Variant { durability: Durability::OnCommit, ..variant(false, 1, 1 << 20) },
    Variant { layer: 1, ..variant(false, 1, 1 << 16) },
    Variant { one_sync: true, durability: Durability::OnCommit, ..variant(true, 1, 1 << 20) },
    Variant { one_sync: true, ..variant(false, 1, 2000) },
];

/// Values of a frame: long ones now and then.
fn len(frame: u64) -> usize {
    if frame % 41 == 40 { 30_000 } else { frame as usize * 7 % 60 }
}

/// A frame may have a name of its own, so that the name list grows.
fn own_name(frame: u64) -> Option<String> {
    (frame % 5 == 4).then(|| format!("name {frame} {}", "x".repeat(frame as usize % 50)))
}

fn is_empty(frame: u64) -> bool {
    frame % 17 == 16
}

fn write(file: &mut FileWriter) -> Result<(), Error> {
    let frame = file.frames();
    if !is_empty(frame) {
        file.write("step", &[frame], 1)?;
        let mut chunk = file.begin_chunk("values", ChunkType::U32, 1)?;
        for value in values(frame, len(frame)) {
            chunk.write_all(&value.to_le_bytes()).unwrap();
        }
        chunk.finish()?;
        if let Some(name) = own_name(frame) {
            file.write(name, &[frame as u8], 1)?;
        }
    }
    file.end_frame()?;
    Ok(())
}

/// That all frames are whole; says how many there are.
fn check(path: &Path, variant: Variant) -> u64 {
    let file = File::open(path).unwrap();
    for frame in 0..file.frames() {
        let chunks = file.chunks_of(frame).unwrap().map(Result::unwrap).count();
        if is_empty(frame) {
            assert_eq!(chunks, 0);
            continue;
        }
        let own = own_name(frame);
        assert_eq!(chunks, 2 + usize::from(variant.checksums) + usize::from(own.is_some()));
        let step = file.chunk(frame, "step").unwrap();
        assert_eq!(file.read::<u64>(&step).unwrap(), [frame]);
        let chunk = file.chunk(frame, "values").unwrap();
        assert!(file.read::<u32>(&chunk).unwrap() == values(frame, len(frame)), "{frame}");
        if let Some(name) = own {
            let chunk = file.chunk(frame, name).unwrap();
            assert_eq!(file.read::<u8>(&chunk).unwrap(), [frame as u8]);
        }
    }
    file.frames()
}

#[test]
#[ignore = "the process that the other test kills"]
fn process() {
    let Some(argument) = argument() else { return };
    let [seed, start, path] = argument.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!() };
    let seed: u64 = seed.parse().unwrap();
    let (path, mut random) = (Path::new(path), Random(seed));
    let variant = VARIANTS[seed as usize % VARIANTS.len()];
    tell('s', &[]);
    let file = if start == "reopen" {
        variant.reopen().open(path)
    } else {
        variant.builder().force(true).create(path)
    };
    let mut file = file.unwrap();
    tell('c', &[file.frames()]);
    let (end, each) = (file.frames() + FRAMES, 1 + random.below(20));
    while file.frames() < end {
        write(&mut file).unwrap();
        if random.below(each) == 0 {
            file.commit().unwrap();
            tell('@', &[file.frames()]);
        }
        if variant.layer == 1 && file.frames() == end / 2 {
            file.upgrade().unwrap();
            tell('@', &[file.frames()]);
        }
    }
    tell('x', &[]);
    file.close().unwrap();
    tell('z', &[file.frames()]);
}

/// What was found after the kills.
#[derive(Debug, Default)]
struct Figures {
    kills: u64,
    not_killed: u64,
    commits: u64,
    frames_checked: u64,
    frames_behind_reports: u64,
    not_created: u64,
    old: u64,
    /// Killed between the sync of a commit of one sync and the header.
    ahead: u64,
}

#[test]
fn what_was_committed_is_there_after_a_kill_at_any_moment() {
    let folder = tempfile::tempdir().unwrap();
    let mut figures = Figures::default();
    let mut seed = 0;
    while figures.kills < KILLS {
        assert!(seed < 2 * KILLS, "most children end before they are killed: {figures:?}");
        round(seed, folder.path(), &mut figures);
        seed += 1;
    }
    println!("{figures:#?}");
    assert!(figures.commits > KILLS && figures.frames_checked > KILLS, "{figures:?}");
}

fn round(seed: u64, folder: &Path, figures: &mut Figures) {
    let path = folder.join(format!("{seed}.gsd"));
    let variant = VARIANTS[seed as usize % VARIANTS.len()];
    let mut random = Random(!seed);
    let start = ["create", "overwrite", "reopen"][random.index(3)];
    let mut begun = 0;
    if start != "create" {
        let mut file = variant.builder().create(&path).unwrap();
        begun = random.below(30);
        (0..begun).for_each(|_| write(&mut file).unwrap());
        file.close().unwrap();
        begun = check(&path, variant); // without empty ones at the end
    }
    let argument = format!("{seed} {start} {}", path.display());
    let (message, count, micros) = match random.below(10) {
        0 | 1 => ('s', 1, 1500),
        2 | 3 => ('x', 1, 800),
        _ => ('@', 1 + random.below(30), 3000),
    };
    let process = child("gsd_write::kill::process", &argument);
    let (moment, mut said) = (Moment { message, count, micros }, Said::default());
    match kill(process, &moment, &mut random, &mut said) {
        true => figures.kills += 1,
        false => figures.not_killed += 1,
    }
    figures.commits += said.commits;
    found(&path, variant, &said, (start, begun), figures);
    std::fs::remove_file(&path).ok();
}

fn found(path: &Path, variant: Variant, said: &Said, old: (&str, u64), figures: &mut Figures) {
    let (start, begun) = old;
    if start == "create" && !path.exists() {
        assert!(!said.created, "{said:?}");
        figures.not_created += 1;
        return;
    }
    let frames = check(path, variant);
    let is_ahead = matches!(File::open(path).unwrap().state(), State::Ahead(_));
    assert!(!is_ahead || variant.one_sync, "{variant:?}");
    figures.ahead += u64::from(is_ahead);
    if start == "overwrite" && !said.created && frames == begun {
        figures.old += 1;
    }
    let least = if start == "reopen" { begun } else { 0 }
        .max(last_full(said.counts.first().copied().unwrap_or(0)));
    assert!(frames >= least, "{}: {frames} of {said:?}", path.display());
    figures.frames_checked += frames;
    figures.frames_behind_reports += frames - least;
    // Another process would write on.
    let mut file = variant.reopen().open(path).unwrap();
    assert_eq!(file.frames(), frames);
    for _ in 0..20 {
        write(&mut file).unwrap();
    }
    file.close().unwrap();
    assert_eq!(check(path, variant), last_full(frames + 20));
}

/// Frames up to the last one that is not empty.
fn last_full(frames: u64) -> u64 {
    if frames > 0 && is_empty(frames - 1) { frames - 1 } else { frames }
}
