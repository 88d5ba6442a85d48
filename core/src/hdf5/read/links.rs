//! [`Links`]: the objects of a group, by name.

use super::list::Progress;
use super::object::{Message, Messages, sized};
use super::superblock::{check_signature, in_file, unsupported};
use crate::hdf5::error::{Error, Feature, Result};
use crate::hdf5::raw::UNDEFINED;
use crate::hdf5::raw::{LinkHead, LocalHeap, SymbolEntry, SymbolNode, SymbolTable, TreeNode};
use crate::source::Source;
use crate::span::Span;
use crate::store::usize_to_u64;
use zerocopy::little_endian::{U16, U64};

const LINK_INFO: u16 = 2;
const LINK: u16 = 6;
const SYMBOL_TABLE: u16 = 17;

/// A name in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Link {
    /// The span of the name.
    pub name: Span,
    /// The address of the object; `None` for a soft, external or other link.
    pub object: Option<u64>,
}

/// A place in the list of a group's links: link messages, or a symbol table with its tree. It is a
/// value: all that a parser must keep over restarts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Links {
    messages: Messages,
    place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the object header of the group; the symbol table is the last thing in it.
    Header(Option<Message>),
    /// At a tree node on the way down to the first leaf; `level` is its level, if known.
    Down {
        names: Span,
        node: u64,
        level: Option<u8>,
    },
    /// At a child of a leaf.
    Leaf {
        names: Span,
        node: u64,
        child: u16,
    },
    /// At an entry of a symbol node, which is a child of a leaf.
    Symbols {
        names: Span,
        node: u64,
        child: u16,
        symbols: u64,
        number: u16,
    },
    End,
}

impl Links {
    /// The links of the group whose object header is at `address`.
    ///
    /// # Errors
    /// See [`Messages::open`].
    pub fn open<S: Source + ?Sized>(source: &S, address: u64) -> Result<Self> {
        let messages = Messages::open(source, address)?;
        Ok(Self { messages, place: Place::Header(None) })
    }

    /// The next link, or `None` after the last one.
    ///
    /// The links are the state that must outlive restarts.
    ///
    /// # Errors
    /// [`Error`]; a miss.
    pub fn next<S: Source + ?Sized>(&mut self, source: &S) -> Result<Option<Link>> {
        super::list::next(source, self, Self::advance)
    }

    /// The object that has this name.
    ///
    /// # Errors
    /// [`Feature::LinkKind`] if the name is that of a link that is not hard; see [`Links::next`].
    pub fn find<S: Source + ?Sized>(&mut self, source: &S, name: &[u8]) -> Result<Option<u64>> {
        let pick = |source: &S, link: Link| match (is_name(source, link.name, name)?, link.object) {
            (true, None) => unsupported(Feature::LinkKind, link.name.offset()),
            (is_it, object) => Ok(object.filter(|_| is_it)),
        };
        super::list::find(source, self, Self::advance, pick)
    }

    /// A small part of [`next`](Self::next). After an error the links must not be used.
    ///
    /// # Errors
    /// See [`Links::next`].
    pub fn advance<S: Source + ?Sized>(&mut self, source: &S) -> Result<Progress<Link>> {
        self.place = match self.place {
            Place::Header(table) => return self.header(source, table),
            Place::Down { names, node, level } => self.down(source, names, node, level)?,
            Place::Leaf { names, node, child } => self.leaf(source, names, node, child)?,
            Place::Symbols { names, node, child, symbols, number } => {
                if source.read::<U16>(symbols.saturating_add(6))?.get() == number {
                    let child = child.saturating_add(1);
                    self.place = Place::Leaf { names, node, child };
                    return Ok(Progress::Working);
                }
                let next = number.saturating_add(1);
                self.place = Place::Symbols { names, node, child, symbols, number: next };
                return self.symbol(source, names, symbols, number).map(Progress::Found);
            }
            Place::End => return Ok(Progress::End),
        };
        Ok(Progress::Working)
    }

