//! What readers and writers of classic netCDF files get at the edges: windows without room,
//! definitions behind references, values that the caller wrote, numbers of records that no header
//! has.

use striae_core::cdf::{
    Alignment, AttrDef, Definition, DimDef, Encode, Error, Fill, Flaw, ListKind, Plan, Reader,
    Region, Slab, Slot, Type, VarDef, Version, Writer,
};
use striae_core::step::DriveError;
use striae_core::store::WriteAt;
use striae_kit::golden_sets;
use striae_kit::growing::Growing;

fn golden(name: &str) -> Vec<u8> {
    std::fs::read(golden_sets::golden_dir().join("../cdf").join(name)).unwrap()
}

#[test]
fn a_reader_of_netcdf_gives_back_the_store_that_it_was_given() {
    let bytes = golden("cdf1_onerec_short.nc");
    let file = Reader::open(&bytes[..], &mut [0; 16], &mut [0; 512]).unwrap().into_store();
    assert_eq!(file, &bytes[..]);
    let mut lengths = [0; 16];
    let file = Reader::open(&bytes[..], &mut lengths, &mut [0; 512]).unwrap();
    assert_eq!(*file.store(), &bytes[..]);
}

/// The example of [`Reader`], with less room.
#[test]
fn a_region_is_read_as_far_as_there_is_room() {
    let bytes = golden("cdf1_onerec_short.nc");
    let (mut lengths, mut window) = ([0; 16], [0; 512]);
    let file = Reader::open(&bytes[..], &mut lengths, &mut window).unwrap();
    let r = file.variable(b"r", &mut window).unwrap().unwrap();
    let region = Region { start: &[2, 0], count: &[2, 2], stride: None };
    let slab = file.slab(&r, &[4, 3], region).unwrap();
    let all = [0, 6, 0, 7, 0, 9, 0, 10];
    for room in [0, 2, 4, 6, 8] {
        let mut values = vec![0xee; room];
        assert_eq!(file.read_slab(&slab, &mut values), Ok(room));
        assert_eq!(values, all[..room]);
    }
}

#[test]
fn a_list_that_a_window_has_no_room_for_is_refused_and_ends() {
    fn refused<T: std::fmt::Debug, E: std::fmt::Debug>(
        mut list: impl Iterator<Item = Result<T, DriveError<E, Error>>>,
    ) {
        let first = list.next().unwrap();
        assert!(matches!(first, Err(DriveError::BufferTooSmall { need: 1.. })), "{first:?}");
        assert!(list.next().is_none(), "a list that failed has ended");
    }
    let bytes = golden("cdf1_onerec_short.nc");
    let mut lengths = [0; 16];
    let file = Reader::open(&bytes[..], &mut lengths, &mut [0; 512]).unwrap();
    refused(file.dims([0; 0]));
    refused(file.variables([0; 0]));
    let r = file.variable(b"r", &mut [0; 512]).unwrap();
    refused(file.attrs(r.as_ref(), [0; 0]));
}

