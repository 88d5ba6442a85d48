//! The program `logger` on a card that is awaited.
#![no_std]
#![no_main]

use core::hint::black_box;
use core::sync::atomic::AtomicU8;
use striae_core::gsd::{AsyncError, Attributes, Logger};
use striae_size::{AsyncCard, end, run, size_of_output};

async fn log() -> Result<(), AsyncError<AsyncCard>> {
    let about = Attributes { application: "log", schema: "log", ..Attributes::default() };
    let mut log = Logger::<_, 4>::open_or_create_async(AsyncCard, &about).await?;
    let id = log.name_async("t").await?;
    log.write_async(id, &[[black_box(21.5_f32)]]).await?;
    log.end_frame_async().await.map(drop)
}

/// What an executor keeps for a task.
#[used]
static TASK: [AtomicU8; size_of_output(&log)] = [const { AtomicU8::new(0) }; size_of_output(&log)];

#[unsafe(no_mangle)]
extern "C" fn start() -> ! {
    end(&run(log()))
}
