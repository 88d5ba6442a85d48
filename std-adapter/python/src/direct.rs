//! Samples of ffrecord files, read past the page cache by many processes.

use crate::buffer::BytesMut;
use crate::error::raised;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use striae::direct::{DirectFile, OpenOptions, Policy};
use striae::ffrecord::{File, Sample};
use striae::striae_core::store::usize_to_u64;
use striae::{Error, Span};

/// Bytes of samples that are read together at most, unless one sample is longer. With what is read
/// around them, they mostly fit into memory that is kept and registered, which has up to 32 MiB.
const TOGETHER: u64 = 1 << 24;

/// Some ffrecord files as one list of samples.
#[pyclass(frozen, module = "striae._striae")]
pub(crate) struct SampleFiles {
    files: Arc<Vec<Listed>>,
    options: OpenOptions,
    is_checked: bool,
    opened: Mutex<Arc<Opened>>,
}

/// A file with its samples.
struct Listed {
    file: File,
    /// Number of its first sample among those of all files.
    first: u64,
    samples: Vec<Sample>,
}

/// The files as a process has opened them. A fork has neither their threads nor their rings, and
/// opens them anew.
struct Opened {
    owner: u32,
    files: Vec<DirectFile>,
}

impl Opened {
    fn new(listed: &[Listed], options: OpenOptions) -> Result<Self, Error> {
        let open = |listed: &Listed| listed.file.direct(options);
        let files = listed.iter().map(open).collect::<Result<_, _>>()?;
        Ok(Self { owner: std::process::id(), files })
    }
}

/// A sample that is wanted: its place in the request, its file and itself.
struct Wanted<'a> {
    place: usize,
    file: usize,
    sample: &'a Sample,
}

impl SampleFiles {
    /// The files as this process has opened them. The caller holds the lock of the interpreter, and
    /// so does whoever forks: nobody has the lock of `opened` at that time.
    fn opened(&self) -> PyResult<Arc<Opened>> {
        let mut opened = self.opened.lock().unwrap_or_else(|lock| lock.into_inner());
        if opened.owner != std::process::id() {
            *opened = Arc::new(Opened::new(&self.files, self.options).map_err(raised)?);
        }
        Ok(Arc::clone(&opened))
    }

    fn count(&self) -> u64 {
        let last = self.files.last();
        last.map_or(0, |last| last.first.saturating_add(usize_to_u64(last.samples.len())))
    }

    /// The sample with a number, which counts from the end if it is negative.
    fn find(&self, number: i64) -> PyResult<(usize, &Sample)> {
        let count = self.count();
        let from_start = match u64::try_from(number) {
            Ok(number) => Some(number),
            Err(_) => count.checked_sub(number.unsigned_abs()),
        };
        let found = from_start.filter(|&number| number < count).and_then(|number| {
            let file =
                self.files.partition_point(|listed| listed.first <= number).checked_sub(1)?;
            let listed = self.files.get(file)?;
            let place = usize::try_from(number.checked_sub(listed.first)?).ok()?;
            Some((file, listed.samples.get(place)?))
        });
        found.ok_or_else(|| {
            PyIndexError::new_err(format!("there is no sample {number}, there are {count}"))
        })
    }

    fn read_some(
        &self,
        opened: &Opened,
        wanted: &[Wanted<'_>],
        rows: &mut [&mut [u8]],
    ) -> Result<(), Error> {
        let mut wanted: Vec<&Wanted<'_>> = wanted.iter().collect();
        wanted.sort_by_key(|one| (one.file, one.sample.span.offset()));
        for of_file in wanted.chunk_by(|one, other| one.file == other.file) {
            let [first, ..] = of_file else { continue };
            let (Some(direct), Some(listed)) =
                (opened.files.get(first.file), self.files.get(first.file))
            else {
                continue;
            };
            let mut rest = of_file;
            while !rest.is_empty() {
                let mut bytes = 0_u64;
                let fits = |one: &&&Wanted<'_>| {
                    bytes = bytes.saturating_add(one.sample.span.len());
                    bytes <= TOGETHER
                };
                let some = rest.iter().take_while(fits).count().max(1);
                let (these, others) = rest.split_at_checked(some).unwrap_or((rest, &[]));
                rest = others;
                let spans: Vec<Span> = these.iter().map(|one| one.sample.span).collect();
                let batch = direct.read_spans(&spans)?;
                for (one, bytes) in these.iter().zip(batch.iter()) {
                    if self.is_checked {
                        listed.file.check_bytes(one.sample, bytes)?;
                    }
                    if let Some(row) = rows.get_mut(one.place)
                        && row.len() == bytes.len()
                    {
                        row.copy_from_slice(bytes);
                    }
                }
            }
        }
        Ok(())
    }
}

