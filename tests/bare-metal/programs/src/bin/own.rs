//! An [`OwnLogger`]: names are given while it runs, and the file is one that striae made.
#![no_std]
#![no_main]

use core::hint::black_box;
use striae_core::gsd::fixed::FixedError;
use striae_core::gsd::{Attributes, OwnLogger, Shape};
use striae_size::{Card, end};

const ABOUT: Attributes<'static> =
    Attributes { application: "log", schema: "log", align: 512, ..Attributes::DEFAULT };

static SHAPE: Shape<'static, 0> = match Shape::new(&ABOUT, []) {
    Ok(shape) => shape,
    Err(_) => panic!("no file can have these attributes"),
};

fn log() -> Result<(), FixedError<Card>> {
    let mut log = OwnLogger::<_, 4>::open_or_create(Card, &SHAPE)?;
    let id = log.name("t")?;
    log.write(id, &[[black_box(21.5_f32)]])?;
    log.end_frame().map(drop)
}

#[unsafe(no_mangle)]
extern "C" fn start() -> ! {
    end(&log())
}
