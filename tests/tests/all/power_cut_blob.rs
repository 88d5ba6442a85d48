//! Whenever the power goes while records are appended to a sealed subfile, it has the records of
//! the last commit or of the one that was being made, and its seal is right for them.

use striae_core::blob::append::{Reseal, count, settle, take_back};
use striae_core::blob::seal::{COPIES, Facts, FindSeal, Found, Shape, header_crc};
use striae_core::blob::{Fingerprint, Tie};
use striae_core::cdf::{
    Alignment, Definition, DimDef, Fill, Plan, Reader, Slot, Type, Values, VarDef, Version, Writer,
};
use striae_core::endian::ByteOrder;
use striae_core::integrity::crc32c;
use striae_core::span::Span;
use striae_core::step::drive_read;
use striae_core::store::WriteAt;
use striae_kit::bay::Bay;
use striae_kit::power::{Crash, Model, PowerStore, Promises, Tear, describe};

/// Two blobs of 3 and of 2 values in a map and in two record variables.
const NBLOBS: usize = 2;
const CUTS: [usize; NBLOBS + 1] = [0, 3, 5];
const VARS: [(&str, Type, &[u64]); 3] = [
    ("map", Type::Short, &[1]),
    ("floats", Type::Float, &[0, 1]),
    ("shorts", Type::Short, &[0, 1]),
];

/// The first 12 bytes are in one sector, and the format has nothing that would tell half of them.
fn model() -> Model {
    let tear = Tear::Bytes { atomic: core::iter::once(0..12).collect() };
    Model { tear, exhaustive: 256, random: 8, ..Model::default() }
}

fn value(varid: usize, record: u64, len: usize) -> Vec<u8> {
    let byte = |at: usize| 1 + (varid * 89 + record as usize * 31 + at * 7) % 250;
    (0..len).map(|at| u8::try_from(byte(at)).unwrap()).collect()
}

fn bytes_of(varid: usize, record: u64) -> Vec<u8> {
    value(varid, record, 5 * VARS[varid].1.size() as usize)
}

/// The table of a seal over so many records.
fn table(numrecs: u64) -> Vec<u8> {
    let crc = |varid: usize, blob: usize| {
        let records = if varid == 0 { 1 } else { numrecs };
        let size = VARS[varid].1.size() as usize;
        let part = CUTS[blob] * size..CUTS[blob + 1] * size;
        (0..records).fold(0, |crc, record| crc32c(crc, &bytes_of(varid, record)[part.clone()]))
    };
    let rows = (0..VARS.len()).flat_map(|varid| (0..NBLOBS).map(move |blob| (varid, blob)));
    rows.flat_map(|(varid, blob)| crc(varid, blob).to_be_bytes()).collect()
}

/// The parts of a subfile that do not change.
struct Subfile {
    gap: Span,
    header_len: u64,
    header_crc: u32,
}

impl Subfile {
    fn shape() -> Shape {
        Shape::new(NBLOBS as u64, VARS.len() as u64).unwrap()
    }

