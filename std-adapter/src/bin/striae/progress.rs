//! The progress bar on a terminal.

use indicatif::{ProgressBar, ProgressStyle};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes between two updates of the bar: each update reads the clock.
const STEP: u64 = 1 << 16;

/// Shows a bar while `work` runs and reports how many of `total` bytes it has done.
pub(crate) fn with_bar<T>(total: u64, work: impl FnOnce(&(dyn Fn(u64) + Sync)) -> T) -> T {
    let bar = ProgressBar::new(total);
    let template = "{bar:40} {bytes}/{total_bytes} {bytes_per_sec}, {eta} left";
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| {
        ProgressStyle::default_bar() // the template is a constant, so this is never used
    }));
    let untold = AtomicU64::new(0);
    let done = work(&|bytes| {
        let before = untold.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) >= STEP {
            bar.inc(untold.swap(0, Ordering::Relaxed));
        }
    });
    bar.finish_and_clear();
    done
}
