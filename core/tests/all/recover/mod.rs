//! What is recovered of damaged files: what is promised to be exact is what was written.

mod committed;
mod golden;
mod histories;
mod hostile;
mod laws;
mod sealed;

use sha2::{Digest, Sha256};
use striae_core::integrity::crc32c;
use striae_core::sion::ReadError;
use striae_core::sion::recover::{Recovered, Remains, Scratch};

/// A recovered stream: the judgement, the used length of each chunk, and the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stream {
    pub(crate) recovered: Recovered,
    pub(crate) lens: Vec<u64>,
    pub(crate) bytes: Vec<u8>,
}

impl Stream {
    pub(crate) fn is_sound(&self) -> bool {
        self.recovered.certainty.is_sound()
    }

    pub(crate) fn sha256(&self) -> String {
        Sha256::digest(&self.bytes).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// All streams of a physical file.
pub(crate) fn recover(file: &[u8]) -> Result<Vec<Stream>, ReadError<&[u8]>> {
    recover_in(file, 4096)
}

pub(crate) fn recover_in(file: &[u8], window: usize) -> Result<Vec<Stream>, ReadError<&[u8]>> {
    let (mut tables, mut window) = (vec![0; window], vec![0; window]);
    let remains = Remains::read(&file, crc32c, &mut tables)?;
    let mut scratch = Scratch::new(&mut window);
    let mut streams = Vec::new();
    for listed in remains.tasks(&file, &mut tables)? {
        let task = listed?.task;
        let (mut lens, mut bytes) = (Vec::new(), Vec::new());
        let recovered = remains.recover(&file, &task, &mut scratch, &mut |chunk, len| {
            let chunk = usize::try_from(chunk).unwrap();
            assert!(lens.len() <= chunk, "chunks come in order");
            lens.resize(chunk, 0);
            lens.push(len);
            let place = task.chunks.chunk(chunk as u64).unwrap();
            assert!(len <= place.len());
            let start = place.offset() as usize;
            bytes.extend_from_slice(&file[start..start + len as usize]);
            Ok(())
        })?;
        assert!(lens.len() as u64 <= recovered.blockcount);
        assert_eq!(bytes.len() as u64, recovered.bytes);
        if recovered.blockcount < 1 << 20 {
            lens.resize(recovered.blockcount as usize, 0);
        }
        streams.push(Stream { recovered, lens, bytes });
    }
    Ok(streams)
}
