# ffrecord file, as specified in ../ffrecord.md. Compiled and run against the golden files by
# ../../tests/interop/ffrecord_ksy.py; the names under -orig-id are those of fileio.h of ffrecord 1.4.0.
meta:
  id: ffrecord
  title: ffrecord file
  file-extension: ffr
  ks-version: 0.11
  endian: le
doc: |
  One ffrecord file: a checksum, the number of samples, a table of their checksums, a table of their offsets, and
  the samples. The bytes of a sample are `offsets[number].data`. Nothing here compares a checksum with what it
  covers.
doc-ref: spec/ffrecord.md
seq:
  - id: checksum_meta
    -orig-id: checksum_meta
    type: u4
    doc: CRC-32 of all from n to the end of the offsets; 0 if there is none.
    doc-ref: spec/ffrecord.md#header, writer.cpp:64
  - id: n
    -orig-id: n
    type: s8
    doc: Number of samples.
    valid:
      min: 0
  - id: tables_in_file
    size: 0
    valid:
      expr: header_len <= _io.size
    doc: Takes no bytes; both tables lie in the file.
    doc-ref: spec/ffrecord.md#header
  - id: checksums
    -orig-id: checksums
    type: u4
    repeat: expr
    repeat-expr: n
    doc: CRC-32 of each sample.
    doc-ref: spec/ffrecord.md#checksums, reader.cpp:48
  - id: offsets
    -orig-id: offsets
    type: offset(_index)
    repeat: expr
    repeat-expr: n
    doc-ref: spec/ffrecord.md#offsets, reader.cpp:49
instances:
  header_len:
    value: 12 + 12 * n
    doc: Bytes in front of the samples.
    doc-ref: writer.cpp:25
types:
  offset:
    doc-ref: spec/ffrecord.md#samples
    params:
      - id: number
        type: s4
    seq:
      - id: start
        -orig-id: offset
        type: s8
        doc: Where the sample starts.
        valid:
          expr: _ >= _root.header_len and _ <= _root._io.size
      - id: in_order
        size: 0
        valid:
          expr: number == 0 or start >= _parent.as<ffrecord>.offsets[number - 1].start
        doc: Takes no bytes; the sample before ends here, and not before it starts.
    instances:
      end:
        value: 'number + 1 == _root.n ? _root._io.size : _root.offsets[number + 1].start'
        doc: Where the next sample starts, or the file ends.
        doc-ref: spec/ffrecord.md#offsets, reader.cpp:54
      data:
        io: _root._io
        pos: start
        size: end - start
