//! `striae convert`.

use super::open_files::open_many;
use super::{laid, with_bar_of};
use crate::args::ConvertArgs;
use crate::failure::{Failure, Sound};
use striae::sion::Convert;

pub(super) fn convert(args: &ConvertArgs) -> Result<Sound, Failure> {
    let file = args.file.open(args.layout.direct())?;
    open_many(args.layout.nfiles);
    let mut convert = laid(Convert::new(), &args.layout);
    if args.seal || args.no_seal {
        convert = convert.sealed(args.seal);
    }
    with_bar_of(&file, |progress| convert.run(&file, &args.out, progress))?;
    Ok(Sound::Yes)
}
