//! What all simulated ranks share: who waits for what, and what time it is for each of them.

use super::Simulated;
use super::layout::{Part, Runner};
use super::model::{Cost, Kind, Picoseconds};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use striae_mpi::comm::Words;
use striae_mpi::{Code, Error, Failure};

/// What a rank did so far. In each collective it is counted as the rank of the tree that has most
/// to do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Its time.
    pub time: Picoseconds,
    /// Collectives, and splits of communicators.
    pub collectives: u64,
    /// Messages that it sent or received, those of collectives included.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files that it opened or made.
    pub opens: u64,
    /// Writes to files.
    pub writes: u64,
    /// Their bytes.
    pub written: u64,
    /// Bytes that it read.
    pub read: u64,
    /// Opens, reads, writes, syncs and cuts of files; [`Simulated::fault`] names one of them.
    pub operations: u64,
}

impl Tally {
    pub(super) const fn pay(&mut self, cost: Cost) {
        self.messages = self.messages.saturating_add(cost.messages);
        self.bytes = self.bytes.saturating_add(cost.bytes);
    }

    pub(super) const fn spend(&mut self, time: Picoseconds) {
        self.time = self.time.saturating_add(time);
    }
}

#[derive(Debug)]
pub(super) struct World {
    state: Mutex<State>,
    /// One for each runner.
    moved: Vec<Condvar>,
    pub(super) runners: Vec<Runner>,
    pub(super) settings: Simulated,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) groups: Vec<Group>,
    pub(super) tallies: Vec<Tally>,
    /// What each runner waits for.
    waiting: Vec<Option<Want>>,
    /// Runners that neither wait nor have left.
    busy: usize,
    /// Those that wait for the server that opens files, by the time at which they asked.
    queue: BTreeMap<Picoseconds, Vec<usize>>,
    /// When that server has nothing to do.
    free_at: Picoseconds,
    pub(super) lost: Option<Error>,
    /// The lengths of all files.
    pub(super) files: HashMap<PathBuf, u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Want {
    /// The other ranks of a collective.
    Ranks,
    Message,
    Open,
}

impl World {
    pub(super) fn new(settings: Simulated, runners: Vec<Runner>) -> Self {
        let seat = |(runner, it): (usize, &Runner)| Seat {
            runner,
            rank: it.rank,
            file: it.file,
            node: it.node,
        };
        let seats: Vec<_> = runners.iter().enumerate().map(seat).collect();
        let state = State {
            tallies: vec![Tally::default(); runners.len()],
            waiting: vec![None; runners.len()],
            busy: runners.len(),
            groups: vec![Group::new(seats, settings.ranks)],
            queue: BTreeMap::new(),
            free_at: 0,
            lost: None,
            files: HashMap::new(),
        };
        let moved = runners.iter().map(|_| Condvar::new()).collect();
        Self { state: Mutex::new(state), moved, runners, settings }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tally(&self, runner: usize) -> Tally {
        self.lock().tallies.get(runner).copied().unwrap_or_default()
    }

    /// Waits until another rank, or the time, wakes this one.
    pub(super) fn wait<'s>(
        &'s self,
        mut state: MutexGuard<'s, State>,
        runner: usize,
        want: Want,
    ) -> MutexGuard<'s, State> {
        let Some(moved) = self.moved.get(runner) else { return state };
        if let Some(waiting) = state.waiting.get_mut(runner) {
            *waiting = Some(want);
        }
        state.rest(self);
        while state.waiting.get(runner).is_some_and(Option::is_some) {
            state = moved.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state
    }

    /// Waits for the server that opens files.
    pub(super) fn wait_for_open(&self, runner: usize) -> Result<(), Error> {
        let mut state = self.lock();
        let now = state.tallies.get(runner).map_or(0, |tally| tally.time);
        state.queue.entry(now).or_default().push(runner);
        let state = self.wait(state, runner, Want::Open);
        state.lost.clone().map_or(Ok(()), Err)
    }

    /// Until the result is dropped, the thread of a rank works for the simulation.
    pub(super) fn aside(&self) -> Aside {
        if let Some(tell) = self.settings.aside {
            tell(true);
        }
        Aside(self.settings.aside)
    }

    /// A runner leaves when the result is dropped.
    pub(super) const fn leaves(&self) -> Leaves<'_> {
        Leaves(self)
    }
}

/// A thread that works for the simulation.
#[derive(Debug)]
pub(super) struct Aside(Option<fn(bool)>);

impl Drop for Aside {
    fn drop(&mut self) {
        if let Some(tell) = self.0 {
            tell(false);
        }
    }
}

/// A runner that will leave.
#[derive(Debug)]
pub(super) struct Leaves<'w>(&'w World);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.lock().rest(self.0);
    }
}

