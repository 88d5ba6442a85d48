//! A SIONlib file with a task for each sensor: the part to copy.

use crate::sample::{MAX_ROWS, Sample};
use striae_core::endian::ByteOrder;
use striae_core::sion::writer::{WINDOW, WriteError};
use striae_core::sion::{
    Attributes, Error, Finished, Memory, Opened, Options, Pen, Physical, Writer,
};
use striae_core::step::DriveError;
use striae_core::store::WriteAt;

/// The tasks: global ranks, and bytes of a chunk.
const THERMOMETER: u32 = 0;
const ACCELEROMETER: u32 = 1;
const TASKS: [(i64, u64); 2] = [(0, 512), (1, 4096)];

/// Bytes of a record of the thermometer: the second, and the temperature.
const RECORD: u64 = 8;

/// What the writer works in; a static, or a variable of main.
pub struct Room {
    pens: [Pen; TASKS.len()],
    finished: [Finished; 4],
    window: [u8; WINDOW],
}

impl Room {
    pub const EMPTY: Self = Self {
        pens: [Pen::EMPTY; TASKS.len()],
        finished: [Finished::EMPTY; 4],
        window: [0; WINDOW],
    };
}

/// One record of each sensor for each sample.
pub struct Sensors<'m, S> {
    log: Writer<'m, S>,
    /// Records of the next sample that are written.
    written: u32,
    /// Samples that are safe.
    safe: u32,
}

impl<'m, S: WriteAt> Sensors<'m, S> {
    /// Goes on with a file that was committed. Else there is nothing to lose, and `anew` gives the
    /// store of a new file.
    pub fn start(
        store: S,
        anew: impl FnOnce(S) -> Result<S, S::Error>,
        room: &'m mut Room,
    ) -> Result<Self, WriteError<S>> {
        let is_empty = store.size().map_err(DriveError::Store)? == 0;
        let is_committed = !is_empty
            && match Physical::open(&store, &mut room.window) {
                Ok(opened) => matches!(opened, Opened::Closed(_)),
                // The power was cut while it was made: its first bytes come last.
                Err(DriveError::Format(Error::NotSion { .. })) => false,
                Err(error) => return Err(error),
            };
        let memory =
            Memory { pens: &mut room.pens, ledger: &mut room.finished, window: &mut room.window };
        let options = Options { sealed: true, ahead: 4, ..Options::default() };
        let log = if is_committed {
            Writer::reopen(store, memory, options)?
        } else {
            let little = ByteOrder::Little;
            let attributes =
                Attributes { order: little, data_order: little, ..Attributes::default() };
            let store = anew(store).map_err(DriveError::Store)?;
            Writer::create(store, &attributes, b"SENSORS", &TASKS[..], memory, options)?
        };
        let place = log.cursor(THERMOMETER).map_err(DriveError::Format)?;
        let bytes = u64::from(place.chunk()) * place.chunksize() + place.used();
        Ok(Self { safe: (bytes / RECORD) as u32, log, written: 0 })
    }

    /// Samples that are safe.
    pub fn samples(&self) -> u32 {
        self.safe
    }

    /// Logs a sample. When it returns, the sample is safe. After an error it can be called again
    /// with this sample: no record is there twice.
    pub fn log(&mut self, sample: &Sample) -> Result<(), WriteError<S>> {
        if self.written == 0 {
            let mut record = [0; RECORD as usize];
            record[..4].copy_from_slice(&sample.second.to_le_bytes());
            record[4..].copy_from_slice(&sample.temperature.to_le_bytes());
            self.log.write_record(THERMOMETER, &record)?;
            self.written = 1;
        }
        if self.written == 1 {
            let mut record = [0; 8 + 12 * MAX_ROWS];
            let rows = sample.acceleration();
            record[..4].copy_from_slice(&sample.second.to_le_bytes());
            record[4..8].copy_from_slice(&(rows.len() as u32).to_le_bytes());
            for (to, value) in record[8..].chunks_exact_mut(4).zip(rows.iter().flatten()) {
                to.copy_from_slice(&value.to_le_bytes());
            }
            self.log.write_record(ACCELEROMETER, &record[..8 + 12 * rows.len()])?;
            self.written = 2;
        }
        self.log.commit()?;
        (self.written, self.safe) = (0, self.safe + 1);
        Ok(())
    }
}
