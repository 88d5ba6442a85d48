//! A card that is changed for another after an error is left as it is, and the writer goes on when
//! its own card is back.

mod devices;

use devices::{Device, Kind, Op, Trouble};
use striae_core::gsd::{Attributes, Logger};
use striae_core::store::{BlockStore, Cached, StoreBlocks};
use striae_kit::bay::Bay;
use striae_kit::waiting::{Slow, Waits};

const CARD: usize = 1 << 16;

/// How a device reaches its card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Direct,
    /// Through a cache of so many blocks.
    Cached(usize),
    /// Asynchronously.
    Slow,
    SlowCached,
}

impl Way {
    const fn has_cache(self) -> bool {
        matches!(self, Self::Cached(_) | Self::SlowCached)
    }

    fn all(kind: Kind) -> Vec<Self> {
        let mut ways = vec![Self::Direct, Self::Slow];
        if kind.is_gsd() {
            ways.extend([Self::Cached(1), Self::Cached(3), Self::SlowCached]);
        }
        ways
    }
}

/// A device, its card, and how it is waited for.
struct Run {
    device: Box<dyn Device>,
    bay: Bay,
    waits: Waits,
}

impl Run {
    fn new(kind: Kind, way: Way) -> Self {
        let blank = if kind.is_gsd() { vec![0xFF; CARD] } else { Vec::new() };
        let (bay, waits) = (Bay::new(blank, way.has_cache()), Waits::new(11));
        let (store, memory) = (bay.clone(), |blocks| vec![Cached::<512>::EMPTY; blocks]);
        let device = match way {
            Way::Direct => kind.start(store),
            Way::Cached(blocks) => {
                kind.start(BlockStore::<_, _>::new(StoreBlocks(store), memory(blocks)).unwrap())
            }
            Way::Slow => kind.start_waited(Slow::new(store, &waits), &waits),
            Way::SlowCached => {
                let device = StoreBlocks(Slow::new(store, &waits));
                let store = waits.run(BlockStore::<_, _>::new_async(device, memory(1)));
                kind.start_waited(store.unwrap().unwrap(), &waits)
            }
        };
        Self { device, bay, waits }
    }

    /// The history, with an image of the card after each call.
    fn images(kind: Kind, way: Way, ops: &[Op]) -> Vec<Vec<u8>> {
        let mut run = Self::new(kind, way);
        let call = |&op| {
            run.device.call(op).unwrap();
            run.bay.card(0)
        };
        ops.iter().map(call).collect()
    }
}

/// The calls of a history by its seed; `salt` changes the data and nothing else.
fn history(seed: u64, salt: u8) -> Vec<Op> {
    let mut state = seed;
    let mut random = move |end: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % end
    };
    let mut ops = Vec::new();
    for frame in 0..7 {
        for name in 0..3 {
            if name == frame % 3 || random(2) == 0 {
                if random(3) == 0 {
                    ops.push(Op::Name(name));
                }
                let (len, data) = (1 + random(400) as usize, random(100) as u8);
                ops.push(Op::Put { name, len, seed: data.wrapping_mul(2) ^ salt });
            }
        }
        ops.push(Op::End);
    }
    ops
}

/// A history of one device, and what came of it when nothing failed.
struct Case {
    kind: Kind,
    way: Way,
    ops: Vec<Op>,
    /// The history with other data.
    twin: Vec<Op>,
    /// The card after each call.
    images: Vec<Vec<u8>>,
    /// A file of another kind, and the whole twin.
    strange: [Vec<u8>; 2],
}

impl Case {
    fn new(kind: Kind, way: Way, seed: u64) -> Self {
        let (ops, twin) = (history(seed, 0), history(seed, 0x80));
        let images = Run::images(kind, way, &ops);
        let strange = if kind.is_gsd() { Kind::Streams } else { Kind::Own };
        let strange = [Run::images(strange, Way::Direct, &ops), Run::images(kind, way, &twin)];
        let strange = strange.map(|mut images| images.pop().unwrap());
        Self { kind, way, ops, twin, images, strange }
    }

