//! The writers that devices use, as one trait: blocking, and waited for.

use std::fmt::Debug;
use striae_core::cdf::{self, Definition, DimDef, Region, Slab, VarDef};
use striae_core::gsd::fixed::Fault as LogFault;
use striae_core::gsd::{self, Attributes, FixedLogger, Logger, OwnLogger, Reader};
use striae_core::sion::fixed::Fault as StreamFault;
use striae_core::sion::{self, Finished, FixedWriter, Memory, Meta1, Opened, Options, Pen};
use striae_core::step::DriveError;
use striae_core::store::{AsyncWriteAt, WriteAt};
use striae_kit::waiting::Waits;

/// One call of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    /// Asks for the id of a name.
    Name(u8),
    /// Writes bytes under a name or to a stream.
    Put { name: u8, len: usize, seed: u8 },
    /// Ends a frame, or commits.
    End,
}

/// Why a call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The store.
    Store,
    /// The medium is another one.
    Swapped,
    /// The medium ends where the file has bytes.
    Ended,
    /// The future was dropped.
    Dropped,
}

pub(super) trait Device: Debug {
    fn call(&mut self, op: Op) -> Result<(), Trouble>;
}

trait Says: Copy {
    const SWAPPED: Self;
}

impl Says for gsd::Error {
    const SWAPPED: Self = Self::Swapped;
}

impl Says for LogFault {
    const SWAPPED: Self = Self::Swapped;
}

impl Says for cdf::Error {
    const SWAPPED: Self = Self::Swapped;
}

impl Says for sion::Error {
    const SWAPPED: Self = Self::Swapped;
}

impl Says for StreamFault {
    const SWAPPED: Self = Self::Swapped;
}

fn trouble<S, F: Says + PartialEq + Debug>(error: DriveError<S, F>) -> Trouble {
    match error {
        DriveError::Store(_) => Trouble::Store,
        DriveError::Format(it) if it == F::SWAPPED => Trouble::Swapped,
        DriveError::Format(error) => panic!("{error:?}"),
        DriveError::Ended { .. } => Trouble::Ended,
        _ => panic!("another trouble"),
    }
}

/// The bytes of a call.
pub(super) fn bytes(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|at| (at as u8).wrapping_mul(7).wrapping_add(seed) | 1).collect()
}

pub(super) const NAMES: [&str; 3] = ["temperature", "a name longer than others, which moves", "x"];

pub(super) const ABOUT: Attributes<'static> = Attributes {
    application: "a device",
    schema: "probe",
    index_slots: 4,
    shown_slots: 2,
    names_len: 64,
    ..Attributes::DEFAULT
};

static FIXED: gsd::Shape<'static, 3> = {
    match gsd::Shape::new(&Attributes { index_slots: 64, ..ABOUT }, NAMES) {
        Ok(shape) => shape,
        Err(_) => panic!("no shape"),
    }
};

static OWN: gsd::Shape<'static, 0> = match gsd::Shape::new(&ABOUT, []) {
    Ok(shape) => shape,
    Err(_) => panic!("no shape"),
};

static STREAMS: sion::Shape<3> = {
    match sion::Shape::new(&sion::Attributes::DEFAULT, b"log", [(0, 300), (1, 100), (2, 512)]) {
        Ok(shape) => shape,
        Err(_) => panic!("no shape"),
    }
};

/// A writer and how it is waited for.
#[derive(Debug)]
struct Held<W>(W, Waits);

macro_rules! logger {
    ($type:ty, $name:expr) => {
        impl<S: WriteAt + Debug> Device for $type {
            fn call(&mut self, op: Op) -> Result<(), Trouble> {
                let name: fn(&mut Self, u8) -> Result<u16, Trouble> = $name;
                match op {
                    Op::Name(number) => name(self, number).map(drop),
                    Op::Put { name: number, len, seed } => {
                        let id = name(self, number)?;
                        self.chunk(id, gsd::ChunkType::U8, 1, &bytes(len, seed)).map_err(trouble)
                    }
                    Op::End => self.end_frame().map(drop).map_err(trouble),
                }
            }
        }
    };
}

