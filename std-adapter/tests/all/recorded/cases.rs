//! The runs of the table: verbs and options on golden files and on damaged copies.

use super::{files_below, golden};
use std::path::{Path, PathBuf};

/// The folders of golden files.
pub(super) const FOLDERS: [&str; 11] = [
    "blob",
    "blob_empty",
    "cdf",
    "cdf_damaged",
    "ffrecord",
    "gsd",
    "gsd_log",
    "hdf5",
    "map",
    "pack",
    "sion",
];

/// A run of the program.
#[derive(Clone)]
pub(super) struct Case {
    pub(super) args: Vec<String>,
    /// Files that are copied to the output folder before.
    pub(super) copied: Vec<PathBuf>,
}

impl Case {
    pub(super) fn new(args: &str) -> Self {
        Self { args: args.split(' ').map(str::to_owned).collect(), copied: Vec::new() }
    }

    pub(super) fn name(&self) -> String {
        self.args.join(" ")
    }
}

/// How a copy of a file is damaged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// The last quarter is gone.
    Cut,
    /// A bit of the header is wrong.
    Head,
    /// A byte in the middle is wrong.
    Middle,
    /// The last 16 bytes are zero.
    Tail,
}

impl Rule {
    pub(super) const ALL: [Self; 4] = [Self::Cut, Self::Head, Self::Middle, Self::Tail];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Cut => "cut",
            Self::Head => "head",
            Self::Middle => "middle",
            Self::Tail => "tail",
        }
    }

    /// The damaged bytes of the file with this name. Which bit of the header is wrong depends on
    /// the name, so that all fields have their turn.
    pub(super) fn damage(self, name: &Path, mut bytes: Vec<u8>) -> Vec<u8> {
        let len = bytes.len();
        match self {
            Self::Cut => bytes.truncate(len / 4 * 3),
            Self::Head => {
                let sum = name.as_os_str().as_encoded_bytes().iter().map(|&byte| usize::from(byte));
                let place = sum.sum::<usize>() % 256;
                if let Some(byte) = bytes.get_mut(place) {
                    *byte ^= 1 << (place % 8);
                }
            }
            Self::Middle => {
                if let Some(byte) = bytes.get_mut(len / 2) {
                    *byte ^= 0x55;
                }
            }
            Self::Tail => {
                let start = len.saturating_sub(16);
                bytes[start..].fill(0);
            }
        }
        bytes
    }
}

/// The kind of a golden file, by its folder and ending.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Sion,
    Gsd,
    Ffrecord,
    Cdf,
    Blob,
    Text,
}

impl Kind {
    fn of(name: &str) -> Option<Self> {
        let (folder, _) = name.split_once('/')?;
        let ending = name.rsplit_once('.')?.1;
        match (folder, ending) {
            (_, "json" | "md" | "txt") => None,
            ("map", "dat") => Some(Self::Text),
            ("blob" | "blob_empty", "0000") => Some(Self::Blob),
            (_, "h5" | "0001" | "0002") => Some(Self::Blob),
            (_, "nc") => Some(Self::Cdf),
            ("sion", _) => Some(Self::Sion),
            ("gsd" | "gsd_log", _) => Some(Self::Gsd),
            ("ffrecord", _) => Some(Self::Ffrecord),
            _ => None,
        }
    }

