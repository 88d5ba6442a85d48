//! Where there is no file yet, or none that can be read: making one, and bringing back a header.
//!
//! Functions of their own, not to be inlined: what they need of the stack is free again before
//! anything else needs it.

use super::{Slot, WriteError, Writer};
use crate::gsd::ReadError;
use crate::gsd::book::{Tail, check_memory};
use crate::gsd::create::{Attributes, Create, Fills, SHADOW};
use crate::gsd::error::Error;
use crate::gsd::header::Header;
use crate::gsd::open::{InPlace, Open};
use crate::gsd::raw::{self, Commit, Shadow};
use crate::gsd::shadow::SHADOW_LEN;
use crate::integrity::{Checksum, crc32c};
use crate::step::{DriveError, drive, drive_read, read_exact};
use crate::store::{ReadAt, WriteAt, copy_front, usize_to_u64};
use zerocopy::{FromZeros, IntoBytes};

/// The shadow that is not in the sector of the header.
const OTHER_SHADOW: u64 = Shadow::offset_of(SHADOW, 1);

impl<S: WriteAt, B: AsMut<[Slot]>> Writer<S, B> {
    /// Goes on with the file in `store` if it is that of `attributes`, brings its header back if
    /// that was erased, and makes one if `store` is blank.
    pub(in crate::gsd) fn open_or_create(
        mut store: S,
        attributes: &Attributes<'_>,
        mut memory: B,
    ) -> Result<Self, WriteError<S>> {
        bring_back(&mut store, attributes)?;
        if !is_begun(&store)? {
            check_memory(memory.as_mut(), attributes.checksums).map_err(DriveError::Format)?;
            make_in_blank(&mut store, attributes)?;
        }
        let tail = read_own_tail(&store, attributes)?;
        Self::begin(store, memory, crc32c, &tail)
    }
}

/// Makes an empty file in `store`.
#[inline(never)]
pub(super) fn make<S: WriteAt>(
    store: &mut S,
    attributes: &Attributes<'_>,
    checksum: Checksum,
) -> Result<(), WriteError<S>> {
    let store_len = store.size().map_err(DriveError::Store)?;
    let mut create = Create::new(attributes, store_len, checksum); // not moved: it is large
    let create = create.as_mut().map_err(|error| DriveError::Format(*error))?;
    if image_of_erased(store)?.is_some() {
        // While the header goes, its sector may be erased: nothing must bring back an older one.
        store.sync().map_err(DriveError::Store)?;
        store.write_all_at(OTHER_SHADOW, &[0; 8]).map_err(DriveError::Store)?;
        store.sync().map_err(DriveError::Store)?;
    }
    drive(create, store, &mut []).map_err(DriveError::infallible)
}

/// Makes an empty file in `store` if there is nothing but what making it may have left.
#[inline(never)]
fn make_in_blank<S: WriteAt>(
    store: &mut S,
    attributes: &Attributes<'_>,
) -> Result<(), WriteError<S>> {
    let store_len = store.size().map_err(DriveError::Store)?;
    let mut create = Create::new(attributes, store_len, crc32c); // not moved: it is large
    let create = create.as_mut().map_err(|error| DriveError::Format(*error))?;
    let end = create.data_end().min(store_len);
    let (mut at, mut fills) = (0, Fills::ANY);
    while at < end {
        let mut window = [0; 64];
        let len = usize::try_from(end.saturating_sub(at)).unwrap_or(usize::MAX).min(window.len());
        let bytes = window.get_mut(..len).unwrap_or_default();
        read_exact(store, at, bytes)?;
        create.check_blank(at, bytes, &mut fills).map_err(DriveError::Format)?;
        at = at.saturating_add(usize_to_u64(len));
    }
    drive(create, store, &mut []).map_err(DriveError::infallible)
}

/// Whether `store` begins as a GSD file.
fn is_begun<S: WriteAt>(store: &S) -> Result<bool, WriteError<S>> {
    let mut magic = [0; size_of::<u64>()];
    let len = store.size().map_err(DriveError::Store)?;
    if len < usize_to_u64(magic.len()) {
        return Ok(false);
    }
    read_exact(store, 0, &mut magic)?;
    Ok(u64::from_le_bytes(magic) == raw::Header::MAGIC)
}

