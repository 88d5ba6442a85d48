//! A header that is written is the header that netCDF-C or PnetCDF writes of this definition.

use super::made::Made;
use super::{golden_file, golden_names, open};
use core::num::NonZeroU64;
use striae_core::cdf::define::{check_name, is_plain_name};
use striae_core::cdf::layout::LargeVars;
use striae_core::cdf::{
    Alignment, AttrDef, Cursor, Define, Definition, DimDef, Encode, Error, Flaw, Item, ListKind,
    Plan, Type, Values, VarDef, Version, encode,
};
use striae_core::endian::ByteOrder;
use striae_core::step::DriveError;
use striae_kit::cdf_defined::Defined;

/// The alignment with which a golden file was written.
pub(super) fn alignment(name: &str) -> Alignment {
    let unit = |unit| NonZeroU64::new(unit).unwrap();
    match name.split_once("_pn_").map(|(_, options)| options) {
        None => Alignment::COMPACT,
        Some("hdralign4k") => Alignment { values: unit(4096), ..Alignment::default() },
        Some("enddef4") => {
            Alignment { header_free: 100, values: unit(64), fixed_free: 200, records: unit(512) }
        }
        Some(_) => Alignment::default(),
    }
}

pub(super) fn header(
    definition: &impl Define,
    plan: &Plan,
    numrecs: u64,
    window: usize,
) -> Vec<u8> {
    let (mut bytes, mut window) = (vec![0xee; plan.header_len() as usize], vec![0; window]);
    Encode::new(definition, plan, numrecs, &mut window).unwrap().run(&mut &mut bytes[..]).unwrap();
    bytes
}

#[test]
fn a_header_of_a_reference_program_is_written_again_through_any_window() {
    for name in golden_names() {
        let bytes = golden_file(&format!("{name}.nc"));
        let mut lengths = [0; 64];
        let file = open(&bytes, &mut lengths).unwrap();
        let head = file.head();
        let defined = Defined::of(&file);
        let plan = Plan::new(&defined, head.version, alignment(&name)).unwrap();
        assert_eq!(plan.header_len(), head.header_len, "{name}");
        assert_eq!((plan.recsize(), plan.nvars()), (head.recsize, head.nvars), "{name}");
        let is_empty = defined == Defined::default(); // netCDF-C makes 4096 bytes of it
        assert!(is_empty || plan.file_len(head.numrecs) == Some(head.file_len), "{name}");
        let variables = file.variables(vec![0; 1 << 12]);
        let places = variables.map(|variable| variable.unwrap().layout.first);
        assert!(plan.places(&defined).eq(places), "{name}");
        for window in [encode::WINDOW, 67, 100, 512, 1 << 16] {
            let made = header(&defined, &plan, head.numrecs, window);
            assert_eq!(made, bytes[..made.len()], "{name}");
        }
    }
}

/// The header in the HDF5 files of E3SM-IO: this grammar, little-endian, every `begin` 0.
#[test]
fn an_embedded_header_has_either_order_and_no_places() {
    let small = VarDef { name: "v", nc_type: Type::Int64, dimids: &[0, 1] };
    let definition = Definition {
        dims: &[DimDef::record("dim"), DimDef { name: "d2", length: 3 }],
        attrs: &[AttrDef::new("a", &[-2_i16, 770])],
        vars: &[(small, &[AttrDef::new("units", "K")])],
    };
    let plan = Plan::new(&definition, Version::Cdf5, Alignment::default()).unwrap();
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let mut made = Made::new(Version::Cdf5, order, 2);
        made.list(10, 2);
        made.name(b"dim");
        made.non_neg(0);
        made.name(b"d2");
        made.non_neg(3);
        made.list(12, 1);
        made.name(b"a");
        made.u32(3);
        made.non_neg(2);
        made.bytes.extend(match order {
            ByteOrder::Little => [0xfe, 0xff, 2, 3],
            ByteOrder::Big => [0xff, 0xfe, 3, 2],
        });
        made.list(11, 1);
        made.name(b"v");
        [2, 0, 1].iter().for_each(|&number| made.non_neg(number));
        made.list(12, 1);
        made.name(b"units");
        made.u32(2);
        made.non_neg(1);
        made.bytes.extend(b"K\0\0\0");
        made.u32(10);
        [24, 0].iter().for_each(|&number| made.non_neg(number));

        let mut store = vec![0; plan.header_len() as usize + 10];
        let mut window = [0; 99];
        let encode = Encode::new(&definition, &plan, 2, &mut window).unwrap();
        encode.embedded(order).at(10).run(&mut &mut store[..]).unwrap();
        assert_eq!(store[10..], made.bytes);
        let (mut cursor, mut last) = (Cursor::new(order), None);
        while !matches!(last, Some(Item::End { .. })) {
            let (item, next) = cursor.next(&store[10..]).unwrap();
            (cursor, last) = (next, Some(item));
        }
    }
}

