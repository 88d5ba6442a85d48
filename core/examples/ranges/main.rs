//! Reads a stream of a SIONlib file by ranges, asynchronously and in few requests, as from a web
//! server. `server.rs` stands for the server and the executor; this is what a library has to write.
//!
//! ```text
//! cargo run -p striae-core --features async --example ranges
//! ```
#![allow(clippy::arithmetic_side_effects, missing_docs, reason = "an example of few words")]
#![allow(clippy::as_conversions, clippy::indexing_slicing, reason = "an example of few words")]

mod server;

use server::{Object, block_on};
use std::{io, iter};
use striae_core::embedded_io::ReadExactError;
use striae_core::sion::{Opened, Physical};
use striae_core::span::Stride;
use striae_core::store::{AsyncReadAt, ReadAhead};

impl AsyncReadAt for Object {
    type Error = io::Error;

    async fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let bytes = self.get(iter::once(offset..offset + buf.len() as u64)).await;
        buf[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }

    async fn size(&self) -> io::Result<u64> {
        Ok(self.head().await)
    }

    async fn read_spans_at(
        &self,
        spans: &[Stride],
        buf: &mut [u8],
    ) -> Result<(), ReadExactError<io::Error>> {
        let spans = spans.iter().flat_map(|stride| stride.spans());
        let bytes = self.get(spans.map(|span| span.offset()..span.end())).await;
        let wanted = (bytes.len() == buf.len()).then_some(bytes);
        buf.copy_from_slice(&wanted.ok_or(ReadExactError::UnexpectedEof)?);
        Ok(())
    }
}

async fn read_task(object: &Object) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let (mut memory, mut window) = (vec![0; 4096], [0; 2048]);
    let store = ReadAhead::new(object, &mut memory);
    let Opened::Closed(file) = Physical::open_async(&store, &mut window).await? else {
        return Err("it was never closed".into());
    };
    let mut stream = file.stream(file.task_async(0, &mut window).await?);
    let mut bytes = vec![0; 4];
    stream.read_all_async(&mut bytes).await?;
    Ok(bytes)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let object = Object::new(include_bytes!("../../doc/s01_one_task.sion"));
    assert_eq!(block_on(read_task(&object))?, [11, 18, 25, 32]);
    assert!(object.requests() <= 6, "{} requests", object.requests());
    Ok(())
}

#[test]
fn the_task_is_read_in_six_requests() -> Result<(), Box<dyn std::error::Error>> {
    main()
}
