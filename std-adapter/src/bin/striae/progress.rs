//! The bar of long work, on a terminal.

use crate::failure::Failure;
use indicatif::{ProgressBar, ProgressStyle};
use striae::Error;
use striae::sion::File;

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

/// The same for work on all streams of a set.
pub(crate) fn with_bar_of<T>(
    set: &File,
    work: impl FnOnce(&(dyn Fn(u64) + Sync)) -> Result<T, Error>,
) -> Result<T, Failure> {
    let total = set.tasks()?.try_fold(0u64, |sum, task| Ok(sum.saturating_add(task?.bytes)));
    Ok(with_bar(total.map_err(Failure::File)?, work)?)
}
