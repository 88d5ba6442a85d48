//! `convert`.

use super::*;
use std::os::unix::fs::PermissionsExt;
use striae::error::ErrorKind;
use striae::sion::{Convert, OpenOptions, Opened};
use striae_core::endian::ByteOrder;
use striae_core::sion::SealState;
use striae_kit::golden_sets::as_v2;

fn global_ranks(file: &File) -> Vec<i64> {
    file.tasks().unwrap().map(|task| task.unwrap().place.globalrank).collect()
}

fn is_sealed(path: &str) -> bool {
    let file = File::open(path).unwrap();
    let mut seals = file.reader().files().iter().map(|file| file.seal().unwrap());
    seals.all(|seal| matches!(seal, SealState::Sealed(_)))
}

/// Fails if `new` says anything that `old` does not, in more than one chunk a task.
fn same_contents(old: &str, new: &str, context: &str) {
    let (from, to) = (File::open(old).unwrap(), File::open(new).unwrap());
    let of_first = |file: &File| file.files().next().unwrap().1.meta1;
    assert_eq!(global_ranks(&from), global_ranks(&to), "{context}");
    assert_eq!(from.keyval(), to.keyval(), "{context}");
    assert_eq!(of_first(&from).data_order(), of_first(&to).data_order(), "{context}");
    if from.keyval() == striae_core::sion::KeyvalMode::Inline {
        assert_eq!(records(old), records(new), "{context}");
    }
    if of_first(&from).order() == of_first(&to).order()
        || from.keyval() == striae_core::sion::KeyvalMode::None
    {
        assert_eq!(streams(old), streams(new), "{context}");
    }
    let is_short = |task: striae::sion::TaskEntry| task.place.blockcount <= 1;
    assert!(to.tasks().unwrap().all(|task| is_short(task.unwrap())), "{context}");
    output(&["verify", new]);
}

#[test]
fn every_option_keeps_what_a_set_says() {
    let all: [&[&str]; 13] = [
        &[],
        &["--nfiles", "1"],
        &["--nfiles", "2"],
        &["--nfiles", "3", "--seal"],
        &["--order", "little"],
        &["--order", "big", "--nfiles", "2"],
        &["--fsblksize", "1"],
        &["--fsblksize", "512", "--threads", "1"],
        &["--fsblksize", "4096", "--order", "big"],
        &["--seal"],
        &["--no-seal"],
        &["--seal", "--order", "big", "--fsblksize", "1"],
        &["--threads", "4"],
    ];
    for set in closed_sets() {
        let folder = Folder::new();
        for (number, options) in (0..).zip(all) {
            let nfiles = options.iter().skip_while(|option| **option != "--nfiles").nth(1);
            let nfiles: usize = nfiles.map_or(1, |n| n.parse().unwrap());
            if nfiles > set.tasks().len() {
                continue;
            }
            let out = folder.path(&format!("{number}"));
            output(&[&["convert"], options, &[main_file(&set), &out]].concat());
            let context = format!("{} {options:?}", set.name);
            same_contents(main_file(&set), &out, &context);
            assert_eq!(is_sealed(&out), options.contains(&"--seal"), "{context}");
            let file = File::open(&out).unwrap();
            assert_eq!(file.files().len(), nfiles, "{context}");
            for (_, head) in file.files() {
                let order = match () {
                    () if options.contains(&"big") => ByteOrder::Big,
                    () if options.contains(&"little") => ByteOrder::Little,
                    () => {
                        File::open(main_file(&set)).unwrap().files().next().unwrap().1.meta1.order()
                    }
                };
                assert_eq!(head.meta1.order(), order, "{context}");
            }
        }
    }
}

#[test]
fn one_file_is_what_siondefrag_makes_but_for_its_name() {
    const PREFIX: std::ops::Range<usize> = 52..52 + 1024;
    for (from, to, options) in [
        ("m05_np8_3files", "d02_defrag_of_m05", &[][..]),
        ("s03_eight_mixed", "d01_defrag_q1_of_s03", &["--fsblksize", "1"]),
    ] {
        let folder = Folder::new();
        let out = folder.path("out");
        output(&[&["convert"], options, &[main_file(&golden_set(from)), &out]].concat());
        let mut ours = fs::read(&out).unwrap();
        let mut theirs = golden_set(to).files[0].clone();
        // The rest of the field behind the name is what was in SIONlib's memory.
        ours[PREFIX].fill(0);
        theirs[PREFIX].fill(0);
        assert_eq!(ours, theirs, "{to}");
    }
}

#[test]
fn the_prefix_is_the_name_as_it_was_given() {
    let folder = Folder::new();
    let set = golden_set("s02_three_unequal_noncontig");
    let mut command = striae(&["convert", "--nfiles", "2", main_file(&set), "./new.sion"]);
    command.current_dir(folder.0.path()).assert().success();
    for name in ["new.sion", "new.sion.000001"] {
        let opened = OpenOptions::new().alone(true).open(folder.path(name)).unwrap();
        assert_eq!(opened.prefix().unwrap(), b"./new.sion");
    }
    let long = format!("{}/./{}", folder.path(""), "./".repeat(600));
    let says = "META1.filenameprefix cannot have";
    refused(&["convert", main_file(&set), &format!("{long}out")], 2, says);
    assert_eq!(folder.names().len(), 2);
}

