//! Options of each verb on a file of each kind, and pairs of them on some kinds in turns: none
//! panics, and the status is one of the three.

use super::cases::Case;

/// Pairs of options, with a case for each kind of file.
pub(super) struct Pair {
    pub(super) name: String,
    pub(super) cases: Vec<Case>,
}

/// A file of each kind, a new file of its format, and an address.
const FILES: [[&str; 3]; 8] = [
    ["sion/s17_keyval_straddle.sion", "out/o.sion", "task/0"],
    ["gsd/v20_hoomd14.gsd", "out/o.gsd", "frame/0/particles/typeid"],
    ["ffrecord/five_one_empty.ffr", "out/o.ffr", "sample/1"],
    ["blob/f4_n4_s1/can_h1.nc", "out/o.nc", "variable/lev"],
    ["blob/f4_n4_s1/blob_h1.nc", "out/o.nc", "variable/lev"],
    ["map/map_f_tiny_4p.nc", "out/o.nc", "variable/*"],
    ["map/z1.dat", "out/o.nc", "task/0"],
    ["blob/README.md", "out/o.nc", "task/0"],
];

/// Each verb with what it needs besides the file, and its options.
const VERBS: [(&str, &str, &[&str]); 10] = [
    ("info", "", &["--alone", "--json"]),
    (
        "ls",
        "",
        &["--alone", "--json", "--keys", "--frames 0..1", "--addresses", "--summary", "--csv"],
    ),
    ("dump", "", &["--json", "--cdl", "--max-size 1G"]),
    (
        "cat",
        "ADDRESS",
        &[
            "--alone",
            "--direct",
            "--offset 1",
            "--length 1",
            "--rows 0..1",
            "--text",
            "--start 2",
            "--count 2",
            "--stride 2",
            "--no-seal",
            "--fill 0",
            "--max-size 1",
        ],
    ),
    (
        "extract",
        "out/d",
        &[
            "--alone",
            "--direct",
            "--force",
            "--threads 1",
            "--frames 0..1",
            "--hoomd",
            "--no-seal",
            "--fill 0",
            "--max-size 1",
        ],
    ),
    (
        "convert",
        "OUT",
        &[
            "--alone",
            "--direct",
            "--force",
            "--seal",
            "--no-seal",
            "--frames 0..1",
            "--align 4096",
            "--upgrade",
            "--nfiles 2",
            "--fsblksize 512",
            "--order big",
            "--threads 1",
            "--fill 0",
            "--max-size 1",
        ],
    ),
    (
        "recover",
        "OUT",
        &["--alone", "--format gsd", "--format sion", "--force", "--json", "--max-size 1"],
    ),
    ("map", "", &["--alone", "--json", "--csv", "--svg -", "--force", "--width 20"]),
    ("log", "", &["--csv", "--json", "--plot -", "--force", "--frames 0..1"]),
    ("verify", "", &["--json", "--csv", "--direct", "--limit 1", "--map map/map_f_tiny_4p.nc"]),
];

/// Sources of `pack` in each format.
const PACKED: [(&str, &str); 4] = [
    ("sion", "out/o.sion map/z1.dat map/z2.dat"),
    ("ffrecord", "out/o.ffr map/z1.dat map/z2.dat"),
    ("map", "out/o.nc map/z1.dat map/z2.dat"),
    ("blob", "out/o.nc blob/f4_n4_s1/can_h1.nc"),
];

const PACK: &[&str] = &[
    "--chunksize 100",
    "--seal",
    "--identity 7",
    "--map map/map_f_tiny_4p.nc",
    "--subfiles 2",
    "--grouping block",
    "--processes 2",
    "--container hdf5",
    "--unsorted",
    "--decomposition lev=0",
    "--append",
    "--like blob/f4_n4_s1/blob_h1.nc",
    "--nfiles 2",
    "--order big",
    "--force",
    "--threads 1",
    "--direct",
    "--max-size 1",
];

/// A pair of options is run on every third kind of file.
const TURN: usize = 3;

/// No option, each option, and each pair of them; for a pair, the first kind of file that has it.
fn choices(options: &[&str]) -> Vec<(String, Option<usize>)> {
    let mut all = vec![(String::new(), None)];
    for (number, one) in options.iter().enumerate() {
        all.push((format!(" {one}"), None));
        for (turn, other) in options.iter().enumerate().skip(number + 1) {
            all.push((format!(" {one} {other}"), Some((number + turn) % TURN)));
        }
    }
    all
}

/// The kinds of files for a choice.
fn kinds<T: Copy>(all: &[T], first: Option<usize>) -> impl Iterator<Item = T> {
    all.iter().copied().skip(first.unwrap_or(0)).step_by(first.map_or(1, |_| TURN))
}

pub(super) fn pairs() -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (verb, needs, options) in VERBS {
        for (choice, first) in choices(options) {
            let case = |[file, out, address]: [&str; 3]| {
                let needs = needs.replace("OUT", out).replace("ADDRESS", address);
                Case::new(format!("{verb}{choice} {file} {needs}").trim_end())
            };
            let cases = kinds(&FILES, first).map(case).collect();
            pairs.push(Pair { name: format!("{verb}{choice}"), cases });
        }
    }
    for (choice, _) in choices(PACK) {
        let case = |(format, rest): (&str, &str)| {
            // Else the size of a block is that of the file system.
            let block = if format == "sion" { " --fsblksize 512" } else { "" };
            Case::new(&format!("pack --format {format}{block}{choice} {rest}"))
        };
        let cases = PACKED.into_iter().map(case).collect();
        pairs.push(Pair { name: format!("pack{choice}"), cases });
    }
    pairs
}
