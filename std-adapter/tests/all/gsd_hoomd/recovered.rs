//! A recovered trajectory has no frame that is called exact and read as another one.

use super::made::{Seen, Trajectory as Made, frames_of};
use std::fs;
use std::path::Path;
use striae::gsd::File;
use striae::gsd::hoomd::Trajectory;
use striae::gsd::recover::{Certainty, Doubt, Loss, Recover, Recovery};
use striae_core::gsd::ChunkType;
use striae_kit::adapter::Random;

/// Recovers a file, and sees to it that frames which are exact are read as they were.
fn recovered(bytes: &[u8], path: &Path, frames: &[Seen], what: &str) -> Option<Recovery> {
    fs::write(path, bytes).unwrap();
    let out = path.with_extension("out");
    let _ = fs::remove_file(&out);
    let recovery = Recover::new().examine(path).ok()?;
    recovery.write(&out, &|_| {}).unwrap();
    let exact: Vec<_> = recovery.runs().filter(|run| run.certainty == Certainty::Exact).collect();
    let exact = exact.into_iter().flat_map(|run| run.frames.clone().zip(run.first.unwrap()..));
    for (old, new) in exact {
        let read = Trajectory::open(&out).unwrap();
        let (new, old) = (Seen::of(&read.frame(new).unwrap()), &frames[old as usize]);
        assert!(new.is_as(old), "{what}: is {new:#?}, must be {old:#?}");
    }
    Some(recovery)
}

#[test]
fn of_a_trajectory_with_a_wrong_bit_no_frame_that_is_exact_is_another() {
    let folder = crate::in_memory();
    let path = folder.path().join("a.gsd");
    let (mut carried, mut doubted) = (0, 0);
    for seed in 0..24 {
        let mut random = Random(seed);
        Made::random(&mut random).sealed(true).write(&path);
        let (bytes, frames) = (fs::read(&path).unwrap(), frames_of(&path));
        // Where the data of frame 0 are, damage is the most dangerous.
        let file = File::open(&path).unwrap();
        let first: Vec<_> = file.chunks_of(0).unwrap().map(|chunk| chunk.unwrap().span).collect();
        for _ in 0..40 {
            let at = match first.get(random.index(first.len().max(1))) {
                Some(span) if random.below(2) == 0 && !span.is_empty() => {
                    (span.offset() + random.below(span.len())) as usize
                }
                _ => random.index(bytes.len()),
            };
            let (bit, mut bytes) = (random.below(8), bytes.clone());
            bytes[at] ^= 1 << bit;
            let what = format!("seed {seed}, bit {bit} of byte {at}");
            let Some(recovery) = recovered(&bytes, &path, &frames, &what) else { continue };
            let runs: Vec<_> = recovery.runs().map(|run| run.certainty).collect();
            if matches!(runs[0], Certainty::Lost(_)) {
                carried += runs.iter().filter(|certainty| **certainty == Certainty::Exact).count();
                let first = Certainty::Guess(Doubt::First);
                doubted += runs.iter().filter(|certainty| **certainty == first).count();
                assert!(!recovery.is_complete());
            }
        }
    }
    println!("{carried} runs are exact without frame 0, {doubted} are a guess");
    assert!(carried > 50 && doubted > 50);
}

#[test]
fn what_is_left_of_a_lost_frame_0_goes_to_the_others() {
    let folder = crate::in_memory();
    let path = folder.path().join("a.gsd");
    let mut made = Made::default().sealed(true);
    made.chunk(0, "particles/N", ChunkType::U32, 1, &4_u32.to_le_bytes());
    made.chunk(0, "particles/typeid", ChunkType::U32, 1, &[0; 16]);
    made.chunk(0, "particles/mass", ChunkType::F32, 1, &2_f32.to_le_bytes().repeat(4));
    for frame in 0..6_u64 {
        made.chunk(frame, "configuration/step", ChunkType::U64, 1, &frame.to_le_bytes());
    }
    made.chunk(3, "particles/typeid", ChunkType::U32, 1, &[0; 16]);
    made.write(&path);
    let (mut bytes, frames) = (fs::read(&path).unwrap(), frames_of(&path));
    let file = File::open(&path).unwrap();
    let typeid = file.chunk(0, "particles/typeid").unwrap();
    bytes[typeid.span.offset() as usize] ^= 1;
    let recovery = recovered(&bytes, &path, &frames, "typeid").unwrap();
    let runs: Vec<_> = recovery.runs().map(|run| (run.frames.clone(), run.certainty)).collect();
    let first = Certainty::Guess(Doubt::First);
    let lost = Certainty::Lost(Loss::Checksum { id: typeid.id });
    assert_eq!(runs, [(0..1, lost), (1..3, first), (3..4, Certainty::Exact), (4..6, first)]);
    // All that is known is right, also in those that are a guess: but for typeid, which is the
    // default.
    let read = frames_of(&path.with_extension("out"));
    assert_eq!(read, frames[1..]);
}
