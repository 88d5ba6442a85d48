//! What `ls --addresses` prints, `cat` and `extract` take.

use super::*;
use striae::address::{Address, Index};
use striae::{Format, ffrecord, gsd};

/// The golden files of a format that have this ending.
fn golden_files(format: &str, ending: &str) -> Vec<String> {
    let folder = format!("{}/../tests/golden/{format}", env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<_> =
        names(&folder).into_iter().filter(|name| name.ends_with(ending)).collect();
    files.sort();
    files.into_iter().map(|name| format!("{folder}/{name}")).collect()
}

/// What `ls --addresses` prints, also of a damaged file.
fn addresses(args: &[&str]) -> Vec<String> {
    let stdout =
        striae(&[&["ls", "--addresses"], args].concat()).assert().get_output().stdout.clone();
    String::from_utf8(stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn every_name_of_a_gsd_file_goes_from_ls_to_cat() {
    let mut seen = 0;
    for path in golden_files("gsd", ".gsd") {
        let Ok(file) = gsd::File::open(&path) else { continue };
        if file.check_names().is_err() {
            continue; // verify says so, and no chunk is certain
        }
        let mut names = BTreeSet::new();
        for text in addresses(&[&path]) {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.to_string(), text);
            let Address::Chunk(Index::FromStart(frame), name) = &address else { panic!("{text}") };
            // Of each name once; what is in a damaged file need not be found.
            let found = gsd::File::open(&path).unwrap().chunk(*frame, name);
            if !names.insert(name.clone()) || (path.contains("/bad_") && found.is_err()) {
                continue;
            }
            let chunk = found.unwrap();
            let mut bytes = vec![0; usize::try_from(chunk.span.len()).unwrap()];
            file.read_span(chunk.span, &mut bytes).unwrap();
            assert_eq!(output(&["cat", &path, &text]), bytes, "{path} {text}");
            seen += 1;
        }
    }
    assert!(seen > 400, "{seen}");
}

#[test]
fn every_task_and_key_of_a_set_goes_from_ls_to_cat() {
    for set in closed_sets() {
        let path = main_file(&set);
        let file = File::open(path).unwrap();
        for text in addresses(&["--keys", path]) {
            let parts: Vec<_> = text.split('/').collect();
            let task: u64 = parts[1].parse().unwrap();
            let bytes = match parts[..] {
                ["task", _] => stream_of(&file, task),
                ["task", _, "key", key] => {
                    let mut bytes = Vec::new();
                    let mut value = file.value(task, key.parse().unwrap()).unwrap();
                    value.read_to_end(&mut bytes).unwrap();
                    bytes
                }
                _ => panic!("{text}"),
            };
            assert_eq!(output(&["cat", path, &text]), bytes, "{path} {text}");
            let from_end = format!("task/-{}", file.ntasks() - task);
            let by_end = text.replacen(&format!("task/{task}"), &from_end, 1);
            assert_eq!(output(&["cat", path, &by_end]), bytes, "{path} {by_end}");
        }
        let all: Vec<u8> = (0..file.ntasks()).flat_map(|task| stream_of(&file, task)).collect();
        assert_eq!(output(&["cat", path, "task/*"]), all, "{path}");
    }
}

#[test]
fn every_sample_goes_from_ls_to_cat() {
    for path in golden_files("ffrecord", ".ffr") {
        let Ok(file) = ffrecord::File::open(&path) else { continue };
        for text in addresses(&[&path]) {
            let Address::Sample(Index::FromStart(n)) = text.parse().unwrap() else {
                panic!("{text}")
            };
            let Ok(bytes) = file.read_checked(n) else { continue };
            assert_eq!(output(&["cat", &path, &text]), bytes, "{path} {text}");
            let from_end = format!("sample/-{}", file.n() - n);
            assert_eq!(output(&["cat", &path, &from_end]), bytes, "{path} {from_end}");
        }
    }
}

#[test]
fn json_lists_the_addresses_that_ls_prints() {
    let set = golden_set("s17_keyval_straddle");
    let gsd = golden_files("gsd", "v20_hoomd14.gsd");
    let samples = golden_files("ffrecord", "many.ffr");
    let pairs = [(main_file(&set), "tasks"), (&gsd[0], "chunks"), (&samples[0], "rows")];
    for (path, rows) in pairs {
        let listed = json(&output(&["ls", "--json", path]));
        let rows = listed[rows].as_array().unwrap();
        let listed: Vec<_> = rows.iter().map(|row| row["address"].as_str().unwrap()).collect();
        assert_eq!(listed, addresses(&[path]));
    }
}

#[test]
fn an_address_that_a_file_does_not_have_is_told_what_it_has() {
    let set = golden_set("s02_three_unequal_noncontig");
    let gsd = golden_files("gsd", "v20_hoomd14.gsd").remove(0);
    let samples = golden_files("ffrecord", "one.ffr").remove(0);
    let refuse = |file: &str, address: &str, says: &str| refused(&["cat", file, address], 2, says);
    refuse(main_file(&set), "task/3", ": task/3: the file has 3 tasks, 0 to 2");
    refuse(main_file(&set), "task/-4", ": task/-4: the file has 3 tasks, 0 to 2");
    refuse(main_file(&set), "frame/0/a", "addresses in a SIONlib file are task/N, ");
    refuse(&gsd, "frame/9/a", ": frame/9/a: the file has 3 frames, 0 to 2");
    refuse(&gsd, "task/0", "addresses in a GSD file are frame/N/NAME");
    refuse(&samples, "sample/1", ": sample/1: the file has 1 sample, 0");
    refused(&["cat", &samples, "sample/[1-9]"], 1, "nothing has such an address");
    let says = "frame 2 has no chunk particles/postion; did you mean particles/position?";
    refused(&["cat", &gsd, "frame/-1/particles/postion"], 1, says);
    let none = striae(&["cat", &gsd, "frame/0/qqq"]).assert().code(1).get_output().stderr.clone();
    assert!(!String::from_utf8(none).unwrap().contains("did you mean"));
}

#[test]
fn extract_takes_addresses_and_patterns() {
    let folder = Folder::new();
    let extract = |path: &str, addresses: &[&str]| {
        let out = folder.path("out");
        let _ = fs::remove_dir_all(&out);
        output(&[&["extract", path, &out], addresses].concat());
        let read = |name: &String| fs::read(format!("{out}/{name}")).unwrap();
        names(&out).into_iter().map(|name| (name.clone(), read(&name))).collect::<BTreeMap<_, _>>()
    };
    let set = golden_set("s02_three_unequal_noncontig");
    let path = main_file(&set);
    let tasks = extract(path, &["task/[01]", "task/-1/chunk/1"]);
    let cat = |address: &str| output(&["cat", path, address]);
    let expected = [
        ("task_00000", cat("task/0")),
        ("task_00001", cat("task/1")),
        ("task_00002.chunk_1", cat("task/2/chunk/1")),
    ];
    assert_eq!(tasks, expected.map(|(name, bytes)| (name.to_owned(), bytes)).into());

    let set = golden_set("s17_keyval_straddle");
    let keys = extract(main_file(&set), &["task/1/key/5"]);
    let value = output(&["cat", main_file(&set), "task/1/key/5"]);
    assert_eq!(keys, [("task_00001.key_5".to_owned(), value)].into());

    let gsd = golden_files("gsd", "v21_hoomd_full_single.gsd").remove(0);
    let one = extract(&gsd, &["frame/-1/particles/position"]);
    let bytes = output(&["cat", &gsd, "frame/-1/particles/position"]);
    assert_eq!(one.keys().collect::<Vec<_>>(), ["particles.position.npy"]);
    assert!(one["particles.position.npy"].ends_with(&bytes));
    let all = extract(&gsd, &["frame/*/particles/*"]);
    assert!(all.len() > 1 && all.keys().all(|name| name.starts_with("particles.")));

    let samples = golden_files("ffrecord", "many.ffr").remove(0);
    let some = extract(&samples, &["sample/0", "sample/-1"]);
    assert_eq!(some.len(), 2);
    assert_eq!(some["sample_00000"], output(&["cat", &samples, "sample/0"]));

    for (path, format) in [(path, Format::Sion), (&gsd, Format::Gsd), (&samples, Format::Ffrecord)]
    {
        let (out, pattern) = (folder.path("none"), format!("{}/9[9]9*", format.thing()));
        refused(&["extract", path, &out, &pattern], 1, "nothing has such an address");
        assert!(!folder.names().contains("none"), "{format}");
    }
}