    /// A subfile with so many records, and its bytes.
    fn new(numrecs: u64) -> (Self, Vec<u8>) {
        let dims = [DimDef::record("t"), DimDef { name: "nelems", length: 5 }];
        let vars = VARS.map(|(name, nc_type, dimids)| (VarDef { name, nc_type, dimids }, &[][..]));
        let definition = Definition { dims: &dims, attrs: &[], vars: &vars };
        let header_free = Self::shape().gap_len().unwrap();
        let alignment = Alignment { header_free, ..Alignment::default() };
        let plan = Plan::new(&definition, Version::Cdf5, alignment).unwrap();
        let store = PowerStore::default();
        let slots = vec![Slot::EMPTY; VARS.len()];
        let writer =
            Writer::create(store.clone(), &definition, &plan, Fill::Values, slots, vec![0; 64]);
        let mut writer = writer.unwrap();
        writer.put(0, Values::new(Type::Short, ByteOrder::Big, &bytes_of(0, 0))).unwrap();
        for record in 0..numrecs {
            for (varid, (_, nc_type, _)) in VARS.iter().enumerate().skip(1) {
                let values = bytes_of(varid, record);
                let values = Values::new(*nc_type, ByteOrder::Big, &values);
                writer.put(varid as u64, values).unwrap();
            }
            writer.end_record().unwrap();
        }
        writer.close().unwrap();
        let header_len = plan.header_len();
        let mut store = store;
        let header_crc = header_crc(&store.live()[..header_len as usize], crc32c);
        let gap = Span::between(header_len, plan.fixed().offset()).unwrap();
        let subfile = Self { gap, header_len, header_crc };
        let table = table(numrecs);
        let seal = subfile.reseal(numrecs, &table);
        (0..COPIES).for_each(|copy| seal.write(&mut store, copy, crc32c).unwrap());
        let bytes = store.live().to_vec();
        (subfile, bytes)
    }

    fn facts(&self, numrecs: u64) -> Facts {
        let Self { header_len, header_crc, .. } = *self;
        let (shape, values_begin) = (Self::shape(), self.gap.end());
        let tie = Some(Tie::new(Fingerprint::default(), 0, 1));
        Facts { shape, header_len, header_crc, values_begin, numrecs, tie }
    }

    fn reseal<'t>(&self, numrecs: u64, table: &'t [u8]) -> Reseal<'t> {
        let places = Self::shape().places(self.gap, true).unwrap();
        Reseal { facts: self.facts(numrecs), places, table }
    }

    fn find(&self, image: &[u8]) -> Found {
        drive_read(&mut FindSeal::new(self.gap, crc32c), image, &mut [0; 512]).unwrap()
    }

    /// The number of records, all of which must be right, and sealed.
    fn state(&self, image: &[u8]) -> Result<u64, String> {
        let (mut lengths, mut window) = ([0; 2], [0; 512]);
        let file = Reader::open(image, &mut lengths, &mut window).map_err(|e| e.to_string())?;
        let numrecs = file.head().numrecs;
        for (varid, variable) in file.variables(&mut window).enumerate().skip(1) {
            let variable = variable.map_err(|error| error.to_string())?;
            for record in 0..numrecs {
                let span = file.record(&variable, record).map_err(|error| error.to_string())?;
                let mut bytes = vec![0; span.len() as usize];
                file.read(span, &mut bytes).map_err(|error| error.to_string())?;
                if bytes != bytes_of(varid, record) {
                    return Err(format!("record {record} of variable {varid} has other bytes"));
                }
            }
        }
        let seal = self.find(image).judge(&self.facts(numrecs));
        let seal = seal.map_err(|error| error.to_string())?.ok_or("no seal")?;
        let span = seal.place().table;
        let found = &image[span.offset() as usize..span.end() as usize];
        match seal.facts().numrecs == numrecs && found == table(numrecs) {
            true => Ok(numrecs),
            false => Err(format!("a seal of {} records", seal.facts().numrecs)),
        }
    }
}

/// A writer of the subfile in a store.
fn writer<S: WriteAt<Error: std::fmt::Debug>>(store: S) -> Writer<S, Vec<Slot>, Vec<u8>> {
    let slots = vec![Slot::EMPTY; VARS.len()];
    Writer::open(store, Fill::Values, &mut [0; 2], slots, vec![0; 600]).unwrap()
}

/// Puts the values of a record to their places.
fn put_values<S: WriteAt<Error: std::fmt::Debug>>(
    writer: &mut Writer<S, Vec<Slot>, Vec<u8>>,
    store: &mut S,
    record: u64,
) {
    for varid in 1..VARS.len() {
        let at = writer.place(varid as u64, record).unwrap().offset();
        store.write_all_at(at, &bytes_of(varid, record)).unwrap();
    }
}

