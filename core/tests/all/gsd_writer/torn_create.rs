//! A file that is being made is none until it is one, also where a sector is torn.

use super::Disk;
use striae_core::gsd::{Attributes, Error, Logger, Reader};
use striae_core::step::DriveError;
use striae_core::store::{FixedSize, ReadAt, WriteAt};

const SECTOR: usize = 512;

/// A disk whose first sector may be torn until a sync: then it has a front of what was written to
/// it, and behind that what it had at the sync before.
struct Tearing<'a> {
    disk: Disk,
    durable: Vec<u8>,
    see: &'a mut dyn FnMut(&[u8]),
}

impl ReadAt for Tearing<'_> {
    type Error = FixedSize;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, FixedSize> {
        self.disk.read_at(offset, buf)
    }

    fn size(&self) -> Result<u64, FixedSize> {
        self.disk.size()
    }
}

impl WriteAt for Tearing<'_> {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), FixedSize> {
        self.disk.write_all_at(offset, bytes)
    }

    fn set_size(&mut self, len: u64) -> Result<(), FixedSize> {
        self.disk.set_size(len)
    }

    fn sync(&mut self) -> Result<(), FixedSize> {
        for at in 0..=SECTOR {
            let mut torn = self.durable.clone();
            torn[..at].copy_from_slice(&self.disk.bytes[..at]);
            (self.see)(&torn);
        }
        self.durable.clone_from(&self.disk.bytes);
        Ok(())
    }
}

#[test]
fn a_header_torn_while_a_file_is_made_is_none_or_that_of_the_file() {
    for before in [0x00, 0xFF, 0x65] {
        let durable = vec![before; 1 << 15];
        let (mut none, mut files) = (0, 0);
        let mut see = |image: &[u8]| match Reader::open(image, &mut [0; 256]) {
            Err(DriveError::Format(Error::NotGsd { .. })) => none += 1,
            Ok(file) => files += usize::from(file.frames() == 0),
            Err(error) => panic!("neither a file nor none: {error}"),
        };
        let disk = Disk::new(durable.clone());
        let store = Tearing { disk, durable, see: &mut see };
        drop(Logger::<_, 4>::create(store, &Attributes::default()).unwrap());
        assert!(none > 0 && files > 0);
    }
}
