//! A logger of netCDF files, CDF-2, on the card that loses its power at every write: the example of
//! `striae_core::cdf::Writer`. `ncdump` shows the images that it gives the host.

#![no_std]
#![no_main]

#[path = "../card.rs"]
#[allow(dead_code, reason = "its header is erased in another program")]
mod card;
#[path = "../host.rs"]
mod host;

use card::{Card, CardError};
use core::fmt::Write as _;
use cortex_m as _; // critical sections
use defmt_semihosting as _;
use host::File;
use striae_core::cdf::{
    Alignment, AttrDef, Definition, DimDef, Error, Fill, Plan, Reader, Slot, Type, VarDef, Version,
    Writer,
};
use striae_core::step::DriveError;

/// Records of a run.
const RECORDS: usize = 10;

/// What is lost at a cut is left to chance; so often each cut is tried.
const TRIES: u32 = 8;

/// Cuts whose images are checked on the host.
const IMAGES: u32 = 8;

// ---- what the device does: the part to copy ----

type Failure = DriveError<CardError, Error>;
type Log<'c> = Writer<&'c mut Card, [Slot; 3], [u8; 512]>;

/// Numbers of the variables.
const TIME: u64 = 0;
const BOOT: u64 = 1;
const TEMPERATURE: u64 = 2;

/// Goes on with the log on the card, or begins one. The card is this device's alone: whatever else
/// is on it is overwritten. A device that may get another card looks at its first blocks before.
fn start(card: &mut Card) -> Result<Log<'_>, Failure> {
    let is_log = match Reader::open(&*card, &mut [0; 2], &mut [0; 512]) {
        Ok(_) => true,
        Err(DriveError::Format(Error::NotCdf { .. })) => false,
        Err(error) => return Err(error),
    };
    if is_log {
        return Writer::open(card, Fill::Values, &mut [0; 2], [Slot::EMPTY; 3], [0; 512]);
    }
    let seconds = AttrDef::new("units", "seconds since 2024-05-01");
    let of = |name, nc_type, dimids| VarDef { name, nc_type, dimids };
    let definition = Definition {
        dims: &[DimDef::record("time"), DimDef { name: "sensor", length: 3 }],
        attrs: &[AttrDef::new("title", "probe 7")],
        vars: &[
            (of("time", Type::Int, &[0]), &[seconds]),
            (of("boot", Type::Short, &[0]), &[]),
            (of("temperature", Type::Float, &[0, 1]), &[AttrDef::new("units", "K")]),
        ],
    };
    let plan = Plan::new(&definition, Version::Cdf2, Alignment::default());
    let plan = plan.map_err(DriveError::Format)?;
    Writer::create(card, &definition, &plan, Fill::Values, [Slot::EMPTY; 3], [0; 512])
}

/// Logs a record. When it returns, the record is safe.
fn log(log: &mut Log<'_>, second: i32, boot: i16, temperature: &[f32; 3]) -> Result<(), Failure> {
    log.put(TIME, &second)?;
    log.put(BOOT, &boot)?;
    log.put(TEMPERATURE, temperature)?;
    log.end_record()?;
    log.commit()
}

// ---- the cuts, and what must be in the log ----

/// What the device took for safe.
#[derive(Clone, Copy)]
struct Acknowledged {
    is_begun: bool,
    /// Records that are safe.
    records: usize,
    /// The boots that they were logged in.
    boots: [i16; RECORDS],
}

/// The values that the device measures.
fn measured(record: usize, boot: i16) -> [f32; 3] {
    let x = record as f32;
    [290.0 + x, -x, x / 4.0 + f32::from(boot)]
}

/// What the device does from getting power to losing it.
fn session(card: &mut Card, boot: i16, known: &mut Acknowledged) -> Result<(), Failure> {
    let mut writer = start(card)?;
    while let record @ 0..RECORDS = writer.records() as usize {
        log(&mut writer, record as i32, boot, &measured(record, boot))?;
        known.is_begun = true;
        known.boots[record] = boot;
        known.records = record + 1;
    }
    Ok(())
}

