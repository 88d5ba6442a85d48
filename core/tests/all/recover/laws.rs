//! What is proven, and what is not.

use super::{Stream, recover, recover_in};
use std::cell::RefCell;
use striae_core::endian::ByteOrder;
use striae_core::integrity::crc32c;
use striae_core::sion::recover::{
    Certainty, Doubt, Proof, Remains, Scratch, Sparse, WINDOW, first_nonzero, used_len,
};
use striae_core::sion::{Attributes, Meta1};
use striae_core::span::{Span, Stride};
use striae_core::store::{FixedSize, ReadAt};
use zerocopy::IntoBytes;

/// An unclosed file whose tasks wrote these streams, filling chunks of these sizes. It has all of
/// its commit fields.
fn unclosed(order: ByteOrder, keyval: bool, tasks: &[(u64, &[u8])]) -> Vec<u8> {
    let attributes = Attributes { order, keyval, ..Attributes::default() };
    let meta1 = Meta1::new(&attributes, tasks.len() as u64).unwrap();
    let mut file = meta1.to_raw(b"a.sion").unwrap().as_bytes().to_vec();
    let i64_of = |n: u64| match order {
        ByteOrder::Little => n.to_le_bytes(),
        ByteOrder::Big => n.to_be_bytes(),
    };
    file.extend((0..tasks.len()).flat_map(|rank| i64_of(rank as u64)));
    file.extend(tasks.iter().flat_map(|task| i64_of(task.0)));
    let (first, skip) =
        (meta1.layout().first_chunk(), tasks.iter().map(|task| task.0).sum::<u64>());
    file.resize(meta1.layout().meta1_end() as usize, 0);
    let mut start = first;
    for (chunksize, stream) in tasks {
        for (chunk, bytes) in stream.chunks((*chunksize as usize).max(1)).enumerate() {
            let at = (start + chunk as u64 * skip) as usize;
            file.resize(file.len().max(at + bytes.len()), 0);
            file[at..at + bytes.len()].copy_from_slice(bytes);
        }
        start += chunksize;
    }
    file
}

fn record(order: ByteOrder, key: u64, value: &[u8]) -> Vec<u8> {
    let header = [key, value.len() as u64].map(|n| match order {
        ByteOrder::Little => n.to_le_bytes(),
        ByteOrder::Big => n.to_be_bytes(),
    });
    [header.as_flattened(), value].concat()
}

const ORDERS: [ByteOrder; 2] = [ByteOrder::Little, ByteOrder::Big];

fn certainty(streams: &[Stream]) -> Certainty {
    streams[0].recovered.certainty
}

#[test]
fn records_that_were_cut_anywhere_are_never_promised() {
    let (mut exact, mut guesses) = (0, 0);
    for order in ORDERS {
        let values: [&[u8]; 6] =
            [b"abc", &[0; 20], b"", &[7; 300], &[1, 0, 0, 0], b"the last one, longer than a chunk"];
        let records: Vec<_> =
            (0..).zip(values).map(|(key, value)| record(order, key * key, value)).collect();
        let stream = records.concat();
        let ends: Vec<_> = records
            .iter()
            .scan(0, |end, record| {
                *end += record.len();
                Some(*end)
            })
            .collect();
        for cut in 0..=stream.len() {
            let whole = ends.iter().copied().filter(|&end| end <= cut).max().unwrap_or(0);
            // The other task makes the file longer than the first one's stream, or does not.
            for other in [&[][..], &[9; 512]] {
                let file =
                    unclosed(order, true, &[(64, &stream[..cut]), (64, &record(order, 1, other))]);
                let found = &recover(&file).unwrap()[0];
                match found.recovered.certainty {
                    Certainty::Exact | Certainty::AsFound(_) => {
                        exact += 1;
                        assert_eq!(found.bytes, stream[..whole], "cut at {cut}");
                    }
                    Certainty::Guess(_) => {
                        guesses += 1;
                        assert!(found.bytes.len() >= whole, "cut at {cut}");
                    }
                }
            }
        }
    }
    println!("cut records: {exact} exact, {guesses} guesses");
    assert!(exact > 500, "{exact}");
}

#[test]
fn a_record_that_ends_in_zero_may_be_unfinished() {
    for order in ORDERS {
        let stream = [record(order, 1, b"whole"), record(order, 2, &[5, 0])].concat();
        let streams = recover(&unclosed(order, true, &[(100, &stream)])).unwrap();
        assert_eq!(certainty(&streams), Certainty::Guess(Doubt::LastRecord));
        assert_eq!(streams[0].bytes, stream);
    }
}

#[test]
fn an_unfinished_record_at_the_end_is_left_out() {
    let order = ByteOrder::Little; // of a big key 2 the first byte is a zero
    let whole = record(order, 1, &[0; 30]);
    for len in [1, 9, 16, 40] {
        let stream = [&whole[..], &record(order, 2, &[7; 50])[..len]].concat();
        let streams = recover(&unclosed(order, true, &[(100, &stream)])).unwrap();
        assert_eq!(
            certainty(&streams),
            Certainty::AsFound(Proof::RecordsBeforeUnfinished),
            "{len}"
        );
        assert_eq!(streams[0].bytes, whole);
    }
}

