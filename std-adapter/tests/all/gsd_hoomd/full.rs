//! A disk that is full now and then, at every place of a frame.
//!
//! A limit of the file's size (RLIMIT_FSIZE) stands for it. It holds for a whole process, so this
//! is done in a child.

use super::model::{bits, filled};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;
use std::path::Path;
use std::process::Command;
use striae::error::ErrorKind;
use striae::gsd::ErrorKind::Hoomd;
use striae::gsd::Reopen;
use striae::gsd::hoomd::{
    Builder, Error, FrameData, ParticleData, Precision, Quantity, Trajectory, Writer,
};

const CHILD: &str = "gsd_hoomd::full::child";
const FOLDER: &str = "STRIAE_TEST_FOLDER";

#[test]
fn a_frame_that_was_cut_by_a_full_disk_is_ended_by_the_same_and_by_no_other() {
    let folder = crate::in_memory();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args([CHILD, "--exact", "--ignored", "--nocapture", "--test-threads=1"]);
    assert!(child.env(FOLDER, folder.path()).status().unwrap().success());
}

fn frame(step: u64) -> FrameData {
    let number = step as f32;
    FrameData {
        particles: ParticleData {
            n: 20,
            typeid: Some(vec![1; 20]),
            mass: Some(vec![number; 20].into()),
            position: Some(vec![number; 60].into()),
            ..Default::default()
        },
        log: vec![
            ("step".into(), Quantity::rows(vec![step], 1)),
            ("text".into(), Quantity::text("t".repeat(100))),
        ],
        ..Default::default()
    }
}

fn assert_reads(path: &Path, frames: &[FrameData]) {
    let trajectory = Trajectory::open(path).unwrap();
    assert_eq!(trajectory.len(), frames.len() as u64);
    let first = filled(&frames[0], None, Precision::Single);
    for (number, frame) in (0..).zip(frames) {
        let read = trajectory.frame(number).unwrap().read().unwrap();
        let of_first = Some(&first).filter(|_| number > 0);
        assert_eq!(bits(&read), bits(&filled(frame, of_first, Precision::Single)));
    }
}

fn set_limit(bytes: Option<u64>) {
    let maximum = getrlimit(Resource::Fsize).maximum;
    setrlimit(Resource::Fsize, Rlimit { current: bytes.or(maximum), maximum }).unwrap();
}

/// What happened to a writer.
#[derive(Debug, Default)]
struct Seen {
    /// Frames that were cut before they had a chunk, so that any other could follow.
    free: u32,
    /// Frames that were cut, and refused to be ended by another.
    begun: u32,
    /// Of these, by one whose chunks are the first of the frame.
    shorter: u32,
}

#[test]
#[ignore = "run by another test, as the limit is that of a process"]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let mut seen = Seen::default();
    for more in (0..3000).step_by(31) {
        let path = Path::new(&folder).join(format!("{more}.gsd"));
        let file = striae::gsd::Builder::new().buffer(0);
        Builder::new().file(file).create(&path).unwrap().close().unwrap();
        let len = std::fs::metadata(&path).unwrap().len();
        set_limit(Some(len + more));
        let reopen = Reopen::new().buffer(0);
        let mut writer = Writer::reopen_with(&path, Precision::Single, &reopen).unwrap();
        let mut frames = Vec::new();
        for number in 0..4 {
            frames.push(match writer.append(&frame(number)) {
                Ok(_) => frame(number),
                Err(error) => go_on(&mut writer, number, &error, &mut seen),
            });
            insist(&mut writer, Writer::commit);
        }
        insist(&mut writer, Writer::close);
        set_limit(None);
        assert_reads(&path, &frames);
    }
    assert!(seen.begun > 5 && seen.free > 0 && seen.shorter > 0, "{seen:?}");
}

fn check_full(error: &striae::Error) {
    let ErrorKind::Io(kind) = error.kind() else { panic!("{error}") };
    assert_eq!(kind.kind(), io::ErrorKind::FileTooLarge, "{error}");
}

fn insist(writer: &mut Writer, work: fn(&mut Writer) -> Result<(), striae::Error>) {
    if let Err(error) = work(writer) {
        check_full(&error);
        set_limit(None);
        work(writer).unwrap();
    }
}

/// The frame is ended when there is room, but not by another one if chunks of it are in the file.
/// Says which one is there.
fn go_on(writer: &mut Writer, number: u64, error: &striae::Error, seen: &mut Seen) -> FrameData {
    check_full(error);
    set_limit(None);
    let mut other = frame(number);
    if number % 2 == 1 {
        other.log.clear(); // it has the first chunks of the frame, and no more
    } else {
        other.particles.n = 19;
        other.particles.typeid = Some(vec![1; 19]);
        other.particles.mass = Some(vec![0.5_f32; 19].into());
        other.particles.position = Some(vec![0.5_f32; 57].into());
    }
    match writer.append(&other) {
        Ok(_) => {
            seen.free += 1;
            other
        }
        Err(error) => {
            seen.begun += 1;
            seen.shorter += u32::from(number % 2 == 1);
            let ErrorKind::Gsd(Hoomd(error)) = error.kind() else { panic!("{error}") };
            assert_eq!(*error, Error::OtherFrame { frame: number });
            assert_eq!(writer.append(&frame(number)).unwrap(), number);
            frame(number)
        }
    }
}
