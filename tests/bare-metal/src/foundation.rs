//! What all formats share: stored integers, spans, tables, stores, drivers.

use crate::host::{Cursor, Host};
use crate::{Fail, entries};
use core::num::NonZeroU64;
use striae_core::endian::{ByteOrder, I32, I64, U64};
use striae_core::field::FieldId;
use striae_core::span::{Span, Stride, round_up};
use striae_core::step::{ReadMachine, ReadStep, drive_read};
use striae_core::store::{
    BlockStore, Cached, ReadAhead, ReadAt, Section, SeekStore, StoreBlocks, WriteAt, usize_to_u64,
};

fn order(big: bool) -> ByteOrder {
    if big { ByteOrder::Big } else { ByteOrder::Little }
}

entries! {
    fn gate_endian(_bytes, value: i64, big: bool) {
        let low = i32::try_from(value & 0xffff).unwrap_or(0);
        let (a, b) = (I64::new(value, order(big)), I32::new(low, order(big)));
        let c = U64::new(value.unsigned_abs(), ByteOrder::HOST);
        let sum = a.get(order(!big)) ^ i64::from(b.get(order(!big)));
        Ok(sum.unsigned_abs() ^ c.get(order(big)))
    }

    fn gate_span_new(_bytes, offset: u64, len: u64) {
        let span = Span::new(offset, len).ok_or(Fail)?;
        Ok(span.offset() ^ span.len() ^ span.end() ^ u64::from(span.is_empty()))
    }

    fn gate_span_of_table(_bytes, offset: u64, count: u64, entry_len: u64, skip: u64, len: u64) {
        let table = Span::of_table(offset, count, entry_len).ok_or(Fail)?;
        let part = table.part(skip, len).ok_or(Fail)?;
        let (overlaps, fits) = (part.overlaps(table), part.fits(count));
        Ok(part.end() ^ part.skip(skip).len() ^ u64::from(overlaps) ^ u64::from(fits))
    }

    fn gate_span_parts(_bytes, start: u64, end: u64, number: u64, len: u64) {
        let span = Span::between(start, end).ok_or(Fail)?;
        let entry = span.entry(number, len).ok_or(Fail)?;
        let joined = entry.joined(span.rest(number).ok_or(Fail)?).ok_or(Fail)?;
        let pieces = span.pieces(NonZeroU64::new(len).ok_or(Fail)?);
        Ok(pieces.fold(joined.end(), |sum, piece| sum ^ piece.end()))
    }

    fn gate_round_up(_bytes, value: u64, unit: u64) {
        round_up(value, NonZeroU64::new(unit).ok_or(Fail)?).ok_or(Fail)
    }

    fn gate_field_find(_bytes, table: u8, offset: u16) {
        let id = FieldId::new(table, offset);
        let (table, field) = id.find(striae_core::sion::raw::TABLES).ok_or(Fail)?;
        Ok(u64::from(table.len ^ field.size ^ id.offset() ^ u16::from(id.table())))
    }

    fn gate_slice_store(bytes, offset: u64, value: u64, wanted: u64) {
        let mut stored = [0; 8];
        bytes.write_all_at(offset, &value.to_le_bytes())?;
        bytes.set_size(wanted)?;
        bytes.sync()?;
        bytes.read_exact_at(offset, &mut stored).map_err(|_| Fail)?;
        let n = bytes.read_at(offset, &mut stored)?;
        Ok(bytes.size()? ^ u64::from_le_bytes(stored) ^ usize_to_u64(n))
    }

    fn gate_seek_store_read(bytes, offset: u64) {
        let store = SeekStore::new(Cursor::default());
        store.read_exact_at(offset, bytes).map_err(|_| Fail)?;
        let n = store.read_at(offset, bytes)?.max(store.reread_at(offset, bytes)?);
        core::hint::black_box(store.into_inner());
        Ok(usize_to_u64(n))
    }

    fn gate_seek_store_write(bytes, offset: u64, len: u64) {
        let mut store = SeekStore::new(Cursor::default());
        store.write_all_at(offset, bytes)?;
        store.set_size(len)?;
        store.sync()?;
        Ok(store.size()?)
    }

    fn gate_block_store(bytes, offset: u64, len: u64, first: u64, end: u64) {
        let card = StoreBlocks(Host { file: 0 });
        let mut store = BlockStore::<_, _>::partition(card, [Cached::EMPTY; 2], first..end)?;
        store.write_all_at(offset, bytes)?;
        store.set_size(len)?;
        store.order()?;
        store.sync()?;
        let n = store.read_at(offset, bytes)?.max(store.reread_at(offset, bytes)?);
        core::hint::black_box(store.device());
        Ok(store.size()? ^ usize_to_u64(n))
    }

    fn gate_block_store_of_4096(bytes, offset: u64) {
        let card = StoreBlocks(Host { file: 0 });
        let mut store = BlockStore::<_, _, 4096>::new(card, [Cached::EMPTY; 1])?;
        store.write_all_at(offset, bytes)?;
        store.sync()?;
        core::hint::black_box(store.into_inner());
        Ok(0)
    }

    fn gate_read_ahead(bytes, offset: u64, len: u64, step: u64, count: u64) {
        let (memory, buf) = bytes.split_at_mut_checked(bytes.len() / 2).ok_or(Fail)?;
        let store = ReadAhead::new(Host { file: 0 }, memory);
        let spans = Stride::new(Span::new(offset, len).ok_or(Fail)?, step, count).ok_or(Fail)?;
        store.will_read(&[spans, Stride::one(spans.first())]);
        let n = store.read_at(offset, buf)?.max(store.reread_at(offset, buf)?);
        store.read_spans_at(&[spans, Stride::NONE], buf).map_err(|_| Fail)?;
        core::hint::black_box(store.store());
        store.forget();
        Ok(store.size()? ^ usize_to_u64(n))
    }

    fn gate_section(bytes, offset: u64, len: u64, at: u64) {
        let span = Span::new(offset, len).ok_or(Fail)?;
        let store = Section::new(Host { file: 0 }, span);
        store.will_read(&[Stride::one(span)]);
        store.read_spans_at(&[Stride::one(span), Stride::NONE], bytes).map_err(|_| Fail)?;
        let n = store.read_at(at, bytes)?.max(store.reread_at(at, bytes)?);
        Ok(store.size()? ^ usize_to_u64(n))
    }

    fn gate_stride(bytes, offset: u64, len: u64, step: u64, count: u64) {
        let spans = Stride::new(Span::new(offset, len).ok_or(Fail)?, step, count).ok_or(Fail)?;
        let hull = spans.hull().len() ^ spans.len() ^ spans.step() ^ spans.count();
        let one = spans.get(offset).map_or(0, Span::offset);
        let all = spans.spans().take(bytes.len()).map(Span::offset).fold(0, u64::wrapping_add);
        Ok(hull ^ one ^ all ^ u64::from(spans.is_empty()))
    }

    fn gate_drive_read(bytes, offset: u64, need: usize, want: u64) {
        let mut machine = Length { offset, need, want, len: None };
        Ok(drive_read(&mut machine, &Host { file: 0 }, bytes)?)
    }
}

/// A machine whose output is the length of what it was fed.
struct Length {
    offset: u64,
    need: usize,
    want: u64,
    len: Option<u64>,
}

impl ReadMachine for Length {
    type Output = u64;
    type Error = core::num::TryFromIntError;

    fn poll(&mut self) -> ReadStep<u64> {
        match self.len {
            None => ReadStep::Read { offset: self.offset, need: self.need, want: self.want },
            Some(len) => ReadStep::Done(len),
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Self::Error> {
        self.len = Some(u64::try_from(bytes.len())?);
        Ok(())
    }
}