#[test]
fn old_versions_become_the_newest() {
    let folder = Folder::new();
    let new = golden_set("s02_three_unequal_noncontig");
    let second = folder.write("v2.sion", as_v2(&new.files[0], new.tasks().len()));
    let third = golden_set("c05_v3_of_s02").paths[0].to_str().unwrap().to_owned();
    let fourth = golden_set("c04_v4_of_s03").paths[0].to_str().unwrap().to_owned();
    for (number, old) in (2..).zip([&second, &third, &fourth]) {
        let version = |path: &str| {
            let version = fs::read(path).unwrap()[16..20].try_into().unwrap();
            i32::from_le_bytes(version)
        };
        assert_eq!(version(old), number);
        let out = folder.path("out");
        output(&["convert", "--force", old, &out]);
        assert_eq!(version(&out), 5);
        same_contents(old, &out, old);
    }
}

#[test]
fn the_bytes_do_not_depend_on_the_number_of_threads() {
    let set = golden_set("s13_100_tasks_meta1_3blocks");
    let folder = Folder::new();
    let out = folder.path("out");
    let mut made = Vec::new();
    for threads in ["1", "4", "4"] {
        let args = ["convert", "--force", "--seal", "--nfiles", "2", "--threads", threads];
        output(&[&args[..], &[main_file(&set), &out]].concat());
        made.push([without_identity(&out), without_identity(&format!("{out}.000001"))]);
    }
    assert!(made.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn a_seal_is_kept_unless_told() {
    let folder = Folder::new();
    let (sealed, out) = (folder.path("sealed"), folder.path("out"));
    output(&["convert", "--seal", main_file(&golden_set("m05_np8_3files")), &sealed]);
    for (options, expected) in [(&[][..], true), (&["--no-seal"], false), (&["--seal"], true)] {
        output(&[&["convert", "--force", "--nfiles", "2"], options, &[&sealed, &out]].concat());
        assert_eq!(is_sealed(&out), expected);
        same_contents(&sealed, &out, "sealed");
    }
    striae(&["convert", "--seal", "--no-seal", &sealed, &out]).assert().code(2);
}

#[test]
fn a_new_seal_does_not_vouch_for_damage() {
    let folder = Folder::new();
    let (sealed, out) = (folder.path("sealed"), folder.path("out"));
    for name in ["s11_130_chunks", "s17_keyval_straddle"] {
        let set = golden_set(name);
        output(&["convert", "--force", "--seal", main_file(&set), &sealed]);
        let good = fs::read(&sealed).unwrap();
        let file = File::open(&sealed).unwrap();
        let chunk = usize::try_from(file.task(1).unwrap().place.chunks.start).unwrap();
        let meta2 = file.files().next().unwrap().1.meta2.unwrap().start();
        let trailer = good.len() - 20;
        drop(file);
        for (place, says) in [
            (chunk + 7, "task 1: seal.crc at offset"),
            (60, "seal.meta1_crc"),
            (usize::try_from(meta2).unwrap() - 1, ""), // behind the data of the last task
            (trailer, "seal.trailer_crc"),
        ] {
            let mut bad = good.clone();
            bad[place] ^= 1;
            fs::write(&sealed, bad).unwrap();
            for options in [&[][..], &["--seal"], &["--order", "big"]] {
                let args = [&["convert"], options, &[&*sealed, &*out]].concat();
                if says.is_empty() {
                    output(&args);
                    fs::remove_file(&out).unwrap();
                } else {
                    refused(&args, 1, says);
                    assert_eq!(folder.names().len(), 1, "{says}");
                }
            }
            // Who does not want them is not kept from the data.
            output(&["convert", "--no-seal", &sealed, &out]);
            fs::remove_file(&out).unwrap();
        }
    }
}

#[test]
fn what_is_there_already_stays() {
    let set = golden_set("m05_np8_3files");
    for (taken, says) in [("out", "out: exists"), ("out.000001", "out.000001: exists already")] {
        let folder = Folder::new();
        let mine = folder.write(taken, "mine");
        let args = ["convert", "--nfiles", "2", main_file(&set), &folder.path("out")];
        refused(&args, 2, says);
        assert_eq!(fs::read(&mine).unwrap(), b"mine");
        assert_eq!(folder.names().len(), 1);
        output(&[&args[..], &["--force"]].concat());
        same_contents(main_file(&set), &folder.path("out"), "forced");
        assert_eq!(folder.names().len(), 2);
    }
    let folder = Folder::new();
    let out = folder.path("out");
    fs::create_dir(&out).unwrap();
    for force in [&[][..], &["--force"]] {
        let args = [&["convert", main_file(&set), &out][..], force].concat();
        refused(&args, 2, "out: is a directory");
    }
    refused(&["convert", main_file(&set), &folder.path("none/out")], 2, "folder does not exist");
    assert_eq!(folder.names().len(), 1);
}

#[test]
fn a_set_may_replace_itself() {
    for (name, nfiles) in
        [("s11_130_chunks", "1"), ("m05_np8_3files", "1"), ("m05_np8_3files", "2")]
    {
        let copy = Copy::of(name);
        let original = golden_set(name);
        let before = names(copy.dir.path().to_str().unwrap());
        let args = ["convert", "--nfiles", nfiles, copy.main(), copy.main()];
        refused(&args, 2, "exists already");
        assert_eq!(fs::read(copy.main()).unwrap(), original.files[0]);
        output(&[&args[..], &["--force"]].concat());
        same_contents(main_file(&original), copy.main(), name);
        assert_eq!(names(copy.dir.path().to_str().unwrap()), before, "{name}");
    }
}

#[test]
fn a_damaged_or_unclosed_set_is_not_converted() {
    let folder = Folder::new();
    let out = folder.path("out");
    for set in golden_sets().into_iter().filter(|set| !is_closed(set)) {
        let says = "the file was never closed; striae recover makes a closed copy";
        refused(&["convert", main_file(&set), &out], 1, says);
    }
    let set = golden_set("s03_eight_mixed");
    let meta2 = usize::try_from(set.expected["meta"]["start_of_varheader"].as_u64().unwrap());
    let place = meta2.unwrap() + 8 * 8 + 7 * 8; // what the last task used of its first chunk
    for claim in [513i64, i64::MAX, -1] {
        let copy = Copy::of("s03_eight_mixed");
        copy.overwrite(place, &claim.to_le_bytes());
        let says = format!("s03_eight_mixed.sion: META2.blocksize at offset {place} is {claim}");
        refused(&["convert", copy.main(), &out], 1, &says);
    }
    let copy = Copy::of("s17_keyval_straddle");
    copy.overwrite(1536 + 8, &u64::MAX.to_le_bytes()); // length of the first record
    refused(&["convert", "--order", "big", copy.main(), &out], 1, "task 0: record.len");
    refused(&["convert", &folder.path("none"), &out], 2, "none: No such file");
    assert_eq!(folder.names().len(), 0);
}

#[test]
fn a_set_that_is_cut_while_it_is_read_is_an_error() {
    let copy = Copy::of("s11_130_chunks");
    let Opened::Closed(set) = OpenOptions::new().open(&copy.main).unwrap() else { panic!() };
    let folder = Folder::new();
    let out = PathBuf::from(folder.path("out"));
    let half = fs::metadata(&copy.main).unwrap().len() / 2;
    let cut = |_| {
        let file = fs::File::options().write(true).open(&copy.main).unwrap();
        file.set_len(half).unwrap();
    };
    let convert = Convert::new().output(striae::Output::new().threads(std::num::NonZeroUsize::MIN));
    let error = convert.run(&set, &out, &cut).unwrap_err();
    assert_eq!(error.path(), copy.main);
    assert!(matches!(error.kind(), ErrorKind::Ended { .. }), "{error}");
    assert_eq!(folder.names().len(), 0);
}

#[test]
fn a_file_that_cannot_grow_is_named_and_taken_back() {
    let folder = Folder::new();
    let set = golden_set("s11_130_chunks");
    let out = folder.path("out");
    for options in [&[][..], &["--seal"], &["--nfiles", "2"]] {
        let args = [&["convert", main_file(&set), &out][..], options].concat();
        limited("-f 40", &args, "out: File too large");
        assert_eq!(folder.names().len(), 0, "{options:?}");
    }
}

#[test]
fn options_that_no_file_can_hold_are_refused_at_once() {
    let folder = Folder::new();
    let (set, out) = (golden_set("s02_three_unequal_noncontig"), folder.path("out"));
    for nfiles in ["4", "4294967295"] {
        let says = format!("out: META1.nfiles cannot be {nfiles}, must be from 1 to 3");
        refused(&["convert", "--nfiles", nfiles, main_file(&set), &out], 2, &says);
    }
    let says = "out: META1.fsblksize cannot be 4294967295";
    refused(&["convert", "--fsblksize", "4294967295", main_file(&set), &out], 2, says);
    striae(&["convert", "--fsblksize", "0", main_file(&set), &out]).assert().code(2);
    assert_eq!(folder.names().len(), 0);
}

#[test]
fn a_new_set_is_for_those_who_may_read_the_old_one_or_what_it_replaces() {
    let mode = |path: &str| fs::metadata(path).unwrap().mode() & 0o777;
    let set_mode = |path: &str, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let copy = Copy::of("s02_three_unequal_noncontig");
    let main = copy.main.to_str().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out.sion").to_str().unwrap().to_owned();
    let second = format!("{out}.000001");
    set_mode(main, 0o600);
    let args = ["convert", "--force", "--nfiles", "2", main, &out];
    output(&args);
    assert_eq!([mode(&out), mode(&second)], [0o600, 0o600]);
    set_mode(main, 0o644);
    set_mode(&second, 0o640);
    output(&args);
    assert_eq!([mode(&out), mode(&second)], [0o600, 0o640]);
    set_mode(main, 0o600);
    output(&["convert", "--force", main, main]);
    assert_eq!(mode(main), 0o600);
}
