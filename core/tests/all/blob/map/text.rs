//! Text maps: rows, ranks without elements, and the place of each mistake.

use super::{golden_file, shared_file};
use striae_core::blob::map::{Error, Event, Flaw, Grid, Join, Parser, Request, sort_and_merge};
use striae_kit::map_texts::{map_text, parse};

fn ranks(bytes: &[u8]) -> Vec<(u64, Vec<u64>)> {
    parse([bytes]).unwrap().ranks
}

#[test]
fn ranks_without_elements_are_defined() {
    let first = (0, vec![1, 2, 3, 4]);
    let last = [(2, vec![5, 6, 7, 8]), (3, vec![9, 10, 11, 12])];
    let z1 = ranks(&golden_file("z1.dat")); // count 0, then an empty line
    assert_eq!(z1, [&[first.clone(), (1, vec![])][..], &last].concat());
    let z2 = ranks(&golden_file("z2.dat")); // zeros only
    assert_eq!(z2, [&[first.clone(), (1, vec![0, 0, 0])][..], &last].concat());
    let z3 = ranks(&golden_file("z3.dat")); // ranks 2 and 3 are absent
    assert_eq!(z3, [first, (1, (5..=12).collect())]);
    for name in ["z1.dat", "z2.dat", "z3.dat"] {
        map_text(&golden_file(name));
    }
}

#[test]
fn every_prefix_and_every_changed_byte_is_read_as_by_lines() {
    let file = golden_file("z1.dat");
    for len in 0..file.len() {
        map_text(&file[..len]);
        for byte in [b'0', b' ', b'\n', b'x', b'-', b'O', 0xff] {
            let mut file = file.clone();
            file[len] = byte;
            map_text(&file);
        }
    }
    for more in ["Obtained 9 stack frames.\n0 4\n1", "Obtaine", "\n\n", "2", "7 0\n"] {
        map_text(&[&file[..], more.as_bytes()].concat());
    }
}

#[test]
fn a_mistake_is_found_at_its_line_and_offset() {
    let head = "version 2001 npes 3 ndims 2\n6 4\n";
    let cases = [
        ("", "", (1, 0, Flaw::Cut)),
        ("", "wersion", (1, 0, Flaw::Word)),
        ("", "version 1 npes 3 ndims 0\n", (1, 23, Flaw::NoDims)),
        ("", "version 1 npes 3 ndims\n", (1, 22, Flaw::Short)),
        ("", "version 1 npes 3 ndims 2 5\n", (1, 25, Flaw::Long)),
        ("", "version 1 npes 99999999999999999999 ndims 2", (1, 15, Flaw::Large)),
        ("", "version 1 npes 3 ndims 2\n5\n", (2, 26, Flaw::Short)),
        ("", "version 1 npes 3 ndims 1\n5 6\n", (2, 27, Flaw::Long)),
        ("", "version 1 npes 3 ndims 1\n", (2, 25, Flaw::Cut)),
        (head, "0 2\n1 2 3\n", (4, 40, Flaw::Long)),
        (head, "0 2\n1\n", (4, 37, Flaw::Short)),
        (head, "0 2\n\n1 2\n", (4, 36, Flaw::Short)),
        (head, "0 2\n1 -2\n", (4, 38, Flaw::NoNumber)),
        (head, "0 2 2\n", (3, 36, Flaw::Long)),
        (head, "0\n", (3, 33, Flaw::Short)),
        (head, "0 1\n", (4, 36, Flaw::Cut)),
        (head, "3 0\n", (3, 32, Flaw::NoRank)),
        (head, "1 0\n1 0\n", (4, 36, Flaw::RankOrder)),
        (head, "1 0\n0 0\n", (4, 36, Flaw::RankOrder)),
        (head, "end\n", (3, 32, Flaw::Word)),
    ];
    for (head, tail, (line, offset, flaw)) in cases {
        let text = format!("{head}{tail}");
        let expected = Error::Text { line, offset, flaw };
        assert_eq!(parse([text.as_bytes()]), Err(expected), "{text:?}");
        map_text(text.as_bytes());
    }
}

/// What cannot be a rank is two flaws if its line ends there: the second one ends the map.
#[test]
fn after_a_wrong_rank_comes_what_its_line_has() {
    let head = "version 2001 npes 3 ndims 2\n6 4\n1 0\n";
    for (rank, flaw) in [(5, Flaw::NoRank), (0, Flaw::RankOrder)] {
        let goes_on = |tail: &str| {
            let text = format!("{head}{rank}{tail}");
            let (mut bytes, mut parser) = (text.as_bytes(), Parser::default());
            let wrong = loop {
                match parser.feed(&mut bytes) {
                    Ok(event) => assert!(event.is_some(), "{text:?} is taken"),
                    Err(error) => break error,
                }
            };
            assert_eq!(wrong, Error::Text { line: 4, offset: 36, flaw });
            parser.feed(&mut bytes)
        };
        assert_eq!(goes_on(" 2\n7 8\n"), Ok(Some(Event::Rank { rank, count: 2 })));
        let short = Error::Text { line: 4, offset: 37, flaw: Flaw::Short };
        assert_eq!(goes_on("\n2 1\n7\n"), Err(short));
    }
}

/// The map that E3SM-IO ships for the F case, and the text maps that it was made of.
#[test]
fn real_text_maps_join_to_the_netcdf_map() {
    let Some(map) = shared_file("map_f_case_16p.nc") else { return };
    for (id, name) in [(1, "514"), (2, "516")] {
        let name = format!("piodecomp16tasks16io01dims_ioid_{name}.dat");
        let Some(text) = shared_file(&name) else { return };
        map_text(&text);
        let text = parse(text.chunks(100)).unwrap();
        let dims: Vec<_> = text.dims.iter().rev().copied().collect();
        let grid = Grid::new(&dims).unwrap();
        let lists = super::table::lists(&map, id, Default::default());
        assert_eq!(text.ranks.len(), lists.len());
        for ((_, elements), list) in text.ranks.iter().zip(lists) {
            let mut join = Join::new(grid);
            let offsets = elements.iter().filter_map(|&element| grid.offset_of(element));
            let mut requests: Vec<_> = offsets.filter_map(|offset| join.push(offset)).collect();
            requests.extend(join.finish());
            assert_eq!(requests, list);
        }
    }
}

/// E3SM-IO adds overlaps up, as `ov_in.nc` shows; a row ends a request.
#[test]
fn merging_is_that_of_e3sm_io() {
    let grid = Grid::new(&[2, 20]).unwrap();
    let request = |(offset, len)| Request { offset, len };
    for (list, expected) in [
        (&[(0, 6), (4, 3)][..], &[(0, 9)][..]),
        (&[(4, 3), (0, 4)], &[(0, 7)]),
        (&[(10, 10), (20, 5)], &[(10, 10), (20, 5)]),
        (&[(20, 3), (20, 2)], &[(20, 2), (20, 3)]),
        (&[(5, 1), (7, 1)], &[(5, 1), (7, 1)]),
        (&[], &[]),
    ] {
        let mut list: Vec<_> = list.iter().copied().map(request).collect();
        let count = sort_and_merge(&mut list, grid);
        let expected: Vec<_> = expected.iter().copied().map(request).collect();
        assert_eq!(list[..count], expected);
    }
}
