//! NumPy's format `.npy`, version 1.0, and the names of its files.

use std::fmt::Write;
use striae_core::gsd::{Chunk, ChunkType};
use striae_hoomd::Name;

/// The most bytes of a file name that come from a chunk's name: with its suffix, a file name has at
/// most 255 bytes.
const MAX_NAME: usize = 200;

/// The header of an array of this type and shape; the values follow in row-major order.
pub(crate) fn header(kind: ChunkType, shape: &[u64]) -> Vec<u8> {
    header_of(descr(kind), shape)
}

/// The header of an array of the type with this name of NumPy's.
pub(crate) fn header_of(descr: &str, shape: &[u64]) -> Vec<u8> {
    // NumPy ends the header at a multiple of 64, so that values can be mapped; 10 bytes precede its
    // text.
    const ALIGN: usize = 64;
    const FRONT: usize = 10;
    let lens: Vec<_> = shape.iter().map(u64::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    let shape = lens.join(", ");
    let mut text =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}{comma}), }}");
    while !text.len().saturating_add(FRONT + 1).is_multiple_of(ALIGN) {
        text.push(' ');
    }
    text.push('\n');
    let len = u16::try_from(text.len()).unwrap_or(u16::MAX); // at most 3 numbers: below 192
    [b"\x93NUMPY\x01\x00", &len.to_le_bytes()[..], text.as_bytes()].concat()
}

/// NumPy's name of a type: a sign for the byte order, a letter, the number of bytes.
const fn descr(kind: ChunkType) -> &'static str {
    match kind {
        ChunkType::U8 => "|u1",
        ChunkType::U16 => "<u2",
        ChunkType::U32 => "<u4",
        ChunkType::U64 => "<u8",
        ChunkType::I8 => "|i1",
        ChunkType::I16 => "<i2",
        ChunkType::I32 => "<i4",
        ChunkType::I64 => "<i8",
        ChunkType::F32 => "<f4",
        ChunkType::F64 => "<f8",
        ChunkType::Character => "|S1",
    }
}

/// The shape of a chunk. As in gsd's readers, a single column is no axis.
pub(crate) fn shape(chunk: &Chunk) -> Vec<u64> {
    match chunk.m {
        1 => vec![chunk.n],
        m => vec![chunk.n, m.into()],
    }
}

/// The file name of a chunk's name, without `.npy`; different names have different file names.
///
/// Letters, digits, `_`, `-`, `+`, `=`, `,` stay, `/` becomes `.`, and other bytes become `%2E` and
/// so on. A long name is cut, and its id follows.
pub(crate) fn file_name(name: Name<'_>, id: impl std::fmt::Display) -> String {
    let mut text = String::new();
    for (at, part) in name.as_bytes().utf8_chunks().enumerate() {
        for (place, c) in part.valid().char_indices() {
            let is_first = at == 0 && place == 0;
            match c {
                '/' if !is_first => text.push('.'), // no file is hidden
                '-' if is_first => push_escaped(&mut text, b"-"), // and none looks like an option
                '_' | '-' | '+' | '=' | ',' => text.push(c),
                _ if c.is_alphanumeric() => text.push(c),
                _ => push_escaped(&mut text, c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        push_escaped(&mut text, part.invalid());
    }
    if text.len() > MAX_NAME || text.is_empty() {
        while text.len() > MAX_NAME {
            text.pop();
        }
        let _ = write!(text, "~{id}"); // writing to a String cannot fail
    }
    text
}

fn push_escaped(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        let _ = write!(text, "%{byte:02X}"); // writing to a String cannot fail
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_that_of_numpy() {
        // numpy.lib.format, version 1.0: np.save of np.zeros((3, 10, 3), '<f4')
        let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 10, 3), }";
        let header = header(ChunkType::F32, &[3, 10, 3]);
        assert_eq!(header.len(), 128);
        assert_eq!(header[..10], *b"\x93NUMPY\x01\x00\x76\x00");
        assert!(header[10..].starts_with(text.as_bytes()));
        assert!(header[10 + text.len()..127].iter().all(|&byte| byte == b' '));
        assert_eq!(header[127], b'\n');
        let one = super::header(ChunkType::U8, &[7]);
        assert!(
            one[10..].starts_with(b"{'descr': '|u1', 'fortran_order': False, 'shape': (7,), }")
        );
        let most = super::header(ChunkType::Character, &[u64::MAX; 3]);
        assert_eq!((most.len() % 64, most.last()), (0, Some(&b'\n')));
    }

    #[test]
    fn different_names_become_different_safe_file_names() {
        let name = |text: &[u8]| file_name(Name(text), 7);
        assert_eq!(name(b"particles/position"), "particles.position");
        assert_eq!(name(b"a.b"), "a%2Eb");
        assert_eq!(name(b"a%2Eb"), "a%252Eb");
        assert_eq!(name(b"/etc/passwd"), "%2Fetc.passwd");
        assert_eq!(name(b"../up"), "%2E%2E.up");
        assert_eq!(name(b"-rf"), "%2Drf");
        assert_eq!(name("größe@1".as_bytes()), "größe%401");
        assert_eq!(name(b"a\xc3b \n"), "a%C3b%20%0A");
        assert_eq!(name(b""), "~7");
        assert_eq!(name(&[b'x'; 200]), "x".repeat(200));
        assert_eq!(name(&[b'x'; 5000]), format!("{}~7", "x".repeat(200)));
        assert_eq!(name("ä".repeat(150).as_bytes()), format!("{}~7", "ä".repeat(100)));
    }
}
