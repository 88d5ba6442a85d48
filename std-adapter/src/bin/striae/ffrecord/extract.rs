//! `striae extract` of an ffrecord file.

use crate::args::ExtractArgs;
use crate::failure::{Failure, Sound};
use crate::progress::with_bar;
use striae::ffrecord::{Extract, File, verify};

pub(super) fn extract(args: &ExtractArgs) -> Result<Sound, Failure> {
    let file = File::open_direct(&args.file.path, args.direct.options())?;
    let bytes = verify::checked_bytes(&args.file.path);
    with_bar(bytes, |progress| {
        let extract = Extract::new().output(args.output()).select(args.addresses.clone());
        extract.run(&file, &args.dir, &|bytes| progress(bytes))
    })?;
    Ok(Sound::Yes)
}
