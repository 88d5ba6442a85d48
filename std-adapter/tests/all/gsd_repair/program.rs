//! The verbs: exit status, reports, one line for an error, and what is left behind.

use super::*;
use assert_cmd::Command;
use made::frames_of;
use predicates::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use striae::gsd::File;
use striae_core::gsd::{Attributes, Logger};

/// A folder with one file in it.
pub(crate) struct Folder {
    dir: TempDir,
    bytes: Vec<u8>,
}

impl Folder {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        let dir = crate::in_memory();
        fs::write(dir.path().join("a.gsd"), &bytes).unwrap();
        Self { dir, bytes }
    }

    fn golden(name: &str) -> Self {
        Self::new(fs::read(golden_dir().join(format!("{name}.gsd"))).unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn names(&self) -> BTreeSet<String> {
        let entries = fs::read_dir(self.dir.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// Runs a verb on `a.gsd` in this folder; that file stays as it is.
    pub(crate) fn run(&self, verb: &str, args: &[&str], status: i32) -> assert_cmd::assert::Assert {
        let mut command = Command::new(env!("CARGO_BIN_EXE_striae"));
        command.current_dir(self.dir.path()).args([verb, "a.gsd"]).args(args);
        let assert = command.assert().code(status);
        assert_eq!(fs::read(self.path("a.gsd")).unwrap(), self.bytes, "the file was touched");
        assert
    }

    pub(crate) fn json(&self, verb: &str, args: &[&str], status: i32) -> Value {
        let assert = self.run(verb, &[args, &["--json"]].concat(), status).stderr("");
        let out = &assert.get_output().stdout;
        assert_eq!(out.iter().filter(|&&byte| byte == b'\n').count(), 1);
        serde_json::from_slice(out).unwrap()
    }

    /// Expects this status, one line on stderr that contains `text`, and nothing new in the folder.
    fn refused(&self, verb: &str, args: &[&str], status: i32, text: &str) {
        let names = self.names();
        let one_line = predicate::function(|stderr: &str| stderr.lines().count() == 1);
        let says = predicate::str::starts_with("striae: ").and(predicate::str::contains(text));
        self.run(verb, args, status).stdout("").stderr(one_line.and(says));
        assert_eq!(self.names(), names);
    }
}

#[test]
fn verify_of_a_sound_file_is_status_0() {
    let folder = Folder::golden("v21_zero_size");
    let note = predicate::str::starts_with("note   a.gsd: index.n of ");
    let sound = "a.gsd: structure sound, data not checked: no commit record, ";
    let sound = predicate::str::contains(sound);
    folder.run("verify", &[], 0).stderr("").stdout(note.and(sound));
    let report = folder.json("verify", &[], 0);
    assert_eq!((&report["sound"], &report["damage"]), (&json!(true), &json!(0)));
    let counts = (&report["format"], &report["gsd_version"], &report["state"]);
    assert_eq!(counts, (&json!("gsd"), &json!("2.1"), &json!("no commit record")));
    let finding = &report["findings"][0];
    assert_eq!((&finding["severity"], &finding["kind"]), (&json!("note"), &json!("no_rows")));
}

#[test]
fn verify_names_file_field_offset_and_value_of_what_is_damaged() {
    let folder = Folder::golden("bad_entry3_type_12");
    let line = "damage a.gsd: index.kind at offset 382 is 12, must be 1 to 11\n";
    let verdict = "a.gsd: damaged: no commit record, 3 frames, 9 chunks, 0 with checksums, ";
    let says = predicate::str::starts_with(line).and(predicate::str::contains(verdict));
    folder.run("verify", &[], 1).stderr("").stdout(says);
    let report = folder.json("verify", &["--limit", "1"], 1);
    assert_eq!((&report["sound"], &report["damage"]), (&json!(false), &json!(1)));
    let expected = json!([{
        "severity": "damage", "kind": "no_type", "file": "a.gsd", "field": "index.kind",
        "offset": 382, "value": 12, "min": 1, "max": 11,
        "finding": "index.kind at offset 382 is 12, must be 1 to 11",
    }]);
    assert_eq!(report["findings"], expected);
}

#[test]
fn recover_of_a_sound_file_of_gsd_is_status_0_and_says_that_it_is_as_found() {
    let folder = Folder::golden("v21_hoomd_varying_N");
    let frames = frames_of(&folder.path("a.gsd")).unwrap();
    let last = frames.len() - 1;
    let says = predicate::str::starts_with(format!(
        "frames 0 to {last}: as found: the header shows them, no checksum covers them\n\
         out.gsd: as found: 0 of "
    ));
    folder.run("recover", &["out.gsd"], 0).stderr("").stdout(says);
    assert_eq!(frames_of(&folder.path("out.gsd")).unwrap(), frames);
    // What was made of it has a commit record.
    let again = Folder::new(fs::read(folder.path("out.gsd")).unwrap());
    let says = predicate::str::contains(
        "as found: their entries are as committed, their data not checked\nout.gsd: as found: 0 of ",
    );
    again.run("recover", &["out.gsd"], 0).stderr("").stdout(says);
}

/// No reader of the schema could read such a chunk, in the old file or in the new one.
#[test]
fn recover_of_what_the_schema_forbids_leaves_it_out_and_says_what_it_is() {
    let mut bytes = fs::read(golden_dir().join("v21_hoomd_varying_N.gsd")).unwrap();
    let (_dir, path) = file_of(&bytes);
    let file = File::open(&path).unwrap();
    let position = file.chunk(0, "particles/position").unwrap();
    let slot = file.chunks().position(|chunk| chunk.unwrap() == position);
    let entry = file.head().index().offset_of(slot.unwrap() as u64) as usize;
    assert_eq!(bytes[entry + 30], 9); // float32
    bytes[entry + 30] = 3; // uint32
    let folder = Folder::new(bytes);
    let says =
        predicate::str::contains("\nforbidden by the schema: chunk particles/position of frame 0 ")
            .and(predicate::str::starts_with(
                "frame 0: lost: the schema forbids the chunk of name ",
            ))
            .and(predicate::str::contains("\nout.gsd: a part is lost: "));
    folder.run("recover", &["out.gsd"], 1).stderr("").stdout(says);
    let report = folder.json("recover", &["out.gsd", "--force"], 1);
    assert_eq!((&report["sound"], &report["counts"]["lost"]), (&json!(false), &json!(1)));
    let forbidden = report["forbidden"].as_str().unwrap();
    assert!(forbidden.starts_with("chunk particles/position of frame 0 "), "{forbidden}");
    let again = Folder::new(fs::read(folder.path("out.gsd")).unwrap());
    again.run("verify", &[], 0).stderr("");
}

#[test]
fn recover_says_of_each_frame_how_it_fared() {
    let folder = Folder::golden("bad_entry3_type_12");
    let report = folder.json("recover", &["out.gsd"], 1);
    let row = |frame, first: Option<u64>, word, why: &str| {
        let mut row = json!({"from": frame, "to": frame + 1, "word": word, "why": why});
        if let Some(first) = first {
            row["first"] = json!(first);
        }
        row
    };
    let as_found = "the header shows them, no checksum covers them";
    let expected = json!({
        "word": "lost", "sound": false, "frames": 2,
        "counts": {"exact": 0, "as found": 2, "guess": 0, "lost": 1},
        "data": {"bytes": 240, "checked": 0}, "lost_entries": 0, "invented": [],
        "runs": [
            row(0, Some(0), "as found", as_found),
            row(1, None, "lost", "an entry is damaged"),
            row(2, Some(1), "as found", as_found),
        ],
    });
    assert_eq!(report, expected);
    assert_eq!(File::open(folder.path("out.gsd")).unwrap().frames(), 2);
    let says = "frame 1: lost: an entry is damaged\n\
                frame 2: as found: the header shows them, no checksum covers them; \
                from 1 on in the new file\n\
                out.gsd: a part is lost: 0 of 240 bytes of data compared with checksums; \
                2 frames, 0 guessed, 1 lost\n";
    let says = predicate::str::ends_with(says);
    folder.run("recover", &["out.gsd", "--force"], 1).stderr("").stdout(says);
}

#[test]
fn recover_of_a_file_with_a_damaged_header_is_a_guess() {
    let folder = Folder::golden("bad_version_0_9");
    let report = folder.json("recover", &["out.gsd"], 1);
    assert_eq!((&report["word"], &report["frames"]), (&json!("guess"), &json!(3)));
    assert_eq!(report["runs"][0]["why"], "the header is damaged");
}

/// As a card leaves a log whose header was being written when the power went: all that the later
/// shadow has is saved, without the texts that nobody knows.
#[test]
fn a_lost_first_sector_costs_no_frame_if_the_format_is_named() {
    for (commits, fill) in [(5_u32, 0xFF), (6, 0x00), (7, 0xA5)] {
        let mut card = vec![0xFF; 1 << 17];
        let about = Attributes { application: "probe", align: 512, ..Attributes::default() };
        let mut log = Logger::<_, 4>::open_or_create(card.as_mut_slice(), &about).unwrap();
        let id = log.name("t").unwrap();
        for frame in 0..commits {
            log.write(id, &[[frame]]).unwrap();
            log.end_frame().unwrap();
        }
        card[..512].fill(fill);
        let folder = Folder::new(card);
        folder.refused("recover", &["b.gsd"], 2, "neither a SIONlib file nor a GSD");
        let alone = ["b.gsd", "--format", "gsd", "--alone"];
        folder.refused("recover", &alone, 2, "is a GSD file; --alone is for SIONlib sets");
        let report = folder.json("recover", &["b.gsd", "--format", "gsd"], 1);
        assert_eq!(
            (&report["frames"], &report["counts"]["guess"]),
            (&json!(commits), &json!(commits))
        );
        let file = File::open(folder.path("b.gsd")).unwrap();
        for frame in 0..commits {
            let chunk = file.find(frame.into(), "t").unwrap().unwrap();
            assert_eq!(file.read::<u32>(&chunk).unwrap(), [frame]);
        }
        let header = file.header();
        assert!(header.application.as_bytes().is_empty() && header.schema.as_bytes().is_empty());
    }
}

#[test]
fn what_cannot_be_recovered_leaves_nothing() {
    for (bytes, text) in [
        (
            &b"hello"[..],
            "a.gsd: is neither a SIONlib file nor a GSD, ffrecord or netCDF file: it starts with \"hello\"",
        ),
        (b"", "a.gsd: is neither a SIONlib file nor a GSD, ffrecord or netCDF file: it is empty"),
    ] {
        let folder = Folder::new(bytes.to_vec());
        folder.refused("recover", &["out.gsd"], 2, text);
        folder.refused("recover", &["out.gsd", "--json"], 2, text);
        folder.refused("verify", &[], 2, text);
        folder.refused("convert", &["out.gsd"], 2, text);
    }
    let header = fs::read(golden_dir().join("v21_empty.gsd")).unwrap();
    Folder::new(header[..100].to_vec()).refused("recover", &["out.gsd"], 2, "ends at 100");
    let folder = Folder::golden("v21_empty");
    folder.refused("recover", &["no/out.gsd"], 2, "no/out.gsd: its folder does not exist");
    folder.refused("convert", &["no/out.gsd"], 2, "no/out.gsd: its folder does not exist");
}

#[test]
fn nothing_is_overwritten_unless_told() {
    for verb in ["recover", "convert"] {
        let folder = Folder::golden("v21_sparse_chunks");
        fs::write(folder.path("out.gsd"), "mine").unwrap();
        folder.refused(verb, &["out.gsd"], 2, "out.gsd: exists already; --force replaces it\n");
        let says = match verb {
            "recover" => "a.gsd: is a source, and would be replaced\n",
            _ => "a.gsd: exists already; --force replaces it\n",
        };
        folder.refused(verb, &["a.gsd"], 2, says);
        assert_eq!(fs::read(folder.path("out.gsd")).unwrap(), b"mine");
        folder.run(verb, &["out.gsd", "--force"], 0).stderr("");
        let frames = frames_of(&folder.path("a.gsd")).unwrap();
        assert_eq!(frames_of(&folder.path("out.gsd")).unwrap(), frames);
        assert_eq!(folder.names().len(), 2);
    }
}

#[test]
fn convert_takes_frames_alignment_and_checksums() {
    let folder = Folder::golden("v21_realloc_500_flush");
    let frames = frames_of(&folder.path("a.gsd")).unwrap();
    let flags = ["out.gsd", "--frames", "100..200:50", "--align", "512", "--checksums"];
    folder.run("convert", &flags, 0).stdout("").stderr("");
    let out = folder.path("out.gsd");
    assert_eq!(frames_of(&out).unwrap(), [frames[100].clone(), frames[150].clone()]);
    let file = File::open(&out).unwrap();
    assert!(file.state().record().unwrap().checksums);
    assert!(file.chunks().all(|chunk| chunk.unwrap().span.offset() % 512 == 0));
    let sealed = Folder::new(fs::read(&out).unwrap());
    let report = sealed.json("verify", &[], 0);
    assert!(report["checked"].as_u64().unwrap() > 0);
    // As they are said to be kept, and to be left out.
    sealed.run("convert", &["kept.gsd"], 0).stdout("").stderr("");
    sealed.run("convert", &["bare.gsd", "--no-checksums"], 0).stdout("").stderr("");
    let is_sealed =
        |name| File::open(sealed.path(name)).unwrap().state().record().unwrap().checksums;
    assert_eq!((is_sealed("kept.gsd"), is_sealed("bare.gsd")), (true, false));
}

#[test]
fn convert_upgrades_if_it_is_told_to() {
    let folder = Folder::golden("v10_all_types");
    let frames = frames_of(&folder.path("a.gsd")).unwrap();
    for (flags, version) in [(&["b.gsd"][..], "1.0"), (&["c.gsd", "--upgrade"], "2.1")] {
        folder.run("convert", flags, 0).stdout("").stderr("");
        let file = File::open(folder.path(flags[0])).unwrap();
        assert_eq!(file.header().version.to_string(), version);
        assert_eq!(frames_of(&folder.path(flags[0])).unwrap(), frames);
    }
}

#[test]
fn convert_refuses_what_there_is_not_in_one_line() {
    let folder = Folder::golden("v21_sparse_chunks");
    let refused = |flags: &[&str], text| {
        folder.refused("convert", &[&["out.gsd"], flags].concat(), 2, text);
    };
    refused(&["--frames", "0..999"], "a.gsd: there is no frame 998, frames are 0 to ");
    refused(&["--align", "3"], "--align cannot be 3, must be a power of two");
    refused(&["--align", "0"], "--align cannot be 0, must be a power of two");
    refused(&["--nfiles", "2"], "a.gsd: is a GSD file; --nfiles is for SIONlib sets");
    let damaged = Folder::golden("bad_entry3_type_12");
    let text = "a.gsd: index.kind at offset 382 is 12, must be 1 to 11";
    damaged.refused("convert", &["out.gsd"], 1, text);
    damaged.run("convert", &["out.gsd", "--frames", "0..1"], 0).stdout("").stderr("");
}

/// A frame's number costs nothing in a file, and slots and time in the new one.
#[test]
fn a_number_of_frames_that_no_writer_made_is_refused() {
    let mut bytes = fs::read(golden_dir().join("bad_version_2_9_accepted.gsd")).unwrap();
    bytes[512..520].copy_from_slice(&(1_u64 << 39).to_le_bytes());
    let folder = Folder::new(bytes);
    let text = "a.gsd: index.frame at offset 512 is 549755813888, must be at most 5735";
    folder.refused("convert", &["out.gsd"], 1, text);
    folder.run("convert", &["out.gsd", "--frames", "..2"], 0).stdout("").stderr("");
    folder.run("recover", &["saved.gsd"], 1).stderr("");
    let saved = frames_of(&folder.path("saved.gsd")).unwrap();
    assert_eq!(saved, frames_of(&folder.path("out.gsd")).unwrap());
}

/// Where gsd refuses a file that it has written itself, recovering and converting make one that it
/// reads.
#[test]
fn more_frames_than_slots_are_saved_and_are_no_more_in_the_new_file() {
    let mut bytes = fs::read(golden_dir().join("bad_version_2_9_accepted.gsd")).unwrap();
    bytes[512..520].copy_from_slice(&200_u64.to_le_bytes());
    let folder = Folder::new(bytes);
    assert_eq!(folder.json("verify", &[], 0)["findings"][1]["kind"], "many_frames");
    for verb in ["recover", "convert"] {
        let out = folder.path(verb);
        folder.run(verb, &[verb], 0).stderr("");
        assert_eq!(frames_of(&out).unwrap(), frames_of(&folder.path("a.gsd")).unwrap());
        assert!(File::open(&out).unwrap().header().index.slots >= 201);
    }
}