impl State {
    pub(super) fn wake(&mut self, world: &World, runner: usize) {
        let waiting = self.waiting.get_mut(runner).and_then(Option::take);
        if let (Some(_), Some(moved)) = (waiting, world.moved.get(runner)) {
            self.busy = self.busy.saturating_add(1);
            moved.notify_one();
        }
    }

    pub(super) fn wants(&self, runner: usize) -> Option<Want> {
        self.waiting.get(runner).copied().flatten()
    }

    /// One runner fewer is busy. When none is, nobody can ask for a file before those that wait for
    /// one: the first of them get theirs.
    fn rest(&mut self, world: &World) {
        self.busy = self.busy.saturating_sub(1);
        if self.busy > 0 {
            return;
        }
        let Some((asked, runners)) = self.queue.pop_first() else {
            if self.waiting.iter().any(Option::is_some) {
                self.lose(world, Error::lost(None));
            }
            return;
        };
        let stands_for = |runner: &usize| world.runners.get(*runner).map_or(0, Runner::stands_for);
        let opens = runners.iter().map(stands_for).fold(0, u64::saturating_add);
        let took = opens.saturating_mul(world.settings.model.open);
        self.free_at = self.free_at.max(asked).saturating_add(took);
        for runner in runners {
            if let Some(tally) = self.tallies.get_mut(runner) {
                tally.time = self.free_at;
            }
            self.wake(world, runner);
        }
    }

    /// Gives all ranks an error, from now on.
    pub(super) fn lose(&mut self, world: &World, error: Error) -> Error {
        let error = self.lost.get_or_insert(error).clone();
        self.queue.clear();
        (0..self.waiting.len()).for_each(|runner| self.wake(world, runner));
        error
    }
}

/// A runner in a communicator.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seat {
    pub(super) runner: usize,
    /// Its rank there.
    pub(super) rank: u32,
    /// For how many files and nodes of this communicator it stands.
    file: Part,
    node: Part,
}

impl Seat {
    const fn stands_for(&self) -> u64 {
        self.file.stands_for.saturating_mul(self.node.stands_for)
    }
}

/// The ranks of a communicator.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) seats: Vec<Seat>,
    /// Number of ranks, of which some may not run.
    pub(super) size: u32,
    pub(super) round: u64,
    arrived: Vec<Option<Payload>>,
    missing: usize,
    latest: Picoseconds,
    /// What the last collective gave.
    pub(super) outcome: Option<Arc<Outcome>>,
    /// By sender and receiver.
    pub(super) mail: HashMap<(u32, u32), VecDeque<Message>>,
}

/// Bytes, and when they were sent.
pub(super) type Message = (Vec<u8>, Picoseconds);

/// What a rank brings to a collective.
#[derive(Debug, Clone)]
pub(super) enum Payload {
    Words(Words),
    /// None but at the root.
    Bytes(Option<Vec<u8>>),
    Color(u32),
    /// To be with the other ranks of its node.
    Node,
}

/// What a collective gives.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) end: Picoseconds,
    pub(super) given: Given,
}

#[derive(Debug)]
pub(super) enum Given {
    /// The words of all ranks, folded; and of a scan, for each seat those of all lower ranks.
    Folded(Option<Words>, Vec<Option<Words>>),
    Bytes(Vec<u8>),
    /// The communicator of each seat, and the seat there.
    Children(Vec<(usize, usize)>),
    Refused(Error),
}

fn fold(sum: &mut Option<Words>, words: Option<Words>) {
    match (sum, words) {
        (Some(sum), Some(words)) => sum.fold(&words),
        (sum @ None, words) => *sum = words,
        (Some(_), None) => {}
    }
}

impl Group {
    pub(super) fn new(seats: Vec<Seat>, size: u32) -> Self {
        let (arrived, missing) = (vec![None; seats.len()], seats.len());
        let (outcome, mail) = (None, HashMap::new());
        Self { seats, size, round: 0, arrived, missing, latest: 0, outcome, mail }
    }

    /// The runner of a rank.
    pub(super) fn runner(&self, rank: u32) -> Option<usize> {
        let seat = self.seats.binary_search_by_key(&rank, |seat| seat.rank).ok()?;
        self.seats.get(seat).map(|seat| seat.runner)
    }

    /// Returns whether it was the last.
    pub(super) fn arrive(&mut self, seat: usize, mine: Payload, now: Picoseconds) -> bool {
        if let Some(place) = self.arrived.get_mut(seat) {
            *place = Some(mine);
        }
        self.latest = self.latest.max(now);
        self.missing = self.missing.saturating_sub(1);
        self.missing == 0
    }

