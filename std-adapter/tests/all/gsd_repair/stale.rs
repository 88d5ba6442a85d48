//! Files of ours that gsd has appended to: what they had and have no more is told.

use super::*;
use made::frames_of;
use striae::Verify;
use striae::finding::Facts;
use striae::gsd::convert::Convert;
use striae::gsd::recover::Recover;
use striae::gsd::verify::{Basis, Finding, Summary};
use striae::gsd::{File, FileWriter, Stale};
use striae_kit::adapter::{keep_warnings, warnings};
use striae_kit::gsd_stock::{Chunk, Stock};

/// What a file gives its frames, and how that is said.
const GIVEN: [(u64, bool, Option<&str>); 4] = [
    (1, false, None),
    (512, false, Some("alignment to 512")),
    (1, true, Some("checksums")),
    (4096, true, Some("checksums and alignment to 4096")),
];

/// A file of three frames of ours and one of gsd's.
fn appended(align: u64, checksums: bool) -> Vec<u8> {
    let made = Made::new(Shape { align, checksums, ..Shape::default() });
    let mut stock = Stock::open(&made.bytes, 1);
    stock.flush(&[Chunk { frame: 3, name: b"step", bytes: b"12345678" }], None);
    stock.file
}

fn found(path: &Path) -> (Summary, Vec<Finding>) {
    let mut findings = Vec::new();
    let summary = Verify::new().gsd(path, &mut |finding| findings.push(finding)).unwrap();
    assert_eq!(summary.damage, 0, "{findings:?}");
    (summary, findings)
}

/// The only finding of this kind, if there is one.
fn of_kind<'a>(findings: &'a [Finding], kind: &str) -> Option<(&'a Finding, Facts)> {
    let mut findings = findings.iter().filter(|finding| finding.facts().kind == kind);
    let one = findings.next();
    assert!(findings.next().is_none(), "{one:?}");
    one.map(|finding| (finding, finding.facts()))
}

#[test]
fn what_an_append_of_gsd_ends_is_told_before_and_behind_the_adoption() {
    keep_warnings();
    for (align, checksums, given) in GIVEN {
        let (dir, path) = file_of(&appended(align, checksums));
        let mut frames = frames_of(&path).unwrap();
        // Who reads.
        let (summary, findings) = found(&path);
        assert_eq!((summary.basis, summary.frames), (Some(Basis::Appended), 4));
        assert_eq!(summary.checked > 0, checksums, "frames of ours keep theirs");
        let (stale, _) = of_kind(&findings, "appended").unwrap();
        let text = "the commit record at offset 176 is older than what gsd has appended".to_owned();
        let more = |given| {
            format!(
                "{text}: what came since has not the {given} that it says, nor has what striae \
                 adds; convert gives all of it anew"
            )
        };
        assert_eq!(stale.what.to_string(), given.map_or(text.clone(), more));
        let file = File::open(&path).unwrap();
        assert_eq!(Stale::of(file.head()).map(|stale| stale.to_string()).as_deref(), given);
        drop(file);
        // Who writes on.
        let mut writer = FileWriter::reopen(&path).unwrap();
        assert_eq!(writer.stale().map(|stale| stale.to_string()).as_deref(), given);
        let warned = given.map(|given| {
            let path = path.display();
            format!("{path}: gsd has appended: what is written now is without {given}")
        });
        assert_eq!(warnings(&path), Vec::from_iter(warned));
        writer.write("step", &[7_u64], 1).unwrap();
        writer.end_frame().unwrap();
        writer.close().unwrap();
        // Behind it the frames that have checksums tell that others have none.
        let (summary, findings) = found(&path);
        assert!(matches!(summary.basis, Some(Basis::Committed(_))));
        assert!(of_kind(&findings, "appended").is_none());
        let unsealed = of_kind(&findings, "frames_unsealed").map(|(_, facts)| facts);
        let unsealed = unsealed.map(|facts| (facts.frame, facts.count));
        assert_eq!(unsealed, checksums.then_some((Some(3), Some(2))));
        let file = File::open(&path).unwrap();
        let record = file.state().record().unwrap();
        assert_eq!((record.align, record.checksums, Stale::of(file.head())), (0, false, None));
        assert_eq!(FileWriter::reopen(&path).unwrap().stale(), None);
        // All of it has both when it is converted.
        let out = dir.path().join("out.gsd");
        Convert::new().align(align).checksums(checksums).run(&file, &out, &|_| {}).unwrap();
        let (summary, findings) = found(&out);
        assert!(of_kind(&findings, "frames_unsealed").is_none());
        assert_eq!(summary.checked > 0, checksums);
        assert!(
            File::open(&out).unwrap().chunks().all(|it| it.unwrap().span.offset() % align == 0)
        );
        frames.push([(b"step".to_vec(), frame_values(7))].into());
        assert_eq!(frames_of(&out), Ok(frames));
    }
}

