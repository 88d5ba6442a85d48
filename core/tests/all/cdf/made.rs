//! Headers that no reference program writes, each with one thing that is special.

use super::{format_error, open};
use striae_core::cdf::raw::{Attr1, Dim1, Dimid1, Dimids1, Header1, List1, Name1, Var1};
use striae_core::cdf::{Cursor, Error, Item, Reader, Region, Version};
use striae_core::endian::ByteOrder;

/// Bytes of a header, of this version and order.
pub(super) struct Made {
    pub(super) bytes: Vec<u8>,
    version: Version,
    order: ByteOrder,
}

/// A variable: its dimids, type, vsize and begin.
pub(super) type MadeVar<'a> = (&'a [u64], u32, u64, u64);

impl Made {
    pub(super) fn new(version: Version, order: ByteOrder, numrecs: u64) -> Self {
        let mut made = Self { bytes: b"CDF".to_vec(), version, order };
        made.bytes.push(version.number());
        made.non_neg(numrecs);
        made
    }

    fn number(&mut self, value: u64, len: u64) {
        let bytes = value.to_be_bytes();
        let bytes = &bytes[8 - len as usize..];
        match self.order {
            ByteOrder::Big => self.bytes.extend(bytes),
            ByteOrder::Little => self.bytes.extend(bytes.iter().rev()),
        }
    }

    pub(super) fn u32(&mut self, value: u32) {
        self.number(value.into(), 4);
    }

    pub(super) fn non_neg(&mut self, value: u64) {
        self.number(value, self.version.non_neg_len());
    }

    pub(super) fn list(&mut self, tag: u32, nelems: u64) {
        self.u32(tag);
        self.non_neg(nelems);
    }