logger!(Logger<S, 4>, |log, name| log.name(NAMES[usize::from(name)]).map_err(trouble));
logger!(OwnLogger<'static, S, 4>, |log, name| log.name(NAMES[usize::from(name)]).map_err(trouble));
logger!(FixedLogger<'static, S, 3>, |_, name| Ok(name.into()));

/// Waits for the future of a call.
fn wait<T, S, F: Says + PartialEq + Debug>(
    waits: &Waits,
    future: impl Future<Output = Result<T, DriveError<S, F>>>,
) -> Result<T, Trouble> {
    waits.run(future).ok_or(Trouble::Dropped)?.map_err(trouble)
}

macro_rules! waited_logger {
    ($type:ty, $name:expr) => {
        impl<S: AsyncWriteAt + Debug> Device for Held<$type> {
            fn call(&mut self, op: Op) -> Result<(), Trouble> {
                let name: fn(&mut Self, u8) -> Result<u16, Trouble> = $name;
                match op {
                    Op::Name(number) => name(self, number).map(drop),
                    Op::Put { name: number, len, seed } => {
                        let id = name(self, number)?;
                        let bytes = bytes(len, seed);
                        wait(&self.1, self.0.chunk_async(id, gsd::ChunkType::U8, 1, &bytes))
                    }
                    Op::End => wait(&self.1, self.0.end_frame_async()).map(drop),
                }
            }
        }
    };
}

waited_logger!(Logger<S, 4>, |it, name| {
    wait(&it.1, it.0.name_async(NAMES[usize::from(name)]))
});
waited_logger!(OwnLogger<'static, S, 4>, |it, name| {
    wait(&it.1, it.0.name_async(NAMES[usize::from(name)]))
});
waited_logger!(FixedLogger<'static, S, 3>, |_, name| Ok(name.into()));

macro_rules! streams {
    ($type:ty) => {
        impl<S: WriteAt + Debug> Device for $type {
            fn call(&mut self, op: Op) -> Result<(), Trouble> {
                match op {
                    Op::Name(_) => Ok(()),
                    Op::Put { name, len, seed } => {
                        self.write(name.into(), &bytes(len, seed)).map_err(trouble)
                    }
                    Op::End => self.commit().map_err(trouble),
                }
            }
        }
    };
    (waited $type:ty) => {
        impl<S: AsyncWriteAt + Debug> Device for Held<$type> {
            fn call(&mut self, op: Op) -> Result<(), Trouble> {
                match op {
                    Op::Name(_) => Ok(()),
                    Op::Put { name, len, seed } => {
                        wait(&self.1, self.0.write_async(name.into(), &bytes(len, seed)))
                    }
                    Op::End => wait(&self.1, self.0.commit_async()),
                }
            }
        }
    };
}

streams!(FixedWriter<S, 3>);
streams!(sion::Writer<'static, S>);
streams!(waited FixedWriter<S, 3>);
streams!(waited sion::Writer<'static, S>);

/// A netCDF file of three texts in each record, the last of which is put in part.
#[derive(Debug)]
struct Records<S> {
    log: cdf::Writer<S, [cdf::Slot; 3], [u8; 64]>,
    /// Whether the record has ended; it may not be committed.
    has_ended: bool,
}

/// The dimensions of the texts.
const TEXTS: [DimDef<'static>; 4] = [
    DimDef::record("time"),
    DimDef { name: "a", length: 5 },
    DimDef { name: "b", length: 40 },
    DimDef { name: "c", length: 70 },
];

/// A device of a writer's functions, each of which is `$done` with its result or future.
macro_rules! records {
    ($type:ty, $bound:path, $it:ident, $records:expr, $done:ident,
        $put:ident, $put_slab:ident, $end_record:ident, $commit:ident) => {
        impl<S: $bound + Debug> Device for $type {
            fn call(&mut self, op: Op) -> Result<(), Trouble> {
                let $it = self;
                match op {
                    Op::Name(_) => Ok(()),
                    Op::Put { name: 2, len, seed } => {
                        let text = bytes(4 + len % 67, seed);
                        let (record, layout) = ($records.log.records(), $records.log.layout(2));
                        let (start, count) = ([record, 0], [1, text.len() as u64]);
                        let region = Region { start: &start, count: &count, stride: None };
                        let shape = [record + 1, 70];
                        let slab = Slab::new(layout.unwrap(), &shape, region).unwrap();
                        $done!($it, $records.log.$put_slab(2, slab, cdf::Values::text(&text)))
                    }
                    Op::Put { name, seed, .. } => {
                        let len = TEXTS[usize::from(name) + 1].length;
                        let text = bytes(len as usize, seed);
                        $done!($it, $records.log.$put(name.into(), cdf::Values::text(&text)))
                    }
                    Op::End => {
                        if !$records.has_ended {
                            $done!($it, $records.log.$end_record())?;
                            $records.has_ended = true;
                        }
                        $done!($it, $records.log.$commit())?;
                        $records.has_ended = false;
                        Ok(())
                    }
                }
            }
        }
    };
}

macro_rules! at_once {
    ($it:ident, $done:expr) => {
        $done.map_err(trouble)
    };
}

macro_rules! waited {
    ($it:ident, $done:expr) => {
        wait(&$it.1, $done)
    };
}

records!(Records<S>, WriteAt, it, it, at_once, put, put_slab, end_record, commit);
records!(
    Held<Records<S>>,
    AsyncWriteAt,
    it,
    it.0,
    waited,
    put_async,
    put_slab_async,
    end_record_async,
    commit_async
);

/// Evaluates `$created` with the definition and the plan of a netCDF file.
macro_rules! with_plan {
    ($definition:ident, $plan:ident => $created:expr) => {{
        let dimids = [[0, 1], [0, 2], [0, 3]];
        let text = |number: usize| {
            let (name, dimids) = (TEXTS[number + 1].name, &dimids[number][..]);
            (VarDef { name, nc_type: cdf::Type::Char, dimids }, &[][..])
        };
        let vars = [0, 1, 2].map(text);
        let $definition = Definition { dims: &TEXTS, attrs: &[], vars: &vars };
        let alignment = cdf::Alignment::default();
        let $plan = cdf::Plan::new(&$definition, cdf::Version::Cdf2, alignment).unwrap();
        $created
    }};
}

/// What a device runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Logger { one_sync: bool, checksums: bool, align: u64 },
    Own,
    Fixed,
    Streams,
    Sion { sealed: bool },
    Records,
}

impl Kind {
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let logger = |one_sync, checksums, align| Self::Logger { one_sync, checksums, align };
        let loggers = [(false, false), (true, false), (false, true), (true, true)];
        let loggers = loggers.into_iter().flat_map(move |(one_sync, checksums)| {
            [1, 512].map(|it| logger(one_sync, checksums, it))
        });
        let sealed = [false, true].map(|sealed| Self::Sion { sealed });
        loggers.chain([Self::Own, Self::Fixed, Self::Streams, Self::Records]).chain(sealed)
    }

    pub(super) fn is_gsd(self) -> bool {
        !matches!(self, Self::Streams | Self::Sion { .. } | Self::Records)
    }

    fn about(self) -> Attributes<'static> {
        match self {
            Self::Logger { one_sync, checksums, align } => {
                Attributes { one_sync, checksums, align, ..ABOUT }
            }
            _ => ABOUT,
        }
    }

    /// The device on a blank card.
    pub(super) fn start<S: WriteAt + Debug + 'static>(self, store: S) -> Box<dyn Device> {
        match self {
            Self::Logger { .. } => {
                Box::new(Logger::<_, 4>::open_or_create(store, &self.about()).unwrap())
            }
            Self::Own => Box::new(OwnLogger::<_, 4>::open_or_create(store, &OWN).unwrap()),
            Self::Fixed => Box::new(FixedLogger::open_or_create(store, &FIXED).unwrap()),
            Self::Streams => Box::new(FixedWriter::create(store, &STREAMS).unwrap()),
            Self::Sion { sealed } => {
                let (options, tasks) = (Options { sealed, ..Options::default() }, &TASKS[..]);
                let about = &sion::Attributes::DEFAULT;
                let writer =
                    sion::Writer::create(store, about, b"log", tasks, memory(), options).unwrap();
                Box::new(writer)
            }
            Self::Records => {
                let (fill, slots) = (cdf::Fill::Values, [cdf::Slot::EMPTY; 3]);
                let log = with_plan!(definition, plan => {
                    cdf::Writer::create(store, &definition, &plan, fill, slots, [0; 64])
                });
                Box::new(Records { log: log.unwrap(), has_ended: false })
            }
        }
    }

    /// The device on a blank card, waited for.
    pub(super) fn start_waited<S>(self, store: S, waits: &Waits) -> Box<dyn Device>
    where
        S: AsyncWriteAt + Debug + 'static,
    {
        let held = waits.clone();
        match self {
            Self::Logger { .. } => {
                let about = self.about();
                let log = waits.run(Logger::<_, 4>::open_or_create_async(store, &about));
                Box::new(Held(log.unwrap().unwrap(), held))
            }
            Self::Own => {
                let log = waits.run(OwnLogger::<_, 4>::open_or_create_async(store, &OWN));
                Box::new(Held(log.unwrap().unwrap(), held))
            }
            Self::Fixed => {
                let log = waits.run(FixedLogger::open_or_create_async(store, &FIXED));
                Box::new(Held(log.unwrap().unwrap(), held))
            }
            Self::Streams => {
                let writer = waits.run(FixedWriter::create_async(store, &STREAMS));
                Box::new(Held(writer.unwrap().unwrap(), held))
            }
            Self::Sion { sealed } => {
                let (options, tasks) = (Options { sealed, ..Options::default() }, &TASKS[..]);
                let about = &sion::Attributes::DEFAULT;
                let writer =
                    sion::Writer::create_async(store, about, b"log", tasks, memory(), options);
                Box::new(Held(waits.run(writer).unwrap().unwrap(), held))
            }
            Self::Records => {
                let (fill, slots) = (cdf::Fill::Values, [cdf::Slot::EMPTY; 3]);
                let log = with_plan!(definition, plan => waits.run(
                    cdf::Writer::create_async(store, &definition, &plan, fill, slots, [0; 64])
                ));
                Box::new(Held(Records { log: log.unwrap().unwrap(), has_ended: false }, held))
            }
        }
    }

    /// All data of the file on a card, in order.
    pub(super) fn content(self, card: &[u8]) -> Vec<Vec<u8>> {
        let mut window = [0; 4096];
        if self == Self::Records {
            let mut lengths = [0; TEXTS.len()];
            let file = cdf::Reader::open(card, &mut lengths, &mut window).unwrap();
            let text = |variable: Result<cdf::Variable, _>| {
                let (variable, mut text) = (variable.unwrap(), Vec::new());
                for record in 0..file.head().numrecs {
                    let span = file.record(&variable, record).unwrap();
                    text.extend_from_slice(&card[span.offset() as usize..span.end() as usize]);
                }
                text
            };
            return file.variables(&mut [0; 512]).map(text).collect();
        }
        if self.is_gsd() {
            let file = Reader::open(card, &mut window).unwrap();
            let chunks = file.chunks([0; 4096]).map(Result::unwrap);
            let span = |chunk: gsd::Chunk| (chunk.kind == gsd::ChunkType::U8).then_some(chunk.span);
            let bytes = |span: striae_core::span::Span| {
                card[span.offset() as usize..span.end() as usize].to_vec()
            };
            return chunks.filter_map(span).map(bytes).collect();
        }
        let opened = sion::Physical::open(card, &mut window).unwrap();
        let Opened::Closed(file) = opened else { return Vec::new() };
        let stream = |local| {
            let task = file.task(local, &mut window).unwrap();
            let (mut stream, mut bytes, mut part) = (file.stream(task), Vec::new(), [0; 64]);
            loop {
                match stream.read(&mut part).unwrap() {
                    0 => return bytes,
                    len => bytes.extend_from_slice(&part[..len]),
                }
            }
        };
        (0..3).map(stream).collect()
    }
}

const TASKS: [(i64, u64); 3] = [(0, 300), (1, 100), (2, 512)];

/// Memory for a writer that lives as long as the test.
fn memory() -> Memory<'static> {
    Memory {
        pens: Box::leak(vec![Pen::EMPTY; 3].into_boxed_slice()),
        ledger: Box::leak(vec![Finished::EMPTY; 64].into_boxed_slice()),
        window: Box::leak(vec![0; Meta1::MAX_LEN].into_boxed_slice()),
    }
}
