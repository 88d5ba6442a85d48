//! What writers and readers of blob files get at the edges: seals without room, maps whose columns
//! differ, variables and definitions that no file can have.

use std::cell::Cell;
use std::num::NonZeroU32;
use striae_core::blob::book::{self, Sum};
use striae_core::blob::find::{Gather, Runs, Take};
use striae_core::blob::map::error::Column as MapColumn;
use striae_core::blob::map::{self, Grid, Request, Table};
use striae_core::blob::raw::SealHead;
use striae_core::blob::seal::{Duplicate, Facts, FindSeal, Shape};
use striae_core::blob::{
    Column, Content, Decomposition, Error, Form, Group, Part, Partition, Pen, Records, Run,
    Sealing, Share, Shares, Subfile, form,
};
use striae_core::cdf::{
    self, Alignment, AttrDef, Define, Definition, DimDef, Encode, Flaw, ListKind, Plan, Reader,
    Region, Type, VarDef, Version,
};
use striae_core::endian::ByteOrder;
use striae_core::field::FieldId;
use striae_core::integrity::crc32c;
use striae_core::span::Span;
use striae_core::step::{DriveError, drive_read};
use striae_core::store::{FixedSize, ReadAt};
use zerocopy::IntoBytes;

const DIMS: [DimDef<'_>; 4] = [
    DimDef::record("time"),
    DimDef { name: "lev", length: 6 },
    DimDef { name: "col", length: 50 },
    DimDef { name: "huge", length: u64::MAX },
];

const HEAT: VarDef<'_> = VarDef { name: "heat", nc_type: Type::Float, dimids: &[0, 1, 2] };

#[test]
fn a_seal_that_its_gap_has_no_room_for_is_damaged() {
    let shape = Shape::new(3, 7).unwrap();
    assert_eq!((shape.nblobs(), shape.nvars(), shape.rows()), (3, 7, 21));
    let gap = shape.gap_after(700).unwrap();
    assert_eq!(gap.end(), 2048);
    let facts =
        Facts { shape, header_len: 700, header_crc: 0, values_begin: 2048, numrecs: 0, tie: None };
    // The file ends after two heads, without room for a table.
    let mut file = vec![0; 1024 + 2 * 64];
    file[1024..1088].copy_from_slice(facts.head(0, crc32c).as_bytes());
    let cut = Span::between(700, 1152).unwrap();
    let found = drive_read(&mut FindSeal::new(cut, crc32c), &file[..], &mut [0; 64]).unwrap();
    let field = SealHead::values_begin;
    let wrong = Error::Sealed { field, offset: 1024 + 40, value: 2048, expected: 1152 };
    assert_eq!(found.copies, [Duplicate::Damaged(wrong), Duplicate::None]);
    assert_eq!(wrong.to_string(), "seal.values_begin at offset 1064 is 2048, must be 1152");
    // The right end, and more rows than fit before it.
    let forged = Facts { values_begin: 1152, ..facts };
    file[1024..1088].copy_from_slice(forged.head(0, crc32c).as_bytes());
    let found = drive_read(&mut FindSeal::new(cut, crc32c), &file[..], &mut [0; 64]).unwrap();
    let (field, offset) = (SealHead::nblobs, 1024 + 20);
    let wrong = Error::SealedRows { field, offset, nblobs: 3, nvars: 7, gap: 452 };
    assert_eq!(found.copies, [Duplicate::Damaged(wrong), Duplicate::None]);
    assert_eq!(
        wrong.to_string(),
        "seal.nblobs at offset 1044 is 3; the 452 bytes between header and values have no room for \
         seals of 3 blobs of 7 variables"
    );
    let nameless = Error::Sealed { field: FieldId::new(9, 0), offset: 5, value: 1, expected: 2 };
    assert_eq!(nameless.to_string(), "seal at offset 5 is 1, must be 2");
}

#[test]
fn a_seal_that_is_continued_replaces_the_copy_that_it_was_told() {
    let shape = Shape::new(3, 7).unwrap();
    let gap = shape.gap_after(700).unwrap();
    let facts =
        Facts { shape, header_len: 700, header_crc: 0, values_begin: 2048, numrecs: 4, tie: None };
    for next in [0, 1] {
        assert_eq!(Sealing::of(facts, gap, 2, next).unwrap().next(), next);
    }
    let records = Records { before: Some(4), all: Some(9) };
    let pen = Pen::new(records, 1, Vec::<u64>::new(), Vec::<Sum>::new());
    assert_eq!((pen.records(), pen.reached()), (records, 4));
}

