//! Commits: what was written before one is there, what comes after it does not disturb it.

use crate::{Growing, streams, with_memory, written};
use striae_core::sion::{Attributes, Options, Writer};

#[test]
fn every_commit_is_a_whole_file() {
    let file =
        written(&Attributes::default(), &[(0, 100), (1, 50)], Options::default(), |writer| {
            writer.write(0, &[1; 250]).unwrap();
            writer.commit().unwrap();
        });
    assert_eq!(streams(&file), [vec![1; 250], vec![]]);
}

#[test]
fn what_is_written_behind_a_commit_leaves_it_as_it_is() {
    for ahead in [0, 1, 5] {
        let options = Options { ahead, ..Options::default() };
        let tasks = [(0, 100), (1, 50)];
        let file = written(&Attributes::default(), &tasks, options, |writer| {
            writer.write(0, &[1; 250]).unwrap();
            writer.commit().unwrap();
            writer.write(1, &[2; 1000]).unwrap(); // far beyond where META2 was
        });
        assert_eq!(streams(&file), [vec![1; 250], vec![]], "{ahead} ahead");
    }
}

#[test]
fn a_closed_file_can_be_written_on() {
    let tasks = [(0, 100), (1, 50)];
    let mut store =
        Growing(written(&Attributes::default(), &tasks, Options::default(), |writer| {
            writer.write(0, &[1; 250]).unwrap();
            writer.write_record(1, &[2; 30]).unwrap();
            writer.close().unwrap();
        }));
    for round in 0..3 {
        with_memory(2000, |memory| {
            let mut writer = Writer::reopen(&mut store, memory, Options::default()).unwrap();
            writer.write(0, &[1; 10]).unwrap();
            writer.write_record(1, &[2; 30]).unwrap();
            writer.close().unwrap();
        });
        let expected = [vec![1; 260 + 10 * round], vec![2; 60 + 30 * round]];
        assert_eq!(streams(&store.0), expected);
    }
}
