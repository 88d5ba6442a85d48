//! The body of `cdf_write`: what is written reads as a plain model of it, after every commit.

use crate::cdf_defined::{Defined, DefinedAttr, DefinedVar};
use crate::growing::Growing;
use core::num::NonZeroU64;
use std::collections::BTreeMap;
use striae_core::cdf::{
    Alignment, Error, Fill, Plan, Reader, Region, Slab, Slot, Type, Values, Version, Writer,
};
use striae_core::endian::ByteOrder;
use striae_core::step::DriveError;
use striae_core::store::FixedSize;

/// The input is a definition, then what is done with a writer of it.
pub fn cdf_write(data: &[u8]) {
    let mut input = Input(data);
    let version = *input.of(&Version::ALL);
    let fill = *input.of(&[Fill::Values, Fill::None]);
    let alignment = alignment(&mut input);
    let defined = defined(&mut input);
    let plan = match Plan::new(&defined, version, alignment) {
        Ok(plan) => plan,
        Err(error) => {
            assert!(error.blames_caller() && !error.to_string().is_empty());
            assert!(!is_right(&defined, version), "{error}");
            return;
        }
    };
    assert!(is_right(&defined, version));
    check_places(&defined, &plan, alignment);
    Session::new(defined, plan, fill, &mut input).run(&mut input);
}

/// The rest of an input; zeros after its end.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn below(&mut self, bound: u64) -> u64 {
        u64::from(self.byte()) % bound
    }

    fn of<'t, T>(&mut self, all: &'t [T]) -> &'t T {
        &all[usize::from(self.byte()) % all.len()]
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        let salt = self.byte();
        (0..len).map(|at| salt.wrapping_add(u8::try_from(at % 251).unwrap())).collect()
    }
}

fn alignment(input: &mut Input<'_>) -> Alignment {
    let mut unit = || NonZeroU64::new(1 + input.below(70)).unwrap();
    let (values, records) = (unit(), unit());
    let (header_free, fixed_free) = (input.below(50), input.below(50));
    Alignment { header_free, values, fixed_free, records }
}

fn attrs(input: &mut Input<'_>, nc_type: Option<Type>) -> Vec<DefinedAttr> {
    (0..input.below(3))
        .map(|number| {
            let nc_type = nc_type.filter(|_| number == 0).unwrap_or(Type::Char);
            let name = if number == 0 { "_FillValue".into() } else { format!("a{number}") };
            let count = if number == 0 { 1 } else { input.below(6) };
            let values = input.bytes(usize::try_from(count * nc_type.size()).unwrap());
            DefinedAttr { name, nc_type, values }
        })
        .collect()
}

fn defined(input: &mut Input<'_>) -> Defined {
    let dims: Vec<_> = (0..input.below(5)).map(|id| (format!("d{id}"), input.below(5))).collect();
    let attrs_of_file = attrs(input, None);
    let vars = (0..input.below(5)).map(|varid| {
        let nc_type = *input.of(&Type::ALL);
        let bound = u64::try_from(dims.len()).unwrap() + u64::from(input.byte() == 255);
        let ndims = if bound == 0 { 0 } else { input.below(4) };
        let dimids = (0..ndims).map(|_| input.below(bound)).collect();
        let attrs = attrs(input, Some(nc_type));
        DefinedVar { name: format!("v{varid}"), nc_type, dimids, attrs }
    });
    let vars = vars.collect();
    Defined { dims, attrs: attrs_of_file, vars }
}

/// Whether a file of this version can have this definition. Names differ, and sizes are small.
fn is_right(defined: &Defined, version: Version) -> bool {
    let length = |id: &u64| defined.dims.get(usize::try_from(*id).unwrap()).map(|dim| dim.1);
    let var = |var: &DefinedVar| {
        let lengths: Option<Vec<_>> = var.dimids.iter().map(length).collect();
        let has_dims = lengths.is_some_and(|lengths| lengths.iter().skip(1).all(|&len| len != 0));
        has_dims && (version == Version::Cdf5 || var.nc_type.number() <= 6)
    };
    let records = defined.dims.iter().filter(|dim| dim.1 == 0).count();
    records <= 1 && defined.vars.iter().all(var)
}

