//! How much stack a call needs: paint what is free, call, look how far down the paint is gone.

use core::ptr;

const PAINT: u32 = 0xC0FF_EE00;

unsafe extern "C" {
    /// The first address behind all statics, from cortex-m-rt's link.x: the stack ends here.
    static mut __sheap: u32;
}

/// Calls `work`; returns what it returns and the bytes of stack that it needed.
#[inline(never)]
pub fn used<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let top = cortex_m::register::msp::read() as usize;
    let bottom = &raw mut __sheap as usize;
    let mut at = bottom;
    while at < top {
        // SAFETY: memory.x and link.x: from __sheap to the stack pointer there is RAM that nothing
        // uses, but for calls and interrupts; nothing is called here, and interrupts clean up.
        unsafe { ptr::write_volatile(at as *mut u32, PAINT) };
        at += 4;
    }
    let result = work();
    let mut low = bottom;
    // SAFETY: as above; the loop ends at the latest where the stack of this function begins.
    while low < top && unsafe { ptr::read_volatile(low as *const u32) } == PAINT {
        low += 4;
    }
    (result, top - low)
}
