//! A format of your own on striae's stores: a writer that is one text in two forms, and a reader
//! that is a machine.
//!
//! The file is the length of a log, eight bytes in little-endian order, and the log.
//!
//! ```text
//! cargo run -p striae-core --features async --example both_forms
//! ```
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    missing_docs,
    reason = "an example of few words"
)]

use std::io;
use std::task::{Context, Poll, Waker};
use striae_core::step::{ReadMachine, ReadStep, drive_read};
#[twin(WriteAt)]
use striae_core::store::WriteAt;
use striae_core::store::{ReadAt, Ready};
use striae_twin::twin;

const HEAD: u64 = 8;

struct Log<S> {
    store: S,
    len: u64,
}

#[twin(WriteAt)]
impl<S: WriteAt> Log<S> {
    /// Adds `bytes`. A crash at any line leaves the log with them or without.
    async fn add(&mut self, bytes: &[u8]) -> Result<(), S::Error> {
        let end = self.len + bytes.len() as u64;
        self.store.write_all_at(HEAD + self.len, bytes).await?;
        self.store.sync().await?;
        self.store.write_all_at(0, &end.to_le_bytes()).await?;
        self.store.sync().await?;
        self.len = end; // now, so that a call that failed can be repeated with these bytes
        Ok(())
    }
}

/// Finds the length of the log of a file of `file_len` bytes. It reads nothing itself, so a slice,
/// a device, an asynchronous store or a web server can feed it.
struct FindLen {
    file_len: u64,
    found: Option<u64>,
}

impl ReadMachine for FindLen {
    type Output = u64;
    type Error = io::Error;

    fn poll(&mut self) -> ReadStep<u64> {
        match self.found {
            Some(len) => ReadStep::Done(len),
            None => ReadStep::Read { offset: 0, need: 8, want: HEAD },
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> io::Result<()> {
        let len = bytes.first_chunk().map(|&first| u64::from_le_bytes(first)).unwrap_or_default();
        let most = self.file_len.saturating_sub(HEAD);
        if len > most {
            let wrong = format!("length at offset 0 is {len}, must be at most {most}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, wrong));
        }
        self.found = Some(len);
        Ok(())
    }
}

/// What an executor does with a future that never waits.
fn ready<T>(future: impl Future<Output = T>) -> Option<T> {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut card = [0; 64];
    let mut log = Log { store: card.as_mut_slice(), len: 0 };
    log.add(b"blocking, ")?;

    let mut log = Log { store: Ready(log.store), len: log.len };
    ready(log.add_async(b"and awaited")).ok_or("a store in memory is ready at once")??;

    let file = card.as_slice();
    let mut find = FindLen { file_len: file.size()?, found: None };
    let len = drive_read(&mut find, file, &mut [0; 8])?;
    let mut text = vec![0; usize::try_from(len)?];
    file.read_at(HEAD, &mut text)?;
    assert_eq!(text, b"blocking, and awaited");
    Ok(())
}
