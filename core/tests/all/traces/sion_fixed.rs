//! `sion::FixedWriter`.

use super::tape::{Dice, Tape, now, plain};
use super::{History, Row};
use striae_core::endian::ByteOrder;
use striae_core::sion::{Attributes, FixedWriter, Shape};

#[cfg(feature = "async")]
use super::tape::{hanging, ready, wait, wait_or_drop};

const TASKS: [(i64, u64); 3] = [(0, 100), (1, 37), (2, 0)];

macro_rules! form {
    ($form:ident, $do:ident, $store:ident,
        $create:ident $write:ident $commit:ident $close:ident) => {
        fn $form(tape: &Tape, shape: &Shape<3>, seed: u64) {
            let dice = &mut Dice::new(seed);
            for turn in 0..2 {
                if turn > 0 {
                    tape.mend();
                }
                let made = $do(FixedWriter::$create($store(tape), shape));
                tape.note("create", made.as_ref().map(|_| 0_u64));
                let Ok(mut file) = made else { continue };
                for _ in 0..16 {
                    let (what, local) = (dice.below(8), dice.below(7) as u32 / 2);
                    let len = [3, 36, 90, 250][dice.below(4) as usize];
                    let bytes = dice.bytes(len);
                    for _ in 0..2 {
                        // what fails is done again
                        let done = match what {
                            0 | 1 => $do(file.$commit()),
                            2 => $do(file.$close()),
                            _ => $do(file.$write(local, &bytes)),
                        };
                        if tape.note("call", done.map(|()| 0_u64)) {
                            break;
                        }
                    }
                }
                tape.note("close", $do(file.$close()).map(|()| 0_u64));
            }
        }
    };
}

form!(blocking, now, plain, create write commit close);
#[cfg(feature = "async")]
form!(asynchronous, wait, ready, create_async write_async commit_async close_async);
#[cfg(feature = "async")]
form!(dropped, wait_or_drop, hanging, create_async write_async commit_async close_async);

pub(super) fn rows() -> Vec<Row> {
    let shapes = [
        ("plain", ByteOrder::Little, 0, Vec::new()),
        ("ahead", ByteOrder::Little, 2, vec![9; 5000]),
        ("big-endian", ByteOrder::Big, 0, Vec::new()),
    ];
    let row = |(name, order, ahead, start)| {
        let data_order = ByteOrder::Little; // on every host
        let about = Attributes { fsblksize: 512, order, data_order, ..Attributes::DEFAULT };
        let shape = Shape::new(&about, b"traces", TASKS).unwrap().with_ahead(ahead);
        let forms = vec![
            Box::new(move |tape: &Tape, seed| blocking(tape, &shape, seed)) as History,
            #[cfg(feature = "async")]
            Box::new(move |tape, seed| asynchronous(tape, &shape, seed)),
            #[cfg(feature = "async")]
            Box::new(move |tape, seed| dropped(tape, &shape, seed)),
        ];
        Row { writer: "sion::FixedWriter", shape: name, seeds: 6, start, forms }
    };
    shapes.into_iter().map(row).collect()
}
