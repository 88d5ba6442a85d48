//! `striae pack --format ffrecord`.

use crate::args::PackArgs;
use crate::failure::{Failure, Sound};
use crate::progress::with_bar;
use striae::ffrecord::Pack;

pub(super) fn pack(args: &PackArgs) -> Result<Sound, Failure> {
    if args.out.extension().is_none_or(|extension| extension != "ffr") {
        let text = "ffrecord only opens files whose names end in .ffr";
        return Err(Failure::usage(&args.out, text));
    }
    let sources = match args.sources.as_slice() {
        [folder] if folder.is_dir() => &*Pack::of_folder(folder)?,
        files => files,
    };
    let pack = Pack::new().output(args.layout.output());
    with_bar(Pack::bytes(sources), |progress| {
        pack.run(sources, &args.out, &|bytes| progress(bytes))
    })?;
    Ok(Sound::Yes)
}
