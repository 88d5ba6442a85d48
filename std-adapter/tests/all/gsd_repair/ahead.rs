//! Files whose header is one commit behind what a shadow proves: the power went after the sync of a
//! commit of one sync.

use super::*;
use made::{frame_of, frames_of, write_frame};
use striae::Verify;
use striae::gsd::convert::Convert;
use striae::gsd::recover::Recover;
use striae::gsd::verify::{Basis, Finding, Severity, Summary};
use striae::gsd::{File, FileWriter, OpenOptions};
use striae_core::gsd::{Attributes, Slot, State, Writer};
use striae_kit::growing::Growing;
use striae_kit::gsd_files::{image, with_image};
use striae_kit::gsd_stock::{Chunk, Stock};

/// The file after each of some commits of a frame. Those from the third one on add no names, so
/// they take one sync.
fn commits(checksums: bool) -> Vec<Vec<u8>> {
    let about = Attributes { one_sync: true, checksums, ..Attributes::default() };
    let mut writer = Writer::create(Growing::default(), &about, [Slot::EMPTY; 16]).unwrap();
    let mut commit = |number| {
        write_frame(&mut writer, &frame_of(number));
        writer.commit().unwrap();
        writer.store().0.clone()
    };
    (0..6).map(&mut commit).collect()
}

fn found(path: &Path) -> (Summary, Vec<Finding>) {
    let mut findings = Vec::new();
    let summary = Verify::new().gsd(path, &mut |finding| findings.push(finding)).unwrap();
    (summary, findings)
}

/// Numbers of the commits and files with the header of one and all else of the next.
fn files(checksums: bool) -> Vec<(u32, Vec<u8>)> {
    let commits = commits(checksums);
    let pairs = (1..).zip(commits.windows(2)).skip(1);
    pairs.map(|(number, two)| (number, with_image(&two[1], &image(&two[0])))).collect()
}

#[test]
fn a_commit_that_only_a_shadow_proves_is_noted_and_read() {
    for (shown, bytes) in files(true).into_iter().chain(files(false)) {
        let (_dir, path) = file_of(&bytes);
        let (proven, shadow) = (shown + 1, 512 + 256 * (u64::from(shown + 1) % 2));
        let (summary, findings) = found(&path);
        assert_eq!((summary.basis, summary.damage), (Some(Basis::Ahead(proven)), 0));
        assert_eq!(summary.frames, u64::from(proven));
        assert_eq!(File::open(&path).unwrap().frames(), summary.frames);
        let ahead: Vec<_> = findings.iter().filter(|it| it.facts().kind == "ahead").collect();
        let [ahead] = ahead[..] else { panic!("{findings:?}") };
        assert_eq!(ahead.severity, Severity::Note);
        assert_eq!(
            ahead.what.to_string(),
            format!(
                "commit.sequence at offset 224 is {shown}, but the shadow at offset {shadow} proves \
                 commit {proven}: gsd sees an older one until striae writes to the file, and \
                 if it appends first, what is later is lost"
            )
        );
        let facts = ahead.facts();
        assert_eq!(facts.value, Some(striae::finding::Value::Integer(shown.into())));
        assert_eq!((facts.offset, facts.expected), (Some(224), Some(proven.into())));
    }
}

#[test]
fn gsd_sees_the_commit_before_and_a_writer_of_striae_lets_it_see_this_one() {
    for checksums in [false, true] {
        let commits = commits(checksums);
        for (number, bytes) in files(checksums) {
            let (before, behind) =
                (&commits[number as usize - 1], Stock::open(&commits[number as usize], 1));
            let mut stock = Stock::open(&bytes, 1);
            assert_eq!(stock.chunks(), Stock::open(before, 1).chunks());
            assert_ne!(stock.chunks(), behind.chunks());
            // It appends, and the commit is lost.
            let frame = u64::from(number);
            stock.flush(&[Chunk { frame, name: b"step", bytes: b"12345678" }], None);
            let (_dir, path) = file_of(&stock.file);
            let file = File::open(&path).unwrap();
            assert_eq!((file.state(), file.frames()), (&State::Appended, frame + 1));
            assert_eq!(file.read_bytes(&file.chunk(frame, "step").unwrap()).unwrap(), b"12345678");
            // A writer that only looks has done enough.
            let (_dir, path) = file_of(&bytes);
            let mut writer = FileWriter::reopen(&path).unwrap();
            assert_eq!(writer.frames(), frame + 1);
            writer.close().unwrap();
            let settled = fs::read(&path).unwrap();
            assert_eq!(Stock::open(&settled, 1).chunks(), behind.chunks());
            let (summary, findings) = found(&path);
            assert_eq!(summary.basis, Some(Basis::Committed(number + 1)), "{findings:?}");
        }
    }
}

#[test]
fn recover_saves_the_commit_that_a_shadow_proves_with_its_proof() {
    for (number, bytes) in files(true).into_iter().chain(files(false)) {
        let (dir, path) = file_of(&bytes);
        let recovery = Recover::new().examine(&path).unwrap();
        let runs: Vec<_> = recovery.runs().collect();
        assert!(recovery.is_complete(), "{runs:?}");
        let is_sealed = recovery.attributes().checksums;
        assert_eq!(recovery.is_exact(), is_sealed, "{runs:?}");
        assert!(runs.iter().all(|run| is_proven(&run.certainty)), "{runs:?}");
        assert_eq!((recovery.frames(), recovery.lost()), (u64::from(number) + 1, 0));
        let out = dir.path().join("out.gsd");
        recovery.write(&out, &|_| {}).unwrap();
        let want: Vec<_> = (0..=u64::from(number)).map(frame_of).collect();
        assert_eq!(frames_of(&out), Ok(want));
        assert!(matches!(File::open(&out).unwrap().state(), State::Committed(_)));
    }
}

