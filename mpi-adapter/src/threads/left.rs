//! A communicator of the ranks that are left.

use super::{Group, Member, State, index};
use crate::error::Error;
use std::sync::Arc;

/// The color of the ranks that are left, which no split has.
const NO_COLOR: u32 = u32::MAX;

/// How often the ranks that answer got a communicator of their own.
#[derive(Debug)]
pub(super) struct Shrunk {
    /// The ranks that came since the last time.
    came: Vec<bool>,
    /// The ranks that were left each time.
    left: Vec<Arc<Vec<usize>>>,
}

impl Shrunk {
    pub(super) fn new(size: usize) -> Self {
        Self { came: vec![false; size], left: Vec::new() }
    }
}

impl Group {
    /// Whether a rank was left the last time.
    fn is_left(&self, rank: usize) -> bool {
        self.shrunk.left.last().is_none_or(|left| left.binary_search(&rank).is_ok())
    }

    /// Gives those that came a communicator, if no other rank can come.
    fn shrink(&mut self, is_late: bool) -> bool {
        let Shrunk { came, .. } = &self.shrunk;
        let mut absent = (0..).zip(came.iter().zip(&self.gone)).filter(|(_, (came, _))| !*came);
        if !is_late && absent.any(|(rank, (_, gone))| !*gone && self.is_left(rank)) {
            return false;
        }
        let Shrunk { came, left } = &mut self.shrunk;
        let ranks = (0..).zip(came).filter_map(|(rank, came)| std::mem::take(came).then_some(rank));
        left.push(Arc::new(ranks.collect()));
        true
    }
}

impl Member {
    /// A communicator of the ranks that come here.
    pub(super) fn of_the_left(&self) -> Result<Self, Error> {
        let (left, number) = self.meet_the_left()?;
        self.enter(number, NO_COLOR, &left)
    }

    /// The ranks that come here, and how often that was before. The first that has waited until the
    /// deadline ends it.
    fn meet_the_left(&self) -> Result<(Arc<Vec<usize>>, u64), Error> {
        let (me, mut state) = (index(self.rank), self.lock());
        let until = self.deadline(&state);
        self.set_idle(&mut state, false);
        let mut number = None;
        let result = loop {
            let is_late = self.now(&state) >= until;
            let State { aborted, groups, .. } = &mut *state;
            let Some(group) = groups.get_mut(&self.group) else { break Err(Error::lost(None)) };
            if let Some(error) = aborted {
                break Err(error.clone());
            }
            if number.is_none() {
                if !group.is_left(me) {
                    break Err(Error::lost(Some(self.me)));
                }
                group.shrunk.came.iter_mut().skip(me).take(1).for_each(|came| *came = true);
            }
            let now = *number.get_or_insert(group.shrunk.left.len());
            if group.shrunk.left.len() == now && group.shrink(is_late) {
                state.stir(&self.world);
                continue;
            }
            if let Some(left) = group.shrunk.left.get(now) {
                break Ok((Arc::clone(left), u64::try_from(now).unwrap_or(u64::MAX)));
            }
            state = self.wait(state, until);
        };
        self.set_idle(&mut state, true);
        result
    }
}
