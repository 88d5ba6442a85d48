//! Golden files: hoomd.json has what gsd's package reads in them.

use super::golden_dir;
use serde_json::Value;
use striae::error::ErrorKind;
use striae::gsd::ErrorKind::Format;
use striae::gsd::hoomd::{Frame, Trajectory, Values};
use striae_core::gsd::Error;
use striae_kit::wanted::{self, assert_frame, assert_values};

pub(crate) fn expected() -> Vec<(String, Value)> {
    wanted::expected(&golden_dir())
}

pub(crate) fn open(name: &str) -> Trajectory {
    Trajectory::open(golden_dir().join(name)).unwrap()
}

#[test]
fn frames_are_as_the_package_reads_them() {
    for (name, file) in expected() {
        let trajectory = open(&name);
        assert_eq!(trajectory.schema_version().to_string(), file["version"]);
        let wanted = file["frames"].as_array().unwrap();
        assert_eq!(trajectory.len(), wanted.len() as u64);
        let frames: Vec<_> = trajectory.frames(..).map(Result::unwrap).collect();
        for (frame, wanted) in frames.iter().zip(wanted) {
            assert_frame(frame, wanted);
        }
        // The last one first, when nothing is known of frame 0 yet.
        let trajectory = open(&name);
        for (frame, wanted) in trajectory.frames(..).rev().zip(wanted.iter().rev()) {
            assert_frame(&frame.unwrap(), wanted);
        }
    }
}

#[test]
fn a_frame_in_memory_has_what_its_methods_say() {
    for (name, _) in expected() {
        for frame in open(&name).frames(..) {
            let frame = frame.unwrap();
            let data = frame.read().unwrap();
            assert_eq!(data.configuration.step, Some(frame.step().unwrap()));
            assert_eq!(data.particles.position, Some(frame.particles().position().unwrap()));
            assert_eq!(data.pairs.group, Some(frame.pairs().group().unwrap()));
            assert_eq!(data.constraints.value, Some(frame.constraints().value().unwrap()));
            assert_eq!(data.log.len(), frame.log_names().unwrap().len());
            data.check().unwrap();
        }
    }
}

#[test]
fn logs_over_all_frames_are_as_the_package_reads_them() {
    let mut seen = 0;
    for (name, file) in expected() {
        for (pattern, wanted) in file["logs"].as_object().unwrap() {
            let series = open(&name).logs().matching(pattern).read().unwrap();
            let wanted = wanted.as_object().unwrap();
            assert_eq!(series.len(), wanted.len(), "{name} {pattern}");
            for series in series {
                assert_values(&series.quantity.values, &wanted[&series.name]);
                assert_eq!(series.frames, file["frames"].as_array().unwrap().len() as u64);
                seen += 1;
            }
        }
    }
    assert!(seen > 20);
}

#[test]
fn logs_of_some_frames_are_a_part_of_those_of_all() {
    let trajectory = open("v21_hoomd_full_single.gsd");
    let all = trajectory.logs().read().unwrap();
    for start in 0..4 {
        for end in start..5 {
            let part = trajectory.logs().frames(start..end).read().unwrap();
            let [from, to] = [start.min(3), end.min(3)].map(|frame| frame as usize);
            assert_eq!(part.len(), all.len());
            for (part, all) in part.iter().zip(&all) {
                assert_eq!(part.frames as usize, to - from);
                let stride = all.quantity.values.len() / 3;
                let wanted = match &all.quantity.values {
                    Values::U64(values) => Values::U64(values[from * stride..to * stride].to_vec()),
                    Values::F64(values) => Values::F64(values[from * stride..to * stride].to_vec()),
                    Values::Text(texts) => Values::Text(texts[from..to].to_vec()),
                    values => panic!("{values:?}"),
                };
                assert_eq!(part.quantity.values, wanted);
            }
        }
    }
}

#[test]
fn scalars_are_quantities_of_one_value() {
    let trajectory = open("v21_hoomd_full_single.gsd");
    let series = trajectory.logs().scalars().read().unwrap();
    let names: Vec<_> = series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(names, ["configuration/step", "log/md/energy", "log/message"]);
}

#[test]
fn slices_are_those_of_a_list() {
    let trajectory = open("v21_hoomd_varying_N.gsd");
    let numbers = |frames: Vec<u64>, wanted: &[u64]| assert_eq!(frames, wanted);
    let number = |frame: Result<Frame<'_>, striae::Error>| frame.unwrap().number();
    numbers(trajectory.frames(..).map(number).collect(), &[0, 1, 2, 3]);
    numbers(trajectory.frames(1..).map(number).collect(), &[1, 2, 3]);
    numbers(trajectory.frames(1..=2).map(number).collect(), &[1, 2]);
    numbers(trajectory.frames(2..99).map(number).collect(), &[2, 3]);
    numbers(trajectory.frames(7..9).map(number).collect(), &[]);
    numbers(trajectory.frames(..).step_by(2).map(number).collect(), &[0, 2]);
    numbers(trajectory.frames(..).rev().step_by(3).map(number).collect(), &[3, 0]);
    assert_eq!(trajectory.frames(..=2).size_hint(), (3, Some(3)));
}

#[test]
fn a_frame_that_there_is_not_is_refused() {
    for (name, file) in expected() {
        let frames = file["frames"].as_array().unwrap().len() as u64;
        for frame in [frames, frames + 1, u64::MAX] {
            let error = open(&name).frame(frame).map(drop).unwrap_err();
            let ErrorKind::Gsd(Format(error)) = *error.kind() else { panic!("{error}") };
            assert_eq!(error, Error::NoFrame { frame, frames });
        }
    }
}
