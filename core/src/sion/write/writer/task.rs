//! A task's stream for code that takes an `embedded_io::Write`.

use super::{WriteError, Writer};
use crate::store::WriteAt;

/// A task's plain stream as `embedded_io::Write`; nothing is buffered.
#[derive(Debug)]
pub struct TaskWriter<'a, 'm, S> {
    pub(super) writer: &'a mut Writer<'m, S>,
    pub(super) local: u32,
}

impl<S: WriteAt> embedded_io::ErrorType for TaskWriter<'_, '_, S> {
    type Error = WriteError<S>;
}

impl<S: WriteAt> embedded_io::Write for TaskWriter<'_, '_, S> {
    /// See [`Writer::write_some`].
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Self::Error> {
        self.writer.write_some(self.local, bytes)
    }

    /// Does nothing, as nothing is buffered. [`Writer::commit`] makes bytes durable.
    fn flush(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}
