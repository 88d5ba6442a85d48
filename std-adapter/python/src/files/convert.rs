//! Rewriting files, and making them of others.

use super::{Row, fill, output, recognize, unsupported};
use crate::error::raised;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySlice};
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use striae::sion::Sources;
use striae::{Error, Format, blob, ffrecord, gsd, sion};

/// What the caller wants of the new file.
#[derive(Debug, Clone, Default)]
struct Wanted {
    force: bool,
    checksums: Option<bool>,
    align: Option<u64>,
    upgrade: bool,
    /// Start, stop and step, as in a slice.
    frames: Option<(Option<i64>, Option<i64>, Option<i64>)>,
    nfiles: Option<u32>,
    fsblksize: Option<u32>,
}

impl Wanted {
    /// Why files of a format cannot be written so.
    fn unfit(&self, format: Format) -> Option<String> {
        if self.frames.is_some_and(|(_, _, step)| step.is_some_and(|step| step < 1)) {
            return Some("frames must have a step of at least 1".to_owned());
        } else if self.nfiles == Some(0) {
            return Some("nfiles must be at least 1".to_owned());
        }
        let (is_gsd, is_sion) = (format == Format::Gsd, format == Format::Sion);
        let options = [
            ("checksums", self.checksums.is_some(), is_gsd || is_sion),
            ("align", self.align.is_some(), is_gsd),
            ("upgrade", self.upgrade, is_gsd),
            ("frames", self.frames.is_some(), is_gsd),
            ("nfiles", self.nfiles.is_some(), is_sion),
            ("fsblksize", self.fsblksize.is_some(), is_sion),
        ];
        // Files that are not converted at all have another error.
        let is_converted = is_gsd || is_sion || format == Format::Blob;
        let is_unfit = |&&(_, is_wanted, has): &&(_, bool, bool)| is_converted && is_wanted && !has;
        let (name, ..) = options.iter().find(is_unfit)?;
        Some(format!("{name} is no option for {}", format.files()))
    }
}

/// Rewrites a file.
#[pyfunction]
#[pyo3(signature = (
    path, out, *, force=false, checksums=None, align=None, upgrade=false, frames=None, nfiles=None,
    fsblksize=None
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
pub(crate) fn convert<'py>(
    py: Python<'py>,
    path: PathBuf,
    out: PathBuf,
    force: bool,
    checksums: Option<bool>,
    align: Option<u64>,
    upgrade: bool,
    frames: Option<Bound<'py, PySlice>>,
    nfiles: Option<u32>,
    fsblksize: Option<u32>,
) -> PyResult<Bound<'py, PyDict>> {
    if align.is_some_and(|bytes| !bytes.is_power_of_two() || bytes > 1 << 30) {
        return Err(PyValueError::new_err("align must be a power of two up to 1073741824"));
    }
    let part = |slice: &Bound<'py, PySlice>, name| slice.getattr(name)?.extract::<Option<i64>>();
    let frames = match &frames {
        Some(slice) => Some((part(slice, "start")?, part(slice, "stop")?, part(slice, "step")?)),
        None => None,
    };
    let wanted = Wanted { force, checksums, align, upgrade, frames, nfiles, fsblksize };
    let format = py.detach(|| recognize(&path)).map_err(raised)?.format();
    if let Some(why) = wanted.unfit(format) {
        return Err(PyValueError::new_err(why));
    }
    let row = py.detach(|| run(&path, format, &out, &wanted)).map_err(raised)?;
    let dict = PyDict::new(py);
    fill(&dict, row)?;
    Ok(dict)
}

