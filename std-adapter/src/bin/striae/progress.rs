//! The bar of long work, on a terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// Shows a bar while `work` reports the bytes that it has done of `total`.
pub(crate) fn with_bar<T>(total: u64, work: impl FnOnce(&(dyn Fn(u64) + Sync)) -> T) -> T {
    let bar = ProgressBar::new(total);
    let template = "{bar:40} {bytes}/{total_bytes} {bytes_per_sec}, {eta} left";
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| {
        ProgressStyle::default_bar() // the template is a constant, so this is never used
    }));
    let done = work(&|bytes| bar.inc(bytes));
    bar.finish_and_clear();
    done
}