#[test]
fn checked_reading_and_converting_take_the_commit_that_a_shadow_proves() {
    for (number, bytes) in files(true).into_iter().chain(files(false)) {
        let (dir, path) = file_of(&bytes);
        let want: Vec<_> = (0..=u64::from(number)).map(frame_of).collect();
        let file = OpenOptions::new().checked(true).open(&path).unwrap();
        assert!(matches!(file.state(), State::Ahead(_)));
        for chunk in file.chunks() {
            file.read_bytes(&chunk.unwrap()).unwrap();
        }
        let out = dir.path().join("out.gsd");
        Convert::new().run(&file, &out, &|_| {}).unwrap();
        assert_eq!(frames_of(&out), Ok(want));
    }
}

#[test]
fn a_header_that_is_torn_and_behind_is_verified_and_recovered_as_it_is_read() {
    let commits = commits(true);
    for (number, three) in (2..).zip(commits[1..].windows(3)) {
        let [before, behind] = [&three[0], &three[1]].map(|file| image(file));
        let want: Vec<_> = (0..number + 2).map(frame_of).collect();
        for cut in 0..=behind.len() {
            let torn = [&behind[..cut], &before[cut..]].concat();
            let (_dir, path) = file_of(&with_image(&three[2], &torn));
            let (summary, findings) = found(&path);
            let basis = Some(Basis::Ahead(number as u32 + 2));
            assert_eq!((summary.basis, summary.frames), (basis, number + 2), "cut at {cut}");
            let kinds: Vec<_> = findings.iter().map(|finding| finding.facts().kind).collect();
            let is_torn = torn != before && torn != behind;
            assert_eq!(kinds.contains(&"torn"), is_torn, "cut at {cut}: {kinds:?}");
            assert!(kinds.contains(&"ahead"), "cut at {cut}: {kinds:?}");
            // What gsd looks at is that of one commit, or of the other.
            let is_whole = [&before[..40], &behind[..40]].contains(&&torn[..40]);
            assert_eq!(summary.is_sound(), is_whole, "cut at {cut}: {findings:?}");
            assert_eq!(frames_of(&path).as_ref(), Ok(&want));
            let recovery = Recover::new().examine(&path).unwrap();
            assert!(recovery.is_exact(), "cut at {cut}");
            assert_eq!(recovery.frames(), number + 2);
        }
    }
}

/// It was cut off, or is damaged: nobody knows.
#[test]
fn a_commit_of_which_a_byte_is_missing_is_noted_and_the_one_before_it_is_not_called_complete() {
    let commits = commits(true);
    let [before, behind] = [&commits[3], &commits[4]];
    let differing = (1024..behind.len()).filter(|&at| before.get(at) != Some(&behind[at]));
    let differing: Vec<_> = differing.collect();
    assert!(differing.len() > 80, "{}", differing.len());
    // Also after another one that only a shadow proves.
    let headers = [(before, Basis::Committed(4)), (&commits[2], Basis::Ahead(4))];
    let all = headers.into_iter().flat_map(|of| differing.iter().map(move |&at| (of, at)));
    for ((header, basis), at) in all {
        let mut bytes = with_image(behind, &image(header));
        bytes[at] ^= 4;
        let (_dir, path) = file_of(&bytes);
        let (summary, findings) = found(&path);
        assert_eq!((summary.basis, summary.frames), (Some(basis), 4), "byte {at}");
        assert!(summary.is_sound(), "byte {at}: {findings:?}");
        let mut unproven = findings.iter().filter(|finding| finding.facts().kind == "unproven");
        let shown = unproven.next().unwrap().facts().value;
        assert_eq!(shown, Some(striae::finding::Value::Integer(5)), "byte {at}");
        let recovery = Recover::new().examine(&path).unwrap();
        assert_eq!((recovery.is_complete(), recovery.lost_entries()), (false, None), "byte {at}");
        assert!(recovery.runs().all(|run| is_proven(&run.certainty)), "byte {at}");
        assert_eq!(recovery.frames(), 4);
    }
}

#[cfg(feature = "cli")]
#[test]
fn the_program_says_of_a_file_that_is_ahead_that_it_is_sound_and_what_gsd_sees() {
    use predicates::prelude::*;
    let (_, bytes) = files(true).pop().unwrap();
    let folder = program::Folder::new(bytes);
    let note = predicate::str::contains("note   a.gsd: commit.sequence at offset 224 is 5, but ");
    let sound = "a.gsd: sound: commit 6, ahead of the header, 6 frames, ";
    let says = note.and(predicate::str::contains(sound));
    folder.run("verify", &[], 0).stderr("").stdout(says);
    let report = folder.json("verify", &[], 0);
    let findings = report["findings"].as_array().unwrap();
    assert!(findings.iter().any(|finding| finding["kind"] == "ahead"), "{findings:?}");
    assert_eq!(folder.json("info", &[], 0)["record"], "ahead");
    let says = predicate::str::contains("number 6, as a shadow proves; gsd sees an older one");
    folder.run("info", &[], 0).stderr("").stdout(says);
    let says = predicate::str::contains(
        "out.gsd: exact: 279 of 279 bytes of data compared with checksums; 6 frames, ",
    );
    folder.run("recover", &["out.gsd"], 0).stderr("").stdout(says);
}
