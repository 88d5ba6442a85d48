//! The start of a writer: it opens the file, makes a new one, or restores an erased header.

use super::tail::{Stands, Tail};
use super::waiting::Counts;
use crate::gsd::create::{Attributes, Blank, Create, OTHER_SHADOW, SHADOW};
use crate::gsd::error::Error;
use crate::gsd::header::Header;
use crate::gsd::open::{InPlace, Open};
use crate::gsd::raw::{self, Commit, Shadow};
use crate::integrity::Checksum;
use crate::step::{Machine, ReadMachine, ReadStep, Step};
use crate::store::usize_to_u64;
use zerocopy::{FromBytes, FromZeros, IntoBytes};

/// The file that a writer starts with.
#[derive(Debug, Clone, Copy)]
pub(in crate::gsd) enum Start<'a> {
    /// The existing file.
    Open,
    /// A new file.
    Create(&'a Attributes<'a>),
    /// The existing file if it has these attributes, with its header restored if it was erased
    /// (`spec/gsd.md#erased-sectors`), or a new file in a blank store.
    Log(&'a Attributes<'a>),
}

/// Finds out what a writer must know about the file in a store.
///
/// It has one part at a time, made in place: on a device, nothing else needs so much of the stack.
/// For the same reason, what a function keeps on the stack is not needed by those that it calls.
#[derive(Debug)]
pub(in crate::gsd) struct Begin<'b> {
    /// The state to make. Until then, its image is the one to restore.
    tail: &'b mut Tail,
    start: Start<'b>,
    checksum: Checksum,
    store_len: u64,
    memory_len: usize,
    stage: Stage,
    /// How far the store was read and is blank.
    blank: Option<Blank>,
    failed: Option<Error>,
}

#[derive(Debug)]
enum Stage {
    Begin,
    /// Reads the shadows at their offsets, then the header at 0, whose sector may be erased.
    Front(u64),
    /// Opens the file as it is after the restoration.
    Restored(Open),
    /// Writes the restored header; whether it is written.
    Restore(raw::Header, bool),
    /// Reads the magic, to see if there is a file.
    Magic,
    /// Makes the store so long, before anything is lost.
    Grow(u64),
    /// The header's sector may be erased while it is replaced: then no shadow may restore an old
    /// header.
    SyncOld,
    /// Clears the magic of the shadow at this offset.
    Forget(u64),
    SyncForgotten,
    Create(Create),
    Open(Open),
    Done,
}

impl<'b> Begin<'b> {
    /// Makes the machine for a store of `store_len` bytes and `memory_len` bytes of memory for
    /// waiting entries.
    #[inline]
    pub(super) const fn new(
        tail: &'b mut Tail,
        start: Start<'b>,
        checksum: Checksum,
        store_len: u64,
        memory_len: usize,
    ) -> Self {
        Self {
            tail,
            start,
            checksum,
            store_len,
            memory_len,
            stage: Stage::Begin,
            blank: None,
            failed: None,
        }
    }

    /// The attributes of a new file, which an existing file must have.
    const fn attributes(&self) -> Option<&'b Attributes<'b>> {
        match self.start {
            Start::Create(attributes) | Start::Log(attributes) => Some(attributes),
            Start::Open => None,
        }
    }

    /// Whether the store has room for the shadows.
    const fn has_shadows(&self) -> bool {
        self.store_len >= SHADOW.saturating_add(Shadow::BOTH_LEN)
    }

    fn fail(&mut self, error: Error) {
        (self.failed, self.stage) = (Some(error), Stage::Done);
    }

    #[inline(never)]
    fn feed_shadow(&mut self, bytes: &[u8]) {
        let Stage::Front(offset) = &mut self.stage else { return };
        let image = &mut self.tail.image;
        Shadow::prove(bytes, *offset, image);
        if *offset == SHADOW {
            *offset = OTHER_SHADOW;
        } else if image.commit.layer == 0 {
            self.stage = Stage::Magic;
        } else if let Start::Create(_) = self.start {
            self.create(); // fails before anything is lost
            if let (Stage::Create(create), None) = (&self.stage, self.failed) {
                self.stage = Stage::Grow(create.len());
            }
        } else {
            *offset = 0;
        }
    }

