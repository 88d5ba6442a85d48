//! `cat`.

use super::*;

#[test]
fn cat_writes_every_stream() {
    for set in closed_sets() {
        for (index, task) in set.tasks().into_iter().enumerate() {
            let args = ["cat", main_file(&set), &format!("task/{index}")];
            let bytes = output(&args);
            assert_eq!(hex_sha256(&bytes), task["sha256"].as_str().unwrap(), "{}", set.name);
        }
    }
}

#[test]
fn cat_finds_tasks_by_global_rank_also_negative_ones() {
    let file = golden_dir().join("m11_np4_buddy.sion_BUDDY_00");
    let file = file.to_str().unwrap();
    assert_eq!(output(&["cat", file, "rank/-3"]), b"");
    let bytes = output(&["cat", file, "rank/2"]);
    let expected: Vec<_> = (0..552).map(|i| payload(2, i)).collect();
    assert_eq!(bytes, expected);
    refused(&["cat", file, "rank/9"], 1, "no task has globalrank 9");
}

#[test]
fn a_repeated_global_rank_is_refused() {
    let copy = Copy::of("s02_three_unequal_noncontig");
    copy.overwrite(1076 + 16, &10i64.to_le_bytes()); // task 2 as task 0
    let says = "globalrank 10 is that of several tasks, of 0 and 2 at least";
    refused(&["cat", copy.main(), "rank/10"], 2, says);
    assert_eq!(output(&["cat", copy.main(), "rank/7"]), b"");
}

#[test]
fn cat_writes_parts() {
    let set = golden_set("s02_three_unequal_noncontig");
    let file = main_file(&set);
    let part = |from: u64, to: u64| (from..to).map(|i| payload(42, i)).collect::<Vec<_>>();
    let cat = |more: &[&str]| output(&[&["cat", file], more].concat());
    assert_eq!(cat(&["task/2/chunk/1"]), part(1024, 1724));
    assert_eq!(cat(&["task/2/chunk/1", "--offset", "690"]), part(1714, 1724));
    assert_eq!(cat(&["task/2", "--offset", "1000", "--length", "100"]), part(1000, 1100));
    assert_eq!(cat(&["task/2", "--offset", "2400", "--length", "100"]), part(2400, 2424));
    assert_eq!(cat(&["task/2", "--offset", "2424"]), b"");
    let says = "--offset is 2425, must be at most the length, 2424";
    refused(&["cat", file, "task/2", "--offset", "2425"], 2, says);
    refused(&["cat", file, "task/2/chunk/3"], 2, "no chunk 3, the task has 3");
    refused(&["cat", file, "task/3"], 2, "task/3: the file has 3 tasks, 0 to 2");
    refused(&["cat", file, "task/2/key/1"], 2, "no key-value records");
    for gone in ["--task", "--globalrank", "--sample", "--frame", "--variable", "--chunk", "--key"]
    {
        striae(&["cat", file, gone, "0"]).assert().code(2); // an address says it
    }
    refused(&["cat", file, "frame/2/x"], 2, "addresses in a SIONlib file are task/N");
}

#[test]
fn cat_writes_the_value_of_a_key_from_all_of_its_records() {
    let set = golden_set("s17_keyval_straddle");
    let file = main_file(&set);
    let value = |n: u64, len: u64| {
        let byte = |j: u64| (j * 7 + (j >> 8) * 13 + 3 * 37 + 5 * 101 + n * 59 + 11) & 255;
        (0..len).map(|j| u8::try_from(byte(j)).unwrap()).collect::<Vec<_>>()
    };
    let whole = [value(0, 480), value(1, 16)].concat();
    let cat = |more: &[&str]| output(&[&["cat", file, "task/1/key/5"], more].concat());
    assert_eq!(cat(&[]), whole);
    assert_eq!(cat(&["--offset", "470", "--length", "20"]), whole[470..490]);
    refused(&["cat", file, "task/1/key/8"], 1, "task 1 has no record with key 8");
}

#[test]
fn a_claim_of_many_chunks_costs_no_memory() {
    let copy = Copy::of("s01_one_task");
    let bytes = fs::read(&copy.main).unwrap();
    let start = u64::from_le_bytes(bytes[1096..1104].try_into().unwrap());
    copy.overwrite(1092, &i32::MAX.to_le_bytes());
    copy.overwrite(usize::try_from(start).unwrap(), &i64::from(i32::MAX).to_le_bytes());
    let file = fs::OpenOptions::new().write(true).open(&copy.main).unwrap();
    file.set_len(start + (8 << 31)).unwrap(); // sparse
    let says = "a task has 2147483647 chunks, must have at most 16777216";
    refused(&["cat", copy.main(), "task/0"], 2, says);
}

#[test]
fn what_only_holes_have_is_written_if_it_is_allowed() {
    const HOLE: u64 = 1 << 25;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("holes.sion");
    let builder = striae::sion::Builder::new(2).fsblksize(512).chunksizes(vec![HOLE, 512]);
    let builder = builder.order(striae_core::endian::ByteOrder::Little);
    let mut set = builder.create(&path).unwrap();
    set.close().unwrap();
    // The first stream is as long as its chunk, which nobody wrote.
    let bytes = fs::read(&path).unwrap();
    let fields = 1076 + 16 * 2;
    let start = i64::from_le_bytes(bytes[fields + 4..fields + 12].try_into().unwrap());
    let sizes = usize::try_from(start).unwrap() + 8 * 2;
    let mut all = bytes.clone();
    all[sizes..sizes + 8].copy_from_slice(&(HOLE as i64).to_le_bytes());
    let chunk = 1076 + 16 * 2 + 12;
    fs::write(&path, &all[..chunk]).unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &all[start as usize..], start as u64).unwrap();
    let path = path.to_str().unwrap();
    output(&["verify", path]);
    for address in ["task/0", "task/*", "task/0/chunk/0"] {
        let says = "because META2.blocksize makes streams of 33554432 bytes";
        assert_eq!(refused(&["cat", path, address], 2, says), b"");
        let more = ["cat", path, address, "--max-size", "64M"];
        assert_eq!(output(&more).len() as u64, HOLE);
        assert_eq!(output(&["cat", path, address, "--length", "10"]), [0; 10]);
        refused(&["cat", path, address, "--length", "100", "--max-size", "99"], 2, "--max-size");
    }
}