#[pymethods]
impl SampleFiles {
    /// Opens files; `direct` is whether the page cache is avoided.
    #[new]
    fn new(py: Python<'_>, paths: Vec<PathBuf>, direct: bool, checked: bool) -> PyResult<Self> {
        let policy = if direct { Policy::Preferred } else { Policy::Off };
        let options = OpenOptions::new().policy(policy);
        let opened = py.detach(|| {
            let (mut files, mut first) = (Vec::new(), 0_u64);
            for path in &paths {
                let file = File::open(path)?;
                if checked {
                    file.check_meta()?;
                }
                let samples = file.samples().collect::<Result<Vec<_>, _>>()?;
                let count = usize_to_u64(samples.len());
                files.push(Listed { file, first, samples });
                first = first.saturating_add(count);
            }
            let opened = Opened::new(&files, options)?;
            Ok((files, opened))
        });
        let (files, opened) = opened.map_err(raised)?;
        let (files, opened) = (Arc::new(files), Mutex::new(Arc::new(opened)));
        Ok(Self { files, options, is_checked: checked, opened })
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.count()).unwrap_or(usize::MAX)
    }

    /// How each file is read now: the names of `Rung::name`, the best of which is `io_uring with
    /// registered buffers`.
    fn how(&self) -> PyResult<Vec<&'static str>> {
        Ok(self.opened()?.files.iter().map(|file| file.rung().name()).collect())
    }

    /// Lengths of all samples, in bytes.
    fn lengths(&self) -> Vec<u64> {
        let samples = self.files.iter().flat_map(|listed| &listed.samples);
        samples.map(|sample| sample.span.len()).collect()
    }

    /// Length of a sample, its offset in its file, and the alignment that direct reads of it have.
    fn place(&self, number: i64) -> PyResult<(u64, u64, u64)> {
        let (file, sample) = self.find(number)?;
        let opened = self.opened()?;
        let align = opened.files.get(file).map_or(1, |file| file.alignment().offset);
        Ok((sample.span.len(), sample.span.offset(), align))
    }

    /// Reads a sample into a buffer of its length.
    fn read_one(&self, py: Python<'_>, number: i64, out: &Bound<'_, PyAny>) -> PyResult<()> {
        let (file, sample) = self.find(number)?;
        let opened = self.opened()?;
        let mut bytes = BytesMut::of(out)?;
        let bytes = bytes.as_mut_slice();
        if usize_to_u64(bytes.len()) != sample.span.len() {
            let text = format!("sample {number} has {} bytes", sample.span.len());
            return Err(PyValueError::new_err(text));
        }
        let read = py.detach(|| {
            if let Some(direct) = opened.files.get(file) {
                direct.read_into(sample.span.offset(), bytes)?;
            }
            match self.files.get(file).filter(|_| self.is_checked) {
                Some(listed) => listed.file.check_bytes(sample, bytes),
                None => Ok(()),
            }
        });
        read.map_err(raised)
    }

    /// Reads samples of one length into the rows of a buffer.
    fn read_rows(&self, py: Python<'_>, numbers: Vec<i64>, out: &Bound<'_, PyAny>) -> PyResult<()> {
        let opened = self.opened()?;
        let mut wanted = Vec::new();
        for (&number, place) in numbers.iter().zip(0..) {
            let (file, sample) = self.find(number)?;
            wanted.push(Wanted { place, file, sample });
        }
        let mut bytes = BytesMut::of(out)?;
        let bytes = bytes.as_mut_slice();
        let len = wanted.first().map_or(0, |one| one.sample.span.len());
        if let Some(other) = wanted.iter().find(|one| one.sample.span.len() != len) {
            let (number, is) = (numbers.get(other.place).unwrap_or(&0), other.sample.span.len());
            let text = format!("sample {number} has {is} bytes, and another has {len}");
            return Err(PyValueError::new_err(text));
        }
        let (count, have) = (wanted.len(), usize_to_u64(bytes.len()));
        let need = len.saturating_mul(usize_to_u64(count));
        if have != need {
            let text = format!(
                "out has {have} bytes, must have {need}: {count} samples of {len} bytes each"
            );
            return Err(PyValueError::new_err(text));
        }
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        py.detach(|| {
            let mut rows: Vec<_> = bytes.chunks_mut(len.max(1)).collect();
            self.read_some(&opened, &wanted, &mut rows)
        })
        .map_err(raised)
    }
}
