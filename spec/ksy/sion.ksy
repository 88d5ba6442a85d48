# SIONlib file, as specified in ../sion.md. Compiled and run against the golden files by
# ../../tests/interop/sion_ksy.py; the names under -orig-id are those of SIONlib 1.7.6.
meta:
  id: sion
  title: SIONlib file, fileformat_version 2 to 5
  file-extension: sion
  ks-version: 0.11
doc: |
  One physical file of a SIONlib set: META1, blocks of one chunk a task, META2, mapping, and a seal if
  striae left one.

  The byte order of all metadata is told by the file. A task's stream is the concatenation of the bytes
  that it used of its chunks: `meta1.tasks[t].blocks[k].data`. If `meta1.keyval_mode` is 51, hand that
  concatenation to `record_stream`.
doc-ref: spec/sion.md
seq:
  - id: magic
    -orig-id: SION_ID
    contents: sion
    doc-ref: spec/sion.md#ident, sion_metadata.c:53
  - id: endianness
    -orig-id: endianness
    type: endianness
    doc-ref: spec/sion.md#byte-orders, sion_metadata.c:61
  - id: meta1
    type: meta1
instances:
  is_closed:
    value: meta1.has_commit_fields and meta1.commit_fields.start_of_varheader != 0
    doc: False if the file was never closed nor committed, and so has no META2.
    doc-ref: spec/sion.md#closed-and-unclosed-files, sion_metadata.c:544
