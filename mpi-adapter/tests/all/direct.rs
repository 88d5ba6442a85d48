//! The ranks of a node read what they want, and each byte of the file once.

use crate::world::{self, ranks};
use proptest::prelude::*;
use std::sync::LazyLock;
use striae::direct::{OpenOptions, Policy};
use striae_core::span::Span;
use striae_mpi::direct::{File, Samples};
use striae_mpi::{Code, Collective, Error, Threads};

const LEN: usize = 5_000_123;

fn content() -> &'static [u8] {
    static CONTENT: LazyLock<Vec<u8>> =
        LazyLock::new(|| (0..LEN).map(|at| (at * 7 + at / 251 + at / 65_536) as u8).collect());
    &CONTENT
}

/// A file on a disk, where direct reading may be possible.
fn made() -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    std::fs::write(file.path(), content()).unwrap();
    file
}

fn check(samples: &Samples, wanted: &[Span], content: &[u8]) {
    assert_eq!((samples.len(), samples.is_empty()), (wanted.len(), wanted.is_empty()));
    assert_eq!(samples.get(wanted.len()), None);
    for (number, span) in wanted.iter().enumerate() {
        let [start, end] = [span.offset(), span.end()].map(|at| at as usize);
        let expected = if span.is_empty() { &[] } else { &content[start..end] };
        assert!(samples.get(number) == Some(expected), "{span:?}");
    }
}

fn options() -> [OpenOptions; 2] {
    [OpenOptions::new(), OpenOptions::new().policy(Policy::Off)]
}

fn span(offset: u64, len: u64) -> Span {
    Span::new(offset, len).unwrap()
}

/// Short spans and long ones, by offset and length.
fn places() -> impl Strategy<Value = (u64, u64)> {
    (0..LEN as u64, prop_oneof![0..3000_u64, 0..2_500_000_u64])
}

proptest! {
    #![proptest_config(crate::config(12))]

    #[test]
    fn every_rank_gets_what_it_wants(
        size in 1..7_u32,
        wanted in prop::collection::vec(prop::collection::vec(places(), 0..9), 7),
    ) {
        let (file, content) = (made(), content());
        let clip = |(at, len): (u64, u64)| span(at, len.min(LEN as u64 - at));
        let wanted: Vec<Vec<Span>> =
            wanted.into_iter().map(|list| list.into_iter().map(clip).collect()).collect();
        for options in options() {
            ranks(size, |comm| {
                let mine = &wanted[comm.rank() as usize];
                let file = File::open_with(comm, file.path(), &options).unwrap();
                check(&file.read(mine).unwrap(), mine, content);
                check(&file.read(&[]).unwrap(), &[], content);
                file.close().unwrap();
            });
        }
    }
}

#[test]
fn what_all_want_is_read_once_and_by_all_of_them() {
    let (file, content) = (made(), content());
    for size in [1, 2, 5, 8] {
        // The whole file, in samples of 10 000 bytes, twice and in an order of each rank.
        let read = ranks(size, |comm| {
            let rank = u64::from(comm.rank());
            let wanted = (0..1000).map(|at| span((at + rank * 77) % 500 * 10_000, 10_000));
            let wanted: Vec<Span> =
                wanted.chain([span(5_000_000, 123), span(9_999_999, 0)]).collect();
            let file = File::open(comm, file.path()).unwrap();
            let before = file.node().calls();
            let samples = file.read(&wanted).unwrap();
            assert_eq!(file.node().calls() - before, 6);
            check(&samples, &wanted, content);
            samples.bytes_read()
        });
        assert_eq!(read.iter().sum::<u64>(), LEN as u64);
        let most = *read.iter().max().unwrap();
        assert!(most <= LEN as u64 / u64::from(size) + (1 << 20), "{read:?}");
    }
}

#[test]
fn nodes_are_by_themselves() {
    let (file, content) = (made(), content());
    let read = Threads::new(6).ranks_per_node(2).run(|comm| {
        let wanted = [span(1000 * u64::from(comm.rank() / 2), 4_000_000)];
        let file = File::open(comm, file.path()).unwrap();
        assert_eq!(file.node().size(), 2);
        let samples = file.read(&wanted).unwrap();
        check(&samples, &wanted, content);
        samples.bytes_read()
    });
    let read: Vec<u64> = read.into_iter().map(Result::unwrap).collect();
    assert!(read.chunks(2).all(|node| (4_000_000..4_100_000).contains(&(node[0] + node[1]))));
}

#[test]
fn what_cannot_be_read_is_one_error_of_all_ranks() {
    let file = made();
    let error = |path: &std::path::Path, bad: Span| -> Error {
        let errors = ranks(3, |comm| {
            let is_bad = comm.rank() == 1;
            let file = match File::open(comm, path) {
                Ok(file) => file,
                Err(error) => return error,
            };
            file.read(&[if is_bad { bad } else { span(0, 10) }]).unwrap_err()
        });
        assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
        errors[0].clone()
    };
    let past = error(file.path(), span(LEN as u64 - 5, 6));
    assert_eq!((past.code(), past.rank()), (Code::Refused, Some(1)));
    assert_eq!(error("/nowhere/at/all".as_ref(), span(0, 1)).code(), Code::Io(2)); // ENOENT
}

#[test]
fn whatever_happens_to_a_rank_the_others_get_one_error() {
    let (file, content) = (made(), content());
    let mut runs = 0;
    world::sweep(
        3,
        |comm| {
            let rank = u64::from(comm.rank());
            let file = File::open_with(comm, file.path(), &options()[1])?;
            let wanted = [span(0, 1_200_000), span(rank * 1_000_000, 20_000)];
            check(&file.read(&wanted)?, &wanted, content);
            file.close()
        },
        |_| runs += 1,
    );
    assert!(runs > 90, "{runs}"); // of each kind, at each operation
}
