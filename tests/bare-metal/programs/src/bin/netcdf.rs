//! A netCDF file goes on: a record of two variables.
#![no_std]
#![no_main]

use core::hint::black_box;
use embedded_io::ErrorKind;
use striae_core::cdf::{Error, Fill, Slot, Writer};
use striae_core::step::DriveError;
use striae_size::{Card, end};

fn log() -> Result<(), DriveError<ErrorKind, Error>> {
    let mut window = [0; 256];
    let slots = [Slot::EMPTY; 2];
    let mut log = Writer::open(Card, Fill::Values, &mut [0; 4], slots, &mut window)?;
    log.put(0, &black_box(7))?;
    log.put(1, &black_box([290.5_f32, 291.0]))?;
    log.end_record()?;
    log.commit()
}

#[unsafe(no_mangle)]
extern "C" fn start() -> ! {
    end(&log())
}
