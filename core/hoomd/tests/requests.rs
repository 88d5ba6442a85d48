//! How many requests a trajectory makes of a store far away.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test: a panic fails it"
)]

use std::path::Path;
use striae_core::gsd::{Attributes, Slot};
use striae_core::store::ReadAhead;
use striae_hoomd::{
    File, Floats, FrameData, Precision, Quantity, Series, Start, Trajectory, Values, Writer, schema,
};
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

/// Of a frame, step and quantities are two pieces, with the positions between them; a store far
/// away reads 16 pieces at once. A window of the index has 256 chunks.
#[test]
fn series_over_many_frames_take_few_requests() {
    const FRAMES: u64 = 160;
    let mut memory = vec![0; 1 << 20];
    let (schema, schema_version) = (schema::NAME, schema::VERSION);
    let about = Attributes { schema, schema_version, ..Attributes::default() };
    let gsd = striae_core::gsd::Writer::create(&mut memory[..], &about, vec![Slot::EMPTY; 1024]);
    let start = Start::new(schema::VERSION, Precision::Single).unwrap();
    let mut writer = Writer::new(gsd.unwrap(), start);
    let log = |name: &str, value| (name.to_owned(), Quantity::rows(vec![value], 1));
    for step in 0..FRAMES {
        let mut frame = FrameData::default();
        frame.configuration.step = Some(step);
        frame.particles.n = 40;
        frame.particles.position = Some(Floats::F32(vec![step as f32; 120]));
        frame.log = vec![log("energy", step as f64), log("pressure", -(step as f64))];
        writer.append(&frame).unwrap();
    }
    writer.commit().unwrap();
    drop(writer);
    let (far, mut held) = (Far::new(&memory), vec![0; 1 << 16]);
    let store = ReadAhead::new(&far, &mut held);
    let trajectory = Trajectory::<File<_>>::open(&store).unwrap();
    let before = far.asked().0;
    let series = trajectory.logs().read().unwrap();
    let asked = far.asked().0 - before;
    let values = |series: &Series| match &series.quantity.values {
        Values::F64(values) => values.clone(),
        Values::U64(values) => values.iter().map(|&value| value as f64).collect(),
        other => panic!("{other:?}"),
    };
    let steps: Vec<f64> = (0..FRAMES).map(|step| step as f64).collect();
    let falling: Vec<f64> = steps.iter().map(|step| -step).collect();
    assert_eq!(series.iter().map(values).collect::<Vec<_>>(), [steps.clone(), steps, falling]);
    let chunks = 4 * FRAMES;
    let most = (2 * FRAMES).div_ceil(16) + chunks.div_ceil(256) + 1; // of frame 0, its values
    assert!(asked <= most, "{asked} requests, at most {most}");
}
