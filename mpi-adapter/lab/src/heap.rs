//! How much memory each thread has, and had at most.
#![allow(unsafe_code, reason = "an allocator that passes everything on to the system's")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

#[global_allocator]
static COUNTED: Counted = Counted;

/// The system's allocator, counted for each thread.
struct Counted;

/// The counts of a thread. Memory that another thread frees stays counted at the one that got it.
struct Counts {
    bytes: Cell<usize>,
    most: Cell<usize>,
    /// More than 0 while nothing is counted.
    paused: Cell<u32>,
}

thread_local! {
    // Without a destructor or lazy initialisation, so that no access allocates.
    static COUNTS: Counts =
        const { Counts { bytes: Cell::new(0), most: Cell::new(0), paused: Cell::new(0) } };
}

fn count(new: usize, old: usize) {
    // A thread that ends may free memory when it has no counts any more.
    let _ = COUNTS.try_with(|counts| {
        if counts.paused.get() == 0 {
            let bytes = counts.bytes.get().saturating_add(new).saturating_sub(old);
            counts.bytes.set(bytes);
            counts.most.set(counts.most.get().max(bytes));
        }
    });
}

/// Forgets what this thread has, and what it had at most.
pub(crate) fn restart() {
    COUNTS.with(|counts| {
        counts.bytes.set(0);
        counts.most.set(0);
    });
}

/// The most bytes that this thread had at once.
pub(crate) fn most() -> usize {
    COUNTS.with(|counts| counts.most.get())
}

/// Leaves out what this thread gets and frees from now on, if `paused`; calls may be nested.
pub(crate) fn pause(paused: bool) {
    COUNTS.with(|counts| {
        let depth = counts.paused.get();
        counts.paused.set(if paused { depth.saturating_add(1) } else { depth.saturating_sub(1) });
    });
}

// SAFETY: GlobalAlloc asks that "global allocators do not unwind" and that "layout queries and
// calculations in general must be correct": counting cannot panic, and all else is the system's,
// called with the same arguments.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: "The caller must ensure that `layout` has non-zero size": ours has ensured it.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: `ptr` is "a block of memory currently allocated via this allocator", so via the
        // system's, and `layout` is "the same layout that was used to allocate that block".
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: "The caller has to ensure that `layout` has non-zero size": ours has ensured it.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size, layout.size());
        // SAFETY: `ptr` "is allocated via this allocator", so via the system's; `layout` "is the
        // same layout that was used to allocate that block"; `new_size` "is greater than zero" and,
        // when rounded up, "does not overflow isize": our caller has ensured all of it.
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}
