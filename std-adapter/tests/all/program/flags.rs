//! Every option is served for a format or refused, never accepted and ignored.

use super::*;
use striae::Format;

const SION: usize = 0;
const GSD: usize = 1;
const FFRECORD: usize = 2;
const CDF: usize = 3;
const BLOB: usize = 4;

/// An option, what is given of it, and the formats that have it.
type Flag = (&'static str, &'static [&'static str], &'static [usize]);

const ALL: &[usize] = &[SION, GSD, FFRECORD, CDF, BLOB];
const RECOVERED: &[usize] = &[SION, GSD, CDF, BLOB];
/// The formats that `convert` writes again; of a netCDF file only maps are converted.
const CONVERTED: &[usize] = &[SION, GSD, BLOB];
const ARRAYS: &[usize] = &[CDF, BLOB];
const DIRECT: Flag = ("--direct", &["--direct"], ALL);
const JSON: Flag = ("--json", &["--json"], ALL);
const ALONE: Flag = ("--alone", &["--alone"], &[SION]);

/// Each verb with the options that its help lists. What is for some formats only is refused for the
/// others.
const TABLE: [(&str, &[Flag]); 9] = [
    ("info", &[ALONE, JSON]),
    (
        "ls",
        &[
            ALONE,
            JSON,
            ("--csv", &["--csv"], ALL),
            ("--keys", &["--keys"], &[SION]),
            ("--frames", &["--frames", "0..1"], &[GSD]),
            ("--addresses", &["--addresses"], ALL),
            ("--summary", &["--summary"], &[GSD]),
        ],
    ),
    (
        "dump",
        &[
            JSON,
            ("--cdl", &["--cdl"], &[CDF]),
            ("--max-size", &["--max-size", "1G", "--cdl"], &[CDF]),
        ],
    ),
    (
        "cat",
        &[
            ALONE,
            DIRECT,
            ("--offset", &["--offset", "1"], &[SION, FFRECORD]),
            ("--length", &["--length", "1"], &[SION, FFRECORD]),
            ("--rows", &["--rows", "0..1"], &[GSD]),
            ("--text", &["--text"], &[GSD, CDF, BLOB]),
            ("--start", &["--start", "2"], ARRAYS),
            ("--count", &["--count", "2"], ARRAYS),
            ("--stride", &["--stride", "2"], ARRAYS),
            ("--no-seal", &["--no-seal"], &[BLOB]),
            ("--fill", &["--fill", "0"], &[BLOB]),
            ("--max-size", &["--max-size", "1G"], ALL),
        ],
    ),
    (
        "extract",
        &[
            ALONE,
            DIRECT,
            ("--force", &["--force"], ALL),
            ("--threads", &["--threads", "1"], &[SION]),
            ("--frames", &["--frames", "0..1"], &[GSD]),
            ("--hoomd", &["--hoomd"], &[GSD]),
            ("--no-seal", &["--no-seal"], &[BLOB]),
            ("--fill", &["--fill", "0"], &[BLOB]),
            ("--max-size", &["--max-size", "1G"], ALL),
        ],
    ),
    (
        "convert",
        &[
            ALONE,
            ("--direct", &["--direct"], CONVERTED),
            ("--force", &["--force"], CONVERTED),
            ("--seal", &["--seal"], &[SION, GSD]),
            ("--no-seal", &["--no-seal"], &[SION, GSD, BLOB]),
            ("--frames", &["--frames", "0..1"], &[GSD]),
            ("--align", &["--align", "4096"], &[GSD]),
            ("--upgrade", &["--upgrade"], &[GSD]),
            ("--nfiles", &["--nfiles", "2"], &[SION]),
            ("--fsblksize", &["--fsblksize", "512"], &[SION]),
            ("--order", &["--order", "big"], &[SION]),
            ("--threads", &["--threads", "1"], &[SION, BLOB]),
            ("--fill", &["--fill", "0"], &[BLOB]),
            ("--max-size", &["--max-size", "1G"], CONVERTED),
        ],
    ),
    (
        "recover",
        &[
            ALONE,
            ("--format", &["--format", "gsd"], &[GSD]),
            ("--force", &["--force"], RECOVERED),
            ("--json", &["--json"], RECOVERED),
            ("--max-size", &["--max-size", "1G"], RECOVERED),
        ],
    ),
    (
        "map",
        &[
            ALONE,
            JSON,
            ("--csv", &["--csv"], ALL),
            ("--svg", &["--svg", "-"], ALL),
            ("--force", &["--force", "--svg", "-"], ALL),
            ("--width", &["--width", "20"], ALL),
        ],
    ),
    (
        "verify",
        &[
            JSON,
            ("--csv", &["--csv"], ALL),
            DIRECT,
            ("--limit", &["--limit", "1"], ALL),
            ("--map", &["--map", "../tests/golden/map/map_f_tiny_4p.nc"], &[BLOB]),
        ],
    ),
];

/// A file of each format.
fn files() -> [String; 5] {
    let golden = |path| format!("{}/../tests/golden/{path}", env!("CARGO_MANIFEST_DIR"));
    let set = golden("sion/s17_keyval_straddle.sion");
    let netcdf = golden("blob/f4_n4_s1/can_h1.nc");
    let subfile = golden("blob/f4_n4_s1/blob_h1.nc.0000");
    [set, golden("gsd/v20_hoomd14.gsd"), golden("ffrecord/many.ffr"), netcdf, subfile]
}

/// What a verb needs besides the file.
fn needs(verb: &str, format: usize, out: &str) -> Vec<String> {
    let args: &[&str] = match (verb, format) {
        ("extract" | "convert" | "recover", _) => &[out],
        ("cat", SION) => &["task/0"],
        ("cat", GSD) => &["frame/0/particles/typeid"],
        ("cat", FFRECORD) => &["sample/0"],
        ("cat", CDF | BLOB) => &["variable/lev"],
        _ => &[],
    };
    args.iter().map(|&arg| arg.to_owned()).collect()
}

#[test]
fn the_table_has_every_option_that_help_lists() {
    for (verb, flags) in TABLE {
        let help = String::from_utf8(output(&[verb, "--help"])).unwrap();
        let words = help.split_whitespace().map(|word| word.trim_matches([',', '.', '`']));
        let options = help.lines().filter_map(|line| {
            let (_, option) = line.trim_start().strip_prefix('-')?.split_once('-')?;
            let option = option.trim_start_matches('-');
            Some(format!("--{}", option.split([' ', '\n']).next().unwrap()))
        });
        let mut options: BTreeSet<String> = options.collect();
        assert!(words.count() > 10 && options.len() > 2, "{help}");
        options.retain(|option| !["--help", "--verbose"].contains(&&**option));
        options.retain(|option| !option.ends_with(']')); // an alias of another one
        let listed: BTreeSet<_> = flags.iter().map(|(flag, ..)| (*flag).to_owned()).collect();
        assert_eq!(options, listed, "{verb}");
    }
}

#[test]
fn an_option_is_served_or_refused_for_every_format() {
    let files = files();
    for (verb, flags) in TABLE {
        for &(_, given, formats) in flags {
            for (format, file) in files.iter().enumerate() {
                let folder = Folder::new();
                let out =
                    folder.path(["out.sion", "out.gsd", "out.ffr", "out.nc", "out.nc"][format]);
                let needs = needs(verb, format, &out);
                let needs: Vec<_> = needs.iter().map(String::as_str).collect();
                let args = [&[verb, file][..], &needs, given].concat();
                let assert = striae(&args).assert();
                let output = assert.get_output();
                let (stderr, code) =
                    (String::from_utf8_lossy(&output.stderr), output.status.code().unwrap());
                if formats.contains(&format) {
                    // Whether it is damaged is another question.
                    assert!(code == 0, "{args:?}: {code} {stderr}");
                } else {
                    assert_eq!(code, 2, "{args:?}: {stderr}");
                    assert!(folder.names().is_empty(), "{args:?} made something");
                    // `verify --json` says also in JSON that it cannot verify a file.
                    let is_json = verb == "verify" && args.contains(&"--json");
                    assert!(is_json || output.stdout.is_empty(), "{args:?}");
                    assert!(!stderr.is_empty(), "{args:?}");
                }
            }
        }
    }
}

#[test]
fn text_and_rows_are_refused_for_what_has_no_type() {
    let [set, _, samples, ..] = files();
    for (file, which) in [(&set, "task/0"), (&set, "rank/0"), (&samples, "sample/0")] {
        let typed = "GSD, netCDF and E3SM-IO blob";
        for (more, of) in [(&["--text"][..], typed), (&["--rows", "0..1"], "GSD")] {
            let says = format!("; {} is for {of} files", more[0]);
            refused(&[&["cat", file, which][..], more].concat(), 2, &says);
        }
    }
    refused(&["extract", &samples, "/nonexistent/x", "--threads", "2"], 2, "for SIONlib sets");
}

#[test]
fn pack_refuses_what_its_format_does_not_have() {
    let folder = Folder::new();
    let (source, out) = (folder.write("a", "bytes"), folder.path("out.ffr"));
    for flag in ["--chunksize=9", "--nfiles=2", "--fsblksize=9", "--order=big", "--threads=1"] {
        let args = ["pack", "--format", "ffrecord", flag, &out, &source];
        let name = flag.split('=').next().unwrap();
        let says = format!("is to be an ffrecord file; {name} is for SIONlib sets");
        refused(&args, 2, &says);
    }
    for (format, kind) in [("blob", "an E3SM-IO blob file"), ("map", "a netCDF file")] {
        let says = format!("is to be {kind}; --direct is for SIONlib and ffrecord files");
        refused(&["pack", "--format", format, "--direct", &out, &source], 2, &says);
    }
    let says = "is to be an ffrecord file; --seal is for SIONlib and E3SM-IO blob files";
    refused(&["pack", "--format", "ffrecord", "--seal", &out, &source], 2, says);
    output(&["pack", "--format", "ffrecord", "--force", "--direct", &out, &source]);
}

/// Each verb, what it needs besides the file, and the formats that do not have it.
const VERBS: [(&str, &[&str], &[Format]); 11] = [
    ("info", &[], &[]),
    ("ls", &[], &[]),
    ("dump", &[], &[]),
    ("cat", &["frame/9/x"], &[Format::Map]),
    ("extract", &["OUT"], &[Format::Map]),
    ("convert", &["OUT"], &[Format::Ffrecord]),
    ("recover", &["OUT"], &[Format::Ffrecord]),
    ("verify", &[], &[]),
    ("map", &[], &[]),
    ("log", &[], &[Format::Sion, Format::Ffrecord, Format::Cdf, Format::Blob, Format::Map]),
    (
        "append",
        &["task/0", "/nonexistent/x"],
        &[Format::Gsd, Format::Ffrecord, Format::Cdf, Format::Blob, Format::Map],
    ),
];

#[test]
fn a_verb_is_refused_for_the_formats_that_do_not_have_it_and_for_no_others() {
    for (word, more, without) in VERBS {
        for (format, file) in Format::ALL.into_iter().zip(files()) {
            let folder = Folder::new();
            let out = folder.path(&format!("out.{}", format.ending()));
            let mut args = vec![word, &file];
            args.extend(more.iter().map(|&arg| if arg == "OUT" { &*out } else { arg }));
            let stderr = striae(&args).assert().get_output().stderr.clone();
            let says = format!("this verb does not support {}: ", format.files());
            let is_refused = String::from_utf8(stderr).unwrap().contains(&says);
            assert_eq!(is_refused, without.contains(&format), "{word} {format}");
        }
    }
}

#[test]
fn a_flag_is_refused_also_if_what_is_given_is_what_it_stands_for() {
    let [_, gsd, ..] = files();
    let says = "is a GSD file; --nfiles is for SIONlib sets";
    refused(&["convert", "--nfiles", "1", &gsd, "/nonexistent/out.gsd"], 2, says);
}