/// The flaw of a definition, with its item.
fn flaw(version: Version, definition: Definition<'_>) -> (ListKind, u64, u64, Flaw) {
    match Plan::new(&definition, version, Alignment::COMPACT).unwrap_err() {
        Error::Define { list, varid, number, flaw } => (list, varid, number, flaw),
        error => panic!("{error}"),
    }
}

const X: DimDef<'_> = DimDef { name: "x", length: 4 };
const V: VarDef<'_> = VarDef { name: "v", nc_type: Type::Float, dimids: &[0] };

#[test]
fn a_definition_that_no_file_can_have_is_refused_at_its_item() {
    fn dims<'a>(dims: &'a [DimDef<'a>]) -> Definition<'a> {
        Definition { dims, ..Definition::default() }
    }
    let long_name = "n".repeat(257);
    let bad = |name: &str| flaw(Version::Cdf1, dims(&[X, DimDef { name, length: 1 }]));
    for name in ["", "a/b", "tail ", " head", "\n", "a\u{7f}", "-x", &long_name] {
        assert_eq!(bad(name), (ListKind::Dims, 0, 1, Flaw::Name), "{name:?}");
    }
    assert_eq!(bad("x"), (ListKind::Dims, 0, 1, Flaw::SameName));
    let two = flaw(Version::Cdf5, dims(&[DimDef::record("t"), X, DimDef::record("u")]));
    assert_eq!(two, (ListKind::Dims, 0, 2, Flaw::SecondRecordDim));
    for (version, max) in [(Version::Cdf1, 0x7fff_fffc), (Version::Cdf2, 0xffff_fffc_u64)] {
        let [fits, larger] = [max, max + 1].map(|length| [DimDef { name: "x", length }]);
        assert!(Plan::new(&dims(&fits), version, Alignment::COMPACT).is_ok());
        assert_eq!(flaw(version, dims(&larger)), (ListKind::Dims, 0, 0, Flaw::Length));
    }

    let half = Values::new(Type::Int, ByteOrder::Big, &[1, 2, 3]);
    let [half, long] = [AttrDef::new("a", half), AttrDef::new("a", &1_u64)];
    for (attr, expected) in [(half, Flaw::Values), (long, Flaw::NoType)] {
        let gatts = Definition { attrs: &[attr], ..Definition::default() };
        assert_eq!(flaw(Version::Cdf2, gatts), (ListKind::Gatts, 0, 0, expected));
        let vatts = Definition {
            dims: &[X],
            vars: &[(V, &[AttrDef::new("b", "")]), (VarDef { name: "w", ..V }, &[attr])],
            attrs: &[],
        };
        assert_eq!(flaw(Version::Cdf2, vatts), (ListKind::Vatts, 1, 0, expected));
    }

    let dims = [X, DimDef::record("t")];
    let of_var = |var: VarDef<'_>| {
        flaw(Version::Cdf2, Definition { dims: &dims, attrs: &[], vars: &[(V, &[]), (var, &[])] })
    };
    let w = VarDef { name: "w", ..V };
    for (var, expected) in [
        (V, Flaw::SameName),
        (VarDef { dimids: &[2], ..w }, Flaw::NoDim),
        (VarDef { dimids: &[0, 1], ..w }, Flaw::RecordDimNotFirst),
        (VarDef { dimids: &[1, 1], ..w }, Flaw::RecordDimNotFirst),
        (VarDef { nc_type: Type::Ubyte, ..w }, Flaw::NoType),
        (VarDef { dimids: &[0; 40], ..w }, Flaw::Size),
    ] {
        assert_eq!(of_var(var), (ListKind::Vars, 0, 1, expected));
    }
}

