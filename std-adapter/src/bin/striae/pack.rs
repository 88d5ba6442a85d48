//! `striae pack`.

use crate::args::PackArgs;
use crate::failure::{Failure, Sound};
use crate::progress::with_bar;
use striae::sion::{Pack, Sources};

pub(crate) fn pack(args: &PackArgs) -> Result<Sound, Failure> {
    let sources = match args.sources.as_slice() {
        [folder] if folder.is_dir() => Sources::of_folder(folder)?,
        files => Sources::of_files(files.to_vec()),
    };
    let mut pack = Pack::new().nfiles(args.layout.nfiles).force(args.layout.force);
    pack = pack.sealed(args.seal);
    if let Some(bytes) = args.chunksize {
        pack = pack.chunksize(bytes);
    }
    if let Some(bytes) = args.layout.fsblksize {
        pack = pack.fsblksize(bytes);
    }
    if let Some(order) = args.layout.order {
        pack = pack.order(order.into());
    }
    if let Some(threads) = args.layout.threads {
        pack = pack.threads(threads);
    }
    let total = sources.lens()?.into_iter().fold(0, u64::saturating_add);
    with_bar(total, |progress| pack.run(&sources, &args.out, progress))?;
    Ok(Sound::Yes)
}
