//! `striae extract`.

use crate::args::ExtractArgs;
use crate::failure::{Failure, Sound};
use crate::progress::with_bar;
use striae::sion::Extract;

pub(crate) fn extract(args: &ExtractArgs) -> Result<Sound, Failure> {
    let file = args.file.open()?;
    let total = file.tasks()?.try_fold(0u64, |sum, task| Ok(sum.saturating_add(task?.bytes)));
    let total = total.map_err(Failure::File)?;
    let mut extract = Extract::new().force(args.force);
    if let Some(threads) = args.threads {
        extract = extract.threads(threads);
    }
    with_bar(total, |progress| extract.run(&file, &args.dir, progress))?;
    Ok(Sound::Yes)
}
