//! Arrays: datasets and attributes, their types, shapes and places.

use super::links::{check_no_heap, is_name, until_null};
use super::list::Progress;
use super::object::{Message, Messages};
use super::superblock::{in_file, unsupported};
use crate::endian::ByteOrder;
use crate::hdf5::error::{Error, Feature, Part, Result};
use crate::hdf5::raw::UNDEFINED;
use crate::hdf5::raw::{AttributeHead, Dataspace1, Dataspace2, Datatype, Layout3};
use crate::source::Source;
use crate::span::{Span, round_up};
use core::num::NonZeroU64;
use core::ops::ControlFlow::{Break, Continue};
use zerocopy::little_endian::U64;

const DATASPACE: u16 = 1;
const DATATYPE: u16 = 3;
const EXTERNAL: u16 = 7;
const LAYOUT: u16 = 8;
const FILTERS: u16 = 11;
const ATTRIBUTE: u16 = 12;
const ATTRIBUTE_INFO: u16 = 21;

const EIGHT: NonZeroU64 = NonZeroU64::MIN.saturating_add(7);

/// The class of an element's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Class {
    /// An integer.
    Integer {
        /// Whether it may be negative.
        is_signed: bool,
    },
    /// A floating-point number.
    Float,
    /// Text of a fixed number of bytes.
    Text,
    /// Another class, by its number.
    Other(u8),
}

/// The type of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Element {
    /// The class.
    pub class: Class,
    /// The number of bytes.
    pub size: u32,
    /// The order of the bytes.
    pub order: ByteOrder,
}

/// The dimensions of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Shape {
    /// The number of dimensions; 0 for a single value.
    pub rank: u8,
    /// The lengths of the dimensions: a table of little-endian integers of 8 bytes.
    pub lengths: Span,
    /// The number of elements.
    pub nelems: u64,
}

/// Elements that follow each other in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Array {
    /// The type of an element.
    pub element: Element,
    /// The dimensions.
    pub shape: Shape,
    /// The span of all elements, which is in the file.
    pub values: Span,
}

/// An attribute of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Attribute {
    /// The span of the name.
    pub name: Span,
    /// The values.
    pub array: Array,
}

/// The parts of a dataset that are known so far: all that a parser must keep over restarts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dataset {
    address: u64,
    messages: Messages,
    shape: Option<Shape>,
    element: Option<Element>,
    /// The address and the bytes of the values.
    layout: Option<(u64, u64)>,
}

impl Dataset {
    /// The dataset whose object header is at `address`.
    ///
    /// # Errors
    /// See [`Messages::open`].
    pub fn open<S: Source + ?Sized>(source: &S, address: u64) -> Result<Self> {
        let messages = Messages::open(source, address)?;
        Ok(Self { address, messages, shape: None, element: None, layout: None })
    }

    /// The array of the dataset.
    ///
    /// # Errors
    /// [`Error::Unsupported`] unless the values are contiguous and unfiltered; [`Error::Missing`];
    /// [`Error::Size`]; [`Error::OutOfFile`]; a miss.
    pub fn array<S: Source + ?Sized>(&mut self, source: &S) -> Result<Array> {
        source.walk(self, |source, mut known| match known.messages.advance(source)? {
            Progress::Found(message) => {
                known.take(source, message)?;
                Ok(Continue(known))
            }
            Progress::Working => Ok(Continue(known)),
            Progress::End => known.finish(source.file_len()).map(Break),
        })
    }

    fn take<S: Source + ?Sized>(&mut self, source: &S, message: Message) -> Result<()> {
        let Message { kind, is_shared, body } = message;
        match kind {
            DATASPACE | DATATYPE | LAYOUT if is_shared => {
                return unsupported(Feature::Shared, body.offset());
            }
            EXTERNAL => return unsupported(Feature::External, body.offset()),
            FILTERS => return unsupported(Feature::Filters, body.offset()),
            DATASPACE => self.shape = Some(shape(source, body)?),
            DATATYPE => self.element = Some(element(source, body)?),
            LAYOUT => self.layout = Some(layout(source, body)?),
            _ => {}
        }
        Ok(())
    }

    fn finish(&self, file_len: u64) -> Result<Array> {
        let missing = |part| Error::Missing { offset: self.address, part };
        let shape = self.shape.ok_or(missing(Part::Dataspace))?;
        let element = self.element.ok_or(missing(Part::Datatype))?;
        let (address, stored) = self.layout.ok_or(missing(Part::Layout))?;
        let computed = len(shape, element);
        if stored != computed {
            return Err(Error::Size { offset: self.address, stored, computed }.into());
        }
        let values = match (address, stored) {
            (UNDEFINED, 0) => Span::ZERO,
            (UNDEFINED, _) => return unsupported(Feature::NotAllocated, self.address),
            _ => in_file(address, stored, file_len)?,
        };
        Ok(Array { element, shape, values })
    }
}

/// A place in the list of an object's attributes. It is a value: all that a parser must keep over
/// restarts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes(Messages);

impl Attributes {
    /// The attributes of the object whose header is at `address`.
    ///
    /// # Errors
    /// See [`Messages::open`].
    pub fn open<S: Source + ?Sized>(source: &S, address: u64) -> Result<Self> {
        Messages::open(source, address).map(Self)
    }

    /// The next attribute, or `None` after the last one.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for attributes outside of the object header; another [`Error`]; a
    /// miss.
    pub fn next<S: Source + ?Sized>(&mut self, source: &S) -> Result<Option<Attribute>> {
        super::list::next(source, self, Self::advance)
    }

