//! Packing and taking apart.

use super::{File, fs, golden, names_in, output, refused, samples_of, text};
use striae::ffrecord::{Extract, Pack};
use striae::verb::Output;
use striae_kit::adapter::denying::on_a_failing_disk;

#[test]
fn what_extract_took_apart_pack_puts_together_as_ffrecord_wrote_it() {
    for name in ["empty.ffr", "five_one_empty.ffr", "many.ffr", "folder.ffr"] {
        let dir = tempfile::tempdir().unwrap();
        let (parts, out) = (dir.path().join("parts"), dir.path().join("out.ffr"));
        let file = File::open(golden(name)).unwrap();
        let extracted = Extract::new().run(&file, &parts, &|_| {}).unwrap();
        assert_eq!(extracted.files, file.n(), "{name}");
        let names = names_in(&parts);
        for (number, (found, sample)) in names.iter().zip(samples_of(name)).enumerate() {
            assert_eq!(*found, format!("sample_{number:05}"));
            assert!(fs::read(parts.join(found)).unwrap() == sample, "{name} {number}");
        }
        let files: Vec<_> = names.iter().map(|name| parts.join(name)).collect();
        let written = Pack::new().run(&files, &out, &|_| {}).unwrap();
        assert_eq!(written.samples, file.n());
        assert_eq!(written.bytes, Pack::bytes(&files));
        assert!(fs::read(&out).unwrap() == fs::read(golden(name)).unwrap(), "{name}");
    }
}

#[test]
fn the_program_packs_the_folder_that_it_extracted_and_knows_the_format_by_the_name() {
    for name in ["five_one_empty.ffr", "many.ffr"] {
        let dir = tempfile::tempdir().unwrap();
        let (parts, out) = (dir.path().join("parts"), dir.path().join("out.ffr"));
        output(&["extract", text(&golden(name)), text(&parts)]);
        fs::write(parts.join("sample_1"), "another file").unwrap();
        output(&["pack", text(&out), text(&parts)]);
        assert!(fs::read(&out).unwrap() == fs::read(golden(name)).unwrap(), "{name}");
        // Without one of them, no other gets its number.
        fs::remove_file(parts.join("sample_00002")).unwrap();
        let pack = ["pack", "--force", text(&out), text(&parts)];
        refused(&pack, 2, "must have one file sample_00002");
        fs::write(parts.join("sample_000003"), "twice").unwrap();
        fs::write(parts.join("sample_00002"), "again").unwrap();
        refused(&pack, 2, "must have one file sample_00003");
    }
    let dir = tempfile::tempdir().unwrap();
    let empty = dir.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let out = dir.path().join("out.ffr");
    refused(&["pack", text(&out), text(&empty)], 2, "must have one file sample_00000");
}

#[test]
fn what_only_holes_have_is_neither_extracted_nor_written_unless_it_is_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let (path, out) = (dir.path().join("long.ffr"), dir.path().join("out"));
    fs::copy(golden("one.ffr"), &path).unwrap();
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(1 << 25).unwrap();
    for args in [
        &["extract", text(&path), text(&out)][..],
        &["cat", text(&path), "sample/0"],
        &["cat", text(&path), "sample/*"],
    ] {
        refused(args, 2, "because its table of offsets makes samples of");
        // It is not as its checksum says, which is found only now.
        refused(&[args, &["--max-size", "64M"]].concat(), 1, "sample 0");
    }
    assert!(!out.exists());
}

#[test]
fn files_of_holes_are_packed_only_if_it_is_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let (hole, out) = (dir.path().join("hole"), dir.path().join("out.ffr"));
    fs::File::create(&hole).unwrap().set_len(1 << 25).unwrap();
    let pack = ["pack", text(&out), text(&hole)];
    refused(&pack, 2, "--max-size BYTES allows more");
    assert!(!out.exists());
    output(&[&pack[..], &["--max-size", "64M"]].concat());
    assert!(fs::metadata(&out).unwrap().len() > 1 << 25);
}

#[test]
fn a_damaged_file_leaves_no_part_of_it_in_the_folder() {
    let dir = tempfile::tempdir().unwrap();
    let parts = dir.path().join("parts");
    for name in ["bad_sample_byte.ffr", "bad_checksum_byte.ffr", "bad_offsets_decrease.ffr"] {
        let file = File::open(golden(name)).unwrap();
        Extract::new().run(&file, &parts, &|_| {}).unwrap_err();
        assert!(!parts.exists(), "{name}");
    }
}

