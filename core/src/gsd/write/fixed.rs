//! [`FixedLogger`] logs frames of names that are known when a program is compiled, with less code
//! than a [`Logger`](crate::gsd::Logger). [`OwnLogger`] is the same, but it adds names and moves
//! the index.

mod begin;
mod desk;
mod fault;
mod form;
mod log;
mod logger;
mod medium;
mod own;
mod shape;

pub use fault::Fault;
#[twin(FixedError)]
pub use fault::FixedError;
pub use own::OwnLogger;
pub use shape::Shape;

use crate::gsd::element::Element;
use crate::gsd::kind::ChunkType;
#[twin(WriteAt)]
use crate::store::WriteAt;
use desk::Desk;
use logger::logger;
use striae_twin::twin;

/// Logs frames of at most `N` chunks, one for each name of a [`Shape`], and commits each frame.
///
/// When [`end_frame`](Self::end_frame) returns, the frame survives a power cut, on the same media
/// as with a [`Logger`](crate::gsd::Logger); what that type says of media and wear holds for this
/// one. The files are ordinary GSD files: a `Logger` can open them, and gsd reads them.
///
/// It needs `32 * N` and about 140 bytes of memory, for any `S`, and stack. On a Cortex-M3, by
/// `tests/run firmware`: 232 bytes with 3 names; 1.6 KiB of stack to create or open a file,
/// including the logger itself; 0.7 KiB to end a frame.
///
/// It needs less code and stack than a `Logger` because less can be asked of it. The names and
/// attributes are those of its shape, the index has the length that it was made with, and there
/// are no checksums. It opens only files of its own shape, whole or torn by a power cut. A file to
/// which another program has appended is refused and stays unchanged: a `Logger` can go on with it.
///
/// ```
/// use striae_core::gsd::{Attributes, FixedLogger, Shape};
/// use striae_core::store::{BlockStore, Cached};
/// # let mut card = vec![0xFF_u8; 1 << 20];
/// # let card = striae_core::store::StoreBlocks(card.as_mut_slice());
///
/// const ABOUT: Attributes<'static> =
///     Attributes { application: "probe 1.0", align: 512, ..Attributes::DEFAULT };
/// static SHAPE: Shape<'static, 2> = match Shape::new(&ABOUT, ["temperature", "position"]) {
///     Ok(shape) => shape,
///     Err(_) => panic!("no file can have this shape"), // then it does not compile
/// };
///
/// let store = BlockStore::<_, _>::new(card, [Cached::EMPTY; 1])?;
/// let mut log = FixedLogger::open_or_create(store, &SHAPE)?;
/// log.write(0, &[[21.5_f32]])?;
/// log.write(1, &[[0.5_f64, 1.5, 2.5]])?; // one row of three
/// log.end_frame()?; // it is safe
/// # assert_eq!(log.frames(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FixedLogger<'s, S, const N: usize>(Desk<S, &'s Shape<'s, N>, N>);

logger!(FixedLogger);

#[twin(WriteAt, FixedError)]
impl<'s, S: WriteAt, const N: usize> FixedLogger<'s, S, N> {
    /// Opens the file in `store` to append to it, or creates one if the store is blank. A device
    /// calls this when it starts.
    ///
    /// This never writes over anything that it finds. What *blank* means, and what is not read, is
    /// as for a [`Logger`](crate::gsd::Logger::open_or_create).
    ///
    /// # Errors
    /// [`Fault::NotBlank`] if the store is neither blank nor a GSD file; [`Fault::Another`] for a
    /// file that another program made or changed, or of another shape; [`Fault::Damaged`]; the
    /// store's own error.
    pub async fn open_or_create(store: S, shape: &'s Shape<'s, N>) -> Result<Self, FixedError<S>> {
        let mut logger = Self(Desk::new(store, shape));
        logger.0.begin().await?;
        Ok(logger)
    }
}
