//! What the ranks could not read of a set.

use super::set::Set;
use crate::collective::Collective;
use crate::error::Error;
use crate::operation::Operation;
use std::collections::BTreeMap;

/// The bytes of other ranks that rank 0 has in memory at once, besides the list.
const WINDOW: usize = 1 << 16;

/// The longest text of an error that is sent.
const MAX_TEXT: usize = 1 << 12;

/// The bytes before a text: number, whether the values are known, values, length of the text.
const HEAD: usize = 4 + 1 + 8 + 4;

/// A subfile that a rank could not read, or not all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// The number of the subfile.
    pub number: u32,
    /// The first error of the lowest rank that had one, with the path of the subfile.
    pub text: String,
    /// The values that the ranks were to read and that were filled, of all variables; `None` if
    /// their number is not known because the map is lost, too.
    pub values: Option<u64>,
}

impl Lost {
    fn encode(&self, bytes: &mut Vec<u8>) {
        let text = self.text.as_bytes();
        let text = text.get(..text.len().min(MAX_TEXT)).unwrap_or_default();
        let len = u32::try_from(text.len()).unwrap_or(0); // at most MAX_TEXT
        bytes.extend(self.number.to_le_bytes());
        bytes.push(u8::from(self.values.is_some()));
        bytes.extend(self.values.unwrap_or(0).to_le_bytes());
        bytes.extend(len.to_le_bytes());
        bytes.extend(text);
    }

    /// Takes the first one from the front of `bytes`, if all of it is there.
    fn decode(bytes: &mut Vec<u8>) -> Option<Self> {
        let (head, rest) = bytes.split_at_checked(HEAD)?;
        let (number, head) = head.split_first_chunk()?;
        let ([is_known], head) = head.split_first_chunk()?;
        let (values, head) = head.split_first_chunk()?;
        let len = u32::from_le_bytes(*head.first_chunk()?);
        let text = rest.get(..usize::try_from(len).ok()?)?;
        let lost = Self {
            number: u32::from_le_bytes(*number),
            text: String::from_utf8_lossy(text).into(),
            values: (*is_known != 0).then_some(u64::from_le_bytes(*values)),
        };
        let end = HEAD.saturating_add(text.len());
        bytes.drain(..end);
        Some(lost)
    }
}

impl<C: Collective> Set<C> {
    /// The subfiles that a rank could not read so far, or not all of them, in order; only rank 0
    /// gets them. Missing subfiles are not among them, see
    /// [`striae::blob::Set::missing`]. All ranks call this. Rank 0 gathers what the others say, a
    /// window of 64 KiB at a time.
    ///
    /// # Errors
    /// The failure of a rank, at all ranks.
    pub fn lost(&self) -> Result<Vec<Lost>, Error> {
        let mut bytes = Vec::new();
        for lost in self.whole().lost() {
            let striae::blob::Lost { number, error, values } = lost;
            Lost { number, text: error.to_string(), values }.encode(&mut bytes);
        }
        let (mut all, mut rest) = (BTreeMap::new(), Vec::new());
        self.comm().begin(Operation::BlobLost, 0);
        self.comm().agree(Ok(()))?; // before rank 0 waits for messages
        self.comm().gather(0, Ok(&bytes), WINDOW, |_, piece| {
            rest.extend(piece);
            while let Some(lost) = Lost::decode(&mut rest) {
                let Lost { number, values, .. } = lost;
                let mut is_new = false;
                let known: &mut Lost = all.entry(number).or_insert_with(|| {
                    is_new = true;
                    lost
                });
                if !is_new {
                    let sum = known.values.zip(values);
                    known.values = sum.map(|(sum, more)| sum.saturating_add(more));
                }
            }
            Ok(())
        })?;
        Ok(all.into_values().collect())
    }
}