/// The places do not overlap, are aligned, and leave what is to be free.
fn check_places(defined: &Defined, plan: &Plan, alignment: Alignment) {
    let is_multiple = |value: u64| value.is_multiple_of(4);
    let [fixed, records] = [plan.fixed().offset(), plan.record_begin()];
    assert!(is_multiple(plan.header_len()) && is_multiple(fixed) && is_multiple(records));
    assert!(plan.header_len() + alignment.header_free <= fixed);
    assert!(plan.fixed().end() + alignment.fixed_free <= records);
    assert!(fixed < plan.header_len() + alignment.header_free + alignment.values.get() + 4);
    assert!(records < plan.fixed().end() + alignment.fixed_free + alignment.records.get() + 4);
    assert_eq!(plan.nvars(), u64::try_from(defined.vars.len()).unwrap());
}

type File = Writer<Growing, Vec<Slot>, Vec<u8>>;

/// What a byte of a value is; `None` if nobody has said it.
type Bytes = Vec<Option<u8>>;

/// A writer, and a model of its file.
struct Session {
    defined: Defined,
    plan: Plan,
    fill: Fill,
    writer: File,
    /// The values of fixed variables, and of records, by variable and record.
    values: BTreeMap<(usize, u64), Bytes>,
    ended: u64,
    committed: Option<u64>,
}

impl Session {
    fn new(defined: Defined, plan: Plan, fill: Fill, input: &mut Input<'_>) -> Self {
        let slots = vec![Slot::EMPTY; defined.vars.len()];
        let window = vec![0; 64 + usize::from(input.byte())];
        let store = Growing(input.bytes(0));
        let writer = Writer::create(store, &defined, &plan, fill, slots, window).unwrap();
        Self { defined, plan, fill, writer, values: BTreeMap::new(), ended: 0, committed: None }
    }

    /// The lengths of a variable's dimensions, but for that of the record dimension.
    fn inner(&self, varid: usize) -> (bool, Vec<u64>) {
        let ids = &self.defined.vars[varid].dimids;
        let lengths = ids.iter().map(|&id| self.defined.dims[usize::try_from(id).unwrap()].1);
        let lengths: Vec<_> = lengths.collect();
        match lengths.split_first() {
            Some((0, inner)) => (true, inner.to_vec()),
            _ => (false, lengths),
        }
    }

    fn len(&self, varid: usize) -> usize {
        let count: u64 = self.inner(varid).1.iter().product();
        usize::try_from(count * self.defined.vars[varid].nc_type.size()).unwrap()
    }

    fn has_records(&self) -> bool {
        (0..self.defined.vars.len()).any(|varid| self.inner(varid).0)
    }

    /// The bytes of a variable of which nobody has written any.
    fn blank(&self, varid: usize) -> Bytes {
        let var = &self.defined.vars[varid];
        let len = self.len(varid);
        if self.fill == Fill::None {
            return vec![None; len];
        }
        let own = var.attrs.iter().find(|attr| attr.name == "_FillValue");
        let size = usize::try_from(var.nc_type.size()).unwrap();
        let fill = own.map_or(var.nc_type.fill()[..size].to_vec(), |own| own.values.clone());
        fill.into_iter().map(Some).cycle().take(len).collect()
    }

    fn run(mut self, input: &mut Input<'_>) {
        let mut steps = 0;
        while !input.0.is_empty() && steps < 64 {
            steps += 1;
            match input.below(9) {
                0..=2 => self.put(input),
                3 | 4 => self.put_slab(input),
                5 => self.end_record(),
                6 => self.commit(),
                7 => self.refused(input),
                _ if input.below(3) == 0 => self.reopen(),
                _ => {
                    self.writer.discard_record();
                    self.values.retain(|&(_, record), _| record < self.ended || record == u64::MAX);
                }
            }
            self.check();
        }
        self.commit();
        self.writer.close().unwrap();
        self.check();
        let len = u64::try_from(self.writer.store().0.len()).unwrap();
        assert_eq!(Some(len), self.plan.file_len(self.ended));
    }

