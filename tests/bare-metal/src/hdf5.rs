//! HDF5 files with plain arrays, and new ones with two of them.

use crate::host::{Host, Text};
use crate::{Fail, entries};
use core::fmt::Write;
use striae_core::field::FieldId;
use striae_core::hdf5::error::Part;
use striae_core::hdf5::lookup3::{Sum, lookup3};
use striae_core::hdf5::superblock::root;
use striae_core::hdf5::{
    Array, Attributes, Container, Dataset, Error, Feature, Links, Messages, Progress, Reader,
    Search,
};
use striae_core::source::{Restart, View};
use striae_core::store::ReadAt;

fn sum_of(array: &Array) -> u64 {
    array.values.end() ^ array.shape.lengths.end() ^ array.shape.nelems
}

entries! {
    fn gate_hdf5_read(bytes, at: usize) {
        let (memory, name) = bytes.split_at_mut_checked(at).ok_or(Fail)?;
        let file = Reader::open(Host { file: 0 }, memory)?;
        let array = file.dataset(name, memory)?.ok_or(Fail)?;
        let attribute = file.attribute(name, memory)?.ok_or(Fail)?;
        let sum = sum_of(&array) ^ sum_of(&attribute.array) ^ file.root();
        Ok(sum ^ file.store().size()?)
    }

    fn gate_hdf5_lists(bytes) {
        let file = Reader::open(Host { file: 0 }, bytes)?;
        let mut sum = 0;
        for link in file.links(bytes) {
            sum ^= link?.name.end();
        }
        for attribute in file.attributes(bytes) {
            sum ^= sum_of(&attribute?.array);
        }
        Ok(sum)
    }

    fn gate_hdf5_slice(bytes, address: u64) {
        let bytes = &*bytes;
        let mut sum = root(bytes)?;
        let mut messages = Messages::open(bytes, address)?;
        while let Some(message) = messages.next(bytes)? {
            sum ^= message.body.end();
        }
        if let Progress::Found(message) = Messages::open(bytes, sum)?.advance(bytes)? {
            sum ^= message.body.end();
        }
        if let Progress::Found(link) = Links::open(bytes, address)?.advance(bytes)? {
            sum ^= link.name.end();
        }
        if let Progress::Found(one) = Attributes::open(bytes, address)?.advance(bytes)? {
            sum ^= one.name.end();
        }
        sum ^= Links::open(bytes, address)?.find(bytes, b"a")?.ok_or(Fail)?;
        Ok(sum ^ sum_of(&Dataset::open(bytes, address)?.array(bytes)?))
    }

    fn gate_hdf5_view(bytes, reads: u64) {
        let store = Host { file: 0 };
        let view = View::<4>::new(bytes, store.size()?);
        let known = (None, Search::default());
        let mut restart = Restart::new(view, known, reads, |view, (group, search)| {
            let group = *striae_core::source::Source::once(view, group, root)?;
            search.dataset(view, group, b"data_blob")
        });
        Ok(sum_of(&restart.read_from(&store)?.ok_or(Fail)?))
    }

    fn gate_hdf5_container(bytes, header_len: u64, data_len: u64) {
        let container = Container::new(header_len, data_len).ok_or(Fail)?;
        let begin = Container::header_end(data_len).ok_or(Fail)?;
        let container = Container::with_gap(header_len, begin, data_len).unwrap_or(container);
        let metadata = container.metadata();
        bytes.iter_mut().zip(metadata).for_each(|(to, byte)| *to = byte);
        Ok(container.header().end() ^ container.data().end())
    }

    fn gate_hdf5_lookup3(bytes, len: u32) {
        let mut sum = Sum::new(len);
        sum.block(bytes.first_chunk().ok_or(Fail)?);
        Ok(u64::from(sum.finish(bytes) ^ lookup3(bytes)))
    }

    fn gate_text64_hdf5_error(_bytes, table: u8, at: u16, offset: u64, value: u64, sum: u32) {
        let field = FieldId::new(table, at);
        for error in [
            Error::NotHdf5 { magic: value.to_be_bytes() },
            Error::Unsupported { feature: Feature::Chunked, offset },
            Error::Signature { offset, found: sum.to_be_bytes(), expected: *b"OHDR" },
            Error::Checksum { offset, stored: sum, computed: 0 },
            Error::Value { field, offset, value },
            Error::OutOfFile { offset, end: value, file_len: 0 },
            Error::Ring { offset },
            Error::Missing { offset, part: Part::Layout },
            Error::Size { offset, stored: value, computed: 0 },
        ] {
            write!(Text, "{error}")?;
        }
        Ok(0)
    }
}
