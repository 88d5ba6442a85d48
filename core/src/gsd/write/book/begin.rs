//! The start of a writer: it opens the file, makes a new one, or restores an erased header.

use super::desk::{Desk, Failure};
use super::tail::{Found, Stands, Tail};
use super::waiting::Counts;
use crate::gsd::disk::header::ident_crc;
use crate::gsd::error::Error;
use crate::gsd::raw::{self, Commit, Shadow};
use crate::gsd::read::open::Open;
use crate::gsd::verdict::Read;
use crate::gsd::write::create::{Attributes, Create, OTHER_SHADOW, SHADOW};
use crate::gsd::write::medium::Errors;
use crate::span::Span;
use crate::step::DriveError;
#[twin(WriteAt)]
use crate::store::WriteAt;
use crate::store::copy_front;
use striae_twin::twin;
use zerocopy::{FromZeros, IntoBytes};

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

#[twin(WriteAt)]
impl<S: WriteAt> Desk<'_, S, S::Error> {
    /// Opens the file, or makes it. The parts are separate functions: each one's place on a small
    /// stack is free for the others.
    pub(super) async fn start(
        &mut self,
        start: Start<'_>,
        memory_len: usize,
        window: &mut [u8],
    ) -> Result<(), Failure> {
        match start {
            Start::Open => {}
            Start::Create(attributes) => {
                if self.find_proof().await? {
                    self.forget_shadows(attributes, memory_len).await?;
                }
                self.create(start, attributes, memory_len, window).await?;
            }
            Start::Log(attributes) => {
                let is_proved = self.find_proof().await?;
                if is_proved && self.is_erased(attributes).await? {
                    self.restore(attributes, window).await?;
                } else if !self.has_magic().await? {
                    self.create(start, attributes, memory_len, window).await?;
                }
            }
        }
        self.open(start, window).await
    }

    #[inline(never)]
    async fn open(&mut self, start: Start<'_>, window: &mut [u8]) -> Result<(), Failure> {
        let attributes = match start {
            Start::Log(attributes) => Some(attributes),
            Start::Open | Start::Create(_) => None,
        };
        let mut open = Open::new(self.tail.store_len);
        self.read_open(&mut open, &[], attributes, window).await?;
        let judge = open.judge();
        let image = judge.image();
        let set = self.tail.set(&Found {
            image,
            kind: judge.kind,
            is_torn: judge.is_torn_or_older(),
            counted: open.counted(),
            ident_crc: ident_crc(image.schema_version, open.texts(), self.checksum),
            file_len: self.tail.store_len,
        });
        self.disk.check(set)?;
        if let Start::Create(_) = start {
            self.tail.stands = Stands::Durable;
        }
        Ok(())
    }

    /// Whether the shadows prove a header: it is the tail's image then.
    #[inline(never)]
    async fn find_proof(&mut self) -> Result<bool, Failure> {
        let Tail { image, store_len, .. } = self.tail;
        image.zero();
        self.disk.find_proof(*store_len, &mut [0; size_of::<Shadow>()], image).await?;
        Ok(self.tail.image.commit.layer != 0)
    }

    /// Clears the magic of the shadows, if the new file can be made: the header's sector may be
    /// erased while it is replaced, and then no shadow may restore an old header.
    #[inline(never)]
    async fn forget_shadows(
        &mut self,
        attributes: &Attributes<'_>,
        memory_len: usize,
    ) -> Result<(), Failure> {
        let len = self.len_of_new(attributes, memory_len);
        let len = self.disk.check(len)?; // fails before anything is lost
        self.disk.set_size(len).await?;
        self.disk.sync().await?;
        self.disk.write(SHADOW, &[0; 8]).await?;
        self.disk.write(OTHER_SHADOW, &[0; 8]).await?;
        self.disk.sync().await
    }

    /// Whether the header that is proved was erased; an error if it is of another program.
    #[inline(never)]
    async fn is_erased(&mut self, attributes: &Attributes<'_>) -> Result<bool, Failure> {
        let (mut found, mut header) = (raw::Header::new_zeroed(), raw::Header::new_zeroed());
        self.disk.read(0, found.as_mut_bytes()).await?;
        attributes.restore(&mut header, &self.tail.image);
        if found.has_record() || !header.is_erased_in(&found) {
            return Ok(false);
        }
        match header.ident_crc(self.checksum) == self.tail.image.commit.ident_crc.get() {
            true => Ok(true),
            false => Err(self.disk.fail(&Error::Another { field: Commit::ident_crc })),
        }
    }

    /// Writes the header that is proved, if the file can be opened with it.
    #[inline(never)]
    async fn restore(
        &mut self,
        attributes: &Attributes<'_>,
        window: &mut [u8],
    ) -> Result<(), Failure> {
        let mut header = raw::Header::new_zeroed();
        attributes.restore(&mut header, &self.tail.image);
        let mut open = Open::new(self.tail.store_len);
        self.read_open(&mut open, header.as_bytes(), Some(attributes), window).await?;
        self.disk.restore(&header).await
    }

    /// Opens the file, as if it had this header, if there is one; it must have these attributes.
    #[inline(never)]
    async fn read_open(
        &mut self,
        open: &mut Open,
        header: &[u8],
        attributes: Option<&Attributes<'_>>,
        window: &mut [u8],
    ) -> Result<(), Failure> {
        while !open.is_done() {
            let Read { offset, need, want } = open.next_read();
            let part = Span::exact(offset, want).front_of(window);
            if part.len() < need {
                return Err(self.disk.errors.take(DriveError::BufferTooSmall { need }));
            }
            self.disk.read(offset, part).await?;
            if offset == 0 {
                copy_front(header, part);
            }
            self.disk.check(open.feed_stage(part))?;
        }
        let schema_version = open.judge().image.schema_version.get();
        let differs =
            |attributes: &Attributes<'_>| attributes.differ_from(open.texts(), schema_version);
        match attributes.and_then(differs) {
            Some(field) => Err(self.disk.fail(&Error::Another { field })),
            None => Ok(()),
        }
    }

    /// Whether there is a file.
    async fn has_magic(&mut self) -> Result<bool, Failure> {
        let mut magic = [0; 8];
        if self.tail.store_len >= 8 {
            self.disk.read(0, &mut magic).await?;
        }
        Ok(u64::from_le_bytes(magic) == raw::Header::MAGIC)
    }

    /// Makes a new file; a logger does so only in a blank store.
    #[inline(never)]
    async fn create(
        &mut self,
        start: Start<'_>,
        attributes: &Attributes<'_>,
        memory_len: usize,
        window: &mut [u8],
    ) -> Result<(), Failure> {
        let mut create = Create::nothing();
        let can = self.can_make(&mut create, attributes, memory_len);
        self.disk.check(can)?;
        if let Start::Log(_) = start {
            self.disk.check_blank(&create, self.tail.store_len, window, |_| None).await?;
        }
        let made = create.run(&mut *self.disk.store).await;
        self.disk.done(made)?;
        self.tail.store_len = create.len();
        Ok(())
    }
}

impl<S, E> Desk<'_, S, E> {
    /// Sets `create` to make a file of these attributes, if it can be made.
    fn can_make(
        &self,
        create: &mut Create,
        attributes: &Attributes<'_>,
        memory_len: usize,
    ) -> Result<(), Error> {
        Counts::new(memory_len, attributes.checksums)?;
        create.set(attributes, self.tail.store_len, self.checksum)
    }

    /// The length of the store with a new file of these attributes, if it can be made.
    #[inline(never)]
    fn len_of_new(&self, attributes: &Attributes<'_>, memory_len: usize) -> Result<u64, Error> {
        let mut create = Create::nothing();
        self.can_make(&mut create, attributes, memory_len)?;
        Ok(create.len())
    }
}
