//! A new SIONlib file of one task, and a commit.
#![no_std]
#![no_main]

use core::hint::black_box;
use embedded_io::ErrorKind;
use striae_core::sion::{Attributes, Error, Finished, Memory, Meta1, Options, Pen, Writer};
use striae_core::step::DriveError;
use striae_size::{Card, end};

fn log() -> Result<(), DriveError<ErrorKind, Error>> {
    let (mut pens, mut ledger) = ([Pen::EMPTY; 1], [Finished::EMPTY; 1]);
    let mut window = [0; Meta1::MAX_LEN];
    let memory = Memory { pens: &mut pens, ledger: &mut ledger, window: &mut window };
    let tasks = [(0, black_box(4096))];
    let (attributes, options) = (Attributes::default(), Options::default());
    let mut writer = Writer::create(Card, &attributes, b"log", &tasks[..], memory, options)?;
    writer.write(0, &black_box([0; 4]))?;
    writer.commit()
}

#[unsafe(no_mangle)]
extern "C" fn start() -> ! {
    end(&log())
}