const SAMPLE: VarDef<'_> = VarDef { name: "sample", nc_type: Type::Short, dimids: &[0, 1] };
const LABEL: VarDef<'_> = VarDef { name: "label", nc_type: Type::Char, dimids: &[1] };
const DIMS: [DimDef<'_>; 2] = [DimDef::record("t"), DimDef { name: "x", length: 3 }];

/// Calls with a definition of a record variable, whose fill value is -9, and a fixed one.
fn with_definition<T>(then: impl FnOnce(&Definition<'_>) -> T) -> T {
    let attrs = [AttrDef::new("_FillValue", &[-9_i16])];
    let vars = [(SAMPLE, &attrs[..]), (LABEL, &[])];
    then(&Definition { dims: &DIMS, attrs: &[AttrDef::new("title", "t")], vars: &vars })
}

fn create(window: usize) -> Writer<Growing, Vec<Slot>, Vec<u8>> {
    with_definition(|definition| {
        let plan = Plan::new(definition, Version::Cdf1, Alignment::COMPACT).unwrap();
        let (slots, window) = (vec![Slot::EMPTY; 3], vec![0; window]); // one more than is needed
        Writer::create(Growing::default(), definition, &plan, Fill::Values, slots, window).unwrap()
    })
}

#[test]
fn values_that_the_caller_wrote_are_not_filled() {
    let mut file = create(64);
    assert_eq!(file.written(2), Err(Error::NoVar { varid: 2, nvars: 2 }));
    let (own, label) = (file.place(0, 0).unwrap(), file.place(1, 0).unwrap());
    file.store_mut().write_all_at(own.offset(), &[0, 1, 0, 2, 0, 3]).unwrap();
    file.store_mut().write_all_at(label.offset(), b"abc").unwrap();
    assert_eq!((file.written(0), file.written(1)), (Ok(()), Ok(())));
    assert_eq!(file.end_record().unwrap(), 0);
    let next = file.place(0, 1).unwrap();
    assert_eq!(file.end_record().unwrap(), 1);
    file.close().unwrap();
    let bytes = file.into_store().0;
    let at = |place: striae_core::span::Span| &bytes[place.offset() as usize..place.end() as usize];
    assert_eq!((at(own), at(label)), (&[0, 1, 0, 2, 0, 3][..], &b"abc"[..]));
    assert_eq!(at(next), [0xff, 0xf7, 0xff, 0xf7, 0xff, 0xf7], "-9, as nobody wrote it");
}

/// A `_FillValue` counts if it is one value of the variable's type, whatever else there is.
#[test]
fn a_file_that_is_opened_is_filled_as_its_attributes_say() {
    let (own, min) = (AttrDef::new("_FillValue", &[-9_i16]), AttrDef::new("valid_min", &[7_i16]));
    let (int, two) = (AttrDef::new("_FillValue", &[5]), AttrDef::new("_FillValue", &[5_i16, 6]));
    const STANDARD: i16 = -32_767;
    let cases = [
        (&[][..], STANDARD),
        (&[min], STANDARD),
        (&[own], -9),
        (&[min, own], -9),
        (&[own, min], -9),
        (&[int], STANDARD),
        (&[two], STANDARD),
    ];
    let vars = cases.map(|(attrs, _)| (SAMPLE, attrs));
    let names = ["a", "b", "c", "d", "e", "f", "g"];
    let vars: Vec<_> = vars
        .into_iter()
        .zip(names)
        .map(|((var, attrs), name)| (VarDef { name, ..var }, attrs))
        .collect();
    let definition = Definition { dims: &DIMS, attrs: &[], vars: &vars };
    let plan = Plan::new(&definition, Version::Cdf1, Alignment::COMPACT).unwrap();
    let (slots, window) = (vec![Slot::EMPTY; 7], vec![0; 512]);
    let mut file =
        Writer::create(Growing::default(), &definition, &plan, Fill::Values, slots, window)
            .unwrap();
    file.close().unwrap();
    let (slots, window) = (vec![Slot::EMPTY; 7], vec![0; 512]);
    let mut file =
        Writer::open(file.into_store(), Fill::Values, &mut [0; 2], slots, window).unwrap();
    file.end_record().unwrap();
    let places = [0, 1, 2, 3, 4, 5, 6].map(|varid| file.place(varid, 0).unwrap());
    let bytes = file.into_store().0;
    for ((place, (_, fill)), name) in places.into_iter().zip(cases).zip(names) {
        let values = &bytes[place.offset() as usize..place.end() as usize];
        assert_eq!(values, [fill.to_be_bytes(); 3].concat(), "{name}");
    }
}

/// Half a record of the last two: as many values as a record has, but not all of the current one.
#[test]
fn what_is_put_to_two_records_does_not_fill_the_last_one() {
    const HALVES: [DimDef<'_>; 2] = [DimDef::record("t"), DimDef { name: "x", length: 4 }];
    let definition = Definition { dims: &HALVES, attrs: &[], vars: &[(SAMPLE, &[])] };
    let plan = Plan::new(&definition, Version::Cdf1, Alignment::COMPACT).unwrap();
    let (slots, window) = (vec![Slot::EMPTY; 1], vec![0; 64]);
    let mut file =
        Writer::create(Growing::default(), &definition, &plan, Fill::Values, slots, window)
            .unwrap();
    file.put(0, &[1_i16, 2, 3, 4]).unwrap();
    file.end_record().unwrap();
    let region = Region { start: &[0, 1], count: &[2, 2], stride: None };
    let slab = Slab::new(file.layout(0).unwrap(), &[2, 4], region).unwrap();
    file.put_slab(0, slab, &[5_i16, 6, 7, 8]).unwrap();
    file.end_record().unwrap();
    file.close().unwrap();
    let place = file.place(0, 0).unwrap();
    let bytes = file.into_store().0;
    let values: Vec<_> = bytes[place.offset() as usize..][..16]
        .chunks_exact(2)
        .map(|value| i16::from_be_bytes([value[0], value[1]]))
        .collect();
    const FILL: i16 = -32_767;
    assert_eq!(values, [1, 5, 6, 4, FILL, 7, 8, FILL]);
}

/// To open a file, a window needs room for its longest name; a writer writes through it as well.
#[test]
fn a_window_that_is_too_short_to_write_opens_no_writer() {
    let mut file = create(64);
    file.close().unwrap();
    let store = file.into_store();
    let open = |len: usize| {
        let slots = vec![Slot::EMPTY; 2];
        Writer::open(store.clone(), Fill::Values, &mut [0; 2], slots, vec![0; len])
    };
    let short = DriveError::Format(Error::Window { len: 63, min: 64 });
    assert_eq!(open(63).err(), Some(short));
    open(64).unwrap().put(0, &[1_i16, 2, 3]).unwrap();
}

fn encoded(version: Version, hidden: bool) -> Vec<u8> {
    with_definition(|definition| {
        let plan = Plan::new(definition, version, Alignment::COMPACT).unwrap();
        assert_eq!(plan.version(), version);
        let mut bytes = vec![0xee; plan.header_len() as usize];
        let mut window = [0; 64];
        let encode = Encode::new(definition, &plan, 5, &mut window).unwrap();
        let encode = if hidden { encode.hidden() } else { encode };
        encode.run(&mut &mut bytes[..]).unwrap();
        bytes
    })
}

/// Magic and number of records are 8 bytes, in CDF-5 12.
#[test]
fn a_hidden_header_lacks_only_what_makes_it_one() {
    for (version, len) in [(Version::Cdf1, 8), (Version::Cdf2, 8), (Version::Cdf5, 12)] {
        let (shown, hidden) = (encoded(version, false), encoded(version, true));
        assert_eq!(hidden[..len], [0_u8; 12][..len]);
        assert_eq!(hidden[len..], shown[len..]);
        assert!(shown.starts_with(b"CDF") && shown[len - 1] == 5);
    }
}

#[test]
fn a_header_has_a_number_of_records_that_its_version_can_store() {
    with_definition(|definition| {
        for version in [Version::Cdf1, Version::Cdf5] {
            let plan = Plan::new(definition, version, Alignment::COMPACT).unwrap();
            let made = |numrecs| Encode::new(definition, &plan, numrecs, &mut [0; 64]).map(|_| ());
            // The numbers are signed; all ones say that the number is not known.
            let max = if version == Version::Cdf1 { (1 << 31) - 1 } else { (1 << 63) - 1 };
            assert_eq!(made(max), Ok(()));
            assert_eq!(made(max + 1), Err(Error::Records { numrecs: max + 1, max }));
            assert_eq!(made(2 * max), Err(Error::Records { numrecs: 2 * max, max }));
            assert_eq!(made(2 * max + 1), Ok(()));
        }
    });
}

#[test]
fn a_definition_behind_a_reference_is_the_same() {
    with_definition(|definition| {
        let own = Plan::new(definition, Version::Cdf2, Alignment::COMPACT).unwrap();
        let behind = Plan::new::<&Definition<'_>>(&definition, Version::Cdf2, Alignment::COMPACT);
        assert_eq!(behind, Ok(own));
    });
    let dims = [DIMS[1], DIMS[1]];
    let twice = &Definition { dims: &dims, attrs: &[], vars: &[] };
    let refused = Plan::new::<&Definition<'_>>(&twice, Version::Cdf2, Alignment::COMPACT);
    let (list, flaw) = (ListKind::Dims, Flaw::SameName);
    assert_eq!(refused, Err(Error::Define { list, varid: 0, number: 1, flaw }));
}
