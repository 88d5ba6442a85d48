//! `blob::Sealing`: the seal of a new subfile, by one process or by one for each blob, and its end.

use super::tape::{Dice, Tape, now, plain};
use super::{History, Row};
use striae_core::blob::book::Sum;
use striae_core::blob::seal::Shape;
use striae_core::blob::sealing::{NewSeal, Sealing, complete};
use striae_core::integrity::{Crc32cParts, crc32c};
use striae_core::span::Span;

#[cfg(feature = "async")]
use super::tape::{hanging, ready, wait, wait_or_drop};
#[cfg(feature = "async")]
use striae_core::blob::sealing::complete_async;

const HEADER: &[u8] = b"twelve bytes and then what the seal covers";

macro_rules! form {
    ($form:ident, $do:ident, $store:ident,
        $rows:ident $table:ident $complete:ident $over:ident) => {
        fn $form(tape: &Tape, by_blobs: bool, seed: u64) {
            let (dice, mut store) = (&mut Dice::new(seed), $store(tape));
            let shape = Shape::new(3, 2).unwrap();
            let header_len = HEADER.len() as u64;
            let gap = shape.gap_after(header_len).unwrap();
            let header = (header_len, HEADER);
            let seal = Sealing::new((shape, gap), (1, 2), header, crc32c).unwrap();
            for turn in 0..3 {
                if turn == 2 {
                    tape.mend();
                }
                let places = [10, 4, 600].map(|offset| Span::new(offset, 9).unwrap());
                let mut sum = Sum::default();
                sum.add(sum, dice.below(2), 77); // in order, or read again
                let over = $do(sum.$over(places.into_iter(), &store, &mut [0; 5], crc32c));
                tape.note("sum", over);
                let sums: Vec<u32> = (0..6).map(|_| dice.below(1 << 32) as u32).collect();
                let (records, values) = (dice.below(9), seal.of_all(&sums));
                let mut parts = Crc32cParts::NONE;
                let is_done = if by_blobs {
                    let first = dice.below(3) as u32;
                    [0, 1, 2].map(|blob| (first + blob) % 3).into_iter().all(|blob| {
                        let own = sums.iter().copied().skip(blob as usize).step_by(3);
                        let done = $do(seal.$rows(&mut store, (blob, values), own, crc32c));
                        if let Ok(more) = done {
                            parts = parts.join(more);
                        }
                        tape.note("rows", done.map(Crc32cParts::word))
                    })
                } else {
                    let table: Vec<u8> = sums.iter().flat_map(|sum| sum.to_be_bytes()).collect();
                    let done = $do(seal.$table(&mut store, (&table, values), crc32c));
                    parts = done.unwrap_or(parts);
                    tape.note("table", done.map(Crc32cParts::word))
                };
                let numrecs = Some(records).filter(|_| dice.below(3) > 0);
                if is_done {
                    let len = gap.end() + dice.below(99);
                    let sealed = NewSeal { seal: &seal, records, values, parts };
                    let sealed = Some(sealed).filter(|_| dice.below(4) > 0);
                    let done = $do($complete(&mut store, (len, numrecs), sealed, crc32c));
                    tape.note("complete", done.map(|()| 0_u64));
                }
            }
        }
    };
}

form!(blocking, now, plain, write_rows write_table complete over);
#[cfg(feature = "async")]
form!(asynchronous, wait, ready, write_rows_async write_table_async complete_async over_async);
#[cfg(feature = "async")]
form!(dropped, wait_or_drop, hanging, write_rows_async write_table_async complete_async over_async);

pub(super) fn rows() -> Vec<Row> {
    let row = |(name, by_blobs)| {
        let forms = vec![
            Box::new(move |tape: &Tape, seed| blocking(tape, by_blobs, seed)) as History,
            #[cfg(feature = "async")]
            Box::new(move |tape, seed| asynchronous(tape, by_blobs, seed)),
            #[cfg(feature = "async")]
            Box::new(move |tape, seed| dropped(tape, by_blobs, seed)),
        ];
        Row { writer: "blob::Sealing", shape: name, seeds: 6, start: vec![5; 700], forms }
    };
    [("by one", false), ("by blobs", true)].into_iter().map(row).collect()
}
