//! x
use crate::args::DumpArgs;
use crate::failure::{Failure, Sound};
pub(crate) fn dump(_: &DumpArgs) -> Result<Sound, Failure> {
    Ok(Sound::Yes)
}
