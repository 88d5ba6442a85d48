//! GSD files that are written through the library: by one writer, until it is killed, on a full
//! disk.

mod create;
mod faults;
mod kill;
mod live;
mod semantics;

use std::path::Path;
use striae::Error;
use striae::error::ErrorKind;
use striae::gsd::ErrorKind::{Chunk, Format};
use striae::gsd::{Builder, Durability, File, FileWriter, Reopen};
use striae_core::gsd::{Error as GsdError, Version};
use striae_kit::adapter::{Random, argument, bits, child, names, run, set_limit};

/// A builder that does not wait for the disk.
pub(crate) fn builder() -> Builder {
    Builder::new().durability(Durability::None)
}

/// How a file is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Variant {
    pub(crate) checksums: bool,
    pub(crate) align: u64,
    pub(crate) buffer: usize,
    pub(crate) durability: Durability,
    pub(crate) layer: u16,
    pub(crate) one_sync: bool,
}

pub(crate) const fn variant(checksums: bool, align: u64, buffer: usize) -> Variant {
    Variant { checksums, align, buffer, durability: Durability::None, layer: 2, one_sync: false }
}

impl Variant {
    pub(crate) fn builder(&self) -> Builder {
        let builder = Builder::new().checksums(self.checksums).align(self.align);
        let builder = builder.buffer(self.buffer).durability(self.durability).names_len(64);
        let builder = builder.one_sync(self.one_sync);
        let minor = if self.layer == 2 { 1 } else { 0 };
        builder.layer(Version { major: self.layer, minor })
    }

    pub(crate) fn reopen(&self) -> Reopen {
        Reopen::new().buffer(self.buffer).durability(self.durability)
    }
}

/// Value `i` of what frame `frame` holds: another one wherever it is off by little.
pub(crate) fn value(frame: u64, i: usize) -> u32 {
    (bits(frame, i) >> 32) as u32
}

/// The first `len` of them.
pub(crate) fn values(frame: u64, len: usize) -> Vec<u32> {
    (0..len).map(|i| value(frame, i)).collect()
}

/// Adds frames that [`check_frames`] knows: `step`, and `values` of a length that the frame
/// decides.
pub(crate) fn write_frame(file: &mut FileWriter) -> Result<u64, Error> {
    let frame = file.frames();
    file.write("step", &[frame], 1)?;
    file.write("values", &values(frame, length(frame)), 3)?;
    file.end_frame()
}

pub(crate) fn length(frame: u64) -> usize {
    3 * (frame as usize * 7 % 41)
}

/// That a file has just these frames.
pub(crate) fn check_frames(path: &Path, frames: u64) {
    let file = File::open(path).unwrap();
    assert_eq!(file.frames(), frames, "{}", path.display());
    check_each(&file);
}

/// That the frames that are there are whole and right.
pub(crate) fn check_each(file: &File) {
    for frame in 0..file.frames() {
        let step = file.chunk(frame, "step").unwrap();
        assert_eq!((step.n, step.m), (1, 1));
        assert_eq!(file.read::<u64>(&step).unwrap(), [frame]);
        let chunk = file.chunk(frame, "values").unwrap();
        assert_eq!((chunk.n as usize, chunk.m), (length(frame) / 3, 3));
        assert_eq!(file.read::<u32>(&chunk).unwrap(), values(frame, length(frame)));
        assert_eq!(file.chunks_of(frame).unwrap().count(), 2);
    }
}

/// The format's error in an error.
pub(crate) fn gsd(error: &Error) -> GsdError {
    match error.kind() {
        ErrorKind::Gsd(Format(error) | Chunk { error, .. }) => *error,
        kind => panic!("{kind:?}"),
    }
}
