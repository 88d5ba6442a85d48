//! `striae extract`.

use crate::args::ExtractArgs;
use crate::failure::{Failure, Sound};
use indicatif::{ProgressBar, ProgressStyle};
use striae::sion::Extract;

pub(crate) fn extract(args: &ExtractArgs) -> Result<Sound, Failure> {
    let file = args.file.open()?;
    let total = file.tasks()?.try_fold(0u64, |sum, task| Ok(sum.saturating_add(task?.bytes)));
    let progress = ProgressBar::new(total.map_err(Failure::File)?);
    let template = "{bar:40} {bytes}/{total_bytes} {bytes_per_sec}, {eta} left";
    progress.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| {
        ProgressStyle::default_bar() // the template is a constant, so this is never used
    }));
    let mut extract = Extract::new().force(args.force);
    if let Some(threads) = args.threads {
        extract = extract.threads(threads);
    }
    let done = extract.run(&file, &args.dir, &|bytes| progress.inc(bytes));
    progress.finish_and_clear();
    done?;
    Ok(Sound::Yes)
}