#[test]
fn what_an_append_of_gsd_ended_is_given_to_all_frames_when_they_are_written_anew() {
    for (align, checksums, _) in GIVEN {
        let (dir, path) = file_of(&appended(align, checksums));
        let frames = frames_of(&path);
        let out = dir.path().join("out.gsd");
        for is_recovered in [false, true] {
            if is_recovered {
                let recovery = Recover::new()
                    .output(striae::Output::new().force(true))
                    .examine(&path)
                    .unwrap();
                recovery.write(&out, &|_| {}).unwrap();
            } else {
                Convert::new().run(&File::open(&path).unwrap(), &out, &|_| {}).unwrap();
            }
            let (_, findings) = found(&out);
            assert!(of_kind(&findings, "frames_unsealed").is_none(), "{findings:?}");
            let file = File::open(&out).unwrap();
            let record = file.state().record().unwrap();
            assert_eq!((1 << record.align, record.checksums), (align, checksums));
            assert_eq!(frames_of(&out), frames);
            assert!(file.chunks().all(|it| it.unwrap().span.offset() % align == 0));
        }
    }
}

fn frame_values(step: u64) -> made::Values {
    (striae_core::gsd::ChunkType::U64, 1, 1, step.to_le_bytes().to_vec())
}

#[test]
fn a_wrong_bit_is_damage_in_frames_from_before_the_append_only() {
    let bytes = appended(1, true);
    let (_dir, path) = file_of(&bytes);
    let file = File::open(&path).unwrap();
    let spans: Vec<_> = file.chunks().map(|chunk| chunk.unwrap()).collect();
    for chunk in spans {
        let mut bytes = bytes.clone();
        bytes[chunk.span.offset() as usize] ^= 1;
        let (_dir, path) = file_of(&bytes);
        let summary = Verify::new().gsd(&path, &mut |_| {}).unwrap();
        assert_eq!(summary.is_sound(), chunk.frame == 3, "{chunk:?}");
    }
}

#[cfg(feature = "cli")]
#[test]
fn the_program_says_what_is_gone_with_a_stale_record() {
    use predicates::prelude::*;
    use serde_json::json;
    for (align, checksums, given) in GIVEN {
        let folder = program::Folder::new(appended(align, checksums));
        let info = folder.json("info", &[], 0);
        let stale = json!({"align": align, "checksums": checksums});
        let stale = if given.is_some() { stale } else { json!(null) };
        assert_eq!((&info["record"], &info["stale"]), (&json!("appended"), &stale));
        let line = given.map(|given| {
            format!("gone with it        {given}, of what came since and is to come\n")
        });
        let says = predicate::str::contains(line.unwrap_or_default());
        folder.run("info", &[], 0).stderr("").stdout(says);
        let says = predicate::str::contains(format!("has not the {}", given.unwrap_or_default()));
        let verified = folder.run("verify", &[], 0).stderr("");
        assert_eq!(
            says.eval(&String::from_utf8_lossy(&verified.get_output().stdout)),
            given.is_some()
        );
    }
}
