//! What the device does: the part to copy.

use striae_core::gsd::writer::WriteError;
use striae_core::gsd::{Attributes, ChunkType, Logger};
use striae_core::store::WriteAt;

/// What is logged in each frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// How often the device had been started before.
    pub boot: u32,
    /// m/s^2, along x, y, z.
    pub acceleration: [f32; 3],
    /// Rows of channels A and B, as many as there were.
    pub signal: [[i16; 2]; MAX_ROWS],
    /// Rows of `signal` that are used, 0 to [`MAX_ROWS`].
    pub rows: usize,
}

/// Most rows of a signal.
pub const MAX_ROWS: usize = 4;

/// The log of the probe: with checksums, 3 chunks a frame need 4 slots.
pub struct Probe<S> {
    log: Logger<S, 4>,
    boot: u16,
    acceleration: u16,
    signal: u16,
    /// Frames that are safe.
    safe: u64,
}

impl<S: WriteAt> Probe<S> {
    /// Goes on with the log in `store`, or begins one.
    pub fn start(store: S) -> Result<Self, WriteError<S>> {
        let about = Attributes {
            application: "striae-firmware",
            schema: "probe",
            checksums: true,
            index_slots: 20, // few, so that the example shows how the index grows
            names_len: 64,
            ..Attributes::default()
        };
        let mut log = Logger::open_or_create(store, &about)?;
        let boot = log.name("boot")?;
        let acceleration = log.name("acceleration")?;
        let signal = log.name("signal")?;
        let safe = log.frames();
        Ok(Self { log, boot, acceleration, signal, safe })
    }

    /// Frames that are in the log.
    pub fn frames(&self) -> u64 {
        self.log.frames()
    }

    /// Logs a sample as a frame. When it returns, the frame is safe. After an error it can be
    /// called again with this sample: the frame is never there twice.
    pub fn log(&mut self, sample: &Sample) -> Result<u64, WriteError<S>> {
        let log = &mut self.log;
        if log.frames() > self.safe {
            log.commit()?; // a call that failed has ended it
            self.safe = log.frames();
            return Ok(self.safe - 1);
        }
        log.discard_frame(); // what is left of a call that failed
        log.chunk(self.boot, ChunkType::U32, 1, &sample.boot.to_le_bytes())?;
        let mut bytes = [0; 12];
        for (to, value) in bytes.chunks_exact_mut(4).zip(sample.acceleration) {
            to.copy_from_slice(&value.to_le_bytes());
        }
        log.chunk(self.acceleration, ChunkType::F32, 3, &bytes)?;
        // Row by row, as they come: no buffer for all of them.
        let mut signal = log.begin_chunk(self.signal, ChunkType::I16, 2)?;
        for row in sample.signal.iter().take(sample.rows) {
            for value in row {
                signal.write(&value.to_le_bytes())?;
            }
        }
        signal.finish()?;
        let frame = log.end_frame()?;
        self.safe = log.frames();
        Ok(frame)
    }
}
