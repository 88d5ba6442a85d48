//! Ranks that are threads of one process.
//!
//! ```
//! use striae_mpi::{Collective, Threads};
//!
//! let sums = Threads::new(4).run(|rank| rank.total(Ok([u64::from(rank.rank())])));
//! assert!(sums.into_iter().all(|sum| sum.is_ok_and(|sum| sum == Ok([6]))));
//! ```

mod left;

use crate::comm::{Comm, Folded, Step, Transport, Words};
use crate::error::Error;
use left::Shrunk;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use zerocopy::IntoBytes;

/// A rank of a process.
pub type Rank = Comm<Member>;

/// The settings of a world of threads.
#[derive(Debug, Clone)]
pub struct Threads {
    size: u32,
    deadline: Option<Duration>,
    is_virtual: bool,
    ranks_per_node: u32,
}

impl Threads {
    /// A world of `size` ranks on one node, without a deadline.
    #[must_use]
    pub const fn new(size: u32) -> Self {
        Self { size, deadline: None, is_virtual: false, ranks_per_node: u32::MAX }
    }

    /// How long a rank waits for another one, which then is lost.
    #[must_use]
    pub const fn deadline(self, deadline: Duration) -> Self {
        Self { deadline: Some(deadline), ..self }
    }

    /// Measures the deadline in a time that passes only while every rank waits or
    /// [sleeps](Member::sleep): then the clock jumps to the next moment at which one goes on. So a
    /// test of a deadline takes no time, and does not depend on the machine.
    #[must_use]
    pub const fn virtual_time(self) -> Self {
        Self { is_virtual: true, ..self }
    }

    /// Lets [`node`](crate::Collective::node) give communicators of so many ranks.
    #[must_use]
    pub const fn ranks_per_node(self, ranks_per_node: u32) -> Self {
        Self { ranks_per_node, ..self }
    }

    /// Makes the ranks, in order. Each is for a thread of its own.
    #[must_use]
    pub fn ranks(self) -> Vec<Rank> {
        let size = usize::try_from(self.size).unwrap_or(usize::MAX);
        let state = State {
            now: Duration::ZERO,
            aborted: None,
            threads: vec![
                Thread { handles: 1, wait: None, idle_since: Some(Duration::ZERO) };
                size
            ],
            groups: HashMap::from([(0, Group::new((0..self.size).collect()))]),
            next_group: 1,
        };
        let size = self.size;
        let world = World {
            state: Mutex::new(state),
            moved: Condvar::new(),
            settings: self,
            start: Instant::now(),
        };
        let world = Arc::new(world);
        let member = |rank| Member { world: Arc::clone(&world), me: rank, group: 0, rank, size };
        (0..size).map(|rank| Comm::new(member(rank))).collect()
    }

    /// Runs `work` as every rank, each in a thread. The results are in the order of the ranks;
    /// that of a rank that panicked is the panic's value.
    pub fn run<R: Send>(self, work: impl Fn(Rank) -> R + Sync) -> Vec<std::thread::Result<R>> {
        let work = &work;
        std::thread::scope(|scope| {
            let ranks = self.ranks().into_iter().map(|rank| scope.spawn(move || work(rank)));
            let ranks: Vec<_> = ranks.collect();
            ranks.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
        })
    }
}

#[derive(Debug)]
struct World {
    state: Mutex<State>,
    moved: Condvar,
    settings: Threads,
    start: Instant,
}

#[derive(Debug)]
struct State {
    /// The virtual time.
    now: Duration,
    aborted: Option<Error>,
    threads: Vec<Thread>,
    groups: HashMap<u64, Group>,
    next_group: u64,
}

#[derive(Debug, Clone)]
struct Thread {
    /// Communicators that it holds. It is gone after the last.
    handles: u32,
    /// Set while it waits, until the state changes: when it stops to.
    wait: Option<Duration>,
    /// Since when it has been in no call: others may wait for its own work.
    idle_since: Option<Duration>,
}

