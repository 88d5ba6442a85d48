# Classic netCDF file, as specified in ../cdf.md. Compiled and run against the golden files by
# ../../tests/interop/cdf_ksy.py; the names under -orig-id are those of PnetCDF's grammar. Cited
# files are in src/drivers/ncmpio of PnetCDF 1.15.
meta:
  id: cdf
  title: classic netCDF file, CDF-1, CDF-2 and CDF-5
  file-extension: nc
  ks-version: 0.11
  endian: be
doc: |
  One netCDF file: the header, and values. Those of a fixed variable are `vars.items[i].values`, those
  of a record variable `vars.items[i].records[r].values`; both as they are stored, big-endian. The values of attributes
  are parsed.
doc-ref: spec/cdf.md
seq:
  - id: magic
    contents: CDF
    doc-ref: spec/cdf.md#header, ncmpio_header_put.c:28
  - id: version
    type: u1
    valid:
      any-of: [1, 2, 5]
  - id: numrecs
    -orig-id: numrecs
    type: non_neg
  - id: dims
    -orig-id: dim_list
    type: dim_list
  - id: attributes
    -orig-id: gatt_list
    type: att_list
  - id: vars
    -orig-id: var_list
    type: var_list
instances:
  is_wide:
    value: version == 5
    doc: Counts and lengths have 8 bytes.
  is_streaming:
    value: 'numrecs.value == (is_wide ? 0xffffffffffffffff : 0xffffffff)'
    doc: The writer could not go back to the header; there are as many whole records as the file has.
    doc-ref: spec/cdf.md#header
  num_record_vars:
    value: 'vars.items.size == 0 ? 0 : vars.items.last.num_record_vars'
  recsize:
    value: >-
      num_record_vars == 0 ? 0
      : (num_record_vars == 1 ? vars.items.last.sole_record_len : vars.items.last.recsize)
    doc: Bytes of a record of all record variables. Those of a sole one are not padded.
    doc-ref: spec/cdf.md#values, ncmpio_enddef.c:598
  num_records:
    value: >-
      is_streaming ? (recsize == 0 ? 0 : (_io.size - vars.items.last.first_begin) / recsize) : numrecs.value
