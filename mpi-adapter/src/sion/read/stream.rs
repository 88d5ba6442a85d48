//! The bytes of a task as a `std::io` stream.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};
use striae_core::endian::ByteOrder;
use striae_core::sion::keyval::Value;
use striae_core::sion::position::Ends;
use striae_core::sion::{Error as SionError, KeyvalMode, Record, Records, Stream};
use striae_core::step::DriveError;
use striae_core::store::ReadAt;

/// The lengths of the chunks of a task.
type Lengths<'a> = Ends<&'a [u64]>;

/// The stream of a task, of its [`FileReader`](super::FileReader).
///
/// Each read is a call of the operating system. For reads of a few bytes, wrap it in a
/// [`BufReader`](io::BufReader).
pub struct TaskStream<'a, F> {
    stream: Stream<&'a F, Lengths<'a>>,
    len: u64,
    keyval: KeyvalMode,
    order: ByteOrder,
}

impl<'a, F> TaskStream<'a, F> {
    pub(super) fn new(
        stream: Stream<&'a F, Lengths<'a>>,
        len: u64,
        keyval: KeyvalMode,
        order: ByteOrder,
    ) -> Self {
        Self { stream, len, keyval, order }
    }

    /// Length of the stream in bytes.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether the stream is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<F> fmt::Debug for TaskStream<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let position = self.stream.position();
        f.debug_struct("TaskStream").field("position", &position).finish_non_exhaustive()
    }
}

impl<'a, F> TaskStream<'a, F>
where
    &'a F: ReadAt<Error = io::Error>,
{
    /// The stream position for a (chunk, offset) pointer, as users of SIONlib store them.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] if the task did not use so much of this chunk.
    pub fn position_of(&mut self, chunk: u64, offset: u64) -> io::Result<u64> {
        self.stream.position_of(chunk, offset).map_err(to_io)
    }

    /// All key-value records in stream order; each is read when it is asked for. The position of
    /// this stream is undefined afterwards.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] if the set has no key-value records. An item is an error if
    /// its record is damaged or cannot be read; it is the last item.
    pub fn records(&mut self) -> io::Result<impl Iterator<Item = io::Result<Record>>> {
        let records = self.of_core()?;
        Ok(records.map(|record| record.map_err(to_io)))
    }

    /// The value of `key`: all records with this key, one after another; empty if there is none.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] if the set has no key-value records.
    pub fn value(&mut self, key: u64) -> io::Result<KeyReader<'_, 'a, F>> {
        Ok(KeyReader(self.of_core()?.value(key)))
    }

    fn of_core(&mut self) -> io::Result<Records<'_, &'a F, Lengths<'a>>> {
        match self.keyval {
            KeyvalMode::Inline => Records::new(&mut self.stream, self.order).map_err(to_io),
            _ => Err(to_io(DriveError::Format(SionError::NoKeyval))),
        }
    }
}

impl<'a, F> Read for TaskStream<'a, F>
where
    &'a F: ReadAt<Error = io::Error>,
{
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        embedded_io::Read::read(&mut self.stream, buf).map_err(to_io)
    }
}

impl<'a, F> Seek for TaskStream<'a, F>
where
    &'a F: ReadAt<Error = io::Error>,
{
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        embedded_io::Seek::seek(&mut self.stream, to.into()).map_err(to_io)
    }
}

/// The value of a key: the values of its records, one after another.
pub struct KeyReader<'s, 'a, F>(Value<'s, &'a F, Lengths<'a>>);

impl<F> fmt::Debug for KeyReader<'_, '_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyReader").finish_non_exhaustive()
    }
}

impl<'a, F> Read for KeyReader<'_, 'a, F>
where
    &'a F: ReadAt<Error = io::Error>,
{
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        embedded_io::Read::read(&mut self.0, buf).map_err(to_io)
    }
}

fn to_io(error: DriveError<io::Error, SionError>) -> io::Error {
    match error {
        DriveError::Store(error) => error,
        DriveError::Ended { .. } => io::Error::new(io::ErrorKind::UnexpectedEof, error.to_string()),
        DriveError::Format(error) if !error.blames_caller() => {
            io::Error::new(io::ErrorKind::InvalidData, error.to_string())
        }
        _ => io::Error::new(io::ErrorKind::InvalidInput, error.to_string()),
    }
}