/// The ranks of one communicator.
#[derive(Debug)]
struct Group {
    /// Their ranks in the world.
    ranks: Vec<u32>,
    gone: Vec<bool>,
    /// The number of this round: an operation of all ranks.
    round: u64,
    arrived: Vec<Option<Payload>>,
    /// The payloads of the last full round.
    full: Arc<Vec<Payload>>,
    mail: HashMap<(u32, u32), VecDeque<Vec<u8>>>,
    /// The communicators that were split from this one in a round, by color.
    children: HashMap<(u64, u32), u64>,
    lost: Option<Error>,
    shrunk: Shrunk,
}

#[derive(Debug, Clone)]
enum Payload {
    Words(Words),
    Bytes(Vec<u8>),
}

impl Group {
    fn new(ranks: Vec<u32>) -> Self {
        Self {
            gone: vec![false; ranks.len()],
            round: 0,
            arrived: vec![None; ranks.len()],
            full: Arc::default(),
            mail: HashMap::new(),
            children: HashMap::new(),
            lost: None,
            shrunk: Shrunk::new(ranks.len()),
            ranks,
        }
    }

    /// The lowest rank that has not come to this round, if it is gone or late.
    fn absent(&self, is_late: bool) -> Option<usize> {
        let mut ranks = self.arrived.iter().zip(&self.gone);
        ranks.position(|(arrived, gone)| arrived.is_none() && (is_late || *gone))
    }

    /// The rank that has been in no call for the longest time, the lowest of several.
    fn idler(&self, threads: &[Thread]) -> Option<usize> {
        let since = |rank: &u32| threads.get(index(*rank))?.idle_since;
        let idle = self.ranks.iter().enumerate().filter_map(|(at, rank)| Some((since(rank)?, at)));
        idle.min().map(|(_, at)| at)
    }

    fn lose(&mut self, rank: usize) -> Error {
        let rank = self.ranks.get(rank).copied();
        self.lost.get_or_insert_with(|| Error::lost(rank)).clone()
    }
}

impl State {
    /// All that wait look again whether they still have to.
    fn stir(&mut self, world: &World) {
        self.threads.iter_mut().for_each(|thread| thread.wait = None);
        world.moved.notify_all();
    }

    /// Lets time pass if nobody is at work.
    fn pass_time(&mut self, world: &World) {
        let mut alive = self.threads.iter().filter(|thread| thread.handles > 0);
        let next = alive.try_fold(Duration::MAX, |next, thread| Some(next.min(thread.wait?)));
        if let Some(next) = next.filter(|next| world.settings.is_virtual && *next > self.now) {
            self.now = next;
            self.stir(world);
        }
    }
}

/// A handle of one rank on one communicator. After it is dropped, the calls of the other ranks
/// fail.
#[derive(Debug)]
pub struct Member {
    world: Arc<World>,
    /// This rank in the world.
    me: u32,
    group: u64,
    rank: u32,
    size: u32,
}

fn index(rank: u32) -> usize {
    usize::try_from(rank).unwrap_or(usize::MAX)
}

impl Member {
    /// Does nothing for a time: a rank that lags.
    pub fn sleep(&self, duration: Duration) {
        if !self.world.settings.is_virtual {
            return std::thread::sleep(duration);
        }
        let mut state = self.lock();
        let until = state.now.saturating_add(duration);
        while state.now < until {
            state = self.wait(state, until);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.world.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self, state: &State) -> Duration {
        if self.world.settings.is_virtual { state.now } else { self.world.start.elapsed() }
    }

    /// When a wait that begins now is too long.
    fn deadline(&self, state: &State) -> Duration {
        let deadline = self.world.settings.deadline;
        deadline.map_or(Duration::MAX, |deadline| self.now(state).saturating_add(deadline))
    }

    /// Waits until something changes, at most until `until`.
    fn wait<'s>(&self, mut state: MutexGuard<'s, State>, until: Duration) -> MutexGuard<'s, State> {
        if let Some(thread) = state.threads.get_mut(index(self.me)) {
            thread.wait = Some(until);
        }
        state.pass_time(&self.world);
        let is_waiting = |state: &State| {
            state.threads.get(index(self.me)).is_some_and(|thread| thread.wait.is_some())
        };
        while is_waiting(&state) {
            if self.world.settings.is_virtual || until == Duration::MAX {
                state = self.world.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let left = until.saturating_sub(self.world.start.elapsed());
            let waited = self.world.moved.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if left.is_zero() {
                break;
            }
        }
        state
    }