    /// A pattern that matches all that a file has.
    const fn pattern(self) -> &'static str {
        match self {
            Self::Sion => "task/*",
            Self::Gsd => "frame/*/*",
            Self::Ffrecord => "sample/*",
            Self::Cdf | Self::Blob | Self::Text => "variable/*",
        }
    }

    /// The name of a new file.
    pub(super) const fn out(self) -> &'static str {
        match self {
            Self::Sion => "out/o.sion",
            Self::Gsd => "out/o.gsd",
            Self::Ffrecord => "out/o.ffr",
            Self::Cdf | Self::Blob | Self::Text => "out/o.nc",
        }
    }

    /// What is run on every file of this kind, besides what is run on all files. In the text, `@`
    /// is the file, and `^` the new one.
    const fn own(self) -> &'static [&'static str] {
        match self {
            Self::Sion => &[
                "ls --keys @",
                "ls --keys --json @",
                "ls --alone --addresses --keys @",
                "cat @ task/*/*",
                "cat @ rank/0",
                "cat @ task/0/chunk/0 --offset 3 --length 7",
                "cat --direct @ task/-1",
                "cat --alone @ task/1/key/2",
                "extract @ out/d task/[0-3] rank/4",
                "convert --seal --fsblksize 512 @ ^",
                "convert --nfiles 2 --order big @ ^",
                "recover --alone @ ^",
                "map --alone --width 40 @",
            ],
            Self::Gsd => &[
                "ls --summary @",
                "ls --summary --json @",
                "ls --frames 0..1 @",
                "ls --frames -1.. --json @",
                "log @",
                "log --csv @",
                "log --json @ *e*",
                "log --plot - @",
                "cat @ frame/0/particles/position",
                "cat @ frame/-1/particles/position --rows 0..2 --text",
                "cat --direct @ frame/0/particles/typeid --text",
                "cat @ frame/*/log/* --text",
                "extract --frames 0..1 @ out/d",
                "extract @ out/d frame/*/particles/*",
                "convert --checksums @ ^",
                "convert --no-checksums --align 512 @ ^",
                "convert --frames 0..1 @ ^",
                "convert --upgrade @ ^",
            ],
            Self::Ffrecord => &[
                "cat @ sample/0",
                "cat --direct @ sample/-1 --offset 1 --length 2",
                "extract @ out/d sample/[0-2]",
            ],
            Self::Cdf => &[
                "dump --cdl @",
                "cat @ variable/* --text --start 0 --count 1",
                "extract @ out/d variable/[a-m]*",
                "convert @ out/o.dat",
            ],
            Self::Blob => &[
                "cat @ variable/* --fill 1 --text",
                "cat --no-seal @ variable/lev",
                "extract --fill 2 @ out/d variable/[a-m]*",
                "convert --no-seal --threads 1 @ ^",
                "verify --map map/map_f_tiny_4p.nc @",
                "verify --map map/map_f_tiny_8p.nc --json @",
            ],
            Self::Text => &["convert @ out/o.dat", "convert --seal @ ^"],
        }
    }
}

/// What is run on every file.
const ALL: &[&str] = &["verify @", "extract @ out/d", "convert @ ^"];

/// What is run on every second file only, in turns; the table must not take long.
const TEXT_OR_JSON: &[[&str; 2]] = &[
    ["info @", "info --json @"],
    ["ls @", "ls --json @"],
    ["dump @", "dump --json @"],
    ["verify --limit 1 @", "verify --json --direct @"],
    ["map --width 60 @", "map --json @"],
    ["cat @ *", "cat --text @ *"],
    ["recover @ ^", "recover --json @ ^"],
    ["ls --addresses @", "map --svg - @"],
    ["ls --csv @", "ls --csv @"],
    ["verify --csv @", "map --csv @"],
];

/// What is run on every damaged file, and what is run on one of several of them.
const DAMAGED: &[&str] = &["verify --json @", "recover --json @ ^"];
const BY_TURNS: &[&str] =
    &["info @", "ls @", "cat @ *", "dump @", "extract @ out/d", "convert @ ^", "map --json @"];

/// A run of `text` on a file.
fn on(text: &str, kind: Kind, file: &str) -> Case {
    let text = text.replace('*', if text.ends_with(" *") { kind.pattern() } else { "*" });
    Case::new(&text.replace('^', kind.out()).replace('@', file))
}

/// The golden files, by name and kind. Blob sets are those of their first subfiles.
fn inputs() -> Vec<(String, Kind)> {
    let golden = golden();
    let files = FOLDERS.iter().flat_map(|folder| files_below(&golden.join(folder)));
    let name = |path: PathBuf| path.strip_prefix(&golden).unwrap().to_str().unwrap().to_owned();
    files.map(name).filter_map(|name| Kind::of(&name).map(|kind| (name, kind))).collect()
}

/// Whether a file is only one of a set, and not the first one.
fn is_later(name: &str) -> bool {
    name.contains("_BUDDY_")
        || !name.ends_with("0000")
            && name
                .rsplit('.')
                .next()
                .is_some_and(|end| end.bytes().all(|byte| byte.is_ascii_digit()))
}

/// All runs but those of pairs of options.
pub(super) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for (number, (name, kind)) in inputs().into_iter().enumerate() {
        if is_later(&name) {
            cases.extend(["info @", "dump @", "verify @"].map(|text| on(text, kind, &name)));
            continue;
        }
        let set = name.strip_suffix(".0000");
        let by_turns = TEXT_OR_JSON.iter().map(|both| &both[number % 2]);
        for text in ALL.iter().chain(by_turns).chain(kind.own()) {
            cases.push(on(text, kind, set.unwrap_or(&name)));
        }
        if set.is_some() {
            let texts = ["info @", "dump @", "verify @", "map --json @", "recover --json @ ^"];
            cases.extend(texts.map(|text| on(text, kind, &name)));
        }
        for turn in [number, number + 1] {
            let rule = Rule::ALL[turn % Rule::ALL.len()];
            let damaged = format!("{}/{}", rule.name(), set.unwrap_or(&name));
            cases.extend(DAMAGED.iter().map(|text| on(text, kind, &damaged)));
            let text = BY_TURNS[turn % BY_TURNS.len()];
            cases.push(on(text, kind, &damaged));
        }
    }
    cases.extend(ONCE.iter().map(|text| Case::new(text)));
    cases.extend(appended());
    cases
}