    /// Cards that may be in the bay after a failure of call number `failed`, which came after
    /// `fuel` operations.
    fn others(&self, failed: usize, fuel: usize) -> Vec<Vec<u8>> {
        let mut others = self.others_without_twin(failed);
        if self.ops[..failed].contains(&Op::End) {
            let (mut twin, mut calls) = (Run::new(self.kind, self.way), self.twin.iter());
            twin.bay.fail(fuel, fuel % 3);
            while twin.device.call(*calls.next().unwrap()).is_ok() {}
            others.push(twin.bay.card(0));
        }
        others
    }

    /// [`others`](Self::others) whose data are not new.
    fn others_without_twin(&self, failed: usize) -> Vec<Vec<u8>> {
        let ops = &self.ops;
        let mut others = vec![vec![0; CARD], vec![0xFF; CARD], vec![0; 100], Vec::new()];
        others.extend(self.strange.clone());
        let older = (0..failed).filter(|&after| ops[after + 1..failed].contains(&Op::End));
        others.extend(older.map(|after| self.images[after].clone()));
        others
    }

    /// The history with a failure after `fuel` operations, after which other card number `choice`
    /// is in the bay; `None` if there was no failure.
    fn fail_at(&self, fuel: usize, choice: usize) -> Option<()> {
        let mut run = Run::new(self.kind, self.way);
        run.bay.fail(fuel, fuel % 3);
        let mut has_failed = None;
        for (number, &op) in self.ops.iter().enumerate() {
            if let Err(trouble) = run.device.call(op) {
                assert_eq!((trouble, has_failed.replace(())), (Trouble::Store, None));
                let mut others = self.others(number, fuel);
                let choice = choice % others.len();
                go_on(&mut run, op, others.swap_remove(choice), &self.what(number, fuel, choice));
            }
        }
        self.check(&run, fuel);
        has_failed
    }

    /// The history with a future that is dropped when its turn is `count`; `None` if none was.
    fn drop_at(&self, count: usize, choice: usize) -> Option<()> {
        let mut run = Run::new(self.kind, self.way);
        let begun = run.waits.count();
        run.waits.drop_at(begun + count);
        let mut has_failed = None;
        for (number, &op) in self.ops.iter().enumerate() {
            if let Err(trouble) = run.device.call(op) {
                assert_eq!((trouble, has_failed.replace(())), (Trouble::Dropped, None));
                let mut others = self.others_without_twin(number);
                let choice = choice % others.len();
                go_on(&mut run, op, others.swap_remove(choice), &self.what(number, count, choice));
            }
        }
        self.check(&run, count);
        has_failed
    }

    fn what(&self, number: usize, at: usize, choice: usize) -> String {
        let (kind, way, op) = (self.kind, self.way, self.ops[number]);
        format!("{kind:?}, {way:?}, at {at} in call {number}, {op:?}, card {choice}")
    }

    fn check(&self, run: &Run, at: usize) {
        let content = |card: &[u8]| self.kind.content(card);
        let expected = content(self.images.last().unwrap());
        let (kind, way) = (self.kind, self.way);
        assert!(content(&run.bay.card(0)) == expected, "{kind:?}, {way:?}, at {at}");
    }
}

/// Does the call that failed again: refused while the other card is in the bay, which stays as it
/// is, and done when the own one is back.
fn go_on(run: &mut Run, op: Op, other: Vec<u8>, what: &str) {
    run.bay.put_in(other.clone());
    let changes = run.bay.changes();
    for _ in 0..3 {
        let refused = run.device.call(op);
        // A device of blocks may find that it has fewer.
        let is_short = other.len() < CARD && refused == Err(Trouble::Store);
        assert!(is_short || refused == Err(Trouble::Swapped), "{refused:?}: {what}");
    }
    assert!(run.bay.card(1) == other, "the other card was changed: {what}");
    assert_eq!(run.bay.changes(), changes);
    run.bay.put_back();
    assert_eq!(run.device.call(op), Ok(()), "{what}");
}

