//! The ranks of all files of a set agree.

use crate::collective::Collective;
use crate::error::{Error, Failure};

/// Tells the ranks of all files the result of one of them, and the identity of the new set that
/// rank 0 has chosen.
pub(super) fn agree_on_identity<C: Collective>(
    whole: Option<&C>,
    chosen: u32,
    done: Result<(), Error>,
) -> Result<u32, Error> {
    let Some(whole) = whole else { return done.map(|()| 0) };
    let [identity] = whole.max(done.map(|()| [chosen.into()]).map_err(Failure::from))?;
    Ok(u32::try_from(identity).unwrap_or(0)) // of 32 bits
}

/// Tells the ranks of all files the result of one of them.
pub(super) fn agree<C: Collective, T>(
    whole: Option<&C>,
    done: Result<T, Error>,
) -> Result<T, Error> {
    match whole {
        Some(whole) => whole.agree(done.map_err(Failure::from)),
        None => done,
    }
}
