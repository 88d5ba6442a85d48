//! `striae extract` of a GSD file.

use crate::args::{ExtractArgs, Rows};
use crate::failure::{Failure, Sound};
use crate::progress::with_bar;
use striae::gsd::Extract;

pub(super) fn extract(args: &ExtractArgs) -> Result<Sound, Failure> {
    let file = super::open(&args.file.path, args.direct)?;
    Rows::check(args.frames, &args.file.path, file.frames())?;
    let frames = Rows::of(args.frames, file.frames());
    let extract = Extract::new()
        .output(args.output())
        .frames(frames)
        .select(args.addresses.clone())
        .hoomd(args.hoomd);
    let total = extract.bytes(&file)?;
    with_bar(total, |progress| extract.run(&file, &args.dir, progress))?;
    Ok(Sound::Yes)
}
