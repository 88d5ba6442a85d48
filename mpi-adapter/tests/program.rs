//! The program `striae-mpi`, as threads of a process and under MPI.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test: a panic fails it"
)]

use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use striae::blob::{Builder, Request};
use striae::striae_core::cdf::{Definition, DimDef, Type, VarDef};

const PROGRAM: &str = env!("CARGO_BIN_EXE_striae-mpi");

fn output(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).output().unwrap()
}

fn as_threads(ranks: u32, args: &[&str]) -> Output {
    output(Command::new(PROGRAM).args(["--threads", &ranks.to_string()]).args(args))
}

/// Under the launcher that `MPIEXEC` names.
fn as_processes(ranks: u32, args: &[&str]) -> Output {
    launched(ranks, &[&[PROGRAM], args].concat())
}

fn launched(ranks: u32, command_line: &[&str]) -> Output {
    let launcher = std::env::var("MPIEXEC").unwrap_or_else(|_| "mpiexec".into());
    let version = Command::new(&launcher).arg("--version").output().unwrap();
    let mut command = Command::new(launcher);
    if String::from_utf8_lossy(&version.stdout).contains("Open") {
        // In a container, as root, on few processors.
        command.args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]);
        command.env("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
    }
    output(command.args(["-n", &ranks.to_string()]).args(command_line).args(["--deadline", "60"]))
}

/// The program by threads and by processes.
fn worlds() -> [fn(u32, &[&str]) -> Output; 2] {
    [as_threads, as_processes]
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn stream(task: u64) -> Vec<u8> {
    let len = usize::try_from(task * 700 % 3000).unwrap();
    (0..len)
        .map(|i| u8::try_from((i * 7 + usize::try_from(task).unwrap()) % 251).unwrap())
        .collect()
}

#[test]
fn sets_go_to_files_and_back_by_any_number_of_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::create_dir(path("files")).unwrap();
    for task in 0..11 {
        std::fs::write(path(&format!("files/task_{task:05}")), stream(task)).unwrap();
    }
    let mut packed = Vec::new();
    for (run, ranks) in worlds().into_iter().flat_map(|run| [1, 2, 4].map(|ranks| (run, ranks))) {
        let (set, again, out) = (path("a.sion"), path("b.sion"), path("out"));
        let options = ["--fsblksize", "512", "--force"];
        let done =
            run(ranks, &[&["pack", &set, &path("files"), "--files", "2"][..], &options].concat());
        assert!(done.status.success(), "{}", text(&done.stderr));
        packed.push(std::fs::read(&set).unwrap());
        let done = run(ranks, &[&["convert", &set, &again, "--seal"][..], &options].concat());
        assert!(done.status.success(), "{}", text(&done.stderr));
        let done = run(ranks, &["extract", &again, &out]);
        assert!(done.status.success(), "{}", text(&done.stderr));
        assert_eq!(std::fs::read_dir(&out).unwrap().count(), 11, "a hidden folder is left");
        for task in 0..11 {
            let file = std::fs::read(path(&format!("out/task_{task:05}"))).unwrap();
            assert!(file == stream(task), "task {task}");
        }
        // Nothing is replaced unless that is asked for, and nothing is left of the attempt.
        let done = run(ranks, &["extract", &again, &out]);
        assert_eq!(done.status.code(), Some(2));
        assert!(text(&done.stderr).contains("exists already"), "{}", text(&done.stderr));
        assert_eq!(std::fs::read_dir(&out).unwrap().count(), 11);
        let before = std::fs::read(&again).unwrap();
        let done = run(ranks, &["convert", &set, &again]);
        assert!(!done.status.success());
        assert!(std::fs::read(&again).unwrap() == before, "what was there is gone");
        // A set that replaces itself is whole before it does, and is kept if a rank fails.
        let done = run(ranks, &["convert", &again, &again, "--force"]);
        assert!(done.status.success(), "{}", text(&done.stderr));
        let kept = std::fs::read(&again).unwrap();
        let done = run(ranks, &["convert", &again, &again, "--force", "--files", "12"]);
        assert!(!done.status.success());
        assert!(std::fs::read(&again).unwrap() == kept, "a set was lost");
        // Nor does a set go when its own file has the name of a new one.
        let own = path("out/task_00003");
        std::fs::copy(&again, &own).unwrap();
        let done = run(ranks, &["extract", &own, &out, "--force"]);
        assert!(text(&done.stderr).contains("is a source, and would be replaced"));
        assert!(std::fs::read(&own).unwrap() == kept, "a set was lost");
        // A link stays, and what it points to is replaced, as by striae.
        let (link, target) = (path("out/task_00004"), path("target"));
        std::fs::remove_file(&link).unwrap();
        std::fs::write(&target, "old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let done = run(ranks, &["extract", &again, &out, "--force"]);
        assert!(done.status.success(), "{}", text(&done.stderr));
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink(), "the link is gone");
        assert!(std::fs::read(&target).unwrap() == stream(4));
        let names =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert!(!names.into_iter().any(|name| name.to_str().unwrap().starts_with('.')), "left");
        std::fs::remove_dir_all(&out).unwrap();
    }
    assert!(packed.iter().all(|set| *set == packed[0]), "the set depends on the ranks");

    std::fs::remove_file(path("files/task_00003")).unwrap();
    let done = as_threads(2, &["pack", &path("c.sion"), &path("files")]);
    assert!(text(&done.stderr).contains("No such file"), "{}", text(&done.stderr));
    assert!(!Path::new(&path("c.sion")).exists());
}

