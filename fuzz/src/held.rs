//! What a physical file holds, chunk by chunk, and whether its seal is right.

use striae_core::integrity::crc32c;
use striae_core::sion::{Meta1, Opened, Physical, SealState};
use striae_core::store::ReadAt;
use striae_kit::everything::Addresses;

/// What each task wrote.
pub type Tasks = Vec<Stream>;

/// A task's stream, and how it is cut into chunks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stream {
    /// All of its bytes.
    pub bytes: Vec<u8>,
    /// How many of them are in each chunk.
    pub lens: Vec<usize>,
}

impl Stream {
    /// Its chunks.
    pub fn chunks(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.bytes.as_slice();
        self.lens.iter().map(move |&len| {
            let (chunk, behind) = rest.split_at(len);
            rest = behind;
            chunk
        })
    }
}

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
        let listed = listed.unwrap();
        let mut bytes = vec![0; usize::try_from(listed.bytes).unwrap()];
        let (mut lens, mut end) = (Vec::new(), 0);
        for (len, chunk) in file.chunk_lens(listed.task, [0; 64]).zip(0..) {
            let len = usize::try_from(len.unwrap()).unwrap();
            if len > 0 {
                let place = listed.task.chunks.chunk(chunk).unwrap();
                file.store().read_exact_at(place.offset(), &mut bytes[end..end + len]).unwrap();
            }
            lens.push(len);
            end += len;
        }
        Stream { bytes, lens }
    });
    tasks.collect()
}

/// Whether the file has a seal, or `None` if that is not right. All of its chunks must be readable.
#[must_use]
pub fn is_sealed(file: &Physical<&[u8]>) -> Option<bool> {
    let SealState::Sealed(seal) = file.seal().ok()? else { return Some(false) };
    seal.check_metadata(file.store(), crc32c, &mut [0; 512]).ok()?;
    let maxchunks = file.meta2().maxchunks().into();
    for (stream, local) in tasks(file).iter().zip(0..) {
        let mut chunks = stream.chunks();
        for chunk in 0..maxchunks {
            let crc = chunks.next().map_or(0, |bytes| crc32c(0, bytes));
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