    /// A small part of [`next`](Self::next). After an error the attributes must not be used.
    ///
    /// # Errors
    /// See [`Attributes::next`].
    pub fn advance<S: Source + ?Sized>(&mut self, source: &S) -> Result<Progress<Attribute>> {
        let Message { kind, is_shared, body } = match self.0.advance(source)? {
            Progress::Found(message) => message,
            Progress::Working => return Ok(Progress::Working),
            Progress::End => return Ok(Progress::End),
        };
        match kind {
            ATTRIBUTE if is_shared => unsupported(Feature::Shared, body.offset()),
            ATTRIBUTE => attribute(source, body).map(Progress::Found),
            ATTRIBUTE_INFO => {
                check_no_heap(source, body, 2, Feature::DenseAttributes)?;
                Ok(Progress::Working)
            }
            _ => Ok(Progress::Working),
        }
    }

    /// The attribute that has this name.
    ///
    /// # Errors
    /// See [`Attributes::next`].
    pub fn find<S: Source + ?Sized>(
        &mut self,
        source: &S,
        name: &[u8],
    ) -> Result<Option<Attribute>> {
        super::list::find(source, self, Self::advance, |source, attribute: Attribute| {
            Ok(is_name(source, attribute.name, name)?.then_some(attribute))
        })
    }
}

/// The bytes of all elements.
fn len(shape: Shape, element: Element) -> u64 {
    shape.nelems.saturating_mul(element.size.into())
}

/// The dimensions from a dataspace.
fn shape<S: Source + ?Sized>(source: &S, body: Span) -> Result<Shape> {
    let (rank, head, is_null) = match *source.read::<u8>(body.offset())? {
        1 => (source.read::<Dataspace1>(body.offset())?.rank, 8, false),
        2 => {
            let space = source.read::<Dataspace2>(body.offset())?;
            (space.rank, 4, space.kind == 2)
        }
        _ => return unsupported(Feature::Dataspace, body.offset()),
    };
    let lengths = u64::from(rank).saturating_mul(8);
    let Some(lengths) = body.part(head, lengths).filter(|_| rank <= 32) else {
        let (offset, value) = (body.offset().saturating_add(1), rank.into());
        return Err(Error::Value { field: Dataspace2::rank, offset, value }.into());
    };
    let mut nelems = u64::from(!is_null);
    for dim in 0..rank {
        let at = lengths.offset().saturating_add(u64::from(dim).saturating_mul(8));
        nelems = nelems.saturating_mul(source.read::<U64>(at)?.get());
    }
    Ok(Shape { rank, lengths, nelems })
}

fn element<S: Source + ?Sized>(source: &S, body: Span) -> Result<Element> {
    let datatype = source.read::<Datatype>(body.offset())?;
    let [bits, ..] = datatype.bits;
    let class = match datatype.class & 15 {
        0 => Class::Integer { is_signed: bits & 8 != 0 },
        1 => Class::Float,
        3 => Class::Text,
        class => Class::Other(class),
    };
    let is_number = !matches!(class, Class::Text | Class::Other(_));
    let order = if is_number && bits & 1 != 0 { ByteOrder::Big } else { ByteOrder::Little };
    Ok(Element { class, size: datatype.size.get(), order })
}

/// The address and the bytes of the values.
fn layout<S: Source + ?Sized>(source: &S, body: Span) -> Result<(u64, u64)> {
    let offset = body.offset();
    let feature = match *source.read::<[u8; 2]>(offset)? {
        [3 | 4, 1] => {
            let layout = source.read::<Layout3>(offset)?;
            return Ok((layout.address.get(), layout.size.get()));
        }
        [3 | 4, 0] => Feature::Compact,
        [3 | 4, 2] => Feature::Chunked,
        [4, 3] => Feature::Virtual,
        _ => Feature::LayoutVersion,
    };
    unsupported(feature, offset)
}

/// An attribute from its message.
fn attribute<S: Source + ?Sized>(source: &S, body: Span) -> Result<Attribute> {
    let head = source.read::<AttributeHead>(body.offset())?;
    let (fields, is_padded) = match (head.version, head.flags & 3) {
        (1, _) => (8, true),
        (2, 0) => (8, false),
        (3, 0) => (9, false),
        (2 | 3, _) => return unsupported(Feature::Shared, body.offset()),
        _ => return unsupported(Feature::AttributeVersion, body.offset()),
    };
    let mut rest = body.skip(fields);
    let mut part = |size: u16| {
        let len = u64::from(size);
        let part = rest.part(0, len);
        rest = rest.skip(if is_padded { round_up(len, EIGHT).unwrap_or(len) } else { len });
        part
    };
    let parts = (
        part(head.name_size.get()),
        part(head.datatype_size.get()),
        part(head.dataspace_size.get()),
    );
    let (Some(name), Some(datatype), Some(dataspace)) = parts else {
        let (offset, value) = (body.offset().saturating_add(2), head.name_size.get().into());
        return Err(Error::Value { field: AttributeHead::name_size, offset, value }.into());
    };
    let (element, shape) = (element(source, datatype)?, shape(source, dataspace)?);
    let computed = len(shape, element);
    let Some(values) = rest.part(0, computed) else {
        return Err(Error::Size { offset: body.offset(), stored: rest.len(), computed }.into());
    };
    let name = until_null(source, name)?;
    Ok(Attribute { name, array: Array { element, shape, values } })
}
