# GSD file, as specified in ../gsd.md. Compiled and run against the golden files by
# ../../tests/interop/gsd_ksy.py; the names under -orig-id are those of gsd.h of gsd 5.0.1.
meta:
  id: gsd
  title: GSD file, file layer 0.3, 1.x and 2.x
  file-extension: gsd
  ks-version: 0.11
  endian: le
doc: |
  One GSD file: header, index, name list, the bytes of chunks, and the commit record and shadow if striae
  wrote it.

  The entries in use are `index.entries` up to the first whose location is 0, or all of them if there is
  none; `num_entries` of them. An entry's name is `names.names[id].value`, its bytes are `data`. The bytes of
  a chunk named `striae/crc32c` are a `checksums`; hand them to it. Nothing here compares a checksum with
  what it covers.
doc-ref: spec/gsd.md
seq:
  - id: header
    type: header
instances:
  names:
    pos: header.namelist_location
    size: 64 * header.namelist_allocated_entries
    type: names
    if: header.namelist_allocated_entries != 0
    doc-ref: spec/gsd.md#name-list, gsd.c:1456
  num_names:
    value: 'header.namelist_allocated_entries == 0 ? 0 : names.num_names'
  index:
    pos: header.index_location
    size: 32 * header.index_allocated_entries
    type: index
    if: header.index_allocated_entries != 0
    doc-ref: spec/gsd.md#index, gsd.c:626
  num_entries:
    value: 'header.index_allocated_entries == 0 ? 0 : index.num_entries'
    doc: Entries in use.
  num_frames:
    value: 'num_entries == 0 ? 0 : index.entries[num_entries - 1].frame.as<u8> + 1'
    doc-ref: spec/gsd.md#frames, gsd.c:1536
  shadows:
    pos: header.commit.shadow
    size: 256
    type: shadow
    repeat: expr
    repeat-expr: 2
    if: header.has_commit
    doc: They take turns; one that no commit has used yet is zeros.
    doc-ref: spec/gsd.md#shadow
