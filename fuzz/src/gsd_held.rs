//! What a GSD file holds, chunk by chunk, and whether its checksums are right.

use crate::gsd_linear::{Entry, Eyes, Linear, Proof, Refusal};
use striae_core::gsd::checksums::{Checksums, NAME};
use striae_core::gsd::{Chunk, Reader};
use striae_core::integrity::crc32c;

/// A chunk and its bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Piece {
    /// The frame.
    pub frame: u64,
    /// Index of the name.
    pub id: u16,
    /// Number of the type.
    pub kind: u8,
    /// Rows.
    pub n: u64,
    /// Columns.
    pub m: u32,
    /// All rows.
    pub bytes: Vec<u8>,
}

/// What is in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Content {
    /// Major version of the file layer.
    pub major: u16,
    /// By id.
    pub names: Vec<Vec<u8>>,
    /// By frame and id, without checksums, which are right.
    pub pieces: Vec<Piece>,
}

/// What a reader finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held {
    /// No GSD file.
    Nothing,
    /// A file.
    File(Content),
}

impl Held {
    /// Reads the file `bytes` as striae does.
    ///
    /// # Panics
    /// If it starts like a GSD file and is not a sound one.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Self {
        let file = match Reader::open(bytes, &mut [0; 512]) {
            Ok(file) => file,
            Err(error) if bytes.starts_with(&[0xdf, 0x65, 0xdf, 0x65, 0xdf, 0x65, 0xdf, 0x65]) => {
                panic!("the file is damaged: {error}")
            }
            Err(_) => return Self::Nothing,
        };
        let (mut names, mut listed) = (Vec::new(), file.names([0; 512]));
        while let Some((_, name)) = listed.next().unwrap() {
            names.push(name.to_vec());
        }
        assert_eq!(u32::try_from(names.len()), Ok(file.head().names));
        let chunks: Vec<_> = file.chunks([0; 1024]).map(Result::unwrap).collect();
        assert_eq!(file.frames(), chunks.last().map_or(0, |chunk| chunk.frame + 1));
        let sealed_id = names.iter().position(|name| name == NAME);
        let all_sealed = file.head().state.record().is_some_and(|record| record.checksums);
        for frame in chunks.chunk_by(|chunk, next| chunk.frame == next.frame) {
            check_sums(bytes, frame, sealed_id, all_sealed);
        }
        let chunks = chunks.iter().filter(|chunk| Some(usize::from(chunk.id)) != sealed_id);
        let piece = |chunk: &Chunk| Piece {
            frame: chunk.frame,
            id: chunk.id,
            kind: chunk.kind.number(),
            n: chunk.n,
            m: chunk.m,
            bytes: bytes_of(bytes, chunk).to_vec(),
        };
        let pieces = chunks.map(piece).collect();
        Self::File(Content { major: file.head().header.version.major, names, pieces }.sorted())
    }

    /// Reads it as gsd does.
    ///
    /// # Errors
    /// Why gsd refuses it, or one of its chunks.
    pub fn read_as_gsd(bytes: &[u8]) -> Result<Self, Refusal> {
        let file = match Linear::read(bytes, Eyes::Gsd, Proof::Count) {
            Err("no header") => return Ok(Self::Nothing),
            file => file?,
        };
        let sealed_id = file.names.iter().position(|&name| name == NAME);
        let mut pieces = Vec::new();
        for entry in file.listed() {
            if file.is_chunk(entry) != Some(true) || entry.frame >= file.index.1 {
                return Err("an entry is no chunk");
            }
            if Some(usize::from(entry.id)) == sealed_id {
                continue;
            }
            let Entry { frame, id, kind, n, m, .. } = *entry;
            let bytes = file.bytes_of(entry).unwrap().to_vec();
            pieces.push(Piece { frame, id, kind, n, m, bytes });
        }
        let names = file.names.iter().map(|name| name.to_vec()).collect();
        Ok(Self::File(Content { major: file.layer.0, names, pieces }.sorted()))
    }
}

impl Content {
    /// The pieces in the order of frames and ids.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        self.pieces.sort();
        self
    }

    /// One more than the last chunk's frame.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.pieces.last().map_or(0, |piece| piece.frame + 1)
    }

    /// Whether this is `other`, maybe with some more of the `names`.
    #[must_use]
    pub fn is_with_names(&self, other: &Self, names: &[Vec<u8>]) -> bool {
        let most = if names.starts_with(&other.names) { names } else { &other.names };
        self.major == other.major
            && self.pieces == other.pieces
            && self.names.starts_with(&other.names)
            && most.starts_with(&self.names)
    }
}

fn bytes_of<'f>(file: &'f [u8], chunk: &Chunk) -> &'f [u8] {
    let at = |offset| usize::try_from(offset).unwrap();
    &file[at(chunk.span.offset())..at(chunk.span.end())]
}

/// The checksums of a frame, if it has some, are those of its chunks.
fn check_sums(file: &[u8], frame: &[Chunk], id: Option<usize>, must: bool) {
    let own = frame.iter().find(|chunk| Some(usize::from(chunk.id)) == id);
    let Some(own) = own else {
        assert!(!must, "frame {} has no checksums", frame[0].frame);
        return;
    };
    let sums = Checksums::parse(*own, bytes_of(file, own), crc32c).unwrap();
    assert_eq!(sums.ids().count(), frame.len());
    for chunk in frame.iter().filter(|chunk| chunk.id != own.id) {
        sums.check(chunk, crc32c(0, bytes_of(file, chunk)), crc32c).unwrap();
    }
}