    /// The key of a variable's values in a record.
    fn key(&self, varid: usize, record: u64) -> (usize, u64) {
        (varid, if self.inner(varid).0 { record } else { u64::MAX })
    }

    /// Values of a variable, in either byte order: big-endian, and as they are given.
    fn values(
        &self,
        varid: usize,
        len: usize,
        input: &mut Input<'_>,
    ) -> (Vec<u8>, ByteOrder, Vec<u8>) {
        let bytes = input.bytes(len);
        let order = *input.of(&[ByteOrder::Big, ByteOrder::Little]);
        let mut given = bytes.clone();
        if order == ByteOrder::Little {
            let size = usize::try_from(self.defined.vars[varid].nc_type.size()).unwrap();
            given.chunks_mut(size).for_each(<[u8]>::reverse);
        }
        (bytes, order, given)
    }

    fn some_var(&self, input: &mut Input<'_>) -> Option<usize> {
        let count = self.defined.vars.len();
        (count > 0).then(|| usize::from(input.byte()) % count)
    }

    fn put(&mut self, input: &mut Input<'_>) {
        let Some(varid) = self.some_var(input) else { return };
        let (bytes, order, given) = self.values(varid, self.len(varid), input);
        let values = Values::new(self.defined.vars[varid].nc_type, order, &given);
        self.writer.put(u64::try_from(varid).unwrap(), values).unwrap();
        let key = self.key(varid, self.ended);
        self.values.insert(key, bytes.into_iter().map(Some).collect());
    }

    fn put_slab(&mut self, input: &mut Input<'_>) {
        let Some(varid) = self.some_var(input) else { return };
        let (is_record, mut shape) = self.inner(varid);
        if is_record {
            shape.insert(0, self.ended + 1);
        }
        let mut numbers = || shape.iter().map(|_| input.below(4)).collect::<Vec<_>>();
        let (start, count, stride) = (numbers(), numbers(), numbers());
        let region = Region { start: &start, count: &count, stride: Some(&stride) };
        let layout = self.writer.layout(u64::try_from(varid).unwrap()).unwrap();
        let slab = match Slab::new(layout, &shape, region) {
            Ok(slab) => slab,
            Err(error) => return assert!(error.blames_caller(), "{error}"),
        };
        let (bytes, order, given) = self.values(varid, usize::try_from(slab.len()).unwrap(), input);
        let ty = self.defined.vars[varid].nc_type;
        let number = u64::try_from(varid).unwrap();
        self.writer.put_slab(number, slab, Values::new(ty, order, &given)).unwrap();

        let size = usize::try_from(ty.size()).unwrap();
        let indices = indices(&start, &count, &stride);
        assert_eq!(indices.len() * size, bytes.len());
        if !is_record {
            self.open_values(varid, 0); // even an empty region fills
        }
        for (index, value) in indices.iter().zip(bytes.chunks(size)) {
            let (record, inner) = if is_record { (index[0], 1) } else { (0, 0) };
            let place = index.iter().zip(&shape).skip(inner);
            let place = place.fold(0, |place, (index, length)| place * length + index);
            let place = usize::try_from(place).unwrap() * size;
            let values = self.open_values(varid, record);
            values[place..place + size]
                .iter_mut()
                .zip(value)
                .for_each(|(to, &from)| *to = Some(from));
        }
    }

    fn open_values(&mut self, varid: usize, record: u64) -> &mut Bytes {
        let (key, blank) = (self.key(varid, record), self.blank(varid));
        self.values.entry(key).or_insert(blank)
    }

