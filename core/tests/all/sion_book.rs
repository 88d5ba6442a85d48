//! What a Book must not forget: each of these laws was broken by a change that no other test saw.

use striae_core::sion::book::{Ahead, Book, Enter};
use striae_core::sion::layout::LAST_OFFSET;
use striae_core::sion::visible::Outcome;
use striae_core::sion::{Attributes, Blocks, Error, Meta1, Varheader, VarheaderShape};

/// Blocks of 4096 bytes from offset 4096 on, of three tasks.
const BLOCKS: Blocks = Blocks { first: 4096, globalskip: 4096 };

fn meta1() -> Meta1 {
    Meta1::new(&Attributes { fsblksize: 512, ..Attributes::default() }, 3).unwrap()
}

fn created() -> Book {
    Book::create(&meta1(), &BLOCKS, 0, false).unwrap()
}

/// A file with META2 of `maxchunks` rows at `start`.
fn reopened(maxchunks: u32, start: u64) -> Book {
    let shape = VarheaderShape::new(meta1().layout(), maxchunks, 4, false).unwrap();
    Book::reopen(&meta1(), &BLOCKS, shape.at(start).unwrap(), false)
}

#[test]
fn a_block_that_was_left_unused_is_not_open_once_a_close_may_have_put_meta2_there() {
    for publishes in [Outcome::Unknown, Outcome::Published] {
        let mut book = created();
        assert_eq!(book.enter(4, Ahead::NONE), Ok(Enter::GoOn)); // and what was written, taken back
        let last = book.close(2).unwrap().last;
        assert_eq!(last.start(), BLOCKS.end(2).unwrap());
        book.conclude(publishes(last));
        assert_eq!((book.entered(), book.reach()), (2, 2));
        assert!(!matches!(book.enter(2, Ahead::NONE), Ok(Enter::GoOn)), "META2 is there");
    }
}

#[test]
fn a_task_that_enters_an_earlier_block_takes_none_back_and_moves_nothing() {
    let mut book = created();
    assert_eq!(book.enter(4, Ahead::NONE), Ok(Enter::GoOn));
    for publishes in [Outcome::Published, Outcome::Unknown] {
        let new = book.commit(5, Ahead::NONE).unwrap();
        book.conclude(publishes(new));
        for block in 0..=4 {
            assert_eq!(book.enter(block, Ahead::NONE), Ok(Enter::GoOn), "{block}");
            assert_eq!(book.entered(), 5);
        }
    }
}

#[test]
fn a_book_seals_as_it_was_told() {
    let book = |is_sealed| Book::create(&meta1(), &BLOCKS, 0, is_sealed).unwrap();
    assert_eq!([false, true].map(|is_sealed| book(is_sealed).is_sealed()), [false, true]);
}

#[test]
fn a_commit_has_at_least_as_many_rows_as_the_last_one() {
    // Tasks that wrote nothing since keep their chunks, and a commit is told of the others only.
    let book = reopened(5, BLOCKS.end(5).unwrap());
    assert_eq!(book.commit(1, Ahead::NONE).unwrap().maxchunks(), 5);
    assert_eq!(book.close(2).unwrap().last.maxchunks(), 5);
    assert_eq!(book.commit(6, Ahead::NONE).unwrap().maxchunks(), 6);
}

#[test]
fn meta2_is_moved_behind_all_blocks_in_use_wherever_it_was() {
    // Other writers' files may have META2 in front of blocks that are in use.
    let in_front = BLOCKS.end(1).unwrap();
    let mut book = reopened(5, in_front);
    assert_eq!(book.entered(), 1);
    let Ok(Enter::Move(to)) = book.enter(2, Ahead::NONE) else { panic!("META2 is in the way") };
    assert!(to.start() >= BLOCKS.end(5).unwrap(), "{to:?}");
    assert_eq!(to.maxchunks(), 5);
    book.conclude(Outcome::Published(to));
    assert_eq!(book.enter(4, Ahead::NONE), Ok(Enter::GoOn));
}

