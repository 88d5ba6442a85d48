//! A file that is being made is none until it is one, also where a sector is torn.

use super::{Change, Disk, Hooked};
use striae_core::gsd::{Attributes, Error, Logger, Reader};
use striae_core::step::DriveError;

const SECTOR: usize = 512;

/// The first sector may be torn until a sync: then it has a front of what was written to it, and
/// after that what it had at the sync before.
#[test]
fn a_header_torn_while_a_file_is_made_is_none_or_that_of_the_file() {
    for before in [0x00, 0xFF, 0x65] {
        let mut durable = vec![before; 1 << 15];
        let (mut none, mut files) = (0, 0);
        let mut see = |image: &[u8]| match Reader::open(image, &mut [0; 256]) {
            Err(DriveError::Format(Error::NotGsd { .. })) => none += 1,
            Ok(file) => files += usize::from(file.frames() == 0),
            Err(error) => panic!("neither a file nor none: {error}"),
        };
        let disk = Disk::new(durable.clone());
        let hook = |disk: &mut Disk, change: Change<'_>| {
            if let Change::Sync = change {
                for at in 0..=SECTOR {
                    see(&[&disk.bytes[..at], &durable[at..]].concat());
                }
                durable.clone_from(&disk.bytes);
            }
            change.make(disk)
        };
        let store = Hooked { disk, hook };
        drop(Logger::<_, 4>::create(store, &Attributes::default()).unwrap());
        assert!(none > 0 && files > 0);
    }
}