/// Copies a file: what is zero in it is a hole of the new one.
fn copy_with_holes(from: &str, to: &str) {
    const BLOCK: usize = 1 << 16;
    let (bytes, new) = (std::fs::read(from).unwrap(), std::fs::File::create(to).unwrap());
    new.set_len(bytes.len().try_into().unwrap()).unwrap();
    for (number, block) in (0..).zip(bytes.chunks(BLOCK)) {
        if block.iter().any(|&byte| byte != 0) {
            new.write_all_at(block, number * u64::try_from(BLOCK).unwrap()).unwrap();
        }
    }
}

#[test]
fn holes_that_would_become_large_files_are_refused_unless_they_are_allowed() {
    const LEN: usize = 20 << 20;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let names = ["source", "a.sion", "holes.sion", "out", "b.sion"];
    let [source, set, holes, out, new] = &names.map(path);
    std::fs::write(source, vec![0; LEN]).unwrap();
    let done = as_threads(1, &["pack", set, source]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    copy_with_holes(set, holes);
    let (extracted, most) = (format!("{out}/task_00000"), LEN.to_string());
    let verbs = [("extract", out, &extracted), ("convert", new, new)];
    for (run, (verb, made, file)) in
        worlds().into_iter().flat_map(|run| verbs.map(|verb| (run, verb)))
    {
        let done = run(3, &[verb, holes, made]);
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{verb}: {said}");
        assert!(said.contains(&format!("would have {LEN} bytes")), "{said}");
        assert!(said.contains("--max-size BYTES allows more"), "{said}");
        assert!(!Path::new(file).exists(), "{verb}");
        // Where the same zeros are there, or may be many, they are written.
        for args in [&[verb, set, made][..], &[verb, holes, made, "--max-size", &most]] {
            let done = run(3, &[args, &["--force"]].concat());
            assert!(done.status.success(), "{args:?}: {}", text(&done.stderr));
            let mut bytes = Vec::new();
            match verb {
                "extract" => bytes = std::fs::read(file).unwrap(),
                _ => {
                    let set = striae::sion::File::open(file).unwrap();
                    set.stream(0).unwrap().read_to_end(&mut bytes).unwrap();
                }
            }
            assert!(bytes == vec![0; LEN], "{args:?}");
        }
        std::fs::remove_file(file).unwrap();
    }
}

#[test]
fn holes_of_sources_are_packed_only_if_they_are_allowed() {
    const LEN: u64 = 3 << 20;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [one, other, set] = &["one", "other", "a.sion"].map(path);
    for source in [one, other] {
        std::fs::File::create(source).unwrap().set_len(LEN).unwrap();
    }
    let (args, most) = (["pack", set, one, other], (2 * LEN).to_string());
    for run in worlds() {
        let done = run(2, &args);
        let said = text(&done.stderr);
        assert!(done.status.code() == Some(2) && !Path::new(set).exists(), "{said}");
        assert!(said.contains(&format!("would have {most} bytes")), "{said}");
        assert!(said.contains("--max-size BYTES allows more"), "{said}");
        let done = run(2, &[&args[..], &["--max-size", &most]].concat());
        assert!(done.status.success(), "{}", text(&done.stderr));
        std::fs::remove_file(set).unwrap();
    }
}

#[test]
fn a_file_of_an_older_commit_is_named_and_its_set_is_not_converted() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [set, second, out, new] = &["a.sion", "a.sion.000001", "out", "b.sion"].map(path);
    let mut writer = striae::sion::Builder::new(4).nfiles(2).sealed(true).create(set).unwrap();
    let mut older = Vec::new();
    for byte in *b"ab" {
        for task in 0..4 {
            writer.task(task).unwrap().write_all(&[byte; 200]).unwrap();
        }
        writer.commit().unwrap();
        older.push(std::fs::read(second).unwrap());
    }
    writer.close().unwrap();
    let run = as_threads;
    assert!(run(2, &["convert", set, new]).status.success());
    std::fs::remove_file(new).unwrap();
    std::fs::write(second, &older[0]).unwrap();
    let done = run(2, &["convert", set, new, "--seal"]);
    let said = text(&done.stderr);
    assert!(done.status.code() == Some(2) && !Path::new(new).exists(), "{said}");
    assert!(said.contains("a.sion.000001: is of commit 1 of the set"), "{said}");
    let done = run(2, &["extract", set, out]);
    let said = text(&done.stderr);
    assert!(done.status.success(), "{said}");
    assert!(said.contains("a.sion.000001: is of commit 1 of the set"), "{said}");
}

