//! Addresses: what they are read from, what they are written as, and what they stand for.

use proptest::prelude::*;
use std::num::NonZeroU64;
use striae::Format;
use striae::address::{Address, Encoded, Error, Index, Part, Pattern, Selection};

fn index() -> impl Strategy<Value = Index> {
    prop_oneof![
        any::<u64>().prop_map(Index::FromStart),
        any::<NonZeroU64>().prop_map(Index::FromEnd),
    ]
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        Just(Part::All),
        any::<u64>().prop_map(Part::Chunk),
        any::<u64>().prop_map(Part::Key),
    ]
}

fn address() -> impl Strategy<Value = Address> {
    let name = proptest::collection::vec(any::<u8>(), 0..40);
    prop_oneof![
        (index(), part()).prop_map(|(index, part)| Address::Task(index, part)),
        (any::<i64>(), part()).prop_map(|(rank, part)| Address::Rank(rank, part)),
        (index(), name).prop_map(|(index, name)| Address::Chunk(index, name.into())),
        index().prop_map(Address::Sample),
    ]
}

proptest! {
    #[test]
    fn an_address_is_what_its_text_says_and_a_pattern_of_nothing_else(
        address in address(),
        other in address(),
    ) {
        let text = address.to_string();
        prop_assert_eq!(text.parse::<Address>().unwrap(), address.clone());
        let pattern: Pattern = text.parse().unwrap();
        prop_assert_eq!(pattern.address(), Some(&address));
        prop_assert!(pattern.matches(&address));
        prop_assert_eq!(pattern.matches(&other), address == other);
    }

    #[test]
    fn a_shell_takes_an_address_for_one_word(address in address()) {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@=%".contains(c);
        prop_assert!(address.to_string().chars().all(is_plain));
    }

    #[test]
    fn a_name_may_stand_as_it_is_but_for_percent(name in "[^%]{0,30}") {
        let text = format!("frame/3/{name}");
        prop_assert_eq!(text.parse::<Address>().unwrap(), Address::chunk(3, name.as_bytes()));
    }

    #[test]
    fn any_text_is_an_address_or_an_error_that_names_it(
        text in "(task|rank|frame|sample)?/?.{0,12}",
    ) {
        match text.parse::<Address>() {
            Ok(address) => prop_assert_eq!(address.to_string().parse::<Address>(), Ok(address)),
            Err(error) => prop_assert!(error.to_string().contains(": must be "), "{}", error),
        }
    }

    #[test]
    fn a_number_is_one_of_the_file_or_refused(address in address(), count in 0u64..9) {
        let format = address.format();
        for other in Format::ALL.into_iter().filter(|other| *other != format) {
            let refused = address.resolve(other, count);
            prop_assert!(matches!(refused, Err(Error::NotOf { .. })), "{:?}", refused);
        }
        let index = match &address {
            Address::Task(index, _) | Address::Chunk(index, _) | Address::Sample(index) => *index,
            Address::Rank(..) | Address::Variable(_) => {
                prop_assert_eq!(address.resolve(format, count), Ok(address.clone()));
                return Ok(());
            }
        };
        let is_there = match index {
            Index::FromStart(n) => n < count,
            Index::FromEnd(n) => n.get() <= count,
        };
        prop_assert_eq!(address.resolve(format, count).is_ok(), is_there);
    }
}

#[test]
fn numbers_from_the_end_are_those_from_the_start() {
    for count in 1..5u64 {
        for back in 1..=count {
            let text = format!("sample/-{back}");
            let found = text.parse::<Address>().unwrap().resolve(Format::Ffrecord, count);
            assert_eq!(found, Ok(Address::sample(count - back)));
        }
    }
}

#[test]
fn what_is_no_address_is_told_what_it_must_be() {
    let pairs = [
        ("", "task/N, rank/R, frame/N/NAME, sample/N or variable/NAME"),
        ("tasks/3", "task/N, rank/R, frame/N/NAME, sample/N or variable/NAME"),
        ("task", "task/N, task/N/chunk/C or task/N/key/K"),
        ("task/", "task/N, task/N/chunk/C or task/N/key/K"),
        ("task/3/", "task/N, task/N/chunk/C or task/N/key/K"),
        ("task/+3", "task/N, task/N/chunk/C or task/N/key/K"),
        ("task/-0", "task/N, task/N/chunk/C or task/N/key/K"),
        ("task/3/chunk/-1", "task/N, task/N/chunk/C or task/N/key/K"),
        ("task/3/key", "task/N, task/N/chunk/C or task/N/key/K"),
        ("task/3/key/1/2", "task/N, task/N/chunk/C or task/N/key/K"),
        ("rank/+1", "rank/R, rank/R/chunk/C or rank/R/key/K"),
        ("frame/3", "frame/N/NAME, with %25 for a % in the name"),
        ("frame/3/100%", "frame/N/NAME, with %25 for a % in the name"),
        ("frame/3/%zz", "frame/N/NAME, with %25 for a % in the name"),
        ("sample/x", "sample/N"),
    ];
    for (text, must) in pairs {
        let error = text.parse::<Address>().unwrap_err().to_string();
        assert!(error.ends_with(&format!(": must be {must}")), "{text}: {error}");
    }
}

