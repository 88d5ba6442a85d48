//! The asynchronous loggers of devices write what the blocking ones do.

use striae_core::gsd::{Attributes, FixedLogger, OwnLogger, Shape};
use striae_core::step::DriveError;
use striae_kit::power::PowerStore;
use striae_kit::waiting::{Slow, Waits};

/// The list of both is longer than the first list of a logger for own files.
const NAMES: [&str; 2] = ["temperature", "a name that is as long as a unit of the list"];

const ABOUT: Attributes<'static> = Attributes {
    align: 512,
    index_slots: 160,
    shown_slots: 16,
    names_len: 1,
    ..Attributes::DEFAULT
};

fn kinds() -> [Attributes<'static>; 3] {
    let packed = Attributes { align: 1, shown_slots: 1, ..ABOUT };
    [ABOUT, packed, Attributes { align: 8, shown_slots: 128, ..ABOUT }]
}

/// Opens the log again for each frame, as a device that starts again, blocking and not, and
/// compares the stores.
macro_rules! log_twice {
    ($open:expr, $open_async:expr, |$log:ident, $frame:ident| $write:block, $wait:block) => {{
        let (blocking, asynchronous) = (PowerStore::default(), PowerStore::default());
        for $frame in 0..6_u64 {
            let mut $log = $open(blocking.clone()).unwrap();
            $write
            assert_eq!($log.end_frame().unwrap(), $frame);
        }
        let waits = Waits::new(7);
        let done = waits.run(async {
            for $frame in 0..6_u64 {
                let mut $log = $open_async(Slow::new(asynchronous.clone(), &waits)).await?;
                $wait
                assert_eq!($log.end_frame_async().await?, $frame);
            }
            Ok::<(), DriveError<_, _>>(())
        });
        done.unwrap().unwrap();
        assert!(*asynchronous.live() == *blocking.live());
    }};
}

/// Rows of the chunk of a name.
fn rows(frame: u64, id: u16) -> Vec<[u64; 2]> {
    (0..7 + 53 * (frame + u64::from(id)) % 170).map(|at| [frame, at]).collect()
}

#[test]
fn an_asynchronous_fixed_log_writes_what_a_blocking_one_does() {
    for about in kinds() {
        let shape = &Shape::new(&about, NAMES).unwrap();
        log_twice!(
            |store| FixedLogger::open_or_create(store, shape),
            |store| FixedLogger::open_or_create_async(store, shape),
            |log, frame| {
                (frame as u16 % 2..2).for_each(|id| log.write(id, &rows(frame, id)).unwrap());
            },
            {
                for id in frame as u16 % 2..2 {
                    log.write_async(id, &rows(frame, id)).await?;
                }
            }
        );
    }
}

#[test]
fn an_asynchronous_own_log_writes_what_a_blocking_one_does() {
    for about in kinds() {
        let shape = &Shape::new(&Attributes { index_slots: 1, ..about }, []).unwrap();
        log_twice!(
            |store| OwnLogger::<_, 4>::open_or_create(store, shape),
            |store| OwnLogger::<_, 4>::open_or_create_async(store, shape),
            |log, frame| {
                for name in &NAMES[..1 + frame as usize / 3] {
                    let id = log.name(name).unwrap();
                    log.write(id, &rows(frame, id)).unwrap();
                }
            },
            {
                for name in &NAMES[..1 + frame as usize / 3] {
                    let id = log.name_async(name).await?;
                    log.write_async(id, &rows(frame, id)).await?;
                }
            }
        );
    }
}