#[test]
fn a_grid_of_dimensions_of_a_definition_is_that_of_their_lengths() {
    let definition = Definition { dims: &DIMS, attrs: &[], vars: &[] };
    assert_eq!(Grid::of_dims(&definition, &[1, 2]), Grid::new(&[6, 50]));
    assert_eq!(Grid::of_dims(&definition, &[1, 2]).unwrap().total(), 300);
    for none in [&[][..], &[0, 2], &[1, 4], &[1, 3]] {
        assert_eq!(Grid::of_dims(&definition, none), None, "{none:?}");
    }
}

/// A map of 2 ranks and 3 requests, whose lengths have dimension 1 or 2; of 3 or 4 values.
fn netcdf_map(lengths: u64, fills: u64) -> Vec<u8> {
    let dim = |name, length| DimDef { name, length };
    let dims = [dim("ranks", 2), dim("three", 3), dim("four", 4)];
    let (lengths, fills) = ([lengths], [fills]);
    let var = |name, dimids| (VarDef { name, nc_type: Type::Int, dimids }, &[][..]);
    let vars = [
        var("D1.nreqs", &[0]),
        var("D1.fill_starts", &fills),
        var("D1.offsets", &[1]),
        var("D1.lengths", &lengths),
    ];
    let definition =
        Definition { dims: &dims, attrs: &[AttrDef::new("D1.dims", &[9_i32])], vars: &vars };
    let plan = Plan::new(&definition, Version::Cdf1, Alignment::COMPACT).unwrap();
    let mut file = vec![0; plan.file_len(0).unwrap() as usize];
    let mut window = [0; 64];
    Encode::new(&definition, &plan, 0, &mut window).unwrap().run(&mut &mut file[..]).unwrap();
    file
}

const ID: NonZeroU32 = NonZeroU32::MIN;

#[test]
fn a_map_has_one_length_for_each_offset_and_one_number_for_each_rank() {
    let find = |file: Vec<u8>| {
        let (mut lengths, mut window) = ([0; 8], [0; 512]);
        let file = Reader::open(&file[..], &mut lengths, &mut window).unwrap();
        Table::find(&file, ID, &mut window).map(|table| (table.nprocs(), table.total()))
    };
    assert_eq!(find(netcdf_map(1, 0)), Ok((2, 3)));
    let wrong = |column| Err(DriveError::Format(map::Error::Column { id: ID, column }));
    assert_eq!(find(netcdf_map(2, 0)), wrong(MapColumn::Lengths));
    assert_eq!(find(netcdf_map(1, 1)), wrong(MapColumn::FillStarts));
}

/// A file that becomes another one.
struct Changing(Vec<u8>, Cell<bool>);

impl ReadAt for Changing {
    type Error = FixedSize;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, FixedSize> {
        let len = self.0.as_slice().read_at(offset, buf)?;
        if self.1.get() {
            buf[..len].fill(0xff);
        }
        Ok(len)
    }

    fn size(&self) -> Result<u64, FixedSize> {
        self.0.as_slice().size()
    }
}

#[test]
fn a_map_that_changes_while_it_is_read_or_is_read_without_a_window_is_refused() {
    let (mut lengths, mut window) = ([0; 8], [0; 512]);
    let store = Changing(netcdf_map(1, 0), Cell::new(false));
    let file = Reader::open(&store, &mut lengths, &mut window).unwrap();
    let short = Table::find(&file, ID, &mut []);
    assert!(matches!(short, Err(DriveError::BufferTooSmall { need: 1.. })), "{short:?}");
    store.1.set(true);
    let changed = Table::find(&file, ID, &mut window);
    assert!(matches!(changed, Err(DriveError::Format(map::Error::Cdf(_)))), "{changed:?}");
}

#[test]
fn a_region_is_empty_if_it_has_no_elements_whoever_has_them() {
    let none: [Run; 0] = [];
    let runs = Runs::new(none).unwrap();
    for (count, len) in [([0, 3], 0), ([2, 0], 0), ([1, 3], 3)] {
        let region = Region { start: &[0, 0], count: &count, stride: None };
        let mut gather = Gather::new(&runs, &[2, 3], region).unwrap();
        assert_eq!((gather.is_empty(), gather.len()), (len == 0, len));
        assert_eq!(gather.fill(&mut [Take::default(); 4]), [], "all are in holes");
    }
}

