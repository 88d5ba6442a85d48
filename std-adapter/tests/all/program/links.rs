//! `--force` on a symbolic link: the link stays, and what it points to is replaced, as `cp` does.

use super::*;
use std::os::unix::fs::symlink;

fn is_link(path: &str) -> bool {
    fs::symlink_metadata(path).unwrap().is_symlink()
}

fn set() -> String {
    main_file(&golden_set("m05_np8_3files")).to_owned()
}

#[test]
fn a_link_stays_and_its_target_is_replaced() {
    let gsd = format!("{}/../tests/golden/gsd/v20_hoomd14.gsd", env!("CARGO_MANIFEST_DIR"));
    let set = main_file(&golden_set("s02_three_unequal_noncontig")).to_owned();
    let sources = Folder::new();
    let source = sources.write("a", "bytes");
    let all: [(&[&str], &str); 6] = [
        (&["convert", &set], "x.sion"),
        (&["convert", &gsd], "x.gsd"),
        (&["recover", &set], "x.sion"),
        (&["recover", &gsd], "x.gsd"),
        (&["pack"], "x.sion"),
        (&["pack", "--format", "ffrecord"], "x.ffr"),
    ];
    for (args, name) in all {
        for relative in [false, true] {
            let (folder, other) = (Folder::new(), Folder::new());
            let target = other.write("old", "old bytes");
            let way = match relative {
                true => format!("../{}/old", other.0.path().file_name().unwrap().to_str().unwrap()),
                false => target.clone(),
            };
            let out = folder.path(name);
            symlink(&way, &out).unwrap();
            let mut args = [args, &[&*out, "--force"]].concat();
            if args[0] == "pack" {
                args.push(&source);
            }
            striae(&args).assert().success();
            assert!(is_link(&out), "{args:?}");
            assert_eq!(fs::read_link(&out).unwrap().to_str().unwrap(), way);
            assert_ne!(fs::read(&target).unwrap(), b"old bytes", "{args:?}");
            output(&["verify", &target]);
            assert_eq!(other.names().len(), 1, "{:?}", other.names());
        }
    }
}

#[test]
fn a_link_in_the_middle_of_a_set_stays_too() {
    for links in [&[""][..], &[".000001"], &["", ".000001"], &["", ".000001", ".000002"]] {
        let (folder, other) = (Folder::new(), Folder::new());
        let out = folder.path("x.sion");
        for suffix in links {
            symlink(other.write(&format!("old{suffix}"), "old"), format!("{out}{suffix}")).unwrap();
        }
        output(&["convert", "--nfiles", "3", "--force", &set(), &out]);
        for suffix in ["", ".000001", ".000002"] {
            assert_eq!(is_link(&format!("{out}{suffix}")), links.contains(&suffix), "{links:?}");
        }
        assert_eq!(streams(&out), streams(&set()), "{links:?}");
        assert_eq!(other.names().len(), links.len());
        assert_eq!(folder.names().len(), 3);
    }
}

#[test]
fn a_link_of_a_task_file_stays() {
    let (folder, other) = (Folder::new(), Folder::new());
    let target = other.write("old", "old");
    fs::create_dir(folder.path("tasks")).unwrap();
    let link = folder.path("tasks/task_00003");
    symlink(&target, &link).unwrap();
    output(&["extract", "--force", &set(), &folder.path("tasks")]);
    assert!(is_link(&link));
    assert_eq!(fs::read(&target).unwrap(), streams(&set())[3]);
}

#[test]
fn a_link_that_cannot_be_written_through_is_refused_and_nothing_changes() {
    let (folder, other) = (Folder::new(), Folder::new());
    let (out, second) = (folder.path("x.sion"), folder.path("x.sion.000001"));
    let file = other.write("file", "old");
    let elsewhere = tempfile::tempdir_in("/dev/shm").unwrap();
    let far = elsewhere.path().join("far");
    fs::write(&far, "far").unwrap();
    let far_is_far =
        elsewhere.path().metadata().unwrap().dev() != folder.0.path().metadata().unwrap().dev();
    let args = ["convert", "--nfiles", "2", "--force", &set(), &out];
    let cases = [
        (&out, "nowhere", "x.sion: is a symbolic link to nothing"),
        (&second, "nowhere", "x.sion.000001: is a symbolic link to nothing"),
        (&out, "x.sion", "symbolic links"),
        (&second, "/dev/null", "/dev/null: not a regular file"),
        (&second, other.0.path().to_str().unwrap(), "is a directory"),
        (&second, far.to_str().unwrap(), "000001: is a symbolic link to another file system"),
    ];
    for (link, target, says) in cases {
        if target == far.to_str().unwrap() && !far_is_far {
            continue;
        }
        symlink(target, link).unwrap();
        refused(&args, 2, says);
        assert!(is_link(link));
        fs::remove_file(link).unwrap();
        assert!(folder.names().is_empty(), "{:?}", folder.names());
    }
    // Two names of one file: one of the two would be lost.
    for name in [&out, &second] {
        symlink(&file, name).unwrap();
    }
    refused(&args, 2, "is by a symbolic link the same file as another one");
    fs::remove_file(&second).unwrap();
    fs::write(&second, "second").unwrap();
    fs::remove_file(&out).unwrap();
    symlink(&second, &out).unwrap();
    refused(&args, 2, "is by a symbolic link the same file as another one");
    assert_eq!(fs::read(&second).unwrap(), b"second");
    assert_eq!(fs::read(&file).unwrap(), b"old");
    assert_eq!(fs::read(&far).unwrap(), b"far");
    // The first file may be anywhere: it is made there.
    fs::remove_file(&out).unwrap();
    symlink(&far, &out).unwrap();
    output(&["convert", "--force", &set(), &out]);
    assert!(is_link(&out));
    assert_eq!(streams(far.to_str().unwrap()), streams(&set()));
}