#[test]
fn a_plain_name_is_one_of_ascii_that_is_allowed() {
    let pairs = (0..128_u8).flat_map(|one| (0..128_u8).map(move |other| [one, other]));
    for pair in pairs {
        for name in [&pair[..1], &pair, &[b'a', pair[0], pair[1]]] {
            let allowed = check_name(core::str::from_utf8(name).unwrap()).is_ok();
            assert_eq!(is_plain_name(name), allowed, "{name:?}");
        }
    }
    for (name, is_allowed) in [("", false), ("\u{e9}", true), ("a\u{e9}", true), ("a\u{85}", false)]
    {
        assert_eq!((is_plain_name(name.as_bytes()), check_name(name).is_ok()), (false, is_allowed));
    }
    let longest = "n".repeat(256);
    assert!(is_plain_name(longest.as_bytes()) && !is_plain_name((longest + "n").as_bytes()));
}

#[test]
fn each_variable_that_no_place_allows_is_told_once() {
    let (max, mut large) = (Version::Cdf5.max_len(), LargeVars::new(Version::Cdf5));
    let variables = [(max + 1, true), (max, true), (max + 2, false), (max + 1, false)];
    let told = (0..).zip(variables).map(|(number, (len, is_record))| {
        large.add(number, len, is_record) // each of them in its section
    });
    assert_eq!(told.collect::<Vec<_>>(), [Err(0), Ok(()), Err(2), Err(3)]);
    assert_eq!(large.not_last(true), None);
}

/// Bytes of a variable that fit at any place, and the next larger ones.
#[test]
fn only_the_last_variable_of_a_file_may_exceed_the_limit_of_its_version() {
    for version in [Version::Cdf1, Version::Cdf2] {
        let most = version.max_len() / 4;
        let dims = [
            DimDef { name: "most", length: most },
            DimDef { name: "three", length: 3 },
            DimDef::record("t"),
            X,
        ];
        let var = |name, dimids| (VarDef { name, nc_type: Type::Float, dimids }, &[][..]);
        let plan = |vars: &[(VarDef<'_>, &[AttrDef<'_>])]| {
            Plan::new(&Definition { dims: &dims, attrs: &[], vars }, version, Alignment::COMPACT)
        };
        let too_large =
            |number| Error::Define { list: ListKind::Vars, varid: 0, number, flaw: Flaw::Size };
        let [small, large] = [var("small", &[3]), var("large", &[0, 1])];
        let [record, huge] = [var("record", &[2]), var("huge", &[2, 0, 1])];
        assert!(plan(&[small, large]).is_ok());
        assert!(plan(&[small, record, huge]).is_ok());
        assert_eq!(plan(&[large, small]), Err(too_large(1)));
        assert_eq!(plan(&[small, large, record]), Err(too_large(1)));
        assert_eq!(plan(&[huge, record]), Err(too_large(1)));
        // at 2^31 there is no `begin` of CDF-1
        let [full, next] = [var("full", &[0]), var("next", &[3])];
        let both = plan(&[full, next]);
        assert_eq!(both.is_ok(), version == Version::Cdf2);
        let made = plan(&[small, large]).unwrap();
        let definition = Definition { dims: &dims, attrs: &[], vars: &[small, large] };
        let bytes = header(&definition, &made, 0, 512);
        let mut places = [0; 64];
        let file = open(&bytes, &mut places).unwrap();
        let vsizes: Vec<_> = file.variables([0; 64]).map(|v| v.unwrap().var.vsize).collect();
        assert_eq!(vsizes, [16, 0xffff_ffff]); // `ncmpio_header_put.c:352`
    }
    let dims = [DimDef { name: "x", length: 0x7fff_ffff_ffff_fffc }];
    let vars = [(VarDef { name: "v", nc_type: Type::Byte, dimids: &[0] }, &[][..])];
    let definition = Definition { dims: &dims, attrs: &[], vars: &vars };
    let end = Plan::new(&definition, Version::Cdf5, Alignment::COMPACT);
    assert_eq!(
        end.map(|plan| plan.header_len()),
        Err(Error::Define { list: ListKind::Vars, varid: 0, number: 0, flaw: Flaw::Size })
    );
}

