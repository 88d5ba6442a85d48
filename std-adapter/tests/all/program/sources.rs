//! What a verb reads, it does not replace, whatever `--force` says.

use super::Folder;
use crate::run::striae;
use std::fs;
use std::path::{Path, PathBuf};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden").join(name)
}

impl Folder {
    /// A copy of a golden file under this name.
    fn copy(&self, golden_name: &str, name: &str) -> String {
        self.write(name, fs::read(golden(golden_name)).unwrap())
    }

    /// Runs the program, which must refuse to replace the file `kept`. All files stay as they are.
    fn keeps(&self, args: &[&str], kept: &str) {
        let all = || {
            let files = self.names().into_iter().map(|name| (self.path(&name), name));
            files.map(|(path, name)| (name, fs::read(path).unwrap())).collect::<Vec<_>>()
        };
        let before = all();
        let text = format!("striae: {kept}: is a source, and would be replaced");
        let told = striae(args).assert().code(2);
        // A file of a set may have a line before it, that only it was read.
        let told = String::from_utf8_lossy(&told.get_output().stderr).into_owned();
        assert_eq!(told.lines().last(), Some(&*text), "{args:?}");
        assert!(all() == before, "{args:?}");
    }
}

#[test]
fn a_picture_does_not_replace_what_it_shows() {
    let folder = Folder::new();
    let set = folder.copy("sion/s03_eight_mixed.sion", "a.sion");
    let trajectory = folder.copy("gsd/v20_hoomd14.gsd", "a.gsd");
    folder.keeps(&["map", "--svg", &set, "--force", &set], &set);
    folder.keeps(&["log", &trajectory, "--plot", &trajectory, "--force"], &trajectory);
    let (first, second) = two_files(&folder, "b.sion");
    folder.keeps(&["map", "--svg", &second, "--force", &first], &second);
}

/// A set of two files.
fn two_files(folder: &Folder, name: &str) -> (String, String) {
    let path = folder.path(name);
    let parts = [1, 2].map(|number| folder.write(&format!("{name}.part{number}"), "abc"));
    striae(&["pack", "--nfiles", "2", &path, &parts[0], &parts[1]]).assert().success();
    let second = format!("{path}.000001");
    (path, second)
}

#[test]
fn a_new_blob_set_does_not_replace_its_file_or_its_map() {
    let folder = Folder::new();
    let whole = folder.copy("blob/f8_n8_s2_float/can_h1.nc", "run.nc.0000");
    let map = folder.copy("map/map_f_tiny_8p.nc", "run.nc.0001");
    for number in 0..2 {
        let name = format!("blob_h1.nc.000{number}");
        folder.copy(&format!("blob/f8_n8_s2_float/{name}"), &name);
    }
    let like = folder.path("blob_h1.nc");
    let pack = ["pack", "--format", "blob", "--map", &map, "--like", &like, "--force"];
    let run = folder.path("run.nc");
    folder.keeps(&[&pack[..], &["--subfiles", "1", &run, &whole]].concat(), &whole);
    let other = folder.copy("blob/f8_n8_s2_float/can_h1.nc", "whole.nc");
    folder.keeps(&[&pack[..], &["--subfiles", "2", &run, &other]].concat(), &map);
    // Its subfiles have numbers in their names.
    striae(&[&pack[..], &[&other, &other]].concat()).assert().success();
}

#[test]
fn what_is_recovered_does_not_replace_what_it_is_recovered_of() {
    let folder = Folder::new();
    let frames = folder.copy("gsd/bad_trunc_relocated_index.gsd", "a.gsd");
    let array = fs::read(golden("blob/f8_n8_s2_float/can_h1.nc")).unwrap();
    let array = folder.write("a.nc", &array[..9000]);
    let set = folder.copy("sion/s03_eight_mixed.sion", "a.sion");
    for path in [&frames, &array, &set] {
        folder.keeps(&["recover", path, path, "--force"], path);
    }
    let link = folder.path("link");
    std::os::unix::fs::symlink(&frames, &link).unwrap();
    folder.keeps(&["recover", &frames, &link, "--force"], &link);
    let map = folder.write("map.dat", "version 2001 npes 2 ndims 1\n4\n0 2\n1 2\n1 six\n");
    folder.keeps(&["recover", &map, &map, "--force"], &map);
    let (first, second) = two_files(&folder, "b.sion");
    folder.keeps(&["recover", &second, &second, "--alone", "--force"], &second);
    folder.keeps(&["recover", &first, &second, "--force"], &second);
}

#[test]
fn a_set_may_replace_itself_and_none_of_its_files_alone() {
    let folder = Folder::new();
    let (first, second) = two_files(&folder, "a.sion");
    folder.keeps(&["convert", &first, &second, "--force"], &second);
    striae(&["convert", &first, &first, "--nfiles", "2", "--force"]).assert().success();
}

/// A file of a set that is read without the others replaces none of them, and not itself.
#[test]
fn a_file_of_a_set_replaces_no_file_of_it() {
    let folder = Folder::new();
    let (first, second) = two_files(&folder, "a.sion");
    for verb in ["convert", "recover"] {
        for to in [&first, &second] {
            folder.keeps(&[verb, &second, to, "--force"], to);
            folder.keeps(&[verb, "--alone", &first, to, "--force"], to);
        }
        let (other, third) = (folder.path("other.sion"), folder.path("a.sion.000002"));
        striae(&[verb, &second, &other]).assert().success();
        striae(&[verb, &second, &third]).assert().success();
        for path in [other, third] {
            fs::remove_file(path).unwrap();
        }
    }
}

#[test]
fn a_map_does_not_replace_one_of_which_it_is_made() {
    let folder = Folder::new();
    let map = folder.copy("map/map_f_holes_5p.nc", "a.nc");
    let text = folder.path("b.dat");
    striae(&["convert", &map, &text]).assert().success();
    let text = folder.path("b.D1.dat");
    folder.keeps(&["pack", "--format", "map", "--force", &map, &map, &text], &map);
    folder.keeps(&["pack", "--format", "map", "--force", &text, &map, &text], &text);
}

#[test]
fn what_is_packed_of_a_folder_is_not_replaced() {
    let folder = Folder::new();
    for name in ["task_00000", "task_00001", "sample_00000", "sample_00001"] {
        folder.write(name, name);
    }
    let (all, task, sample) =
        (folder.path(""), folder.path("task_00000"), folder.path("sample_00000"));
    folder.keeps(&["pack", "--force", &task, &all], &task);
    let named = folder.path("a.ffr");
    std::os::unix::fs::symlink(&sample, &named).unwrap();
    folder.keeps(&["pack", "--force", &named, &all], &named);
    let second = folder.path("a.sion.000001");
    std::os::unix::fs::symlink(folder.path("task_00001"), &second).unwrap();
    let set = folder.path("a.sion");
    folder.keeps(&["pack", "--force", "--nfiles", "2", &set, &all], &second);
}
