//! Files without a valid commit record: they get one before anything else changes.

use super::desk::{Desk, Failure, SMALL};
use super::tail::Stands;
use crate::gsd::raw::{Commit, Shadow};
use crate::span::Span;
#[twin(WriteAt)]
use crate::store::WriteAt;
use crate::store::usize_to_u64;
use striae_twin::twin;
use zerocopy::{FromZeros, IntoBytes};

const MAGIC: usize = Commit::MAGIC.len();

#[twin(WriteAt)]
impl<S: WriteAt> Desk<'_, S, S::Error> {
    /// Makes the file ready for writing: if it has no valid commit record, it gets one for its
    /// content, which is made durable.
    pub(super) async fn adopt(&mut self) -> Result<(), Failure> {
        if self.tail.is_writable() {
            return Ok(());
        }
        if self.tail.is_adopted {
            return self.make_durable().await;
        }
        let shadows = self.disk.check(self.tail.behind(Shadow::BOTH_LEN))?;
        self.reserve(shadows.end()).await?;
        self.sum_names().await?;
        self.make_record(shadows.offset(), shadows.end()).await
    }

    /// Makes the header durable. This comes before any write to a file of another program, since an
    /// older header may use places that are free in the present one, and at the end.
    pub(super) async fn make_durable(&mut self) -> Result<(), Failure> {
        if self.tail.stands != Stands::Durable {
            self.disk.sync().await?;
            self.tail.stands = Stands::Durable;
        }
        Ok(())
    }

    /// Computes the CRC-32C of the names.
    async fn sum_names(&mut self) -> Result<(), Failure> {
        let (mut left, mut crc) = (self.tail.name_list(), 0);
        while !left.is_empty() {
            let mut small = [0; SMALL];
            let names = self.disk.read_front(left, self.window, &mut small).await?;
            crc = (self.checksum)(crc, names);
            left = left.after(names);
        }
        self.tail.names_crc = crc;
        Ok(())
    }

    /// Writes a commit record of the committed state to the header of a file that ends at
    /// `data_end`, with its shadows at `shadows`.
    ///
    /// The file has no valid record before the last step: a record that is half written is ignored.
    #[inline(never)]
    pub(super) async fn make_record(&mut self, shadows: u64, data_end: u64) -> Result<(), Failure> {
        self.tail.is_adopted = false;
        if self.tail.image.commit.magic != [0; MAGIC] {
            self.disk.write(Commit::OFFSET, &[0; MAGIC]).await?;
            self.tail.image.commit.magic = [0; MAGIC];
        }
        // The shadow of a commit that changes nothing: without one, an append by gsd would look
        // like damage. The file must be as long as the record says.
        let mut shadow = Shadow::new_zeroed();
        shadow.new.copy_from(&self.tail.image);
        let place = (data_end, shadows, 0);
        let made = self.tail.put_record(&mut shadow.new, self.tail.committed, place, self.checksum);
        self.disk.check(made)?;
        let Shadow { old, new, .. } = &mut shadow;
        old.copy_from(new);
        shadow.seal(0, self.checksum);
        self.disk.write(shadows, shadow.as_bytes()).await?;
        self.disk.write_zeros(Span::exact(Shadow::offset_of(shadows, 1), Shadow::LEN)).await?;
        self.disk.sync().await?;
        let record = shadow.new.commit.as_bytes();
        let (magic, rest) = record.split_at_checked(MAGIC).unwrap_or_default();
        self.disk.write(Commit::OFFSET.saturating_add(usize_to_u64(MAGIC)), rest).await?;
        self.disk.sync().await?;
        self.disk.write(Commit::OFFSET, magic).await?;
        self.disk.sync().await?;
        self.tail.image.copy_from(&shadow.new);
        self.tail.data_end = data_end;
        (self.tail.is_adopted, self.tail.stands) = (true, Stands::Durable);
        self.tail.begin_sums();
        Ok(())
    }
}
