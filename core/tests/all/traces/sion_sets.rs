//! `sion::publish::Desk`: files of a set, whose commits are prepared before they are shown.

use super::tape::{Dice, Tape, now, plain};
use super::{History, Row};
use striae_core::endian::ByteOrder;
use striae_core::integrity::crc32c;
use striae_core::sion::book::{Ahead, Book};
use striae_core::sion::create::{Front, blocks, write_meta1};
use striae_core::sion::publish::{Desk, Terms};
use striae_core::sion::tables::{Column, Entries, TableSums, Tables, Written, write};
use striae_core::sion::visible::Outcome;
use striae_core::sion::{Attributes, Meta1};

#[cfg(feature = "async")]
use super::tape::{hanging, ready, wait, wait_or_drop};
#[cfg(feature = "async")]
use striae_core::sion::{create::write_meta1_async, tables::write_async};

const TASKS: [(i64, u64); 3] = [(0, 512), (1, 1024), (2, 0)];

#[derive(Debug, Clone, Copy)]
struct Shape {
    order: ByteOrder,
    sealed: bool,
    /// Whether several processes write the tables.
    by_ranks: bool,
}

/// What all tasks wrote so far: a number of chunks each, and the bytes in the last one.
#[derive(Debug, Clone, Copy)]
struct All {
    chunks: [u32; 3],
    used: u64,
}

impl Written for All {
    fn lay_over(&self, entries: &mut Entries<'_>) {
        let column = entries.column();
        for (local, chunks) in (0..).zip(self.chunks) {
            let value = match column {
                Column::Blockcounts => chunks.into(),
                Column::Blocksizes { chunk } | Column::Crcs { chunk } if chunk + 1 == chunks => {
                    self.used
                }
                Column::Blocksizes { chunk } | Column::Crcs { chunk } if chunk < chunks => 512,
                _ => 0,
            };
            entries.set(local, value);
        }
    }
}

macro_rules! form {
    ($form:ident, $do:ident, $store:ident, $create:ident $settle:ident $prepare:ident $show:ident
        $close:ident $write:ident) => {
        fn $form(tape: &Tape, shape: &Shape, seed: u64) {
            let dice = &mut Dice::new(seed);
            let Shape { order, sealed, by_ranks } = *shape;
            let about =
                Attributes { fsblksize: 512, order, data_order: order, ..Attributes::DEFAULT };
            let meta1 = Meta1::new(&about, 3).unwrap();
            let (front, mut store) = (Front::new(&meta1, b"traces").unwrap(), $store(tape));
            let (tasks, window, sum) = (&TASKS[..], &mut [0; 40], Some(crc32c as _));
            let made = $do($create(&front, &tasks, sum, &mut store, window));
            tape.note("create", made);
            let Ok(crc) = made else { return };
            let blocks = blocks(&meta1, &tasks).unwrap();
            let book = Book::create(&meta1, &blocks, 0, sealed).unwrap();
            let book = &mut book.with_meta1_crc(crc).with_set_identity(7);
            let mut all = All { chunks: [1; 3], used: 0 };
            for number in 1..6 {
                if number == 4 {
                    tape.mend();
                }
                let is_last = dice.below(3) == 0;
                all.chunks[dice.below(2) as usize] += dice.below(2) as u32;
                all.used = dice.below(500);
                let rows = all.chunks.into_iter().max().unwrap();
                let terms = Terms { set_number: number, ..Terms::default() };
                let settled = $do(Desk::new(book, &mut store, terms, window).unwrap().$settle());
                if !tape.note("settle", settled.map(|()| 0_u64)) {
                    continue;
                }
                let new = book.prepared(rows, is_last, Ahead::NONE).unwrap();
                let new = new.with_set_number(number).unwrap();
                if by_ranks {
                    let (publication, mut sums) =
                        (book.publication(new, 0, crc32c), TableSums::NONE);
                    for range in [1..3, 0..1] {
                        let mut part = Tables::part(range, all);
                        let written = $do($write(&publication, &mut part, &mut store, window));
                        if !tape.note("write", written.map(|()| 0_u64)) {
                            return; // all ranks fail then
                        }
                        sums = sums.join(*part.sums());
                    }
                    // The first rank, with a copy of the Book.
                    let mut own = *book;
                    let mut desk = Desk::new(&mut own, &mut store, terms, window).unwrap();
                    let done = $do(desk.$prepare(&new, &mut sums));
                    if !tape.note("prepare", done.map(|()| 0_u64)) {
                        return;
                    }
                    let shown = $do(desk.$show(&new));
                    if !tape.note("show", shown.map(|()| 0_u64)) {
                        return;
                    }
                    book.conclude(Outcome::Published(new));
                } else {
                    let mut desk = Desk::new(book, &mut store, terms, window).unwrap();
                    let done = $do(desk.$prepare(&new, &mut Tables::all(all)));
                    if !tape.note("prepare", done.map(|()| 0_u64)) {
                        continue;
                    }
                    let shown = $do(desk.$show(&new));
                    tape.note("show", shown.map(|()| 0_u64));
                }
                if is_last && book.published() == Some(&new) && !book.is_closed() {
                    let mut desk = Desk::new(book, &mut store, terms, window).unwrap();
                    let closed = $do(desk.$close(rows, &mut Tables::all(all)));
                    tape.note("close", closed.map(|()| 0_u64));
                }
                tape.say(&format!("{} {}", book.is_closed(), book.settled()));
            }
        }
    };
}

form!(blocking, now, plain, write_meta1 settle prepare show close write);
#[cfg(feature = "async")]
form!(asynchronous, wait, ready, write_meta1_async settle_async prepare_async show_async close_async
    write_async);
#[cfg(feature = "async")]
form!(dropped, wait_or_drop, hanging, write_meta1_async settle_async prepare_async show_async
    close_async write_async);

pub(super) fn rows() -> Vec<Row> {
    let one = Shape { order: ByteOrder::Little, sealed: false, by_ranks: false };
    let shapes = [
        ("plain", one),
        ("sealed", Shape { sealed: true, ..one }),
        ("by ranks", Shape { by_ranks: true, ..one }),
        ("sealed by ranks", Shape { order: ByteOrder::Big, sealed: true, by_ranks: true }),
    ];
    let row = |(name, shape): (_, Shape)| {
        let forms = vec![
            Box::new(move |tape: &Tape, seed| blocking(tape, &shape, seed)) as History,
            #[cfg(feature = "async")]
            Box::new(move |tape, seed| asynchronous(tape, &shape, seed)),
            #[cfg(feature = "async")]
            Box::new(move |tape, seed| dropped(tape, &shape, seed)),
        ];
        Row { writer: "sion set", shape: name, seeds: 6, start: vec![5; 3000], forms }
    };
    shapes.into_iter().map(row).collect()
}
