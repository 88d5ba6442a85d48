//! A small writer of SIONlib files, made from `spec/sion.md` alone.
//!
//! It shares no code with striae's layout, so that the two can be compared.

/// A physical file that is to be written.
#[derive(Debug, Clone)]
pub struct SionFile {
    /// Order of the metadata.
    pub big_endian: bool,
    /// fileformat_version.
    pub version: i32,
    /// As it stands in META1; the unit of all rounding.
    pub fsblksize: u32,
    /// Physical files of the set.
    pub nfiles: i32,
    /// Number of this one.
    pub filenumber: i32,
    /// `flag1`: 51 << 32 makes streams key-value records.
    pub flag1: i64,
    /// Padded by NULs to 1024 bytes.
    pub prefix: Vec<u8>,
    /// The tasks in order.
    pub tasks: Vec<SionTask>,
    /// What block sizes of chunks say that a task did not use: 0 or -1.
    pub unused: i64,
    /// Unused bytes between the last block and META2.
    pub gap: u64,
    /// The bytes behind META2 as (filenumber, lrank).
    pub mapping: Option<Vec<(i32, i32)>>,
}

/// A task of a [`SionFile`].
#[derive(Debug, Clone, Default)]
pub struct SionTask {
    /// Any number.
    pub globalrank: i64,
    /// As it stands in META1. Before version 4 chunks are larger: rounded up to fsblksize.
    pub chunksize: u64,
    /// What is used of each chunk; at least one chunk.
    pub chunks: Vec<Vec<u8>>,
}

/// Where things are in the bytes of a [`SionFile`].
#[derive(Debug, Clone)]
pub struct Places {
    /// The table of global ranks.
    pub globalranks: u64,
    /// The table of chunk sizes.
    pub chunksizes: u64,
    /// `maxchunks`; `start_of_varheader` is 4 bytes on.
    pub commit: u64,
    /// The first chunk.
    pub first: u64,
    /// The first chunk of each task.
    pub starts: Vec<u64>,
    /// Bytes that each chunk of a task takes.
    pub sizes: Vec<u64>,
    /// Bytes from a block to the next.
    pub globalskip: u64,
    /// Blocks.
    pub maxchunks: u64,
    /// META2.
    pub varheader: u64,
    /// The table of block sizes.
    pub blocksizes: u64,
    /// Behind META2.
    pub meta2_end: u64,
}

impl Default for SionFile {
    fn default() -> Self {
        Self {
            big_endian: false,
            version: 5,
            fsblksize: 512,
            nfiles: 1,
            filenumber: 0,
            flag1: 50 << 32,
            prefix: b"made.sion".to_vec(),
            tasks: Vec::new(),
            unused: 0,
            gap: 0,
            mapping: None,
        }
    }
}

fn round_up(value: u64, unit: u32) -> u64 {
    value.div_ceil(u64::from(unit)) * u64::from(unit)
}

impl SionTask {
    /// A task whose `stream` fills chunk after chunk of `chunksize` bytes to the last byte.
    #[must_use]
    pub fn filled(globalrank: i64, chunksize: u64, stream: &[u8]) -> Self {
        let room = usize::try_from(chunksize.max(1)).unwrap();
        let mut chunks: Vec<_> = stream.chunks(room).map(<[u8]>::to_vec).collect();
        chunks.resize(chunks.len().max(1), Vec::new());
        Self { globalrank, chunksize, chunks }
    }

    /// All of its bytes.
    #[must_use]
    pub fn stream(&self) -> Vec<u8> {
        self.chunks.concat()
    }
}

