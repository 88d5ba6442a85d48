//! Communicators of some of the ranks, without a call of MPI that another rank could miss.
//!
//! They share one communicator of MPI with the first one, and have a number of their own in the
//! tags of their messages: one that none of their ranks has used before.

use super::Communicator;
use super::messages::contexts;
use crate::error::Error;
use mpi::ffi;
use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::rc::Rc;

/// A communicator of MPI, and what this process used of it.
#[derive(Debug)]
pub(super) struct Base {
    pub(super) raw: ffi::MPI_Comm,
    /// Whether it was given back.
    pub(super) is_freed: Rc<Cell<bool>>,
    /// The number of the next communicator.
    next: Cell<u32>,
    /// The number of numbers.
    contexts: u32,
}

/// What a rank tells all others when they are split: color, key, and the number that it could use.
const ENTRY: usize = 16;

impl Base {
    pub(super) fn of(raw: ffi::MPI_Comm) -> Self {
        Self {
            raw,
            is_freed: Rc::default(),
            next: Cell::new(1),
            contexts: contexts(largest_tag(raw)),
        }
    }
}

/// The largest tag of a message.
fn largest_tag(raw: ffi::MPI_Comm) -> u32 {
    let (mut value, mut is_there) = (std::ptr::null_mut::<c_int>(), 0);
    let into = (&raw mut value).cast::<c_void>();
    // SAFETY: MPI-3.1 8.1.2: MPI_TAG_UB is an attribute of every communicator; the call is local,
    // and gives a pointer to an int.
    let largest = unsafe {
        let key = c_int::try_from(ffi::MPI_TAG_UB).unwrap_or(0);
        let got = ffi::MPI_Comm_get_attr(raw, key, into, &raw mut is_there);
        (got == 0 && is_there != 0 && !value.is_null()).then(|| *value)
    };
    largest
        .and_then(|largest| u32::try_from(largest).ok())
        .unwrap_or(i16::MAX.unsigned_abs().into())
}

impl Communicator {
    /// The number of the next communicator that this process has not used.
    pub(super) fn next_context(&self) -> u32 {
        self.base.next.get()
    }

    /// A communicator of these ranks of this one, whose number none of them has used.
    pub(super) fn of(&self, context: u32, members: &[u32]) -> Result<Self, Error> {
        self.base.next.set(self.base.next.get().max(context.saturating_add(1)));
        if context >= self.base.contexts {
            let text = "MPI has no tags for more communicators; duplicate one anew";
            return Err(Error::carrier(self.world_rank, 0, text));
        }
        let rank = members.iter().position(|rank| *rank == self.rank).unwrap_or(0);
        let members: Box<[u32]> = members.iter().map(|rank| self.world_rank_of(*rank)).collect();
        let [rank, size] = [rank, members.len()].map(|it| u32::try_from(it).unwrap_or(u32::MAX));
        let Self { world_rank, deadline, .. } = *self;
        let (base, members) = (Rc::clone(&self.base), Some(members));
        Ok(Self { base, context, members, rank, size, world_rank, deadline })
    }

    /// A communicator of the ranks with the same color, in the order of their keys.
    pub(super) fn child(&self, color: u64, key: u32) -> Result<Self, Error> {
        let numbers = [key.to_le_bytes(), self.next_context().to_le_bytes()];
        let mine = [color.to_le_bytes().as_slice(), numbers.as_flattened()].concat();
        let all = self.all_gather(mine)?;
        let (mut context, mut members) = (0, Vec::new());
        for (rank, entry) in (0..).zip(all.chunks_exact(ENTRY)) {
            let (its_color, numbers) = entry.split_at_checked(8).unwrap_or_default();
            let mut numbers = numbers.chunks_exact(4).filter_map(|word| word.first_chunk());
            let mut next = || numbers.next().map_or(0, |word| u32::from_le_bytes(*word));
            let its_key = next();
            context = context.max(next());
            if its_color == color.to_le_bytes() {
                members.push((its_key, rank));
            }
        }
        members.sort_unstable();
        let members: Vec<u32> = members.into_iter().map(|(_, rank)| rank).collect();
        self.of(context, &members)
    }
}

/// A number that the processes have in common that share the memory of a node: by the name that MPI
/// has for it, the start of its system, and the file system of its shared memory.
pub(super) fn node_number() -> u64 {
    let (mut name, mut len) = ([0_u8; 1 << 10], 0); // MPI_MAX_PROCESSOR_NAME is 256 or 128
    // SAFETY: MPI-3.1 8.1.2: a local call that writes at most MPI_MAX_PROCESSOR_NAME characters.
    unsafe { ffi::MPI_Get_processor_name(name.as_mut_ptr().cast::<c_char>(), &raw mut len) };
    let boot = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let memory = std::fs::metadata("/dev/shm").map(|folder| (folder.dev(), folder.ino())).ok();
    let mut hasher = DefaultHasher::new(); // of the same program at all ranks
    (name.get(..usize::try_from(len).unwrap_or(0)), boot, memory).hash(&mut hasher);
    hasher.finish()
}
