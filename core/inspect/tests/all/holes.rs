//! Files with holes: no work, and no byte of a new file, is justified by a hole.

use std::cell::Cell;
use std::convert::Infallible;
use striae_core::gsd::{ChunkType, Version};
use striae_core::span::Span;
use striae_core::store::ReadAt;
use striae_inspect::gsd::recover::Recovery;
use striae_inspect::subject::Subject;
use striae_kit::piled::{chunk, file};

/// A file of which only some parts exist. It counts the bytes that are read of it, and the reads.
struct Holed {
    parts: Vec<(u64, Vec<u8>)>,
    len: u64,
    bytes: Cell<u64>,
    reads: Cell<u64>,
}

impl Holed {
    fn new(parts: Vec<(u64, Vec<u8>)>, len: u64) -> Self {
        Self { parts, len, bytes: Cell::new(0), reads: Cell::new(0) }
    }

    /// These bytes, without pages of so many zeros.
    fn of(bytes: &[u8], page: usize) -> Self {
        let pages = (0..).step_by(page).zip(bytes.chunks(page));
        let pages = pages.filter(|(_, bytes)| bytes.iter().any(|byte| *byte != 0));
        Self::new(pages.map(|(at, bytes)| (at, bytes.to_vec())).collect(), bytes.len() as u64)
    }
}

impl ReadAt for Holed {
    type Error = Infallible;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Infallible> {
        let len = self.len.saturating_sub(offset).min(buf.len() as u64);
        self.bytes.set(self.bytes.get() + len);
        self.reads.set(self.reads.get() + 1);
        let buf = &mut buf[..len as usize];
        buf.fill(0);
        let wanted = Span::new(offset, len).unwrap();
        for (at, bytes) in &self.parts {
            let (start, end) = ((*at).max(offset), (at + bytes.len() as u64).min(wanted.end()));
            if start < end {
                let from = &bytes[(start - at) as usize..(end - at) as usize];
                buf[(start - offset) as usize..(end - offset) as usize].copy_from_slice(from);
            }
        }
        Ok(buf.len())
    }

    fn size(&self) -> Result<u64, Infallible> {
        Ok(self.len)
    }
}

impl Subject for Holed {
    fn first_data(&self, span: Span) -> Result<Option<Span>, Infallible> {
        let shared = |(at, bytes): &(u64, Vec<u8>)| {
            let (start, end) = ((*at).max(span.offset()), at + bytes.len() as u64);
            Span::between(start, end.min(span.end())).filter(|part| !part.is_empty())
        };
        Ok(self.parts.iter().find_map(shared))
    }
}

/// A lost frame 0 of a trajectory with many chunks, and as many empty frames as bytes.
#[test]
fn frames_without_chunks_take_what_there_is_from_frame_0_and_no_work_after_it() {
    const CHUNKS: u16 = 300;
    const FRAMES: u64 = 40_000;
    let names: Vec<_> = (0..CHUNKS).map(|id| format!("particles/{id}")).collect();
    let names: Vec<_> = ["configuration/step", "particles/N"]
        .into_iter()
        .chain(names.iter().map(String::as_str))
        .collect();
    // A step that is no integer, and one member with a byte of each quantity.
    let step = chunk(0, 0, ChunkType::F32, 1, 0);
    let count = chunk(0, 1, ChunkType::U32, 1, 4);
    let values = (2..CHUNKS + 2).map(|id| chunk(0, id, ChunkType::U8, 1, 6 + u64::from(id)));
    let last = chunk(FRAMES, 0, ChunkType::U64, 1, 8 + u64::from(CHUNKS));
    let chunks: Vec<_> = [step, count].into_iter().chain(values).chain([last]).collect();
    let mut data = vec![0; FRAMES as usize];
    data[4] = 1;
    let bytes = file("hoomd", Version { major: 2, minor: 0 }, &names, &chunks, &data);
    let file = Holed::of(&bytes, bytes.len());
    let recovery = Recovery::examine(&file).unwrap();
    let runs: Vec<_> = recovery.runs().collect();
    assert!(recovery.forbidden().is_some() && recovery.lost() == 1, "{runs:?}");
    assert_eq!(recovery.frames(), FRAMES);
    let reads = file.reads.get();
    assert!(reads < 2000, "{reads} reads: the members of each frame are asked for");
    let demand = recovery.demand(bytes.len() as u64);
    assert!(demand.is_fair(), "{demand:?}");
}
