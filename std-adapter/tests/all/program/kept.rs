//! What a verb leaves of what was there: owners, files of others, a folder that is replaced.

use super::Folder;
use crate::run::{refused, striae};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden").join(name)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Parts of another set or file, which would be taken for some of what is extracted, are refused,
/// also with `--force`, since they would not be replaced.
#[test]
fn parts_of_others_are_not_mixed_with_what_is_extracted() {
    let folder = Folder::new();
    let three = golden("sion/s02_three_unequal_noncontig.sion");
    let stray = "would be taken for a part of what is extracted: move it away";
    let (out, other) = (folder.path("out"), folder.path("out/task_00003"));
    fs::create_dir(&out).unwrap();
    fs::write(&other, "of another set").unwrap();
    for force in [&[][..], &["--force"]] {
        let args = [&["extract", text(&three), &out], force].concat();
        refused(&args, 2, &format!("{other}: {stray}"));
        assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
    }
    fs::remove_file(&other).unwrap();
    striae(&["extract", text(&three), &out]).assert().success();
    striae(&["extract", "--force", text(&three), &out]).assert().success();
    // Some tasks may be in a folder with others.
    fs::write(&other, "of another set").unwrap();
    striae(&["extract", "--force", text(&three), &out, "task/0"]).assert().success();

    let frames = golden("gsd/v21_sparse_chunks.gsd");
    let arrays = folder.path("arrays");
    striae(&["extract", text(&frames), &arrays]).assert().success();
    let lists = || {
        let names = fs::read_dir(&arrays).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().contains("@frames")).count()
    };
    assert!(lists() > 0);
    let one = folder.path("one.gsd");
    striae(&["convert", "--frames", "7..8", text(&frames), &one]).assert().success();
    refused(&["extract", "--force", &one, &arrays], 2, stray);
    striae(&["extract", "--force", text(&frames), &arrays]).assert().success();
}

/// Another group gets no right to a file by replacing it.
#[test]
fn a_file_that_is_replaced_keeps_its_owner_or_no_group_has_it() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can give files to others");
        return;
    }
    let folder = Folder::new();
    let path = folder.write("a.gsd", fs::read(golden("gsd/v20_hoomd14.gsd")).unwrap());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    chown(&path, Some(1000), Some(2000)).unwrap();
    striae(&["convert", "--force", &path, &path]).assert().success();
    let of = |path: &str| {
        let file = fs::metadata(path).unwrap();
        (file.uid(), file.gid(), file.mode() & 0o777)
    };
    assert_eq!(of(&path), (1000, 2000, 0o640));
    // A user who is not in the group.
    let parent = Path::new(&path).parent().unwrap();
    fs::set_permissions(parent, fs::Permissions::from_mode(0o777)).unwrap();
    let program = assert_cmd::cargo::cargo_bin!("striae");
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "1000", "--regid", "1000", "--clear-groups"]).arg(program);
    match command.args(["convert", "--force", &path, &path]).status() {
        Ok(status) if status.success() => assert_eq!(of(&path), (1000, 1000, 0o600)),
        other => println!("skipped: {other:?}, the program cannot be run by another user"),
    }
}

/// A lock that somebody has made as a pipe does not hold up those who look for leftovers.
#[test]
fn a_lock_that_is_no_file_is_not_waited_for() {
    let folder = Folder::new();
    let hidden = PathBuf::from(folder.path(".striae-a"));
    fs::create_dir_all(hidden.join("new")).unwrap();
    let mode = Mode::RUSR | Mode::WUSR;
    mknodat(CWD, hidden.join("lock"), FileType::Fifo, mode, 0).unwrap();
    let (from, to) = (golden("gsd/v20_hoomd14.gsd"), folder.path("b.gsd"));
    striae(&["convert", text(&from), &to]).assert().success().stderr("");
    fs::remove_file(hidden.join("lock")).unwrap();
    std::os::unix::fs::symlink(&from, hidden.join("lock")).unwrap();
    let to = folder.path("c.gsd");
    striae(&["convert", text(&from), &to]).assert().success().stderr("");
}

/// Who reads only the front of values is told as well that some were filled.
#[test]
fn values_that_were_filled_are_told_to_who_does_not_read_them_all() {
    let folder = Folder::new();
    let name = |number: u32| format!("blob_h1.nc.{number:04}");
    let from = golden("blob/f8_n8_s2_float");
    folder.write(&name(0), fs::read(from.join(name(0))).unwrap());
    let program = assert_cmd::cargo::cargo_bin!("striae");
    let mut command = Command::new(program);
    command.args(["cat", &folder.path("blob_h1.nc"), "variable/*"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let done = child.wait_with_output().unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(said.contains("blob_h1.nc.0001: is missing"), "{said}");
    assert_eq!(done.status.code(), Some(1));
}

/// Threads for which there is no work are not begun, however many are allowed.
#[test]
fn threads_without_work_are_not_begun() {
    let folder = Folder::new();
    let parts = ["1", "2", "3"].map(|name| folder.write(name, "some"));
    let out = folder.path("a.sion");
    let most = u64::MAX.to_string();
    let args = ["pack", "--threads", &most, &out, &parts[0], &parts[1], &parts[2]];
    striae(&args).assert().success();
}
