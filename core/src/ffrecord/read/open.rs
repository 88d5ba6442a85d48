//! The machine that opens a file: it reads the header and checks the number of samples.

use crate::ffrecord::error::Error;
use crate::ffrecord::layout::Layout;
use crate::ffrecord::raw::Header;
use crate::step::{ReadMachine, ReadStep};
use crate::store::usize_to_u64;
use zerocopy::FromBytes;

/// The head of a file: its length and its header. The tables are not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Head {
    /// The length of the file in bytes.
    pub file_len: u64,
    /// The places of the tables, which are in the file.
    pub layout: Layout,
    /// The CRC-32 of the number of samples and of the tables; 0 if the file has none
    /// (`spec/ffrecord.md#header`).
    pub checksum_meta: u32,
}

impl Head {
    /// The bytes of the header without the tables.
    pub const LEN: usize = size_of::<Header>();

    /// Reads the header of a file of `file_len` bytes from its first [`Head::LEN`] bytes, or from
    /// all bytes of a shorter file.
    ///
    /// # Errors
    /// [`Error::Cut`] if the file ends inside the header; [`Error::TooSmall`] and
    /// [`Error::TooLarge`] for a number of samples that the file cannot have.
    pub fn parse(bytes: &[u8], file_len: u64) -> Result<Self, Error> {
        let (header, _) = Header::ref_from_prefix(bytes).map_err(|_| Error::Cut { file_len })?;
        let (field, offset, value) = (Header::n, 4, header.n.get());
        let n = u64::try_from(value);
        let n = n.map_err(|_| Error::TooSmall { field, offset, value, min: 0 })?;
        let most = Layout::most(file_len);
        let max = i64::try_from(most).unwrap_or(i64::MAX);
        let layout = Layout::new(n).filter(|_| n <= most);
        let layout = layout.ok_or(Error::TooLarge { field, offset, value, max })?;
        Ok(Self { file_len, layout, checksum_meta: header.checksum_meta.get() })
    }

    /// Compares the CRC-32 of the tables, which [`MetaCrc`](crate::ffrecord::MetaCrc) computes,
    /// with the one in the header. As in ffrecord, 0 in the header means no checksum and matches
    /// everything.
    ///
    /// # Errors
    /// [`Error::Checksum`] if they differ.
    pub const fn check_meta(&self, computed: u32) -> Result<(), Error> {
        let stored = self.checksum_meta;
        match stored == computed || stored == 0 {
            true => Ok(()),
            false => {
                let field = Header::checksum_meta;
                Err(Error::Checksum { field, offset: 0, stored, computed })
            }
        }
    }

    /// Checks that sample `number` exists.
    ///
    /// # Errors
    /// [`Error::NoSample`] if there is no such sample.
    pub const fn check_number(&self, number: u64) -> Result<(), Error> {
        let n = self.layout.n();
        if number < n { Ok(()) } else { Err(Error::NoSample { number, n }) }
    }
}

/// Opens a file by one read of [`Open::WINDOW`] bytes.
#[derive(Debug)]
pub struct Open {
    file_len: u64,
    head: Option<Head>,
}

impl Open {
    /// The bytes that the buffer needs.
    pub const WINDOW: usize = Head::LEN;

    /// Makes a machine that opens a file of `file_len` bytes.
    #[must_use]
    pub const fn new(file_len: u64) -> Self {
        Self { file_len, head: None }
    }
}

impl ReadMachine for Open {
    type Output = Head;
    type Error = Error;

    fn poll(&mut self) -> ReadStep<Head> {
        if let Some(head) = self.head {
            return ReadStep::Done(head);
        }
        let want = self.file_len.min(usize_to_u64(Head::LEN));
        ReadStep::Read { offset: 0, need: usize::try_from(want).unwrap_or(0), want }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.head = Some(Head::parse(bytes, self.file_len)?);
        Ok(())
    }
}