types:
  endianness:
    doc: Only bit 0 of the first two bytes is looked at; the last two mirror them.
    doc-ref: spec/sion.md#byte-orders, sion_internal.c:1140
    seq:
      - id: meta_byte
        type: u1
      - id: data_byte
        type: u1
      - id: data_byte_mirror
        type: u1
      - id: meta_byte_mirror
        type: u1
    instances:
      meta_is_big:
        value: meta_byte & 1
        doc: 1 if the metadata, and the headers of key-value records, are big-endian.
      data_is_big:
        value: data_byte & 1
        doc: 1 if the writer states that its own data are big-endian.
  meta1:
    meta:
      endian:
        switch-on: _root.endianness.meta_is_big
        cases:
          0: le
          1: be
    doc: Everything in the byte order of the metadata. Starts at offset 8 of the file.
    doc-ref: spec/sion.md#meta1, sion_metadata.c:38
    seq:
      - id: version
        -orig-id: sion_version
        type: s4
        doc: 1000 * main + sub of the library that wrote the file.
      - id: patchlevel
        -orig-id: sion_version_patchlevel
        type: s4
      - id: fileformat_version
        -orig-id: sion_fileformat_version
        type: s4
        valid:
          min: 2
          max: 5
      - id: fsblksize
        -orig-id: fsblksize
        type: s4
        valid:
          min: 1
      - id: ntasks
        -orig-id: ntasks
        type: s4
        valid:
          min: 1
        doc: Tasks in this physical file.
      - id: nfiles
        -orig-id: nfiles
        type: s4
        valid:
          min: 1
        doc: Physical files in the set.
      - id: filenumber
        -orig-id: filenumber
        type: s4
        if: fileformat_version >= 3
        valid:
          min: 0
        doc: From 0 in a set of several files; 1 in a file that was written serially.
      - id: flag1
        -orig-id: flag1
        type: s8
        if: fileformat_version >= 3
        doc: Mode of key-value records times 2^32, since fileformat_version 5.
      - id: flag2
        -orig-id: flag2
        type: s8
        if: fileformat_version >= 3
      - id: filenameprefix
        -orig-id: prefix
        size: 1024
        doc: Up to the first NUL, if there is one.
      - id: globalrank
        -orig-id: all_globalranks
        type: s8
        repeat: expr
        repeat-expr: ntasks
        doc-ref: spec/sion.md#task-tables, sion_metadata.c:154
      - id: chunksize
        -orig-id: all_chunksizes
        type: s8
        repeat: expr
        repeat-expr: ntasks
        valid:
          min: 0
        doc: As stored; see `tasks[t].chunksize` for what the layout uses.
        doc-ref: spec/sion.md#task-tables, sion_metadata.c:164
      - id: commit_fields
        type: commit_fields
        if: has_commit_fields
      - id: tasks
        type: task(_index)
        repeat: expr
        repeat-expr: ntasks
        doc: Takes no bytes; what the tables and META2 say about each task.
    instances:
      tables_start:
        value: 'fileformat_version >= 3 ? 1076 : 1056'
        doc: Length of the fixed part, and where the tables start.
        doc-ref: spec/sion.md#meta1-of-fileformat_version-2, sion_metadata.c:420
      commit_start:
        -orig-id: end_of_header
        value: tables_start + 16 * ntasks
      has_commit_fields:
        value: _root._io.size >= commit_start + 12
        doc: A file that was never closed may end before them.
      keyval_mode:
        -orig-id: keyvalmode
        value: 'fileformat_version >= 5 ? (flag1 >> 32 == 0 ? 50 : flag1 >> 32) : 50'
        doc: 50 none, 51 inline.
        doc-ref: spec/sion.md#key-value, sion_metadata.c:446
      end:
        value: 1088 + 16 * ntasks
        doc: Where the layout takes META1 to end, in every version.
        doc-ref: spec/sion.md#layout, sion_internal_startptr.c:93
      first:
        -orig-id: start_of_data
        value: (end + fsblksize - 1) / fsblksize * fsblksize
        doc: Start of block 0, and of the first chunk of task 0.
        doc-ref: spec/sion.md#layout, sion_internal_startptr.c:129
      globalskip:
        -orig-id: globalskip
        value: tasks.last.chunk_end - first
        doc: Bytes of a block, from each chunk to the same task's next one.
        doc-ref: spec/sion.md#layout, sion_internal_startptr.c:150
      meta2:
        io: _root._io
        pos: commit_fields.start_of_varheader
        type: meta2
        if: _root.is_closed
        doc-ref: spec/sion.md#meta2, sion_metadata.c:223
      meta2_end:
        value: commit_fields.start_of_varheader + 8 * ntasks * (1 + commit_fields.maxchunks)
        if: _root.is_closed
      bytes_behind_meta2:
        value: _root._io.size - meta2_end
        if: _root.is_closed
      mapping_size:
        -orig-id: mapping_size
        io: _root._io
        pos: meta2_end
        type: s4
        if: _root.is_closed and bytes_behind_meta2 >= 4
        doc: 0 in a file that was written serially. Any bytes at all if nothing was stored there.
        doc-ref: spec/sion.md#mapping, sion_metadata.c:283
      has_mapping:
        value: _root.is_closed and nfiles > 1 and fileformat_version >= 3 and filenumber == 0
      mapping:
        io: _root._io
        pos: meta2_end
        type: mapping
        if: has_mapping
        doc: Only file 0 of a set of several files has one that means something.
        doc-ref: spec/sion.md#mapping, sion_metadata.c:264
      may_have_mapping_size:
        value: (nfiles == 1 or fileformat_version == 2) and (fileformat_version == 2 or filenumber != 0)
        doc: True in a single file of a serial writer, which ends in a mapping_size of 0.
      mapping_len:
        value: >-
          has_mapping ? 4 + 8 * mapping.mapping_size
          : (may_have_mapping_size and bytes_behind_meta2 >= 4 ? 4 : 0)
        if: _root.is_closed
        doc: Bytes between META2 and a seal.
      sealed_mapping_size:
        value: 'mapping_len == 0 ? -1 : (mapping_len - 4) / 8'
        if: _root.is_closed
        doc: What a seal of version 2 says of the mapping.
        doc-ref: spec/sion.md#seal
      seal_start:
        value: meta2_end + mapping_len
        if: _root.is_closed
        doc-ref: spec/sion.md#seal
      seal_trailer_start:
        value: seal_start + 4 * ntasks * commit_fields.maxchunks
        if: _root.is_closed
      seal_magic:
        io: _root._io
        pos: seal_trailer_start + 48
        size: 16
        if: _root.is_closed and _root._io.size >= seal_trailer_start + 64
      has_seal:
        value: >-
          _root.is_closed and _root._io.size >= seal_trailer_start + 64
          and seal_magic == [0x73, 0x74, 0x72, 0x69, 0x61, 0x65, 0x20, 0x53,
                             0x49, 0x4f, 0x4e, 0x20, 0x73, 0x65, 0x61, 0x6c]
        doc: True if the magic, `striae SION seal`, stands at its place.
      seal:
        io: _root._io
        pos: seal_start
        type: seal
        if: has_seal
        doc: Checksums that striae adds. Nothing here compares them with the bytes that they seal.
        doc-ref: spec/sion.md#seal
    types:
      commit_fields:
        doc: Zeros until the file is closed.
        doc-ref: spec/sion.md#commit-fields, sion_metadata.c:184
        seq:
          - id: maxchunks
            -orig-id: maxusedchunks
            type: s4
            valid:
              min: 0
            doc: Blocks in the file; at least 1 if it is closed.
          - id: start_of_varheader
            -orig-id: start_of_varheader
            type: s8
            valid:
              min: 0
            doc: Offset of META2.
      meta2:
        doc-ref: spec/sion.md#meta2, sion_metadata.c:223
        seq:
          - id: blockcount
            -orig-id: all_blockcount
            type: s8
            repeat: expr
            repeat-expr: _parent.ntasks
            valid:
              min: 1
              max: _parent.commit_fields.maxchunks
          - id: blocks
            type: row
            repeat: expr
            repeat-expr: _parent.commit_fields.maxchunks
      row:
        doc: What each task used of its chunk in one block.
        doc-ref: spec/sion.md#meta2, sion_metadata.c:242
        seq:
          - id: blocksize
            -orig-id: all_blocksizes
            type: s8
            repeat: expr
            repeat-expr: _parent._parent.ntasks
            doc: 0 or -1, and to be ignored, if the task has not so many chunks.
      mapping:
        doc: Where each global rank of the set is.
        doc-ref: spec/sion.md#mapping, sion_metadata.c:264
        seq:
          - id: mapping_size
            -orig-id: mapping_size
            type: s4
            valid:
              min: 0
          - id: entries
            -orig-id: mapping
            type: mapping_entry
            repeat: expr
            repeat-expr: mapping_size
      mapping_entry:
        doc-ref: spec/sion.md#mapping, sion_metadata.c:291
        seq:
          - id: filenumber
            type: s4
            valid:
              min: 0
              max: _parent._parent.nfiles - 1
          - id: lrank
            type: s4
            valid:
              min: 0
      seal:
        doc: CRC-32C of the used bytes of each chunk, and of the metadata.
        doc-ref: spec/sion.md#seal
        seq:
          - id: blocks
            type: crc_row
            repeat: expr
            repeat-expr: _parent.commit_fields.maxchunks
          - id: trailer
            type: seal_trailer
        instances:
          is_stale:
            value: >-
              trailer.ntasks != _parent.ntasks
              or trailer.maxchunks != _parent.commit_fields.maxchunks
              or trailer.start_of_varheader != _parent.commit_fields.start_of_varheader
              or (trailer.seal_version == 1
              ? trailer.start_of_seal != _parent.seal_start
              : trailer.mapping_size != _parent.sealed_mapping_size)
            doc: True if another writer changed the file after it was sealed.
      crc_row:
        seq:
          - id: crc
            type: u4
            repeat: expr
            repeat-expr: _parent._parent.ntasks
            doc: 0 if the task used nothing of this chunk.
      seal_trailer:
        doc-ref: spec/sion.md#seal
        seq:
          - id: seal_version
            type: s4
            valid:
              any-of: [1, 2]
          - id: ntasks
            type: s4
          - id: maxchunks
            type: s4
          - id: meta1_crc
            type: u4
            doc: Of META1, from the start of the file to the end of the commit fields.
          - id: start_of_varheader
            type: s8
          - id: start_of_seal
            type: s8
            if: seal_version == 1
          - id: mapping_size
            type: s4
            if: seal_version == 2
            doc: Entries of the mapping; -1 if there is no mapping, and not its size either.
          - id: set_identity
            type: u4
            if: seal_version == 2
            doc: The identity of the set, equal in all of its files.
          - id: meta2_crc
            type: u4
            doc: Of META2 and the mapping.
          - id: chunks_crc
            type: u4
            doc: Of the table of checksums.
          - id: set_number
            type: s4
            doc: The number of the commit of the whole set; 0 if the file was committed by itself.
          - id: trailer_crc
            type: u4
            doc: Of the 44 bytes in front of it.
          - id: magic
            contents: striae SION seal
      task:
        doc: One task's entries of all tables, and where its chunks are.
        doc-ref: spec/sion.md#layout, sion_internal_startptr.c:111
        params:
          - id: local
            type: s4
        instances:
          globalrank:
            value: _parent.globalrank[local]
          stored:
            value: _parent.chunksize[local]
          chunksize:
            value: >-
              _parent.fileformat_version >= 4 ? stored
              : (stored + _parent.fsblksize - 1) / _parent.fsblksize * _parent.fsblksize
            doc: Bytes of each chunk of the task; before fileformat_version 4 the entry is rounded up.
            doc-ref: spec/sion.md#layout, sion_internal_startptr.c:49
          start:
            -orig-id: all_startpointers
            value: 'local == 0 ? _parent.first.as<s8> : _parent.tasks[local - 1].chunk_end.as<s8>'
            doc: Start of the task's chunk in block 0.
          chunk_end:
            value: start + chunksize
          blockcount:
            value: _parent.meta2.blockcount[local]
            if: _root.is_closed
          blocks:
            type: block(_index, local)
            repeat: expr
            repeat-expr: blockcount
            if: _root.is_closed
      block:
        doc: The used part of a chunk.
        doc-ref: spec/sion.md#streams, sion_filedesc.h:77
        params:
          - id: number
            type: s4
          - id: local
            type: s4
        seq:
          - id: checked
            size: 0
            valid:
              expr: blocksize >= 0 and blocksize <= _parent.chunksize
            doc: Takes no bytes; value instances can have no `valid` of their own.
        instances:
          blocksize:
            value: _parent._parent.meta2.blocks[number].blocksize[local]
          start:
            value: _parent.start + number * _parent._parent.globalskip
          data:
            io: _root._io
            pos: start
            size: blocksize
  record_stream:
    doc: The stream of a task of a file with key-value records. Not reached from the root.
    doc-ref: spec/sion.md#key-value, sion_keyvalue_inline.c:70
    params:
      - id: is_big
        type: u1
        doc: The file's `endianness.meta_is_big`.
    meta:
      endian:
        switch-on: is_big
        cases:
          0: le
          1: be
    seq:
      - id: records
        type: record
        repeat: eos
    types:
      record:
        seq:
          - id: key
            -orig-id: key
            type: u8
          - id: len
            -orig-id: len
            type: u8
          - id: value
            size: len
