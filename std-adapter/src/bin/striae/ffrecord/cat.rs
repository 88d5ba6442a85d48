//! `striae cat` of an ffrecord file.

use crate::args::CatArgs;
use crate::failure::{Failure, Sound};
use std::io::{self, Write};
use striae::address::{Address, Index};
use striae::ffrecord::{ErrorKind, File, crc32};
use striae::{Error, Format};
use striae_core::ffrecord::Sample;
use striae_core::span::Span;

pub(super) fn cat(args: &CatArgs) -> Result<Sound, Failure> {
    let file = File::open_direct(&args.file.path, args.direct.options())?;
    let pattern = args.address.clone();
    let at = |error: striae::address::Error| Error::new(&args.file.path, error);
    if let Some(address) = pattern.address() {
        if let Address::Sample(Index::FromStart(number)) =
            address.resolve(Format::Ffrecord, file.n()).map_err(at)?
        {
            let sample = file.sample(number)?;
            file.admit(&args.max_size.output(), wanted(args, &file, &sample)?.len())?;
            cat_sample(args, &file, &sample)?;
        }
        return Ok(Sound::Yes);
    }
    let chosen = file.selection(&[pattern])?;
    let samples = || file.samples_where(|number| chosen.has(&Address::sample(number)));
    let mut size = 0_u64;
    for sample in samples() {
        size = size.saturating_add(wanted(args, &file, &sample?)?.len());
    }
    file.admit(&args.max_size.output(), size)?;
    for sample in samples() {
        cat_sample(args, &file, &sample?)?;
    }
    chosen.check().map_err(at)?;
    Ok(Sound::Yes)
}

/// Writes a sample, or a part of it. If the whole sample is written, its checksum is compared, and
/// an error is reported after the data.
fn cat_sample(args: &CatArgs, file: &File, sample: &Sample) -> Result<(), Failure> {
    let span = wanted(args, file, sample)?;
    let mut crc = 0;
    let mut out = io::stdout().lock();
    let mut written = Ok(());
    file.read_pieces(span, &mut |bytes| {
        crc = crc32(crc, bytes);
        written = out.write_all(bytes);
        written.is_ok()
    })?;
    written.and_then(|()| out.flush()).map_err(Failure::stdout)?; // the rest of the last line
    if span == sample.span {
        let number = sample.number;
        let wrong = |error| Error::new(file.path(), ErrorKind::Sample { number, error });
        sample.check_crc(crc).map_err(wrong)?;
    }
    Ok(())
}

/// The part of a sample that is written.
fn wanted(args: &CatArgs, file: &File, sample: &Sample) -> Result<Span, Failure> {
    let len = sample.span.len();
    let Some(left) = len.checked_sub(args.offset) else {
        let (of, offset) = (Address::sample(sample.number), args.offset);
        let text = format!("{of}: --offset is {offset}, must be at most the length, {len}");
        return Err(Failure::usage(file.path(), &text));
    };
    let wanted = args.length.map_or(left, |length| length.min(left));
    Ok(sample.span.part(args.offset, wanted).unwrap_or(Span::ZERO))
}
