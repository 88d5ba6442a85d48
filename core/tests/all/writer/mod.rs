//! What core's writer writes: the bytes that SIONlib wrote, and files that are read as they were
//! meant.

mod commits;
mod faults;
mod golden;
mod limits;
mod model;
mod seals;
mod shared;

use std::cell::RefCell;
use striae_core::sion::{Attributes, Finished, Memory, Opened, Options, Pen, Physical, Writer};
use striae_kit::growing::Growing;

/// A writer and the memory that it works in, for as long as `work` takes.
pub(crate) fn with_memory<R>(window: usize, work: impl FnOnce(Memory<'_>) -> R) -> R {
    let (mut pens, mut ledger) = ([Pen::EMPTY; 128], [Finished::EMPTY; 256]);
    let mut window = vec![0; window];
    work(Memory { pens: &mut pens, ledger: &mut ledger, window: &mut window })
}

/// Creates a file, lets `work` write to it, and gives what the store holds then.
pub(crate) fn written(
    attributes: &Attributes,
    tasks: &[(i64, u64)],
    options: Options<'_>,
    work: impl FnOnce(&mut Writer<'_, &mut Growing>),
) -> Vec<u8> {
    let store = RefCell::new(Growing::default());
    let mut guard = store.borrow_mut();
    let (mut pens, mut ledger) = ([Pen::EMPTY; 128], [Finished::EMPTY; 256]);
    let mut window = [0; 1500];
    let memory = Memory { pens: &mut pens, ledger: &mut ledger, window: &mut window };
    let mut writer =
        Writer::create(&mut *guard, attributes, b"a.sion", tasks, memory, options).unwrap();
    work(&mut writer);
    drop(guard);
    store.into_inner().0
}

/// The streams of all tasks of a closed or committed file.
pub(crate) fn streams(file: &[u8]) -> Vec<Vec<u8>> {
    let mut window = [0; 2048];
    let Opened::Closed(file) = Physical::open(file, &mut window).unwrap() else {
        panic!("the file is not closed")
    };
    let read = |local| {
        let task = file.task(local, &mut [0; 64]).unwrap();
        let (mut stream, mut bytes, mut buf) = (file.stream(task), Vec::new(), [0; 777]);
        loop {
            match stream.read(&mut buf).unwrap() {
                0 => return bytes,
                n => bytes.extend_from_slice(&buf[..n]),
            }
        }
    };
    (0..file.meta1().ntasks()).map(read).collect()
}
