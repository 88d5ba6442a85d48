//! How many requests readers of sets, and of streams in many chunks, make of stores far away.

use crate::requests::{WINDOW, wide_sion};
use striae_core::sion::{Opened, Physical, Reader};
use striae_core::store::ReadAhead;
use striae_kit::far::Far;
use striae_kit::golden_sets::golden_sets;

/// The stores of the files of a set, read ahead, and what was asked of them.
struct Set<'f> {
    fars: &'f [Far<'f>],
    before: Vec<u64>,
}

impl Set<'_> {
    /// The most requests of a file since the last time.
    fn most(&mut self) -> u64 {
        let now: Vec<_> = self.fars.iter().map(|far| far.asked().0).collect();
        let spent = now.iter().zip(&self.before).map(|(now, before)| now - before);
        let most = spent.max().unwrap();
        self.before = now;
        most
    }
}

/// Reads all streams of a set, and checks them and the requests; `false` for an unclosed one.
fn read_set(name: &str, files: &[Vec<u8>], memory: fn(usize) -> usize) -> bool {
    let fars: Vec<_> = files.iter().map(|bytes| Far::new(bytes)).collect();
    let mut memories: Vec<_> = files.iter().map(|file| vec![0; memory(file.len())]).collect();
    let stores = fars.iter().zip(&mut memories);
    let stores: Vec<_> = stores.map(|(far, memory)| ReadAhead::new(far, memory)).collect();
    let mut set = Set { fars: &fars, before: vec![0; fars.len()] };
    let mut window = [0; WINDOW];
    let opened: Vec<_> =
        stores.iter().map(|store| Physical::open(store, &mut window).unwrap()).collect();
    assert!(set.most() <= 3, "{name}");
    let closed = |opened| match opened {
        Opened::Closed(file) => Some(file),
        Opened::Unclosed(_) => None,
    };
    let Some(closed) = opened.into_iter().map(closed).collect::<Option<Vec<_>>>() else {
        return false;
    };
    let reader = Reader::of_set(closed).unwrap();
    let last = i64::try_from(reader.ntasks()).unwrap() - 1;
    assert!(reader.find_globalrank(last, &mut window).unwrap().is_some(), "{name}");
    assert!(set.most() <= 1, "{name}: a globalrank");
    for file in reader.files() {
        let tasks = file.tasks(window).unwrap().map(Result::unwrap);
        assert_eq!(tasks.count(), file.meta1().ntasks() as usize);
    }
    assert!(set.most() <= 1, "{name}: the lists of tasks");
    for number in 0..reader.ntasks() {
        let (file, task) = reader.task(number, &mut window).unwrap();
        assert!(set.most() <= 1, "{name}: task {number}");
        let mut stream = file.stream(task);
        let mut bytes = vec![0; stream.total().unwrap() as usize];
        assert!(set.most() <= 1, "{name}: the lengths of task {number}");
        stream.read_all(&mut bytes).unwrap();
        let most = set.most();
        assert!(most <= 1, "{name}: {most} requests for the stream of task {number}");
        let (_, near, local) = reader.address(number).unwrap();
        let near = &files[near as usize][..];
        let Ok(Opened::Closed(near)) = Physical::open(near, &mut window) else { panic!() };
        let task = near.task(local, &mut window).unwrap();
        let mut expected = vec![0; bytes.len()];
        near.stream(task).read_all(&mut expected).unwrap();
        assert!(bytes == expected, "{name}: task {number}");
    }
    true
}

#[test]
fn a_set_takes_three_requests_a_file_to_open_and_one_for_each_list_and_stream() {
    for memory in [|_| 1 << 16, |len: usize| (2 * len).saturating_sub(17)] {
        let sets = golden_sets().into_iter().filter(|set| set.files.len() > 1);
        let read = sets.filter(|set| read_set(&set.name, &set.files, memory)).count();
        assert!(read >= 5, "{read}");
    }
}

#[test]
fn chunks_that_a_read_goes_on_in_are_read_together() {
    let most = |chunks: usize, memory: usize| {
        let bytes = wide_sion(20, chunks);
        let (far, mut memory) = (Far::new(&bytes), vec![0; memory]);
        let store = ReadAhead::new(&far, &mut memory);
        let mut window = [0; WINDOW];
        let Ok(Opened::Closed(file)) = Physical::open(&store, &mut window) else { panic!() };
        let mut stream = file.stream(file.task(7, &mut window).unwrap());
        let len = stream.total().unwrap();
        let before = far.asked().0;
        let mut read = vec![0; len as usize];
        stream.read_all(&mut read).unwrap();
        assert!(read.iter().all(|&byte| byte == 7));
        far.asked().0 - before
    };
    assert_eq!(most(1, 1 << 12), 1);
    // a fifth of each chunk is used: the store is told of 9 chunks, of 18, and of the rest
    assert_eq!(most(40, 1 << 16), 3);
    // more than the memory holds
    assert!(most(40, 1 << 9) >= 40);
}
