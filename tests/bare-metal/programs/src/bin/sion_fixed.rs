//! A [`FixedWriter`]: a new SIONlib file of one task, known when this is compiled, and a commit.
#![no_std]
#![no_main]

use core::hint::black_box;
use striae_core::sion::fixed::FixedError;
use striae_core::sion::{Attributes, FixedWriter, Shape};
use striae_size::{Card, end};

static SHAPE: Shape<1> = match Shape::new(&Attributes::DEFAULT, b"log", [(0, 4096)]) {
    Ok(shape) => shape,
    Err(_) => panic!("no file can have this shape"),
};

fn log() -> Result<(), FixedError<Card>> {
    let mut writer = FixedWriter::create(Card, &SHAPE)?;
    writer.write(0, &black_box([0; 4]))?;
    writer.commit()
}

#[unsafe(no_mangle)]
extern "C" fn start() -> ! {
    end(&log())
}
