//! What errors of a subfile say, as values.

use super::Flaw;
use crate::cdf;
use crate::finding::{Facts, error_facts};
use alloc::format;
use core::num::NonZeroU32;
use striae_core::blob::{Error, Name, raw};
use striae_core::cdf::Error as CdfError;

error_facts! {
    /// What an error of a subfile's header or container says, as values.
    pub fn flaw_facts(Flaw), Damage FLAWS;

    /// The header, or the place of values, breaks the grammar of netCDF.
    "header" Cdf { 0: ref error } |facts| Facts { kind: facts.kind, ..cdf::error_facts(error) };
    /// The header, which is the dataset header_blob of an HDF5 file, breaks the grammar of netCDF.
    "header_blob" HeaderBlob { at, ref error } |facts| {
        let found = cdf::error_facts(error);
        let offset = found.offset.map(|offset| offset.saturating_add(at));
        let max = match error {
            CdfError::Cut { .. } => found.max.map(|end| end.saturating_add(at.into())),
            _ => found.max,
        };
        Facts { kind: facts.kind, offset, max, ..found }
    };
    /// The HDF5 container is damaged, or has a part that striae does not read.
    "hdf5" Hdf5 { 0: ref error } |facts| facts.text(&format!("{error}"));
    /// The dataset header_blob of an HDF5 file is longer than any header is.
    "long_header" LongHeader { len, most } |facts| facts.value(len).max(most);
    /// The header of an HDF5 file does not say how many records there are.
    "no_numrecs" NoNumrecs {} |facts| facts;
    /// The file ends before bytes that it must have.
    "cut" Cut { end, file_len } |facts| facts.value(file_len).min(end);
    /// The file is an HDF5 file without one of the two datasets.
    "no_dataset" NoDataset { name } |facts| facts.text(name);
    /// The header does not have this attribute.
    "no_attribute" NoAttribute { name } |facts| facts.text(name);
    /// An attribute of the file does not have the value that it must have.
    "wrong_attribute" Attribute { name } |facts| facts.text(name);
    /// The header does not have this dimension.
    "no_dimension" NoDimension { name } |facts| of_name(facts, name);
    /// The header does not have this variable, which describes a decomposition.
    "no_map" NoMap { name } |facts| of_name(facts, name);
    /// A variable that describes a decomposition has a type without integers.
    "map_type" MapType { name } |facts| of_name(facts, name);
    /// The variables that describe the decompositions are not in the order that the HDF5 container
    /// must have.
    "order" Order {} |facts| facts;
    /// Two dimensions have length 0.
    "two_record_dims" TwoRecordDims { ref name } |facts| facts.text(name);
    /// The values of a variable are more than a file can have.
    "size" Size { ref name } |facts| facts.text(name);
    /// A variable does not have the dimensions that it must have.
    "shape" Shape { ref name } |facts| facts.text(name);
    /// The attribute `global_dimids` of a variable is not there or is wrong.
    "dimids" Dimids { ref name } |facts| facts.text(name);
    /// The attribute `decomposition_ID` of a variable is no decomposition.
    "decomposition_id" DecompositionId { ref name } |facts| facts.text(name);
    /// A blob of a variable is not as it was sealed.
    "blob_checksum" NotAsSealed { ref name, blob, stored, computed }
        |facts| Facts { blob: Some(blob.into()), ..facts.text(name).crcs(stored, computed) };
    /// The subfile does not have what the other subfiles have: it belongs to another set.
    "other_set" OtherSet { what } |facts| facts.text(what);
    /// The subfile was sealed as another one of its set.
    "other_place" OtherPlace { number, nsubfiles }
        |facts| facts.value(number).max(i128::from(nsubfiles).saturating_sub(1));
    /// The subfile was sealed before the other ones were: they have more records.
    "older" Older { by } |facts| facts.count(by);
    /// The subfile has no seal, and other ones have: nothing ties it to the set. Its values count.
    "no_seal" NoSeal {} |facts| facts;
}

fn of_name(facts: Facts, name: Name) -> Facts {
    facts.text(&format!("{name}"))
}

/// A number of a blob.
fn number(facts: Facts, id: NonZeroU32, name: Name, blob: u32) -> Facts {
    let (decomposition, blob) = (Some(id.get()), Some(blob.into()));
    Facts { decomposition, blob, field: Some(format!("{name}")), ..facts }
}

error_facts! {
    /// What an error of a subfile's tables says, as values.
    pub fn table_facts(Error), Damage TABLES;

    /// A number of a blob is less than 0.
    "negative" Negative { id, part, blob, value }
        |facts| number(facts, id, Name::Of { id, part }, blob).value(value).min(0);
    /// A number of a blob is too large.
    "too_large" TooLarge { id, part, blob, value, max }
        |facts| number(facts, id, Name::Of { id, part }, blob).value(value).max(max);
    /// A number of a blob contradicts the others.
    "differs" Differs { id, part, blob, value, expected }
        |facts| number(facts, id, Name::Of { id, part }, blob).value(value).expected(expected);
    /// The elements of all blobs are not as many as the header says.
    "elements" Elements { id, found, nelems }
        |facts| Facts { decomposition: Some(id.get()), ..facts }.value(nelems).expected(found);
    /// The blobs end before or after the end of the data.
    "blobs" Blobs { found, data_len } |facts| facts.value(data_len).expected(found);
    /// The data end inside a blob.
    "blob_cut" Cut { blob, end, data_end }
        |facts| Facts { blob: Some(blob.into()), ..facts }.value(data_end).min(end);
    /// The header is not as it was sealed, or all copies of the seal are damaged.
    "checksum" Checksum { field, offset, stored, computed }
        |facts| facts.field(raw::TABLES, field, offset).crcs(stored, computed);
    /// A number in the seal is not that of the file.
    "not_as_sealed" Sealed { field, offset, value, expected }
        |facts| facts.field(raw::TABLES, field, offset).value(value).expected(expected);
    /// The seal says that it has more blobs of more variables than there is room for.
    "sealed_rows" SealedRows { field, offset, nblobs, .. }
        |facts| facts.field(raw::TABLES, field, offset).value(nblobs);
    /// A blob is larger than any file.
    "blob_size" Size { blob } |facts| Facts { blob: Some(blob.into()), ..facts };
}
