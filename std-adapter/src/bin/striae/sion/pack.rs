//! `striae pack`.

use super::laid;
use super::open_files::open_many;
use crate::args::PackArgs;
use crate::failure::{Failure, Sound};
use crate::progress::with_bar;
use std::io;
use striae::Error;
use striae::error::ErrorKind;
use striae::sion::{Pack, Sources};

pub(super) fn pack(args: &PackArgs) -> Result<Sound, Failure> {
    let sources = match args.sources.as_slice() {
        [folder] if folder.is_dir() => Sources::of_folder(folder)?,
        files => Sources::of_files(files.to_vec()).map_err(several)?,
    };
    open_many(args.layout.nfiles);
    let mut pack = laid(Pack::new(), &args.layout).sealed(args.seal);
    if let Some(bytes) = args.chunksize {
        pack = pack.chunksize(bytes);
    }
    if let Some(identity) = args.identity {
        pack = pack.identity(identity);
    }
    with_bar(sources.bytes(), |progress| pack.run(&sources, &args.out, progress))?;
    Ok(Sound::Yes)
}

/// Adds a hint to the error for a folder that is not the only source.
fn several(error: Error) -> Failure {
    match error.kind() {
        ErrorKind::Io(why) if why.kind() == io::ErrorKind::IsADirectory => {
            Failure::Usage(format!("{error}; a folder must be the only source"))
        }
        _ => Failure::File(error),
    }
}
