//! The program `fixed` on a card that is awaited.
#![no_std]
#![no_main]

use core::hint::black_box;
use core::sync::atomic::AtomicU8;
use striae_core::gsd::fixed::AsyncFixedError;
use striae_core::gsd::{Attributes, FixedLogger, Shape};
use striae_size::{AsyncCard, end, run, size_of_output};

const ABOUT: Attributes<'static> =
    Attributes { application: "log", schema: "log", align: 512, ..Attributes::DEFAULT };

static SHAPE: Shape<'static, 3> = match Shape::new(&ABOUT, ["t", "position", "signal"]) {
    Ok(shape) => shape,
    Err(_) => panic!("no file can have this shape"),
};

async fn log() -> Result<(), AsyncFixedError<AsyncCard>> {
    let mut log = FixedLogger::open_or_create_async(AsyncCard, &SHAPE).await?;
    log.write_async(0, &[[black_box(21.5_f32)]]).await?;
    log.write_async(1, &[black_box([0.5_f64, 1.5, 2.5])]).await?;
    log.end_frame_async().await.map(drop)
}

/// What an executor keeps for a task.
#[used]
static TASK: [AtomicU8; size_of_output(&log)] = [const { AtomicU8::new(0) }; size_of_output(&log)];

#[unsafe(no_mangle)]
extern "C" fn start() -> ! {
    end(&run(log()))
}