/// Runs that are not of one golden file: new files of several, wrong arguments.
const ONCE: &[&str] = &[
    "pack --fsblksize 512 out/o.sion sion/s01_one_task.json map/z1.dat map/z2.dat",
    "pack --fsblksize 512 --seal --nfiles 2 --order big out/o.sion map/z3.dat map/z1.dat map/z2.dat",
    "pack --fsblksize 512 --chunksize 100 out/o.sion map/z3.dat map/z1.dat",
    "pack out/o.ffr map/z1.dat map/z2.dat map/z3.dat",
    "pack --format ffrecord out/o.sion map/z1.dat",
    "pack --format map out/o.nc map/z1.dat map/z2.dat",
    "pack --format map out/o.nc map/map_f_tiny_4p.nc",
    "pack --format map out/o.nc sion/s01_one_task.sion",
    "pack --format blob --map map/map_f_tiny_4p.nc out/o.nc blob/f4_n4_s1/can_h1.nc",
    "pack --format blob --map map/map_f_tiny_8p.nc --like blob/f8_n8_s2_float/blob_h1.nc --subfiles 2 \
     out/o.nc blob/f8_n8_s2_float/can_h1.nc",
    "pack --format blob --map map/map_f_tiny_8p.nc --like blob/f8_n8_s3rr/blob_h1.nc --subfiles 3 \
     --grouping round-robin --container hdf5 --seal out/o.h5 blob/f8_n8_s3rr/can_h1.nc",
    "pack --format blob --map pack/ambig_map.nc out/o.nc pack/ambig.nc",
    "pack --format blob --map pack/ambig_map.nc --decomposition x=1 out/o.nc pack/ambig.nc",
    "pack --format blob out/o.nc pack/ambig.nc",
    "info gsd/v21_empty.gsd sion/s01_one_task.sion map/z1.dat ffrecord/one.ffr none",
    "ls --json gsd/v21_empty.gsd sion/s01_one_task.sion map/z1.dat ffrecord/one.ffr none",
    "verify --json gsd/v21_empty.gsd gsd/bad_zero_length.gsd none blob/README.md",
    "verify gsd/v21_empty.gsd gsd/bad_zero_length.gsd none blob/README.md",
    "recover none out/o.sion",
    "recover blob/README.md out/o.sion",
    "recover --format gsd blob/README.md out/o.gsd",
    "recover gsd/v21_empty.gsd out/o.sion",
    "convert gsd/v21_empty.gsd out/o.ffr",
    "cat - task/0",
    "cat sion/s01_one_task.sion frame/0/x",
    "cat sion/s01_one_task.sion task/77",
    "cat gsd/v20_hoomd14.gsd frame/0/particles/positon",
    "cat gsd/v20_hoomd14.gsd frame/0/particles",
    "cat cdf/cdf1_pn_default.nc variable/none",
    "none",
    "ls --frames 9..1 gsd/v20_hoomd14.gsd",
    "extract gsd/v20_hoomd14.gsd gsd/v20_hoomd14.gsd",
    "man",
    "man cat",
    "man extract",
    "man convert",
    "man pack",
    "man none",
    "--help",
    "--version",
    "info --help",
    "ls --help",
    "dump --help",
    "cat --help",
    "extract --help",
    "convert --help",
    "recover --help",
    "map --help",
    "log --help",
    "verify --help",
    "append --help",
    "pack --help",
];

/// Runs that change a set in its place.
fn appended() -> Vec<Case> {
    let sets: [(&[&str], &str); 5] = [
        (&["s01_one_task.sion"], "task/0"),
        (
            &["m05_np8_3files.sion", "m05_np8_3files.sion.000001", "m05_np8_3files.sion.000002"],
            "rank/7",
        ),
        (&["s16_keyval_simple.sion"], "task/0/key/7"),
        (&["s19_unclosed_flushed.sion"], "task/0"),
        (&["s03_eight_mixed.sion"], "task/*"),
    ];
    let case = |(files, address): (&[&str], &str)| Case {
        copied: files.iter().map(|name| Path::new("sion").join(name)).collect(),
        ..Case::new(&format!("append out/{} {address} map/z1.dat", files[0]))
    };
    sets.into_iter().map(case).collect()
}
