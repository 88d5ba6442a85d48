//! What callers get at the edges: words that few files lead to, values of each type, numbers that
//! no map has.

use std::fs;
use std::path::Path;
use striae_core::cdf::Type;
use striae_core::sion::{Meta1, Opened, Physical};
use striae_inspect::blob::map as text_map;
use striae_inspect::cdf::{Header, OwnedValues};
use striae_inspect::certainty::Certainty;
use striae_inspect::dump::Line;
use striae_inspect::recover::Unwritten;
use striae_inspect::sion::recover::OfSet;
use striae_inspect::sion::{PartOfSet, Sealing};
use striae_inspect::{cdf, gsd};

fn golden(path: &str) -> Vec<u8> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    fs::read(golden.join(path)).unwrap()
}

#[test]
fn a_recovered_set_says_which_commits_its_files_are_of() {
    let cases = [
        (OfSet::EachOwn, "each file is of its own last commit"),
        (OfSet::Same { number: 7, brought: vec![] }, "all files are of commit 7 of the set"),
        (
            OfSet::Same { number: 7, brought: vec![2] },
            "all files are of commit 7 of the set, to which file 2 was brought",
        ),
        (
            OfSet::Same { number: 7, brought: vec![0, 2, 5] },
            "all files are of commit 7 of the set, to which files 0,2,5 were brought",
        ),
        (
            OfSet::Others { files: vec![3] },
            "file 3 belongs to another set, as the identity in the seal says",
        ),
        (
            OfSet::Others { files: vec![3, 4] },
            "files 3,4 belong to another set, as the identity in the seal says",
        ),
        (
            OfSet::Apart { newest: 9, without: vec![(0, 0), (1, 9), (2, 8), (3, 6)] },
            "no commit of the set is in all files: file 0 is of no commit of the set, \
             file 1 has lost its last commit, file 2 is 1 commit older, \
             file 3 is 3 commits older, \
             and cannot be brought to commit 9, nor all files to the one before",
        ),
    ];
    for (of, words) in cases {
        assert_eq!(of.to_string(), words);
    }
}

#[test]
fn a_certainty_is_its_word_and_its_reason() {
    type Said = Certainty<&'static str, &'static str, &'static str>;
    let said = |certainty: Said| certainty.to_string();
    assert_eq!(said(Certainty::Exact), "exact: as its checksums say");
    assert_eq!(said(Certainty::AsFound("a proof")), "as found: a proof");
    assert_eq!(said(Certainty::Guess("a doubt")), "guess: a doubt");
    assert_eq!(said(Certainty::Lost("a loss")), "lost: a loss");
    // The error of a copy is that of its side.
    assert_eq!(Unwritten::<_, &str>::Read("no file").to_string(), "no file");
    assert_eq!(Unwritten::<&str, _>::Write("no room").to_string(), "no room");
}

#[test]
fn words_of_parts_and_seals_are_those_of_the_documentation() {
    let names = [Sealing::Damaged, Sealing::Stale, Sealing::None].map(Sealing::name);
    assert_eq!(names, ["damaged", "stale", "none"]);
    let parts = [gsd::verify::Part::Header, gsd::verify::Part::Chunk(3)];
    assert_eq!(parts.map(|part| part.to_string()), ["the header", "the chunk of slot 3"]);
    let file = golden("sion/m05_np8_3files.sion.000002");
    let meta1 = match Physical::open(&file[..], &mut [0; Meta1::MAX_LEN]).unwrap() {
        Opened::Closed(file) => *file.meta1(),
        Opened::Unclosed(_) => panic!("it was closed"),
    };
    let part = PartOfSet::of(&meta1).unwrap();
    assert_eq!(part.to_string(), "file 2, from 0, of a set of 3 files");
}

#[test]
fn values_of_each_type_have_a_length_and_integers_are_integers() {
    let bytes = [0, 0, 0, 0, 0, 0, 0, 5, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE];
    // The last value of each type, which is -2 in two's complement.
    let cases = [
        (Type::Byte, 16, Some(-2)),
        (Type::Char, 16, None),
        (Type::Short, 8, Some(-2)),
        (Type::Int, 4, Some(-2)),
        (Type::Float, 4, None),
        (Type::Double, 2, None),
        (Type::Ubyte, 16, Some(0xFE)),
        (Type::Ushort, 8, Some(0xFFFE)),
        (Type::Uint, 4, Some(0xFFFF_FFFE)),
        (Type::Int64, 2, Some(-2)),
        (Type::Uint64, 2, Some(0xFFFF_FFFF_FFFF_FFFE)),
    ];
    for (nc_type, len, last) in cases {
        let values = OwnedValues::from_be(nc_type, &bytes);
        assert_eq!((values.len(), values.is_empty()), (len, false), "{nc_type:?}");
        let integers = values.integers();
        assert_eq!(integers.as_ref().and_then(|all| all.last().copied()), last, "{nc_type:?}");
        assert_eq!(integers.map(|all| all.len()), last.map(|_| len), "{nc_type:?}");
        assert!(OwnedValues::from_be(nc_type, &[]).is_empty(), "{nc_type:?}");
    }
}

#[test]
fn what_is_debugged_of_a_file_names_its_parts() {
    let file = golden("cdf/cdf5_alltypes.nc");
    let header = format!("{:?}", Header::read(&&file[..]).unwrap());
    assert!(header.starts_with("Header { order: ") && header.contains("head: "), "{header}");
    let store = &file[..];
    let map = format!("{:?}", cdf::map(&store).unwrap());
    assert!(map.starts_with(&format!("Map {{ file_len: {}", file.len())), "{map}");
    assert!(map.contains("parts: ") && map.contains("damage: None"), "{map}");
}

/// A number of a text may have zeros before it; the last 32 digits are kept.
#[test]
fn a_long_number_of_a_map_is_dumped_by_its_last_digits() {
    let mut text = b"version 2001 npes 1 ndims 1\n9\n0 1\n".to_vec();
    let at = text.len() as u64;
    text.extend([b'0'; 40]);
    text.extend(b"7\n");
    let mut found = Vec::new();
    let store = &text[..];
    text_map::dump(&store, &mut |line: Line| {
        if let Line::Field { name, offset, len, bytes, value, .. } = line {
            found.push((name, offset, len, bytes, value));
        }
        Ok(())
    })
    .unwrap();
    let digits = format!("{:0>32}", 7);
    let last = ("map.element[0][0]".to_owned(), at, 41, digits.clone().into_bytes(), digits);
    assert_eq!(found.last(), Some(&last));
}