#[test]
fn a_set_whose_tables_are_not_as_sealed_is_not_converted() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [set, new] = &["a.sion", "b.sion"].map(path);
    let builder = striae::sion::Builder::new(2).chunksize(512).fsblksize(512).sealed(true);
    let builder = builder.order(striae::sion::ByteOrder::Little);
    let mut writer = builder.create(set).unwrap();
    writer.task(0).unwrap().write_all(&[1; 1500]).unwrap();
    writer.close().unwrap();
    let head = *striae::sion::File::open(set).unwrap().files().next().unwrap().1;
    let blockcount = usize::try_from(head.meta2.unwrap().blockcounts().offset()).unwrap();
    let mut bytes = std::fs::read(set).unwrap();
    assert_eq!(bytes[blockcount], 3);
    bytes[blockcount] = 2; // the stream would lose its last chunk, and the seal would say so
    std::fs::write(set, bytes).unwrap();
    for run in worlds() {
        let done = run(2, &["convert", set, new, "--seal"]);
        let said = text(&done.stderr);
        assert!(done.status.code() == Some(2) && !Path::new(new).exists(), "{said}");
        assert!(said.contains("a.sion: seal.meta2_crc"), "{said}");
    }
}

#[test]
fn a_set_keeps_its_byte_orders() {
    use striae::sion::{Builder, ByteOrder, File};
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [set, new] = &["a.sion", "b.sion"].map(path);
    let orders = [ByteOrder::Little, ByteOrder::Big];
    for (order, data) in orders.into_iter().flat_map(|order| orders.map(|data| (order, data))) {
        let builder = Builder::new(3).order(order).data_order(data).force(true);
        builder.create(set).unwrap().close().unwrap();
        let done = as_threads(2, &["convert", set, new, "--files", "2", "--force"]);
        assert!(done.status.success(), "{}", text(&done.stderr));
        for (_, head) in File::open(new).unwrap().files() {
            assert_eq!((head.meta1.order(), head.meta1.data_order()), (order, data));
        }
    }
}

#[test]
fn a_set_keeps_its_permissions_and_that_it_is_sealed() {
    use std::os::unix::fs::PermissionsExt;
    use striae::sion::verify::{Sealing, state};
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [set, new] = &["a.sion", "b.sion"].map(path);
    for sealed in [false, true] {
        let builder = striae::sion::Builder::new(3).sealed(sealed).force(true);
        builder.create(set).unwrap().close().unwrap();
        std::fs::set_permissions(set, std::fs::Permissions::from_mode(0o600)).unwrap();
        for (option, is_sealed) in
            [(None, sealed), (Some("--seal"), true), (Some("--no-seal"), false)]
        {
            let args = [&["convert", set, new, "--files", "2"][..], option.as_slice()].concat();
            let done = as_threads(2, &args);
            assert!(done.status.success(), "{}", text(&done.stderr));
            for name in ["b.sion", "b.sion.000001"] {
                let file = folder.path().join(name);
                assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
                let sealing = if is_sealed { Sealing::Sealed } else { Sealing::None };
                assert_eq!(state(&file).unwrap().sealing, sealing, "{args:?}");
                std::fs::remove_file(file).unwrap();
            }
        }
    }
}

