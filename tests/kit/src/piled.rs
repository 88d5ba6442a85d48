//! Hostile files, in which chunks may lie on the same bytes. No library writes such.

use std::iter::repeat_n;
use striae_core::gsd::raw::Header;
use striae_core::gsd::{Chunk, ChunkType, Version};
use striae_core::span::Span;
use zerocopy::IntoBytes;

/// A chunk of one column, at a place in the file's data.
pub fn chunk(frame: u64, id: u16, kind: ChunkType, n: u64, at: u64) -> Chunk {
    let span = Span::new(at, n * kind.size().get()).unwrap();
    Chunk { frame, id, kind, n, m: 1, span }
}

/// Where data are: the index stands in front of them, and the names.
pub fn data_at(layer: Version, names: &[&str], entries: usize) -> u64 {
    (256 + 32 * (entries + 1) + names_of(layer, names).len()) as u64
}

/// A name list: names of layer 1 have 64 bytes each.
fn names_of(layer: Version, names: &[&str]) -> Vec<u8> {
    let mut list = Vec::new();
    for name in names {
        list.extend(name.bytes().chain([0]));
        if layer.major == 1 {
            list.resize(list.len().next_multiple_of(64), 0);
        }
    }
    list.resize((list.len() + 1).next_multiple_of(64), 0);
    list
}

/// A plain file with these chunks, whose places are counted from the start of `data`.
pub fn file(
    schema: &str,
    layer: Version,
    names: &[&str],
    chunks: &[Chunk],
    data: &[u8],
) -> Vec<u8> {
    let (slots, data_at) = (chunks.len() + 1, data_at(layer, names, chunks.len()));
    let list = names_of(layer, names);
    let names_at = 256 + 32 * slots;
    let mut bytes = Vec::new();
    for word in [Header::MAGIC, 256, slots as u64, names_at as u64, (list.len() / 64) as u64] {
        bytes.extend(word.to_le_bytes());
    }
    let word = |version: Version| {
        (u32::from(version.major) << 16 | u32::from(version.minor)).to_le_bytes()
    };
    bytes.extend([word(Version { major: 1, minor: 4 }), word(layer)].concat());
    for text in ["test", schema] {
        bytes.extend(text.bytes().chain(repeat_n(0, 64 - text.len())));
    }
    bytes.resize(256, 0);
    for chunk in chunks {
        let span = Span::new(data_at + chunk.span.offset(), chunk.span.len()).unwrap();
        bytes.extend_from_slice(Chunk { span, ..*chunk }.to_raw().as_bytes());
    }
    bytes.resize(names_at, 0);
    bytes.extend(list);
    bytes.extend_from_slice(data);
    bytes
}
