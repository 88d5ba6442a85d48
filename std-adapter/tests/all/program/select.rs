//! What addresses and patterns select: `cat` and `extract` agree.

use super::*;
use striae::sion::Builder;

/// Two tasks, each with a record of key 7 and one of key 8 in several chunks.
fn keyed(folder: &Folder) -> String {
    let path = folder.path("keyed.sion");
    let builder = Builder::new(2).keyval(true).chunksize(32).fsblksize(16);
    let mut set = builder.globalranks(vec![40, -2]).create(&path).unwrap();
    for task in 0..2 {
        let mut stream = set.task(task).unwrap();
        stream.write_key(7, format!("seven of task {task}, which is long").as_bytes()).unwrap();
        stream.write_key(8, b"eight").unwrap();
    }
    set.close().unwrap();
    path
}

/// The exit status of `extract` and the bytes of all files that it makes, in order.
fn extract(folder: &Folder, path: &str, address: &str) -> (i32, Vec<u8>) {
    let out = folder.path("out");
    let status = striae(&["extract", path, &out, address]).output().unwrap().status;
    let files = if Path::new(&out).exists() { names(&out) } else { BTreeSet::new() };
    let bytes = files.iter().flat_map(|name| fs::read(format!("{out}/{name}")).unwrap());
    let bytes = bytes.collect();
    let _ = fs::remove_dir_all(&out);
    (status.code().unwrap(), bytes)
}

#[test]
fn an_address_of_a_part_has_the_bytes_and_the_status_of_cat() {
    let folder = Folder::new();
    let keyed = keyed(&folder);
    let plain = golden_set("s02_three_unequal_noncontig");
    let mut seen = BTreeSet::new();
    for path in [&*keyed, main_file(&plain)] {
        for task in ["task/0", "task/-1", "task/9", "rank/40", "rank/-2", "rank/42", "rank/7"] {
            for part in ["chunk/0", "chunk/1", "chunk/99", "key/7", "key/99"] {
                let address = format!("{task}/{part}");
                let cat = striae(&["cat", path, &address]).output().unwrap();
                let expected = (cat.status.code().unwrap(), cat.stdout);
                assert_eq!(extract(&folder, path, &address), expected, "{path} {address}");
                seen.insert(expected.0);
            }
        }
    }
    assert_eq!(seen, [0, 1, 2].into());
}

#[test]
fn a_pattern_matches_chunks_of_a_set_with_keys_only_if_it_names_them() {
    let folder = Folder::new();
    let path = keyed(&folder);
    let cat = |address: &str| output(&["cat", &path, address]);
    let all = |addresses: &[&str]| addresses.iter().flat_map(|one| cat(one)).collect::<Vec<_>>();
    assert_eq!(cat("task/0/*"), all(&["task/0/key/7", "task/0/key/8"]));
    assert_eq!(cat("task/*/key/8"), b"eighteight");
    assert_eq!(cat("task/*/chunk/[0-9]"), cat("task/*"));
    assert_eq!(cat("rank/4?/chunk/*"), cat("task/0"));
    assert_eq!(extract(&folder, &path, "rank/-2/chunk/*"), (0, cat("task/1")));
}

#[test]
fn damage_in_one_task_does_not_hide_the_parts_of_another() {
    let folder = Folder::new();
    let path = keyed(&folder);
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(5).rposition(|bytes| bytes == b"eight").unwrap();
    *bytes[at - 8..at].iter_mut().find(|byte| **byte == 5).unwrap() = 100;
    fs::write(&path, bytes).unwrap();
    for address in ["task/0/key/8", "task/0/*", "rank/40/*", "rank/4*/key/[8]", "task/1/chunk/0"] {
        assert_eq!(extract(&folder, &path, address).0, 0, "{address}");
        output(&["cat", &path, address]);
    }
    for address in ["task/1/key/8", "task/1/*", "*/*/*"] {
        assert_eq!(extract(&folder, &path, address).0, 1, "{address}");
        striae(&["cat", &path, address]).assert().code(1);
    }
}

#[test]
fn a_pattern_of_another_format_is_a_wrong_argument() {
    let golden = |path| format!("{}/../tests/golden/{path}", env!("CARGO_MANIFEST_DIR"));
    let files = [
        (golden("sion/s01_one_task.sion"), ["frame/*/a", "sample/*", "frame/-1/*"]),
        (golden("gsd/v21_sparse_chunks.gsd"), ["task/*", "rank/*/*", "sample/[0]"]),
        (golden("ffrecord/many.ffr"), ["task/-1/*", "rank/?", "frame/*/a"]),
    ];
    let folder = Folder::new();
    let out = folder.path("out");
    for (file, patterns) in files {
        for pattern in patterns {
            refused(&["cat", &file, pattern], 2, ": addresses in ");
            refused(&["extract", &file, &out, pattern], 2, ": addresses in ");
        }
        striae(&["cat", &file, "tasks/*"]).assert().code(2);
        refused(&["cat", &file, "*/x[y]z"], 1, "nothing has such an address");
    }
}
