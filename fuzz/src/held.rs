//! What a physical file holds, chunk by chunk, and whether its seal is right.

use crate::everything::Addresses;
use striae_core::integrity::crc32c;
use striae_core::sion::{Meta1, Opened, Physical, SealState};
use striae_core::store::ReadAt;

/// The chunks of each task.
pub type Tasks = Vec<Vec<Vec<u8>>>;

/// What a reader finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held {
    /// No SIONlib file.
    Nothing,
    /// A file without META2.
    Unclosed,
    /// A closed or committed one.
    Closed {
        /// What was written.
        tasks: Tasks,
        /// Whether it has a seal; it is right then.
        sealed: bool,
        /// The mapping.
        mapping: Addresses,
    },
}

impl Held {
    /// Reads the file `bytes`.
    ///
    /// # Panics
    /// If it starts like a SIONlib file and is not a sound one.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Self {
        match Physical::open(bytes, &mut [0; Meta1::MAX_LEN]) {
            Err(error) if bytes.starts_with(b"sion") => panic!("the file is damaged: {error}"),
            Err(_) => Self::Nothing,
            Ok(Opened::Unclosed(file)) => {
                file.tasks([0; 512]).unwrap().for_each(|task| assert!(task.is_ok()));
                Self::Unclosed
            }
            Ok(Opened::Closed(file)) => Self::Closed {
                tasks: tasks(&file),
                sealed: is_sealed(&file).expect("the seal is wrong"),
                mapping: mapping(&file),
            },
        }
    }
}

fn tasks(file: &Physical<&[u8]>) -> Tasks {
    let tasks = file.tasks([0; 512]).unwrap().map(|listed| {
        let task = listed.unwrap().task;
        let chunks = file.chunk_lens(task, [0; 64]).zip(0..).map(|(len, chunk)| {
            let mut bytes = vec![0; usize::try_from(len.unwrap()).unwrap()];
            let place = task.chunks.chunk(chunk).unwrap();
            file.store().read_exact_at(place.offset(), &mut bytes).unwrap();
            bytes
        });
        chunks.collect()
    });
    tasks.collect()
}

/// Whether the file has a seal, or `None` if that is not right. All of its chunks must be readable.
#[must_use]
pub fn is_sealed(file: &Physical<&[u8]>) -> Option<bool> {
    let SealState::Sealed(seal) = file.seal().ok()? else { return Some(false) };
    let meta1_len = file.meta1().layout().commit_fields().end();
    seal.check_metadata(file.store(), meta1_len, crc32c, &mut [0; 512]).ok()?;
    let maxchunks = file.meta2().maxchunks().into();
    for (chunks, local) in tasks(file).iter().zip(0..) {
        for chunk in 0..maxchunks {
            let used = usize::try_from(chunk).ok().and_then(|chunk| chunks.get(chunk));
            let crc = used.map_or(0, |bytes| crc32c(0, bytes));
            if file.sealed_crc(&seal, local, chunk).unwrap() != crc {
                return None;
            }
        }
    }
    Some(true)
}

fn mapping(file: &Physical<&[u8]>) -> Addresses {
    let mapping = file.mapping().unwrap()?;
    let address = |rank| {
        let mut bytes = [0; 8];
        let place = mapping.entry(rank).unwrap();
        file.store().read_exact_at(place.offset(), &mut bytes).unwrap();
        mapping.address(&bytes)
    };
    Some((0..mapping.len()).map(address).collect())
}
