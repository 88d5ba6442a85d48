//! Files that were never closed.

use crate::host::{Cursor, Host};
use crate::{Fail, entries};
use striae_core::integrity::crc32c;
use striae_core::sion::Error;
use striae_core::sion::recover::{
    Remains, Scratch, SetCommit, Sparse, WINDOW, first_nonzero, used_len,
};
use striae_core::span::Span;
use striae_core::store::SeekStore;

impl Sparse for Host {}

fn recover<S: Sparse>(store: &S, window: &mut [u8]) -> Result<u64, Fail>
where
    S::Error: core::error::Error,
{
    let mut tables = [0; WINDOW];
    let remains = Remains::read(store, crc32c, window)?;
    let mut sum = remains.blocks().globalskip ^ remains.head().file_len;
    sum ^= remains.varheader().map_or(0, |varheader| varheader.start());
    let mut scratch = Scratch::new(window);
    for listed in remains.tasks(store, &mut tables)? {
        let mut chunks = 0u64;
        let mut each = |chunk: u64, len: u64| {
            chunks ^= chunk ^ len;
            if chunk > 1 << 20 { Err(Error::FileFull { chunk }) } else { Ok(()) }
        };
        let recovered = remains.recover(store, &listed?.task, &mut scratch, &mut each)?;
        sum ^= chunks ^ recovered.bytes ^ u64::from(recovered.certainty.is_sound());
        sum ^= u64::from(recovered.certainty.is_exact());
    }
    let number = match remains.set_commit() {
        SetCommit::Number(number) => number,
        SetCommit::Own | SetCommit::Unknown => remains.last_set_number(store, &mut tables)?,
    };
    let other = remains.at_set_commit(store, number, &mut tables)?;
    sum ^= u64::from(remains.set_identity().unwrap_or(0));
    let is_other = other.is_some_and(|other| other.is_sealed());
    Ok(sum ^ u64::from(remains.is_sealed()) ^ u64::from(is_other))
}

entries! {
    fn gate_sion_recover(window) {
        recover(&Host { file: 0 }, window)
    }

    fn gate_sion_recover_on_seek_store(window) {
        recover(&SeekStore::new(Cursor::default()), window)
    }

    fn gate_sion_used_len(window, offset: u64, len: u64) {
        let span = Span::new(offset, len).ok_or(Fail)?;
        Ok(used_len(&Host { file: 0 }, span, window)?)
    }

    fn gate_sion_first_nonzero(window, offset: u64, len: u64) {
        let span = Span::new(offset, len).ok_or(Fail)?;
        first_nonzero(&Host { file: 0 }, span, window)?.ok_or(Fail)
    }
}
