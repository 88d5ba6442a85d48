//! `striae convert`.

use crate::args::ConvertArgs;
use crate::failure::{Failure, Sound};
use crate::progress::with_bar;
use striae::sion::Convert;

pub(crate) fn convert(args: &ConvertArgs) -> Result<Sound, Failure> {
    let file = args.file.open()?;
    let mut convert = Convert::new().force(args.layout.force);
    convert = convert.nfiles(args.layout.nfiles);
    if args.seal || args.no_seal {
        convert = convert.sealed(args.seal);
    }
    if let Some(bytes) = args.layout.fsblksize {
        convert = convert.fsblksize(bytes);
    }
    if let Some(order) = args.layout.order {
        convert = convert.order(order.into());
    }
    if let Some(threads) = args.layout.threads {
        convert = convert.threads(threads);
    }
    let total = file.tasks()?.try_fold(0u64, |sum, task| Ok(sum.saturating_add(task?.bytes)));
    let total = total.map_err(Failure::File)?;
    with_bar(total, |progress| convert.run(&file, &args.out, progress))?;
    Ok(Sound::Yes)
}