/// Whether all acknowledged records are there with their values, at most one more of this boot, and
/// nothing else. Returns how many records there are.
fn check(card: &Card, known: &Acknowledged, boot: Option<i16>) -> Option<usize> {
    let (mut lengths, mut window) = ([0; 2], [0; 512]);
    let file = match Reader::open(card, &mut lengths, &mut window) {
        Ok(file) => file,
        Err(DriveError::Format(Error::NotCdf { .. })) if !known.is_begun => return Some(0),
        Err(_) => return None,
    };
    let records = file.lengths()[0] as usize;
    if !(known.records..=known.records + usize::from(boot.is_some())).contains(&records) {
        return None;
    }
    for record in 0..records {
        let boot = if record < known.records { known.boots[record] } else { boot? };
        let mut read = |name: &[u8], bytes: &mut [u8]| {
            let variable = file.variable(name, &mut window).ok()??;
            let span = file.record(&variable, record as u64).ok()?;
            (file.read(span, bytes).ok()? == span.len() as usize).then_some(())
        };
        let (mut time, mut boots, mut temperature) = ([0; 4], [0; 2], [0; 12]);
        read(b"time", &mut time)?;
        read(b"boot", &mut boots)?;
        read(b"temperature", &mut temperature)?;
        let mut expected = [0; 12];
        for (to, value) in expected.chunks_exact_mut(4).zip(measured(record, boot)) {
            to.copy_from_slice(&value.to_be_bytes());
        }
        let is_right = time == (record as i32).to_be_bytes()
            && boots == boot.to_be_bytes()
            && temperature == expected;
        is_right.then_some(())?;
    }
    Some(records)
}

/// Logs all records on an erased card whose power goes after `cut` writes and syncs, then after a
/// few more, and then stays. Returns the writes and syncs of the first boot, or `None` if the log
/// is wrong. With `image`, the host gets the card as it was after each cut.
fn run(card: &mut Card, cut: u32, seed: u32, mut image: Option<(u32, &mut File)>) -> Option<u32> {
    let mut used = 0;
    let mut known = Acknowledged { is_begun: false, records: 0, boots: [0; RECORDS] };
    card.erase(seed);
    card.power_on(cut);
    for boot in 0.. {
        let done = session(card, boot, &mut known);
        let mut fuel = u32::MAX;
        if boot == 0 {
            (used, fuel) = (card.used(), card.below(24).max(1));
        }
        card.power_on(fuel);
        let records = check(card, &known, done.is_err().then_some(boot))?;
        if records > known.records {
            known.boots[known.records] = boot;
            (known.is_begun, known.records) = (true, records);
        }
        if let Some((image, report)) = &mut image {
            write_image(card, *image, boot, &known, report);
        }
        match done {
            Ok(()) => return Some(used),
            Err(DriveError::Store(CardError::NoPower)) => {}
            Err(_) => return None,
        }
    }
    None
}

/// Writes the card to a file of the host, and to the report what must be in it.
fn write_image(card: &Card, image: u32, boot: i16, known: &Acknowledged, report: &mut File) {
    let mut path = *b"image-0-0.nc\0";
    path[6] += image as u8;
    path[8] += boot as u8;
    if let Ok(path) = core::ffi::CStr::from_bytes_with_nul(&path) {
        File::create(path).write(card.image());
    }
    let boots = &known.boots[..known.records];
    let _ = writeln!(report, "netcdf {image}-{boot} {} {boots:?}", u8::from(known.is_begun));
}

#[cortex_m_rt::entry]
fn main() -> ! {
    static mut CARD: Card = Card::new();
    let card = CARD;
    let mut report = File::create(c"netcdf.txt");
    let (mut cuts, mut runs) = (0, 0);
    loop {
        let mut used = 0;
        for seed in cuts * TRIES..(cuts + 1) * TRIES {
            let Some(writes) = run(card, cuts, seed, None) else {
                defmt::panic!("cut {=u32}, chance {=u32}: the log is wrong", cuts, seed)
            };
            (used, runs) = (writes, runs + 1);
        }
        if used <= cuts {
            break;
        }
        cuts += 1;
    }
    card.ignore_syncs(true);
    let wrong = (0..cuts).filter(|&cut| run(card, cut, cut, None).is_none()).count();
    card.ignore_syncs(false);
    let _ = write!(report, "cuts {cuts}\nruns {runs}\nwrong_without_syncs {wrong}\n");
    for image in 0..IMAGES {
        // The last one is of a run that nothing cut.
        let cut = if image + 1 < IMAGES { cuts * image / IMAGES + 1 } else { u32::MAX };
        if run(card, cut, image, Some((image, &mut report))).is_none() {
            defmt::panic!("image {=u32}: the log is wrong", image)
        }
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
