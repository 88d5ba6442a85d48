//! The machine that begins a new file.

use super::book::Fill;
use super::define::Define;
use super::encode::Encode;
use super::error::Error;
use super::plan::Plan;
use crate::step::{Machine, Step};
use core::convert::Infallible;

/// Writes the header of a new file without its first bytes, which the first commit writes. The old
/// content of the store is lost: from the first step on it is no netCDF file.
///
/// The output is an error if the definition has changed since the [`Plan`] was made.
#[derive(Debug)]
pub struct Create<'d, 'w, D: ?Sized> {
    encode: Encode<'d, 'w, D>,
    stage: Stage,
    size: Option<u64>,
}

#[derive(Debug)]
enum Stage {
    Invalidate,
    Sync,
    Size,
    Header,
}

impl<'d, 'w, D: Define + ?Sized> Create<'d, 'w, D> {
    /// Makes a machine that begins the file of `plan`, which was made of `definition`, in a store
    /// of `store_len` bytes. `window` needs [`WINDOW`](super::book::WINDOW) bytes.
    ///
    /// With [`Fill::None`] the store is cut first, so that nothing old is left in the file.
    ///
    /// # Errors
    /// [`Error::Window`] if the window is too short.
    pub fn new(
        definition: &'d D,
        plan: &Plan,
        fill: Fill,
        store_len: u64,
        window: &'w mut [u8],
    ) -> Result<Self, Error> {
        let encode = Encode::new(definition, plan, 0, window)?.hidden();
        let size = Some(plan.header_len()).filter(|_| fill == Fill::None);
        let stage = if store_len == 0 { Stage::Size } else { Stage::Invalidate };
        Ok(Self { encode, stage, size })
    }
}

impl<D: Define + ?Sized> Machine for Create<'_, '_, D> {
    type Output = Result<(), Error>;
    type Error = Infallible;

    fn poll(&mut self) -> Step<'_, Self::Output> {
        match self.stage {
            Stage::Invalidate => {
                self.stage = Stage::Sync;
                Step::Write { offset: 0, bytes: &[0; 12] }
            }
            Stage::Sync => {
                self.stage = Stage::Size;
                Step::Sync
            }
            Stage::Size if self.size.is_some() => {
                self.stage = Stage::Header;
                Step::SetSize { len: self.size.unwrap_or(0) }
            }
            Stage::Size | Stage::Header => {
                self.stage = Stage::Header;
                self.encode.poll()
            }
        }
    }

    fn feed(&mut self, _: &[u8]) -> Result<(), Infallible> {
        Ok(())
    }
}