#[test]
fn empty_records_of_key_0_are_not_told_from_nothing() {
    let order = ByteOrder::HOST;
    let (empty, last) = (record(order, 0, b""), record(order, 3, b"last"));
    let stream = [&empty[..], &empty, &last].concat();
    let streams = recover(&unclosed(order, true, &[(24, &stream)])).unwrap();
    assert_eq!(certainty(&streams), Certainty::Guess(Doubt::ZeroRecords));
    assert_eq!(streams[0].bytes, stream);

    // What follows zeros and is no record is in no stream.
    let rubbish = [&last[..], &empty, &[255; 16]].concat();
    let streams = recover(&unclosed(order, true, &[(24, &rubbish), (8, &[1; 80])])).unwrap();
    assert_eq!(certainty(&streams), Certainty::Guess(Doubt::NoRecord));
    assert_eq!(streams[0].bytes, last);
}

/// A store that notes what it is told of.
struct Listening<'f>(&'f [u8], RefCell<Vec<Span>>);

impl ReadAt for Listening<'_> {
    type Error = FixedSize;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, FixedSize> {
        self.0.read_at(offset, buf)
    }

    fn size(&self) -> Result<u64, FixedSize> {
        self.0.size()
    }

    fn will_read(&self, spans: &[Stride]) {
        self.1.borrow_mut().extend(spans.iter().flat_map(|stride| stride.spans()));
    }
}

impl Sparse for Listening<'_> {}

/// A store is told of all chunks that a header of a record is in, and of none after the stream.
#[test]
fn of_a_header_in_many_chunks_the_store_is_told_before_it_is_read() {
    let order = ByteOrder::HOST;
    let (first, last) = (record(order, 1, b"ab"), record(order, 2, b""));
    for (stream, headers) in [(last.clone(), vec![0]), ([first, last].concat(), vec![0, 18])] {
        let file = unclosed(order, true, &[(4, &stream)]);
        let store = Listening(&file, RefCell::default());
        let (mut tables, mut window) = (vec![0; 4096], vec![0; 4096]);
        let remains = Remains::read(&store, crc32c, &mut tables).unwrap();
        let task = remains.tasks(&store, &mut tables).unwrap().next().unwrap().unwrap().task;
        store.1.borrow_mut().clear();
        let recovered =
            remains.recover(&store, &task, &mut Scratch::new(&mut window), &mut |_, _| Ok(()));
        assert_eq!(recovered.unwrap().bytes, stream.len() as u64);
        let (start, told) = (task.chunks.start, store.1.borrow());
        let end = start + stream.len().next_multiple_of(4) as u64;
        assert!(told.iter().all(|span| start <= span.offset() && span.end() <= end), "{told:?}");
        for at in headers.into_iter().flat_map(|header| header..header + 16) {
            let is_in = |span: &Span| (span.offset()..span.end()).contains(&(start + at));
            assert!(told.iter().any(is_in), "byte {at} of {told:?}");
        }
    }
}

#[test]
fn nothing_written_is_as_found_only_where_records_would_be() {
    let order = ByteOrder::HOST;
    let empty = |keyval| recover(&unclosed(order, keyval, &[(64, b""), (0, b"")])).unwrap();
    assert_eq!(certainty(&empty(true)), Certainty::AsFound(Proof::Records));
    assert_eq!(certainty(&empty(false)), Certainty::Guess(Doubt::NoMeta2));
    let no_room = empty(false)[1].recovered;
    assert_eq!(no_room.certainty, Certainty::AsFound(Proof::NoRoom));
    assert_eq!((no_room.blockcount, no_room.bytes), (1, 0));
}

#[test]
fn a_file_that_ends_before_its_commit_fields_do_may_be_cut() {
    let order = ByteOrder::HOST;
    for keyval in [false, true] {
        let file = unclosed(order, keyval, &[(64, b""), (0, b"")]);
        let fields = file.len() - 12;
        for end in fields..file.len() {
            let found = recover(&file[..end]).unwrap();
            assert_eq!(certainty(&found), Certainty::Guess(Doubt::FileCut), "{end}");
        }
    }
}

#[test]
fn plain_chunks_end_in_their_last_byte() {
    let order = ByteOrder::HOST;
    let mut stream = vec![0; 8 * 600];
    stream[600..612].fill(1); // chunk 1
    stream[1300] = 2; // inside chunk 2
    stream[3599] = 3; // the end of chunk 5
    let file = unclosed(order, false, &[(600, &stream), (40, b"other")]);
    let streams = recover(&file).unwrap();
    assert_eq!(streams[0].lens, [0, 12, 101, 0, 0, 600]);
    assert_eq!(streams[1].lens, [5]);
    for window in [WINDOW, WINDOW + 7, 1 << 16] {
        assert_eq!(recover_in(&file, window).unwrap(), streams, "the window does not matter");
    }
    assert!(recover_in(&file, WINDOW - 1).is_err());
}

#[test]
fn zeros_are_found_from_both_sides() {
    for len in [1usize, 63, 64, 65, 511, 512, 513, 3000] {
        let mut bytes = vec![0; len];
        let span = Span::new(0, len as u64).unwrap();
        let mut window = [0; 100];
        assert_eq!(used_len(&*bytes, span, &mut window).unwrap(), 0);
        assert_eq!(first_nonzero(&*bytes, span, &mut window).unwrap(), None);
        for at in [0, len / 2, len - 1] {
            bytes[at] = 1;
            assert_eq!(used_len(&*bytes, span, &mut window).unwrap(), at as u64 + 1);
            assert_eq!(first_nonzero(&*bytes, span, &mut window).unwrap(), Some(at as u64));
            bytes[at] = 0;
        }
    }
}
