//! Stores that are waited for.

use super::{ReadAt, SeekStore, SeekStoreError, WriteAt, ZEROS, usize_to_u64};
use embedded_io::{ErrorType, ReadExactError, SeekFrom};
use embedded_io_async::{Read, Seek, Write};

/// Bytes that can be read by offset, and waited for: [`ReadAt`] for asynchronous code.
///
/// A future that is dropped has no effect later: nothing of `buf` is written after that.
#[allow(async_fn_in_trait, reason = "whether a future is Send is the store's affair")]
pub trait AsyncReadAt {
    /// The store's own error.
    type Error: embedded_io::Error + 'static;

    /// Reads some bytes from `offset` into `buf` and returns how many, at most its length; 0 only
    /// if `buf` is empty or `offset` is at or behind the end.
    ///
    /// # Errors
    /// The store's own.
    async fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Self::Error>;

    /// Length of the store in bytes.
    ///
    /// # Errors
    /// The store's own.
    async fn size(&self) -> Result<u64, Self::Error>;

    /// Fills `buf` from `offset`.
    ///
    /// # Errors
    /// [`ReadExactError::UnexpectedEof`] if the store ends before `buf` is full.
    async fn read_exact_at(
        &self,
        mut offset: u64,
        mut buf: &mut [u8],
    ) -> Result<(), ReadExactError<Self::Error>> {
        while !buf.is_empty() {
            let n = self.read_at(offset, buf).await.map_err(ReadExactError::Other)?;
            let Some((_, rest)) = buf.split_at_mut_checked(n).filter(|_| n != 0) else {
                return Err(ReadExactError::UnexpectedEof);
            };
            buf = rest;
            offset = offset.saturating_add(usize_to_u64(n));
        }
        Ok(())
    }
}

/// Bytes that can be written by offset, and waited for: [`WriteAt`] for asynchronous code.
///
/// A future that is dropped is an operation that failed: it was done, or in part, or not at all.
/// None of it may happen after that: a store that cannot stop what it has begun must finish it
/// before it begins anything else. A sync that was dropped made nothing durable for sure; the next
/// one must make all of that durable, too.
#[allow(async_fn_in_trait, reason = "whether a future is Send is the store's affair")]
pub trait AsyncWriteAt: AsyncReadAt {
    /// Writes all of `bytes` at `offset`; a store that can grow does so, and reads zeros in the
    /// gap.
    ///
    /// # Errors
    /// The store's own. Some of the bytes may have been written.
    async fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Cuts the store to `len` bytes, or grows it by zeros.
    ///
    /// # Errors
    /// The store's own, also if it cannot do that.
    async fn set_size(&mut self, len: u64) -> Result<(), Self::Error>;

    /// Lets nobody who reads what is stored see a later write without all earlier ones; see
    /// [`WriteAt::order`].
    ///
    /// # Errors
    /// The store's own.
    async fn order(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Makes all earlier writes durable, and orders them as [`order`](Self::order) does.
    ///
    /// # Errors
    /// The store's own; see [`WriteAt::sync`].
    async fn sync(&mut self) -> Result<(), Self::Error>;
}

impl<S: AsyncReadAt + ?Sized> AsyncReadAt for &S {
    type Error = S::Error;

    async fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Self::Error> {
        (**self).read_at(offset, buf).await
    }

    async fn size(&self) -> Result<u64, Self::Error> {
        (**self).size().await
    }
}

impl<S: AsyncReadAt + ?Sized> AsyncReadAt for &mut S {
    type Error = S::Error;

    async fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Self::Error> {
        (**self).read_at(offset, buf).await
    }

    async fn size(&self) -> Result<u64, Self::Error> {
        (**self).size().await
    }
}

impl<S: AsyncWriteAt + ?Sized> AsyncWriteAt for &mut S {
    async fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Self::Error> {
        (**self).write_all_at(offset, bytes).await
    }

    async fn set_size(&mut self, len: u64) -> Result<(), Self::Error> {
        (**self).set_size(len).await
    }

    async fn order(&mut self) -> Result<(), Self::Error> {
        (**self).order().await
    }

