//! Drivers for asynchronous stores.

use super::{DriveError, Machine, ReadMachine, ReadStep, Step, part_of};
use crate::store::{AsyncReadAt, AsyncWriteAt};

/// Runs `machine` on an asynchronous `store`; see [`drive`](super::drive). `buf` is the only
/// memory.
///
/// Dropping the future stops the work in the middle, like an error of the store. `machine` must not
/// be used after that.
///
/// # Errors
/// [`DriveError::Store`], [`DriveError::Format`], [`DriveError::Ended`],
/// [`DriveError::BufferTooSmall`].
pub async fn drive_async<M: Machine, S: AsyncWriteAt>(
    machine: &mut M,
    store: &mut S,
    buf: &mut [u8],
) -> Result<M::Output, DriveError<S::Error, M::Error>> {
    loop {
        let (offset, need, want) = match machine.poll() {
            Step::Read { offset, need, want } => (offset, need, want),
            Step::Write { offset, bytes } => {
                if !bytes.is_empty() {
                    store.write_all_at(offset, bytes).await.map_err(DriveError::Store)?;
                }
                continue;
            }
            Step::Order => {
                store.order().await.map_err(DriveError::Store)?;
                continue;
            }
            Step::Sync => {
                store.sync().await.map_err(DriveError::Store)?;
                continue;
            }
            Step::SetSize { len } => {
                store.set_size(len).await.map_err(DriveError::Store)?;
                continue;
            }
            Step::Done(output) => return Ok(output),
        };
        let bytes = part_of(buf, need, want).ok_or(DriveError::BufferTooSmall { need })?;
        read_exact_async(&*store, offset, bytes).await?;
        machine.feed(bytes).map_err(DriveError::Format)?;
    }
}

/// Runs a `machine` that only reads on an asynchronous `store`; see
/// [`drive_read`](super::drive_read). `buf` is the only memory.
///
/// # Errors
/// [`DriveError::Store`], [`DriveError::Format`], [`DriveError::Ended`],
/// [`DriveError::BufferTooSmall`].
pub async fn drive_read_async<M: ReadMachine, S: AsyncReadAt + ?Sized>(
    machine: &mut M,
    store: &S,
    buf: &mut [u8],
) -> Result<M::Output, DriveError<S::Error, M::Error>> {
    loop {
        let (offset, need, want) = match machine.poll() {
            ReadStep::Read { offset, need, want } => (offset, need, want),
            ReadStep::Done(output) => return Ok(output),
        };
        let bytes = part_of(buf, need, want).ok_or(DriveError::BufferTooSmall { need })?;
        read_exact_async(store, offset, bytes).await?;
        machine.feed(bytes).map_err(DriveError::Format)?;
    }
}

/// Fills `buf` from `store`.
pub(crate) async fn read_exact_async<S: AsyncReadAt + ?Sized, F>(
    store: &S,
    offset: u64,
    buf: &mut [u8],
) -> Result<(), DriveError<S::Error, F>> {
    let read = store.read_exact_at(offset, buf).await;
    read.map_err(|error| DriveError::from_read(error, offset))
}
