//! A writer of a fixed shape writes what the one that can do more writes, and promises the same.

use super::faults::{faults, limits, try_each};
use super::hand::{Mode, wait};
use super::path::{Shape as Told, fixed_paths};
use super::run::{Failure, Run};
use super::waiting::{drop_each, run_with};
use super::{Figures, crash_run};
use std::fmt::Debug;
use striae_core::sion::fixed::{Fault, FixedError};
use striae_core::sion::{Attributes, Error, FixedWriter, Meta1, Shape, cursor::Cursor};
use striae_core::step::DriveError;
use striae_kit::power::{Again, Lost, Op, PowerStore, sum_of};
use striae_kit::waiting::{Slow, Waits};

/// A writer of any number of tasks.
pub(crate) trait Fixed: Debug {
    fn meta1(&self) -> &Meta1;
    fn cursor(&self, local: u32) -> &Cursor;
    fn write(&mut self, local: u32, bytes: &[u8]) -> Result<(), Failure>;
    fn commit(&mut self) -> Result<(), Failure>;
    fn close(&mut self) -> Result<(), Failure>;
}

/// The error that the other writer returns.
fn rich(error: FixedError<PowerStore>) -> Failure {
    error.map_format(|fault| match fault {
        Fault::NoTask => Error::NoTask { task: 0, ntasks: 0 },
        Fault::NoChunks => Error::NoRoom,
        _ => Error::FileFull { chunk: 0 },
    })
}

impl<const N: usize> Fixed for FixedWriter<PowerStore, N> {
    fn meta1(&self) -> &Meta1 {
        self.meta1()
    }

    fn cursor(&self, local: u32) -> &Cursor {
        self.cursor(local).unwrap()
    }

    fn write(&mut self, local: u32, bytes: &[u8]) -> Result<(), Failure> {
        self.write(local, bytes).map_err(rich)
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.commit().map_err(rich)
    }

    fn close(&mut self) -> Result<(), Failure> {
        self.close().map_err(rich)
    }
}

/// A writer that is waited for.
#[derive(Debug)]
struct Waited<const N: usize>(FixedWriter<Slow<PowerStore>, N>, Waits, PowerStore);

impl<const N: usize> Fixed for Waited<N> {
    fn meta1(&self) -> &Meta1 {
        self.0.meta1()
    }

    fn cursor(&self, local: u32) -> &Cursor {
        self.0.cursor(local).unwrap()
    }

    fn write(&mut self, local: u32, bytes: &[u8]) -> Result<(), Failure> {
        wait(&self.1, &self.2, self.0.write_async(local, bytes)).map_err(rich)
    }

    fn commit(&mut self) -> Result<(), Failure> {
        wait(&self.1, &self.2, self.0.commit_async()).map_err(rich)
    }

    fn close(&mut self) -> Result<(), Failure> {
        wait(&self.1, &self.2, self.0.close_async()).map_err(rich)
    }
}

type Slowly = Option<(Slow<PowerStore>, Waits)>;

/// Creates a file by a writer for as many tasks as it has.
pub(crate) fn create(
    told: &Told,
    prefix: &[u8],
    store: &PowerStore,
    slow: Slowly,
) -> Result<Box<dyn Fixed>, Failure> {
    match told.tasks.len() {
        1 => create_of::<1>(told, prefix, store, slow),
        5 => create_of::<5>(told, prefix, store, slow),
        count => panic!("{count} tasks"),
    }
}

fn create_of<const N: usize>(
    told: &Told,
    prefix: &[u8],
    store: &PowerStore,
    slow: Slowly,
) -> Result<Box<dyn Fixed>, Failure> {
    let tasks: [(i64, u64); N] = told.tasks.as_slice().try_into().unwrap();
    let shape = Shape::new(&told.attributes, prefix, tasks).unwrap().with_ahead(told.ahead);
    let Some((slow, waits)) = slow else {
        let writer = FixedWriter::create(store.clone(), &shape).map_err(rich)?;
        return Ok(Box::new(writer));
    };
    let writer = wait(&waits, store, FixedWriter::create_async(slow, &shape)).map_err(rich)?;
    Ok(Box::new(Waited(writer, waits, store.clone())))
}

#[test]
fn the_file_is_that_of_a_writer_that_can_do_more_at_every_sync() {
    let paths = fixed_paths();
    assert!(paths.len() >= 30, "{}", paths.len());
    for path in &paths {
        let other = Run::of(path);
        for mode in [Mode::Fixed, Mode::FixedInParts(Waits::new(5))] {
            let run = run_with(path, mode, Again::Never);
            assert!(run.failed_at.is_none());
            assert_eq!(synced(&run.store), synced(&other.store), "{}, {:?}", path.name, path.shape);
        }
    }
}

