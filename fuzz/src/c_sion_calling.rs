//! The body of `c_sion`: calls of the serial `sion.h`, and a plain model of what they promise.

use std::io::Read;
use std::path::Path;
use striae::sion::File;
use striae_c::{called, sion};

/// The most calls of a run, and the most chunks of a task.
const MOST: usize = 200;

const CURRENT_RANK: i32 = -101;
const CURRENT_BLOCK: i32 = -102;
const ABSOLUTE: i32 = -104;
const END: i32 = -105;
const CURRENT_POS: i64 = -103;

/// A task: its chunks, and where the program stands.
#[derive(Debug, Clone)]
struct Task {
    chunksize: usize,
    chunks: Vec<Vec<u8>>,
    chunk: usize,
    at: usize,
}

/// The input has the unit, the number of tasks and their chunk sizes, then calls: a byte that says
/// which, then its arguments.
///
/// # Panics
/// If a call does not do what `sion.h` promises.
pub fn c_sion(data: &[u8]) {
    called::be_quiet();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.sion");
    let mut input = data.iter().copied();
    let mut next = || input.next();
    let unit = usize::from(next().unwrap_or(0) % 40 + 1);
    let ntasks = usize::from(next().unwrap_or(0) % 4 + 1);
    let sizes: Vec<usize> = (0..ntasks).map(|_| usize::from(next().unwrap_or(9) % 64)).collect();
    let asked: Vec<i64> = sizes.iter().map(|&size| size.try_into().unwrap()).collect();
    let sid = called::sion_create(&path, c"bw", &asked, unit.try_into().unwrap());
    assert!(sid >= 0);
    let mut model = Model::new(sid, sizes.iter().map(|size| size.next_multiple_of(unit)));
    for _ in 0..MOST {
        let Some(call) = next() else { break };
        let (first, second) = (next().unwrap_or(0), next().unwrap_or(0));
        match call % 8 {
            0..3 => model.write(first, usize::from(second) % 70),
            3 => model.ensure(i64::from(second) - 8),
            4 | 5 => model.seek(call / 8, first, second),
            6 => assert_eq!(sion::lsion_flush(sid), 1),
            7 if call / 8 % 2 == 1 => model.write_stdio(first, usize::from(second) % 40),
            _ => model.query(),
        }
        model.check();
    }
    assert_eq!(sion::lsion_close(sid), 1);
    assert_eq!(sion::lsion_close(sid), 0);
    model.check_streams(&path);
    model.read(&path, data);
}

struct Model {
    sid: i32,
    tasks: Vec<Task>,
    rank: usize,
}

impl Model {
    fn new(sid: i32, sizes: impl Iterator<Item = usize>) -> Self {
        let task = |chunksize| Task { chunksize, chunks: vec![Vec::new()], chunk: 0, at: 0 };
        Self { sid, tasks: sizes.map(task).collect(), rank: 0 }
    }

    fn task(&mut self) -> &mut Task {
        &mut self.tasks[self.rank]
    }

    fn write(&mut self, value: u8, len: usize) {
        let bytes: Vec<u8> = (0..len).map(|i| value.wrapping_add(i as u8)).collect();
        let wrote = called::sion_fwrite(&bytes, self.sid);
        let expected = if self.task().write(&bytes) { len } else { 0 };
        assert_eq!(wrote, expected, "{:?}", self.task());
    }

    /// The program writes with the `FILE *`, within the chunk.
    fn write_stdio(&mut self, value: u8, len: usize) {
        self.ensure(len.try_into().unwrap());
        let task = self.task();
        if len > task.chunksize || !task.is_last() && task.at + len > task.len() {
            return; // nothing that a program may do
        }
        let bytes = vec![value; len];
        assert!(task.write(&bytes));
        assert_eq!(called::stdio_write(&bytes, self.sid), len);
    }

    fn ensure(&mut self, len: i64) {
        let done = sion::lsion_ensure_free_space(self.sid, len);
        let expected = usize::try_from(len).is_ok_and(|len| self.task().ensure(len));
        assert_eq!(done, i32::from(expected));
    }

    /// Goes to a rank, and to any position or the end.
    fn seek(&mut self, how: u8, first: u8, second: u8) {
        let rank = if first % 8 == 7 { CURRENT_RANK } else { i32::from(first % 8) };
        let small = i64::from(second) - 4;
        let (block, position) = match how % 5 {
            0 | 1 => (CURRENT_BLOCK, CURRENT_POS),
            2 => (ABSOLUTE, small),
            3 => (END, -small),
            _ => (i32::from(first / 8) - 1, small % 32),
        };
        let done = sion::lsion_seek(self.sid, rank, block, position);
        let wanted =
            if rank == CURRENT_RANK { Some(self.rank) } else { usize::try_from(rank).ok() };
        let Some(wanted) = wanted.filter(|&rank| rank < self.tasks.len()) else {
            assert_eq!(done, 0);
            return;
        };
        let found = self.tasks[wanted].find(block, position);
        assert_eq!(done, i32::from(found.is_some()), "{block} {position}");
        if let Some(found) = found {
            self.rank = wanted;
            (self.task().chunk, self.task().at) = found;
        }
    }

    fn query(&mut self) {
        let sid = self.sid;
        let task = self.task();
        let room: i64 = (task.chunksize - task.at).try_into().unwrap();
        assert_eq!(sion::lsion_bytes_avail_in_block(sid), room);
        let bytes = task.chunks.iter().map(Vec::len).sum::<usize>();
        let bytes: i64 = bytes.try_into().unwrap();
        assert_eq!(sion::lsion_get_bytes_written(sid), bytes);
        assert_eq!(sion::lsion_get_bytes_read(sid), -1);
    }

