//! Forms of messages that no golden file has, made by hand from the HDF5 specification: each is
//! read, or the error says which feature it is and where.

use striae_core::field::FieldId;
use striae_core::hdf5::raw::{LinkHead, TreeNode};
use striae_core::hdf5::{Attributes, Dataset, Error, Feature, Links};
use striae_core::source::Fault;

const ATTRIBUTE: u16 = 12;
const DATATYPE: u16 = 3;
const LAYOUT: u16 = 8;
const LINK: u16 = 6;
const SYMBOL_TABLE: u16 = 17;
/// The flag of a message that is stored elsewhere.
const SHARED: u8 = 2;
/// Where the body of the only message begins: after the heads of the object and of the message.
const BODY: u64 = 16 + 8;

/// An object header, version 1, of one message.
fn object(kind: u16, flags: u8, body: &[u8]) -> Vec<u8> {
    let size = u16::try_from(body.len()).unwrap();
    let mut file = vec![1, 0, 1, 0];
    file.extend(1_u32.to_le_bytes());
    file.extend((u32::from(size) + 8).to_le_bytes());
    file.extend([0; 4]);
    file.extend(kind.to_le_bytes());
    file.extend(size.to_le_bytes());
    file.extend([flags, 0, 0, 0]);
    file.extend(body);
    file
}

/// An object header, version 2, whose messages have a creation order: one message of this kind.
fn ordered_object(kind: u8, body: &[u8]) -> Vec<u8> {
    let size = u8::try_from(body.len()).unwrap();
    let mut file = b"OHDR\x02\x04".to_vec();
    file.push(size + 6);
    file.extend([kind, size, 0, 0, 0, 0]); // its size, flags, and order
    file.extend(body);
    file.extend(striae_core::hdf5::lookup3::lookup3(&file).to_le_bytes());
    file
}

/// A link message: its flags, the fields after them, the name and what the name leads to.
fn link(flags: u8, fields: &[u8], name: &[u8], value: &[u8]) -> Vec<u8> {
    [&[1, flags], fields, name, value].concat()
}

/// The first link: its name and its object.
fn first_link(file: &[u8]) -> Result<(Vec<u8>, Option<u64>), Fault<Error>> {
    let link = Links::open(file, 0)?.next(file)?.unwrap();
    let name = usize::try_from(link.name.offset()).unwrap();
    let name = file[name..][..usize::try_from(link.name.len()).unwrap()].to_vec();
    Ok((name, link.object))
}

fn unsupported<T>(feature: Feature, offset: u64) -> Result<T, Fault<Error>> {
    Err(Fault::Format(Error::Unsupported { feature, offset }))
}

fn wrong<T>(field: FieldId, offset: u64, value: u64) -> Result<T, Fault<Error>> {
    Err(Fault::Format(Error::Value { field, offset, value }))
}

#[test]
fn a_link_has_the_fields_that_its_flags_say() {
    let object_at = 0x1234_u64.to_le_bytes();
    let order = [7; 8];
    let (eight, four) = (4_u64.to_le_bytes(), 4_u32.to_le_bytes());
    let two = 4_u16.to_le_bytes();
    let cases: [(u8, &[&[u8]]); 7] = [
        (0, &[&[4]]),
        (1, &[&two]),
        (2, &[&four]),
        (3, &[&eight]),
        (8, &[&[0], &[4]]),              // its type: a hard one
        (4 | 16, &[&order, &[1], &[4]]), // creation order and character set
        (31, &[&[0], &order, &[1], &eight]),
    ];
    for (flags, fields) in cases {
        let body = link(flags, &fields.concat(), b"name", &object_at);
        let found = first_link(&object(LINK, 0, &body));
        assert_eq!(found, Ok((b"name".to_vec(), Some(0x1234))), "{flags}");
        let found = first_link(&ordered_object(6, &body));
        assert_eq!(found, Ok((b"name".to_vec(), Some(0x1234))), "{flags}, with an order");
    }
    // A soft link has the length of its path and the path.
    let soft = link(8, &[1, 4], b"name", b"\x05\0/a/bc");
    assert_eq!(first_link(&object(LINK, 0, &soft)), Ok((b"name".to_vec(), None)));
    let file = object(LINK, 0, &soft);
    let found = Links::open(&file[..], 0).unwrap().find(&file[..], b"name");
    assert_eq!(found, unsupported(Feature::LinkKind, BODY + 4));
    assert_eq!(Links::open(&file[..], 0).unwrap().find(&file[..], b"none"), Ok(None));
}

#[test]
fn a_link_that_its_message_does_not_hold_is_wrong() {
    let all = link(0, &[4], b"name", &[0; 8]);
    for len in [6, 7, 14] {
        // Cut in the name, after it, in the address.
        let mut file = object(LINK, 0, &all[..len]);
        file.extend([0; 16]);
        assert_eq!(first_link(&file), wrong(LinkHead::flags, BODY + 1, 0), "{len}");
    }
    let mut later = all.clone();
    later[0] = 2;
    assert_eq!(first_link(&object(LINK, 0, &later)), unsupported(Feature::LinkKind, BODY));
    assert_eq!(first_link(&object(LINK, SHARED, &all)), unsupported(Feature::Shared, BODY));
}

