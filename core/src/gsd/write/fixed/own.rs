//! [`OwnLogger`] logs to files that striae made, under names that are given while it runs.

mod form;

use super::desk::Desk;
use super::fault::Fault;
#[twin(FixedError)]
use super::fault::FixedError;
use super::form::Form;
use super::logger::logger;
use super::shape::Shape;
use crate::gsd::disk::header::Version;
use crate::gsd::disk::names::FindName;
use crate::gsd::element::Element;
use crate::gsd::error::Error;
use crate::gsd::kind::ChunkType;
use crate::gsd::write::medium::PIECE;
#[twin(drive_read)]
use crate::step::drive_read;
#[twin(WriteAt)]
use crate::store::WriteAt;
use form::Own;
use striae_twin::twin;

/// Logs frames of at most `N` chunks to files that striae made, and commits each frame.
///
/// It is between a [`Logger`](crate::gsd::Logger), which goes on with files of any program, and a
/// [`FixedLogger`](super::FixedLogger), whose names are known when the program is compiled: names
/// are added at any time, and the index and the name list move when they are full. When
/// [`end_frame`](Self::end_frame) returns, the frame survives a power cut, on the same media as
/// with a `Logger`; what that type says of media and wear holds for this one. The files are
/// ordinary GSD files: a `Logger` can open them, and gsd reads them.
///
/// It opens only files with the attributes of its shape, whole or torn by a power cut. A file to
/// which another program has appended is refused and stays unchanged: a `Logger` can go on with it.
/// There are no checksums and no commits of one sync.
///
/// It needs `32 * N` and about 240 bytes of memory, for any `S`, and stack. On a Cortex-M3, by
/// `tests/run firmware`: 360 bytes with 4 chunks a frame; 1.8 KiB of stack to create or open a
/// file, including the logger itself; 0.7 KiB to end a frame; 0.5 KiB for a name.
///
/// ```
/// use striae_core::gsd::{Attributes, OwnLogger, Shape};
/// use striae_core::store::{BlockStore, Cached};
/// # let mut card = vec![0xFF_u8; 1 << 20];
/// # let card = striae_core::store::StoreBlocks(card.as_mut_slice());
///
/// const ABOUT: Attributes<'static> =
///     Attributes { application: "probe 1.0", align: 512, ..Attributes::DEFAULT };
/// static SHAPE: Shape<'static, 0> = match Shape::new(&ABOUT, []) {
///     Ok(shape) => shape,
///     Err(_) => panic!("no file can have these attributes"), // then it does not compile
/// };
///
/// let store = BlockStore::<_, _>::new(card, [Cached::EMPTY; 1])?;
/// let mut log = OwnLogger::<_, 4>::open_or_create(store, &SHAPE)?;
/// let temperature = log.name("temperature")?;
/// log.write(temperature, &[[21.5_f32]])?;
/// log.end_frame()?; // it is safe
/// # assert_eq!((log.frames(), log.names()), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct OwnLogger<'s, S, const N: usize>(Desk<S, Own<'s>, N>);

logger!(OwnLogger);

impl<S, const N: usize> OwnLogger<'_, S, N> {
    /// The number of names, including those that are not committed.
    #[must_use]
    pub const fn names(&self) -> u32 {
        self.0.log.form.count()
    }
}

/// Opening files and adding names. Dropping a future of an asynchronous form counts as a failed
/// call: call it again, or [`discard_frame`](Self::discard_frame).
#[twin(WriteAt, FixedError)]
impl<'s, S: WriteAt, const N: usize> OwnLogger<'s, S, N> {
    /// Opens the file in `store` to append to it, or creates one if the store is blank; see
    /// [`FixedLogger::open_or_create`](super::FixedLogger::open_or_create). Names that the shape
    /// may have are those of a new file.
    ///
    /// # Errors
    /// As of that method.
    pub async fn open_or_create(store: S, shape: &'s Shape<'s, 0>) -> Result<Self, FixedError<S>> {
        let mut logger = Self(Desk::new(store, Own::new(shape.base())));
        logger.0.begin().await?;
        Ok(logger)
    }

    /// The id of a name. A new name is added, and the next commit includes it. Call it once for
    /// each name when the device starts.
    ///
    /// # Errors
    /// [`Fault::BadName`](Fault::BadName) if no file can have the name;
    /// [`Fault::Full`](Fault::Full) if no other name has a place; the store's own error.
    /// There is no new name then.
    pub async fn name(&mut self, name: &str) -> Result<u16, FixedError<S>> {
        self.0.name(name.as_bytes()).await
    }
}

#[twin(WriteAt, FixedError)]
impl<S: WriteAt, const N: usize> Desk<S, Own<'_>, N> {
    /// The id of a name, which is added if the log does not have it.
    pub(super) async fn name(&mut self, name: &[u8]) -> Result<u16, FixedError<S>> {
        self.disk.recognise(&self.log).await?;
        match self.find_name(name).await? {
            Some(id) => Ok(id),
            None => self.add_name(name).await,
        }
    }

    #[inline(never)]
    async fn find_name(&mut self, name: &[u8]) -> Result<Option<u16>, FixedError<S>> {
        let mut find = FindName::new(name, self.log.form.list(), Version::LAYER);
        let found = drive_read(&mut find, &self.disk.store, &mut [0; PIECE]).await;
        found.map_err(|error| error.map_format(never))
    }

    /// Adds a name, which the next commit makes visible.
    #[inline(never)]
    async fn add_name(&mut self, name: &[u8]) -> Result<u16, FixedError<S>> {
        let block = self.log.name_block(name)?;
        let (list, to) = (self.log.form.list(), block.exact_span());
        let has = self.log.form.names_in(block);
        // Other lists than that of the next commit are not shown without all of their names.
        self.log.has_torn_name |= block == self.log.form.next().names;
        self.disk.fill(to.skip(has), list.skip(has), name).await?;
        Ok(self.log.add_name(block, name))
    }
}

/// The error of a search for a name, which does not fail.
const fn never(_: Error) -> Fault {
    Fault::Damaged
}
