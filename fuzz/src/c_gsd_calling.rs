//! The body of `c_gsd`: calls of `gsd.h`, and the same calls of the Rust library.

use std::path::Path;
use striae::error::ErrorKind as Kind;
use striae::gsd::{Builder, ChunkType, Durability, Error, ErrorKind, File, FileWriter, Version};
use striae_c::called::Handle;

/// The most calls of a run.
const MOST: usize = 200;

const LONG: &[u8] = &[b'x'; 70];

/// Names of chunks; the empty one is refused.
const NAMES: [&[u8]; 8] = [b"a", b"b", b"log/a", b"log/b", b"particles/position", LONG, b"c", b""];

/// The input is a list of calls: a byte that says which, then its arguments.
///
/// # Panics
/// If `gsd.h` and the Rust library do not do the same.
pub fn c_gsd(data: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let (c, rust) = (folder.path().join("c.gsd"), folder.path().join("rust.gsd"));
    let version = Version { major: 1, minor: 4 };
    let builder = Builder::new().application("fuzz").schema("none", version);
    let builder = builder.in_place(true).force(true).durability(Durability::None);
    let handle = Handle::create(&c, b"fuzz").unwrap();
    let mut both = Both { handle, writer: builder.create(&rust).unwrap() };
    let mut input = data.iter().copied();
    for _ in 0..MOST {
        let Some(call) = input.next() else { break };
        match call % 16 {
            0..8 => both.write(call, &mut input),
            8..11 => both.end_frame(),
            11 => both.flush(&rust),
            12 => {
                assert_eq!(both.handle.truncate(), 0);
                both.writer.truncate().unwrap();
                both.writer.set_buffer(1 << 20);
            }
            13 => {
                let size = u64::from(input.next().unwrap_or(0));
                let expected = if size == 0 { -2 } else { 0 };
                assert_eq!(both.handle.set_buffer(size), expected);
                if size > 0 {
                    both.writer.set_buffer(usize::try_from(size).unwrap());
                }
            }
            14 => {
                let wrong = both.handle.write(NAMES[0], 8, (u64::MAX / 2, 4), 0, &[]);
                assert_eq!(wrong, Some(-2));
            }
            _ => both.compare(&rust),
        }
    }
    both.flush(&rust);
    assert_eq!(both.handle.close(), 0);
    assert_eq!((both.handle.close(), both.handle.frames()), (-2, 0));
    both.writer.discard_frame();
    both.writer.close().unwrap();
    assert!(std::fs::read(&c).unwrap() == std::fs::read(&rust).unwrap(), "other bytes");
}

struct Both {
    handle: Handle,
    writer: FileWriter,
}

impl Both {
    fn write(&mut self, call: u8, input: &mut impl Iterator<Item = u8>) {
        let mut next = || input.next().unwrap_or(1);
        let (kind, n, m, value) = (next() % 14, next() % 64, next() % 4, next());
        let flags = u8::from(value == 255);
        let data: Vec<u8> = (0..n as usize * m as usize * 8).map(|i| value ^ i as u8).collect();
        let name = NAMES[usize::from(call % 8)];
        let shape = (n.into(), m.into());
        let wrote = self.handle.write(name, kind.into(), shape, flags, &data).unwrap();
        let known = ChunkType::from_number(kind);
        let Some(kind) = known.filter(|_| flags == 0 && m > 0 && !name.is_empty()) else {
            assert_eq!(wrote, -2);
            return;
        };
        assert_eq!(wrote, 0);
        let size = usize::try_from(kind.size().get()).unwrap();
        let bytes = &data[..usize::from(n) * usize::from(m) * size];
        if let Err(error) = self.writer.write_bytes(name, kind, m.into(), bytes) {
            let is_second = matches!(
                error.kind(),
                Kind::Gsd(ErrorKind::Chunk { error: Error::Duplicate { .. }, .. })
            );
            assert!(is_second && self.writer.discard_chunk(name), "{error}");
            self.writer.write_bytes(name, kind, m.into(), bytes).unwrap();
        }
    }

    fn end_frame(&mut self) {
        assert_eq!(self.handle.end_frame(), 0);
        self.writer.end_frame().unwrap();
    }

    fn flush(&mut self, rust: &Path) {
        assert_eq!(self.handle.flush(), 0);
        self.writer.commit().unwrap();
        assert_eq!(self.handle.frames(), self.writer.frames());
        self.compare(rust);
    }

    /// What was flushed is found by one as by the other.
    fn compare(&mut self, rust: &Path) {
        let file = File::open(rust).unwrap();
        for frame in 0..self.handle.frames().min(8) {
            for name in NAMES {
                let there = file.find(frame, name).unwrap().map(|chunk| {
                    (chunk.kind.number(), chunk.n, chunk.m, file.read_bytes(&chunk).unwrap())
                });
                assert_eq!(self.handle.read(frame, name), there, "frame {frame}");
            }
        }
        for start in [&b""[..], b"log/", b"none"] {
            let names: Vec<_> = file.names_with_prefix(start).unwrap().collect();
            let names: Vec<_> = names.iter().map(|(_, name)| name.as_bytes().to_vec()).collect();
            assert_eq!(self.handle.names(start), names);
        }
    }
}
