//! A [`Logger`] with its defaults, for files of any program.
#![no_std]
#![no_main]

use core::hint::black_box;
use striae_core::gsd::{Attributes, Logger, writer::WriteError};
use striae_size::{Card, end};

fn log() -> Result<(), WriteError<Card>> {
    let about = Attributes { application: "log", schema: "log", ..Attributes::default() };
    let mut log = Logger::<_, 4>::open_or_create(Card, &about)?;
    let id = log.name("t")?;
    log.write(id, &[[black_box(21.5_f32)]])?;
    log.end_frame().map(drop)
}

#[unsafe(no_mangle)]
extern "C" fn start() -> ! {
    end(&log())
}
