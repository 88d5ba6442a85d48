//! `striae extract`.

use super::with_bar_of;
use crate::args::ExtractArgs;
use crate::failure::{Failure, Sound};
use striae::sion::Extract;

pub(super) fn extract(args: &ExtractArgs) -> Result<Sound, Failure> {
    let file = args.file.open(args.direct.options())?;
    let mut extract = Extract::new().force(args.force).select(args.addresses.clone());
    if let Some(threads) = args.threads {
        extract = extract.threads(threads);
    }
    with_bar_of(&file, |progress| extract.run(&file, &args.dir, progress))?;
    Ok(Sound::Yes)
}