/// Writes a header again that was erased while it was written (`spec/gsd.md#erased-sectors`), if the
/// file can be gone on with then.
#[inline(never)]
fn bring_back<S: WriteAt>(store: &mut S, attributes: &Attributes<'_>) -> Result<(), WriteError<S>> {
    let Some(header) = erased_header(store, attributes)? else { return Ok(()) };
    check_own(&Restored { store: &*store, header: &header }, attributes)?;
    store.write_all_at(0, header.as_bytes()).map_err(DriveError::Store)?;
    store.sync().map_err(DriveError::Store)
}

/// The header that the second shadow knows, if that of the store is erased.
#[inline(never)]
fn erased_header<S: WriteAt>(
    store: &S,
    attributes: &Attributes<'_>,
) -> Result<Option<raw::Header>, WriteError<S>> {
    let Some(image) = image_of_erased(store)? else { return Ok(None) };
    let header = attributes.restored(&image);
    let mut found = raw::Header::new_zeroed();
    read_exact(store, 0, found.as_mut_bytes())?;
    if !header.is_erased_in(&found) {
        return Ok(None);
    }
    if Header::unchecked(&header).ident_crc(crc32c) != image.commit.ident_crc.get() {
        return Err(DriveError::Format(Error::Another { field: Commit::ident_crc }));
    }
    Ok(Some(header))
}

/// What the header is if its sector is erased, if the second shadow can say so.
#[inline(never)]
fn image_of_erased<S: ReadAt>(store: &S) -> Result<Option<raw::Image>, ReadError<S>> {
    let file_len = store.size().map_err(DriveError::Store)?;
    if file_len < OTHER_SHADOW.saturating_add(Shadow::LEN) {
        return Ok(None);
    }
    let mut bytes = [0; SHADOW_LEN];
    read_exact(store, OTHER_SHADOW, &mut bytes)?;
    Ok(Shadow::parse(&bytes).and_then(|shadow| shadow.header_of(SHADOW)).copied())
}

/// A store as it will be when its header is written again.
struct Restored<'a, S> {
    store: &'a S,
    header: &'a raw::Header,
}

impl<S: WriteAt> ReadAt for Restored<'_, S> {
    type Error = S::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, S::Error> {
        let at = usize::try_from(offset).unwrap_or(usize::MAX);
        match self.header.as_bytes().get(at..).filter(|rest| !rest.is_empty()) {
            Some(rest) => Ok(copy_front(rest, buf)),
            None => self.store.read_at(offset, buf),
        }
    }

    fn size(&self) -> Result<u64, S::Error> {
        self.store.size()
    }
}

/// Whether the file in `store` can be opened, and is that of `attributes`.
#[inline(never)]
fn check_own<S: ReadAt>(store: &S, attributes: &Attributes<'_>) -> Result<(), ReadError<S>> {
    let mut open = Open::new(store.size().map_err(DriveError::Store)?);
    open_own(&mut open, store, &mut [0; Open::WINDOW], Some(attributes))
}

/// As [`read_tail`] of a file that is to be that of `attributes`.
#[inline(never)]
fn read_own_tail<S: ReadAt>(store: &S, attributes: &Attributes<'_>) -> Result<Tail, ReadError<S>> {
    read_tail(store, crc32c, &mut [0; Open::WINDOW], Some(attributes))
}

/// Reads what a writer must know of the file in `store`; with `attributes`, if it is that of these.
#[inline(never)]
pub(super) fn read_tail<S: ReadAt>(
    store: &S,
    checksum: Checksum,
    window: &mut [u8],
    attributes: Option<&Attributes<'_>>,
) -> Result<Tail, ReadError<S>> {
    let mut open = Open::new(store.size().map_err(DriveError::Store)?);
    open_own(&mut open, store, window, attributes)?;
    Tail::of(open.head(), checksum).map_err(DriveError::Format)
}

fn open_own<S: ReadAt>(
    open: &mut Open,
    store: &S,
    window: &mut [u8],
    attributes: Option<&Attributes<'_>>,
) -> Result<(), ReadError<S>> {
    drive_read(&mut InPlace(open), store, window)?;
    match attributes.and_then(|attributes| attributes.differ_from(&open.head().header)) {
        Some(field) => Err(DriveError::Format(Error::Another { field })),
        None => Ok(()),
    }
}
