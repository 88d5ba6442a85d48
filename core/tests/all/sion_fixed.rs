//! A writer of a fixed shape goes on with its own file after any power cut, and with no other.

use striae_core::endian::ByteOrder;
use striae_core::sion::fixed::{Fault, FixedError};
use striae_core::sion::{
    Attributes, Finished, FixedWriter, Memory, Meta1, Opened, Options, Pen, Physical, Shape, Writer,
};
use striae_core::step::DriveError;
use striae_kit::hosts;
use striae_kit::power::{Crash, Lost, Model, PowerStore, Promises, describe};

const TASKS: [(i64, u64); 3] = [(0, 700), (1, 100), (2, 512)];

const LITTLE: Attributes = Attributes { order: ByteOrder::Little, ..Attributes::DEFAULT };
const BIG: Attributes = Attributes { order: ByteOrder::Big, ..Attributes::DEFAULT };

const fn of(about: &Attributes, tasks: [(i64, u64); 3], ahead: u32) -> Shape<3> {
    match Shape::new(about, b"log", tasks) {
        Ok(shape) => shape.with_ahead(ahead),
        Err(_) => panic!("no shape"),
    }
}

static SHAPES: [Shape<3>; 2] = [of(&LITTLE, TASKS, 0), of(&BIG, TASKS, 3)];

type Streams = Vec<Vec<u8>>;

/// The streams of a file as a reader finds them; empty ones if there was no commit.
fn streams(image: &[u8]) -> Streams {
    let mut window = [0; 4096];
    let Ok(Opened::Closed(file)) = Physical::open(image, &mut window) else {
        return vec![Vec::new(); 3];
    };
    let stream = |local| {
        let task = file.task(local, &mut window).unwrap();
        let mut bytes = Vec::new();
        let (mut stream, mut part) = (file.stream(task), [0; 64]);
        loop {
            match stream.read(&mut part).unwrap() {
                0 => return bytes,
                len => bytes.extend_from_slice(&part[..len]),
            }
        }
    };
    (0..3).map(stream).collect()
}

fn bytes(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|at| ((at * 7 + seed * 31) % 250 + 1) as u8).collect()
}

/// Opens a file or makes one.
fn open(store: &PowerStore, shape: &Shape<3>) -> Result<FixedWriter<PowerStore, 3>, Fault> {
    FixedWriter::open_or_create(store.clone(), shape).map_err(fault)
}

fn fault(error: FixedError<PowerStore>) -> Fault {
    match error {
        DriveError::Format(fault) => fault,
        error => panic!("{error}"),
    }
}

/// Opens a file or makes one, by the asynchronous form first: it is durable then.
#[cfg(feature = "async")]
fn open_twice(store: &PowerStore, shape: &Shape<3>) -> Result<FixedWriter<PowerStore, 3>, Fault> {
    use std::task::{Context, Poll, Waker};
    use striae_core::store::Ready;
    let opened = FixedWriter::open_or_create_async(Ready(store.clone()), shape);
    match std::pin::pin!(opened).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(opened) => drop(opened.map_err(fault)?),
        Poll::Pending => panic!("the store is ready"),
    }
    open(store, shape)
}

type Open = fn(&PowerStore, &Shape<3>) -> Result<FixedWriter<PowerStore, 3>, Fault>;

const OPEN: &[Open] = &[
    open,
    #[cfg(feature = "async")]
    open_twice,
];

/// Writes and commits so often, from `seed` on; a close comes in between.
fn go_on(
    writer: &mut FixedWriter<PowerStore, 3>,
    store: &PowerStore,
    promises: &mut Promises<Streams>,
    (from, to): (usize, usize),
) {
    let mut state = streams(&store.live());
    for turn in from..to {
        for (local, stream) in state.iter_mut().enumerate() {
            if (turn + local) % 3 != 0 {
                let more = bytes(1 + (turn * 97 + local * 211) % 400, turn + local);
                writer.write(local as u32, &more).unwrap();
                stream.extend(more);
            }
        }
        promises.begin(store, state.clone());
        if turn % 4 == 3 { writer.close() } else { writer.commit() }.unwrap();
        promises.end(store);
    }
}

/// In every state all that was promised is there, also to the writer that goes on.
fn check(
    store: &PowerStore,
    promises: &Promises<Streams>,
    shape: &Shape<3>,
    model: &Model,
) -> usize {
    let mut states = 0;
    store.crashes(model, |crash: &Crash<'_>| {
        states += 1;
        let say = |error: &str| -> ! { panic!("{}", describe(store, crash, error)) };
        let allowed = promises.allowed(crash.begun, crash.ended);
        let found = streams(crash.image);
        if !allowed.iter().any(|version| version.state == found) {
            say("other streams");
        }
        let again = PowerStore::new(crash.image);
        let mut writer = match OPEN[states % OPEN.len()](&again, shape) {
            Ok(writer) => writer,
            // What other files left where nothing was written yet.
            Err(Fault::NotBlank) if model.lost == Lost::Noise => {
                assert!(again.live()[..] == *crash.image && found.concat().is_empty());
                return;
            }
            Err(fault) => say(&fault.to_string()),
        };
        assert_eq!(streams(&again.live()), found);
        if states % 5 == 0 {
            let mut promises = Promises::new(found);
            go_on(&mut writer, &again, &mut promises, (states % 7, states % 7 + 2));
            assert_eq!(streams(&again.live()), promises.last()[0].state);
        }
    });
    states
}