    fn end_record(&mut self) {
        let ended = self.writer.end_record();
        if !self.has_records() {
            assert!(matches!(ended, Err(DriveError::Format(Error::Records { max: 0, .. }))));
            return;
        }
        assert_eq!(ended, Ok(self.ended));
        for varid in 0..self.defined.vars.len() {
            self.open_values(varid, self.ended); // also what is not of a record: it only says less
        }
        self.ended += 1;
    }

    fn commit(&mut self) {
        self.writer.commit().unwrap();
        self.committed = Some(self.ended);
    }

    /// What is wrong is refused, and changes nothing.
    fn refused(&mut self, input: &mut Input<'_>) {
        let before = self.writer.store().0.clone();
        let nvars = self.plan.nvars();
        let mut refused = |varid, values| match self.writer.put(varid, values) {
            Err(DriveError::<FixedSize, _>::Format(error)) => {
                assert!(error.blames_caller() && !error.to_string().is_empty());
            }
            other => panic!("{other:?}"),
        };
        refused(nvars + input.below(3), Values::text(b""));
        if let Some((varid, var)) = (0..).zip(&self.defined.vars).next() {
            let other = if var.nc_type == Type::Char { Type::Byte } else { Type::Char };
            refused(varid, Values::new(other, ByteOrder::Big, &[0; 8]));
            refused(varid, Values::new(var.nc_type, ByteOrder::Big, &[]));
        }
        assert!(self.writer.store().0 == before);
    }

    /// Another writer continues what the first one has committed.
    fn reopen(&mut self) {
        let bytes = self.writer.store().0.clone();
        let (store, slots) = (Growing(bytes), vec![Slot::EMPTY; self.defined.vars.len()]);
        let opened = Writer::open(store, self.fill, &mut [0; 8], slots, vec![0; 512]);
        let Some(committed) = self.committed else {
            return assert!(opened.is_err());
        };
        self.writer = opened.unwrap();
        assert_eq!((self.writer.records(), self.writer.committed()), (committed, committed));
        self.ended = committed;
        self.values.retain(|&(_, record), _| record < committed || record == u64::MAX);
    }

    /// The file has what was committed.
    fn check(&self) {
        let bytes = &self.writer.store().0[..];
        let (mut lengths, mut window) = ([0; 8], [0; 512]);
        let Some(committed) = self.committed else {
            assert!(Reader::open(bytes, &mut lengths, &mut window).is_err());
            return;
        };
        let file = Reader::open(bytes, &mut lengths, &mut window).unwrap();
        assert_eq!(
            (file.head().numrecs, file.head().header_len),
            (committed, self.plan.header_len())
        );
        assert!(Defined::of(&file) == self.defined);
        for (varid, variable) in file.variables(&mut window).enumerate() {
            let variable = variable.unwrap();
            let (is_record, _) = self.inner(varid);
            for record in 0..if is_record { committed } else { 1 } {
                let known = self.values.get(&self.key(varid, record)).cloned();
                let known = known.unwrap_or_else(|| self.blank(varid));
                if known.iter().all(Option::is_none) {
                    continue; // the file may end before them
                }
                let span = file.record(&variable, record).unwrap();
                let mut found = vec![0; known.len()];
                file.read(span, &mut found).unwrap();
                let same = |(known, found): (&Option<u8>, &u8)| known.is_none_or(|it| it == *found);
                assert!(known.iter().zip(&found).all(same), "variable {varid}, record {record}");
            }
        }
    }
}

/// The indices of a region in order.
fn indices(start: &[u64], count: &[u64], stride: &[u64]) -> Vec<Vec<u64>> {
    let mut all = vec![vec![]];
    for ((&start, &count), &stride) in start.iter().zip(count).zip(stride) {
        let one = |index: Vec<u64>| {
            (0..count).map(move |number| [&index[..], &[start + number * stride]].concat())
        };
        all = all.into_iter().flat_map(one).collect();
    }
    all
}
