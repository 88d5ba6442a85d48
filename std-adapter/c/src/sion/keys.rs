//! The key-value records of one task, and how far each key was read.

use super::failure::Failure;
use super::reading::Stream;
use std::collections::HashMap;
use std::io::SeekFrom;
use striae::sion::Record;

/// A position in the records: SIONlib's `SION_CURRENT_BLOCK`, `SION_CURRENT_POS` and
/// `SION_ABSOLUTE_POS`.
pub(super) const CURRENT_BLOCK: i64 = -102;
pub(super) const CURRENT_POS: i64 = -103;
pub(super) const ABSOLUTE_POS: i64 = -104;

/// The records of a key.
#[derive(Debug, Clone, Default)]
struct Value {
    /// Their numbers in the stream.
    records: Vec<usize>,
    /// The one that is read: an index of `records`.
    at: usize,
    /// Bytes of it that were read.
    read: u64,
}

/// The records of a task.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    records: Vec<Record>,
    values: HashMap<u64, Value>,
    /// The keys in the order of their first records.
    order: Vec<u64>,
    next_record: usize,
    next_key: usize,
}

impl Keys {
    /// Reads the headers of all records.
    pub(super) fn new(stream: &mut dyn Stream) -> Result<Self, Failure> {
        let records = stream.records()?;
        let (mut values, mut order) = (HashMap::<u64, Value>::new(), Vec::new());
        for (number, record) in records.iter().enumerate() {
            let value = values.entry(record.key).or_insert_with(|| {
                order.push(record.key);
                Value::default()
            });
            value.records.push(number);
        }
        Ok(Self { records, values, order, next_record: 0, next_key: 0 })
    }

    /// The number of records of a key, and the bytes of all of them.
    pub(super) fn stat(&self, key: u64) -> Option<(usize, u64)> {
        let records = &self.values.get(&key)?.records;
        let lens = records.iter().filter_map(|&number| self.records.get(number));
        Some((records.len(), lens.fold(0, |sum, record| sum.saturating_add(record.len))))
    }

    pub(super) const fn reset_keys(&mut self) {
        self.next_key = 0;
    }

    /// The next key of the list of keys.
    pub(super) fn next_key(&mut self) -> Option<u64> {
        let key = *self.order.get(self.next_key)?;
        self.next_key = self.next_key.saturating_add(1);
        Some(key)
    }

    pub(super) const fn reset_records(&mut self) {
        self.next_record = 0;
    }

    /// Key and length of the next record, which is then the one that is read of its key.
    pub(super) fn next_record(&mut self) -> Option<(u64, u64)> {
        let number = self.next_record;
        let record = *self.records.get(number)?;
        self.next_record = number.saturating_add(1);
        let value = self.values.get_mut(&record.key)?;
        (value.at, value.read) = (value.records.binary_search(&number).unwrap_or(0), 0);
        Some((record.key, record.len))
    }

    /// The record that is read next of a key, and the bytes of it that were read. Records without
    /// unread bytes are passed over.
    fn current(&mut self, key: u64) -> Option<(Record, u64)> {
        let value = self.values.get_mut(&key)?;
        loop {
            let record = *self.records.get(*value.records.get(value.at)?)?;
            if value.read < record.len {
                return Some((record, value.read));
            }
            (value.at, value.read) = (value.at.saturating_add(1), 0);
        }
    }

    /// Reads values of `size` bytes of a key into `bytes`: as many as there are in the current
    /// record, and as fit. Returns the number of bytes.
    pub(super) fn read(
        &mut self,
        stream: &mut dyn Stream,
        key: u64,
        size: usize,
        bytes: &mut [u8],
    ) -> std::io::Result<usize> {
        let Some((record, read)) = self.current(key) else { return Ok(0) };
        let left = record.len.saturating_sub(read);
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        let len = most.checked_rem(size).map_or(0, |rest| most.saturating_sub(rest));
        let bytes = bytes.get_mut(..len).unwrap_or_default();
        stream.seek(SeekFrom::Start(record.position.saturating_add(read)))?;
        stream.read_exact(bytes)?;
        if let (Some(value), Ok(len)) = (self.values.get_mut(&key), u64::try_from(len)) {
            value.read = read.saturating_add(len);
        }
        Ok(len)
    }

    /// Moves to byte `at` of record `block` of a key; returns whether the key has it.
    pub(super) fn seek(&mut self, key: u64, block: i64, at: i64) -> bool {
        if block == CURRENT_BLOCK && at == CURRENT_POS {
            return self.current(key).is_some();
        }
        self.find(key, block, at).is_some_and(|(number, read)| {
            let value = self.values.get_mut(&key);
            value.map(|value| (value.at, value.read) = (number, read)).is_some()
        })
    }

    /// Which record of a key has a byte, and where in it.
    fn find(&mut self, key: u64, block: i64, at: i64) -> Option<(usize, u64)> {
        let mut at = u64::try_from(at).ok()?;
        let number = match block {
            ABSOLUTE_POS => {
                let value = self.values.get(&key)?;
                let lens = value.records.iter().map_while(|&number| self.records.get(number));
                lens.enumerate().find_map(|(number, record)| {
                    let is_here = at < record.len;
                    at = if is_here { at } else { at.saturating_sub(record.len) };
                    is_here.then_some(number)
                })?
            }
            CURRENT_BLOCK => {
                self.current(key)?;
                self.values.get(&key)?.at
            }
            block => usize::try_from(block).ok()?,
        };
        let record = self.records.get(*self.values.get(&key)?.records.get(number)?)?;
        (at < record.len).then_some((number, at))
    }
}