#[test]
fn no_file_that_is_read_is_replaced_by_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [set, second, tasks] = &["a.sion", "a.sion.000001", "tasks"].map(path);
    striae::sion::Builder::new(3).nfiles(2).create(set).unwrap().close().unwrap();
    std::fs::create_dir(tasks).unwrap();
    let [first, other] = &["tasks/task_00000", "tasks/task_00001"].map(path);
    std::fs::write(first, "first").unwrap();
    std::fs::write(other, "other").unwrap();
    std::os::unix::fs::symlink(other, path("link.sion")).unwrap();
    let linked = &path("link.sion");
    let before = [set, second, first, other].map(|file| std::fs::read(file).unwrap());
    let refused: [&[&str]; 4] = [
        &["convert", set, second],
        &["pack", other, tasks],
        &["pack", linked, tasks],
        &["pack", first, other, first],
    ];
    for (run, args) in worlds().into_iter().flat_map(|run| refused.map(|args| (run, args))) {
        let done = run(2, &[args, &["--force"]].concat());
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains("is a source, and would be replaced"), "{said}");
        let after = [set, second, first, other].map(|file| std::fs::read(file).unwrap());
        assert!(after == before, "{args:?}");
    }
    let done = as_threads(2, &["convert", set, set, "--force", "--files", "2"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
}

#[test]
fn no_set_is_made_beside_an_old_buddy_set() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [set, file, new] = &["a.sion", "file", "b.sion"].map(path);
    std::fs::write(file, "a task").unwrap();
    assert!(as_threads(1, &["pack", set, file]).status.success());
    std::fs::write(path("b.sion_BUDDY_00"), "old").unwrap();
    for args in [["convert", set, new], ["pack", new, file]] {
        let done = as_threads(2, &args);
        let said = text(&done.stderr);
        assert!(done.status.code() == Some(2) && said.contains("_BUDDY_00"), "{said}");
        assert!(!Path::new(new).exists());
    }
}

#[test]
fn more_files_than_tasks_are_refused_before_their_names_are_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [set, file, new] = &["a.sion", "file", "b.sion"].map(path);
    std::fs::write(file, "a task").unwrap();
    assert!(as_threads(1, &["pack", set, file]).status.success());
    for args in [["convert", set, new], ["pack", new, file]] {
        let done = as_threads(2, &[&args[..], &["--files", "4000000000"]].concat());
        assert_eq!(done.status.code(), Some(2), "{}", text(&done.stderr)); // within a day
    }
}

#[test]
fn verify_checks_every_file_once_and_names_the_damaged_one() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden");
    let folder = tempfile::tempdir().unwrap();
    let damaged = folder.path().join("damaged.sion");
    let bytes = std::fs::read(golden.join("sion/m02_np2.sion")).unwrap();
    std::fs::write(&damaged, &bytes[..bytes.len() - 20]).unwrap();
    let sound = ["sion/m01_np1.sion", "sion/m02_np2.sion", "sion/m19_np8_posix.sion"];
    let sound: Vec<String> =
        sound.map(|name| golden.join(name).to_str().unwrap().to_owned()).to_vec();
    let sound: Vec<&str> = sound.iter().map(String::as_str).collect();
    let damaged = damaged.to_str().unwrap();
    for (run, ranks) in worlds().into_iter().flat_map(|run| [1, 3].map(|ranks| (run, ranks))) {
        let done = run(ranks, &[&["verify", "--quiet"][..], &sound].concat());
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        assert!(text(&done.stderr).contains("3 files: 3 sound, 0 damaged, 0 not checked"));
        assert_eq!(text(&done.stdout), "");
        let done = run(ranks, &[&["verify", "--quiet", damaged][..], &sound].concat());
        assert_eq!(done.status.code(), Some(1), "{}", text(&done.stderr));
        assert!(text(&done.stderr).contains("4 files: 3 sound, 1 damaged, 0 not checked"));
        assert!(text(&done.stdout).lines().all(|line| line.contains("damaged.sion")));
        let done = run(ranks, &["verify", damaged, "/nowhere"]);
        assert_eq!(done.status.code(), Some(2), "{}", text(&done.stderr));
        assert!(text(&done.stdout).contains("/nowhere"), "{}", text(&done.stdout));
    }
}

#[test]
fn verify_prints_a_thousand_findings_of_a_file_and_counts_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    let builder = striae::sion::Builder::new(1500).chunksize(8).fsblksize(8).sealed(true);
    let mut set = builder.create(&path).unwrap();
    for task in 0..1500 {
        set.task(task).unwrap().write_all(b"12345678").unwrap();
    }
    set.close().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let text_of = |bytes: &[u8]| bytes.windows(8).position(|window| window == b"12345678");
    while let Some(at) = text_of(&bytes) {
        bytes[at] = 0;
    }
    std::fs::write(&path, bytes).unwrap();
    let done = as_threads(2, &["verify", "--quiet", path.to_str().unwrap()]);
    assert_eq!(done.status.code(), Some(1), "{}", text(&done.stderr));
    let printed = text(&done.stdout);
    assert_eq!(printed.lines().count(), 1001);
    assert!(printed.ends_with("a.sion: 500 more findings\n"), "{printed}");
}

