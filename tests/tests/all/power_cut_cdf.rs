//! Whenever the power goes, a classic netCDF file is as the last commit left it, or as the one that
//! was being made; the next writer continues it from there.

use striae_core::cdf::{
    Alignment, Definition, DimDef, Error, Fill, Plan, Reader, Slot, Type, Values, VarDef, Version,
    Writer,
};
use striae_core::endian::ByteOrder;
use striae_core::step::DriveError;
use striae_kit::power::{
    Crash, Fault, Lost, MEDIA, Model, Op, PowerStore, Promise, Promises, Tear, check_len, describe,
};

/// Each write torn after each of its bytes, but for the number of records and the magic: the first
/// 12 bytes are in one sector, and the format has nothing that would tell half of a number.
fn bytes() -> Model {
    let atomic = core::iter::once(0..12).collect();
    let tear = Tear::Bytes { atomic };
    Model { tear, exhaustive: 256, random: 8, ..Model::default() }
}

/// A file that is written.
#[derive(Debug, Clone, Copy)]
struct Shape {
    version: Version,
    alignment: Alignment,
    vars: &'static [(&'static str, Type, &'static [u64])],
}

const DIMS: [DimDef<'static>; 3] =
    [DimDef { name: "x", length: 3 }, DimDef::record("t"), DimDef { name: "y", length: 70 }];

/// Fixed and record variables between each other; records of 4 + 280 + 4 bytes.
const MIXED: &[(&str, Type, &[u64])] = &[
    ("bytes", Type::Byte, &[1, 0]),
    ("fixed", Type::Short, &[0]),
    ("floats", Type::Float, &[1, 2]),
    ("scalar", Type::Double, &[]),
    ("time", Type::Int, &[1]),
];

/// One record variable: its records of 3 bytes are not padded.
const SOLE: &[(&str, Type, &[u64])] = &[("fixed", Type::Char, &[2]), ("sole", Type::Char, &[1, 0])];

fn shapes() -> Vec<Shape> {
    let mut shapes = Vec::new();
    for version in Version::ALL {
        for alignment in [Alignment::COMPACT, Alignment::default()] {
            for vars in [MIXED, SOLE] {
                shapes.push(Shape { version, alignment, vars });
            }
        }
    }
    shapes
}

/// All bytes of a variable, or of a record of it; none of them is 0.
fn value(varid: usize, record: u64, len: usize) -> Vec<u8> {
    let byte = |at: usize| 1 + (varid * 89 + record as usize * 31 + at * 7) % 250;
    (0..len).map(|at| u8::try_from(byte(at)).unwrap()).collect()
}

type Log = Writer<PowerStore, Vec<Slot>, Vec<u8>>;
type WriteResult<T> = Result<T, DriveError<striae_kit::power::PowerError, Error>>;

impl Shape {
    fn len(&self, varid: usize) -> usize {
        let (_, ty, dimids) = self.vars[varid];
        let count: u64 = dimids.iter().map(|&dimid| DIMS[dimid as usize].length.max(1)).product();
        (ty.size() * count) as usize
    }

    fn is_record(&self, varid: usize) -> bool {
        self.vars[varid].2.first() == Some(&1)
    }

    fn create(&self, store: &PowerStore, fill: Fill) -> WriteResult<Log> {
        let var = |&(name, nc_type, dimids)| (VarDef { name, nc_type, dimids }, &[][..]);
        let vars: Vec<_> = self.vars.iter().map(var).collect();
        let definition = Definition { dims: &DIMS, attrs: &[], vars: &vars };
        let plan = Plan::new(&definition, self.version, self.alignment).unwrap();
        let slots = vec![Slot::EMPTY; self.vars.len()];
        Writer::create(store.clone(), &definition, &plan, fill, slots, vec![0; 64])
    }

    fn open(&self, store: &PowerStore, fill: Fill) -> WriteResult<Log> {
        let slots = vec![Slot::EMPTY; self.vars.len()];
        Writer::open(store.clone(), fill, &mut [0; 3], slots, vec![0; 600])
    }

    /// Puts the fixed variables, or those of the current record.
    fn put(&self, log: &mut Log, records: bool) -> WriteResult<()> {
        let record = if records { log.records() } else { 0 };
        for (varid, &(_, ty, _)) in self.vars.iter().enumerate() {
            if self.is_record(varid) == records {
                let bytes = value(varid, record, self.len(varid));
                log.put(varid as u64, Values::new(ty, ByteOrder::Big, &bytes))?;
            }
        }
        if records {
            log.end_record()?;
        }
        Ok(())
    }

    /// The number of records, all of which must be right; `None` if there is no file.
    fn state(&self, image: &[u8]) -> Result<Option<u64>, String> {
        let (mut lengths, mut window) = ([0; 3], [0; 512]);
        let file = match Reader::open(image, &mut lengths, &mut window) {
            Ok(file) => file,
            // the magic is written last; before it there may be noise
            Err(DriveError::Format(Error::NotCdf { .. })) => return Ok(None),
            Err(_) if image.iter().take(4).all(|&byte| byte == 0) => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        for (varid, variable) in file.variables(&mut window).enumerate() {
            let variable = variable.map_err(|error| error.to_string())?;
            let records = if self.is_record(varid) { file.head().numrecs } else { 1 };
            for record in 0..records {
                let span = file.record(&variable, record).map_err(|error| error.to_string())?;
                let mut bytes = vec![0; span.len() as usize];
                file.read(span, &mut bytes).map_err(|error| error.to_string())?;
                if bytes != value(varid, record, bytes.len()) {
                    return Err(format!("record {record} of variable {varid} has other bytes"));
                }
            }
        }
        Ok(Some(file.head().numrecs))
    }
}

/// A writer's session, and what it has promised.
struct Session {
    shape: Shape,
    fill: Fill,
    store: PowerStore,
    promises: Promises<Option<u64>>,
}

impl Session {
    fn commit(&mut self, log: &mut Log) -> WriteResult<()> {
        self.promises.begin(&self.store, Some(log.records()));
        log.commit()?;
        self.promises.end(&self.store);
        Ok(())
    }

    /// Two records, a commit, and so on; then a close.
    fn records(&mut self, log: &mut Log, count: u64) -> WriteResult<()> {
        for number in 0..count {
            self.shape.put(log, true)?;
            if number % 2 == 1 {
                self.commit(log)?;
            }
        }
        self.promises.begin(&self.store, Some(log.records()));
        log.close()?;
        self.promises.end(&self.store);
        self.promises.closed(self.store.live().len() as u64);
        Ok(())
    }

    /// A new file in a store that durably holds `start`.
    fn create(shape: Shape, fill: Fill, start: &[u8]) -> Self {
        let (store, promises) = (PowerStore::new(start), Promises::new(None));
        let mut session = Self { shape, fill, store, promises };
        let mut log = shape.create(&session.store, fill).unwrap();
        shape.put(&mut log, false).unwrap();
        session.records(&mut log, 5).unwrap();
        session
    }

    /// Records that are appended to the file `start`, which has `numrecs`.
    fn append(shape: Shape, fill: Fill, start: &[u8], numrecs: u64) -> Self {
        let (store, promises) = (PowerStore::new(start), Promises::new(Some(numrecs)));
        let mut session = Self { shape, fill, store, promises };
        let mut log = shape.open(&session.store, fill).unwrap();
        assert_eq!(log.records(), numrecs);
        session.records(&mut log, 3).unwrap();
        session
    }

    /// Looks at every crash, and continues some of the files. Returns the number of states.
    fn crash(&self, model: &Model) -> usize {
        let mut states = 0;
        self.store.crashes(model, |crash: &Crash<'_>| {
            states += 1;
            let say = |error: &str| -> ! {
                panic!("{:?} {}", self.shape, describe(&self.store, crash, error))
            };
            let allowed = self.promises.allowed(crash.begun, crash.ended);
            let found = self.shape.state(crash.image).unwrap_or_else(|error| say(&error));
            if !allowed.iter().any(|version| version.state == found) {
                say(&format!("{found:?} records"));
            }
            check_len(crash, allowed).unwrap_or_else(|error| say(&error));
            if let Some(numrecs) = found.filter(|_| states % 11 == 0) {
                let next = Self::append(self.shape, self.fill, crash.image, numrecs);
                let live = next.store.live().to_vec();
                assert_eq!(self.shape.state(&live), Ok(Some(numrecs + 3)));
            }
        });
        states
    }
}

#[test]
fn after_any_power_cut_a_file_is_as_a_commit_left_it() {
    let mut states = 0;
    for shape in shapes() {
        for fill in [Fill::Values, Fill::None] {
            states += Session::create(shape, fill, &[]).crash(&bytes());
        }
    }
    assert!(states > 20_000, "{states}");
}

/// The first step of a new file makes an old one invalid.
#[test]
fn a_new_file_over_an_old_one_is_never_a_mixture() {
    for shape in shapes().into_iter().step_by(3) {
        let old = Session::create(shape, Fill::Values, &[]).store.live().to_vec();
        let session = Session::create(shape, Fill::Values, &old);
        let is_sync = |op: &Op| matches!(op, Op::Sync);
        let invalid = session.store.log().iter().position(is_sync).unwrap() + 1;
        session.store.crashes(&bytes(), |crash| {
            let allowed = session.promises.allowed(crash.begun, crash.ended);
            let found = shape.state(crash.image).unwrap();
            let is_old = found == Some(5) && crash.ended < invalid;
            let is_new = allowed.iter().any(|version| version.state == found);
            assert!(is_old || is_new, "{}", describe(&session.store, crash, "other records"));
        });
    }
}

/// Of a file with the rest of a record that was not committed, with a length that is cut within a
/// record, and with a number of records that the header does not say.
#[test]
fn after_any_power_cut_an_appended_file_has_at_least_its_old_records() {
    let mut states = 0;
    for shape in shapes() {
        let whole = Session::create(shape, Fill::Values, &[]).store.live().to_vec();
        let wide = shape.version.non_neg_len() as usize;
        for (numrecs, rest) in [(5, 0), (3, 0), (3, 5)] {
            let mut start = whole.clone();
            start[4..4 + wide].copy_from_slice(&u64::to_be_bytes(numrecs)[8 - wide..]);
            start.truncate(whole.len() - rest);
            for fill in [Fill::Values, Fill::None] {
                states += Session::append(shape, fill, &start, numrecs).crash(&bytes());
            }
        }
    }
    assert!(states > 20_000, "{states}");
}

#[test]
fn a_file_without_a_number_of_records_gets_it_before_a_record_is_appended() {
    for shape in shapes() {
        let mut start = Session::create(shape, Fill::Values, &[]).store.live().to_vec();
        let wide = shape.version.non_neg_len() as usize;
        start[4..4 + wide].fill(0xff);
        start.truncate(start.len() - 2); // its last record is cut
        let session = Session::append(shape, Fill::Values, &start, 4);
        session.crash(&bytes());
    }
}

/// As on a file system that shows what other files left in a block, and on one with larger pages.
#[test]
fn nothing_depends_on_zeros_or_on_the_length_of_a_sector() {
    for model in
        [Model { lost: Lost::Noise, ..bytes() }, Model { sector: 4096, ..Model::default() }]
    {
        for shape in shapes() {
            Session::create(shape, Fill::Values, &[]).crash(&model);
        }
    }
}

/// An operation fails, and the writer tries again: no record is lost, and none is there twice.
#[test]
fn a_call_that_failed_can_be_repeated() {
    for shape in shapes() {
        let whole = Session::create(shape, Fill::Values, &[]);
        let expected = whole.store.live().to_vec();
        for at in 0..whole.store.ops() {
            for kept in [0, 1, 9] {
                let store = PowerStore::default();
                store.fail(Fault { at, kept, lasting: false });
                let log = shape.create(&store, Fill::Values);
                let mut log = log.or_else(|_| shape.create(&store, Fill::Values)).unwrap();
                let mut twice = |act: &mut dyn FnMut(&mut Log) -> WriteResult<()>| {
                    if act(&mut log).is_err() {
                        act(&mut log).unwrap();
                    }
                };
                twice(&mut |log| shape.put(log, false));
                for record in 0..5 {
                    twice(&mut |log| {
                        if log.records() == record { shape.put(log, true) } else { Ok(()) }
                    });
                    if record % 2 == 1 {
                        twice(&mut Log::commit);
                    }
                }
                twice(&mut Log::close);
                assert!(*store.live() == expected, "{shape:?} {at}");
            }
        }
    }
}

#[test]
fn a_file_keeps_what_the_table_of_media_promises() {
    let shapes = shapes().into_iter().step_by(3);
    let sessions: Vec<_> = shapes.map(|shape| Session::create(shape, Fill::Values, &[])).collect();
    for medium in MEDIA {
        let (mut states, mut bad) = (0, 0);
        for Session { shape, store, promises, .. } in &sessions {
            store.crashes(&(medium.model)(), |crash| {
                let allowed = promises.allowed(crash.begun, crash.ended);
                let is_allowed = |found| allowed.iter().any(|version| version.state == found);
                states += 1;
                bad += usize::from(!shape.state(crash.image).is_ok_and(is_allowed));
            });
        }
        println!("{}: {bad} of {states} states are not as promised", medium.name);
        assert!(states > 300, "{}: {states}", medium.name);
        assert_eq!(medium.cdf == Promise::Kept, bad == 0, "{}: {bad}", medium.name);
    }
}
