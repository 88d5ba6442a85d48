//! Ranks that are threads of one process.

use crate::collective::{All, Code, Collective, Fault, Fold, Mine};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The values that a rank passed in a round.
type Words = Result<Vec<u64>, Code>;

#[derive(Debug)]
struct Round {
    number: u64,
    arrived: Vec<Option<Words>>,
    /// The result of the last full round. It stays until all ranks have entered the next one.
    result: Arc<Vec<Words>>,
    gone: Vec<bool>,
    lost: Option<u32>,
}

#[derive(Debug)]
struct World {
    round: Mutex<Round>,
    moved: Condvar,
    deadline: Duration,
}

/// One rank of a process. After it is dropped, the collectives of the other ranks fail.
#[derive(Debug)]
pub struct Member {
    world: Arc<World>,
    rank: u32,
}

impl Member {
    /// Makes `size` ranks, in order. A rank that misses a collective for `deadline` counts as lost.
    #[must_use]
    pub fn of(size: u32, deadline: Duration) -> Vec<Self> {
        let round = Round {
            number: 0,
            arrived: (0..size).map(|_| None).collect(),
            result: Arc::default(),
            gone: (0..size).map(|_| false).collect(),
            lost: None,
        };
        let (round, moved) = (Mutex::new(round), Condvar::new());
        let world = Arc::new(World { round, moved, deadline });
        (0..size).map(|rank| Self { world: Arc::clone(&world), rank }).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Round> {
        self.world.round.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The values of all ranks, or the fault of the lowest rank that has one.
    fn meet<const N: usize>(&self, mine: Mine<N>) -> Result<Vec<[u64; N]>, Fault> {
        let end = Instant::now().checked_add(self.world.deadline);
        let mut round = self.lock();
        let number = round.number;
        let own = usize::try_from(self.rank).ok().and_then(|rank| round.arrived.get_mut(rank));
        if let Some(own) = own {
            *own = Some(mine.map(|words| words.to_vec()));
        }
        if round.arrived.iter().all(Option::is_some) {
            round.result = Arc::new(round.arrived.iter_mut().filter_map(Option::take).collect());
            round.number = number.wrapping_add(1);
            self.world.moved.notify_all();
        }
        while round.number == number {
            let now = Instant::now();
            let left = end.map_or(Duration::MAX, |end| end.saturating_duration_since(now));
            if let Some(rank) = round.find_lost(left.is_zero()) {
                self.world.moved.notify_all();
                return Err(Fault::Lost { rank });
            }
            let waited = self.world.moved.wait_timeout(round, left);
            round = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let words = |(words, rank): (&Words, u32)| {
            let words = words.as_ref().map_err(|code| Fault::Rank { rank, code: *code })?;
            Ok(words.as_slice().try_into().unwrap_or([0; N])) // as long as all that came
        };
        round.result.iter().zip(0..).map(words).collect() // the first error is the lowest rank's
    }
}

impl Round {
    /// A rank without which this round cannot end. Once there is one, there always is one.
    fn find_lost(&mut self, is_late: bool) -> Option<u32> {
        let absent = self.arrived.iter().zip(&self.gone).zip(0..);
        let mut absent = absent.filter(|((words, _), _)| words.is_none());
        let lost = absent.find(|((_, gone), _)| is_late || **gone).map(|(_, rank)| rank);
        self.lost = self.lost.or(lost);
        self.lost
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let mut round = self.lock();
        if let Some(gone) = usize::try_from(self.rank).ok().and_then(|r| round.gone.get_mut(r)) {
            *gone = true;
        }
        self.world.moved.notify_all();
    }
}

impl Collective for Member {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        u32::try_from(self.lock().gone.len()).unwrap_or(u32::MAX)
    }

    fn agree<const N: usize>(&self, mine: Mine<N>, fold: Fold) -> All<N> {
        let mut all = self.meet(mine)?.into_iter();
        let first = all.next().unwrap_or([0; N]);
        Ok(all.fold(first, |mut sum, words| {
            sum.iter_mut().zip(words).for_each(|(sum, word)| *sum = fold(*sum, word));
            sum
        }))
    }

    fn exscan(&self, mine: Result<u64, Code>) -> Result<(u64, u64), Fault> {
        let (mut before, mut total) = (0, 0u64);
        for ([value], rank) in self.meet(mine.map(|value| [value]))?.into_iter().zip(0..) {
            if rank == self.rank {
                before = total;
            }
            let overflow = Fault::Rank { rank, code: Code::OVERFLOW };
            total = total.checked_add(value).ok_or(overflow)?;
        }
        Ok((before, total))
    }

    fn decide<const N: usize, const M: usize>(
        &self,
        mine: Mine<N>,
        fold: Fold,
        work: impl FnOnce([u64; N]) -> [u64; M],
    ) -> All<M> {
        let agreed = self.agree(mine, fold)?;
        let answer = if self.rank == 0 { work(agreed) } else { [0; M] };
        self.meet(Ok(answer))?.first().copied().ok_or(Fault::Lost { rank: 0 })
    }
}
