//! Aligned memory that engines write to, and a pool to use it again.
#![expect(unsafe_code, reason = "the kernel and other threads write to parts of it")]

use memmap2::{Advice, MmapMut};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use striae_core::align::{Plan, Read};

/// The length of a huge page where pages have 4 KiB.
///
/// A request to a disk names each run of memory that its bytes go to. In short pages, 1 MiB may be
/// 256 runs, as many as the queue of a virtual disk has room for, so that the disk does one read at
/// a time; in a huge page it is one run.
const HUGE: usize = 2 << 20;

/// Memory whose first byte is aligned.
///
/// While reads are under way, the kernel or a thread writes to parts of it. So a reference never
/// covers more than the part that is asked for.
#[derive(Debug)]
pub(super) struct Memory {
    /// Owns the mapping; it is not used otherwise.
    _owner: MmapMut,
    start: NonNull<u8>,
    len: usize,
    /// The number of its registered buffer in a ring.
    pub(super) slot: Option<u16>,
}

// SAFETY: `NonNull` is not `Send` because it may be shared; this one points to memory of `_owner`.
unsafe impl Send for Memory {}
// SAFETY: without `&mut` there is only `bytes`, whose callers promise that nobody writes.
unsafe impl Sync for Memory {}

impl Memory {
    /// Maps `len` zero bytes at a multiple of `align`, a power of two; `None` if there cannot be
    /// so many. Huge pages are asked for if they are as long as one.
    pub(super) fn new(len: usize, align: usize) -> Option<Self> {
        let is_huge = len >= HUGE;
        let align = if is_huge { align.max(HUGE) } else { align };
        let mut owner = MmapMut::map_anon(len.checked_add(align)?).ok()?; // nothing is touched
        let skip = owner.as_ptr().align_offset(align);
        if is_huge {
            let _ = owner.advise_range(Advice::HugePage, skip, len); // pages stay short otherwise
        }
        let start = owner.get_mut(skip..)?.get_mut(..len)?;
        Some(Self { start: NonNull::from(start).cast(), len, _owner: owner, slot: None })
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// All bytes; nobody else may write to them.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: `slice::from_raw_parts_mut`: as in `bytes`; reads into the memory are under way
        // only while a flight owns it, and the flight does not lend it.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// The target of `len` bytes at `place`; `None` if they are not in the memory.
    pub(super) fn target(&self, place: usize, len: usize) -> Option<ReadBuffer> {
        place.checked_add(len).filter(|&end| end <= self.len)?;
        // SAFETY: `pointer::add`: "the entire memory range between self and the result must be in
        // bounds of that allocation", which was just seen.
        let start = unsafe { self.start.add(place) };
        Some(ReadBuffer { start, len })
    }

    /// The targets of a plan's reads, except reads that are not in the memory.
    pub(super) fn targets(&self, plan: &Plan<'_>) -> Vec<(Read, ReadBuffer)> {
        let target = |read: Read| {
            let place = usize::try_from(read.place).ok()?;
            Some((read, self.target(place, usize::try_from(read.span.len()).ok()?)?))
        };
        plan.reads().filter_map(target).collect()
    }

    /// Whether the whole target is in the memory.
    pub(super) fn has(&self, target: ReadBuffer) -> bool {
        let skip = target.start.addr().get().checked_sub(self.start.addr().get());
        let end = skip.and_then(|skip| skip.checked_add(target.len));
        end.is_some_and(|end| end <= self.len)
    }

    /// The `len` bytes at `place`; `None` if they are not in the memory.
    ///
    /// # Safety
    /// While the reference lives, no read of these bytes is under way.
    pub(super) unsafe fn bytes(&self, place: usize, len: usize) -> Option<&[u8]> {
        let target = self.target(place, len)?;
        // SAFETY: `slice::from_raw_parts`: "valid for reads for len bytes", in one allocation, as
        // `target` says; "properly initialized": they were zeros; "must not be mutated": the
        // caller's promise.
        Some(unsafe { std::slice::from_raw_parts(target.start.as_ptr(), len) })
    }
}

/// A part of memory that a read writes to.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadBuffer {
    pub(super) start: NonNull<u8>,
    pub(super) len: usize,
}

// SAFETY: it is an address and a length; the code that writes there promises that it may.
unsafe impl Send for ReadBuffer {}

impl ReadBuffer {
    /// A target that covers all of `bytes`.
    pub(super) fn of(bytes: &mut [u8]) -> Self {
        Self { len: bytes.len(), start: NonNull::from(bytes).cast() }
    }

    /// The `len` bytes from `skip` on; `None` if they are not in the target.
    pub(super) fn part(self, skip: usize, len: usize) -> Option<Self> {
        skip.checked_add(len).filter(|&end| end <= self.len)?;
        // SAFETY: as in `Memory::target`.
        Some(Self { start: unsafe { self.start.add(skip) }, len })
    }
}

/// Memory that was given back, for later use.
#[derive(Debug)]
pub(super) struct Pool {
    align: usize,
    inside: Mutex<Inside>,
}

#[derive(Debug, Default)]
struct Inside {
    free: Vec<Memory>,
    /// Ring slots of memory that was freed.
    slots: Vec<u16>,
}

impl Pool {
    /// The most bytes that are kept.
    pub(super) const KEPT: usize = 32 << 20;

    /// The smallest size: the next read can rarely use less.
    pub(super) const SHORTEST: usize = 1 << 16;

    pub(super) fn new(align: usize) -> Arc<Self> {
        Arc::new(Self { align, inside: Mutex::default() })
    }

    /// Memory of at least `len` bytes with any content; `None` if there cannot be so much.
    pub(super) fn take(&self, len: usize) -> Option<Memory> {
        if len > Self::KEPT {
            return Memory::new(len, self.align);
        }
        let len = len.max(Self::SHORTEST).checked_next_power_of_two()?;
        let mut inside = self.inside();
        let found = inside.free.iter().rposition(|memory| memory.len == len);
        let found = found.map(|at| inside.free.remove(at));
        drop(inside);
        found.or_else(|| Memory::new(len, self.align))
    }

    /// Keeps memory for the next request of its size. If more than `KEPT` bytes are kept, the
    /// oldest memory is freed. Longer memory is freed at once: `take` does not look for it.
    pub(super) fn give_back(&self, memory: Memory) {
        if memory.len > Self::KEPT {
            return;
        }
        let mut guard = self.inside();
        let inside = &mut *guard;
        inside.free.push(memory);
        let kept = |inside: &Inside| inside.free.iter().map(Memory::len).sum::<usize>();
        while kept(inside) > Self::KEPT && !inside.free.is_empty() {
            let oldest = inside.free.remove(0);
            inside.slots.extend(oldest.slot);
        }
    }

    /// Takes the ring slots of freed memory, which can be used again.
    pub(super) fn free_slots(&self) -> Vec<u16> {
        std::mem::take(&mut self.inside().slots)
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
