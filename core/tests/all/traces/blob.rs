//! `blob::append`: records that a variable-centric subfile gets, with its seal.

use super::tape::{Dice, Tape, now, plain};
use super::{History, Row};
use striae_core::blob::append::{Reseal, count, settle, take_back};
use striae_core::blob::seal::{Facts, Shape, header_crc};
use striae_core::cdf::{
    Alignment, Definition, DimDef, Fill, Plan, Slot, Type, Values, VarDef, Version, Writer,
};
use striae_core::endian::ByteOrder;
use striae_core::integrity::crc32c;
use striae_core::span::Span;
use striae_core::store::WriteAt;

#[cfg(feature = "async")]
use super::tape::{hanging, ready, wait, wait_or_drop};
#[cfg(feature = "async")]
use striae_core::blob::append::{count_async, settle_async, take_back_async};
#[cfg(feature = "async")]
use striae_core::store::AsyncWriteAt;

macro_rules! form {
    ($form:ident, $do:ident, $store:ident, $create:ident $open:ident $put:ident $end:ident
        $close:ident $count:ident $settle:ident $back:ident) => {
        fn $form(tape: &Tape, seed: u64) {
            let dice = &mut Dice::new(seed);
            let var = VarDef { name: "v", nc_type: Type::Int, dimids: &[0, 1] };
            let dims = [DimDef::record("t"), DimDef { name: "nelems", length: 5 }];
            let definition = Definition { dims: &dims, attrs: &[], vars: &[(var, &[])] };
            let shape = Shape::new(2, 1).unwrap();
            let alignment =
                Alignment { header_free: shape.gap_len().unwrap(), ..Alignment::default() };
            let plan = Plan::new(&definition, Version::Cdf5, alignment).unwrap();
            let (slots, window, fill) = ([Slot::EMPTY], [0; 64], Fill::Values);
            let made = $do(Writer::$create($store(tape), &definition, &plan, fill, slots, window));
            tape.note("create", made.as_ref().map(|_| 0_u64));
            let Ok(mut file) = made else { return };
            tape.note("close", $do(file.$close()).map(|()| 0_u64));
            let header_len = plan.header_len();
            let bytes = tape.bytes();
            let Some(header) = bytes.get(..header_len as usize) else { return };
            let gap = Span::between(header_len, plan.fixed().offset()).unwrap();
            let places = shape.places(gap, false).unwrap();
            let of = (header_crc(header, crc32c), gap.end());
            let mut store = $store(tape);
            let mut numrecs = 0;
            for turn in 0..4 {
                if turn == 3 {
                    tape.mend();
                }
                let (slots, window) = ([Slot::EMPTY], [0; 512]);
                let opened =
                    $do(Writer::$open($store(tape), Fill::None, &mut [0; 2], slots, window));
                tape.note("open", opened.as_ref().map(|_| 0_u64));
                let Ok(mut file) = opened else { continue };
                let (records, next) = (1 + dice.below(3), dice.below(2) as usize);
                for record in 0..records {
                    let place = file.place(0, numrecs + record).unwrap();
                    let bytes = dice.bytes(place.len());
                    let written = $do(file.store_mut().write_all_at(place.offset(), &bytes));
                    tape.note("write", written.map(|()| 0_u64));
                }
                let (header_crc, values_begin) = of;
                let (numrecs_now, tie) = (numrecs + records, None);
                let facts = Facts {
                    shape,
                    header_len,
                    header_crc,
                    values_begin,
                    numrecs: numrecs_now,
                    tie,
                };
                let table = dice.bytes(places[0].table.len());
                let seal = Reseal { facts, places, table: &table };
                let with_seal = Some((&seal, next)).filter(|_| dice.below(4) > 0);
                let counted = $do($count(&mut file, records, with_seal, crc32c));
                if !tape.note("count", counted.map(|()| 0_u64)) || dice.below(4) == 0 {
                    tape.note("back", $do($back(&mut store, numrecs)).map(|()| 0_u64));
                    continue;
                }
                numrecs = numrecs_now;
                let settled = $do($settle(&mut store, &seal, next, crc32c));
                tape.note("settle", settled.map(|()| 0_u64));
            }
            // A record that is put after all of them.
            let (slots, window) = ([Slot::EMPTY], [0; 512]);
            let opened = $do(Writer::$open($store(tape), Fill::Values, &mut [0; 2], slots, window));
            tape.note("open", opened.as_ref().map(|_| 0_u64));
            let Ok(mut file) = opened else { return };
            let bytes = dice.bytes(20);
            let put = $do(file.$put(0, Values::new(Type::Int, ByteOrder::Big, &bytes)));
            tape.note("put", put.map(|()| 0_u64));
            tape.note("end", $do(file.$end()));
            tape.note("close", $do(file.$close()).map(|()| 0_u64));
        }
    };
}

form!(blocking, now, plain, create open put end_record close count settle take_back);
#[cfg(feature = "async")]
form!(asynchronous, wait, ready, create_async open_async put_async end_record_async close_async
    count_async settle_async take_back_async);
#[cfg(feature = "async")]
form!(dropped, wait_or_drop, hanging, create_async open_async put_async end_record_async
    close_async count_async settle_async take_back_async);

pub(super) fn rows() -> Vec<Row> {
    let forms = vec![
        Box::new(blocking) as History,
        #[cfg(feature = "async")]
        Box::new(asynchronous),
        #[cfg(feature = "async")]
        Box::new(dropped),
    ];
    vec![Row { writer: "blob::append", shape: "sealed", seeds: 12, start: Vec::new(), forms }]
}
