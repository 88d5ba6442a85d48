//! Reading from an asynchronous store.

use super::{Reader, find_attr, find_shape, find_variable, places_of, take_all};
use crate::cdf::AsyncError;
use crate::cdf::cursor::Attr;
use crate::cdf::layout::Slab;
use crate::cdf::open::{Survey, Variable};
use crate::span::Span;
use crate::step::{DriveError, drive_read_async, read_exact_async};
use crate::store::AsyncReadAt;

impl<'m, S: AsyncReadAt> Reader<'m, S> {
    /// [`Reader::open`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Reader::open`].
    pub async fn open_async(
        store: S,
        lengths: &'m mut [u64],
        window: &mut [u8],
    ) -> Result<Self, AsyncError<S>> {
        let file_len = store.size().await.map_err(DriveError::Store)?;
        let mut survey = Survey::new(file_len, lengths);
        let head = drive_read_async(&mut take_all(&mut survey), &store, window).await?;
        let head = head.ok_or(DriveError::Ended { offset: file_len })?; // never: the end breaks
        Ok(Self { store, head, lengths: survey.into_lengths() })
    }

    /// [`Reader::variable`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Reader::variable`].
    pub async fn variable_async(
        &self,
        name: &[u8],
        window: &mut [u8],
    ) -> Result<Option<Variable>, AsyncError<S>> {
        let mut find = find_variable(&self.head, self.lengths, name);
        drive_read_async(&mut find, &self.store, window).await
    }

    /// [`Reader::attr`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Reader::attr`].
    pub async fn attr_async(
        &self,
        of: Option<&Variable>,
        name: &[u8],
        window: &mut [u8],
    ) -> Result<Option<Attr>, AsyncError<S>> {
        drive_read_async(&mut find_attr(&self.head, of, name), &self.store, window).await
    }

    /// [`Reader::shape`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Reader::shape`].
    pub async fn shape_async<'s>(
        &self,
        variable: &Variable,
        shape: &'s mut [u64],
        window: &mut [u8],
    ) -> Result<&'s [u64], AsyncError<S>> {
        let places = places_of(variable, shape).map_err(DriveError::Format)?;
        let mut find = find_shape(&self.head, self.lengths, variable, places);
        drive_read_async(&mut find, &self.store, window).await?;
        drop(find);
        Ok(places)
    }

    /// [`Reader::read`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Reader::read`].
    pub async fn read_async(&self, span: Span, buf: &mut [u8]) -> Result<usize, AsyncError<S>> {
        let bytes = span.front_of(buf);
        read_exact_async(&self.store, span.offset(), bytes).await?;
        Ok(bytes.len())
    }

    /// [`Reader::read_slab`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Reader::read_slab`].
    pub async fn read_slab_async(
        &self,
        slab: &Slab<'_>,
        buf: &mut [u8],
    ) -> Result<usize, AsyncError<S>> {
        let mut len = 0_usize;
        for run in slab.runs() {
            let room = buf.get_mut(len..).unwrap_or_default();
            if room.is_empty() {
                break;
            }
            len = len.saturating_add(self.read_async(run, room).await?);
        }
        Ok(len)
    }
}