#[test]
fn a_fixed_writer_goes_on_after_any_power_cut() {
    let mut states = 0;
    for (shape, lost) in SHAPES.iter().zip([Lost::Zeros, Lost::Noise]) {
        let store = PowerStore::new(&[]);
        let mut promises = Promises::new(vec![Vec::new(); 3]);
        let (exhaustive, random) = if hosts::is_slow() { (16, 4) } else { (256, 16) };
        let model = Model { exhaustive, random, lost, ..Model::default() };
        for part in [(0, 3), (3, 4), (4, 7)] {
            let mut writer = open(&store, shape).unwrap();
            go_on(&mut writer, &store, &mut promises, part);
        }
        states += check(&store, &promises, shape, &model);
    }
    println!("{states} states of crashes");
    assert!(states > if hosts::is_slow() { 500 } else { 2500 }, "{states}");
}

/// Memory for the other writer.
struct Lent([Pen; 3], [Finished; 64], Vec<u8>);

impl Lent {
    fn new() -> Self {
        Self([Pen::EMPTY; 3], [Finished::EMPTY; 64], vec![0; Meta1::MAX_LEN])
    }

    fn memory(&mut self) -> Memory<'_> {
        Memory { pens: &mut self.0, ledger: &mut self.1, window: &mut self.2 }
    }
}

/// A file that both wrote is the same at each commit.
#[test]
fn a_fixed_writer_goes_on_as_the_writer_that_can_do_more() {
    let stores = [PowerStore::new(&[]), PowerStore::new(&[])];
    for turn in 0..9_usize {
        let mut lent = Lent::new();
        let (memory, options) = (lent.memory(), Options::default());
        let mut fixed = OPEN[turn % OPEN.len()](&stores[0], &SHAPES[0]).unwrap();
        let mut other = match turn {
            0 => {
                let (about, tasks) = (&LITTLE, &TASKS[..]);
                Writer::create(stores[1].clone(), about, b"log", tasks, memory, options).unwrap()
            }
            _ => Writer::reopen(stores[1].clone(), memory, options).unwrap(),
        };
        for local in 0..3_usize {
            let more = bytes(turn * 150 * (local % 2) + local * 90, turn);
            fixed.write(local as u32, &more).unwrap();
            other.write(local as u32, &more).unwrap();
        }
        fixed.commit().unwrap();
        other.commit().unwrap();
        if turn % 3 == 2 {
            fixed.close().unwrap();
            other.close().unwrap();
        }
        assert!(stores[0].live()[..] == stores[1].live()[..], "turn {turn}");
    }
}

#[test]
fn what_a_fixed_writer_did_not_write_is_refused_and_left_alone() {
    let of_writer = |sealed, record: usize| -> Vec<u8> {
        let (store, mut lent) = (PowerStore::new(&[]), Lent::new());
        let options = Options { sealed, ..Options::default() };
        let (tasks, memory) = (&TASKS[..], lent.memory());
        let mut writer =
            Writer::create(store.clone(), &LITTLE, b"log", tasks, memory, options).unwrap();
        writer.write_record(0, &bytes(600, 1)).unwrap();
        writer.write_record(0, &bytes(record, 2)).unwrap();
        writer.commit().unwrap();
        store.live().to_vec()
    };
    let mut other_shape = TASKS;
    other_shape[1].1 = 200;
    let store = PowerStore::new(&[]);
    open(&store, &of(&LITTLE, other_shape, 0)).unwrap().commit().unwrap();
    let other_shape = store.live().to_vec();
    let store = PowerStore::new(&[]);
    let mut writer = open(&store, &SHAPES[0]).unwrap();
    writer.write(0, &bytes(1000, 1)).unwrap();
    writer.commit().unwrap();
    let mut of_later_chunk = store.live().to_vec();
    let whole = of_writer(false, 100);
    let with = |at: usize, value: u8| {
        let mut image = whole.clone();
        image[at] = value;
        image
    };
    let fields = 1076 + 16 * 3;
    let meta2 = |image: &[u8]| {
        let start = i64::from_le_bytes(image[fields + 4..fields + 12].try_into().unwrap());
        usize::try_from(start).unwrap()
    };
    let second_row = meta2(&of_later_chunk) + 24 * 2;
    assert_eq!(of_later_chunk[second_row..][..24], [&[44, 1][..], &[0; 22]].concat());
    of_later_chunk[second_row + 8] = 5; // of task 1, which has only one chunk
    let meta2 = meta2(&whole);
    for (image, fault) in [
        (of_writer(false, 200), Fault::Another), // a chunk that was left
        (of_writer(true, 100), Fault::Another),
        (other_shape, Fault::Another),
        (of_later_chunk, Fault::Another),
        (with(30, 1), Fault::Another),
        (with(0, b'S'), Fault::NotBlank),
        (vec![7; 100], Fault::NotBlank),
        (vec![0; 5000], Fault::NotBlank), // longer than what a creation leaves
        (with(fields, 9), Fault::Damaged),
        (with(fields + 9, 9), Fault::Damaged),
        (with(meta2, 5), Fault::Damaged),
        (with(meta2, 0), Fault::Another),
        (with(meta2 + 24 + 1, 9), Fault::Damaged),
    ] {
        let store = PowerStore::new(&image);
        for open in OPEN {
            assert_eq!(open(&store, &SHAPES[0]).map(drop), Err(fault));
            assert!(store.live()[..] == image[..]);
        }
    }
    let store = PowerStore::new(&whole);
    assert_eq!(open(&store, &SHAPES[0]).unwrap().cursor(0).unwrap().used(), 700);
}