    fn feed_header(&mut self, bytes: &[u8]) {
        let Ok((found, _)) = raw::Header::ref_from_prefix(bytes) else { return };
        if found.has_record() {
            return self.stage = Stage::Magic;
        }
        match self.is_erased(found) {
            Some(Ok(())) => self.open_restored(),
            Some(Err(error)) => self.fail(error),
            None => self.stage = Stage::Magic,
        }
    }

    /// Whether the header that was `found` is the one to restore, and was erased: `None` if not,
    /// and an error if the one to restore is of another program.
    #[inline(never)]
    fn is_erased(&self, found: &raw::Header) -> Option<Result<(), Error>> {
        let mut header = raw::Header::new_zeroed();
        self.restored(&mut header);
        if !header.is_erased_in(found) {
            return None;
        }
        let is_own = header.ident_crc(self.checksum) == self.tail.image.commit.ident_crc.get();
        Some(is_own.then_some(()).ok_or(Error::Another { field: Commit::ident_crc }))
    }

    /// Sets `header`, which is zeros, to the one to restore.
    fn restored(&self, header: &mut raw::Header) {
        if let Some(attributes) = self.attributes() {
            attributes.restore(header, &self.tail.image);
        }
    }

    #[inline(never)]
    fn open_restored(&mut self) {
        self.stage = Stage::Restored(Open::new(self.store_len));
    }

    /// Opens the file with the restored header in place of the stored one.
    fn feed_restored(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let Stage::Restored(open) = &mut self.stage else { return Ok(()) };
        match ReadMachine::poll(&mut InPlace(open)) {
            ReadStep::Read { offset: 0, .. } => self.feed_restored_header(bytes.len()),
            _ => ReadMachine::feed(&mut InPlace(open), bytes),
        }
    }

    #[inline(never)]
    fn feed_restored_header(&mut self, len: usize) -> Result<(), Error> {
        let mut header = raw::Header::new_zeroed();
        self.restored(&mut header);
        let Stage::Restored(open) = &mut self.stage else { return Ok(()) };
        let bytes = header.as_bytes().get(..len);
        let bytes = bytes.ok_or(Error::Another { field: Commit::ident_crc })?;
        ReadMachine::feed(&mut InPlace(open), bytes)
    }

    /// Checks that the opened file has the expected attributes.
    fn check_own(&self, header: &Header) -> Result<(), Error> {
        match self.start {
            Start::Log(attributes) => match attributes.differ_from(header) {
                Some(field) => Err(Error::Another { field }),
                None => Ok(()),
            },
            Start::Open | Start::Create(_) => Ok(()),
        }
    }

    #[inline(never)]
    fn restore(&mut self) {
        let Stage::Restored(open) = &self.stage else { return };
        let Some(head) = open.head() else { return };
        match self.check_own(&head.header) {
            Ok(()) => self.stage = Stage::Restore(raw::Header::new_zeroed(), false),
            Err(error) => return self.fail(error),
        }
        let (attributes, image) = (self.attributes(), &self.tail.image);
        if let (Stage::Restore(header, _), Some(attributes)) = (&mut self.stage, attributes) {
            attributes.restore(header, image);
        }
    }

    /// Begins to make a file.
    fn create(&mut self) {
        let Some(attributes) = self.attributes() else { return };
        if let Err(error) = Counts::new(self.memory_len, attributes.checksums) {
            return self.fail(error);
        }
        self.create_nothing();
        let Stage::Create(create) = &mut self.stage else { return };
        if let Err(error) = create.set(attributes, self.store_len, self.checksum) {
            self.fail(error);
        }
    }

    #[inline(never)]
    fn create_nothing(&mut self) {
        self.stage = Stage::Create(Create::nothing());
    }

    #[inline(never)]
    fn open(&mut self) {
        self.stage = Stage::Open(Open::new(self.store_len));
    }

    #[inline(never)]
    fn opened(&mut self) {
        let Stage::Open(open) = &self.stage else { return };
        let Some(head) = open.head() else { return };
        let checked = self.check_own(&head.header);
        match checked.and_then(|()| self.tail.set(head, self.checksum)) {
            Ok(()) => {
                if let Start::Create(_) = self.start {
                    self.tail.stands = Stands::Durable;
                }
                self.stage = Stage::Done;
            }
            Err(error) => self.fail(error),
        }
    }

