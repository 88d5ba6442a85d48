//! A logger on a Cortex-M whose power goes at every write; see README.md.

#![no_std]
#![no_main]

mod card;
mod check;
mod host;
mod measure;
mod probe;
mod stack;

use card::{Card, CardError};
use check::{Acknowledged, FRAMES, Wrong, check, sample};
use core::fmt::Write as _;
use defmt_semihosting as _;
use host::File;
use probe::Probe;
use striae_core::gsd::Error;
use striae_core::step::DriveError;

/// What is lost at a cut is left to chance; so often each cut is tried.
const TRIES: u32 = 8;

/// Cuts whose images are checked on the host.
const IMAGES: u32 = 8;

type CardFailure = DriveError<CardError, Error>;

/// What a run was like.
#[derive(Default, Clone, Copy)]
struct Run {
    /// Writes and syncs of the first boot.
    used: u32,
    boots: u32,
    /// Frames that were on their way when the power went, and are there.
    extra: u32,
}

#[cortex_m_rt::entry]
fn main() -> ! {
    static mut CARD: Card = Card::new();
    let card = CARD;
    let mut report = File::create(c"report.txt");
    measure::sizes(&mut report);
    measure::stack(card, &mut report);
    measure::fixed_stack(card, &mut report);
    measure::own_stack(card, &mut report);
    let cuts = every_cut(card, &mut report);
    without_syncs(card, cuts, &mut report);
    for image in 0..IMAGES {
        // The last one is of a run that nothing cut.
        let cut = if image + 1 < IMAGES { cuts * image / IMAGES + 1 } else { u32::MAX };
        let done = run(card, cut, image, Some((image, &mut report)));
        done.unwrap_or_else(|wrong| stop(cut, image, &wrong));
    }
    defmt::info!("done");
    semihosting::process::exit(0)
}

/// Cuts the power in every write and sync of a run; returns how many there are.
fn every_cut(card: &mut Card, report: &mut File) -> u32 {
    let (mut runs, mut boots, mut extra) = (0, 0, 0);
    for cut in 0.. {
        let mut used = 0;
        for seed in cut * TRIES..(cut + 1) * TRIES {
            let run = run(card, cut, seed, None).unwrap_or_else(|wrong| stop(cut, seed, &wrong));
            runs += 1;
            boots += run.boots;
            extra += run.extra;
            used = run.used;
        }
        if used <= cut {
            defmt::info!(
                "{=u32} cuts in {=usize} frames, {=u32} runs, {=u32} boots: no frame lost, none wrong; \
                 {=u32} frames that were on their way are there",
                cut,
                FRAMES,
                runs,
                boots,
                extra
            );
            let _ = writeln!(report, "cuts {cut}\nframes {FRAMES}\nruns {runs}\nboots {boots}");
            return cut;
        }
    }
    0
}

/// Runs the check on a card whose syncs do nothing: it must find losses there, or it proves
/// nothing.
fn without_syncs(card: &mut Card, cuts: u32, report: &mut File) {
    card.ignore_syncs(true);
    let wrong = (0..cuts).filter(|&cut| run(card, cut, cut, None).is_err()).count();
    card.ignore_syncs(false);
    defmt::info!("a card that ignores syncs: {=usize} of {=u32} runs wrong", wrong, cuts);
    let _ = writeln!(report, "wrong_without_syncs {wrong}");
}

fn stop(cut: u32, seed: u32, wrong: &Wrong<CardFailure>) -> ! {
    defmt::panic!("cut {=u32}, chance {=u32}: {}", cut, seed, wrong)
}

/// Logs all frames on an erased card whose power goes after `cut` writes and syncs, then after
/// a few more, and then stays. With `image`, the host gets the card behind each cut.
fn run(
    card: &mut Card,
    cut: u32,
    seed: u32,
    mut image: Option<(u32, &mut File)>,
) -> Result<Run, Wrong<CardFailure>> {
    let mut run = Run::default();
    let mut known = Acknowledged::NONE;
    card.erase(seed);
    card.power_on(cut);
    for boot in 0.. {
        let done = session(card, boot, &mut known);
        if boot == 0 {
            run.used = card.used();
        }
        let fuel = if boot == 0 { card.below(24) } else { u32::MAX };
        card.power_on(fuel.max(1)); // it can be read as well as ever
        let frames = check(&*card, &known, done.is_err().then_some(boot))?;
        if let Some((image, report)) = &mut image {
            write_image(card, *image, boot, &known, report);
        }
        match done {
            Ok(()) => {
                run.boots = boot + 1;
                return Ok(run);
            }
            Err(DriveError::Store(CardError::NoPower)) => {}
            Err(error) => return Err(Wrong::Unreadable(error)),
        }
        if frames > known.frames {
            known.boots[known.frames] = boot;
            known.frames = frames;
            run.extra += 1;
        }
    }
    Ok(run)
}

/// What the device does from getting power to losing it.
fn session(card: &mut Card, boot: u32, known: &mut Acknowledged) -> Result<(), CardFailure> {
    let mut probe = Probe::start(card)?;
    known.is_begun = true;
    while probe.frames() < FRAMES as u64 {
        let frame = probe.frames();
        probe.log(&sample(frame, boot))?;
        known.boots[known.frames] = boot;
        known.frames += 1;
    }
    Ok(())
}

/// Writes the card to a file of the host, and to the report what must be in it.
fn write_image(card: &Card, image: u32, boot: u32, known: &Acknowledged, report: &mut File) {
    let mut path = *b"image-0-0.gsd\0";
    path[6] += image as u8;
    path[8] += boot as u8;
    if let Ok(path) = core::ffi::CStr::from_bytes_with_nul(&path) {
        File::create(path).write(card.image());
    }
    let boots = &known.boots[..known.frames];
    let _ = writeln!(report, "image {image}-{boot} {} {boots:?}", u8::from(known.is_begun));
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
