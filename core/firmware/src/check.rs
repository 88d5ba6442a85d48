//! What must be in a log, whatever happened: every frame that was acknowledged, with its values, at
//! most the one that was on its way, and nothing else.

use crate::probe::{MAX_ROWS, Sample};
use striae_core::gsd::{Error, ReadError, Reader};
use striae_core::step::DriveError;
use striae_core::store::ReadAt;

/// Frames of a run.
pub const FRAMES: usize = 10;

/// What the device was told to be safe.
#[derive(Clone, Copy)]
pub struct Acknowledged {
    /// Whether there is a log.
    pub is_begun: bool,
    /// Frames that are safe.
    pub frames: usize,
    /// The boots that they were logged in.
    pub boots: [u32; FRAMES],
}

impl Acknowledged {
    /// Nothing.
    pub const NONE: Self = Self { is_begun: false, frames: 0, boots: [0; FRAMES] };
}

/// What a log says that it must not.
#[derive(Debug, defmt::Format)]
pub enum Wrong<E> {
    /// It cannot be read.
    Unreadable(E),
    /// It has more or fewer frames.
    Frames { frames: u64, acknowledged: usize },
    /// This frame lacks a chunk, or has one too many.
    Chunks { frame: u64 },
    /// This frame has other values.
    Values { frame: u64 },
}

/// The sample that the device takes as frame `frame`.
pub fn sample(frame: u64, boot: u32) -> Sample {
    let frame = frame as u16;
    let x = f32::from(frame);
    let rows = usize::from(frame) % (MAX_ROWS + 1);
    let mut signal = [[0; 2]; MAX_ROWS];
    for (row, values) in signal.iter_mut().enumerate() {
        let a = (1000 * frame as i16) + 10 * row as i16;
        *values = [a + boot as i16, -a];
    }
    Sample { boot, acceleration: [x, -x, x / 4.0 + boot as f32], signal, rows }
}

/// Reads a log, frame by frame and chunk by chunk. `boot` is the one that may have a frame on its
/// way; none has if it is `None`. Says how many frames there are.
pub fn check<S: ReadAt>(
    store: S,
    known: &Acknowledged,
    boot: Option<u32>,
) -> Result<usize, Wrong<ReadError<S>>> {
    let mut window = [0; 256];
    let reader = match Reader::open(store, &mut window) {
        Ok(reader) => reader,
        Err(DriveError::Format(Error::NotGsd { .. })) if !known.is_begun => return Ok(0),
        Err(error) => return Err(Wrong::Unreadable(error)),
    };
    let frames = reader.frames();
    let more = u64::from(boot.is_some());
    let acknowledged = known.frames;
    if !(acknowledged as u64..=acknowledged as u64 + more).contains(&frames) {
        return Err(Wrong::Frames { frames, acknowledged });
    }
    for frame in 0..frames {
        let boot = match known.boots.get(frame as usize) {
            Some(&known) if frame < acknowledged as u64 => known,
            _ => boot.unwrap_or(u32::MAX),
        };
        check_frame(&reader, &sample(frame, boot), frame, &mut window)?;
    }
    Ok(frames as usize)
}

fn check_frame<S: ReadAt>(
    reader: &Reader<S>,
    want: &Sample,
    frame: u64,
    window: &mut [u8; 256],
) -> Result<(), Wrong<ReadError<S>>> {
    let mut chunk = |name: &str, bytes: &[u8]| {
        let id = reader.name_id(name.as_bytes(), window).map_err(Wrong::Unreadable)?;
        let id = id.ok_or(Wrong::Chunks { frame })?;
        let found = reader.find(frame, id, window).map_err(Wrong::Unreadable)?;
        let chunk = found.ok_or(Wrong::Chunks { frame })?;
        let n = reader.read(chunk.span, window).map_err(Wrong::Unreadable)?;
        if &window[..n] == bytes { Ok(()) } else { Err(Wrong::Values { frame }) }
    };
    chunk("boot", &want.boot.to_le_bytes())?;
    let mut bytes = [0; 12];
    for (to, value) in bytes.chunks_exact_mut(4).zip(want.acceleration) {
        to.copy_from_slice(&value.to_le_bytes());
    }
    chunk("acceleration", &bytes)?;
    let mut bytes = [0; 4 * MAX_ROWS];
    for (to, value) in bytes.chunks_exact_mut(2).zip(want.signal.iter().flatten()) {
        to.copy_from_slice(&value.to_le_bytes());
    }
    chunk("signal", &bytes[..4 * want.rows])
}
