//! A simulated rank's handle of a communicator.

use super::disk::Disk;
use super::model::Kind;
use super::world::{Given, Outcome, Payload, State, Tally, Want, World};
use std::sync::Arc;
use striae_core::store::usize_to_u64;
use striae_mpi::comm::{Folded, Step, Transport, Words};
use striae_mpi::{Code, Error, Failure};
use zerocopy::IntoBytes;

/// A handle of one rank on one communicator.
#[derive(Debug)]
pub struct Member {
    world: Arc<World>,
    runner: usize,
    world_rank: u32,
    group: usize,
    seat: usize,
    rank: u32,
    size: u32,
}

impl Member {
    pub(super) fn new(world: &Arc<World>, runner: usize, rank: u32, size: u32) -> Self {
        let world = Arc::clone(world);
        Self { world, runner, world_rank: rank, group: 0, seat: runner, rank, size }
    }

    /// The files that all ranks share, as this rank uses them.
    #[must_use]
    pub fn disk(&self) -> Disk {
        Disk::new(Arc::clone(&self.world), self.runner)
    }

    /// What this rank did so far.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.world.tally(self.runner)
    }

    fn meet(&self, kind: Kind, mine: Payload, bytes: usize) -> Result<Arc<Outcome>, Error> {
        let _aside = self.world.aside();
        let cost = self.world.settings.model.cost(kind, self.size, usize_to_u64(bytes));
        let mut state = self.world.lock();
        if let Some(error) = &state.lost {
            return Err(error.clone());
        }
        let State { groups, tallies, .. } = &mut *state;
        let now = tallies.get(self.runner).map_or(0, |tally| tally.time);
        let next = groups.len();
        let Some(group) = groups.get_mut(self.group) else { return Err(Error::lost(None)) };
        let round = group.round;
        if group.arrive(self.seat, mine, now) {
            let children = group.end((kind, cost), &self.world.runners, next);
            let others: Vec<_> = group.seats.iter().map(|seat| seat.runner).collect();
            groups.extend(children);
            others.into_iter().for_each(|runner| state.wake(&self.world, runner));
        }
        loop {
            let State { groups, tallies, lost, .. } = &mut *state;
            let group = groups.get(self.group).filter(|group| group.round != round);
            if let Some(outcome) = group.and_then(|group| group.outcome.clone()) {
                if let Some(tally) = tallies.get_mut(self.runner) {
                    tally.time = outcome.end;
                    tally.collectives = tally.collectives.saturating_add(1);
                    tally.pay(cost);
                }
                return Ok(outcome);
            }
            if let Some(error) = lost {
                return Err(error.clone());
            }
            state = self.world.wait(state, self.runner, Want::Ranks);
        }
    }

    fn split_by(&self, mine: Payload) -> Result<Self, Error> {
        let outcome = self.meet(Kind::Split, mine, 0)?;
        let place = match &outcome.given {
            Given::Children(places) => places.get(self.seat).copied(),
            Given::Refused(error) => return Err(error.clone()),
            _ => None,
        };
        let state = self.world.lock();
        let child = place.and_then(|(group, seat)| {
            let child = state.groups.get(group)?;
            let rank = child.seats.get(seat)?.rank;
            let (world, size) = (Arc::clone(&self.world), child.size);
            Some(Self { world, group, seat, rank, size, ..*self })
        });
        child.ok_or_else(|| Error::lost(None))
    }

    fn no_rank(&self, rank: u32) -> Error {
        let text = format_args!("rank {rank} of {} does not run in this simulation", self.size);
        Error::agreed(Failure::new(Code::Refused, text))
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
        self.world_rank
    }

    fn exchange(
        &self,
        step: Step,
        words: &Words,
        work: Option<&mut dyn FnMut(&mut Words)>,
    ) -> Result<Folded, Error> {
        let kind = match (step.is_scan(), &work) {
            (true, _) => Kind::Exscan,
            (false, Some(_)) => Kind::Reduce,
            (false, None) => Kind::Allreduce,
        };
        let outcome = self.meet(kind, Payload::Words(*words), size_of::<Words>())?;
        let (mut all, mut before) = (*words, *words);
        if let Given::Folded(total, lower) = &outcome.given {
            all = total.unwrap_or(all);
            lower.get(self.seat).copied().flatten().into_iter().for_each(|lower| before = lower);
        }
        if let Some(work) = work.filter(|_| all.is_agreed()) {
            if self.rank == 0 {
                work(&mut all);
            }
            self.bcast(0, all.as_mut_bytes())?;
        }
        Ok(Folded { all, before })
    }

    fn bcast(&self, root: u32, bytes: &mut [u8]) -> Result<(), Error> {
        let copied = self.world.aside();
        let mine = (root == self.rank).then(|| bytes.to_vec());
        drop(copied);
        let outcome = self.meet(Kind::Bcast, Payload::Bytes(mine), bytes.len())?;
        if let Given::Bytes(from) = &outcome.given {
            bytes.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        }
        Ok(())
    }

    fn send(&self, to: u32, bytes: &[u8]) -> Result<(), Error> {
        let _aside = self.world.aside();
        let mut state = self.world.lock();
        if let Some(error) = &state.lost {
            return Err(error.clone());
        }
        let len = usize_to_u64(bytes.len());
        let took = len.saturating_mul(self.world.settings.model.link_byte);
        let State { groups, tallies, .. } = &mut *state;
        let Some(tally) = tallies.get_mut(self.runner) else { return Err(Error::lost(None)) };
        let sent = (bytes.to_vec(), tally.time);
        let group = groups.get_mut(self.group).ok_or_else(|| self.no_rank(to))?;
        let peer = group.runner(to).ok_or_else(|| self.no_rank(to))?;
        group.mail.entry((self.rank, to)).or_default().push_back(sent);
        tally.spend(took);
        tally.messages = tally.messages.saturating_add(1);
        tally.bytes = tally.bytes.saturating_add(len);
        if state.wants(peer) == Some(Want::Message) {
            state.wake(&self.world, peer);
        }
        Ok(())
    }

    fn recv(&self, from: u32, buf: &mut [u8]) -> Result<usize, Error> {
        let _aside = self.world.aside();
        let model = &self.world.settings.model;
        let mut state = self.world.lock();
        loop {
            let State { groups, tallies, lost, .. } = &mut *state;
            if let Some(error) = lost {
                return Err(error.clone());
            }
            let group = groups.get_mut(self.group).ok_or_else(|| self.no_rank(from))?;
            group.runner(from).ok_or_else(|| self.no_rank(from))?;
            let mail = group.mail.get_mut(&(from, self.rank));
            let Some((bytes, sent)) = mail.and_then(std::collections::VecDeque::pop_front) else {
                state = self.world.wait(state, self.runner, Want::Message);
                continue;
            };
            if let Some(tally) = tallies.get_mut(self.runner) {
                let len = usize_to_u64(bytes.len());
                tally.time = tally.time.max(sent.saturating_add(model.hop));
                tally.spend(len.saturating_mul(model.link_byte));
                tally.messages = tally.messages.saturating_add(1);
                tally.bytes = tally.bytes.saturating_add(len);
            }
            buf.iter_mut().zip(&bytes).for_each(|(to, byte)| *to = *byte);
            return Ok(bytes.len());
        }
    }

    fn split(&self, color: u32, key: u32) -> Result<Self, Error> {
        if key != self.rank {
            let text = "simulated ranks are split in the order of their ranks";
            return Err(Error::agreed(Failure::new(Code::Refused, text)));
        }
        self.split_by(Payload::Color(color))
    }

    fn node(&self) -> Result<Self, Error> {
        self.split_by(Payload::Node)
    }

    fn free(self) -> Result<(), Error> {
        Ok(())
    }

    fn abort(&self, code: i32) -> Error {
        self.world.lock().lose(&self.world, Error::aborted(self.world_rank, code))
    }
}