#[test]
fn a_blob_has_its_requests_in_the_types_and_lengths_of_the_specification() {
    let request = |offset, len| Request { offset, len };
    let requests = [request(6, 2), request(9, 1)];
    assert_eq!(book::numbers_of(&requests), Some((2, 3)));
    assert_eq!(book::numbers_of(&[]), Some((0, 0)));
    assert_eq!(book::numbers_of(&[request(0, u64::MAX), request(9, 1)]), None);
    // `Dk.nreqs`, `Dk.offsets` and `Dk.lengths` are int, the others int64.
    let parts: [(Part, &[u8]); 7] = [
        (Part::Nreqs, &[0, 0, 0, 2]),
        (Part::BlobStart, &[0, 0, 0, 0, 0, 0, 0, 5]),
        (Part::BlobCount, &[0, 0, 0, 0, 0, 0, 0, 3]),
        (Part::Offsets, &[0, 0, 0, 6, 0, 0, 0, 9]),
        (Part::Lengths, &[0, 0, 0, 2, 0, 0, 0, 1]),
        (Part::Nelems, &[]),
        (Part::MaxNreqs, &[]),
    ];
    let share = Share { nreqs: 2, start: 5, count: 3 };
    for (part, expected) in parts {
        let put = |order| {
            let mut pieces = Vec::new();
            book::put_part(part, share, &requests, order, |piece| pieces.push(piece.to_vec()));
            pieces
        };
        let (big, mut little) = (put(ByteOrder::Big), put(ByteOrder::Little));
        assert_eq!(big.concat(), expected, "{part:?}");
        little.iter_mut().for_each(|piece| piece.reverse());
        assert_eq!(little, big, "{part:?}");
        assert_eq!(book::row_len(part, 2), expected.len() as u64, "{part:?}");
    }
    assert_eq!(book::row_len(Part::Offsets, 7), 28);
}

#[test]
fn a_sum_is_continued_after_the_records_that_there_were() {
    let before = crc32c(0, b"one two ");
    let mut sum = Sum::after(2, before);
    assert_eq!((sum.crc(), sum.all()), (before, Ok(before)));
    sum.add(sum, 2, crc32c(sum.crc(), b"three"));
    assert_eq!(sum.all(), Ok(crc32c(0, b"one two three")));
    sum.add(sum, 7, crc32c(sum.crc(), b"eight"));
    assert_eq!(sum.all(), Err(before), "a record is missing");
}

#[test]
fn shares_follow_each_other_up_to_the_last_number() {
    let mut shares = Shares::default();
    assert_eq!(shares.push(2, 10), Some(Share { nreqs: 2, start: 0, count: 10 }));
    assert_eq!(shares.push(1, 4), Some(Share { nreqs: 1, start: 10, count: 4 }));
    assert_eq!((shares.nelems(), shares.max_nreqs()), (14, 2));
    assert_eq!(shares.push(9, u64::MAX), None);
    assert_eq!((shares.nelems(), shares.max_nreqs()), (14, 2));
}

#[test]
fn a_column_is_as_long_as_its_dimensions_say() {
    let definition = Definition { dims: &DIMS, attrs: &[], vars: &[] };
    let made = |dimids: &[u64], of| Column::new(&definition, &VarDef { dimids, ..HEAT }, of);
    let column = |is_record, decomposition, len| {
        Some(Column { nc_type: Type::Float, is_record, decomposition, len })
    };
    assert_eq!(made(&[0, 1, 2], Some(1)), column(true, Some(1), 4 * 6 * 50));
    assert_eq!(made(&[1, 2], None), column(false, None, 4 * 6 * 50));
    assert_eq!(made(&[], None), column(false, None, 4));
    assert_eq!(made(&[0], None), column(true, None, 4));
    assert_eq!(made(&[1, 3], None), None);

    let [decomposed, whole] = [Some(1), None].map(|of| made(&[0, 1, 2], of).unwrap());
    let partition = Partition { decomposition: 1, global_dimids: &[0, 1, 2] };
    assert_eq!(decomposed.partition(&[0, 1, 2]), Some(partition));
    assert_eq!(whole.partition(&[0, 1, 2]), None);
    assert_eq!(decomposed.content(3), Some(Content::Elements { decomposition: 1, len: 12 }));
    assert_eq!(whole.content(3), Some(Content::Whole { len: 3600 }));
    let without = Column { is_record: false, ..whole };
    assert_eq!(without.content(u64::MAX), Some(Content::Whole { len: 1200 }));
    assert_eq!((decomposed.content(u64::MAX), whole.content(u64::MAX)), (None, None));
}

const GROUP: Group<'_> = Group { global_nprocs: 8, num_subfiles: 2, nblobs: 3, world_ranks: None };

