//! Loggers on an SD card, on the board lm3s6965evb; see README.md, "A card".
//!
//! It tells on its UART what is safe, a line each: `raw 7` when frame 7 of the log in the second
//! partition is, `fat 7` for the log in the file LOG.GSD, `sion 7` and `cdf 7` for LOG.SIO and LOG.NC.

#![no_std]
#![no_main]

mod card;
mod frames;
mod mmio;
mod pl022;
mod quirk;
mod sample;
mod sensors;
mod table;
mod uart;

use card::{Sd, Shared};
use core::fmt::{Display, Write as _};
use embedded_sdmmc::{VolumeIdx, VolumeManager};
use frames::Frames;
use sample::Sample;
use sensors::{Room, Sensors};
use table::Table;
use uart::Uart;

/// Bytes of LOG.GSD.
const LOG_LEN: u64 = 1 << 19;

#[cortex_m_rt::entry]
fn main() -> ! {
    let mut uart = Uart::new();
    let card = card::new();
    let done = run(&card, &mut uart);
    semihosting::process::exit(done.is_err().into())
}

/// It has told what is wrong.
struct Stopped;

/// Tells what is wrong.
fn told<T, E: Display>(uart: &mut Uart, what: &str, done: Result<T, E>) -> Result<T, Stopped> {
    done.map_err(|error| {
        let _ = writeln!(uart, "{what}: {error}");
        Stopped
    })
}

fn run(card: &Sd, uart: &mut Uart) -> Result<(), Stopped> {
    let partition = told(uart, "card", card::second_partition(card))?;
    let raw = told(uart, "raw", card::raw(card, partition))?;
    let mut raw = told(uart, "raw", Frames::start(raw))?;
    let _ = writeln!(uart, "raw has {}", raw.frames());

    let volumes = VolumeManager::new(Shared(card), card::NoClock);
    let volume = told(uart, "fat", volumes.open_volume(VolumeIdx(0)))?;
    let folder = told(uart, "fat", volume.open_root_dir())?;
    let file = told(uart, "fat", card::in_file(&folder, "LOG.GSD", LOG_LEN))?;
    let mut fat = told(uart, "fat", Frames::start(file))?;
    let _ = writeln!(uart, "fat has {}", fat.frames());

    let anew = |old, name| {
        drop(old); // else the file is open
        card::anew(&folder, name)
    };
    let mut room = Room::EMPTY;
    let file = told(uart, "sion", card::growing(&folder, "LOG.SIO"))?;
    let sion = Sensors::start(file, |file| anew(file, "LOG.SIO"), &mut room);
    let mut sion = told(uart, "sion", sion)?;
    let _ = writeln!(uart, "sion has {}", sion.samples());
    let file = told(uart, "cdf", card::growing(&folder, "LOG.NC"))?;
    let mut cdf = told(uart, "cdf", Table::start(file, |file| anew(file, "LOG.NC")))?;
    let _ = writeln!(uart, "cdf has {}", cdf.records());
    loop {
        let n = raw.frames();
        told(uart, "raw", raw.log(&Sample::take(n)))?;
        let _ = writeln!(uart, "raw {n}");
        let n = fat.frames();
        told(uart, "fat", fat.log(&Sample::take(n)))?;
        let _ = writeln!(uart, "fat {n}");
        let n = sion.samples();
        told(uart, "sion", sion.log(&Sample::take(n)))?;
        let _ = writeln!(uart, "sion {n}");
        let n = cdf.records();
        told(uart, "cdf", cdf.log(&Sample::take(n)))?;
        let _ = writeln!(uart, "cdf {n}");
    }
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    let _ = writeln!(Uart::new(), "{info}");
    semihosting::process::exit(1)
}
