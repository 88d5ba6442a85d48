//! `striae extract` of a netCDF file.

use crate::args::ExtractArgs;
use crate::failure::{Failure, Sound};
use crate::progress::with_bar;
use striae::cdf::Extract;

pub(super) fn extract(args: &ExtractArgs) -> Result<Sound, Failure> {
    let file = super::open(&args.file.path, args.direct)?;
    let extract = Extract::new().output(args.output()).select(args.addresses.clone());
    let bytes = extract.bytes(&file)?;
    with_bar(bytes, |progress| extract.run(&file, &args.dir, &|bytes| progress(bytes)))?;
    Ok(Sound::Yes)
}
