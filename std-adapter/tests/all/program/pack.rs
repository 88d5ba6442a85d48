//! `pack`.

use super::*;
use rustix::fs::{CWD, Mode, mkfifoat};

const TERABYTE: u64 = 1 << 40;

fn extracted(set: &GoldenSet) -> Folder {
    let folder = Folder::new();
    output(&["extract", main_file(set), &folder.path("tasks")]);
    folder
}

#[test]
fn what_was_extracted_is_packed_into_the_same_streams() {
    for set in closed_sets().filter(|set| !is_keyval(set)) {
        let folder = extracted(&set);
        let out = folder.path("out.sion");
        output(&["pack", &out, &folder.path("tasks")]);
        let packed: Vec<_> = streams(&out).iter().map(|bytes| hex_sha256(bytes)).collect();
        let expected: Vec<_> = set.tasks().iter().map(|task| task["sha256"].clone()).collect();
        assert_eq!(packed, expected, "{}", set.name);
        output(&["verify", &out]);
    }
}

#[test]
fn what_was_extracted_is_packed_into_the_same_values_of_keys() {
    let values = |path: &str| {
        let mut values: Vec<BTreeMap<u64, Vec<u8>>> = Vec::new();
        for task in records(path) {
            let mut of_task = BTreeMap::<u64, Vec<u8>>::new();
            for (key, value) in task {
                of_task.entry(key).or_default().extend(value);
            }
            values.push(of_task);
        }
        values
    };
    for set in closed_sets().filter(is_keyval) {
        let folder = extracted(&set);
        for order in ["little", "big"] {
            let out = folder.path(order);
            output(&["pack", "--order", order, "--seal", &out, &folder.path("tasks")]);
            assert_eq!(values(&out), values(main_file(&set)), "{}", set.name);
            output(&["verify", &out]);
        }
    }
}

