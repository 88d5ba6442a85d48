//! What is written: the shapes of files and the ways of writing them, and all that is combined.

use super::check::read_stock;
use super::run::{Content, Run, State};
use super::stock::append;
use striae_core::gsd::{Attributes, Version};
use striae_kit::power::PowerStore;

/// What a writer is told to do.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Act {
    /// Write a chunk: the number of its name, its rows.
    Chunk(usize, usize),
    /// Write a chunk in pieces.
    Stream(usize, usize),
    /// Begin a chunk and give it up.
    Dropped(usize, usize),
    End,
    Commit,
    Close,
    Upgrade,
    Truncate,
    /// So many frames of so many chunks.
    Frames(usize, usize),
    /// So many frames, each one committed.
    Each(usize, usize),
    /// So many frames without chunks.
    Empty(usize),
    /// 60 frames of three chunks of 10 rows of 3 numbers, three of them with a chunk of a very long
    /// name, committed every so many frames.
    Measured(usize),
}

use Act::{
    Chunk, Close, Commit, Dropped, Each, Empty, End, Frames, Measured, Stream, Truncate, Upgrade,
};

impl Act {
    /// It as acts that are one call, or one chunk, each.
    pub(crate) fn steps(self) -> Vec<Self> {
        let frame = |chunks| {
            let mut frame: Vec<_> = (0..chunks).map(|name| Chunk(name, 3 + name)).collect();
            frame.push(End);
            frame
        };
        match self {
            Frames(count, chunks) => frame(chunks).repeat(count),
            Each(count, chunks) => [frame(chunks), vec![Commit]].concat().repeat(count),
            Empty(count) => vec![End; count],
            Measured(rate) => (0..60).flat_map(|frame| measured(frame, rate)).collect(),
            act => vec![act],
        }
    }
}

fn measured(frame: usize, rate: usize) -> Vec<Act> {
    let mut acts: Vec<_> = [0, 5, 10].map(|name| Chunk(name, 10)).to_vec();
    if frame % 20 == 15 {
        acts.push(Chunk(1000 + frame, 1));
    }
    acts.push(End);
    if frame % rate == rate - 1 {
        acts.push(Commit);
    }
    acts
}

