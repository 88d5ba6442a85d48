//! A task's stream for code that takes an `embedded_io::Write`.

use super::{WriteError, Writer};
#[cfg(doc)]
use crate::sion::error::Error;
use crate::store::WriteAt;

/// A task's plain stream as `embedded_io::Write`; nothing is buffered.
#[derive(Debug)]
pub struct TaskWriter<'a, 'm, S> {
    writer: &'a mut Writer<'m, S>,
    local: u32,
}

impl<'m, S: WriteAt> Writer<'m, S> {
    /// The plain stream of task `local` as `embedded_io::Write`.
    ///
    /// # Errors
    /// [`Error::NoTask`] if there is no such task; [`Error::OnlyKeyval`] if streams are key-value
    /// records.
    pub fn task(&mut self, local: u32) -> Result<TaskWriter<'_, 'm, S>, WriteError<S>> {
        self.check_plain()?;
        self.cursor(local)?;
        Ok(TaskWriter { writer: self, local })
    }
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
