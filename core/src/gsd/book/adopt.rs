//! Files without a valid commit record: they get one before anything else changes.

use super::tail::Stands;
use super::work::{Bytes, Work};
use crate::exact::Exact;
use crate::gsd::publish::Stage;
use crate::gsd::raw::Shadow;
use crate::gsd::record::OFFSET;
use crate::span::Span;

/// Makes the file ready for writing: if it has no valid commit record, it gets one for its content,
/// which is made durable.
pub(super) fn adopt(work: &mut Work<'_>) {
    let tail = &mut *work.tail;
    if tail.is_writable() {
        return;
    }
    if tail.is_adopted {
        return work.then(&[make_durable]);
    }
    let shadow = tail.behind(Shadow::BOTH_LEN);
    let Some(shadow) = work.ok(shadow) else { return };
    if work.lacks(shadow.end()) {
        return work.reserve(shadow.end(), adopt);
    }
    work.tail.names_crc = 0;
    (work.block, work.done) = (shadow, 0);
    work.then(&[sum_names, make_record])
}

/// Makes the header durable. This comes before any write to a file of another program, since an
/// older header may use places that are free in the present one, and at the end.
pub(super) fn make_durable(work: &mut Work<'_>) {
    if work.tail.stands == Stands::Durable {
        return;
    }
    work.then(&[|work| {
        work.tail.stands = Stands::Durable;
    }]);
    work.sync();
}

/// Computes the CRC-32C of the names.
fn sum_names(work: &mut Work<'_>) {
    let left = work.tail.name_list().skip(work.done);
    if left.is_empty() {
        return;
    }
    work.then(&[sum_names_read, sum_names]);
    work.read(left.offset(), left.len())
}

fn sum_names_read(work: &mut Work<'_>) {
    let (checksum, crc) = (work.checksum, work.tail.names_crc);
    let bytes = work.bytes_read();
    let len = crate::store::usize_to_u64(bytes.len());
    work.tail.names_crc = checksum(crc, bytes);
    work.done = work.done.exact_add(len);
}

/// Writes a commit record of the committed state. `work.block` begins with the shadows and ends
/// with the file.
///
/// The file has no valid record before the last step: a record that is half written is ignored.
pub(super) fn make_record(work: &mut Work<'_>) {
    work.tail.is_adopted = false;
    if work.tail.image.commit.magic == [0; 8] {
        return work.then(&[write_record]);
    }
    work.then(&[
        |work| {
            work.tail.image.commit.magic = [0; 8];
        },
        write_record,
    ]);
    work.write(OFFSET, Bytes::Zeros(8));
}

fn write_record(work: &mut Work<'_>) {
    let (shadow, data_end) = (work.block.offset(), work.block.end());
    let (tail, checksum) = (&*work.tail, work.checksum);
    // The shadows of a commit that changes nothing: without one, an append by gsd would look like
    // damage. The file must be as long as the record says.
    let made = work.hand.set(Stage::FirstShadow, |both| {
        both.new.copy_from(&tail.image);
        let place = (data_end, shadow, 0);
        tail.put_record(&mut both.new, tail.committed, place, checksum)?;
        both.old.copy_from(&both.new);
        both.seal(0, checksum);
        Ok(())
    });
    if work.ok(made).is_none() {
        return;
    }
    work.then(&[super::commit::publish_rest, has_record])
}

fn has_record(work: &mut Work<'_>) {
    let tail = &mut *work.tail;
    tail.image.copy_from(work.hand.image());
    tail.data_end = tail.image.commit.data_end.get();
    (tail.is_adopted, tail.stands) = (true, Stands::Durable);
    tail.begin_sums();
}

/// The block from `shadow` to the end of the file.
pub(super) fn up_to(shadow: u64, data_end: u64) -> Span {
    Span::new(shadow, data_end.saturating_sub(shadow)).unwrap_or(Span::ZERO)
}