types:
  non_neg:
    doc: A count or a length.
    doc-ref: spec/cdf.md#conventions, ncmpio_header_put.c:52
    seq:
      - id: narrow
        type: u4
        if: not _root.is_wide
      - id: wide
        type: u8
        if: _root.is_wide
    instances:
      value:
        value: '_root.is_wide ? wide : narrow'
  file_offset:
    doc-ref: spec/cdf.md#conventions, ncmpio_header_put.c:370
    seq:
      - id: narrow
        type: u4
        if: _root.version == 1
      - id: wide
        type: u8
        if: _root.version != 1
    instances:
      value:
        value: '_root.version == 1 ? narrow : wide'
  list_head:
    doc: What a list is of, and how many items it has. A list without items may be absent, which is two zeros.
    doc-ref: spec/cdf.md#lists, ncmpio_header_put.c:114
    params:
      - id: own_tag
        type: u4
    seq:
      - id: tag
        type: u4
        valid:
          expr: _ == own_tag or _ == 0
      - id: nelems
        -orig-id: nelems
        type: non_neg
      - id: absent_is_empty
        size: 0
        valid:
          expr: tag != 0 or nelems.value == 0
        doc: Takes no bytes.
      - id: in_file
        size: 0
        valid:
          expr: nelems.value <= _root._io.size
        doc: Takes no bytes; each item takes some.
  name:
    doc-ref: spec/cdf.md#names, ncmpio_header_put.c:48
    seq:
      - id: nelems
        -orig-id: nelems
        type: non_neg
      - id: value
        size: nelems.value
        type: str
        encoding: UTF-8
      - id: padding
        size: (4 - nelems.value % 4) % 4
        doc: Null bytes; only ncvalidator asks for that.
  dim_list:
    doc-ref: spec/cdf.md#dimensions
    seq:
      - id: head
        type: list_head(10)
      - id: items
        type: dim(_index)
        repeat: expr
        repeat-expr: head.nelems.value
  dim:
    doc-ref: spec/cdf.md#dimensions, ncmpio_header_put.c:80
    params:
      - id: dimid
        type: s4
    seq:
      - id: name
        type: name
      - id: length
        -orig-id: dim_length
        type: non_neg
        doc: 0 for the record dimension.
      - id: one_record_dim
        size: 0
        valid:
          expr: num_record_dims <= 1
        doc: Takes no bytes.
        doc-ref: spec/cdf.md#dimensions, ncmpio_header_get.c:676
    instances:
      is_record:
        value: length.value == 0
      num_record_dims:
        value: >-
          (is_record ? 1 : 0) + (dimid == 0 ? 0 : _parent.as<dim_list>.items[dimid - 1].num_record_dims.as<u8>)
        doc: Up to this one.
  att_list:
    doc-ref: spec/cdf.md#attributes
    seq:
      - id: head
        type: list_head(12)
      - id: items
        type: att
        repeat: expr
        repeat-expr: head.nelems.value
  att:
    doc-ref: spec/cdf.md#attributes, ncmpio_header_put.c:181
    seq:
      - id: name
        type: name
      - id: nc_type
        -orig-id: nc_type
        type: nc_type
      - id: nelems
        -orig-id: nelems
        type: non_neg
      - id: values
        size: len
        type: values(nc_type.value, nelems.value)
      - id: padding
        size: (4 - len % 4) % 4
    instances:
      len:
        value: nelems.value * nc_type.size
  values:
    doc-ref: spec/cdf.md#types
    params:
      - id: nc_type
        type: u4
      - id: nelems
        type: u8
    seq:
      - id: text
        size-eos: true
        if: nc_type == 2
      - id: numbers
        type:
          switch-on: nc_type
          cases:
            1: s1
            3: s2
            4: s4
            5: f4
            6: f8
            7: u1
            8: u2
            9: u4
            10: s8
            11: u8
        repeat: expr
        repeat-expr: nelems
        if: nc_type != 2
  nc_type:
    doc-ref: spec/cdf.md#types
    seq:
      - id: value
        type: u4
        valid:
          expr: '_ >= 1 and _ <= (_root.is_wide ? 11 : 6)'
    instances:
      size:
        value: >-
          value == 1 or value == 2 or value == 7 ? 1
          : (value == 3 or value == 8 ? 2 : (value == 4 or value == 5 or value == 9 ? 4 : 8))
        doc: Bytes of a value.
  var_list:
    doc-ref: spec/cdf.md#variables
    seq:
      - id: head
        type: list_head(11)
      - id: items
        type: var(_index)
        repeat: expr
        repeat-expr: head.nelems.value
  var:
    doc-ref: spec/cdf.md#variables, ncmpio_header_put.c:312
    params:
      - id: varid
        type: s4
    seq:
      - id: name
        type: name
      - id: ndims
        -orig-id: ndims
        type: non_neg
      - id: dims
        type: dim_of(_index)
        repeat: expr
        repeat-expr: ndims.value
      - id: attributes
        -orig-id: vatt_list
        type: att_list
      - id: nc_type
        -orig-id: nc_type
        type: nc_type
      - id: vsize
        -orig-id: vsize
        type: non_neg
        doc: What len rounded up to 4 should be; readers do not use it.
      - id: begin
        -orig-id: begin
        type: file_offset
    instances:
      is_record:
        value: ndims.value != 0 and dims[0].is_record
      len:
        value: 'nc_type.size * (ndims.value == 0 ? 1 : dims.last.product)'
        doc: Bytes of the values, or of one record's.
      padded_len:
        value: (len + 3) / 4 * 4
      before:
        value: _parent.as<var_list>.items[varid - 1]
        if: varid != 0
      num_record_vars:
        value: '(is_record ? 1 : 0) + (varid == 0 ? 0 : before.num_record_vars.as<u8>)'
        doc: Up to this one; so are the three below.
      recsize:
        value: '(is_record ? padded_len : 0) + (varid == 0 ? 0 : before.recsize.as<u8>)'
      sole_record_len:
        value: 'is_record ? len : (varid == 0 ? 0 : before.sole_record_len.as<u8>)'
      first_begin:
        value: >-
          varid != 0 and before.num_record_vars.as<u8> != 0 ? before.first_begin.as<u8> : begin.value
        doc: The begin of the first record variable, if there is one.
      values:
        io: _root._io
        pos: begin.value
        size: len
        if: not is_record
        doc-ref: spec/cdf.md#values
      records:
        io: _root._io
        pos: begin.value
        type: record(_index)
        repeat: expr
        repeat-expr: _root.num_records
        if: is_record
        doc-ref: spec/cdf.md#values
  dim_of:
    doc: A dimension of a variable.
    doc-ref: spec/cdf.md#variables
    params:
      - id: place
        type: s4
    seq:
      - id: dimid
        -orig-id: dimid
        type: non_neg
      - id: is_defined
        size: 0
        valid:
          expr: dimid.value < _root.dims.items.size
        doc: Takes no bytes.
      - id: record_dim_is_first
        size: 0
        valid:
          expr: place == 0 or not is_record
        doc: Takes no bytes.
    instances:
      dim:
        value: _root.dims.items[dimid.value]
      is_record:
        value: dim.is_record
      product:
        value: >-
          (is_record ? 1 : dim.length.value) * (place == 0 ? 1 : _parent.as<var>.dims[place - 1].product.as<u8>)
        doc: Elements of this dimension and of those before, in one record; in arithmetic that does not wrap.
  record:
    doc: One record of a variable. It takes no bytes here, because the records of all variables take turns.
    params:
      - id: number
        type: s4
    instances:
      values:
        io: _root._io
        pos: _parent.as<var>.begin.value + number * _root.recsize
        size: _parent.as<var>.len