#[test]
fn a_blob_set_becomes_the_file_that_the_serial_program_makes() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/blob/f5h_n5_s1");
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let set = golden.join("blob_h1.h5").to_str().unwrap().to_owned();
    let whole = striae::blob::Set::open(&set).unwrap();
    striae::blob::Convert::new().run(&whole, path("serial.nc").as_ref(), &|_| ()).unwrap();
    let expected = std::fs::read(path("serial.nc")).unwrap();
    let out = path("whole.nc");
    for (run, ranks) in worlds().into_iter().flat_map(|run| [1, 3].map(|ranks| (run, ranks))) {
        let done = run(ranks, &["convert", &set, &out]);
        assert!(done.status.success(), "{}", text(&done.stderr));
        assert!(std::fs::read(&out).unwrap() == expected, "{ranks} ranks");
        let done = run(ranks, &["convert", &set, &out]);
        assert_eq!(done.status.code(), Some(2));
        assert!(text(&done.stderr).contains("exists already"), "{}", text(&done.stderr));
        let done = run(ranks, &["convert", "--seal", &set, &out]);
        assert!(text(&done.stderr).contains("--seal is not for"), "{}", text(&done.stderr));
        std::fs::remove_file(&out).unwrap();
    }
    // A set that is not whole is converted nevertheless, and the status says so.
    std::fs::copy(format!("{set}.0000"), path("cut.h5.0000")).unwrap();
    let file = std::fs::File::options().write(true).open(path("cut.h5.0000")).unwrap();
    file.set_len(file.metadata().unwrap().len() - 100).unwrap();
    let done = as_threads(3, &["convert", "--fill", "-1", &path("cut.h5"), &out]);
    assert_eq!(done.status.code(), Some(1), "{}", text(&done.stderr));
    assert!(text(&done.stderr).contains("cut.h5.0000"), "{}", text(&done.stderr));
}

/// How many files a process may open does not say which part of the new file is whose.
#[test]
fn ranks_with_different_limits_of_descriptors_write_one_file() {
    const SUBFILES: u32 = 100;
    const VARS: u32 = 40; // 40 000 bytes each: more than fits into a processor's cache
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let names: Vec<_> = (0..VARS).map(|number| format!("v{number}")).collect();
    let var = |name| VarDef { name, nc_type: Type::Double, dimids: &[0] };
    let vars: Vec<_> = names.iter().map(|name| (var(name), &[][..])).collect();
    let dims = [DimDef { name: "cell", length: 50 * u64::from(SUBFILES) }];
    let canonical = Definition { dims: &dims, attrs: &[], vars: &vars };
    let count = SUBFILES.try_into().unwrap();
    let builder = Builder::new(&canonical, count).subfiles(count);
    let request = |rank| vec![Request { offset: 50 * u64::from(rank), len: 50 }];
    let builder = builder.decomposition(&[0], (0..SUBFILES).map(request).collect());
    let builder = (0..VARS.into()).fold(builder, |builder, varid| builder.decomposed(varid, 0));
    let writer = builder.create(path("set.nc")).unwrap();
    let value = |var: u32, rank: u32| f64::from(100 * var + rank);
    for rank in 0..SUBFILES {
        let part = writer.rank(rank).unwrap();
        for (var, name) in (0..).zip(&names) {
            part.put(name, 0, &[value(var, rank); 50]).unwrap();
        }
    }
    writer.close().unwrap();
    let limited =
        "case $OMPI_COMM_WORLD_RANK$PMI_RANK in 1) ulimit -n 300;; esac; exec \"$0\" \"$@\"";
    let args = ["sh", "-c", limited, PROGRAM, "convert", &path("set.nc"), &path("whole.nc")];
    let done = launched(2, &args);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let file = striae::cdf::File::open(path("whole.nc")).unwrap();
    for (var, name) in (0..).zip(&names) {
        let values: Vec<f64> = file.read(file.variable(name).unwrap()).unwrap();
        let expected = (0..SUBFILES).flat_map(|rank| [value(var, rank); 50]);
        assert!(values.into_iter().eq(expected), "{name}");
    }
}
