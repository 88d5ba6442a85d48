//! x
use crate::args::VerifyArgs;
use crate::failure::{Failure, Sound};
pub(crate) fn verify(_: &VerifyArgs) -> Result<Sound, Failure> {
    Ok(Sound::Yes)
}