/// What is found in a file of any commit, whole or damaged, does not depend on waiting.
#[test]
fn a_file_is_found_alike_by_the_form_that_waits() {
    let tasks = [(0, 700), (1, 100), (2, 512)];
    let shape = Shape::new(&Attributes::DEFAULT, b"log", tasks).unwrap();
    let store = PowerStore::new(&[]);
    let mut writer = FixedWriter::open_or_create(store.clone(), &shape).unwrap();
    for turn in 0..4_u32 {
        for local in 0..3 {
            writer.write(local, &vec![7; (turn * 300 + local * 50) as usize]).unwrap();
        }
        writer.commit().unwrap();
    }
    let (mut found, mut refused) = (0, 0);
    for image in synced(&store) {
        for at in (0..image.len()).step_by(13).map(Some).chain([None]) {
            let mut image = image.clone();
            at.into_iter().for_each(|at| image[at] ^= 0x10);
            let [store, other] = [(); 2].map(|()| PowerStore::new(&image));
            let waits = Waits::new(9);
            let slow = Slow::new(other.clone(), &waits);
            let plain = FixedWriter::open_or_create(store.clone(), &shape);
            let waited = waits.run(FixedWriter::open_or_create_async(slow, &shape)).unwrap();
            assert!(store.live()[..] == other.live()[..], "{at:?}");
            match (plain, waited) {
                (Ok(plain), Ok(waited)) => {
                    found += 1;
                    for local in 0..3 {
                        assert_eq!(plain.cursor(local).unwrap(), waited.cursor(local).unwrap());
                    }
                }
                (plain, waited) => {
                    refused += 1;
                    let faults = (plain.map(drop), waited.map(drop));
                    assert_eq!(format!("{:?}", faults.0), format!("{:?}", faults.1), "{at:?}");
                }
            }
        }
    }
    assert!(found > 100 && refused > 100, "{found} {refused}");
}

/// What is in a store after each sync.
fn synced(store: &PowerStore) -> Vec<Vec<u8>> {
    let log = store.log();
    let syncs = log.iter().enumerate().filter(|(_, op)| matches!(op, Op::Sync));
    syncs.map(|(at, _)| store.killed_after(at).live().to_vec()).collect()
}

#[test]
fn after_any_power_cut_the_file_is_as_a_commit_of_a_fixed_writer_left_it() {
    let crash = |lost| {
        sum_of(&fixed_paths(), |path| {
            crash_run(path, &run_with(path, Mode::Fixed, Again::Never), lost)
        })
    };
    let figures: Figures = crash(Lost::Zeros);
    figures.conclude("power cuts of a fixed writer", 50_000);
    crash(Lost::Noise).conclude("power cuts of a fixed writer, noise", 50_000);
}

#[test]
fn a_fixed_writer_may_fail_and_try_again() {
    let paths: Vec<_> = fixed_paths().into_iter().step_by(5).collect();
    for again in [Again::Never, Again::AtOnce, Again::Later] {
        let tried = try_each(&paths, &Mode::Fixed, faults, again);
        tried.conclude("operations of a fixed writer that fail", 500);
        let tried = try_each(&paths, &Mode::Fixed, limits, again);
        tried.conclude("disks of a fixed writer that are full", 200);
        let tried = drop_each(&paths, Mode::FixedInParts, again);
        tried.conclude("futures of a fixed writer that are dropped", 500);
    }
}

#[test]
fn a_shape_that_only_another_writer_can_write_is_refused() {
    let of = |attributes| Shape::new(&attributes, b"a", [(0, 16)]).map(drop).unwrap_err();
    let about = Attributes::DEFAULT;
    let several = of(Attributes { nfiles: 2, ..about });
    assert_eq!(several.to_string(), "META1.nfiles cannot be 2, must be from 1 to 1");
    let (plain, keys) = (50_i64 << 32, 51_i64 << 32);
    let text = format!("META1.flag1 cannot be {keys}, must be from {plain} to {plain}");
    assert_eq!(of(Attributes { keyval: true, ..about }).to_string(), text);
    let long = Shape::new(&about, b"a", [(0, 1), (1, i64::MAX.unsigned_abs())]);
    assert!(matches!(long, Err(Error::OutOfRange { .. })), "{long:?}");
    let store = PowerStore::default();
    let shape = Shape::new(&about, b"a", [(0, 16), (1, 0)]).unwrap();
    let mut writer = FixedWriter::create(store, &shape).unwrap();
    assert_eq!(writer.write(2, &[1]), Err(DriveError::Format(Fault::NoTask)));
    assert_eq!(writer.write(1, &[1]), Err(DriveError::Format(Fault::NoChunks)));
}
