//! `striae convert`.

use crate::args::ConvertArgs;
use crate::failure::{Failure, Sound};
use crate::progress::with_bar;
use striae::gsd::OpenOptions;
use striae::gsd::convert::Convert;

pub(super) fn convert(args: &ConvertArgs) -> Result<Sound, Failure> {
    let layout = &args.layout;
    let file = OpenOptions::new().direct(layout.direct()).open(&args.file.path)?;
    let mut convert = Convert::new().output(layout.output()).upgrade(args.gsd.upgrade);
    if args.seal || args.no_seal {
        convert = convert.checksums(args.seal);
    }
    if let Some(bytes) = args.gsd.align {
        if !bytes.is_power_of_two() || bytes > 1 << 30 {
            let text =
                format!("--align cannot be {bytes}, must be a power of two up to 1073741824");
            return Err(Failure::Usage(text));
        }
        convert = convert.align(bytes);
    }
    if let Some(frames) = args.gsd.frames {
        frames.check(&args.file.path, file.frames())?;
        convert = convert.frames(frames.of(file.frames()), frames.step());
    }
    let total = file.head().file_len;
    with_bar(total, |progress| convert.run(&file, &args.out, progress))?;
    Ok(Sound::Yes)
}
