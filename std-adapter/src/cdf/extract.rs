//! Extracting variables to NumPy arrays.

use super::file::{File, whole};
use crate::address::{Address, Pattern, Selection};
use crate::error::Error;
use crate::error::cdf::ErrorKind;
use crate::formats::Format;
use crate::posix::PosixFile;
use crate::verb::extract::{Chosen, Extracted, Names, final_path};
use crate::verb::{Options, Plain, Selected, npy};
use std::path::{Path, PathBuf};
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
pub type Extract = Options<Selected<Plain<File>>>;

impl Extract {
    /// Bytes of the variables that will be extracted.
    ///
    /// # Errors
    /// As [`run`](Self::run), except for errors of the folder.
    pub fn bytes(&self, file: &File) -> Result<u64, Error> {
        Ok(sum(&self.chosen(file)?))
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
    ///   file, and [`Output::max_size`](crate::Output::max_size) does not allow so many;
    ///   [`NoRoom`](crate::error::ErrorKind::NoRoom).
    /// - [`Variable`](super::ErrorKind::Variable) if values are not in the file; an error of the
    ///   operating system.
    pub fn run(
        &self,
        file: &File,
        dir: &Path,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Extracted, Error> {
        let variables = self.chosen(file)?;
        file.admit(&self.output, variables.iter().map(|one| (*one, one.len())))?;
        let chosen = chosen_of(variables, vec![file.store().file().identity()]);
        self.fill_folder(chosen, dir, progress, |variables, hidden, count| {
            let to = Arrays { hidden, count };
            variables.iter().try_for_each(|variable| {
                let start = vec![0; variable.shape().len()];
                let (mut array, mut written) = (to.create(*variable)?, Ok(()));
                file.read_pieces(*variable, whole(*variable, &start), &mut |bytes| {
                    written = array.write(bytes);
                    written.is_ok()
                })?;
                written
            })
        })
    }

    /// The variables to extract.
    fn chosen<'f>(&self, file: &'f File) -> Result<Vec<Variable<'f>>, Error> {
        chosen((file.path(), file.header(), Format::Cdf), &self.how.addresses)
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

/// The bytes of variables.
pub(crate) fn sum(variables: &[Variable<'_>]) -> u64 {
    variables.iter().map(|one| one.len()).fold(0, u64::saturating_add)
}

/// Variables that become a file each.
pub(crate) fn chosen_of(
    variables: Vec<Variable<'_>>,
    sources: Vec<(u64, u64)>,
) -> Chosen<'_, Vec<Variable<'_>>> {
    let names = Names::These(variables.iter().copied().map(file_name).collect());
    let room = sum(&variables);
    Chosen { parts: variables, names, sources, room }
}

/// The hidden folder in which arrays of variables are made.
pub(crate) struct Arrays<'a> {
    pub(crate) hidden: &'a Path,
    pub(crate) count: &'a dyn Fn(u64),
}

/// A file to which the values of a variable are appended.
pub(crate) struct Array<'a> {
    file: PosixFile,
    /// Its final path, for errors.
    path: PathBuf,
    end: u64,
    count: &'a dyn Fn(u64),
}

impl<'a> Arrays<'a> {
    /// Makes the file of a variable, with its header.
    pub(crate) fn create(&self, variable: Variable<'_>) -> Result<Array<'a>, Error> {
        let hidden = self.hidden.join(file_name(variable));
        let path = final_path(&hidden);
        let header = npy::header_of(descr(variable.nc_type()), variable.shape());
        let made = PosixFile::create(&hidden, false);
        let made = made.and_then(|file| file.write_all_at(0, &header).map(|()| file));
        let file = made.map_err(|error| Error::new(&path, error))?;
        Ok(Array { file, path, end: usize_to_u64(header.len()), count: self.count })
    }
}

impl Array<'_> {
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let written = self.file.write_all_at(self.end, bytes);
        written.map_err(|error| Error::new(&self.path, error))?;
        let len = usize_to_u64(bytes.len());
        self.end = self.end.saturating_add(len);
        (self.count)(len);
        Ok(())
    }
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
