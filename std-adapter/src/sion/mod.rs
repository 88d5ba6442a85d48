//! SIONlib files: opens a set by its name, lists its tasks, reads their streams and writes new
//! sets.
//!
//! ```
//! use std::io::{Read, Seek, SeekFrom, Write};
//! use striae::sion::{Builder, ByteOrder, File, KeyvalMode};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("run.sion");
//! let builder = Builder::new(4).chunksize(1 << 20).nfiles(2).order(ByteOrder::Little);
//! let mut set = builder.create(&path)?;
//! let write = |task| -> std::io::Result<()> {
//!     let mut writer = set.task(task)?;
//!     writer.write_all(b"what this thread computed")?;
//!     Ok(writer.commit()?) // from here on it survives a crash
//! };
//! std::thread::scope(|scope| {
//!     let threads: Vec<_> = (0..4).map(|task| scope.spawn(move || write(task))).collect();
//!     threads.into_iter().try_for_each(|thread| thread.join().expect("no thread panics"))
//! })?;
//! set.close()?;
//!
//! let file = File::open(&path)?;
//! assert_eq!(file.keyval(), KeyvalMode::None);
//! let mut stream = file.stream(file.find_globalrank(3)?)?;
//! stream.seek(SeekFrom::Start(5))?;
//! let mut text = String::new();
//! stream.read_to_string(&mut text)?;
//! assert_eq!(text, "this thread computed");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # From SIONlib
//!
//! | program | here |
//! |---|---|
//! | `siondump` | `striae info`, `striae ls`; `striae dump` for every field; in Rust [`File::tasks`] and [`dump`](mod@dump) |
//! | `sionsplit` | `striae extract`, [`Extract`]; the reverse is `striae pack`, [`Pack`] |
//! | `sioncat` | `striae cat` |
//! | `siondefrag` | `striae convert`, [`Convert`] |
//! | `sionversion` | `striae --version`; `striae info` prints the version fields of a file |
//! | none | `striae verify`, [`verify`](mod@verify); `striae recover`, [`recover`](mod@recover) |
//!
//! Tasks are numbered over all files of a set. SIONlib's rank of a task is its global rank;
//! [`File::find_globalrank`] gives the number of the task with a global rank.
//!
//! | call | here |
//! |---|---|
//! | `sion_open`, to read | [`File::open`]; [`OpenOptions`] for a single file of a set, or for a set that was not closed |
//! | `sion_open_rank` | [`File::find_globalrank`], then [`File::stream`] |
//! | `sion_open`, to write | [`Builder::create`]; [`Reopen`] appends to a set |
//! | `sion_paropen_omp` | [`Builder::create`], and [`FileWriter::task`] for each thread |
//! | `sion_paropen_mpi`, `sion_paropen_ompi`, `sion_paropen_generic` | not in this crate |
//! | `sion_fwrite` | [`TaskWriter::write_record`], which keeps a record in one chunk; plain [`write`](std::io::Write::write) continues in the next chunk |
//! | `sion_ensure_free_space` | [`TaskWriter::ensure_free_space`] |
//! | `sion_bytes_avail_in_block` | to write, [`TaskWriter::room`]; to read, [`TaskStream::next_span`], which ends with the chunk |
//! | `sion_get_current_location` | to write, [`TaskWriter::location`]; to read, [`stream_position`](std::io::Seek::stream_position) |
//! | `sion_get_fp`, to write | [`TaskWriter::place`], then [`TaskWriter::count_written`] |
//! | `sion_seek`, to write | [`TaskWriter::overwrite`] replaces bytes |
//! | `sion_fread` | [`TaskStream`] as [`Read`](std::io::Read) |
//! | `sion_feof` | a read gives 0 bytes; [`TaskStream::len`] is known from the start |
//! | `sion_seek`, `sion_seek_fp` | [`TaskStream`] as [`Seek`](std::io::Seek); [`TaskStream::position_of`] takes a (chunk, offset) pointer |
//! | `sion_get_locations` | [`File::tasks`] and [`File::chunk_lens`] |
//! | `sion_get_mapping` | [`File::find_globalrank`], or the global rank and the file in each [`TaskEntry`] |
//! | `sion_fwrite_key` | [`TaskWriter::write_key`] |
//! | `sion_fread_key` | [`File::value`] |
//! | `sion_fread_key_iterator_next` | [`TaskStream::records`] |
//! | `sion_flush` | [`FileWriter::commit`], [`TaskWriter::commit`], which make the data durable; `sion_flush` only counts bytes in memory |
//! | `sion_get_file_endianness`, `sion_swap` | [`Meta1::data_order`] gives the order; data is never swapped |
//! | `sion_close`, `sion_parclose_mpi`, `sion_parclose_omp`, `sion_parclose_ompi` | [`FileWriter::close`]; a set that is open to read is closed when it is dropped |

mod ahead;
mod convert;
pub mod dump;
mod extract;
mod file;
mod new_set;
mod pack;
pub mod recover;
mod select;
pub(crate) mod siblings;
mod stream;
mod tasks;
pub mod verify;
mod write;

pub use crate::error::sion::ErrorKind;
pub use crate::verb::Extracted;
pub use convert::Convert;
pub use extract::{Extract, task_name};
pub use file::{File, Older, OpenOptions, Opened, TaskEntry, UnclosedSet};
pub use new_set::{Laid, Written};
pub use pack::{Pack, Sources};
pub use siblings::{PartOfSet, buddy_path, set_path};
pub use stream::{KeyReader, TaskRecords, TaskStream};
pub use striae_core::endian::ByteOrder;
pub use striae_core::sion::{
    ChunkRule, Error, Grouping, Head, KeyvalMode, Meta1, Record, SealState, Task,
};
pub use tasks::Tasks;
pub use write::{Builder, Durability, FileWriter, Reopen, SetOptions, TaskWriter};
pub use write::{check_buddies, new_identity};