/// A program's work on a file, from creating or opening it to dropping the writer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Session {
    Create(&'static [Act]),
    Open(&'static [Act]),
}

use Session::{Create, Open};

/// A name, and what is done.
type Script = (&'static str, &'static [Session]);

/// Files from their creation on.
const SCRIPTS: &[Script] = &[
    ("nothing", &[Create(&[Close])]),
    ("no commit", &[Create(&[Frames(2, 2), Chunk(0, 2)])]),
    ("one commit", &[Create(&[Frames(1, 2), Commit, Frames(1, 2), Close])]),
    ("each frame committed", &[Create(&[Each(5, 2), Close])]),
    (
        "the index grows several times between commits",
        &[Create(&[Frames(7, 2), Commit, Frames(9, 3), Commit, Close])],
    ),
    (
        "names come late",
        &[Create(&[
            Each(1, 2),
            Chunk(5, 1),
            Chunk(4, 2),
            End,
            Commit,
            Chunk(7, 2),
            Chunk(9, 1),
            Chunk(8, 2),
            End,
            Chunk(3, 4),
            End,
            Commit,
            Close,
        ])],
    ),
    (
        "a name without a chunk",
        &[Create(&[Each(1, 1), Dropped(6, 40), Commit, End, Each(1, 1), Close])],
    ),
    (
        "frames without chunks",
        &[Create(&[
            Empty(3),
            Commit,
            Each(1, 2),
            Empty(4),
            Each(1, 1),
            Empty(6),
            Frames(1, 1),
            Empty(2),
            Commit,
            Each(2, 1),
            Close,
        ])],
    ),
    (
        "chunks come in pieces",
        &[Create(&[
            Stream(1, 9),
            Chunk(0, 1),
            Stream(3, 0),
            End,
            Commit,
            Dropped(4, 700),
            Chunk(2, 0),
            Stream(4, 600),
            End,
            Close,
        ])],
    ),
    (
        "chunks in any order, over the end of a frame",
        &[Create(&[
            Chunk(4, 2),
            Chunk(1, 1),
            Chunk(3, 2),
            Chunk(0, 1),
            End,
            Chunk(3, 1),
            Commit,
            Chunk(1, 2),
            End,
            Commit,
            Chunk(2, 1),
            Commit,
            End,
            Close,
        ])],
    ),
    (
        "a closed file goes on",
        &[Create(&[Each(2, 2), Close]), Open(&[Each(1, 3), Frames(2, 1), Close]), Open(&[Close])],
    ),
    (
        "a file is left and goes on",
        &[
            Create(&[Each(2, 2), Frames(2, 3), Chunk(6, 8)]),
            Open(&[Chunk(7, 3), End, Commit, Each(1, 2)]),
            Open(&[Frames(3, 2), Chunk(5, 3)]),
            Open(&[Each(1, 4)]),
        ],
    ),
    ("truncated", &[Create(&[Each(3, 2), Frames(2, 1), Truncate, Each(2, 2), Truncate, Close])]),
    (
        "truncated, and goes on",
        &[
            Create(&[Truncate, Frames(9, 2), Commit, Truncate]),
            Open(&[Each(1, 2), Truncate, Frames(1, 1), Close]),
        ],
    ),
    ("a file is created over another", &[Create(&[Each(2, 3), Close]), Create(&[Each(1, 1)])]),
];

/// Those that only a file of layer 1 can go.
const OLD_SCRIPTS: &[Script] = &[
    ("upgraded", &[Create(&[Each(2, 3), Upgrade, Each(2, 2), Close])]),
    ("upgraded empty", &[Create(&[Upgrade, Each(1, 2), Upgrade])]),
    (
        "upgraded with what was not committed",
        &[
            Create(&[Each(1, 2), Chunk(6, 1), Chunk(1, 2), End, Empty(2), Frames(3, 2), Upgrade]),
            Open(&[Each(1, 3), Close]),
        ],
    ),
];

/// Files that somebody else has begun.
const APPENDED: &[Script] = &[
    ("appended to", &[Open(&[Each(2, 2), Frames(2, 1), Close]), Open(&[Each(1, 3)])]),
    ("appended to, much", &[Open(&[Frames(9, 4), Commit, Empty(2), Each(1, 2), Close])]),
    ("truncated", &[Open(&[Truncate, Each(2, 2), Close])]),
    ("appended to and truncated", &[Open(&[Each(1, 1), Frames(1, 1), Truncate, Each(1, 2)])]),
    ("upgraded", &[Open(&[Upgrade, Each(1, 2), Close])]),
];

/// What a file is like.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    /// Of files that are created.
    pub(crate) attributes: Attributes<'static>,
    /// Slots of a writer's memory.
    pub(crate) slots: usize,
    /// Whether it was created by striae.
    pub(crate) is_ours: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Path {
    pub(crate) name: String,
    /// What is there before the first session.
    pub(crate) start: Vec<u8>,
    pub(crate) state: State,
    pub(crate) sessions: &'static [Session],
    pub(crate) shape: Shape,
}

pub(crate) const OLD: Version = Version { major: 1, minor: 0 };

/// A shape by its number: layers, checksums and alignments in all combinations, the other
/// properties in turns.
pub(crate) fn shape(number: usize) -> Shape {
    let layer = if number & 1 == 1 { OLD } else { Version::LAYER };
    let attributes = Attributes {
        application: "striae's tests",
        schema: "none",
        schema_version: Version { major: 1, minor: 4 },
        layer,
        align: [1, 512, 4096][number / 4 % 3],
        checksums: number & 2 == 2,
        index_slots: [1, 2, 8, 128][number / 2 % 4],
        shown_slots: [1, 128, 3, 1][number / 3 % 4],
        names_len: [64, 1024, 192][number % 3],
        one_sync: false,
    };
    Shape { attributes, slots: [7, 12, 8][number % 3], is_ours: true }
}

/// Every script in some of the twelve shapes, others for each, and with commits of one sync in
/// those of four that can have them.
pub(crate) fn paths() -> Vec<Path> {
    let mut paths = Vec::new();
    let scripts = SCRIPTS.iter().map(|script| (script, false));
    for (&(name, sessions), is_old) in
        scripts.chain(OLD_SCRIPTS.iter().map(|script| (script, true)))
    {
        for number in 0..16 {
            let turn = number % 12 + paths.len() / 16 * 12;
            let mut shape = shape(if is_old { turn | 1 } else { turn });
            shape.attributes.one_sync = number >= 12;
            let (name, start) = (name.to_owned(), Vec::new());
            paths.push(Path { name, start, state: State::Nothing, sessions, shape });
        }
    }
    paths
}

/// Files of gsd, whole and odd ones.
const GOLDEN: &[&str] = &[
    "v10_empty",
    "v10_names_128_full",
    "v10_unsorted_ids",
    "v20_hoomd14_state",
    "v21_empty",
    "v21_index_129",
    "v21_namelist_exact_1024",
    "v21_only_empty_frames",
    "v21_sparse_chunks",
    "v21_zero_size",
];

pub(crate) fn golden(name: &str) -> Vec<u8> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(GOLDEN_FOLDER);
    std::fs::read(folder.join(format!("{name}.gsd"))).unwrap()
}

