//! How many requests a trajectory makes of a store far away.
#![allow(clippy::unwrap_used, reason = "a test: a panic fails it")]

use std::path::Path;
use striae_core::store::ReadAhead;
use striae_hoomd::{File, Trajectory};
use striae_kit::far::Far;
use striae_kit::wanted;

#[test]
fn a_trajectory_takes_three_requests_to_open_and_each_frame_one_after_its_chunks_are_known() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/gsd");
    let golden = wanted::expected(&dir);
    assert!(golden.len() > 3, "{}", golden.len());
    for (name, wanted) in golden {
        let bytes = std::fs::read(dir.join(&name)).unwrap();
        for memory in [1 << 16, (2 * bytes.len()).saturating_sub(17)] {
            let (far, mut memory) = (Far::new(&bytes), vec![0; memory]);
            let store = ReadAhead::new(&far, &mut memory);
            let trajectory = Trajectory::<File<_>>::open(&store).unwrap();
            assert!(far.asked().0 <= 3, "{name}: {}", far.asked().0);
            let frames: Vec<_> = (0..).zip(wanted["frames"].as_array().unwrap()).collect();
            for &(number, wanted) in frames.iter().rev() {
                let before = far.asked().0;
                let frame = trajectory.frame(number).unwrap();
                trajectory.first().unwrap();
                let found = far.asked().0;
                assert!(found - before <= 1, "{name}: {} to find a frame", found - before);
                frame.read().unwrap();
                let read = far.asked().0 - found;
                assert!(read <= 1, "{name}: {read} to read frame {number}");
                wanted::assert_frame(&frame, wanted);
            }
        }
    }
}
