//! The panic gate: no public function of striae-core can reach a panic.
//!
//! This library has one C function for each kind of call into striae-core, and its panic handler
//! calls `striae_panic_reached`, which nobody defines. Linked for a Cortex-M with unused sections
//! removed, it has an undefined symbol as soon as one of the functions can panic.
//! `tests/run bare-metal` does that, checks that the features `bad` and `badwrite` (an index, a
//! function of embedded-io that panics) do fail to link, and that this file names every public
//! function of striae-core.
//!
//! What it proves holds for these calls, at this optimisation level, with this compiler.
//! Asynchronous functions are left out: the compiler puts a panic for a future that is polled after
//! its end into each of them. What they call is here.
//!
//! # The C boundary
//!
//! Every function is lent `len` bytes at `bytes`, or none if `len` is 0. All else is passed by
//! value, so that nothing is known when compiling and no check can be optimised away for that
//! reason.
#![no_std]

mod align;
mod blob;
mod blob_map;
mod cdf;
mod cdf_writer;
mod ffrecord;
mod foundation;
mod gsd;
mod gsd_writer;
mod hdf5;
mod host;
mod sion;
mod sion_layout;
mod sion_recover;
mod sion_writer;
mod source;
mod text;

/// Why a function has no answer. What went wrong is kept from the optimiser, then dropped.
pub(crate) struct Fail;

impl<E: core::error::Error> From<E> for Fail {
    fn from(error: E) -> Self {
        core::hint::black_box(&error);
        Self
    }
}

pub(crate) type Answer = Result<u64, Fail>;

/// Writes C functions: lent bytes as a slice, numbers by value, a number back; `u64::MAX` on
/// failure.
macro_rules! entries {
    ($( $(#[$attribute:meta])*
        fn $name:ident($lent:ident $(, $arg:ident: $ty:ty)* $(,)?) $body:block )*) => {$(
        $(#[$attribute])*
        /// # Safety
        /// `bytes` points to `len` initialised bytes that nobody else uses until this returns.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(bytes: *mut u8, len: usize $(, $arg: $ty)*) -> u64 {
            fn run($lent: &mut [u8] $(, $arg: $ty)*) -> crate::Answer $body
            let lent: &mut [u8] = if len == 0 {
                &mut []
            } else {
                // SAFETY: the contract above: "`bytes` points to `len` initialised bytes that
                // nobody else uses until this returns"; the slice does not outlive this function.
                unsafe { core::slice::from_raw_parts_mut(bytes, len) }
            };
            run(lent $(, $arg)*).unwrap_or(u64::MAX)
        }
    )*};
}
pub(crate) use entries;

unsafe extern "C" {
    /// Defined nowhere: whoever reaches it does not link.
    safe fn striae_panic_reached() -> !;
}

#[panic_handler]
fn panicked(_: &core::panic::PanicInfo<'_>) -> ! {
    striae_panic_reached()
}

#[cfg(feature = "bad")]
entries! {
    /// Negative control: an index that may be out of bounds.
    fn gate_bad(bytes, index: usize) { Ok(bytes[index].into()) }
}

#[cfg(feature = "badwrite")]
entries! {
    /// Negative control: `embedded_io::Write::write_all` panics when a writer takes no byte.
    fn gate_badwrite(bytes) {
        embedded_io::Write::write_all(&mut host::Cursor::default(), bytes)?;
        Ok(0)
    }
}