    /// Waits until `ready` has a result. `absent` is the rank of the group that is waited for, if
    /// it is gone; the flag tells whether it is late.
    fn wait_for<R>(
        &self,
        mut state: MutexGuard<'_, State>,
        mut ready: impl FnMut(&mut Group) -> Option<R>,
        absent: impl Fn(&Group, bool) -> Option<usize>,
    ) -> Result<R, Error> {
        let until = self.deadline(&state);
        self.set_idle(&mut state, false);
        let result = loop {
            let is_late = self.now(&state) >= until;
            let State { aborted, threads, groups, .. } = &mut *state;
            let Some(group) = groups.get_mut(&self.group) else { break Err(Error::lost(None)) };
            if let Some(result) = ready(group) {
                break Ok(result);
            }
            if let Some(error) = aborted.as_ref().or(group.lost.as_ref()) {
                break Err(error.clone());
            }
            // Of those that are late, one that waits itself is not to blame.
            let idler = if is_late { group.idler(threads) } else { None };
            if let Some(rank) = absent(group, false).or(idler).or_else(|| absent(group, is_late)) {
                let error = group.lose(rank);
                state.stir(&self.world);
                break Err(error);
            }
            state = self.wait(state, until);
        };
        self.set_idle(&mut state, true);
        result
    }

    fn set_idle(&self, state: &mut State, is_idle: bool) {
        let since = is_idle.then(|| self.now(state));
        if let Some(thread) = state.threads.get_mut(index(self.me)) {
            thread.idle_since = since;
        }
    }

    /// The payloads of all ranks, in order, and the number of the round.
    fn meet(&self, mine: Payload) -> Result<(Arc<Vec<Payload>>, u64), Error> {
        let mut state = self.lock();
        if let Some(error) = &state.aborted {
            return Err(error.clone());
        }
        let Some(group) = state.groups.get_mut(&self.group) else { return Err(Error::lost(None)) };
        if let Some(error) = &group.lost {
            return Err(error.clone());
        }
        let round = group.round;
        if let Some(own) = group.arrived.get_mut(index(self.rank)) {
            *own = Some(mine);
        }
        if group.arrived.iter().all(Option::is_some) {
            group.full = Arc::new(group.arrived.iter_mut().filter_map(Option::take).collect());
            group.round = round.wrapping_add(1);
            state.stir(&self.world);
        }
        let ready = |group: &mut Group| (group.round != round).then(|| Arc::clone(&group.full));
        let full = self.wait_for(state, ready, Group::absent)?;
        Ok((full, round))
    }

    fn enter(&self, round: u64, color: u32, ranks: &[usize]) -> Result<Self, Error> {
        let mut state = self.lock();
        let next = state.next_group;
        let Some(group) = state.groups.get_mut(&self.group) else { return Err(Error::lost(None)) };
        let child = *group.children.entry((round, color)).or_insert(next);
        let in_world = ranks.iter().filter_map(|rank| group.ranks.get(*rank).copied());
        let in_world: Vec<u32> = in_world.collect();
        if child == next {
            state.groups.insert(child, Group::new(in_world.clone()));
            state.next_group = next.wrapping_add(1);
        }
        if let Some(thread) = state.threads.get_mut(index(self.me)) {
            thread.handles = thread.handles.saturating_add(1);
        }
        let rank = in_world.iter().position(|rank| *rank == self.me).unwrap_or(0);
        let (world, me) = (Arc::clone(&self.world), self.me);
        let (rank, size) = (u32::try_from(rank).unwrap_or(0), u32::try_from(ranks.len()));
        Ok(Self { world, me, group: child, rank, size: size.unwrap_or(0) })
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let mut state = self.lock();
        if let Some(group) = state.groups.get_mut(&self.group) {
            if let Some(gone) = group.gone.get_mut(index(self.rank)) {
                *gone = true;
            }
            if group.gone.iter().all(|gone| *gone) {
                state.groups.remove(&self.group);
            }
        }
        if let Some(thread) = state.threads.get_mut(index(self.me)) {
            thread.handles = thread.handles.saturating_sub(1);
        }
        state.stir(&self.world);
        state.pass_time(&self.world);
    }
}