    /// Position and used bytes are those of the model.
    fn check(&mut self) {
        let (block, position, lens) = called::sion_location(self.sid).unwrap();
        let task = &self.tasks[self.rank];
        assert_eq!(usize::try_from(block).unwrap(), task.chunk);
        assert_eq!(usize::try_from(position).unwrap(), task.at);
        let lens = lens.into_iter().map(|len| usize::try_from(len).unwrap());
        assert!(lens.eq(task.chunks.iter().map(Vec::len)), "{task:?}");
    }

    /// The Rust library reads the streams of the model.
    fn check_streams(&self, path: &Path) {
        let file = File::open(path).unwrap();
        for (number, task) in (0..).zip(&self.tasks) {
            let mut bytes = Vec::new();
            file.stream(number).unwrap().read_to_end(&mut bytes).unwrap();
            assert_eq!(bytes, task.chunks.concat());
        }
    }

    /// The set is read by `sion.h`: from the places that the input says, and to the end.
    fn read(&mut self, path: &Path, data: &[u8]) {
        let (sid, ntasks) = called::sion_open(path);
        assert_eq!(usize::try_from(ntasks).unwrap(), self.tasks.len());
        self.sid = sid;
        self.rank = 0;
        self.tasks.iter_mut().for_each(|task| (task.chunk, task.at) = (0, 0));
        for call in data.chunks_exact(3).take(MOST) {
            let task = self.task();
            let len = usize::from(call[1]) % 70;
            let mut bytes = vec![0; len];
            let is_own = call[2] >= 128 && task.at + len <= task.len();
            let read = match is_own {
                true => called::stdio_read(&mut bytes, sid),
                false => called::sion_fread(&mut bytes, sid),
            };
            if !is_own {
                task.advance();
            }
            let there = task.chunks[task.chunk].get(task.at..task.at + len);
            assert_eq!(read, if there.is_some() { len } else { 0 });
            if let Some(there) = there {
                assert_eq!(bytes, there);
                task.at += len;
            }
            self.check();
            let rank = usize::from(call[0]) % self.tasks.len();
            assert_eq!(sion::lsion_seek(sid, rank.try_into().unwrap(), 0, 0), 1);
            self.rank = rank;
            (self.task().chunk, self.task().at) = (0, 0);
            self.seek(call[2], 7, call[0]);
            self.check();
        }
        for rank in 0..self.tasks.len() {
            assert_eq!(sion::lsion_seek(sid, rank.try_into().unwrap(), 0, 0), 1);
            let mut stream = Vec::new();
            while sion::lsion_feof(sid) == 0 {
                let left = sion::lsion_bytes_avail_in_chunk(sid);
                let mut bytes = vec![0; usize::try_from(left).unwrap()];
                assert!(left > 0 && called::sion_fread(&mut bytes, sid) == bytes.len());
                stream.extend(bytes);
            }
            assert_eq!(stream, self.tasks[rank].chunks.concat());
        }
        assert_eq!(sion::lsion_close(sid), 1);
    }
}

impl Task {
    fn is_last(&self) -> bool {
        self.chunk + 1 == self.chunks.len()
    }

    fn len(&self) -> usize {
        self.chunks[self.chunk].len()
    }

    /// Goes to the next chunk unless `len` bytes fit.
    fn ensure(&mut self, len: usize) -> bool {
        if len > self.chunksize {
            return false;
        }
        if self.at + len > self.chunksize {
            if self.is_last() {
                self.chunks.push(Vec::new());
            }
            (self.chunk, self.at) = (self.chunk + 1, 0);
        }
        true
    }

    fn write(&mut self, bytes: &[u8]) -> bool {
        if !self.ensure(bytes.len()) {
            return false;
        }
        let left = self.len() - self.at;
        if bytes.len() > left && !self.is_last() {
            return false;
        }
        let (chunk, at) = (self.chunk, self.at);
        let (old, new) = bytes.split_at(left.min(bytes.len()));
        self.chunks[chunk][at..at + old.len()].copy_from_slice(old);
        self.chunks[chunk].extend(new);
        self.at += bytes.len();
        true
    }

    fn advance(&mut self) {
        while self.at >= self.len() && !self.is_last() {
            (self.chunk, self.at) = (self.chunk + 1, 0);
        }
    }

    fn find(&self, block: i32, position: i64) -> Option<(usize, usize)> {
        let lens = || self.chunks.iter().map(Vec::len);
        match block {
            CURRENT_BLOCK if position == CURRENT_POS => Some((self.chunk, self.at)),
            ABSOLUTE => {
                let mut at = usize::try_from(position).ok()?;
                lens().enumerate().find_map(|(chunk, len)| match at <= len {
                    true => Some((chunk, at)),
                    false => {
                        at -= len;
                        None
                    }
                })
            }
            END => {
                let mut back = usize::try_from(-position).ok()?;
                lens().enumerate().rev().find_map(|(chunk, len)| match back <= len {
                    true => Some((chunk, len - back)),
                    false => {
                        back -= len;
                        None
                    }
                })
            }
            block => {
                let (chunk, at) = (usize::try_from(block).ok()?, usize::try_from(position).ok()?);
                (at <= self.chunks.get(chunk)?.len()).then_some((chunk, at))
            }
        }
    }
}
