//! `dump`, `map` and `recover` of text maps: what is said of each byte, and what is saved of
//! damaged ones.
#![allow(clippy::string_slice, reason = "the texts are ASCII")]

use crate::run::{output, striae};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use striae::blob::map::recover::{Doubt, Found, Loss, Proof, Recover};
use striae::blob::map::{Map, Request, dump};
use striae::finding::Certainty;
use striae_inspect::blob::map::map;
use striae_inspect::dump::Line;
use striae_inspect::map::Kind;

/// Four ranks of an array of 3 rows of 4: one without elements, one that is absent, and what PIO
/// prints after the last one.
const WHOLE: &str = "version 2001 npes 5 ndims 2 \n4 3 \n0 4\n1 2 3 4 \n1 0\n\n2 3\n5 6 7 \n4 2\n\
                     12 9 \nObtained 9 stack frames.\n./e3sm.exe(print_trace+0x2a)\n";

/// The golden text maps, and that one.
fn texts() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/map");
    let golden = ["z1.dat", "z2.dat", "z3.dat"].map(|name| fs::read_to_string(folder.join(name)));
    golden.into_iter().map(Result::unwrap).chain([WHOLE.to_owned()]).collect()
}

fn made(text: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = crate::in_memory();
    let path = dir.path().join("map.dat");
    fs::write(&path, text).unwrap();
    (dir, path)
}

/// The map in a text, without what follows it.
fn map_of(text: &str) -> &str {
    text.split("Obtained").next().unwrap()
}

/// The offset, the text and the name of each word and number, and whether all was understood.
fn dumped(text: &str) -> (Vec<(usize, String, String)>, bool) {
    let (_dir, path) = made(text);
    let mut all = Vec::new();
    let done = dump(&path, &mut |line| {
        if let Line::Field { offset, bytes, name, len, .. } = line {
            assert_eq!(len, bytes.len() as u64);
            all.push((offset as usize, String::from_utf8(bytes).unwrap(), name));
        }
        Ok(())
    });
    (all, done.is_ok())
}

#[test]
fn a_dump_has_each_word_and_number_at_its_place() {
    for text in texts() {
        let (fields, is_whole) = dumped(&text);
        assert!(is_whole);
        for (offset, bytes, _) in &fields {
            assert!(text[*offset..].starts_with(bytes.as_str()), "{offset} {bytes}");
        }
        let words: Vec<_> = fields.into_iter().map(|(_, bytes, _)| bytes).collect();
        assert_eq!(words, map_of(&text).split_whitespace().collect::<Vec<_>>());
    }
}

