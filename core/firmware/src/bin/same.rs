//! Writes the board's logs in memory and gives them to the host, to be compared with those of other
//! machines.

#![no_std]
#![no_main]

#[path = "board/frames.rs"]
mod frames;
#[path = "../host.rs"]
mod host;
#[path = "board/same.rs"]
mod same;
#[path = "board/sample.rs"]
mod sample;
#[path = "board/sensors.rs"]
mod sensors;
#[path = "board/table.rs"]
mod table;

use cortex_m as _; // critical sections
use defmt_semihosting as _;
use same::Ram;

#[cortex_m_rt::entry]
fn main() -> ! {
    static mut FILE: Ram<36864> = Ram::EMPTY;
    let paths = [c"LOG.GSD", c"LOG.SIO", c"LOG.NC"];
    let done = same::write_logs(FILE, |log, bytes| host::File::create(paths[log]).write(bytes));
    if let Err(what) = done {
        defmt::panic!("{=str} is not written", what)
    }
    semihosting::process::exit(0)
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    defmt::error!("{}", defmt::Display2Format(info));
    semihosting::process::exit(1)
}

/// Called by `defmt::panic!`, which has said already what is wrong.
#[defmt::panic_handler]
fn defmt_panic() -> ! {
    semihosting::process::exit(1)
}