    pub(super) fn name(&mut self, name: &[u8]) {
        self.non_neg(name.len() as u64);
        self.bytes.extend(name);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    pub(super) fn dims(&mut self, lengths: &[u64]) {
        self.list(10, lengths.len() as u64);
        for &length in lengths {
            self.name(b"dim");
            self.non_neg(length);
        }
    }

    pub(super) fn vars(&mut self, vars: &[MadeVar<'_>]) {
        self.list(0, 0); // gatt_list
        self.list(11, vars.len() as u64);
        for &(dimids, nc_type, vsize, begin) in vars {
            self.name(b"v");
            self.non_neg(dimids.len() as u64);
            dimids.iter().for_each(|&dimid| self.non_neg(dimid));
            self.list(0, 0);
            self.u32(nc_type);
            self.non_neg(vsize);
            self.number(begin, self.version.offset_len());
        }
    }
}

/// A file of version 1 with these dimensions and variables, and `data` bytes behind the header.
fn made(numrecs: u64, dims: &[u64], vars: &[MadeVar<'_>], data: usize) -> Vec<u8> {
    of_version(Version::Cdf1, numrecs, dims, vars, data)
}

fn of_version(
    version: Version,
    numrecs: u64,
    dims: &[u64],
    vars: &[MadeVar<'_>],
    data: usize,
) -> Vec<u8> {
    let mut made = Made::new(version, ByteOrder::Big, numrecs);
    made.dims(dims);
    made.vars(vars);
    made.bytes.resize(made.bytes.len() + data, 0);
    made.bytes
}

fn error_of(bytes: &[u8]) -> Error {
    open(bytes, &mut [0; 64]).unwrap_err()
}

#[test]
fn a_number_of_records_that_is_not_there_is_what_the_file_has() {
    for version in Version::ALL {
        let vars: &[MadeVar<'_>] = &[(&[0, 1], 3, 8, 256), (&[0], 1, 4, 264)];
        let mut file = of_version(version, version.streaming(), &[0, 3], vars, 0);
        // The values of the last record end 3 bytes before its padding, which may be missing.
        for (len, numrecs) in [(256, 0), (264, 0), (265, 1), (276, 1), (277, 2), (280, 2), (289, 3)]
        {
            file.resize(len, 0);
            let mut lengths = [0; 64];
            let opened = open(&file, &mut lengths).unwrap();
            let head = opened.head();
            assert_eq!((head.is_streaming, head.numrecs, head.recsize), (true, numrecs, 12));
            assert_eq!(opened.lengths(), [numrecs, 3]);
        }
        let file = of_version(version, version.streaming(), &[0, 3], &[(&[1], 3, 8, 256)], 300);
        assert_eq!(open(&file, &mut [0; 64]).unwrap().head().numrecs, 0);
    }
}

#[test]
fn the_records_of_one_small_variable_are_not_padded() {
    let file = made(5, &[0, 3], &[(&[0, 1], 1, 4, 120)], 200);
    let mut lengths = [0; 64];
    let opened = open(&file, &mut lengths).unwrap();
    assert_eq!(opened.head().recsize, 3);
    let variable = opened.variables([0; 64]).next().unwrap().unwrap();
    assert_eq!(opened.record(&variable, 4).unwrap().offset(), 120 + 4 * 3);
}

#[test]
fn vsize_is_not_relied_on() {
    for vsize in [0, 1, 0xffff_ffff] {
        let file = made(1, &[4], &[(&[0], 4, vsize, 200), (&[], 6, vsize, 216)], 100);
        let mut lengths = [0; 64];
        let opened = open(&file, &mut lengths).unwrap();
        let lens = opened.variables([0; 64]).map(|variable| variable.unwrap().layout.first.len());
        assert_eq!(lens.collect::<Vec<_>>(), [16, 8]);
    }
}

#[test]
fn data_that_the_file_does_not_have_are_refused_when_they_are_read() {
    let mut file = made(3, &[0, 4], &[(&[1], 4, 16, 160), (&[0, 1], 4, 16, 176)], 0);
    file.resize(176 + 2 * 16 - 1, 0);
    let mut lengths = [0; 64];
    let opened = open(&file, &mut lengths).unwrap();
    let variables: Vec<_> = opened.variables([0; 64]).map(Result::unwrap).collect();
    assert!(opened.record(&variables[0], 0).is_ok());
    assert!(opened.record(&variables[1], 0).is_ok());
    let cut = |offset, end| Error::OutOfFile { offset, end, file_len: 207 };
    assert_eq!(opened.record(&variables[1], 1), Err(cut(192, 208)));
    let none = Error::OutOfShape { dim: 0, last: 3, length: 3 };
    assert_eq!(opened.record(&variables[1], 3), Err(none));
    let region = |count| Region { start: &[0, 0], count, stride: None };
    assert!(opened.slab(&variables[1], &[3, 4], region(&[2, 3])).is_ok());
    assert_eq!(opened.slab(&variables[1], &[3, 4], region(&[2, 4])), Err(cut(176, 208)));
}

#[test]
fn there_is_one_record_dimension_and_it_comes_first() {
    let two = made(1, &[0, 3, 0], &[], 0);
    assert_eq!(error_of(&two), Error::TwoRecordDims { first: 0, second: 2 });
    let second = made(1, &[0, 3], &[(&[1], 1, 4, 200), (&[1, 0], 1, 4, 204)], 0);
    assert_eq!(error_of(&second), Error::RecordDimNotFirst { varid: 1 });
    let twice = made(1, &[0, 3], &[(&[0, 0], 1, 4, 200)], 0);
    assert_eq!(error_of(&twice), Error::RecordDimNotFirst { varid: 0 });
}

#[test]
fn variables_begin_one_behind_the_other_and_not_in_the_header() {
    let begin_of = |vars: &[MadeVar<'_>]| error_of(&made(2, &[0, 3], vars, 100));
    let too_small = |error, value, min| match error {
        Error::TooSmall { field, value: found, min: least, .. } => {
            assert_eq!((field, found, least), (Var1::begin, value, min));
        }
        error => panic!("{error}"),
    };
    let header_len = made(2, &[0, 3], &[(&[1], 1, 4, 0)], 0).len() as u64;
    too_small(begin_of(&[(&[1], 1, 4, header_len - 1)]), header_len - 1, header_len);
    too_small(begin_of(&[(&[0], 1, 4, 4)]), 4, header_len);
    too_small(begin_of(&[(&[1], 4, 12, 400), (&[1], 4, 12, 411)]), 411, 412);
    too_small(begin_of(&[(&[0, 1], 4, 12, 400), (&[0], 4, 4, 411)]), 411, 412);
    too_small(begin_of(&[(&[0], 4, 4, 400), (&[1], 4, 12, 400)]), 400, 412);
    let mixed: &[MadeVar<'_>] = &[(&[0], 4, 4, 412), (&[1], 4, 12, 400), (&[0], 4, 4, 416)];
    assert!(open(&made(2, &[0, 3], mixed, 0), &mut [0; 64]).is_ok());
}

#[test]
fn sizes_beyond_every_file_are_refused() {
    let huge = [1 << 31, 1 << 31, 1 << 31];
    for dims in [&[0, 1, 2][..], &[0, 1, 2, 2, 2]] {
        let file = made(0, &huge, &[(dims, 4, 0, 1 << 20)], 0);
        assert_eq!(error_of(&file), Error::Size { begin: 1 << 20 });
    }
    let last = u64::MAX - 3;
    let file = of_version(Version::Cdf5, 0, &[1], &[(&[0], 4, 4, last)], 0);
    assert_eq!(error_of(&file), Error::Size { begin: last });
    let half: MadeVar<'_> = (&[0, 1], 1, 0, 200);
    let next: MadeVar<'_> = (&[0, 1], 1, 0, 200 + (1 << 62));
    let file = of_version(Version::Cdf5, 0, &[0, 1 << 62], &[half, next, next, next], 400);
    assert!(matches!(error_of(&file), Error::Size { .. } | Error::TooSmall { .. }));
    let file = of_version(Version::Cdf5, u64::MAX - 1, &[0, 8], &[(&[0, 1], 1, 8, 200)], 400);
    let mut lengths = [0; 64];
    let opened = open(&file, &mut lengths).unwrap();
    let variable = opened.variables([0; 64]).next().unwrap().unwrap();
    assert_eq!(opened.record(&variable, u64::MAX - 2), Err(Error::Size { begin: 200 }));
}

#[test]
fn counts_that_the_file_has_no_room_for_are_refused_where_they_stand() {
    for version in Version::ALL {
        let [wide, offset] = [version.non_neg_len(), version.offset_len()];
        let check = |made: &Made, expected, max, min_len: u64| {
            let bytes = [&made.bytes[..], &[0; 100]].concat();
            match error_of(&bytes) {
                Error::TooLarge { field, offset, value, max: found } => {
                    let at = made.bytes.len() as u64 - wide;
                    assert_eq!((field, offset, value, found), (expected, at, max + 1, max));
                    assert_eq!(max, 100 / min_len);
                }
                error => panic!("{error}"),
            }
        };
        let start = || Made::new(version, ByteOrder::Big, 0);
        for (before, tag, min_len) in
            [(0, 10, 2 * wide), (1, 12, 4 + 2 * wide), (2, 11, 8 + 4 * wide + offset)]
        {
            let mut made = start();
            (0..before).for_each(|_| made.list(0, 0));
            made.list(tag, 100 / min_len + 1);
            check(&made, List1::nelems, 100 / min_len, min_len);
        }
        let mut made = start();
        made.list(10, 1);
        made.non_neg(101);
        check(&made, Name1::nelems, 100, 1);
        let mut made = start();
        made.list(0, 0);
        made.list(12, 1);
        made.name(b"history");
        made.u32(6);
        made.non_neg(100 / 8 + 1);
        check(&made, Attr1::nelems, 100 / 8, 8);
        let mut made = start();
        made.dims(&[1]);
        made.list(0, 0);
        made.list(11, 1);
        made.name(b"v");
        made.non_neg(100 / wide + 1);
        check(&made, Dimids1::ndims, 100 / wide, wide);
    }
}

#[test]
fn what_does_not_belong_is_refused_where_it_stands() {
    for magic in [*b"CDF\x03", *b"CDF\x00", *b"HDF\x01", *b"cdf\x01", *b"\0\0\0\0"] {
        assert_eq!(error_of(&[&magic[..], &[0; 60]].concat()), Error::NotCdf { magic });
    }
    let mut made = Made::new(Version::Cdf2, ByteOrder::Big, 0);
    made.list(11, 0);
    made.bytes.resize(100, 0);
    assert_eq!(error_of(&made.bytes), Error::Tag { offset: 8, tag: 11, expected: 10 });
    let mut made = Made::new(Version::Cdf2, ByteOrder::Big, 0);
    made.list(0, 1);
    made.bytes.resize(100, 0);
    assert_eq!(error_of(&made.bytes), Error::Tag { offset: 8, tag: 0, expected: 10 });
    for (version, nc_type) in [(Version::Cdf2, 7), (Version::Cdf1, 0), (Version::Cdf5, 12)] {
        let file = of_version(version, 0, &[1], &[(&[0], nc_type, 4, 200)], 0);
        let len = version.offset_len() + version.non_neg_len() + 4;
        let offset = file.len() as u64 - len;
        assert_eq!(error_of(&file), Error::NoType { offset, nc_type });
    }
    let no_dim = of_version(Version::Cdf5, 0, &[1, 1], &[(&[0, 2], 1, 4, 200)], 0);
    let offset = no_dim.len() as u64 - 20 - 12 - 8;
    assert_eq!(error_of(&no_dim), Error::NoDim { offset, dimid: 2, ndims: 2 });
    let mut made = Made::new(Version::Cdf1, ByteOrder::Big, 0);
    made.list(10, 1);
    made.name(b"gr\xfc\xdf");
    made.non_neg(1);
    made.vars(&[]);
    assert_eq!(error_of(&made.bytes), Error::NotUtf8 { offset: 22 });
    assert_eq!(error_of(b"CDF"), Error::Cut { field: Header1::magic, offset: 0, file_len: 3 });
}

#[test]
fn a_header_that_ends_early_names_the_field_where_it_does() {
    for version in Version::ALL {
        let file = of_version(version, 0, &[7], &[(&[0], 4, 28, 0)], 0);
        let (number, begin) = (version.non_neg_len(), version.offset_len());
        let list = [(Some(List1::tag), 4), (Some(List1::nelems), number)];
        // In file order, with their bytes. That a name is cut is said of its length.
        let name = [(Some(Name1::nelems), number), (None, 4)];
        let fields = [
            &[(Some(Header1::magic), 4), (Some(Header1::numrecs), number)][..],
            &[&list[..], &name, &[(Some(Dim1::length), number)]].concat(),
            &list,
            &[&list[..], &name, &[(Some(Dimids1::ndims), number)]].concat(),
            &[(Some(Dimid1::dimid), number)],
            &list,
            &[(Some(Var1::nc_type), 4), (Some(Var1::vsize), number), (Some(Var1::begin), begin)],
        ]
        .concat();
        assert_eq!(fields.iter().map(|field| field.1).sum::<u64>(), file.len() as u64);
        let mut cut = vec![];
        for file_len in 0..file.len() as u64 {
            let mut end = 0;
            let places = fields.iter().map(|&(field, len)| {
                end += len;
                (field, end - len, end)
            });
            let here = places.skip_while(|place| place.2 <= file_len).find_map(|place| {
                let (field, offset, _) = place;
                field.map(|field| (field, offset))
            });
            let (field, offset) = here.unwrap();
            match error_of(&file[..file_len as usize]) {
                Error::TooLarge { .. } => {} // of a list or a name that the rest cannot hold
                error => {
                    assert_eq!(error, Error::Cut { field, offset, file_len }, "{version:?}");
                    cut.push(field);
                }
            }
        }
        for field in [Header1::numrecs, List1::nelems, Dim1::length, Var1::begin] {
            assert!(cut.contains(&field), "{version:?}: {field:?}");
        }
    }
}

#[test]
fn padding_and_empty_names_and_lists_do_not_matter() {
    let mut made = Made::new(Version::Cdf1, ByteOrder::Big, 0);
    made.list(10, 2);
    made.name(b"");
    made.non_neg(7);
    made.name(b"x");
    let pad = made.bytes.len() - 3;
    made.bytes[pad..].fill(0xff);
    made.non_neg(8);
    made.list(12, 0);
    made.list(11, 0);
    let mut lengths = [0; 64];
    assert_eq!(open(&made.bytes, &mut lengths).unwrap().lengths(), [7, 8]);
}

#[test]
fn more_dimensions_than_the_caller_has_memory_for_are_refused() {
    let file = made(0, &[1, 2, 3], &[], 0);
    let open = |lengths: &mut [u64]| {
        let opened = Reader::open(&file[..], lengths, &mut [0; 64]).map(|file| file.head().ndims);
        opened.map_err(format_error)
    };
    assert_eq!(open(&mut [0; 2]), Err(Error::DimsMemory { ndims: 3, room: 2 }));
    assert_eq!(open(&mut [0; 3]), Ok(3));
}

/// The header in the HDF5 files of E3SM-IO: this grammar, little-endian, every `begin` 0.
#[test]
fn a_cursor_reads_either_byte_order() {
    let items = |order| {
        let mut made = Made::new(Version::Cdf5, order, 2);
        made.dims(&[0, 3, 0]);
        made.vars(&[(&[0, 1], 10, 24, 0), (&[2], 4, 0, 0)]);
        let (mut cursor, mut items) = (Cursor::new(order), vec![]);
        while !matches!(items.last(), Some(Item::End { .. })) {
            let (item, next) = cursor.next(&made.bytes[..]).unwrap();
            items.push(item);
            cursor = next;
        }
        items
    };
    assert_eq!(items(ByteOrder::Big), items(ByteOrder::Little));
    assert_eq!(items(ByteOrder::Big).len(), 1 + 3 + 2 * 3 + (3 + 2 + 1) + (3 + 1 + 1) + 1);
}