#[test]
fn a_dump_names_what_each_number_is() {
    let (fields, _) = dumped(WHOLE);
    let named = |name: &str| {
        let found = fields.iter().filter(|(_, _, own)| own == name);
        found.map(|(_, bytes, _)| bytes.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(named("map.word"), ["version", "npes", "ndims"]);
    assert_eq!((named("map.version"), named("map.npes")), (vec!["2001"], vec!["5"]));
    assert_eq!((named("map.ndims"), named("map.dim[0]")), (vec!["2"], vec!["4"]));
    assert_eq!((named("map.dim[1]"), named("map.rank[4]")), (vec!["3"], vec!["4"]));
    assert_eq!((named("map.count[1]"), named("map.count[2]")), (vec!["0"], vec!["3"]));
    assert_eq!((named("map.element[2][2]"), named("map.element[4][1]")), (vec!["7"], vec!["9"]));
}

/// Nothing before the cut is said in another way, but for a number that lost digits.
#[test]
fn the_dump_of_a_cut_map_is_the_begin_of_the_whole_one() {
    let (whole, _) = dumped(WHOLE);
    for len in 0..map_of(WHOLE).len() {
        let (fields, _) = dumped(&WHOLE[..len]);
        let sure = fields.len().saturating_sub(1);
        assert_eq!(fields[..sure], whole[..sure], "{len}");
        assert!(
            whole.iter().filter(|(at, bytes, _)| at + bytes.len() < len).count() <= fields.len()
        );
    }
}

#[test]
fn each_byte_of_a_map_has_one_region_and_those_of_a_rank_are_its_elements() {
    for text in texts() {
        let bytes = text.as_bytes();
        let mut regions = map(&bytes).unwrap();
        assert!(regions.damage().is_none());
        let (mut at, mut data) = (0, Vec::new());
        while at < bytes.len() as u64 {
            let region = regions.at(at).unwrap();
            assert_eq!(region.span.offset(), at);
            assert!(!region.span.is_empty());
            let part = &text[at as usize..region.span.end() as usize];
            match region.kind {
                Kind::Data => data.push((region.owner.unwrap(), part.to_owned())),
                Kind::Header => assert!(part.starts_with("version ")),
                Kind::Index => {
                    let owner = region.owner.unwrap().to_string();
                    assert_eq!(part.split_whitespace().next(), Some(&*owner));
                }
                Kind::Tail => assert!(part.starts_with("Obtained")),
                kind => panic!("{kind:?}"),
            }
            at = region.span.end();
        }
        let (_dir, path) = made(&text);
        let read = Map::open(&path).unwrap();
        let of = &read.decompositions()[0];
        let mut with_elements = 0;
        for (rank, elements) in data {
            let requests = of.requests(rank).iter().map(|one| one.len).sum::<u64>();
            let elements = elements.split_whitespace().filter(|&element| element != "0").count();
            assert_eq!(elements as u64, requests, "rank {rank}");
            with_elements += u64::from(requests > 0);
        }
        let expected = of.ranks().filter(|&rank| !of.requests(rank).is_empty()).count();
        assert_eq!(with_elements, expected as u64);
    }
}

#[test]
fn what_follows_damage_is_unknown_in_a_map() {
    let text = WHOLE.replace("5 6 7", "5 six 7");
    let (_dir, path) = made(&text);
    let assert = striae(&["map", "--json", path.to_str().unwrap()]).assert().code(1);
    let map: Value = serde_json::from_slice(&assert.get_output().stdout).unwrap();
    let kinds = map["files"][0]["kinds"].as_array().unwrap().clone();
    let unknown = kinds.iter().find(|kind| kind["kind"] == "unknown").unwrap();
    let begin = text.find("5 six").unwrap();
    assert_eq!(unknown["bytes"], text.len() - begin);
}

/// The ranks that were found, by number and word, and the new map.
fn recovered(text: &str) -> (Vec<(Option<u64>, &'static str)>, Map, bool) {
    let (dir, path) = made(text);
    let out = dir.path().join("out.dat");
    let recovery = Recover::new().examine(&path).unwrap();
    recovery.write(&out).unwrap();
    let found = recovery.found().iter().map(|one| (one.rank, one.certainty.word().as_str()));
    (found.collect(), Map::open(&out).unwrap(), recovery.tally().is_sound())
}

#[test]
fn a_sound_map_is_recovered_as_it_is() {
    for text in texts() {
        let (found, map, is_sound) = recovered(&text);
        let (_dir, path) = made(&text);
        assert!(is_sound && found.iter().all(|(_, word)| *word == "as found"), "{found:?}");
        assert_eq!(map.decompositions(), Map::open(&path).unwrap().decompositions());
    }
}

/// Whatever byte is wrong, a rank that is called as found has the elements that it had.
#[test]
fn a_rank_that_is_as_found_is_right_whatever_byte_is_no_number() {
    let (_dir, path) = made(WHOLE);
    let right = Map::open(&path).unwrap();
    let head = WHOLE.find("0 4\n").unwrap();
    let mut saved = 0;
    for at in head..map_of(WHOLE).len() {
        for wrong in ["x", "\n", " "] {
            let text = format!("{}{wrong}{}", &WHOLE[..at], &WHOLE[at + 1..]);
            let (found, map, _) = recovered(&text);
            for (rank, word) in &found {
                let rank = rank.filter(|_| *word == "as found");
                let Some(rank) = rank else { continue };
                let (new, old) = (&map.decompositions()[0], &right.decompositions()[0]);
                // A blank in place of a digit may leave numbers of less digits, as many as before.
                if wrong == "x" {
                    assert_eq!(new.requests(rank), old.requests(rank), "{at} {wrong:?}");
                }
                saved += 1;
            }
        }
    }
    assert!(saved > 300, "{saved}");
}

#[test]
fn damaged_ranks_are_lost_and_those_after_them_are_a_guess_until_it_is_certain() {
    let head = "version 2001 npes 4 ndims 1 \n12 \n";
    let damaged = format!("{head}0 2\n1 x\n1 2\n3 4\n2 3\n5 6 7\n3 1\n8\n");
    let (dir, path) = made(&damaged);
    let recovery = Recover::new().examine(&path).unwrap();
    let found: Vec<_> =
        recovery.found().iter().map(|one| (one.rank, one.line, one.certainty)).collect();
    let expected = [
        (Some(0), 3, Certainty::Lost(Loss::Lines)),
        (Some(1), 5, Certainty::Guess(Doubt::Damage)),
        (Some(2), 7, Certainty::AsFound(Proof)),
        (Some(3), 9, Certainty::AsFound(Proof)),
    ];
    assert_eq!(found, expected);
    let out = dir.path().join("out.dat");
    let args = ["recover", path.to_str().unwrap(), out.to_str().unwrap()];
    striae(&args).assert().code(1);
    let map = Map::open(&out).unwrap();
    assert_eq!(map.decompositions()[0].requests(2), [Request { offset: 4, len: 3 }]);
    assert_eq!(map.decompositions()[0].requests(0), []);
    output(&["verify", out.to_str().unwrap()]);
}

/// A wrong digit makes a rank that comes after all others, with the elements of its own.
#[test]
fn a_wrong_rank_loses_no_others() {
    let lines = |wrong: &str| {
        let lines = (0..100).map(|rank| match rank {
            10 => format!("{wrong}\n1 11 101\n"),
            rank => format!("{rank} 3\n{} {} {}\n", rank + 201, rank + 301, rank + 401),
        });
        format!("version 2001 npes 100 ndims 1 \n600 \n{}", lines.collect::<String>())
    };
    let sure = |rank| (Some(rank), "as found");
    let (found, map, _) = recovered(&lines("10 3"));
    assert_eq!(found, (0..100).map(sure).collect::<Vec<_>>());
    assert_eq!(map.decompositions()[0].requests(10).len(), 3);
    // The sound rank of this number is kept, not the other one.
    let (found, map, is_sound) = recovered(&lines("90 3"));
    let expected = (0..100).map(|rank| if rank == 10 { (Some(90), "lost") } else { sure(rank) });
    assert_eq!((found, is_sound), (expected.collect::<Vec<_>>(), false));
    let of = &map.decompositions()[0];
    assert_eq!(
        (of.requests(10), of.requests(90)[0].offset, of.ranks().count()),
        (&[][..], 290, 99)
    );
    // Nor does its number hide that the file may be cut.
    let text = lines("99 3");
    let cut = text.find("\n50 3\n").unwrap() + 1;
    let (found, ..) = recovered(&text[..cut]);
    assert_eq!((found[10], found.last()), ((Some(99), "lost"), Some(&(None, "guess"))));
    // A guess, which is what follows damage, loses none that is sure.
    let (found, map, _) = recovered(&lines("x\n95 3"));
    assert_eq!(found[10], (None, "lost"));
    assert_eq!(found[11], (Some(95), "lost"), "{found:?}");
    assert_eq!(map.decompositions()[0].ranks().count(), 99);
}

/// A number without an end may lack digits: nothing is made of it.
#[test]
fn a_map_that_ends_in_a_number_is_damaged() {
    let head = "version 2001 npes 2 ndims 1 \n300 \n0 2\n1 256";
    for (end, is_sound) in [("", false), (" ", true), ("\n", true)] {
        let (dir, path) = made(&format!("{head}{end}"));
        let out = dir.path().join("out.nc");
        let (path, out) = (path.to_str().unwrap(), out.to_str().unwrap());
        let code = i32::from(!is_sound);
        let said =
            "line 4, offset 43: the file ends after a digit: its last number may lack digits";
        let verified = striae(&["verify", path]).assert().code(code);
        let text = String::from_utf8_lossy(&verified.get_output().stdout).into_owned();
        assert_eq!(text.contains(said), !is_sound, "{text}");
        striae(&["convert", path, out]).assert().code(code);
        assert_eq!(Path::new(out).exists(), is_sound);
    }
}

#[test]
fn a_map_for_no_ranks_is_no_netcdf_map() {
    let (dir, path) = made("version 2001 npes 0 ndims 1 \n4 \n");
    let out = dir.path().join("out.nc");
    let args = ["convert", path.to_str().unwrap(), out.to_str().unwrap()];
    let text = "there are no ranks, and a netCDF map has at least one";
    striae(&args).assert().code(2).stderr(predicates::str::contains(text));
    assert!(!out.exists());
}

#[test]
fn a_map_that_ends_before_its_last_ranks_may_be_cut() {
    let head = "version 2001 npes 5 ndims 1 \n8 \n";
    for (lines, first, line) in [("0 2\n1 2\n1 1\n8\n", 2, 7), ("0 2\n1 2\n", 1, 5), ("", 0, 3)] {
        let (dir, path) = made(&format!("{head}{lines}"));
        let recovery = Recover::new().examine(&path).unwrap();
        let (ranks, missing) = recovery.found().split_at(recovery.found().len() - 1);
        assert!(ranks.iter().all(|one| one.certainty == Certainty::AsFound(Proof)), "{ranks:?}");
        let certainty = Certainty::Guess(Doubt::Missing { first, last: 4 });
        assert_eq!(missing, [Found { rank: None, line, certainty }]);
        let out = dir.path().join("out.dat");
        let args = ["recover", path.to_str().unwrap(), out.to_str().unwrap()];
        let ranks = format!("out.dat: {first} rank");
        striae(&args).assert().code(1).stdout(predicates::str::contains(ranks));
    }
    for whole in ["0 2\n1 2\nObtained 3 stack frames.\n", "0 8\n1 2 3 4 5 6 7 8\n"] {
        let (_dir, path) = made(&format!("{head}{whole}"));
        assert!(Recover::new().examine(&path).unwrap().tally().is_sound());
    }
}

#[test]
fn each_loss_has_its_reason() {
    let head = "version 2001 npes 4 ndims 1 \n8 \n";
    let cases = [
        ("0 2\n1 9\n", Loss::Elements),
        ("0 2\n1 1\n", Loss::Elements),
        ("1 1\n1\n1 1\n2\n", Loss::Order),
        ("0 3\n1 2\n", Loss::Lines),
        ("4 1\n1\n", Loss::Lines),
        ("0 1\n", Loss::Lines),
        ("0 99999999999999999999\n1\n", Loss::Lines),
    ];
    for (text, why) in cases {
        let (_dir, path) = made(&format!("{head}{text}"));
        let recovery = Recover::new().examine(&path).unwrap();
        let last = recovery.found().iter().find(|one| !one.certainty.is_saved()).unwrap();
        assert_eq!(last.certainty, Certainty::Lost(why), "{text}");
        assert!(!recovery.tally().is_sound());
    }
    let (_dir, path) = made(&format!("{head}0 2\n1 2"));
    let recovery = Recover::new().examine(&path).unwrap();
    assert_eq!(recovery.found()[0].certainty, Certainty::Guess(Doubt::Cut));
    for text in ["", "version 2001 npes 4 ndims 1 \n8", "version 2001 npes 4 ndims 1 \n0 \n"] {
        let (_dir, path) = made(text);
        assert!(Recover::new().examine(&path).is_err(), "{text:?}");
    }
}
