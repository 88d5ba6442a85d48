//! Logs frames of three chunks of ten `u32` to a store in memory, and commits each. The job
//! `instructions` of `tests/run` counts what a frame takes.
#![allow(missing_docs, reason = "a program")]

use std::convert::Infallible;
use striae_core::gsd::{Attributes, Error, Logger};
use striae_core::step::DriveError;
use striae_core::store::{ReadAt, WriteAt};

/// The length of the store's memory: enough for 100 000 frames.
const LEN: usize = 64 << 20;

/// A file in memory that is there from the beginning, so that no run pays for its growth.
struct Memory {
    bytes: Vec<u8>,
    len: u64,
}

impl ReadAt for Memory {
    type Error = Infallible;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Infallible> {
        let at = usize::try_from(offset).unwrap_or(usize::MAX);
        let there = self.bytes.get(at..).unwrap_or_default();
        let n = there.len().min(buf.len());
        if let (Some(to), Some(from)) = (buf.get_mut(..n), there.get(..n)) {
            to.copy_from_slice(from);
        }
        Ok(n)
    }

    fn size(&self) -> Result<u64, Infallible> {
        Ok(self.len)
    }
}

impl WriteAt for Memory {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Infallible> {
        let at = usize::try_from(offset).unwrap_or(usize::MAX);
        let place = self.bytes.get_mut(at..).and_then(|rest| rest.get_mut(..bytes.len()));
        if let Some(place) = place {
            place.copy_from_slice(bytes);
        }
        let end = u64::try_from(bytes.len()).unwrap_or(u64::MAX).saturating_add(offset);
        self.len = self.len.max(end);
        Ok(())
    }

    fn set_size(&mut self, len: u64) -> Result<(), Infallible> {
        self.len = len;
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let frames: u32 = std::env::args().nth(1).ok_or("the number of frames is missing")?.parse()?;
    match log(frames)? == u64::from(frames) {
        true => Ok(()),
        false => Err("frames are missing".into()),
    }
}

fn log(frames: u32) -> Result<u64, DriveError<Infallible, Error>> {
    let about = Attributes { application: "frames", ..Attributes::DEFAULT };
    let memory = Memory { bytes: vec![0; LEN], len: 0 };
    let mut log = Logger::<_, 8>::create(memory, &about)?;
    let ids = [log.name("a")?, log.name("b")?, log.name("c")?];
    for frame in 0..frames {
        for id in ids {
            log.write(id, &[[frame; 10]])?;
        }
        log.end_frame()?;
    }
    Ok(log.frames())
}