const GOLDEN_FOLDER: &str = "golden/gsd";

/// A file as gsd sees it.
pub(crate) fn content(bytes: &[u8]) -> Content {
    read_stock(bytes).unwrap().content()
}

/// The file with an index that shows no more slots than are used.
fn with_full_index(mut bytes: Vec<u8>) -> Vec<u8> {
    let used = super::stock::Stock::open(&bytes).unwrap().used;
    bytes[16..24].copy_from_slice(&u64::try_from(used).unwrap().to_le_bytes());
    bytes
}

/// The file with entries of lost frames in all slots where gsd's search does not come by.
fn with_stale_entries(bytes: &[u8]) -> Vec<u8> {
    let before = content(bytes);
    let at = usize::try_from(u64::from_le_bytes(bytes[8..16].try_into().unwrap())).unwrap();
    let mut file = bytes.to_vec();
    let first: [u8; 32] = file[at..at + 32].try_into().unwrap();
    let mut count = 0;
    for slot in file_slots(bytes) {
        let place = at + 32 * slot..at + 32 * slot + 32;
        let mut stale = first;
        stale[0] = 77;
        let old = file[place.clone()].to_vec();
        file[place.clone()].copy_from_slice(&stale);
        if read_stock(&file).is_ok_and(|seen| seen.content() == before) {
            count += 1;
        } else {
            file[place].copy_from_slice(&old);
        }
    }
    assert!(count > 100);
    file
}

/// The slots that are not used.
fn file_slots(bytes: &[u8]) -> std::ops::Range<usize> {
    let count = u64::from_le_bytes(bytes[16..24].try_into().unwrap());
    super::stock::Stock::open(bytes).unwrap().used..usize::try_from(count).unwrap()
}

/// Files that striae wrote, gsd appended to, and whose commit records are stale.
fn stale() -> Vec<(String, Vec<u8>)> {
    let sessions: [&[Session]; 4] = [
        &[Create(&[])],
        &[Create(&[Each(2, 2)])],
        &[Create(&[Each(2, 2), Close])],
        &[Create(&[Frames(2, 3), Commit, Frames(1, 2), Chunk(9, 2)])],
    ];
    let mut files = Vec::new();
    for (number, sessions) in sessions.iter().enumerate() {
        for layer in 0..2 {
            let shape = shape(number * 2 + layer);
            let mut run = Run::new(&shape, PowerStore::default(), State::Nothing, 1);
            for session in *sessions {
                run.session(*session).unwrap();
            }
            let live = run.store.live().to_vec();
            let two = [(b"n1".as_slice(), b"xyz".as_slice()), (b"a new name", b"w")];
            let steps = append(&live, &[&two, &two[..1]]).unwrap();
            files.push((format!("stale {number} {layer}"), steps[steps.len() - 1].clone()));
        }
    }
    files
}

/// Every script that begins with a file of others, with every such file.
pub(crate) fn appended() -> Vec<Path> {
    let files = GOLDEN.iter().map(|name| ((*name).to_owned(), golden(name)));
    let full = ["v10_unsorted_ids", "v21_sparse_chunks"];
    let full = full.map(|name| (format!("{name}, full"), with_full_index(golden(name))));
    let holes = ["v10_unsorted_ids", "v21_sparse_chunks"];
    let holes = holes.map(|name| (format!("{name}, holes"), with_stale_entries(&golden(name))));
    let files: Vec<_> = files.chain(full).chain(holes).chain(stale()).collect();
    let mut paths = Vec::new();
    for (file, start) in &files {
        for (name, sessions) in APPENDED {
            let mut shape = shape(paths.len());
            shape.attributes.one_sync = paths.len() / APPENDED.len() % 2 == 1;
            (shape.slots, shape.is_ours) = (if file.contains("128") { 140 } else { 8 }, false);
            let state = State::File(content(start));
            let (name, start) = (format!("{file}: {name}"), start.clone());
            paths.push(Path { name, start, state, sessions, shape });
        }
    }
    paths
}