/// The files that are replaced are not lost if the disk cannot keep the new ones.
#[test]
fn extract_replaces_files_when_the_new_ones_are_on_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    let file = File::open(golden("five_one_empty.ffr")).unwrap();
    let old = dir.path().join("sample_00000");
    fs::write(&old, b"old").unwrap();
    let extract = Extract::new().output(Output::new().force(true));
    on_a_failing_disk(|| extract.run(&file, dir.path(), &|_| {})).unwrap_err();
    assert_eq!(fs::read(&old).unwrap(), b"old");
    assert_eq!(names_in(dir.path()), ["sample_00000"]);
    extract.run(&file, dir.path(), &|_| {}).unwrap();
    assert!(fs::read(&old).unwrap() == samples_of("five_one_empty.ffr")[0]);
    // Without names that were taken there is nothing to lose, and no disk to wait for.
    let other = dir.path().join("other");
    on_a_failing_disk(|| Extract::new().run(&file, &other, &|_| {})).unwrap();
}

/// Or `pack` would put samples of two files together.
#[test]
fn samples_are_not_extracted_before_those_of_another_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = File::open(golden("one.ffr")).unwrap();
    assert_eq!(file.n(), 1);
    let others = ["sample_00001", "sample_000007"].map(|name| dir.path().join(name));
    for other in &others {
        fs::write(other, "of another file").unwrap();
        for force in [false, true] {
            let extract = Extract::new().output(Output::default().force(force));
            let error = extract.run(&file, dir.path(), &|_| {}).unwrap_err();
            assert_eq!(error.path(), other);
            let text = "would be taken for a part of what is extracted: move it away";
            assert!(error.to_string().ends_with(text), "{error}");
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        }
        fs::remove_file(other).unwrap();
    }
    fs::write(dir.path().join("sample_1"), "no sample").unwrap();
    let extracted = Extract::new().run(&file, dir.path(), &|_| {}).unwrap();
    assert_eq!(extracted.files, 1);
}

#[test]
fn the_program_packs_and_extracts() {
    let dir = tempfile::tempdir().unwrap();
    let (parts, out) = (dir.path().join("parts"), dir.path().join("out.ffr"));
    let file = golden("five_one_empty.ffr");
    output(&["extract", text(&file), text(&parts)]);
    let files: Vec<_> = names_in(&parts).iter().map(|name| parts.join(name)).collect();
    let files: Vec<_> = files.iter().map(|path| text(path)).collect();
    let pack = |out: &str, more: &[&str]| {
        let mut args = vec!["pack", "--format", "ffrecord"];
        args.extend(more);
        args.push(out);
        args.extend(&files);
        args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>()
    };
    let run = |args: Vec<String>| output(&args.iter().map(String::as_str).collect::<Vec<_>>());
    let refuse = |args: Vec<String>, text: &str| {
        refused(&args.iter().map(String::as_str).collect::<Vec<_>>(), 2, text);
    };
    run(pack(text(&out), &[]));
    assert_eq!(fs::read(&out).unwrap(), fs::read(&file).unwrap());
    refuse(pack(text(&out), &[]), "exists already; --force replaces it");
    run(pack(text(&out), &["--force", "--direct"]));
    assert_eq!(fs::read(&out).unwrap(), fs::read(&file).unwrap());
    let other = dir.path().join("out.dat");
    refuse(pack(text(&other), &[]), "names end in .ffr");
    refuse(pack(text(&out), &["--seal"]), "an ffrecord file; --seal is for SIONlib and");
    refuse(pack(text(&out), &["--nfiles", "2"]), "--nfiles is for SIONlib sets");
    refused(&["pack", "--force", text(&out), text(&parts), text(&parts)], 2, "directory");
    refused(&["extract", text(&file), text(&parts)], 2, "exists already");
    refused(
        &["extract", text(&file), text(&parts), "--frames", "0.."],
        2,
        "is an ffrecord file; --frames is for GSD files",
    );
    assert_eq!(names_in(dir.path()), ["out.ffr", "parts"]);
}

#[test]
fn large_files_are_the_same_samples_past_the_page_cache() {
    let dir = tempfile::tempdir().unwrap();
    let files: Vec<_> = (0u8..3)
        .map(|number| {
            let path = dir.path().join(number.to_string());
            let len = (3 << 20) + 7 * usize::from(number) + 1;
            let bytes: Vec<u8> = (number..251).cycle().take(len).collect();
            fs::write(&path, bytes).unwrap();
            path
        })
        .collect();
    let out = |name: &str| dir.path().join(name);
    Pack::new().run(&files, &out("a.ffr"), &|_| {}).unwrap();
    let direct = Pack::new().output(Output::new().direct(Some(striae::direct::OpenOptions::new())));
    direct.run(&files, &out("b.ffr"), &|_| {}).unwrap();
    assert!(fs::read(out("a.ffr")).unwrap() == fs::read(out("b.ffr")).unwrap());
    let file = File::open(out("b.ffr")).unwrap();
    for (number, path) in (0..).zip(&files) {
        assert!(file.read_checked(number).unwrap() == fs::read(path).unwrap());
    }
}
