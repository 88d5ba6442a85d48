//! `striae pack --format ffrecord`.

use crate::args::PackArgs;
use crate::failure::{Failure, Sound};
use crate::progress::with_bar;
use striae::ffrecord::Pack;

pub(crate) fn pack(args: &PackArgs) -> Result<Sound, Failure> {
    if args.out.extension().is_none_or(|extension| extension != "ffr") {
        let text = "ffrecord only opens files whose names end in .ffr";
        return Err(Failure::usage(&args.out, text));
    }
    let pack = Pack::new().output(args.layout.output());
    with_bar(Pack::bytes(&args.sources), |progress| {
        pack.run(&args.sources, &args.out, &|bytes| progress(bytes))
    })?;
    Ok(Sound::Yes)
}