    async fn sync(&mut self) -> Result<(), Self::Error> {
        (**self).sync().await
    }
}

/// A store that nobody has to wait for, such as memory, for asynchronous code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ready<S: ?Sized>(pub S);

impl<S: ReadAt + ?Sized> AsyncReadAt for Ready<S> {
    type Error = S::Error;

    async fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Self::Error> {
        self.0.read_at(offset, buf)
    }

    async fn size(&self) -> Result<u64, Self::Error> {
        self.0.size()
    }
}

impl<S: WriteAt + ?Sized> AsyncWriteAt for Ready<S> {
    async fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Self::Error> {
        self.0.write_all_at(offset, bytes)
    }

    async fn set_size(&mut self, len: u64) -> Result<(), Self::Error> {
        self.0.set_size(len)
    }

    async fn order(&mut self) -> Result<(), Self::Error> {
        self.0.order()
    }

    async fn sync(&mut self) -> Result<(), Self::Error> {
        self.0.sync()
    }
}

/// Two futures of one store do not wait for each other: the second one fails with
/// [`SeekStoreError::Busy`].
#[allow(clippy::await_holding_refcell_ref, reason = "who comes meanwhile is told: Busy")]
impl<T: ErrorType<Error: 'static> + Read + Seek> AsyncReadAt for SeekStore<T> {
    type Error = SeekStoreError<T::Error>;

    async fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Self::Error> {
        if buf.is_empty() {
            return Ok(0);
        }
        let mut device = self.0.try_borrow_mut().map_err(|_| SeekStoreError::Busy)?;
        let moved = device.seek(SeekFrom::Start(offset)).await;
        if moved.as_ref().ok() == Some(&offset) {
            return device.read(buf).await.map_err(SeekStoreError::Device);
        }
        let end = device.seek(SeekFrom::End(0)).await.map_err(SeekStoreError::Device)?;
        super::read_nothing(moved, offset, end)
    }

    async fn size(&self) -> Result<u64, Self::Error> {
        let mut device = self.0.try_borrow_mut().map_err(|_| SeekStoreError::Busy)?;
        device.seek(SeekFrom::End(0)).await.map_err(SeekStoreError::Device)
    }
}

impl<T: ErrorType<Error: 'static> + Read + Write + Seek> AsyncWriteAt for SeekStore<T> {
    async fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Self::Error> {
        let device = self.0.get_mut();
        let end = device.seek(SeekFrom::End(0)).await.map_err(SeekStoreError::Device)?;
        if end < offset {
            write_zeros(device, end, offset).await?;
        }
        device.seek(SeekFrom::Start(offset)).await.map_err(SeekStoreError::Device)?;
        write_all(device, offset, bytes).await
    }

    async fn set_size(&mut self, wanted: u64) -> Result<(), Self::Error> {
        let device = self.0.get_mut();
        let len = device.seek(SeekFrom::End(0)).await.map_err(SeekStoreError::Device)?;
        if wanted < len {
            return Err(SeekStoreError::CannotShrink { len, wanted });
        }
        write_zeros(device, len, wanted).await
    }

    async fn sync(&mut self) -> Result<(), Self::Error> {
        self.0.get_mut().flush().await.map_err(SeekStoreError::Device)
    }
}

/// Writes zeros at the device's cursor, which stands at `from`, up to `to`.
async fn write_zeros<T: Write>(
    device: &mut T,
    mut from: u64,
    to: u64,
) -> Result<(), SeekStoreError<T::Error>> {
    while from < to {
        let left = usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX);
        let zeros = ZEROS.get(..left).unwrap_or(&ZEROS);
        write_all(device, from, zeros).await?;
        from = from.saturating_add(usize_to_u64(zeros.len()));
    }
    Ok(())
}

async fn write_all<T: Write>(
    device: &mut T,
    mut offset: u64,
    mut bytes: &[u8],
) -> Result<(), SeekStoreError<T::Error>> {
    while !bytes.is_empty() {
        let n = device.write(bytes).await.map_err(SeekStoreError::Device)?;
        bytes = bytes.get(n..).filter(|_| n != 0).ok_or(SeekStoreError::Full { offset })?;
        offset = offset.saturating_add(usize_to_u64(n));
    }
    Ok(())
}
