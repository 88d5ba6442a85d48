//! Fields that other fields, or the files beside a file, contradict, and fields without an effect.

use super::*;
use striae::sion::File;
use striae_kit::golden_sets::as_v2;

/// SIONlib takes 0 for 50, and nobody looks at the lower half.
#[test]
fn flags_without_an_effect_do_not_take_a_file_out_of_its_set() {
    for flag1 in [0, (50 << 32) | 7, 52 << 32] {
        let copy = Copy::of(M05);
        copy.put(1, 36, &i64_le(flag1));
        let (summary, findings) = found(&copy.path());
        assert_eq!((summary.tasks, damaged(&findings)), (8, vec![]), "{flag1}");
        assert_eq!(File::open(copy.path()).unwrap().tasks().unwrap().count(), 8, "{flag1}");
    }
}

#[test]
fn the_first_file_of_a_set_is_that_with_later_ones_beside_it_whatever_its_number() {
    for number in [1, 2, 3, 256] {
        let copy = Copy::of(M05);
        copy.put(0, 32, &i32_le(number));
        let (summary, findings) = found(&copy.path());
        assert_eq!((summary.files, summary.tasks), (3, 8), "{number}");
        assert_eq!(damaged(&findings), [Meta1::filenumber], "{number}: {findings:?}");
        let refused = File::open(copy.path()).unwrap_err().to_string();
        let says =
            format!("META1.filenumber at offset 32 of file 0 of the set is {number}, must be 0");
        assert!(refused.ends_with(&says), "{refused}");

        // Alone under a name of its own, it is read alone, as a copy of any file of a set is.
        fs::remove_file(copy.file(1)).unwrap();
        fs::remove_file(copy.file(2)).unwrap();
        assert_eq!(File::open(copy.path()).unwrap().tasks().unwrap().count(), 2, "{number}");
        assert_eq!(damaged(&copy.found()), [], "{number}: {:?}", copy.lines());
    }
}

#[test]
fn a_blockcount_that_later_blocksizes_contradict_is_damage() {
    let copy = Copy::of(S02);
    copy.put(0, 7696, &i64_le(1)); // of task 2, which used 3 chunks
    let sizes = |value: i64| {
        [(1, 7744), (2, 7768)].map(|(chunk, offset)| FindingKind::UnusedSize {
            offset,
            task: 2,
            chunk,
            value,
        })
    };
    let kinds: Vec<_> = copy.found().into_iter().map(|finding| finding.what).collect();
    assert_eq!(kinds[..2], sizes(700));
    // -1, as the mapped writers of SIONlib leave it, and 0 are right.
    for value in [0, -1] {
        copy.put(0, 7744, &i64_le(value)).put(0, 7768, &i64_le(value));
        assert_eq!(damaged(&copy.found()), [], "{value}");
    }
    copy.put(0, 7768, &i64_le(-2));
    assert_eq!(damaged(&copy.found()), [BlocksizeEntry::blocksize]);
}

/// In version 2 no file has a number, and each is read alone, whatever nfiles says.
#[test]
fn a_file_of_version_2_is_not_the_first_of_those_beside_it() {
    let copy = Copy::of(M05);
    for number in 0..3 {
        let bytes = fs::read(copy.file(number)).unwrap();
        let ntasks = if number == 2 { 4 } else { 2 };
        fs::write(copy.file(number), as_v2(&bytes, ntasks)).unwrap();
    }
    for number in 0..3 {
        let path = copy.file(number);
        let ntasks = if number == 2 { 4 } else { 2 };
        assert_eq!(File::open(&path).unwrap().tasks().unwrap().count(), ntasks, "{number}");
        assert_eq!(damaged(&found(&path).1), [], "{number}");
    }
}
