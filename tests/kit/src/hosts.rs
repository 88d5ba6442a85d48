//! What hosts can be asked to do: some tests run on processors that are emulated.

/// Whether this host is one of those that are emulated, and take ten times as long: they have
/// another byte order or 32 bits. Or whether `STRIAE_SLOW` was set when this was compiled, for a
/// host that takes as long without optimisation.
pub const fn is_slow() -> bool {
    let is_foreign = cfg!(target_endian = "big") || cfg!(target_pointer_width = "32");
    is_foreign || option_env!("STRIAE_SLOW").is_some()
}

/// From case to case of a sweep: every case is tried here, and on a slow host each one of so many.
///
/// For sweeps of what has nothing to do with a processor's byte order, or shows it in a few cases.
pub const fn stride(of_slow: usize) -> usize {
    if is_slow() { of_slow } else { 1 }
}
