//! Trajectories in memory: golden files that are read there, and what is written there.
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
use striae_core::step::DriveError;
use striae_hoomd::{
    Error, Fault, File, FrameData, Precision, Quantity, Start, Trajectory, Values, Writer, schema,
};
use striae_kit::wanted;

type InMemory<'a> = Trajectory<File<&'a [u8]>>;
type Gsd<'a> = striae_core::gsd::Writer<&'a mut [u8], Vec<Slot>>;

fn golden() -> impl Iterator<Item = (String, Vec<u8>, serde_json::Value)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/gsd");
    let files = wanted::expected(&dir).into_iter();
    files.map(move |(name, wanted)| (name.clone(), std::fs::read(dir.join(name)).unwrap(), wanted))
}

fn create(memory: &mut [u8]) -> Gsd<'_> {
    let (schema, schema_version) = (schema::NAME, schema::VERSION);
    let about = Attributes { schema, schema_version, ..Attributes::default() };
    Gsd::create(memory, &about, vec![Slot::EMPTY; 100]).unwrap()
}

#[test]
fn bytes_are_read_as_the_package_reads_the_file() {
    for (_, bytes, wanted) in golden() {
        let trajectory = InMemory::open(&bytes).unwrap();
        let frames = wanted["frames"].as_array().unwrap();
        assert_eq!(trajectory.len(), frames.len() as u64);
        for (frame, wanted) in trajectory.frames(..).zip(frames) {
            wanted::assert_frame(&frame.unwrap(), wanted);
        }
        for (pattern, wanted) in wanted["logs"].as_object().unwrap() {
            let series = trajectory.logs().matching(pattern).read().unwrap();
            assert_eq!(series.len(), wanted.as_object().unwrap().len());
            for series in series {
                wanted::assert_values(&series.quantity.values, &wanted[&series.name]);
            }
        }
    }
}

#[test]
fn what_is_read_can_be_written_to_memory_and_read_again() {
    for (name, bytes, _) in golden() {
        let frames = InMemory::open(&bytes).unwrap();
        let frames: Vec<FrameData> =
            frames.frames(..).map(|frame| frame.unwrap().read().unwrap()).collect();
        let is_double = frames.iter().any(|frame| {
            frame.particles.position.as_ref().unwrap().precision() == Precision::Double
        });
        let precision = if is_double { Precision::Double } else { Precision::Single };
        let mut memory = [0; 1 << 16];
        let mut writer =
            Writer::new(create(&mut memory), Start::new(schema::VERSION, precision).unwrap());
        for (number, frame) in frames.iter().enumerate() {
            assert_eq!(writer.append(frame).unwrap(), number as u64);
            writer.commit().unwrap();
        }
        let again = InMemory::open(&memory).unwrap();
        assert_eq!(again.len(), frames.len() as u64);
        for (frame, wanted) in again.frames(..).zip(&frames) {
            assert_eq!(frame.unwrap().read().unwrap(), *wanted, "{name}");
        }
    }
}

#[test]
fn a_writer_goes_on_with_what_stands_in_frame_0() {
    let energy = |value: f64| vec![("energy".to_owned(), Quantity::rows(vec![value], 1))];
    let mut memory = [0; 1 << 16];
    let mut frame = FrameData { log: energy(1.0), ..FrameData::default() };
    frame.particles.n = 2;
    frame.particles.mass = Some(vec![2.0_f32, 3.0].into());
    let start = Start::new(schema::VERSION, Precision::Single).unwrap();
    let mut writer = Writer::new(create(&mut memory), start);
    writer.append(&frame).unwrap();
    writer.commit().unwrap();
    drop(writer);

    let start = Start::of(&InMemory::open(&memory).unwrap(), Precision::Single).unwrap();
    let file = Gsd::open(&mut memory, vec![Slot::EMPTY; 100]).unwrap();
    let mut writer = Writer::new(file, start);
    let unknown =
        FrameData { log: vec![("other".into(), energy(0.0).remove(0).1)], ..frame.clone() };
    let error = writer.append(&unknown).unwrap_err();
    let DriveError::Format(Fault::Hoomd(Error::NotInFrame0 { name })) = error else {
        panic!("{error}");
    };
    assert_eq!(*name, *b"log/other");
    frame.log = energy(4.0);
    writer.append(&frame).unwrap();
    writer.commit().unwrap();

    let again = InMemory::open(&memory).unwrap();
    let last = again.frame(1).unwrap();
    assert_eq!(last.particles().mass().unwrap().into_f32(), [2.0, 3.0]);
    let own: Vec<_> = last.chunks().iter().map(|chunk| chunk.kind.name()).collect();
    assert_eq!(own, ["float64"]); // the logged quantity alone
    let energies = again.logs().matching("*energy").read().unwrap();
    assert_eq!(energies.last().unwrap().quantity.values, Values::F64(vec![1.0, 4.0]));
}

#[test]
fn a_prefix_of_a_file_is_refused_or_has_frames_of_it() {
    for (_, bytes, _) in golden() {
        let whole = InMemory::open(&bytes).unwrap();
        for len in 0..bytes.len() {
            let Ok(cut) = InMemory::open(&bytes[..len]) else { continue };
            for frame in cut.frames(..).flatten() {
                if let Ok(data) = frame.read() {
                    assert_eq!(data, whole.frame(frame.number()).unwrap().read().unwrap(), "{len}");
                }
            }
        }
    }
}

#[test]
fn many_threads_read_one_trajectory() {
    for (_, bytes, _) in golden() {
        let trajectory = InMemory::open(&bytes).unwrap();
        let last = trajectory.len() - 1;
        let read = || trajectory.frame(last).unwrap().read().unwrap();
        let frames = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(read)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        let alone = InMemory::open(&bytes).unwrap().frame(last).unwrap().read().unwrap();
        assert!(frames.iter().all(|frame| *frame == alone));
    }
}
