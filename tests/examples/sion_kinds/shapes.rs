//! How sets are made.

use striae_core::endian::ByteOrder::{Big, Little};
use striae_core::sion::Attributes;

/// How a set is made: attributes of its files, global rank and chunk size of the tasks of each.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) attributes: Attributes,
    pub(crate) files: Vec<Vec<(i64, u64)>>,
    pub(crate) prefix: Option<Vec<u8>>,
}

fn shape(name: &'static str, tasks: &[(i64, u64)]) -> Shape {
    let attributes =
        Attributes { order: Little, data_order: Little, fsblksize: 512, ..Default::default() };
    Shape { name, attributes, files: vec![tasks.to_vec()], prefix: None }
}

impl Shape {
    fn with(mut self, change: impl FnOnce(&mut Attributes)) -> Self {
        change(&mut self.attributes);
        self
    }

    /// A set of several files.
    fn of_files(mut self, counts: &[usize]) -> Self {
        let mut rest = self.files.remove(0);
        for count in counts {
            let later = rest.split_off(*count);
            self.files.push(std::mem::replace(&mut rest, later));
        }
        self.attributes.nfiles = u32::try_from(counts.len()).unwrap();
        self
    }

    /// Whether chunks are as the program's own writer lays them out.
    pub(crate) fn is_aligned(&self) -> bool {
        let unit = u64::from(self.attributes.fsblksize);
        let is_serial = self.attributes.nfiles > 1 || self.attributes.filenumber == 1;
        is_serial && self.tasks().all(|(_, size)| size % unit == 0)
    }

    pub(crate) fn tasks(&self) -> impl Iterator<Item = (i64, u64)> {
        self.files.iter().flatten().copied()
    }

    pub(crate) fn mapping(&self) -> Vec<(u32, u32)> {
        let files = self.files.iter().zip(0..).filter(|_| self.files.len() > 1);
        files
            .flat_map(|(tasks, file)| (0..).take(tasks.len()).map(move |local| (file, local)))
            .collect()
    }

    pub(crate) fn of_file(&self, number: u32) -> Attributes {
        let single = self.attributes.filenumber;
        let filenumber = if self.files.len() > 1 { number } else { single };
        Attributes { filenumber, ..self.attributes }
    }
}

pub(crate) fn shapes() -> Vec<Shape> {
    let three = [(10, 512), (7, 0), (42, 1024)];
    let eight: Vec<_> = (0..8).map(|rank| (rank, 512)).collect();
    // SIONlib's collective mode: m07_np8_coll4.
    let packed = [100, 100, 100, 100, 112, 100, 100, 312];
    let merged = [1536, 512, 512, 1024, 512]; // collectors have the room of their group
    let ranked = |sizes: &[u64]| (0..).zip(sizes.iter().copied()).collect::<Vec<_>>();
    let orders = |order, data_order| {
        move |attributes: &mut Attributes| {
            (attributes.order, attributes.data_order) = (order, data_order)
        }
    };
    let keyval = |attributes: &mut Attributes| attributes.keyval = true;
    let of_fsblksize = |bytes| move |attributes: &mut Attributes| attributes.fsblksize = bytes;
    let parallel = |attributes: &mut Attributes| attributes.filenumber = 0;
    let long = Shape { prefix: Some(vec![b'p'; 1023]), ..shape("longest_prefix", &three) };
    vec![
        shape("serial", &three),
        shape("parallel", &three).with(parallel),
        shape("set_of_3", &eight).of_files(&[2, 2, 4]),
        shape("little_big", &three).with(orders(Little, Big)),
        shape("big_big", &three).with(orders(Big, Big)),
        shape("big_little", &three).with(orders(Big, Little)),
        shape("big_set", &eight).of_files(&[2, 2, 4]).with(orders(Big, Big)),
        shape("keyval", &three).with(keyval),
        shape("keyval_big", &three).with(keyval).with(orders(Big, Little)),
        shape("keyval_set", &eight).of_files(&[2, 2, 4]).with(keyval),
        shape("packed", &ranked(&packed)).with(parallel),
        shape("packed_set", &ranked(&packed)).of_files(&[5, 3]),
        shape("merged", &ranked(&merged)).with(parallel),
        shape("fsblksize_1", &[(-5, 1), (-5, 7), (i64::MAX, 130)]).with(of_fsblksize(1)),
        shape("fsblksize_4096", &[(0, 4096), (1, 8192)]).with(of_fsblksize(4096)),
        shape("no_room", &[(0, 0), (1, 0)]),
        shape("one_task", &[(0, 512)]),
        shape("many_tasks", &(0..50).map(|rank| (rank, 512)).collect::<Vec<_>>()),
        long,
    ]
}
