//! Loggers on an SD card, on the board lm3s6965evb; see README.md.
//!
//! It tells on its UART what is safe, a line each: `raw 7` when frame 7 of the log in the second
//! partition is, `fat 7` for the log in the file LOG.GSD, `sion 7` for LOG.SIO, `cdf 7` for LOG.NC.
//! `fat fails: ...` says that the card is away, another one, or full, and `fat ends` that this log
//! is full.

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

use card::{Sd, Volume, Volumes};
use core::fmt::{Display, Write as _};
use embedded_sdmmc::{BlockDevice as _, VolumeIdx, VolumeManager};
use frames::Frames;
use sample::Sample;
use sensors::{Room, Sensors};
use striae_core::step::DriveError;
use table::Table;
use uart::Uart;

/// Bytes of LOG.GSD.
const LOG_LEN: u64 = 1 << 19;

/// Slots of the first index of a GSD log: for 128 commits.
const SLOTS: u64 = 2048;

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
    let [volume, blocks] = told(uart, "card", card::partitions(card))?;
    let raw = told(uart, "raw", card::raw(card, blocks))?;
    let mut raw = told(uart, "raw", Frames::start(raw, SLOTS))?;
    let _ = writeln!(uart, "raw has {}", raw.frames());

    let volumes = VolumeManager::new(Volume { card, blocks: volume }, card::NoClock);
    let volume = told(uart, "fat", volumes.open_volume(VolumeIdx(0)))?;
    let folder = told(uart, "fat", volume.open_root_dir())?;
    let file = told(uart, "fat", card::in_file(&folder, "LOG.GSD", LOG_LEN))?;
    let mut fat = told(uart, "fat", Frames::start(file, SLOTS))?;
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

    let board = Board { card, volumes: &volumes };
    let mut going = [true; 4];
    while going.contains(&true) {
        let n = raw.frames();
        going[0] = going[0] && board.log(uart, "raw", n, || raw.log(&Sample::take(n)));
        let n = fat.frames();
        going[1] = going[1] && board.log(uart, "fat", n, || fat.log(&Sample::take(n)));
        let n = sion.samples();
        going[2] = going[2] && board.log(uart, "sion", n, || sion.log(&Sample::take(n)));
        let n = cdf.records();
        going[3] = going[3] && board.log(uart, "cdf", n, || cdf.log(&Sample::take(n)));
    }
    Ok(())
}

/// How often a sample is tried on a card that is in its place.
const TRIES: u32 = 4;

/// An error of a format that says that another card is in the slot.
trait OfAnother {
    const ANOTHER: Self;
}

impl OfAnother for striae_core::gsd::Error {
    const ANOTHER: Self = Self::Swapped;
}

impl OfAnother for striae_core::sion::Error {
    const ANOTHER: Self = Self::Swapped;
}

impl OfAnother for striae_core::cdf::Error {
    const ANOTHER: Self = Self::Swapped;
}

struct Board<'a> {
    card: &'a Sd,
    volumes: &'a Volumes<'a>,
}

impl Board<'_> {
    /// Logs sample `n`. After an error it waits for the card, if that is away or another one is in
    /// its place, and logs the sample again. Returns `false` if that is no use: the log is full.
    fn log<S: Display, F: Display + PartialEq + OfAnother>(
        &self,
        uart: &mut Uart,
        name: &str,
        n: u32,
        mut log: impl FnMut() -> Result<(), DriveError<S, F>>,
    ) -> bool {
        let mut faults = 0;
        while let Err(error) = log() {
            let _ = writeln!(uart, "{name} fails: {error}");
            self.card.mark_card_uninit();
            let is_another = matches!(&error, DriveError::Format(error) if *error == F::ANOTHER);
            if self.card.num_blocks().is_ok() && !is_another {
                faults += 1;
                if faults == TRIES {
                    let _ = writeln!(uart, "{name} ends");
                    return false;
                }
            }
            while self.card.num_blocks().is_err() {}
            // What the file system took for written need not be.
            self.volumes.device(|_| self.card.mark_card_uninit());
        }
        let _ = writeln!(uart, "{name} {n}");
        true
    }
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    let _ = writeln!(Uart::new(), "{info}");
    semihosting::process::exit(1)
}