#[test]
fn an_error_says_what_the_file_has() {
    let says = |text: &str, format, count| {
        text.parse::<Address>().unwrap().resolve(format, count).unwrap_err().to_string()
    };
    assert_eq!(says("frame/9/a", Format::Gsd, 3), "frame/9/a: the file has 3 frames, 0 to 2");
    assert_eq!(says("frame/-4/a", Format::Gsd, 3), "frame/-4/a: the file has 3 frames, 0 to 2");
    assert_eq!(says("task/1", Format::Sion, 1), "task/1: the file has 1 task, 0");
    assert_eq!(says("sample/0", Format::Ffrecord, 0), "sample/0: the file has no samples");
    assert_eq!(says("task/1", Format::Gsd, 1), "task/1: addresses in a GSD file are frame/N/NAME");
}

#[test]
fn a_pattern_of_tasks_does_not_stand_for_their_parts() {
    let matches = |pattern: &str, address: &str| {
        pattern.parse::<Pattern>().unwrap().matches(&address.parse().unwrap())
    };
    assert!(matches("task/*", "task/12") && !matches("task/*", "task/12/key/3"));
    assert!(matches("task/*/*", "task/12/key/3") && !matches("task/*/*", "task/12"));
    assert!(matches("frame/*/a/*", "frame/3/a/b/c") && !matches("frame/*/a/*", "frame/3/b/a/c"));
    assert!(matches("frame/1*", "frame/12/a/b") && !matches("frame/1?/*", "frame/123/a"));
    assert!(matches("*", "task/12") && matches("*", "frame/0/a/b"));
    assert!(matches("rank/-?", "rank/-3") && !matches("rank/-?", "task/3"));
    let literal = format!("frame/0/{}", Encoded(b"a[0]*?"));
    assert!(matches(&literal, &literal) && literal.parse::<Pattern>().unwrap().address().is_some());
}

#[test]
fn a_selection_says_which_pattern_stands_for_nothing() {
    let patterns = ["frame/-1/*", "frame/0/b"].map(|text| text.parse::<Pattern>().unwrap());
    let chosen = Selection::new(&patterns, Format::Gsd, 3).unwrap();
    assert!(chosen.has(&Address::chunk(2, *b"a")) && !chosen.has(&Address::chunk(1, *b"a")));
    let error = chosen.check().unwrap_err().to_string();
    assert!(error.starts_with("frame/0/b: nothing has such an address; "), "{error}");
    assert!(chosen.has(&Address::chunk(0, *b"b")));
    assert_eq!(chosen.check(), Ok(()));
}

proptest! {
    #[test]
    fn a_name_in_a_pattern_may_be_written_as_in_an_address(
        name in proptest::collection::vec(any::<u8>(), 1..9),
    ) {
        let address = Address::chunk(3, &*name);
        let all = |byte: &u8| format!("%{byte:02x}");
        let encoded: String = name.iter().map(all).collect();
        let upper = encoded.to_uppercase();
        for text in [encoded, upper, Encoded(&name).to_string()] {
            let pattern: Pattern = format!("frame/*/{text}").parse().unwrap();
            prop_assert!(pattern.matches(&address), "{} {}", pattern, address);
            prop_assert!(!pattern.matches(&Address::chunk(3, &name[1..])));
        }
    }
}

#[test]
fn the_bytes_of_a_pattern_that_are_not_special_stand_for_themselves() {
    let matches = |pattern: &str, name: &[u8]| {
        let pattern = pattern.parse::<Pattern>().unwrap_or_else(|error| panic!("{error}"));
        pattern.matches(&Address::chunk(0, name))
    };
    assert!(matches("frame/?/my value*", b"my value 2") && !matches("frame/?/my value", b"my"));
    assert!(matches("frame/?/a!]b", b"a!]b") && matches("frame/*/a[", b"a["));
    assert!(matches("frame/*/%2A", b"*") && !matches("frame/*/%2A", b"a"));
    assert!(matches("frame/*/%5Ba-c]", b"[a-c]") && !matches("frame/*/%5Ba-c]", b"b"));
    assert!(matches("frame/*/[!]a]b", b"cb") && !matches("frame/*/[!]a]b", b"ab"));
    assert!(matches("frame/*/é", "é".as_bytes()));
    let must = |text: &str| text.parse::<Pattern>().unwrap_err().to_string();
    assert!(must("frame/*/100%").ends_with("must be a pattern with %25 for a % in the name"));
    assert!(must("variable/*%zz").ends_with("must be a pattern with %25 for a % in the name"));
    assert!(
        must("tasks/*")
            .ends_with("must be task/N, rank/R, frame/N/NAME, sample/N or variable/NAME")
    );
}
