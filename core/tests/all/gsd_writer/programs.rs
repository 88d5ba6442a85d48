//! Random programs of operations, against a model in memory.

use super::{Chunk, FileWriter, OLD, chunks, create, reopen, shown};
use proptest::prelude::*;
use striae_core::gsd::{Attributes, ChunkType, Error, Reader, Version};
use striae_core::step::DriveError;

/// What a program does to a file.
#[derive(Debug, Clone)]
enum Act {
    Chunk { name: u8, kind: usize, m: u32, rows: usize, pieces: usize },
    End,
    Commit,
    Close,
    Reopen,
    Upgrade,
    Truncate,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let chunk = (0..7_u8, 0..11_usize, 1..4_u32, 0..5_usize, 0..3_usize)
        .prop_map(|(name, kind, m, rows, pieces)| Act::Chunk { name, kind, m, rows, pieces });
    let act = prop_oneof![
        12 => chunk,
        9 => Just(Act::End),
        3 => Just(Act::Commit),
        1 => Just(Act::Close),
        2 => Just(Act::Reopen),
        1 => Just(Act::Upgrade),
        1 => Just(Act::Truncate),
    ];
    prop::collection::vec(act, 0..120)
}

/// What the file is to be.
#[derive(Debug, Default, Clone)]
struct Model {
    committed: Vec<Chunk>,
    ended: Vec<Chunk>,
    open: Vec<Chunk>,
    frame: u64,
    bytes: u8,
}

fn name_of(name: u8) -> Vec<u8> {
    vec![b'a' + name; 1 + usize::from(name) * 10]
}

impl Model {
    fn chunk(&mut self, writer: &mut FileWriter, act: &Act) {
        let Act::Chunk { name, kind, m, rows, pieces } = *act else { panic!("{act:?}") };
        let kind = ChunkType::ALL[kind];
        let len = rows * m as usize * kind.size().get() as usize;
        let bytes: Vec<u8> = (0..len).map(|_| self.byte()).collect();
        let name = name_of(name);
        let id = writer.name(&name).unwrap();
        let done = match pieces {
            0 => writer.write_chunk(id, kind, m, &bytes),
            pieces => writer.begin_chunk(id, kind, m).and_then(|mut chunk| {
                bytes.chunks(pieces * 3).try_for_each(|piece| chunk.write(piece))?;
                chunk.finish()
            }),
        };
        let is_twice = self.open.iter().any(|chunk| chunk.1 == name);
        let is_text = kind == ChunkType::Character && writer.version() == OLD;
        assert_eq!(done.is_err(), is_twice || is_text, "{done:?}");
        if done.is_ok() {
            self.open.push((self.frame, name, kind, rows as u64, m, bytes));
        }
    }

    fn byte(&mut self) -> u8 {
        self.bytes = self.bytes.wrapping_add(1);
        self.bytes
    }

    fn end(&mut self) {
        self.ended.append(&mut self.open);
        self.frame += 1;
    }

    /// The file as all see it.
    fn check(&mut self, writer: &FileWriter) {
        let bytes = &writer.store().bytes;
        let key = |chunk: &Chunk| (chunk.0, chunk.1.clone());
        let (mut there, mut expected) = (chunks(bytes), self.committed.clone());
        // In a frame they stand by ids, which the model does not know.
        there.sort_by_key(key);
        expected.sort_by_key(key);
        assert_eq!(there, expected);
        let slots = shown(bytes);
        let used: Vec<_> = slots.iter().filter(|slot| slot.2 != 0).copied().collect();
        assert!(used.is_empty() || used.len() == slots.len(), "empty slots are shown");
        assert!(used.is_sorted_by(|a, b| (a.0, a.1) < (b.0, b.1) || a == b), "not sorted");
        let frames = self.committed.iter().map(|chunk| chunk.0 + 1).max().unwrap_or(0);
        assert!(slots.len() as u64 >= frames);
        assert_eq!(Reader::open(bytes.as_slice(), &mut [0; 256]).unwrap().frames(), frames);
    }
}

fn run(attributes: &Attributes<'_>, slots: usize, acts: &[Act]) {
    let mut writer = create(attributes, slots);
    let mut model = Model::default();
    for act in acts {
        match act {
            Act::Chunk { .. } => model.chunk(&mut writer, act),
            Act::End => {
                assert_eq!(writer.end_frame().unwrap(), model.frame);
                model.end();
            }
            Act::Commit => {
                writer.commit().unwrap();
                model.committed.clone_from(&model.ended);
            }
            Act::Close | Act::Upgrade => {
                let done = match act {
                    Act::Close => writer.close(),
                    _ => writer.upgrade(),
                };
                let open = DriveError::Format(Error::OpenFrame { frame: model.frame });
                let is_open = !model.open.is_empty();
                assert_eq!(done, if is_open { Err(open) } else { Ok(()) });
                if !is_open {
                    model.committed.clone_from(&model.ended);
                }
            }
            Act::Reopen => {
                writer = reopen(writer, slots);
                model.frame = model.committed.iter().map(|chunk| chunk.0 + 1).max().unwrap_or(0);
                (model.ended, model.open) = (model.committed.clone(), Vec::new());
            }
            Act::Truncate => {
                writer.truncate().unwrap();
                model = Model { bytes: model.bytes, ..Model::default() };
            }
        }
        assert_eq!(writer.frames(), model.frame);
        model.check(&writer);
    }
}

proptest! {
    #![proptest_config(crate::config(300))]

    #[test]
    fn whatever_is_committed_is_read(
        acts in acts(),
        is_old: bool,
        checksums: bool,
        align in 0..3_usize,
        sizes in (1..20_u64, 1..130_u64, 1..300_u64, 10..30_usize),
    ) {
        let (index_slots, shown_slots, names_len, slots) = sizes;
        let attributes = Attributes {
            layer: if is_old { OLD } else { Version::LAYER },
            align: [1, 64, 4096][align],
            shown_slots: shown_slots.min(128),
            checksums,
            index_slots,
            names_len,
            ..Attributes::default()
        };
        run(&attributes, slots, &acts);
    }
}