fn run(path: &Path, format: Format, out: &Path, wanted: &Wanted) -> Result<Row, Error> {
    let mut row: Row = vec![("format", format.name().into())];
    match format {
        Format::Gsd => {
            let written = of_gsd(path, out, wanted)?;
            row.extend([("frames", written.frames.into()), ("bytes", written.bytes.into())]);
        }
        Format::Sion => {
            let set = sion::File::open(path)?;
            let mut convert = sion::Convert::new().output(output(wanted.force));
            if let Some(nfiles) = wanted.nfiles.and_then(NonZeroU32::new) {
                convert = convert.nfiles(nfiles);
            }
            if let Some(bytes) = wanted.fsblksize {
                convert = convert.fsblksize(bytes);
            }
            if let Some(sealed) = wanted.checksums {
                convert = convert.sealed(sealed);
            }
            convert.run(&set, out, &|_| {})?;
            row.push(("tasks", set.ntasks().into()));
        }
        Format::Blob => {
            let set = blob::Set::open(path)?;
            let convert = blob::Convert::new().output(output(wanted.force));
            let converted = convert.run(&set, out, &|_| {})?;
            row.extend([("bytes", converted.bytes.into()), ("whole", set.is_whole().into())]);
        }
        format @ (Format::Cdf | Format::Ffrecord | Format::Map) => {
            return Err(unsupported(path, &format!("{} are not converted", format.files())));
        }
    }
    Ok(row)
}

fn of_gsd(path: &Path, out: &Path, wanted: &Wanted) -> Result<gsd::convert::Written, Error> {
    let file = gsd::File::open(path)?;
    let convert = gsd::convert::Convert::new().output(output(wanted.force));
    let mut convert = convert.upgrade(wanted.upgrade);
    if let Some(checksums) = wanted.checksums {
        convert = convert.checksums(checksums);
    }
    if let Some(bytes) = wanted.align {
        convert = convert.align(bytes);
    }
    if let Some((start, stop, step)) = wanted.frames {
        let count = file.frames();
        let at = |number: Option<i64>, none: u64| match number {
            None => none,
            Some(number @ 0..) => number.unsigned_abs().min(count),
            Some(number) => count.saturating_sub(number.unsigned_abs()),
        };
        let (start, stop) = (at(start, 0), at(stop, count));
        let step = step.and_then(|step| NonZeroU64::new(u64::try_from(step).ok()?));
        let step = step.unwrap_or(NonZeroU64::MIN); // `unfit` refuses others than None
        convert = convert.frames(start..stop.max(start), step);
    }
    convert.run(&file, out, &|_| {})
}

/// Makes a SIONlib set or an ffrecord file of files.
#[pyfunction]
#[pyo3(signature = (out, sources, *, force=false, checksums=false, nfiles=1, chunksize=None))]
pub(crate) fn pack(
    py: Python<'_>,
    out: PathBuf,
    sources: Vec<PathBuf>,
    force: bool,
    checksums: bool,
    nfiles: u32,
    chunksize: Option<u64>,
) -> PyResult<u64> {
    let is_ffrecord = out.extension().is_some_and(|ending| ending == "ffr");
    if nfiles == 0 {
        return Err(PyValueError::new_err("nfiles must be at least 1"));
    } else if is_ffrecord && (nfiles != 1 || chunksize.is_some()) {
        return Err(PyValueError::new_err(
            "nfiles and chunksize are no options for ffrecord files",
        ));
    }
    let packed = py.detach(|| {
        let folder = match sources.as_slice() {
            [folder] if folder.is_dir() => Some(folder),
            _ => None,
        };
        if is_ffrecord {
            let of_folder = folder.map(|folder| ffrecord::Pack::of_folder(folder)).transpose()?;
            let files = of_folder.as_deref().unwrap_or(&sources);
            ffrecord::Pack::new().output(output(force)).run(files, &out, &|_| {})?;
            return Ok(u64::try_from(files.len()).unwrap_or(u64::MAX));
        }
        let sources = match folder {
            Some(folder) => Sources::of_folder(folder)?,
            None => Sources::of_files(sources.clone())?,
        };
        let nfiles = NonZeroU32::new(nfiles).unwrap_or(NonZeroU32::MIN);
        let mut pack = sion::Pack::new().output(output(force)).nfiles(nfiles).sealed(checksums);
        if let Some(bytes) = chunksize {
            pack = pack.chunksize(bytes);
        }
        pack.run(&sources, &out, &|_| {})?;
        Ok(sources.ntasks())
    });
    packed.map_err(raised)
}