impl SionFile {
    /// An integer as it stands in the file.
    #[must_use]
    pub fn i32(&self, value: i32) -> [u8; 4] {
        if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    /// An integer as it stands in the file.
    #[must_use]
    pub fn i64(&self, value: i64) -> [u8; 8] {
        if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    /// The header of a key-value record.
    #[must_use]
    pub fn record_header(&self, key: u64, len: u64) -> Vec<u8> {
        let bytes = |n: u64| if self.big_endian { n.to_be_bytes() } else { n.to_le_bytes() };
        [bytes(key), bytes(len)].concat()
    }

    /// Where things are.
    #[must_use]
    pub fn places(&self) -> Places {
        let ntasks = u64::try_from(self.tasks.len()).unwrap();
        let globalranks = if self.version == 2 { 1056 } else { 1076 };
        let first = round_up(1088 + 16 * ntasks, self.fsblksize);
        let size_of = |task: &SionTask| match self.version {
            2 | 3 => round_up(task.chunksize, self.fsblksize),
            _ => task.chunksize,
        };
        let sizes: Vec<u64> = self.tasks.iter().map(size_of).collect();
        let starts = sizes.iter().scan(first, |next, size| {
            let start = *next;
            *next += size;
            Some(start)
        });
        let globalskip = sizes.iter().sum();
        let maxchunks = self.tasks.iter().map(|task| task.chunks.len()).max().unwrap_or(0);
        let maxchunks = u64::try_from(maxchunks).unwrap();
        let varheader = first + maxchunks * globalskip + self.gap;
        Places {
            globalranks,
            chunksizes: globalranks + 8 * ntasks,
            commit: globalranks + 16 * ntasks,
            first,
            starts: starts.collect(),
            globalskip,
            maxchunks,
            varheader,
            blocksizes: varheader + 8 * ntasks,
            meta2_end: varheader + 8 * ntasks * (1 + maxchunks),
            sizes,
        }
    }

    /// The file.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let places = self.places();
        let mut file = self.meta1(&places);
        file.resize(usize::try_from(places.varheader).unwrap(), 0);
        for ((task, start), size) in self.tasks.iter().zip(&places.starts).zip(&places.sizes) {
            for (number, chunk) in (0..).zip(&task.chunks) {
                assert!(u64::try_from(chunk.len()).unwrap() <= *size, "a chunk is too full");
                let at = usize::try_from(start + number * places.globalskip).unwrap();
                file[at..][..chunk.len()].copy_from_slice(chunk);
            }
        }
        for task in &self.tasks {
            file.extend(self.i64(i64::try_from(task.chunks.len()).unwrap()));
        }
        for number in 0..usize::try_from(places.maxchunks).unwrap() {
            for task in &self.tasks {
                let used = task.chunks.get(number).map(|chunk| i64::try_from(chunk.len()).unwrap());
                file.extend(self.i64(used.unwrap_or(self.unused)));
            }
        }
        if let Some(mapping) = &self.mapping {
            file.extend(self.i32(i32::try_from(mapping.len()).unwrap()));
            for (filenumber, lrank) in mapping {
                file.extend([self.i32(*filenumber), self.i32(*lrank)].concat());
            }
        }
        file
    }

    fn meta1(&self, places: &Places) -> Vec<u8> {
        let mut file = b"sion".to_vec();
        file.extend([u8::from(self.big_endian); 4]);
        let ntasks = i32::try_from(self.tasks.len()).unwrap();
        let blksize = i32::try_from(self.fsblksize).unwrap();
        for value in [1007, 6, self.version, blksize, ntasks, self.nfiles] {
            file.extend(self.i32(value));
        }
        if self.version != 2 {
            file.extend(self.i32(self.filenumber));
            file.extend([self.i64(self.flag1), self.i64(0)].concat());
        }
        let mut prefix = self.prefix.clone();
        prefix.resize(1024, 0);
        file.extend(prefix);
        file.extend(self.tasks.iter().flat_map(|task| self.i64(task.globalrank)));
        let chunksize = |task: &SionTask| self.i64(i64::try_from(task.chunksize).unwrap());
        file.extend(self.tasks.iter().flat_map(chunksize));
        file.extend(self.i32(i32::try_from(places.maxchunks).unwrap()));
        file.extend(self.i64(i64::try_from(places.varheader).unwrap()));
        file
    }
}