types:
  header:
    doc-ref: spec/gsd.md#header, gsd.h:129
    seq:
      - id: magic
        contents: [0xdf, 0x65, 0xdf, 0x65, 0xdf, 0x65, 0xdf, 0x65]
        doc-ref: spec/gsd.md#header, gsd.c:42
      - id: index_location
        -orig-id: index_location
        type: u8
        valid:
          min: 256
      - id: index_allocated_entries
        -orig-id: index_allocated_entries
        type: u8
        doc: Slots of 32 bytes.
      - id: namelist_location
        -orig-id: namelist_location
        type: u8
        valid:
          min: 256
      - id: namelist_allocated_entries
        -orig-id: namelist_allocated_entries
        type: u8
        doc: Units of 64 bytes, in all versions.
      - id: schema_version
        -orig-id: schema_version
        type: version
      - id: gsd_version
        -orig-id: gsd_version
        type: version
      - id: layer_is_known
        size: 0
        valid:
          expr: gsd_version.major == 1 or gsd_version.major == 2 or gsd_version.number == 3
        doc: Takes no bytes; 0.3, 1.x and 2.x can be read.
        doc-ref: spec/gsd.md#versions, gsd.c:1442
      - id: application
        -orig-id: application
        type: label
      - id: schema
        -orig-id: schema
        type: label
      - id: reserved
        -orig-id: reserved
        size: 80
        doc: Zeros; in files of striae a commit record.
    instances:
      has_commit:
        value: >-
          reserved[0] == 0x73 and reserved[1] == 0x74 and reserved[2] == 0x72 and reserved[3] == 0x69
          and reserved[4] == 0x61 and reserved[5] == 0x65 and reserved[6] == 0 and reserved[7] == 1
        doc: Whether the magic of a commit record is there; the record may be stale.
        doc-ref: spec/gsd.md#commit-record
      commit:
        pos: 176
        type: commit
        if: has_commit
        doc-ref: spec/gsd.md#commit-record
  version:
    doc-ref: spec/gsd.md#versions, gsd.c:1592
    seq:
      - id: number
        type: u4
    instances:
      major:
        value: number >> 16
      minor:
        value: number & 0xffff
  label:
    doc: A text in 64 bytes, padded by NULs.
    seq:
      - id: value
        size: 64
        terminator: 0
  index:
    doc: Entries up to the first slot that is not used.
    seq:
      - id: entries
        type: entry(_index)
        repeat: until
        repeat-until: _.location == 0 or _io.eof
        doc: The last of them may be an unused slot.
    instances:
      num_entries:
        value: 'entries.last.location == 0 ? entries.size - 1 : entries.size'
  entry:
    doc-ref: spec/gsd.md#index-entry, gsd.h:168
    params:
      - id: slot
        type: s4
    seq:
      - id: frame
        -orig-id: frame
        type: u8
      - id: n
        -orig-id: N
        type: u8
        doc: Rows of the chunk.
      - id: location
        -orig-id: location
        type: s8
        doc: Offset of the chunk; 0 in a slot that is not used.
        valid:
          expr: _ == 0 or _ >= 256
      - id: m
        -orig-id: M
        type: u4
        doc: Columns of the chunk.
        valid:
          expr: location == 0 or _ != 0
      - id: id
        -orig-id: id
        type: u2
        doc: Index of the name.
        valid:
          expr: location == 0 or _ < _root.num_names
      - id: kind
        -orig-id: type
        type: u1
        valid:
          expr: location == 0 or (_ >= 1 and _ <= 11)
        doc-ref: spec/gsd.md#types, gsd.h:21
      - id: flags
        -orig-id: flags
        type: u1
        valid:
          expr: location == 0 or _ == 0
      - id: in_order
        size: 0
        valid:
          expr: location == 0 or slot == 0 or frame >= _parent.entries[slot - 1].frame
        doc: Takes no bytes; frames never decrease.
        doc-ref: spec/gsd.md#index, gsd.c:701
      - id: in_file
        size: 0
        valid:
          expr: location == 0 or location + len <= _root._io.size
        doc: Takes no bytes; a chunk lies in the file.
        doc-ref: spec/gsd.md#chunks, gsd.c:2226
    instances:
      value_len:
        value: >-
          kind == 1 or kind == 5 or kind == 11 ? 1
          : (kind == 2 or kind == 6 ? 2 : (kind == 3 or kind == 7 or kind == 9 ? 4 : 8))
        doc: Bytes of a value.
        doc-ref: spec/gsd.md#types, gsd.c:2241
      len:
        value: n * m * value_len
        doc: Bytes of the chunk, in arithmetic that does not wrap.
      data:
        io: _root._io
        pos: location
        size: len
        if: location != 0
        doc: n rows of m values.
        doc-ref: spec/gsd.md#chunks, gsd.c:2226
  names:
    doc: Names up to the first that is empty, and that one.
    seq:
      - id: names
        type: name
        repeat: until
        repeat-until: _.value.length == 0 or _io.eof
        doc-ref: spec/gsd.md#name-list, gsd.c:1501
    instances:
      num_names:
        value: 'names.last.value.length == 0 ? names.size - 1 : names.size'
      last_byte:
        pos: _io.size - 1
        type: u1
        valid: 0
        doc-ref: spec/gsd.md#name-list, gsd.c:1489
  name:
    seq:
      - id: packed
        terminator: 0
        if: is_packed
      - id: slot
        size: 64
        terminator: 0
        if: not is_packed
    instances:
      is_packed:
        value: _root.header.gsd_version.major >= 2
        doc: Since layer 2.
      value:
        value: 'is_packed ? packed : slot'
  commit:
    doc: What the last commit of striae said.
    doc-ref: spec/gsd.md#commit-record
    seq:
      - id: magic
        size: 8
      - id: entries
        type: u8
        doc: Entries that are committed.
      - id: index_reserved
        type: u8
        doc: Slots that the index block has, shown or not.
      - id: data_end
        type: u8
      - id: shadow
        type: u8
        doc: Offset of the two shadows.
      - id: crc_from
        type: u8
        doc: First entry that index_crc covers.
      - id: sequence
        type: u4
      - id: names_len
        type: u4
        doc: Bytes of the name list that are committed.
      - id: names
        type: u4
      - id: index_crc
        type: u4
      - id: names_crc
        type: u4
      - id: ident_crc
        type: u4
        doc: Of bytes 40 to 43 and 48 to 175 of the file.
      - id: align
        type: u1
        doc: Alignment of chunks, as a power of two.
      - id: checksums
        type: u1
        doc: 1 if frames carry checksums.
      - id: layer
        type: u1
        doc: Major version of the file layer.
      - id: one_sync
        type: u1
        doc: 1 if the next commit may stand in a shadow before it does in the header.
      - id: commit_crc
        type: u4
        doc: Of bytes 8 to 39 and 176 to 251 of the file.
  image:
    doc: What a commit changes of a header, bytes 8 to 47 and 176 to 255 of the file.
    seq:
      - id: index_location
        type: u8
      - id: index_allocated_entries
        type: u8
      - id: namelist_location
        type: u8
      - id: namelist_allocated_entries
        type: u8
      - id: schema_version
        type: version
      - id: gsd_version
        type: version
      - id: commit
        type: commit
  shadow:
    doc-ref: spec/gsd.md#shadow
    seq:
      - id: magic
        type: str
        size: 8
        encoding: ASCII
        valid:
          any-of: ['"striaeSH"', '"\0\0\0\0\0\0\0\0"']
      - id: old
        type: image
      - id: new
        type: image
      - id: added_crc
        type: u4
        doc: Of what a commit of one sync added; 0 of another one.
      - id: crc
        type: u4
        doc: Of the 252 bytes in front of it.
  checksums:
    doc: The bytes of a chunk named `striae/crc32c`. Not reached from the root.
    doc-ref: spec/gsd.md#checksums
    seq:
      - id: rows
        type: checksum_row
        repeat: eos
  checksum_row:
    seq:
      - id: id
        type: u4
        doc: Index of the name of a chunk of the frame; in the last row, of this chunk itself.
      - id: crc
        type: u4
