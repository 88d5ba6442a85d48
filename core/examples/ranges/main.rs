//! Reads a stream of a SIONlib file by ranges, asynchronously and in few requests, as from a web
//! server.
//!
//! ```text
//! cargo run -p striae-core --features async --example ranges
//! ```
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::indexing_slicing,
    missing_docs,
    reason = "an example of few words"
)]

use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::task::{Context, Poll, Waker};
use striae_core::embedded_io::ReadExactError;
use striae_core::sion::{Opened, Physical};
use striae_core::span::Stride;
use striae_core::store::{AsyncReadAt, ReadAhead};

/// An object on a server, and the number of requests for it.
struct Object {
    bytes: &'static [u8],
    requests: Cell<u32>,
}

impl Object {
    /// Waits for the bytes of these ranges: `GET` for each, all of them at once.
    async fn get(&self, ranges: &[Range<usize>]) -> Vec<&[u8]> {
        self.requests.set(self.requests.get() + 1);
        let mut is_here = false;
        poll_fn(|_| {
            if std::mem::replace(&mut is_here, true) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        let end = self.bytes.len();
        ranges.iter().map(|range| &self.bytes[range.start.min(end)..range.end.min(end)]).collect()
    }
}

// What a library that reads by ranges has to write:
impl AsyncReadAt for Object {
    type Error = io::Error;

    async fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let range = offset as usize..offset as usize + buf.len();
        let bytes = self.get(&[range]).await[0];
        buf[..bytes.len()].copy_from_slice(bytes);
        Ok(bytes.len())
    }

    async fn size(&self) -> io::Result<u64> {
        self.requests.set(self.requests.get() + 1); // `HEAD`
        Ok(self.bytes.len() as u64)
    }

    async fn read_spans_at(
        &self,
        spans: &[Stride],
        mut buf: &mut [u8],
    ) -> Result<(), ReadExactError<io::Error>> {
        let spans = spans.iter().flat_map(|stride| stride.spans());
        let ranges: Vec<_> = spans.map(|it| it.offset() as usize..it.end() as usize).collect();
        for (range, bytes) in ranges.iter().zip(self.get(&ranges).await) {
            if bytes.len() != range.len() {
                return Err(ReadExactError::UnexpectedEof);
            }
            buf[..bytes.len()].copy_from_slice(bytes);
            buf = &mut buf[bytes.len()..];
        }
        Ok(())
    }
}

async fn read_task(object: &Object) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut memory = vec![0; 4096];
    let store = ReadAhead::new(object, &mut memory);
    let mut window = [0; 2048];
    let opened = Physical::open_async(&store, &mut window).await?;
    assert!(object.requests.get() <= 3);
    let Opened::Closed(file) = opened else { return Err("it was never closed".into()) };
    let task = file.task_async(0, &mut window).await?;
    let mut bytes = vec![0; 4];
    let span = task.chunks.chunk(0).ok_or("no chunk")?;
    store.read_exact_at(span.offset(), &mut bytes).await.map_err(|_| "the file is cut")?;
    Ok(bytes)
}

/// What an executor does.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let bytes = include_bytes!("../doc/s01_one_task.sion");
    let object = Object { bytes, requests: Cell::new(0) };
    assert_eq!(block_on(read_task(&object))?, [11, 18, 25, 32]);
    assert!(object.requests.get() <= 5, "{} requests", object.requests.get());
    Ok(())
}

#[test]
fn the_task_is_read_in_five_requests() -> Result<(), Box<dyn std::error::Error>> {
    main()
}
