//! `cdf::Writer`.

use super::tape::{Dice, Tape, now, plain};
use super::{History, Row};
use core::num::NonZeroU64;
use striae_core::cdf::{
    Alignment, AttrDef, Definition, DimDef, Fill, Plan, Region, Slab, Slot, Type, Values, VarDef,
    Version, Writer,
};
use striae_core::endian::ByteOrder;

#[cfg(feature = "async")]
use super::tape::{hanging, ready, wait, wait_or_drop};

#[derive(Debug, Clone, Copy)]
struct Shape {
    version: Version,
    fill: Fill,
    unit: u64,
}

const LENS: [u64; 3] = [12, 2, 12];

macro_rules! form {
    ($form:ident, $do:ident, $store:ident, $create:ident $open:ident $put:ident $slab:ident
        $end:ident $commit:ident $close:ident) => {
        fn $form(tape: &Tape, shape: &Shape, seed: u64) {
            let dice = &mut Dice::new(seed);
            let (time, sensor) = (DimDef::record("time"), DimDef { name: "sensor", length: 3 });
            let place = VarDef { name: "place", nc_type: Type::Float, dimids: &[1] };
            let id = VarDef { name: "id", nc_type: Type::Short, dimids: &[0] };
            let heat = VarDef { name: "heat", nc_type: Type::Int, dimids: &[0, 1] };
            let about = [AttrDef::new("title", "traces")];
            let vars = [(place, &[][..]), (id, &[][..]), (heat, &about[..])];
            let definition = Definition { dims: &[time, sensor], attrs: &about, vars: &vars };
            let unit = NonZeroU64::new(shape.unit).unwrap();
            let alignment = Alignment { values: unit, records: unit, ..Alignment::default() };
            let plan = Plan::new(&definition, shape.version, alignment).unwrap();
            for turn in 0..3 {
                if turn == 2 {
                    tape.mend();
                }
                let (slots, window, fill) = ([Slot::EMPTY; 3], [0; 512], shape.fill);
                let made = match turn {
                    0 => {
                        let store = $store(tape);
                        $do(Writer::$create(store, &definition, &plan, fill, slots, window))
                    }
                    _ => $do(Writer::$open($store(tape), fill, &mut [0; 2], slots, window)),
                };
                tape.note("open", made.as_ref().map(|_| 0_u64));
                let Ok(mut file) = made else { continue };
                for _ in 0..14 {
                    let (what, varid) = (dice.below(10), dice.below(3) as usize);
                    let types = [Type::Float, Type::Short, Type::Int];
                    let order = [ByteOrder::Big, ByteOrder::Little][dice.below(2) as usize];
                    let bytes = dice.bytes(LENS[varid]);
                    let start = dice.below(3);
                    for _ in 0..2 {
                        // what fails is done again
                        let values = Values::new(types[varid], order, &bytes);
                        let done = match what {
                            0 => $do(file.$commit()).map(|()| 0),
                            1 => $do(file.$close()).map(|()| 0),
                            2..4 => $do(file.$end()),
                            4 => {
                                let (start, count) = ([start, 0], [1, 3]);
                                let region = Region { start: &start, count: &count, stride: None };
                                let heat = file.layout(2).unwrap();
                                let lengths = [start[0] + 1, 3];
                                let slab = Slab::new(heat, &lengths, region).unwrap();
                                let values = Values::new(Type::Int, order, &[7; 12]);
                                $do(file.$slab(2, slab, values)).map(|()| 0)
                            }
                            5 => {
                                file.discard_record();
                                Ok(0)
                            }
                            _ => $do(file.$put(varid as u64, values)).map(|()| 0),
                        };
                        if tape.note("call", done) {
                            break;
                        }
                    }
                    tape.say(&format!("{} {}", file.records(), file.committed()));
                }
                tape.note("close", $do(file.$close()).map(|()| 0_u64));
            }
        }
    };
}

form!(blocking, now, plain, create open put put_slab end_record commit close);
#[cfg(feature = "async")]
form!(asynchronous, wait, ready, create_async open_async put_async put_slab_async
    end_record_async commit_async close_async);
#[cfg(feature = "async")]
form!(dropped, wait_or_drop, hanging, create_async open_async put_async put_slab_async
    end_record_async commit_async close_async);

pub(super) fn rows() -> Vec<Row> {
    let shapes = [
        ("fill", Shape { version: Version::Cdf2, fill: Fill::Values, unit: 4 }),
        ("no fill", Shape { version: Version::Cdf5, fill: Fill::None, unit: 512 }),
    ];
    let row = |(name, shape): (_, Shape)| {
        let forms = vec![
            Box::new(move |tape: &Tape, seed| blocking(tape, &shape, seed)) as History,
            #[cfg(feature = "async")]
            Box::new(move |tape, seed| asynchronous(tape, &shape, seed)),
            #[cfg(feature = "async")]
            Box::new(move |tape, seed| dropped(tape, &shape, seed)),
        ];
        Row { writer: "cdf::Writer", shape: name, seeds: 5, start: vec![5; 300], forms }
    };
    shapes.into_iter().map(row).collect()
}