/// Counts the failures of all histories.
fn count(try_at: impl Fn(&Case, usize, usize) -> Option<()>, is_right: fn(Way) -> bool) -> usize {
    let mut count = 0;
    for kind in Kind::all() {
        for way in Way::all(kind).into_iter().filter(|&way| is_right(way)) {
            let case = Case::new(kind, way, 5);
            let tries = (0..)
                .take_while(|&at| (0..3).all(|turn| try_at(&case, at, at * 3 + turn).is_some()));
            let tries = tries.count();
            assert!(tries > 50, "{kind:?}, {way:?}: {tries}");
            count += 3 * tries;
        }
    }
    count
}

#[test]
fn a_swapped_card_is_left_as_it_is() {
    let count = count(Case::fail_at, |_| true);
    println!("{count} failures with another card after them");
}

#[test]
fn a_card_that_is_swapped_after_a_dropped_future_is_left_as_it_is() {
    let count = count(Case::drop_at, |way| matches!(way, Way::Slow | Way::SlowCached));
    println!("{count} dropped futures with another card after them");
}

/// Nothing failed when the card was changed: only that it is too short tells.
#[test]
fn a_card_that_ends_early_is_left_as_it_is_after_that_was_found() {
    let (mut found, mut ended) = (0, [0; 2]);
    for kind in Kind::all() {
        for way in [Way::Direct, Way::Slow] {
            let case = Case::new(kind, way, 5);
            let ends = (0..case.ops.len()).filter(|&number| case.ops[number] == Op::End);
            for (after, len) in ends.flat_map(|after| [8, 100, 600].map(|len| (after, len))) {
                let mut run = Run::new(kind, way);
                let (before, rest) = case.ops.split_at(after + 1);
                before.iter().for_each(|&op| run.device.call(op).unwrap());
                let card = run.bay.card(0);
                run.bay.put_in(card[..len.min(card.len())].to_vec());
                let mut failed = rest.iter().map(|&op| (op, run.device.call(op)));
                let Some((op, Err(trouble))) = failed.find(|(_, done)| done.is_err()) else {
                    continue; // nothing was read
                };
                found += 1;
                ended[usize::from(way == Way::Slow)] += usize::from(trouble == Trouble::Ended);
                let (card, changes) = (run.bay.card(1), run.bay.changes());
                for _ in 0..3 {
                    let refused = run.device.call(op);
                    assert!(refused.is_err(), "{kind:?}, {way:?}, {len} bytes after {after}");
                }
                assert!(run.bay.card(1) == card, "{kind:?}, {way:?}, {len} bytes after {after}");
                assert_eq!(run.bay.changes(), changes);
            }
        }
    }
    println!("{found} errors, {ended:?} because the card ended");
    assert!(found > 50 && ended.iter().all(|&count| count > 10), "{found}, {ended:?}");
}

/// A log on another card has nothing of the first one, which the memory of the old store still has.
#[test]
fn a_log_begins_on_another_card_in_a_new_store() {
    let about = Attributes { align: 512, ..Attributes::default() };
    let begin = |device: StoreBlocks<Bay>| {
        let store = BlockStore::<_, _>::new(device, [Cached::<512>::EMPTY; 3]).unwrap();
        let mut log = Logger::<_, 4>::open_or_create(store, &about).unwrap();
        let id = log.name("a").unwrap();
        (log, id)
    };
    let fresh = Bay::new(vec![0xFF; CARD], true);
    let (mut log, id) = begin(StoreBlocks(fresh.clone()));
    log.write(id, &[[7_u32]]).unwrap();
    log.end_frame().unwrap();
    let mut failures = 0;
    for fuel in 0.. {
        let bay = Bay::new(vec![0xFF; CARD], true);
        let (mut log, id) = begin(StoreBlocks(bay.clone()));
        bay.fail(fuel, 1);
        let mut frames = 0..10_u32;
        let is_failed = frames.any(|n| {
            let written = log.write(id, &[[n; 40]]);
            written.and_then(|_| log.end_frame()).is_err()
        });
        if !is_failed {
            break;
        }
        failures += 1;
        bay.put_in(vec![0xFF; CARD]);
        let (mut log, id) = begin(log.into_store().into_inner());
        log.write(id, &[[7_u32]]).unwrap();
        log.end_frame().unwrap();
        assert!(bay.card(1) == fresh.card(0), "{fuel}");
    }
    assert!(failures > 50, "{failures}");
}
