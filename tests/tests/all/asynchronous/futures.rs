//! How much memory the futures of commits take, which a device holds while it waits.

use striae_core::gsd::{Attributes, Logger, OwnLogger, Shape, Slot, Writer};
use striae_core::store::Ready;
use striae_kit::waiting::Waits;

const ABOUT: Attributes<'static> = Attributes { align: 512, ..Attributes::DEFAULT };
static SHAPE: Shape<'static, 0> = match Shape::new(&ABOUT, []) {
    Ok(shape) => shape,
    Err(_) => panic!("a shape without names"),
};

/// The store is a byte slice, whose own futures are small: what is counted is ours.
#[test]
fn the_future_of_a_commit_fits_on_the_stack_of_a_device() {
    let waits = Waits::new(1);
    let blank = || vec![0xFF_u8; 1 << 20];

    let mut card = blank();
    let card = Ready(card.as_mut_slice());
    let made = waits.run(Writer::create_async(card, &ABOUT, [Slot::EMPTY; 4]));
    let mut writer = made.unwrap().unwrap();
    let commit = writer.commit_async();
    let len = size_of_val(&commit);
    assert!(waits.run(commit).unwrap().is_ok() && len <= 5000, "{len} bytes");

    let mut card = blank();
    let card = Ready(card.as_mut_slice());
    let made = waits.run(Logger::<_, 4>::open_or_create_async(card, &ABOUT));
    let mut logger = made.unwrap().unwrap();
    let id = waits.run(logger.name_async("a")).unwrap().unwrap();
    waits.run(logger.write_async(id, &[[1_u8]])).unwrap().unwrap();
    let end = logger.end_frame_async();
    let len = size_of_val(&end);
    assert_eq!(waits.run(end).unwrap().unwrap(), 0);
    assert!(len <= 4300, "{len} bytes");

    let mut card = blank();
    let card = Ready(card.as_mut_slice());
    let made = waits.run(OwnLogger::<_, 4>::open_or_create_async(card, &SHAPE));
    let mut logger = made.unwrap().unwrap();
    let id = waits.run(logger.name_async("a")).unwrap().unwrap();
    waits.run(logger.write_async(id, &[[1_u8]])).unwrap().unwrap();
    let end = logger.end_frame_async();
    let len = size_of_val(&end);
    assert_eq!(waits.run(end).unwrap().unwrap(), 0);
    assert!(len <= 4200, "{len} bytes");
}