#[test]
fn a_form_has_room_for_the_seal_of_a_subfile_with_values() {
    let canonical = Definition { dims: &DIMS[..3], attrs: &[], vars: &[(HEAT, &[])] };
    let partitions = [Some(Partition { decomposition: 0, global_dimids: &[0, 1, 2] })];
    let mut decompositions = [Decomposition::new(&[1, 2], 7, 2)];
    let subfile = Subfile::new(&canonical, GROUP, &mut decompositions, &partitions).unwrap();
    assert_eq!(subfile.nblobs(), 3);

    let form = Form::new(&subfile, true).unwrap().unwrap();
    let header_len = form.plan().header_len();
    let (shape, gap) = form.sealed().unwrap();
    assert_eq!(Some(shape), Shape::new(3, 5 + 1), "a decomposition has 5 variables");
    assert_eq!(gap, Span::between(header_len, form.plan().fixed().offset()).unwrap());
    assert!(shape.places(gap, true).is_some() && gap.end() % 512 == 0);
    assert_eq!(form.plan().version(), Version::Cdf5);

    let (container, sealed) = form.container(100).unwrap();
    let (shape_there, gap) = sealed.unwrap();
    assert_eq!((shape_there, gap.offset()), (shape, 512 + header_len));
    assert!(shape.places(gap, true).is_some() && gap.end() % 512 == 0);
    assert_eq!(container.header(), Span::new(512, header_len).unwrap());
    assert_eq!(container.data(), Span::new(gap.end(), 100).unwrap());
    let (container, sealed) = form.container(0).unwrap();
    assert_eq!((container.data(), sealed), (Span::new(512 + header_len, 0).unwrap(), None));
    assert!(form.container(u64::MAX).is_none());

    let without = Form::new(&subfile, false).unwrap().unwrap();
    let plan = Plan::new(&subfile, Version::Cdf5, Alignment::default()).unwrap();
    assert_eq!((without.plan(), without.sealed()), (&plan, None));
    assert_eq!(without.container(100).unwrap().1, None);

    let time = VarDef { name: "time", nc_type: Type::Double, dimids: &[0] };
    let records = Definition { dims: &DIMS[..1], attrs: &[], vars: &[(time, &[])] };
    let of_records = Subfile::new(&records, GROUP, &mut [], &[None]).unwrap();
    let (shape, gap) = Form::new(&of_records, true).unwrap().unwrap().sealed().unwrap();
    assert!((shape.nvars(), gap.end() % 512) == (1, 0), "records are values, too");
    let empty = Definition::default();
    let none = Subfile::new(&empty, GROUP, &mut [], &[]).unwrap();
    assert_eq!(Form::new(&none, true).unwrap().unwrap().sealed(), None, "it has no values");
    let group = Group { nblobs: 1 << 32, ..GROUP };
    let many = Subfile::new(&empty, group, &mut [], &[]).unwrap();
    assert_eq!(Form::new(&many, true), Ok(None), "a seal counts in 32 bits");
}

/// A definition of two dimensions, one of which goes away.
struct Fickle(Cell<u64>);

impl Define for Fickle {
    fn dim(&self, dimid: u64) -> Option<DimDef<'_>> {
        (dimid < self.0.get()).then(|| DimDef { name: ["a", "b"][dimid as usize], length: 1 })
    }
    fn attr(&self, _: Option<u64>, _: u64) -> Option<AttrDef<'_>> {
        None
    }
    fn var(&self, _: u64) -> Option<VarDef<'_>> {
        None
    }
}

#[test]
fn a_header_is_encoded_in_an_order_or_says_why_not() {
    let fickle = Fickle(Cell::new(2));
    let plan = Plan::new(&fickle, Version::Cdf5, Alignment::default()).unwrap();
    let encode = |order, len: u64| {
        let mut bytes = vec![0; len as usize];
        form::encode(&fickle, &plan, (3, order), &mut bytes, &mut [0; 64]).map(|()| bytes)
    };
    let len = plan.header_len();
    for (order, numrecs) in [
        (None, 3_u64.to_be_bytes()),
        (Some(ByteOrder::Big), 3_u64.to_be_bytes()),
        (Some(ByteOrder::Little), 3_u64.to_le_bytes()),
    ] {
        let bytes = encode(order, len).unwrap();
        assert_eq!((&bytes[..4], &bytes[4..12]), (&b"CDF\x05"[..], &numrecs[..]));
    }
    let short = encode(None, len - 1);
    assert_eq!(short, Err(cdf::Error::Size { begin: len }), "it does not fit");
    fickle.0.set(1);
    let changed = encode(None, len);
    let list = ListKind::Vars;
    let is_changed = |error: &cdf::Error| match error {
        cdf::Error::Define { list: of, flaw: Flaw::Changed, .. } => *of == list,
        _ => false,
    };
    assert!(changed.as_ref().is_err_and(is_changed), "{changed:?}");
}
