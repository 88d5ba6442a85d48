//! Frames of a small simulation, as they are dealt to ranks.

use striae::gsd::{File, FileWriter as Serial};
use striae_core::store::WriteAt;
use striae_mpi::gsd::{FileWriter, Rows};
use striae_mpi::{Collective, Error};

/// The values of a frame: what all ranks have together.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    step: Vec<u64>,
    position: Vec<[f32; 3]>,
    typeid: Vec<u32>,
    bonds: Vec<[u32; 2]>,
    text: String,
    /// A name that only this frame has.
    name: String,
}

impl Frame {
    pub(crate) fn new(number: u64) -> Self {
        let particles = (number * 7 + 3) % 23;
        let bonds = number * 5 % 11;
        let value = |i: u64| (i * 31 + number) as u32;
        Self {
            step: vec![number * 1000],
            position: (0..particles).map(|i| [i as f32, number as f32, 0.5]).collect(),
            typeid: (0..particles).map(value).collect(),
            bonds: (0..bonds).map(|i| [value(i), value(i + 1)]).collect(),
            text: ["", "héllo"][(number % 2) as usize].to_owned(),
            name: format!("log/value of the frame with the number {number}"),
        }
    }

    /// Writes the frame by the serial writer.
    pub(crate) fn write(&self, file: &mut Serial) {
        file.write("configuration/step", &self.step, 1).unwrap();
        file.write("particles/position", self.position.as_flattened(), 3).unwrap();
        file.write("particles/typeid", &self.typeid, 1).unwrap();
        file.write("bonds/group", self.bonds.as_flattened(), 2).unwrap();
        file.write_text("text", &self.text).unwrap();
        file.write(&self.name, &self.step, 1).unwrap();
        file.end_frame().unwrap();
    }

    /// Writes the frame by all ranks, each with its part.
    pub(crate) fn share<C: Collective, F>(&self, file: &mut FileWriter<C, F>) -> Result<(), Error>
    where
        F: WriteAt<Error = std::io::Error>,
        for<'f> &'f F: WriteAt<Error = std::io::Error>,
    {
        let (rank, size) = (file.comm().rank(), file.comm().size());
        let of_first = if rank == 0 { &self.step[..] } else { &[] };
        let particles = part(self.position.len(), rank, size);
        let bonds = part(self.bonds.len(), size - 1 - rank, size);
        let bonds = self.bonds.len() - bonds.end..self.bonds.len() - bonds.start;
        let letters = part(self.text.len(), rank, size); // also in the middle of a letter
        file.write(&[
            Rows::new().chunk("configuration/step", of_first, 1),
            Rows::new()
                .chunk("particles/position", self.position[particles.clone()].as_flattened(), 3)
                .chunk("particles/typeid", &self.typeid[particles], 1),
            Rows::new().chunk("bonds/group", self.bonds[bonds].as_flattened(), 2),
            Rows::new().bytes(
                "text",
                striae::gsd::ChunkType::Character,
                1,
                &self.text.as_bytes()[letters],
            ),
            Rows::new().chunk(&self.name, of_first, 1),
        ])?;
        file.end_frame();
        Ok(())
    }

    /// The frame `number` of a file.
    pub(crate) fn read(file: &File, number: u64) -> Self {
        let chunk = |name: &str| file.chunk(number, name).unwrap();
        let name = Self::new(number).name;
        let step = file.read(&chunk("configuration/step")).unwrap();
        assert_eq!(file.read::<u64>(&chunk(&name)).unwrap(), step);
        Self {
            step,
            position: rows(&file.read(&chunk("particles/position")).unwrap()),
            typeid: file.read(&chunk("particles/typeid")).unwrap(),
            bonds: rows(&file.read(&chunk("bonds/group")).unwrap()),
            text: file.read_text(&chunk("text")).unwrap(),
            name,
        }
    }
}

fn rows<T: Copy, const M: usize>(values: &[T]) -> Vec<[T; M]> {
    values.chunks_exact(M).map(|row| row.try_into().unwrap()).collect()
}

/// An uneven part of `len` things: the first rank of several has none.
pub(crate) fn part(len: usize, rank: u32, size: u32) -> std::ops::Range<usize> {
    let (rank, size) = (rank as usize, size as usize);
    let at = |rank: usize| match (rank, size) {
        (_, 1) => len * rank,
        (0, _) => 0,
        _ => (rank - 1) * (rank - 1) * len / (size - 1) / (size - 1),
    };
    at(rank)..at(rank + 1)
}
