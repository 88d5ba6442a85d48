//! Reading ffrecord files.

use crate::host::{Host, Text};
use crate::{Fail, entries};
use core::fmt::Write;
use striae_core::ffrecord::find::Find;
use striae_core::ffrecord::open::Open;
use striae_core::ffrecord::{Error, Head, Layout, MetaCrc, Reader, Sample, Samples, raw};
use striae_core::field::FieldId;
use striae_core::integrity::crc32;
use striae_core::step::{DriveError, ReadMachine, ReadStep, drive_read};
use striae_core::store::usize_to_u64;

fn opened(window: &mut [u8]) -> Result<Reader<Host>, Fail> {
    Ok(Reader::open(Host { file: 0 }, window)?)
}

fn sum_of(sample: &Sample) -> u64 {
    sample.number ^ u64::from(sample.crc) ^ sample.span.offset() ^ sample.span.end()
}

entries! {
    fn gate_crc32(bytes, previous: u32) {
        Ok(crc32(previous, bytes).into())
    }

    fn gate_ffrecord_layout(_bytes, n: u64, number: u64, file_len: u64) {
        let layout = Layout::new(n).ok_or(Fail)?;
        let spans = [layout.checksums(), layout.offsets(), layout.summed()];
        let ends = spans.iter().fold(0, |sum, span| sum ^ span.end());
        let places = layout.checksum_at(number) ^ layout.offset_at(number);
        Ok(ends ^ places ^ layout.header_len() ^ layout.n() ^ Layout::most(file_len))
    }

    fn gate_ffrecord_head(bytes, file_len: u64, computed: u32, number: u64) {
        let head = Head::parse(bytes, file_len)?;
        head.check_meta(computed)?;
        head.check_number(number)?;
        Ok(head.layout.n())
    }

    fn gate_ffrecord_open_machine(bytes, file_len: u64) {
        let mut open = Open::new(file_len);
        let _ = core::hint::black_box(open.poll());
        open.feed(bytes)?;
        match open.poll() {
            ReadStep::Done(head) => Ok(head.layout.n()),
            ReadStep::Read { .. } => Err(Fail),
        }
    }

    fn gate_ffrecord_find(bytes, number: u64) {
        let file = opened(bytes)?;
        let mut find = Find::new(file.head(), number)?;
        let _ = core::hint::black_box(find.poll());
        find.feed(bytes)?;
        Ok(sum_of(&drive_read(&mut find, file.store(), bytes)?))
    }

    fn gate_ffrecord_meta_crc(bytes) {
        let file = opened(bytes)?;
        let mut sum = MetaCrc::new(file.head(), crc32);
        let _ = core::hint::black_box(sum.poll());
        sum.feed(bytes)?;
        Ok(drive_read(&mut sum, file.store(), bytes)?.into())
    }

    fn gate_ffrecord_sample(bytes, number: u64, computed: u32) {
        let file = opened(bytes)?;
        let sample = file.sample(number, bytes)?;
        let n = file.read(sample.span, bytes)?;
        sample.check(bytes.get(..n).unwrap_or_default(), crc32)?;
        sample.check_crc(computed)?;
        file.check(&sample, bytes, crc32)?;
        Ok(sum_of(&sample) ^ usize_to_u64(n))
    }

    fn gate_ffrecord_samples(bytes, start: u64, end: u64) {
        let file = opened(bytes)?;
        let mut samples = file.samples(start..end, bytes);
        let first = samples.next().ok_or(Fail)??;
        let rest = number_of(&samples);
        Ok(samples.flatten().fold(sum_of(&first) ^ rest, |sum, sample| sum ^ sum_of(&sample)))
    }

    fn gate_ffrecord_checks(bytes) {
        let file = opened(bytes)?;
        file.check_meta(bytes, crc32)?;
        let is_consistent = file.is_consistent(bytes, crc32)?;
        let n = file.n();
        core::hint::black_box(file.into_store());
        Ok(n ^ u64::from(is_consistent))
    }

    fn gate_text64_ffrecord_error(_bytes, table: u8, at: u16, offset: u64, value: i64, crc: u32) {
        let field = FieldId::new(table, at);
        let ended = DriveError::<(), core::convert::Infallible>::Ended { offset };
        core::hint::black_box(ended.infallible::<Error>());
        let (number, n) = (offset, value.unsigned_abs());
        for error in [
            Error::Cut { file_len: offset },
            Error::TooSmall { field, offset, value, min: 0 },
            Error::TooLarge { field, offset, value, max: 0 },
            Error::Checksum { field: raw::Header::checksum_meta, offset, stored: crc, computed: 0 },
            Error::NoSample { number, n },
            Error::TooManySamples { n, max: offset },
            Error::TooFewSamples { n, want: offset },
            Error::FileFull { file_len: offset, len: n },
        ] {
            core::hint::black_box((error.party(), error.blames_caller()));
            write!(Text, "{error}")?;
        }
        Ok(0)
    }
}

fn number_of<W: AsMut<[u8]>>(samples: &Samples<'_, Host, W>) -> u64 {
    samples.number()
}