    fn header<S: Source + ?Sized>(
        &mut self,
        source: &S,
        table: Option<Message>,
    ) -> Result<Progress<Link>> {
        let message = match self.messages.advance(source)? {
            Progress::Found(message) => message,
            Progress::Working => return Ok(Progress::Working),
            Progress::End => {
                self.place = table.map_or(Ok(Place::End), |table| symbol_table(source, table))?;
                return Ok(Progress::Working);
            }
        };
        let Message { kind, is_shared, body } = message;
        match kind {
            LINK | SYMBOL_TABLE | LINK_INFO if is_shared => {
                return unsupported(Feature::Shared, body.offset());
            }
            LINK => return link(source, body).map(Progress::Found),
            LINK_INFO => {
                check_no_heap(source, body, 8, Feature::DenseLinks)?;
            }
            SYMBOL_TABLE => self.place = Place::Header(Some(message)),
            _ => {}
        }
        Ok(Progress::Working)
    }

    /// Goes down one level of the tree.
    fn down<S: Source + ?Sized>(
        &mut self,
        source: &S,
        names: Span,
        node: u64,
        expected: Option<u8>,
    ) -> Result<Place> {
        self.messages.spend(in_file(node, 24, source.file_len())?)?;
        let tree = source.read::<TreeNode>(node)?;
        check_signature(node, tree.signature, b"TREE")?;
        if tree.node_type != 0 {
            return wrong(TreeNode::node_type, node, tree.node_type.into());
        }
        if expected.is_some_and(|expected| expected != tree.level) {
            return wrong(TreeNode::level, node, tree.level.into());
        }
        match tree.level.checked_sub(1) {
            None => Ok(Place::Leaf { names, node, child: 0 }),
            Some(_) if tree.entries.get() == 0 => wrong(TreeNode::entries, node, 0),
            Some(level) => {
                let node = source.read::<U64>(child_at(node, 0))?.get();
                Ok(Place::Down { names, node, level: Some(level) })
            }
        }
    }

    /// Goes to a symbol node, or to the next leaf.
    fn leaf<S: Source + ?Sized>(
        &mut self,
        source: &S,
        names: Span,
        node: u64,
        child: u16,
    ) -> Result<Place> {
        let tree = source.read::<TreeNode>(node)?;
        if child == tree.entries.get() {
            return Ok(match tree.right_address.get() {
                UNDEFINED => Place::End,
                node => Place::Down { names, node, level: Some(0) },
            });
        }
        let symbols = source.read::<U64>(child_at(node, child))?.get();
        self.messages.spend(in_file(symbols, 8, source.file_len())?)?;
        let head = source.read::<SymbolNode>(symbols)?;
        check_signature(symbols, head.signature, b"SNOD")?;
        if head.version != 1 {
            return wrong(SymbolNode::version, symbols, head.version.into());
        }
        Ok(Place::Symbols { names, node, child, symbols, number: 0 })
    }

    fn symbol<S: Source + ?Sized>(
        &mut self,
        source: &S,
        names: Span,
        symbols: u64,
        number: u16,
    ) -> Result<Link> {
        let skip = u64::from(number).saturating_mul(40).saturating_add(8);
        let at = in_file(symbols.saturating_add(skip), 40, source.file_len())?;
        self.messages.spend(at)?;
        let entry = source.read::<SymbolEntry>(at.offset())?;
        let offset = entry.name_offset.get();
        let object = Some(entry.header_address.get());
        let object = object.filter(|&object| object != UNDEFINED && entry.cache_type.get() != 2);
        let Some(rest) = names.rest(offset) else {
            return wrong(SymbolEntry::name_offset, at.offset(), offset);
        };
        let name = until_null(source, rest)?;
        self.messages.spend(name)?; // many symbols may share one
        Ok(Link { name, object })
    }
}

