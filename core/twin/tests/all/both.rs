//! What only the asynchronous form does.

use crate::stores::{AsyncNamed, AsyncStore, Late, Tape};
use crate::{Log, OVER, Over, STEPS, names_async};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// The output of a future, unless it has to wait more often than `turns`.
fn poll<T>(future: impl Future<Output = T>, turns: usize) -> Option<T> {
    let mut future = pin!(future);
    (0..=turns).find_map(|_| match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    })
}

#[test]
fn both_forms_make_the_same_steps() {
    let mut log = Log::<Tape>::default();
    assert_eq!(poll(log.add_async(&[b"one", b"", b"three"]), 99), Some(Ok(2)));
    assert_eq!(*log.store.steps.borrow(), STEPS);
    assert_eq!(poll(names_async(&mut log.store), 99), Some(102));
    assert_eq!(poll(Log::made_async(Tape::default(), [0; 4]), 99).unwrap().unwrap().end, 4);
}

#[test]
fn errors_are_those_of_the_asynchronous_store() {
    for fuel in 0..5 {
        let mut log = Log::with_fuel(fuel);
        assert_eq!(poll(log.add_async(&[b"one"]), 99), Some(Err(Late)), "{fuel}");
        assert_eq!(log.is_torn, fuel < 3);
    }
}

#[test]
fn a_guard_takes_back_what_a_dropped_future_left() {
    for turns in 0..5 {
        let mut log = Log::<Tape>::default();
        assert_eq!(poll(log.add_async(&[b"one"]), turns), None);
        assert_eq!((log.end, log.is_torn), (if turns < 3 { 0 } else { 3 }, turns < 3), "{turns}");
    }
}

#[test]
fn an_impl_of_a_trait_is_one_of_the_other_trait_too() {
    let mut store = Over::<Tape>::default();
    assert_eq!(poll(AsyncStore::write(&mut store, 7, b"abc"), 1), Some(Ok(())));
    assert_eq!(poll(AsyncStore::byte(&store, 0), 1), Some(Ok(7)));
    assert_eq!(poll(AsyncStore::size(&store), 1), Some(Ok(100)));
    assert_eq!(poll(AsyncStore::sync(&mut store), 1), Some(Ok(())));
    assert_eq!(*store.0.steps.borrow(), OVER);
    assert_eq!(poll(AsyncStore::sum(&store, &[0, 1]), 1), None, "two bytes are waited for");
    assert_eq!(poll(AsyncStore::sum(&store, &[0, 1]), 2), Some(Ok(14)));
    assert_eq!((AsyncStore::twice(&store, 4), <Tape as AsyncNamed>::NAME), (8, "tape"));
    assert_eq!(<Tape as AsyncStore>::LEN, 0);
}