/// A node of a group's tree with one child.
fn tree(level: u8, child: u64) -> Vec<u8> {
    let mut node = [&b"TREE\0"[..], &[level, 1, 0], &[0xFF; 16], &[0; 8]].concat();
    node.extend(child.to_le_bytes());
    node
}

#[test]
fn each_level_of_a_tree_is_one_less_than_that_above() {
    let at = |number: u64| BODY + 16 + 40 * number; // of the heap and of two nodes
    let table = [(at(1)).to_le_bytes(), at(0).to_le_bytes()].concat();
    let heap = |names: u64| {
        let mut heap = b"HEAP\0\0\0\0".to_vec();
        heap.extend([8_u64, u64::MAX, names].map(u64::to_le_bytes).concat());
        heap.extend(b"\0name\0\0\0");
        heap
    };
    let file = |below: u8| {
        let mut file = object(SYMBOL_TABLE, 0, &table);
        file.extend(heap(at(0) + 32));
        file.extend(tree(1, at(2)));
        file.extend(tree(below, at(3)));
        let mut symbols = b"SNOD\x01\0\x01\0".to_vec();
        symbols.extend([1_u64, 0x1234].map(u64::to_le_bytes).concat());
        file.extend(symbols);
        file.extend([0; 24]);
        file
    };
    assert_eq!(first_link(&file(0)), Ok((b"name".to_vec(), Some(0x1234))));
    for below in [1, 2] {
        assert_eq!(first_link(&file(below)), wrong(TreeNode::level, at(2) + 5, below.into()));
    }
}

#[test]
fn symbols_that_share_a_long_name_do_not_multiply_the_file() {
    const LONG: usize = 1000;
    let (heap, node) = (BODY + 16, BODY + 16 + 32);
    let (symbols, names) = (node + 40, node + 40 + 8 + 40 * 3);
    let mut file = object(SYMBOL_TABLE, 0, &[node, heap].map(u64::to_le_bytes).concat());
    file.extend(b"HEAP\0\0\0\0");
    file.extend([LONG as u64, u64::MAX, names].map(u64::to_le_bytes).concat());
    file.extend(tree(0, symbols));
    file.extend(b"SNOD\x01\0\x03\0");
    file.extend([0; 40 * 3]); // all names begin at 0
    file.extend([b'n'; LONG]);
    let file = &file[..];
    let mut links = Links::open(file, 0).unwrap();
    assert_eq!(links.next(file).unwrap().unwrap().name.len(), LONG as u64);
    assert_eq!(links.next(file), Err(Fault::Format(Error::Ring { offset: names })));
}

#[test]
fn a_layout_that_is_not_read_is_named() {
    let of = |body: &[u8], flags| {
        let file = object(LAYOUT, flags, body);
        Dataset::open(&file[..], 0).unwrap().array(&file[..]).map(drop)
    };
    for (head, feature) in [
        ([3, 0], Feature::Compact),
        ([4, 2], Feature::Chunked),
        ([4, 3], Feature::Virtual),
        ([3, 3], Feature::LayoutVersion),
        ([2, 1], Feature::LayoutVersion),
    ] {
        assert_eq!(of(&head, 0), unsupported(feature, BODY), "{head:?}");
    }
    assert_eq!(of(&[3, 1], SHARED), unsupported(Feature::Shared, BODY));
}

#[test]
fn an_attribute_has_the_layout_of_its_version() {
    // A scalar of 4 bytes: the datatype of a signed integer, and a dataspace without dimensions.
    let datatype = [0x10, 8, 0, 0, 4, 0, 0, 0, 0, 0, 32, 0];
    let dataspace = [2, 0, 0, 0];
    let parts = |pad: usize| {
        let mut parts = Vec::new();
        for part in [&b"a\0"[..], &datatype, &dataspace] {
            parts.extend(part);
            parts.resize(parts.len().next_multiple_of(pad), 0);
        }
        parts
    };
    let values = [1, 2, 3, 4];
    let sizes = [2, 0, 12, 0, 4, 0];
    let body = |version: u8, flags: u8, more: &[u8], pad| {
        [&[version, flags][..], &sizes, more, &parts(pad), &values].concat()
    };
    for body in [body(1, 0, &[], 8), body(2, 0, &[], 1), body(3, 0, &[0], 1)] {
        let file = object(ATTRIBUTE, 0, &body);
        let found = Attributes::open(&file[..], 0).unwrap().next(&file[..]).unwrap().unwrap();
        let at = usize::try_from(found.array.values.offset()).unwrap();
        assert_eq!((&file[at..], found.array.values.len()), (&values[..], 4), "{}", body[0]);
    }
    for (version, flags, shared, feature) in [
        (2, 1, 0, Feature::Shared),
        (3, 2, 0, Feature::Shared),
        (1, 0, SHARED, Feature::Shared),
        (4, 0, 0, Feature::AttributeVersion),
        (0, 0, 0, Feature::AttributeVersion),
    ] {
        let file = object(ATTRIBUTE, shared, &body(version, flags, &[], 1));
        let found = Attributes::open(&file[..], 0).unwrap().next(&file[..]).map(drop);
        assert_eq!(found, unsupported(feature, BODY), "{version}, {flags}");
    }
    let file = object(DATATYPE, SHARED, &datatype);
    let found = Dataset::open(&file[..], 0).unwrap().array(&file[..]).map(drop);
    assert_eq!(found, unsupported(Feature::Shared, BODY));
}
