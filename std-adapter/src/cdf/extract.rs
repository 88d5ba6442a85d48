//! Extracting variables to NumPy arrays.

use super::error::ErrorKind;
use super::file::{File, whole};
use crate::address::{Address, Pattern, Selection};
use crate::error::Error;
use crate::extract::{Extracted, fill};
use crate::format::Format;
use crate::gsd::npy;
use crate::output::Output;
use crate::posix::PosixFile;
use crate::publish::check_free;
use std::cell::Cell;
use std::path::Path;
use striae_core::cdf::Type;
use striae_core::store::usize_to_u64;
use striae_hoomd::names::Name;
use striae_inspect::cdf::{Header, Variable};

/// How to extract a file to a folder: one file `NAME.npy` for each variable, for NumPy's `load`.
///
/// Arrays have the type, the shape and the byte order of the variable, which is big-endian; text
/// has the type `|S1`. In `NAME`, bytes that a file name should not have become `%2E` and so on. A
/// name of more than 200 bytes is cut, and `~` and the number of the variable follow.
///
/// All files are made in a hidden folder in the target, and renamed when all of them are complete.
/// If reading or copying fails, the target is unchanged. A killed process leaves the hidden folder.
#[derive(Debug, Clone, Default)]
pub struct Extract {
    output: Output,
    addresses: Vec<Pattern>,
}

impl Extract {
    /// Extracts all variables, and replaces no file.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how the new files are made. By default, no file is replaced.
    #[must_use]
    pub const fn output(mut self, output: Output) -> Self {
        self.output = output;
        self
    }

    /// Extracts what these addresses select. All calls together make the selection.
    #[must_use]
    pub fn select(mut self, addresses: impl IntoIterator<Item = Pattern>) -> Self {
        self.addresses.extend(addresses);
        self
    }

    /// Bytes of the variables that will be extracted.
    ///
    /// # Errors
    /// As [`run`](Self::run), except for errors of the folder.
    pub fn bytes(&self, file: &File) -> Result<u64, Error> {
        let chosen = self.chosen(file)?;
        Ok(chosen.iter().map(|variable| variable.len()).fold(0, u64::saturating_add))
    }

    /// Extracts `file` to the folder `dir`, which is made if it does not exist. `progress` gets the
    /// length of each copied piece.
    ///
    /// # Errors
    /// - [`Exists`](crate::error::ErrorKind::Exists) if a file exists already.
    /// - [`Source`](crate::error::ErrorKind::Source) if an array would replace `file`.
    /// - [`NoVariable`](super::ErrorKind::NoVariable) if the file lacks a wanted variable.
    /// - [`Address`](crate::error::ErrorKind::Address) if an address does not fit the file, or
    ///   selects nothing.
    /// - [`TooLarge`](crate::error::ErrorKind::TooLarge) if most of the values are in holes of the
    ///   file, and [`Output::max_size`] does not allow so many;
    ///   [`NoRoom`](crate::error::ErrorKind::NoRoom).
    /// - [`Variable`](super::ErrorKind::Variable) if values are not in the file; an error of the
    ///   operating system.
    pub fn run(&self, file: &File, dir: &Path, progress: &dyn Fn(u64)) -> Result<Extracted, Error> {
        let chosen = self.chosen(file)?;
        let bytes = Cell::new(0_u64);
        let count = |n: u64| {
            bytes.set(bytes.get().saturating_add(n));
            progress(n);
        };
        let check = || match self.output.force {
            true => Ok(()),
            false => {
                chosen.iter().try_for_each(|one| check_free(&dir.join(file_name(*one)), false))
            }
        };
        file.admit(&self.output, chosen.iter().map(|one| (*one, one.len())))?;
        Output::has_room(dir, chosen.iter().map(|one| one.len()).fold(0, u64::saturating_add))?;
        let source = file.store().file().identity();
        let files = fill(dir, self.output.force, [source], check, |hidden| {
            chosen.iter().try_for_each(|variable| extract(file, *variable, hidden, dir, &count))
        })?;
        Ok(Extracted { files, bytes: bytes.into_inner() })
    }

    /// The variables to extract.
    fn chosen<'f>(&self, file: &'f File) -> Result<Vec<Variable<'f>>, Error> {
        chosen((file.path(), file.header(), Format::Cdf), &self.addresses)
    }
}

/// The variables of a header that addresses select; all if there is no address.
pub(crate) fn chosen<'f>(
    (path, header, format): (&Path, &'f Header, Format),
    addresses: &[Pattern],
) -> Result<Vec<Variable<'f>>, Error> {
    let at = |error: crate::address::Error| Error::new(path, error);
    let variables = header.variables();
    if addresses.is_empty() {
        return Ok(variables.collect());
    }
    for address in addresses.iter().filter_map(Pattern::address) {
        if let Address::Variable(name) = address {
            let none = || Error::new(path, ErrorKind::NoVariable { name: name.clone() });
            header.variable(name).ok_or_else(none)?;
        }
    }
    let chosen = Selection::new(addresses, format, 0).map_err(at)?;
    let selected = variables.filter(|one| chosen.has(&Address::variable(one.name())));
    let selected = selected.collect();
    chosen.check().map_err(at)?;
    Ok(selected)
}

pub(crate) fn file_name(variable: Variable<'_>) -> String {
    format!("{}.npy", npy::file_name(Name(variable.name().as_bytes()), variable.varid()))
}

/// Makes the file of a variable in the hidden folder; errors get its final path.
fn extract(
    file: &File,
    variable: Variable<'_>,
    hidden: &Path,
    dir: &Path,
    count: &dyn Fn(u64),
) -> Result<(), Error> {
    let name = file_name(variable);
    let path = dir.join(&name);
    let at = |error| Error::new(&path, error);
    let to = PosixFile::create(&hidden.join(name), false).map_err(at)?;
    let header = npy::header_of(descr(variable.nc_type()), variable.shape());
    to.write_all_at(0, &header).map_err(at)?;
    let mut end = usize_to_u64(header.len());
    let start = vec![0; variable.shape().len()];
    let mut written = Ok(());
    file.read_pieces(variable, whole(variable, &start), &mut |bytes| {
        written = to.write_all_at(end, bytes);
        let len = usize_to_u64(bytes.len());
        end = end.saturating_add(len);
        count(len);
        written.is_ok()
    })?;
    written.map_err(at)
}

/// NumPy's name of a type: a sign for the byte order, a letter, the number of bytes.
pub(crate) const fn descr(nc_type: Type) -> &'static str {
    match nc_type {
        Type::Byte => "|i1",
        Type::Char => "|S1",
        Type::Short => ">i2",
        Type::Int => ">i4",
        Type::Float => ">f4",
        Type::Double => ">f8",
        Type::Ubyte => "|u1",
        Type::Ushort => ">u2",
        Type::Uint => ">u4",
        Type::Int64 => ">i8",
        Type::Uint64 => ">u8",
    }
}