impl Transport for Member {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn world_rank(&self) -> u32 {
        self.me
    }

    fn exchange(
        &self,
        _: Step,
        words: &Words,
        work: Option<&mut dyn FnMut(&mut Words)>,
    ) -> Result<Folded, Error> {
        let (payloads, _) = self.meet(Payload::Words(*words))?;
        let fold = |some: &[Payload]| {
            let words = some.iter().filter_map(Payload::words).copied();
            words.reduce(|mut sum, words| {
                sum.fold(&words);
                sum
            })
        };
        let lower = payloads.get(..index(self.rank)).unwrap_or_default();
        let before = fold(lower).unwrap_or(*words);
        let mut all = fold(&payloads).unwrap_or(*words);
        if let Some(work) = work.filter(|_| all.is_agreed()) {
            if self.rank == 0 {
                work(&mut all);
            }
            self.bcast(0, all.as_mut_bytes())?;
        }
        Ok(Folded { all, before })
    }

    fn bcast(&self, root: u32, bytes: &mut [u8]) -> Result<(), Error> {
        let mine = if root == self.rank { bytes.to_vec() } else { Vec::new() };
        let (all, _) = self.meet(Payload::Bytes(mine))?;
        if let Some(Payload::Bytes(from)) = all.get(index(root)) {
            bytes.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        }
        Ok(())
    }

    fn send(&self, to: u32, bytes: &[u8]) -> Result<(), Error> {
        let mut state = self.lock();
        let aborted = state.aborted.clone();
        let Some(group) = state.groups.get_mut(&self.group) else { return Err(Error::lost(None)) };
        if let Some(error) = aborted.or_else(|| group.lost.clone()) {
            return Err(error);
        }
        if group.gone.get(index(to)).is_none_or(|gone| *gone) {
            return Err(group.lose(index(to)));
        }
        group.mail.entry((self.rank, to)).or_default().push_back(bytes.to_vec());
        state.stir(&self.world);
        Ok(())
    }

    fn recv(&self, from: u32, buf: &mut [u8]) -> Result<usize, Error> {
        let ready = |group: &mut Group| group.mail.get_mut(&(from, self.rank))?.pop_front();
        let absent = |group: &Group, is_late| {
            let gone = group.gone.get(index(from)).is_none_or(|gone| *gone);
            (is_late || gone).then_some(index(from))
        };
        let message = self.wait_for(self.lock(), ready, absent)?;
        buf.iter_mut().zip(&message).for_each(|(to, byte)| *to = *byte);
        Ok(message.len())
    }

    fn split(&self, color: u32, key: u32) -> Result<Self, Error> {
        let mine = [color.to_le_bytes(), key.to_be_bytes()].concat();
        let (all, round) = self.meet(Payload::Bytes(mine))?;
        let key_of = |payload: &Payload| match payload {
            Payload::Bytes(bytes) => bytes.strip_prefix(&color.to_le_bytes()).map(<[u8]>::to_vec),
            Payload::Words(_) => None,
        };
        let ranks = all.iter().enumerate();
        let ranks = ranks.filter_map(|(rank, payload)| Some((key_of(payload)?, rank)));
        let mut ranks: Vec<_> = ranks.collect();
        ranks.sort_unstable();
        self.enter(round, color, &ranks.into_iter().map(|(_, rank)| rank).collect::<Vec<_>>())
    }

    fn node(&self) -> Result<Self, Error> {
        let node = self.me.checked_div(self.world.settings.ranks_per_node).unwrap_or(self.me);
        self.split(node, self.rank)
    }

    fn shrink(&self) -> Result<Self, Error> {
        self.of_the_left()
    }

    fn free(self) -> Result<(), Error> {
        Ok(()) // it is dropped
    }

    fn abort(&self, code: i32) -> Error {
        let mut state = self.lock();
        let error = state.aborted.get_or_insert_with(|| Error::aborted(self.me, code)).clone();
        state.stir(&self.world);
        error
    }
}

impl Payload {
    const fn words(&self) -> Option<&Words> {
        match self {
            Self::Words(words) => Some(words),
            Self::Bytes(_) => None,
        }
    }
}
