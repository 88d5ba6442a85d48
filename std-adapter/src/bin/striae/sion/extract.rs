//! `striae extract`.

use super::with_bar_of;
use crate::args::ExtractArgs;
use crate::failure::{Failure, Sound};
use striae::sion::Extract;

pub(super) fn extract(args: &ExtractArgs) -> Result<Sound, Failure> {
    let file = args.file.open(args.direct.options())?;
    let extract = Extract::new().output(args.output()).select(args.addresses.clone());
    with_bar_of(&file, |progress| extract.run(&file, &args.dir, progress))?;
    Ok(Sound::Yes)
}