#[test]
fn files_become_tasks_in_the_order_given() {
    let folder = Folder::new();
    let files = [folder.write("b", "first"), folder.write("a", ""), folder.write("c", "third")];
    let out = folder.path("out");
    let args = [&["pack", &out][..], &files.each_ref().map(String::as_str)].concat();
    output(&args);
    assert_eq!(streams(&out), [&b"first"[..], b"", b"third"]);
    let file = File::open(&out).unwrap();
    let tasks: Vec<_> = file.tasks().unwrap().map(|task| task.unwrap().place).collect();
    assert_eq!(tasks.iter().map(|task| task.globalrank).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(tasks.iter().all(|task| task.blockcount <= 1));
}

#[test]
fn with_an_identity_equal_files_become_equal_sealed_sets() {
    let folder = Folder::new();
    let files = [folder.write("a", "first"), folder.write("b", "second")];
    let out = folder.path("set.sion");
    let pack = |identity: &str| {
        let flags = ["pack", "--force", "--seal", "--nfiles=2", "--identity", identity];
        output(&[&flags[..], &[&out, &files[0], &files[1]]].concat());
        output(&["verify", &out]);
        [out.clone(), format!("{out}.000001")].map(|file| fs::read(file).unwrap())
    };
    let given = pack("7");
    assert_eq!(given, pack("7"));
    assert_ne!(given, pack("8"));
    striae(&["pack", "--identity", "7", &folder.path("new"), &files[0]]).assert().code(2);
}

#[test]
fn a_folder_is_taken_in_the_order_of_its_numbers() {
    let folder = Folder::new();
    fs::create_dir(folder.path("tasks")).unwrap();
    for task in 0..12 {
        folder.write(&format!("tasks/task_{task}"), task.to_string());
    }
    for other in ["task_", "task_x", "task_1.txt", "task_-1", "mytask_0", "task_0.key_", "notes"] {
        folder.write(&format!("tasks/{other}"), "no task");
    }
    output(&["pack", &folder.path("out"), &folder.path("tasks")]);
    let expected: Vec<_> = (0..12).map(|task| task.to_string().into_bytes()).collect();
    assert_eq!(streams(&folder.path("out")), expected);
}

#[test]
fn long_files_take_several_chunks_if_told() {
    let folder = Folder::new();
    let long = vec![7; 10_000];
    let files = [folder.write("long", &long), folder.write("short", "x")];
    for (chunksize, chunks) in [("1", 20), ("512", 20), ("513", 10), ("10000", 1), ("99999", 1)] {
        for seal in [&["--seal"][..], &[]] {
            let out = folder.path("out");
            let options = ["pack", "--force", "--chunksize", chunksize, "--fsblksize", "512"];
            output(&[&options, seal, &[&out, &files[0], &files[1]]].concat());
            assert_eq!(streams(&out), [&long[..], b"x"]);
            let task = File::open(&out).unwrap().task(0).unwrap();
            assert_eq!(task.place.blockcount, chunks, "{chunksize}");
            output(&["verify", &out]);
        }
    }
}

#[test]
fn a_set_of_several_files_is_found_by_its_first() {
    let folder = Folder::new();
    let tasks: Vec<_> = (0..7).map(|n| folder.write(&format!("t{n}"), n.to_string())).collect();
    let tasks: Vec<_> = tasks.iter().map(String::as_str).collect();
    let out = folder.path("out");
    output(&[&["pack", "--nfiles", "3", &out][..], &tasks].concat());
    assert_eq!(File::open(&out).unwrap().files().len(), 3);
    let expected: Vec<_> = (0..7).map(|n| n.to_string().into_bytes()).collect();
    assert_eq!(streams(&out), expected);
    output(&["verify", &out]);
}

#[test]
fn the_bytes_do_not_depend_on_the_number_of_threads() {
    let folder = extracted(&golden_set("s13_100_tasks_meta1_3blocks"));
    let options = ["--nfiles", "2", "--chunksize", "300", "--fsblksize", "512", "--seal"];
    let mut made = Vec::new();
    for threads in ["1", "4", "4"] {
        let out = folder.path("out");
        let args = ["pack", "--force", "--threads", threads, &out, &folder.path("tasks")];
        output(&[&args[..], &options].concat());
        made.push([without_identity(&out), without_identity(&format!("{out}.000001"))]);
    }
    assert!(made.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn a_terabyte_of_holes_takes_no_room() {
    let folder = Folder::new();
    let sparse = folder.path("sparse");
    let file = fs::File::create(&sparse).unwrap();
    rustix::io::pwrite(&file, b"front", 0).unwrap();
    rustix::io::pwrite(&file, b"middle", TERABYTE / 2).unwrap();
    file.set_len(TERABYTE).unwrap();
    let (packed, converted) = (folder.path("packed"), folder.path("converted"));
    output(&["pack", &packed, &sparse, &folder.write("small", "small")]);
    output(&["convert", &packed, &converted]);
    for out in [&packed, &converted] {
        assert!(allocated(out) <= 1 << 20, "{}", allocated(out));
        let set = File::open(out).unwrap();
        assert_eq!(set.task(0).unwrap().bytes, TERABYTE);
        let mut stream = set.stream(0).unwrap();
        for (position, expected) in [(0, "front\0"), (TERABYTE / 2, "middle"), (TERABYTE - 1, "\0")]
        {
            let mut bytes = vec![1; expected.len()];
            std::io::Seek::seek(&mut stream, std::io::SeekFrom::Start(position)).unwrap();
            stream.read_exact(&mut bytes).unwrap();
            assert_eq!(bytes, expected.as_bytes());
        }
    }
}

#[test]
fn what_is_no_task_file_is_refused_by_name() {
    let folder = Folder::new();
    let (out, good) = (folder.path("out"), folder.write("good", "good"));
    let (pipe, dir) = (folder.path("pipe"), folder.path("dir"));
    mkfifoat(CWD, &pipe, Mode::RUSR).unwrap();
    fs::create_dir(&dir).unwrap();
    let before = folder.names();
    refused(&["pack", &out, &good, &pipe], 2, "pipe: not a regular file");
    refused(&["pack", &out, "/dev/null"], 2, "/dev/null: not a regular file");
    refused(
        &["pack", &out, &good, &dir],
        2,
        "dir: is a directory; a folder must be the only source",
    );
    refused(&["pack", &out, &folder.path("none")], 2, "none: No such file");
    refused(&["pack", &out, &dir], 2, "dir: has no file task_00000");
    striae(&["pack", &out]).assert().code(2).stderr(predicate::str::contains("<FILE>"));
    assert_eq!(folder.names(), before);
}

#[test]
fn a_folder_that_is_not_whole_is_refused() {
    let refused_with = |files: &[(&str, &str)], says: &str| {
        let folder = Folder::new();
        fs::create_dir(folder.path("tasks")).unwrap();
        for (name, bytes) in files {
            folder.write(&format!("tasks/{name}"), bytes);
        }
        refused(&["pack", &folder.path("out"), &folder.path("tasks")], 2, says);
        assert_eq!(folder.names().len(), 1);
    };
    refused_with(&[("task_00000", ""), ("task_00002", "")], "tasks: has no file task_00001");
    refused_with(&[("task_00001", "")], "tasks: has no file task_00000");
    refused_with(&[("task_00000", "a"), ("task_0", "b")], "is the second file of task 0");
    let twice = [("task_0.key_7", "a"), ("task_00000.key_07", "b")];
    refused_with(&twice, "is the second file of task 0");
    let mixed = [("task_00000.key_7", "a"), ("task_00001", "b")];
    refused_with(&mixed, "task_00001: has bytes without a key");
}

#[test]
fn more_files_than_tasks_are_refused_at_once() {
    let folder = Folder::new();
    let (out, one) = (folder.path("out"), folder.write("one", "1"));
    for nfiles in ["2", "4294967295"] {
        let says = format!("out: META1.nfiles cannot be {nfiles}, must be from 1 to 1");
        refused(&["pack", "--nfiles", nfiles, &out, &one], 2, &says);
    }
    striae(&["pack", "--nfiles", "0", &out, &one]).assert().code(2);
    striae(&["pack", "--chunksize", "0", &out, &one]).assert().code(2);
    let says = "META1.chunksize";
    refused(&["pack", "--chunksize", "18446744073709551615", &out, &one], 2, says);
    assert_eq!(folder.names().len(), 1);
}

#[test]
fn a_file_that_cannot_grow_is_named_and_taken_back() {
    let folder = Folder::new();
    let (out, long) = (folder.path("out"), folder.write("long", vec![1; 100_000]));
    for options in [&[][..], &["--seal"], &["--chunksize", "1000"]] {
        let args = [&["pack", &out, &long][..], options].concat();
        limited("-f 40", &args, "out: File too large");
        assert_eq!(folder.names().len(), 1, "{options:?}");
    }
}

#[test]
fn many_files_need_few_descriptors() {
    let folder = Folder::new();
    let files: Vec<_> = (0..50).map(|n| folder.write(&format!("{n}"), n.to_string())).collect();
    let files: Vec<_> = files.iter().map(String::as_str).collect();
    let (out, set) = (folder.path("out"), folder.path("set"));
    let args = [&["pack", &out][..], &files].concat();
    limits("-n 20", &args).assert().success();
    // All files of a new set are open at once.
    let args = [&["pack", "--nfiles", "40", &set][..], &files].concat();
    limits("-S -n 20", &args).assert().success();
    assert_eq!(streams(&set), streams(&out));
    let before = folder.names();
    let again = folder.path("again");
    let args = [&["pack", "--nfiles", "40", &again][..], &files].concat();
    limited("-n 20", &args, "Too many open files");
    assert_eq!(folder.names(), before);
}

#[test]
fn a_file_that_hides_its_length_is_not_packed_as_an_empty_one() {
    let folder = Folder::new();
    for (format, name) in [("sion", "out.sion"), ("ffrecord", "out.ffr")] {
        let out = folder.path(name);
        let text = "/proc/self/status: says that it is empty, and has bytes";
        refused(&["pack", "--format", format, &out, "/proc/self/status"], 2, text);
        assert!(!Path::new(&out).exists());
    }
}

#[test]
fn past_the_page_cache_the_same_bytes_are_packed_and_converted() {
    let folder = Folder::new();
    let contents: Vec<Vec<u8>> = [300_001, 0, 16_384, 1_500_000, 5]
        .iter()
        .map(|&len: &usize| (0..len).map(|at| u8::try_from(at % 253).unwrap()).collect())
        .collect();
    let name = |at| format!("task{at}");
    let files: Vec<_> =
        (0..).zip(&contents).map(|(at, bytes)| folder.write(&name(at), bytes)).collect();
    let (packed, converted) = (folder.path("packed"), folder.path("converted"));
    let mut args = vec!["pack", "--direct", "--seal", &packed];
    args.extend(files.iter().map(String::as_str));
    output(&args);
    assert_eq!(streams(&packed), contents);
    output(&["verify", &packed]);
    output(&["convert", "--direct", "--nfiles", "2", "--fsblksize", "1000", &packed, &converted]);
    assert_eq!(streams(&converted), contents);
    output(&["verify", &converted]);
}

#[test]
fn pack_does_not_replace_what_it_packs() {
    let folder = Folder::new();
    let (one, two) = (folder.write("one.sion", "one"), folder.write("two", "two"));
    let says = "is a source, and would be replaced";
    refused(&["pack", "--force", &one, &two, &one], 2, says);
    std::os::unix::fs::symlink(&one, folder.path("link")).unwrap();
    refused(&["pack", "--force", &folder.path("link"), &one, &two], 2, says);
    let second = folder.write("set.sion.000001", "second");
    refused(
        &["pack", "--force", "--nfiles", "2", &folder.path("set.sion"), &one, &second],
        2,
        says,
    );
    let ffr = folder.write("a.ffr", "a");
    refused(&["pack", "--format", "ffrecord", "--force", &ffr, &ffr], 2, says);
    for (path, bytes) in [(&one, "one"), (&two, "two"), (&second, "second"), (&ffr, "a")] {
        assert_eq!(fs::read_to_string(path).unwrap(), bytes);
    }
}
