//! Headers that differ from a known one in numbers only.

use super::header::Header;
use crate::subject::part_of;
use alloc::vec::Vec;
use striae_core::cdf::Version;
use striae_core::cdf::layout::{RecordSize, padded};
use striae_core::endian::{ByteOrder, U64};
use striae_core::span::Span;
use zerocopy::FromBytes;

/// The bytes of a number.
const NUMBER: u64 = 8;

fn number(bytes: &[u8], at: u64, order: ByteOrder) -> Option<u64> {
    let bytes = part_of(bytes, Span::new(at, NUMBER)?)?;
    Some(U64::read_from_bytes(bytes).ok()?.get(order))
}

impl Header {
    /// The header at the start of `all` bytes, as [`grammar`](Self::grammar) reads it in a file of
    /// `file_len` bytes, if it has the items of this header. It is not parsed: all bytes must be
    /// the same but for the number of records, the lengths of dimensions, the places of variables,
    /// and the values of the attribute `other` of the file.
    ///
    /// It takes the bytes. `None` if it may have other items, or if a number is wrong: then they
    /// are left and must be parsed.
    pub(crate) fn twin(&self, all: &mut Vec<u8>, file_len: u64, other: &str) -> Option<Self> {
        let (order, mut head) = (self.order, self.head);
        let bytes = all.get(..self.bytes().len())?;
        if head.version != Version::Cdf5 || head.is_streaming || head.header_len > file_len {
            return None;
        }
        self.has_items_of(bytes, other)?;
        head.file_len = file_len;
        head.numrecs = number(bytes, 4, order).filter(|&n| n != head.version.streaming())?;

        let (mut dims, mut lengths) = (self.dims.clone(), Vec::with_capacity(self.dims.len()));
        for dim in &mut dims {
            let length = number(bytes, padded(dim.name.end())?, order)?;
            if (length == 0) != (dim.length == 0) {
                return None;
            }
            dim.length = length;
            lengths.push(length);
        }
        let (mut variables, mut records) = (self.variables.clone(), RecordSize::EMPTY);
        for known in &mut variables {
            let mut len = known.var.nc_type.size();
            for &dimid in self.dimids.get(known.dims.clone())? {
                if Some(dimid) != head.record_dim {
                    len = len.checked_mul(*lengths.get(usize::try_from(dimid).ok()?)?)?;
                }
            }
            let begin_at = known.var.begin_at;
            known.var.vsize = number(bytes, begin_at.checked_sub(NUMBER)?, order)?;
            known.var.begin = number(bytes, begin_at, order)?;
            known.first = Span::new(known.var.begin, len)?;
            if known.is_record {
                records = records.with(len)?;
            }
        }
        head.recsize = records.get();
        if let Some(length) = head.record_dim.and_then(|dimid| usize::try_from(dimid).ok()) {
            *lengths.get_mut(length)? = head.numrecs;
        }
        let length = |&dimid: &u64| lengths.get(usize::try_from(dimid).ok()?).copied();
        let shapes = self.dimids.iter().map(length).collect::<Option<_>>()?;
        let (attrs, dimids) = (self.attrs.clone(), self.dimids.clone());
        all.truncate(self.bytes().len());
        let bytes = core::mem::take(all);
        Some(Self { bytes, order, head, dims, lengths, attrs, variables, dimids, shapes })
    }

    /// Whether `bytes` are those of the header, but for numbers.
    fn has_items_of(&self, bytes: &[u8], other: &str) -> Option<()> {
        let numrecs = Span::new(4, NUMBER);
        let dims = self.dims.iter().map(|dim| Span::new(padded(dim.name.end())?, NUMBER));
        let other = self.attribute(other).map(|attribute| Some(attribute.attr().values));
        let variables = self.variables.iter().map(|known| {
            // `vsize` and `begin`
            Span::new(known.var.begin_at.checked_sub(NUMBER)?, NUMBER.checked_mul(2)?)
        });
        let mut at = 0;
        let end = Span::new(self.head.header_len, 0);
        let differing = [numrecs].into_iter().chain(dims).chain(other).chain(variables);
        for span in differing.chain([end]) {
            let same = Span::between(at, span?.offset())?;
            if part_of(bytes, same)? != part_of(self.bytes(), same)? {
                return None;
            }
            at = span?.end();
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use crate::blob::subfile::Head;
    use alloc::format;
    use alloc::vec::Vec;

    /// The subfiles of a set in both containers.
    macro_rules! subfiles {
        ($($kind:literal),+) => {[$([
            &include_bytes!(concat!(
                "../../../../tests/golden/blob/f8_n8_s3rr/blob_h1.", $kind, ".0000"
            ))[..],
            &include_bytes!(concat!(
                "../../../../tests/golden/blob/f8_n8_s3rr/blob_h1.", $kind, ".0001"
            ))[..],
            &include_bytes!(concat!(
                "../../../../tests/golden/blob/f8_n8_s3rr/blob_h1.", $kind, ".0002"
            ))[..],
        ]),+]};
    }

    /// A header that is read with the help of another one is what it is without: all fields, and
    /// all errors.
    fn check(bytes: &[u8], like: &Head) {
        let (twin, plain) = (Head::read_like(&bytes, &like.header), Head::read(&bytes));
        match (&twin, &plain) {
            (Ok(twin), Ok(plain)) => {
                assert_eq!(format!("{:?}", twin.grammar), format!("{:?}", plain.grammar));
                let (twin, plain) = (&twin.header, &plain.header);
                assert_eq!(twin.bytes, plain.bytes);
                assert_eq!((twin.order, twin.head), (plain.order, plain.head));
                assert_eq!((&twin.dims, &twin.lengths), (&plain.dims, &plain.lengths));
                assert_eq!((&twin.attrs, &twin.variables), (&plain.attrs, &plain.variables));
                assert_eq!((&twin.dimids, &twin.shapes), (&plain.dimids, &plain.shapes));
            }
            (twin, plain) => {
                let errors = [twin, plain].map(|head| format!("{:?}", head.as_ref().err()));
                assert_eq!(errors[0], errors[1]);
            }
        }
    }

    #[test]
    fn a_subfile_of_the_same_set_needs_no_parsing() {
        for files in subfiles!("nc", "h5") {
            let first = Head::read(&files[0]).unwrap();
            for bytes in files {
                check(bytes, &first);
                let own = Head::read(&bytes).unwrap().header;
                let twin = first.header.twin(&mut own.bytes.clone(), 1 << 20, "world_ranks");
                assert_eq!(twin.unwrap().bytes, own.bytes);
            }
        }
    }

    #[test]
    fn a_header_with_any_wrong_bit_is_read_as_without_the_other_one() {
        for files in subfiles!("nc", "h5") {
            let first = Head::read(&files[0]).unwrap();
            let header = first.header.bytes();
            let mut wrong: Vec<u8> = files[1].to_vec();
            let start = wrong.windows(4).position(|bytes| bytes == &header[..4]).unwrap();
            for at in (start..start + header.len()).step_by(3) {
                let bit = 1 << (at % 8);
                wrong[at] ^= bit;
                check(&wrong, &first);
                wrong[at] ^= bit;
            }
            for len in (start..start + header.len()).step_by(101) {
                check(&wrong[..len], &first);
            }
        }
    }
}