/// A definition of two dimensions, of which one goes away after so many calls.
struct Fickle(std::cell::Cell<u32>);

impl Define for Fickle {
    fn dim(&self, dimid: u64) -> Option<DimDef<'_>> {
        self.0.set(self.0.get().saturating_sub(1));
        let there = if self.0.get() == 0 { 1 } else { 2 };
        (dimid < there).then_some(DimDef { name: if dimid == 0 { "a" } else { "b" }, length: 1 })
    }
    fn attr(&self, _: Option<u64>, _: u64) -> Option<AttrDef<'_>> {
        None
    }
    fn var(&self, _: u64) -> Option<VarDef<'_>> {
        None
    }
}

#[test]
fn a_definition_that_changes_is_refused_and_nothing_is_written_after_the_header() {
    let steady = Fickle(u32::MAX.into());
    let plan = Plan::new(&steady, Version::Cdf1, Alignment::COMPACT).unwrap();
    let mut whole = vec![0; plan.header_len() as usize];
    Encode::new(&steady, &plan, 0, &mut [0; 64]).unwrap().run(&mut &mut whole[..]).unwrap();
    for calls in 1..20 {
        let fickle = Fickle(u32::MAX.into());
        let plan = Plan::new(&fickle, Version::Cdf1, Alignment::COMPACT).unwrap();
        fickle.0.set(calls);
        let mut store = vec![0; plan.header_len() as usize];
        let mut window = [0; 64];
        let written = Encode::new(&fickle, &plan, 0, &mut window).unwrap().run(&mut &mut store[..]);
        match written {
            Ok(()) => assert!(calls > 2 && store == whole), // it changed after its last item
            Err(error) => assert!(matches!(
                error,
                DriveError::Format(Error::Define { flaw: Flaw::Changed, .. })
            )),
        }
    }
    let fickle = Fickle(u32::MAX.into());
    let plan = Plan::new(&fickle, Version::Cdf1, Alignment::COMPACT).unwrap();
    let mut window = [0; encode::WINDOW - 1];
    let refused = Encode::new(&fickle, &plan, 0, &mut window).map(|_| ());
    assert_eq!(refused, Err(Error::Window { len: 63, min: 64 }));
}

/// "Bytes of the values, padded to 4; a larger size than 2^32 - 4 is stored as 0xFFFFFFFF in CDF-1
/// and CDF-2." In CDF-5 the field has 64 bits.
#[test]
fn a_vsize_is_padded_and_has_all_bits_set_if_it_is_too_large() {
    let most = 0xffff_fffc;
    for version in [Version::Cdf1, Version::Cdf2, Version::Cdf5] {
        for (len, vsize) in [(0, 0), (1, 4), (4, 4), (5, 8), (most - 3, most), (most, most)] {
            assert_eq!(version.stored_vsize(len), vsize, "{version:?} {len}");
        }
    }
    for version in [Version::Cdf1, Version::Cdf2] {
        assert_eq!(version.stored_vsize(most + 1), 0xffff_ffff);
        assert_eq!(version.stored_vsize(u64::MAX), 0xffff_ffff);
    }
    assert_eq!(Version::Cdf5.stored_vsize(most + 1), 1 << 32);
    assert_eq!(Version::Cdf5.stored_vsize(u64::MAX), u64::MAX);
}
