//! What is waited for says what is not: readers and stores of both kinds agree, also if futures are
//! dropped and calls made again.

/// The output of a future. It is dropped when it waits for the first time; the next one when it
/// waits for the second time, and so on, in larger steps later.
macro_rules! got {
    ($waits:expr, $future:expr) => {{
        let mut first = 0;
        loop {
            $waits.drop_at($waits.count() + first);
            first += 1 + first / 4;
            if let Some(output) = $waits.run($future) {
                break output;
            }
        }
    }};
}

mod futures;
mod readers;
mod stores;
