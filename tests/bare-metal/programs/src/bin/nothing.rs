//! The card alone.
#![no_std]
#![no_main]

use striae_core::store::{ReadAt, WriteAt};
use striae_size::{Card, end};

#[unsafe(no_mangle)]
extern "C" fn start() -> ! {
    let mut card = Card;
    let mut bytes = [0; 4];
    let done = card.size().and_then(|len| {
        card.read_at(len, &mut bytes)?;
        card.write_all_at(len, &bytes)?;
        card.set_size(len)?;
        card.sync()
    });
    end(&done)
}