    /// The next read. It continues to the first stage that does not read.
    fn read(&mut self) -> Option<ReadStep<Result<(), Error>>> {
        let read = |offset, len: usize| {
            Some(ReadStep::Read { offset, need: len, want: usize_to_u64(len) })
        };
        loop {
            let part = match &mut self.stage {
                Stage::Begin => {
                    match self.start {
                        Start::Open => self.open(),
                        _ if self.has_shadows() => {
                            self.tail.image.zero();
                            self.stage = Stage::Front(SHADOW);
                        }
                        _ => self.stage = Stage::Magic,
                    }
                    continue;
                }
                Stage::Front(offset) => return read(*offset, size_of::<Shadow>()),
                Stage::Magic => match self.start {
                    Start::Log(_) if self.store_len >= 8 => return read(0, 8),
                    _ => {
                        self.begin_new();
                        continue;
                    }
                },
                Stage::Restored(open) | Stage::Open(open) => ReadMachine::poll(&mut InPlace(open)),
                Stage::Create(create) if create.is_done() => {
                    self.store_len = self.store_len.max(create.data_end());
                    self.open();
                    continue;
                }
                _ => return self.blank.as_ref()?.read(),
            };
            match part {
                ReadStep::Read { offset, need, want } => {
                    return Some(ReadStep::Read { offset, need, want });
                }
                ReadStep::Done(()) if matches!(self.stage, Stage::Open(_)) => self.opened(),
                ReadStep::Done(()) => self.restore(),
            }
        }
    }

    /// No file exists: makes one. A logger only does so in a blank store.
    fn begin_new(&mut self) {
        self.create();
        if let (Start::Log(_), Stage::Create(create)) = (self.start, &self.stage) {
            self.blank = Some(Blank::unseen(create.data_end(), self.store_len));
        }
    }
}

impl Machine for Begin<'_> {
    type Output = Result<(), Error>;
    type Error = Error;

    fn poll(&mut self) -> Step<'_, Result<(), Error>> {
        const ZEROS: [u8; 8] = [0; 8];
        if let Some(read) = self.read() {
            return read.into();
        }
        match &mut self.stage {
            Stage::Restore(_, true) => {
                self.open();
                return Step::Sync;
            }
            Stage::Grow(len) => {
                let len = *len;
                self.stage = Stage::SyncOld;
                return Step::SetSize { len };
            }
            Stage::SyncOld => {
                self.stage = Stage::Forget(SHADOW);
                return Step::Sync;
            }
            Stage::Forget(offset) => {
                let offset = *offset;
                self.stage = match offset {
                    SHADOW => Stage::Forget(OTHER_SHADOW),
                    _ => Stage::SyncForgotten,
                };
                return Step::Write { offset, bytes: &ZEROS };
            }
            Stage::SyncForgotten => {
                self.stage = Stage::Magic;
                return Step::Sync;
            }
            _ => {}
        }
        match &mut self.stage {
            Stage::Restore(header, is_written) => {
                *is_written = true;
                Step::Write { offset: 0, bytes: header.as_bytes() }
            }
            Stage::Create(create) => create.poll().map(Ok),
            _ => Step::Done(self.failed.map_or(Ok(()), Err)),
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        match &mut self.stage {
            Stage::Front(1..) => self.feed_shadow(bytes),
            Stage::Front(_) => self.feed_header(bytes),
            Stage::Restored(..) => return self.feed_restored(bytes),
            Stage::Magic => {
                let is_begun = bytes.starts_with(&raw::Header::MAGIC.to_le_bytes());
                if is_begun { self.open() } else { self.begin_new() }
            }
            Stage::Create(create) => {
                if let Some(blank) = &mut self.blank {
                    blank.see(bytes, create, |_| None)?;
                }
            }
            Stage::Open(open) => return ReadMachine::feed(&mut InPlace(open), bytes),
            _ => {}
        }
        Ok(())
    }
}

const _: () = assert!(size_of::<Shadow>() == size_of::<raw::Header>());
