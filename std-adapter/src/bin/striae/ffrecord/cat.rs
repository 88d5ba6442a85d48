//! `striae cat` of a sample.

use crate::args::CatArgs;
use crate::failure::{Failure, Sound};
use std::io::{self, Write};
use striae::Error;
use striae::ffrecord::{ErrorKind, File, crc32};
use striae_core::span::Span;

/// Writes a sample, or a part of it. One that is written whole is compared with its checksum on the
/// way: what is wrong with it is told behind it.
pub(super) fn cat(args: &CatArgs) -> Result<Sound, Failure> {
    let usage = |text: &str| Failure::usage(&args.file.path, text);
    let Some(number) = args.which.sample else {
        return Err(usage("an ffrecord file has nothing but samples: --sample chooses"));
    };
    let file = File::open_direct(&args.file.path, args.direct.options())?;
    let sample = file.sample(number)?;
    let len = sample.span.len();
    let Some(left) = len.checked_sub(args.offset) else {
        let text = format!("--offset is {}, must be at most the length, {len}", args.offset);
        return Err(usage(&text));
    };
    let wanted = args.length.map_or(left, |length| length.min(left));
    let span = sample.span.part(args.offset, wanted).unwrap_or(Span::ZERO);
    let mut crc = 0;
    let mut out = io::stdout().lock();
    let mut written = Ok(());
    file.read_pieces(span, &mut |bytes| {
        crc = crc32(crc, bytes);
        written = out.write_all(bytes);
        written.is_ok()
    })?;
    written.and_then(|()| out.flush()).map_err(Failure::stdout)?; // what stands behind the last line break
    if wanted == len {
        let wrong = |error| Error::new(file.path(), ErrorKind::Sample { number, error });
        sample.check_crc(crc).map_err(wrong)?;
    }
    Ok(Sound::Yes)
}