/// Appends some records to a subfile twice, and says what it has promised.
fn append(start: &[u8], numrecs: u64, more: &[u64]) -> (Subfile, PowerStore, Promises<u64>) {
    let (subfile, _) = Subfile::new(0);
    let (mut store, mut promises) = (PowerStore::new(start), Promises::new(numrecs));
    let mut first = numrecs;
    for &more in more {
        let next = subfile.find(&store.live()).next(first);
        let mut writer = writer(store.clone());
        (first..first + more).for_each(|record| put_values(&mut writer, &mut store, record));
        promises.begin(&store, first + more);
        let table = table(first + more);
        let seal = subfile.reseal(first + more, &table);
        count(&mut writer, more, Some((&seal, next)), crc32c).unwrap();
        promises.end(&store);
        settle(&mut store, &seal, next, crc32c).unwrap();
        first += more;
    }
    (subfile, store, promises)
}

#[test]
fn after_any_power_cut_a_subfile_has_the_seal_of_its_records() {
    let mut states = 0;
    for numrecs in [0, 2] {
        let (_, start) = Subfile::new(numrecs);
        let (subfile, store, promises) = append(&start, numrecs, &[1, 2]);
        store.crashes(&model(), |crash: &Crash<'_>| {
            states += 1;
            let say = |error: &str| -> ! { panic!("{}", describe(&store, crash, error)) };
            let found = subfile.state(crash.image).unwrap_or_else(|error| say(&error));
            let allowed = promises.allowed(crash.begun, crash.ended);
            if !allowed.iter().any(|version| version.state == found) {
                say(&format!("{found} records"));
            }
            if states % 41 == 0 {
                let (_, next, _) = append(crash.image, found, &[2]);
                assert_eq!(subfile.state(&next.live()), Ok(found + 2));
            }
        });
        assert_eq!(subfile.state(&store.live()), Ok(numrecs + 3));
    }
    assert!(states > 2_000, "{states}");
}

/// Whichever operation fails, the call or the close after it counts the records once.
#[test]
fn records_are_counted_once_however_often_the_call_is_repeated() {
    let (subfile, start) = Subfile::new(2);
    let next = subfile.find(&start).next(2);
    let (mut repeated, mut closed) = (0, 0);
    for fuel in 0.. {
        let bay = Bay::new(start.clone(), false);
        let mut writer = writer(bay.clone());
        put_values(&mut writer, &mut bay.clone(), 2);
        let table = table(3);
        let seal = subfile.reseal(3, &table);
        bay.fail(fuel, 1);
        let done = count(&mut writer, 1, Some((&seal, next)), crc32c);
        match (done.is_ok(), writer.records()) {
            (true, _) => {}
            (false, 2) => {
                repeated += 1;
                count(&mut writer, 1, Some((&seal, next)), crc32c).unwrap();
            }
            (false, _) => {
                closed += 1;
                writer.close().unwrap();
            }
        }
        assert_eq!((writer.records(), subfile.state(&bay.card(0))), (3, Ok(3)), "{fuel}");
        if done.is_ok() {
            break;
        }
    }
    assert!(repeated > 2 && closed > 2, "{repeated} {closed}");
}

/// A subfile may count records that another one of its set has lost.
#[test]
fn records_that_were_counted_can_be_taken_back_before_the_seal_is_settled() {
    let (subfile, start) = Subfile::new(2);
    let mut store = PowerStore::new(&start);
    let next = subfile.find(&start).next(2);
    let mut writer = writer(store.clone());
    put_values(&mut writer, &mut store, 2);
    let table = table(3);
    let seal = subfile.reseal(3, &table);
    count(&mut writer, 1, Some((&seal, next)), crc32c).unwrap();
    assert_eq!(subfile.state(&store.live()), Ok(3));
    take_back(&mut store, 2).unwrap();
    assert_eq!(subfile.state(&store.live()), Ok(2));
    assert_eq!(subfile.find(&store.live()).next(2), next, "the copy of 3 records is replaced");
}