#[test]
fn no_meta2_is_put_over_another_that_may_be_seen_or_into_an_entered_block() {
    for ahead in [Ahead::NONE, Ahead::Blocks(3), Ahead::Double] {
        let mut book = created();
        let mut seen: Vec<Varheader> = Vec::new();
        for block in 0..40 {
            while let Enter::Move(to) = book.enter(block, ahead).unwrap() {
                assert!(book.published().is_some_and(|old| !old.span().overlaps(to.span())));
                book.conclude(Outcome::Published(to));
            }
            if block % 3 == 0 {
                let new = book.commit(block + 1, ahead).unwrap();
                assert!(new.start() >= BLOCKS.end(book.entered()).unwrap());
                assert!(new.start().is_multiple_of(512));
                let old = book.published().copied();
                assert!(old.is_none_or(|old| !old.span().overlaps(new.span())));
                book.conclude(Outcome::Published(new));
                seen.push(new);
            }
        }
        assert_eq!(seen.len(), 14);
    }
}

#[test]
fn what_is_unsettled_is_settled_before_a_block_behind_it_is_entered() {
    let mut book = created();
    let first = book.commit(1, Ahead::NONE).unwrap();
    book.conclude(Outcome::Published(first));
    let second = book.commit(1, Ahead::NONE).unwrap();
    book.conclude(Outcome::Unknown(second));
    assert_eq!((book.published(), book.unsettled()), (Some(&first), Some(&second)));
    let reach = u32::try_from(book.reach()).unwrap();
    assert_eq!(book.enter(reach, Ahead::NONE), Ok(Enter::Settle(second)));
    book.conclude(Outcome::Unchanged);
    assert_eq!(book.settled(), 0);
    book.conclude(Outcome::Published(second));
    assert_eq!((book.published(), book.unsettled(), book.settled()), (Some(&second), None, 1));
}

#[test]
fn a_block_whose_data_could_not_be_committed_is_not_entered() {
    let blocks = Blocks { first: 4096, globalskip: 1 << 61 };
    let mut book = Book::create(&meta1(), &blocks, 0, false).unwrap();
    assert_eq!(book.enter(2, Ahead::NONE), Ok(Enter::GoOn));
    assert_eq!(book.enter(3, Ahead::NONE), Err(Error::FileFull { chunk: 3 }));
    // A place without blocks ahead is one all the same.
    assert!(book.commit(3, Ahead::Double).is_ok());
}

#[test]
fn blocks_end_at_the_largest_offset_at_most() {
    let most = 9_223_372_036_854_775_807; // 2^63 - 1
    let blocks = |first| Blocks { first, globalskip: 1 << 62 };
    assert_eq!(blocks((1 << 62) - 1).end(1), Some(most));
    assert_eq!(blocks(1 << 62).end(1), None);
    // a sum and a product that no u64 holds
    assert_eq!(blocks(u64::MAX).end(1), None);
    assert_eq!(blocks(4096).end(4), None);
    assert_eq!(blocks(most).end(0), Some(most));
    assert_eq!(blocks(most + 1).end(0), None);
}

#[test]
fn a_varheader_is_behind_meta1_and_ends_where_a_file_can_end() {
    let shape = |rows, mapping_len| VarheaderShape::new(meta1().layout(), rows, mapping_len, true);
    // maxchunks is stored as an i32, and 0 is that of a file that was never closed.
    assert_eq!((shape(0, 4), shape(1 << 31, 4)), (None, None));
    assert_eq!(
        shape(i32::MAX.unsigned_abs(), 4).map(|shape| shape.maxchunks()),
        Some(i32::MAX.unsigned_abs())
    );
    let first = meta1().layout().meta1_end();
    for (rows, mapping_len) in [(1, 0), (7, 4), (i32::MAX.unsigned_abs(), 12)] {
        let shape = shape(rows, mapping_len).unwrap();
        let len = shape.at(first).unwrap().span().len();
        assert_eq!(shape.at(first - 1), None);
        let last = LAST_OFFSET - len;
        let at = shape.at(last).unwrap();
        assert_eq!(
            (at.start(), at.span().end(), at.trailer().end()),
            (last, LAST_OFFSET, LAST_OFFSET)
        );
        assert_eq!(shape.at(last + 1), None);
    }
    // What has no length has no place.
    assert_eq!(shape(1, u64::MAX).unwrap().at(first), None);
    // Nor has a seal where only what is in front of it has one.
    let bare = shape(1, 4).unwrap().with_seal(false);
    let last = bare.at(LAST_OFFSET - bare.at(first).unwrap().span().len()).unwrap();
    assert_eq!(last.sealed(), None);
}
