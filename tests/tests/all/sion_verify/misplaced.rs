//! META2 where no writer puts it, by the chunksizes.

use super::*;
use striae::sion::verify::{Ending, state};

/// META2 of [`S02`], whose natural place is 7680.
fn meta2() -> Vec<u8> {
    fs::read(Copy::of(S02).path()).unwrap()[7680..].to_vec()
}

/// After the last used byte, at 7355, and far after it.
#[test]
fn meta2_anywhere_after_the_data_is_damage() {
    let meta2 = meta2();
    for start in [7356, 9000] {
        let copy = Copy::of(S02);
        copy.put(0, start, &meta2).put(0, 1128, &i64_le(start as i64)).cut(0, start + 100);
        let place = FindingKind::Misplaced { offset: 1128, start, expected: 7680 };
        assert_eq!(copy.found().iter().map(|finding| &finding.what).collect::<Vec<_>>(), [&place]);
        assert_eq!(state(&copy.path()).unwrap().ending, Ending::Misplaced);
    }
}

#[test]
fn meta2_at_the_start_of_a_sector_is_that_of_a_commit() {
    let meta2 = meta2();
    let copy = Copy::of(S02);
    copy.put(0, 8192, &meta2).put(0, 1128, &i64_le(8192)).cut(0, 8292);
    let [finding] = &copy.found()[..] else { panic!("{:?}", copy.lines()) };
    let field = CommitFields::start_of_varheader;
    assert!(matches!(finding.what, FindingKind::Unusual { field: f, .. } if f == field));
    assert_eq!(state(&copy.path()).unwrap().ending, Ending::Committed);
}

/// No chunk moves in a file of one block, and its streams can be read; but nobody can know that the
/// chunksize is wrong and the place of META2 is not.
#[test]
fn a_chunksize_that_moves_the_blocks_is_damage() {
    let copy = Copy::of("s01_one_task.sion");
    let size = fs::read(copy.path()).unwrap()[1084 + 2];
    copy.put(0, 1084 + 2, &[size | 1 << 4]);
    assert_eq!(damaged(&copy.found()), [CommitFields::start_of_varheader]);
}
