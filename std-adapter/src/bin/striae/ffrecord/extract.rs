//! `striae extract` of an ffrecord file.

use crate::args::ExtractArgs;
use crate::failure::{Failure, Sound};
use crate::progress::with_bar;
use striae::ffrecord::{Extract, File, verify};

pub(super) fn extract(args: &ExtractArgs) -> Result<Sound, Failure> {
    if args.frames.is_some() || !args.chunk.is_empty() {
        let path = args.file.path.display();
        let text = "an ffrecord file has no frames, of which --frames and --chunk choose";
        return Err(Failure::Usage(format!("{path}: {text}")));
    }
    let file = File::open_direct(&args.file.path, args.direct.options())?;
    let bytes = verify::checked_bytes(&args.file.path);
    with_bar(bytes, |progress| {
        Extract::new().force(args.force).run(&file, &args.dir, &|bytes| progress(bytes))
    })?;
    Ok(Sound::Yes)
}