    /// Ends a collective that all have come to. The communicators that it makes get numbers from
    /// `next` on.
    pub(super) fn end(
        &mut self,
        (kind, cost): (Kind, Cost),
        runners: &[Runner],
        next: usize,
    ) -> Vec<Self> {
        let payloads: Vec<_> = self.arrived.iter_mut().filter_map(Option::take).collect();
        let (given, children) = match kind {
            Kind::Allreduce | Kind::Reduce | Kind::Exscan => {
                let scan = if kind == Kind::Exscan { self.before(&payloads) } else { Vec::new() };
                (Given::Folded(self.total(&payloads), scan), Vec::new())
            }
            Kind::Bcast => (Given::Bytes(bytes(payloads)), Vec::new()),
            Kind::Split => match self.children(&payloads, runners, next) {
                Ok((places, children)) => (Given::Children(places), children),
                Err(error) => (Given::Refused(error), Vec::new()),
            },
        };
        let end = self.latest.saturating_add(cost.time);
        self.outcome = Some(Arc::new(Outcome { end, given }));
        self.round = self.round.wrapping_add(1);
        (self.missing, self.latest) = (self.seats.len(), 0);
        children
    }

    fn total(&self, payloads: &[Payload]) -> Option<Words> {
        let mut total = None;
        for (seat, payload) in self.seats.iter().zip(payloads) {
            fold(&mut total, payload.words().map(|words| words.times(seat.stands_for())));
        }
        total
    }

    /// A stand-in is the lowest of its equals. So of lower ranks, those of its own node count once,
    /// those of other nodes of its file as many times as there are such nodes, and those of other
    /// files as many times as there are such nodes in all those files.
    fn before(&self, payloads: &[Payload]) -> Vec<Option<Words>> {
        let mut before = Vec::with_capacity(payloads.len());
        let (mut files, mut nodes, mut node) = (None, None, None);
        let mut last: Option<&Seat> = None;
        for (seat, payload) in self.seats.iter().zip(payloads) {
            if let Some(last) = last {
                let is_new_file = last.file.number != seat.file.number;
                if is_new_file || last.node.number != seat.node.number {
                    let all = node.take().map(|words: Words| words.times(last.node.stands_for));
                    fold(&mut nodes, all);
                }
                if is_new_file {
                    let all = nodes.take().map(|words: Words| words.times(last.file.stands_for));
                    fold(&mut files, all);
                }
            }
            let mut lower = files;
            fold(&mut lower, nodes);
            fold(&mut lower, node);
            before.push(lower);
            fold(&mut node, payload.words());
            last = Some(seat);
        }
        before
    }

    fn children(&self, payloads: &[Payload], runners: &[Runner], next: usize) -> Split {
        let whole = self.seats.iter().all(|seat| seat.stands_for() == 1);
        let mut found: BTreeMap<(u32, u32), usize> = BTreeMap::new();
        let (mut places, mut children) = (Vec::new(), Vec::<Self>::new());
        for (seat, payload) in self.seats.iter().zip(payloads) {
            let Some(runner) = runners.get(seat.runner) else { continue };
            let key = match payload {
                Payload::Node => (runner.file.number, runner.node.number),
                Payload::Color(color) => (*color, 0),
                _ => (0, 0),
            };
            let number = *found.entry(key).or_insert(children.len());
            if number == children.len() {
                children.push(Self::new(Vec::new(), 0));
            }
            let Some(child) = children.get_mut(number) else { continue };
            let by_file = !whole && matches!(payload, Payload::Color(_));
            let (rank, node, size) = match by_file {
                true => (runner.local, runner.node, runner.in_file),
                false => (child.size, Part::ONE, child.size.saturating_add(1)),
            };
            let same = child.seats.first().and_then(|first| runners.get(first.runner));
            if by_file && same.is_some_and(|first| first.file != runner.file) {
                return Err(no_place());
            }
            places.push((next.saturating_add(number), child.seats.len()));
            child.seats.push(Seat { runner: seat.runner, rank, file: Part::ONE, node });
            child.size = size;
        }
        let has_all = |child: &Self| {
            let sum = child.seats.iter().map(Seat::stands_for).fold(0, u64::saturating_add);
            sum == u64::from(child.size)
        };
        if !children.iter().all(has_all) {
            return Err(no_place()); // ranks of one file have several colors
        }
        let children = children.into_iter().map(|child| Self::new(child.seats, child.size));
        Ok((places, children.collect()))
    }
}

/// The new communicator and the seat in it of each seat, and the communicators.
type Split = Result<(Vec<(usize, usize)>, Vec<Group>), Error>;

fn no_place() -> Error {
    let text = "a simulated communicator can be split by files and by nodes only";
    Error::agreed(Failure::new(Code::Refused, text))
}

fn bytes(payloads: Vec<Payload>) -> Vec<u8> {
    let of_root = |payload| match payload {
        Payload::Bytes(bytes) => bytes,
        _ => None,
    };
    payloads.into_iter().find_map(of_root).unwrap_or_default()
}

impl Payload {
    const fn words(&self) -> Option<Words> {
        match self {
            Self::Words(words) => Some(*words),
            _ => None,
        }
    }
}
