//! `striae extract`.

use super::with_bar_of;
use crate::args::ExtractArgs;
use crate::failure::{Failure, Sound};
use striae::sion::Extract;

pub(super) fn extract(args: &ExtractArgs) -> Result<Sound, Failure> {
    if args.frames.is_some() || !args.chunk.is_empty() {
        let path = args.file.path.display();
        let text =
            format!("{path}: a SIONlib set has no frames, of which --frames and --chunk choose");
        return Err(Failure::Usage(text));
    }
    let file = args.file.open(args.direct.options())?;
    let mut extract = Extract::new().force(args.force);
    if let Some(threads) = args.threads {
        extract = extract.threads(threads);
    }
    with_bar_of(&file, |progress| extract.run(&file, &args.dir, progress))?;
    Ok(Sound::Yes)
}
