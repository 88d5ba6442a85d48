//! What is written: the shapes of files and the ways of writing them, and all that is combined.

use striae_core::endian::ByteOrder;
use striae_core::sion::Attributes;

/// What a writer is told to do. Lengths are in percent of a chunk of the task.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Act {
    /// Write to a task's stream; a key-value record, if it has such.
    Write(u32, usize),
    /// Write a record, which lies in one chunk.
    Record(u32, usize),
    Commit,
    Close,
}

/// A program's work on a file, from creating or opening it to dropping the writer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Session {
    Create(&'static [Act]),
    Reopen(&'static [Act]),
}

use Act::{Close, Commit, Record, Write};
use Session::{Create, Reopen};

/// A name, and what is done.
pub(crate) type Script = (&'static str, &'static [Session]);

pub(crate) const SCRIPTS: &[Script] = &[
    ("nothing", &[Create(&[Close])]),
    ("no commit", &[Create(&[Write(0, 50), Write(1, 120), Write(3, 30), Close])]),
    (
        "one commit",
        &[Create(&[Write(0, 50), Write(1, 120), Commit, Write(0, 20), Write(4, 80), Close])],
    ),
    (
        "several commits, and new blocks between them",
        &[Create(&[
            Write(0, 60),
            Commit,
            Write(1, 50),
            Commit,
            Commit,
            Write(0, 130),
            Write(3, 20),
            Commit,
            Write(4, 250),
            Commit,
            Close,
        ])],
    ),
    ("never closed", &[Create(&[Write(0, 60), Commit, Write(0, 170), Write(1, 30)])]),
    (
        "records that skip",
        &[Create(&[
            Record(0, 40),
            Record(0, 70),
            Commit,
            Record(0, 90),
            Record(1, 100),
            Record(1, 100),
            Commit,
            Record(3, 10),
            Close,
        ])],
    ),
    (
        "a closed file goes on",
        &[
            Create(&[Write(0, 60), Write(1, 130), Close]),
            Reopen(&[Write(0, 30), Commit, Write(1, 140), Close]),
            Reopen(&[Close]),
        ],
    ),
    (
        "a committed file goes on",
        &[
            Create(&[Write(0, 60), Commit, Write(1, 40)]),
            Reopen(&[Write(1, 50), Write(0, 120), Close]),
        ],
    ),
    (
        "a writer goes on after closing",
        &[
            Create(&[Write(0, 110), Commit, Close, Write(0, 20), Write(1, 20), Commit]),
            Reopen(&[Write(4, 30), Commit, Write(4, 100)]),
        ],
    ),
    (
        "a file is created over another",
        &[
            Create(&[Write(0, 60), Write(1, 30), Close]),
            Create(&[Write(0, 30), Commit, Write(1, 60), Close]),
        ],
    ),
];

/// A physical file.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) attributes: Attributes,
    /// Global ranks and chunk sizes.
    pub(crate) tasks: Vec<(i64, u64)>,
    pub(crate) mapping: Vec<(u32, u32)>,
    pub(crate) sealed: bool,
    pub(crate) ahead: u32,
    /// Bytes of the writer's window.
    pub(crate) window: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct Path {
    pub(crate) name: &'static str,
    pub(crate) sessions: &'static [Session],
    pub(crate) shape: Shape,
}

fn tasks(ntasks: usize, fsblksize: u32) -> Vec<(i64, u64)> {
    let tasks: &[(i64, u64)] = match (ntasks, fsblksize) {
        (1, 1) => &[(0, 40)],
        (1, _) => &[(7, 512)],
        (_, 1) => &[(3, 16), (1, 40), (0, 0), (-2, 25), (4, 64)],
        _ => &[(3, 512), (1, 512), (0, 0), (-2, 512), (4, 1024)],
    };
    tasks.to_vec()
}

/// The paths that a writer of a fixed shape can write, up to where the file is reopened: streams of
/// one file that nobody seals, and no records.
pub(crate) fn fixed_paths() -> Vec<Path> {
    let is_fixed = |session: &Session| match session {
        Create(acts) => !acts.iter().any(|act| matches!(act, Record(..))),
        Reopen(_) => false,
    };
    let all = paths().into_iter().filter(|path| !path.shape.sealed);
    let fixed = all.map(|mut path| {
        let count = path.sessions.iter().take_while(|session| is_fixed(session)).count();
        path.sessions = &path.sessions[..count];
        path.shape.mapping.clear();
        let Attributes { nfiles, filenumber, keyval, .. } = &mut path.shape.attributes;
        (*nfiles, *filenumber, *keyval) = (1, (*filenumber).min(1), false);
        path
    });
    fixed.filter(|path| !path.sessions.is_empty()).collect()
}

/// Every script with one task and five, aligned and packed, sealed and not; the other properties
/// take turns.
pub(crate) fn paths() -> Vec<Path> {
    let mut paths = Vec::new();
    for &(name, sessions) in SCRIPTS {
        for number in 0..8 {
            let turn = paths.len() + paths.len() / 8; // else a script has some always together
            let (ntasks, fsblksize) = ([1, 5][number & 1], [1, 512][number >> 1 & 1]);
            let order = |big| if big { ByteOrder::Big } else { ByteOrder::Little };
            let (nfiles, filenumber, keyval) =
                [(1, 1, false), (1, 1, true), (3, 0, false), (3, 2, false), (1, 0, true)][turn % 5];
            let attributes = Attributes {
                order: order(turn & 1 == 1),
                data_order: order(turn & 2 == 2),
                fsblksize,
                nfiles,
                filenumber,
                keyval,
            };
            let mapping = match (nfiles, filenumber) {
                (3, 0) => vec![(0, 0), (2, 1), (1, 0)],
                _ => Vec::new(),
            };
            let shape = Shape {
                attributes,
                tasks: tasks(ntasks, fsblksize),
                mapping,
                sealed: number & 4 == 4,
                ahead: [0, 0, 2][turn % 3],
                window: [1076, 4096][turn / 2 % 2],
            };
            paths.push(Path { name, sessions, shape });
        }
    }
    paths
}
