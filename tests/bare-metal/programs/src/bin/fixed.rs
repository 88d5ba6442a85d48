//! A [`FixedLogger`]: the names and attributes are known when this is compiled.
#![no_std]
#![no_main]

use core::hint::black_box;
use striae_core::gsd::fixed::FixedError;
use striae_core::gsd::{Attributes, FixedLogger, Shape};
use striae_size::{Card, end};

const ABOUT: Attributes<'static> =
    Attributes { application: "log", schema: "log", align: 512, ..Attributes::DEFAULT };

static SHAPE: Shape<'static, 3> = match Shape::new(&ABOUT, ["t", "position", "signal"]) {
    Ok(shape) => shape,
    Err(_) => panic!("no file can have this shape"),
};

fn log() -> Result<(), FixedError<Card>> {
    let mut log = FixedLogger::open_or_create(Card, &SHAPE)?;
    log.write(0, &[[black_box(21.5_f32)]])?;
    log.write(1, &[black_box([0.5_f64, 1.5, 2.5])])?;
    log.end_frame().map(drop)
}

#[unsafe(no_mangle)]
extern "C" fn start() -> ! {
    end(&log())
}