/// Refuses a message that leads to a fractal heap. Its version and flags come first; then, by a
/// flag, `more` bytes about the creation order.
pub(super) fn check_no_heap<S: Source + ?Sized>(
    source: &S,
    body: Span,
    more: u64,
    feature: Feature,
) -> Result<()> {
    let &[_, flags] = source.read::<[u8; 2]>(body.offset())?;
    let heap = body.skip(if flags & 1 == 0 { 2 } else { more.saturating_add(2) });
    match source.read::<U64>(heap.offset())?.get() {
        UNDEFINED => Ok(()),
        _ => unsupported(feature, body.offset()),
    }
}

/// The place of child `number` of a tree node; each child follows its key.
fn child_at(node: u64, number: u16) -> u64 {
    u64::from(number).saturating_mul(16).saturating_add(32).saturating_add(node)
}

fn wrong<T>(field: crate::field::FieldId, structure: u64, value: u64) -> Result<T> {
    let offset = structure.saturating_add(field.offset().into());
    Err(Error::Value { field, offset, value }.into())
}

fn symbol_table<S: Source + ?Sized>(source: &S, table: Message) -> Result<Place> {
    let table = source.read::<SymbolTable>(table.body.offset())?;
    let (node, heap) = (table.tree_address.get(), table.heap_address.get());
    in_file(heap, 32, source.file_len())?;
    let head = source.read::<LocalHeap>(heap)?;
    check_signature(heap, head.signature, b"HEAP")?;
    if head.version != 0 {
        return wrong(LocalHeap::version, heap, head.version.into());
    }
    let names = in_file(head.data_address.get(), head.data_size.get(), source.file_len())?;
    Ok(Place::Down { names, node, level: None })
}

/// A link from its message.
fn link<S: Source + ?Sized>(source: &S, body: Span) -> Result<Link> {
    let head = source.read::<LinkHead>(body.offset())?;
    if head.version != 1 {
        return unsupported(Feature::LinkKind, body.offset());
    }
    let flags = head.flags;
    let mut at = body.offset().saturating_add(2);
    let mut is_hard = true;
    if flags & 8 != 0 {
        is_hard = *source.read::<u8>(at)? == 0;
        at = at.saturating_add(1);
    }
    at = at.saturating_add(if flags & 4 == 0 { 0 } else { 8 }); // creation order
    at = at.saturating_add(if flags & 16 == 0 { 0 } else { 1 }); // character set
    let (width, len) = sized(source, at, flags)?;
    let skip = at.saturating_add(width).saturating_sub(body.offset());
    let Some(name) = body.part(skip, len) else {
        return wrong(LinkHead::flags, body.offset(), flags.into());
    };
    let object = match (is_hard, body.rest(skip.saturating_add(len)).map(Span::len)) {
        (false, _) => None,
        (true, Some(8..)) => Some(source.read::<U64>(name.end())?.get()),
        (true, _) => return wrong(LinkHead::flags, body.offset(), flags.into()),
    };
    Ok(Link { name, object })
}

/// The bytes up to the first null byte.
pub(in crate::hdf5) fn until_null<S: Source + ?Sized>(source: &S, span: Span) -> Result<Span> {
    let mut need = 1;
    loop {
        let bytes = source.some(span.offset(), need, span.len())?;
        let len = bytes.iter().position(|&byte| byte == 0);
        let room = usize_to_u64(bytes.len());
        match len.and_then(|len| span.part(0, usize_to_u64(len))) {
            Some(name) => return Ok(name),
            None if span.len() <= room => return Ok(span),
            None => need = bytes.len().saturating_add(1),
        }
    }
}

/// Whether the bytes of a span are `name`.
pub(in crate::hdf5) fn is_name<S: Source + ?Sized>(
    source: &S,
    span: Span,
    name: &[u8],
) -> Result<bool> {
    let len = usize_to_u64(name.len());
    Ok(span.len() == len && source.some(span.offset(), name.len(), len)? == name)
}
