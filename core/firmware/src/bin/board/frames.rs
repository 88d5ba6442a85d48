//! A log of GSD frames, in any store: the part to copy.

use crate::sample::Sample;
use striae_core::gsd::writer::WriteError;
use striae_core::gsd::{Attributes, Logger};
use striae_core::store::WriteAt;

/// Three chunks a frame.
pub struct Frames<S> {
    log: Logger<S, 4>,
    second: u16,
    temperature: u16,
    acceleration: u16,
    /// Frames that are safe.
    safe: u32,
}

impl<S: WriteAt> Frames<S> {
    /// Goes on with the log in `store`, or begins one with an index of so many slots: 16 for each
    /// commit, then it moves.
    pub fn start(store: S, index_slots: u64) -> Result<Self, WriteError<S>> {
        let about = Attributes {
            application: "striae board",
            schema: "imu",
            align: 512, // no committed byte shares a sector with a later one
            index_slots,
            ..Attributes::default()
        };
        let mut log = Logger::open_or_create(store, &about)?;
        let second = log.name("second")?;
        let temperature = log.name("temperature")?;
        let acceleration = log.name("acceleration")?;
        let safe = log.frames() as u32;
        Ok(Self { log, second, temperature, acceleration, safe })
    }

    /// Frames that are safe.
    pub fn frames(&self) -> u32 {
        self.safe
    }

    /// Logs a sample as a frame. When it returns, the frame is safe. After an error it can be
    /// called again with this sample: the frame is never there twice.
    pub fn log(&mut self, sample: &Sample) -> Result<(), WriteError<S>> {
        if self.log.frames() > self.safe.into() {
            self.log.commit()?; // a call that failed has ended it
        } else {
            self.log.discard_frame(); // what is left of a call that failed
            self.log.write(self.second, &[[sample.second]])?;
            self.log.write(self.temperature, &[[sample.temperature]])?;
            self.log.write(self.acceleration, sample.acceleration())?;
            self.log.end_frame()?;
        }
        self.safe += 1;
        Ok(())
    }
}
