//! The checksums of the metadata that a seal covers.

use crate::endian::{ByteOrder, I32};
use crate::integrity::Checksum;
use crate::sion::error::Error;
use crate::sion::layout::Layout;
use crate::sion::raw;
use crate::span::Span;
use crate::step::{ReadMachine, ReadStep};
use crate::store::usize_to_u64;
use zerocopy::IntoBytes;

/// Computes the checksums of META1 before its commit fields, of META2 and of the table of chunk
/// checksums. A part whose span is empty is left out.
#[derive(Debug, Clone, Copy)]
pub(in crate::sion) struct Sums {
    pub(in crate::sion) order: ByteOrder,
    pub(in crate::sion) checksum: Checksum,
    /// META1 before and after its ntasks; between them `ntasks` is added, whatever the file has
    /// there.
    pub(in crate::sion) before: Span,
    ntasks: I32,
    pub(in crate::sion) rest: Span,
    pub(in crate::sion) meta2: Span,
    pub(in crate::sion) chunks: Span,
    part: Part,
    /// The bytes of the part that are already in its checksum.
    done: u64,
    crc: u32,
    crcs: Crcs,
}

#[derive(Debug, Clone, Copy)]
enum Part {
    Before,
    Rest,
    Meta2,
    Chunks,
    None,
}

/// The checksums of the bytes in the file.
#[derive(Debug, Clone, Copy)]
pub(in crate::sion) struct Crcs {
    pub(in crate::sion) front: u32,
    pub(in crate::sion) meta2: u32,
    pub(in crate::sion) chunks: u32,
}

impl Sums {
    /// Makes a machine for META1 alone, with the ntasks of `layout`.
    pub(in crate::sion) fn new(layout: &Layout, order: ByteOrder, checksum: Checksum) -> Self {
        let ntasks = I32::new(i32::try_from(layout.ntasks.get()).unwrap_or(i32::MAX), order);
        let behind = u64::from(raw::Meta1::nfiles.offset()); // right behind ntasks, always
        let left = layout.commit_fields().offset().saturating_sub(behind);
        let before = Span::new(0, raw::Meta1::ntasks.offset().into()).unwrap_or(Span::ZERO);
        let rest = Span::new(behind, left).unwrap_or(Span::ZERO);
        let (meta2, chunks) = (Span::ZERO, Span::ZERO);
        let crcs = Crcs { front: 0, meta2: 0, chunks: 0 };
        let (part, done, crc) = (Part::Before, 0, 0);
        Self { order, checksum, before, ntasks, rest, meta2, chunks, part, done, crc, crcs }
    }
}

impl ReadMachine for Sums {
    type Output = Crcs;
    type Error = Error;

    fn poll(&mut self) -> ReadStep<Crcs> {
        loop {
            let (span, next) = match self.part {
                Part::Before => (self.before, Part::Rest),
                Part::Rest => (self.rest, Part::Meta2),
                Part::Meta2 => (self.meta2, Part::Chunks),
                Part::Chunks => (self.chunks, Part::None),
                Part::None => return ReadStep::Done(self.crcs),
            };
            let want = span.len().saturating_sub(self.done);
            if want > 0 {
                let offset = span.offset().saturating_add(self.done);
                return ReadStep::Read { offset, need: 1, want };
            }
            let crc = core::mem::take(&mut self.crc);
            match self.part {
                Part::Before => self.crc = (self.checksum)(crc, self.ntasks.as_bytes()),
                Part::Rest => self.crcs.front = crc,
                Part::Meta2 => self.crcs.meta2 = crc,
                Part::Chunks | Part::None => self.crcs.chunks = crc,
            }
            (self.part, self.done) = (next, 0);
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.crc = (self.checksum)(self.crc, bytes);
        self.done = self.done.saturating_add(usize_to_u64(bytes.len()));
        Ok(())
    }
}
