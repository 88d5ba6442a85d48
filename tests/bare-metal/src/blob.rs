//! Blob files of E3SM-IO.

use crate::host::{Host, Text};
use crate::{Fail, entries};
use core::fmt::Write;
use core::num::{NonZeroU32, NonZeroU64};
use striae_core::blob::append::{Reseal, count, settle, take_back};
use striae_core::blob::book::{Sum, numbers_of, put_part, row_crc, row_len};
use striae_core::blob::distribute::{outside, subfile_of};
use striae_core::blob::find::{overlap, resolve, sort};
use striae_core::blob::form::encode;
use striae_core::blob::layout::{maps_len, width_of_blob};
use striae_core::blob::map::{Grid, Request};
use striae_core::blob::seal::{Facts, Shape, header_crc, heads};
use striae_core::blob::sealing::{NewSeal, complete};
use striae_core::blob::walk::Data;
use striae_core::blob::{
    Column, Content, Decomposition, Error, FindSeal, Fingerprint, Fixed, Form, Gather, Group, Held,
    Name, Part, Partition, Pen, Place, Records, Run, Runs, Sealing, Share, Shares, Subfile, Take,
    Tie, Walk, Width,
};
use striae_core::cdf::{
    Define, Definition, DimDef, Fill, Layout, Region, Slot, Type, VarDef, Writer,
};
use striae_core::endian::ByteOrder;
use striae_core::integrity::crc32c;
use striae_core::span::Span;
use striae_core::step::drive_read;
use striae_core::store::usize_to_u64;

/// Runs from lent bytes.
fn runs_of(bytes: &[u8]) -> [Run; 8] {
    let mut runs = [Run::default(); 8];
    for (run, bytes) in runs.iter_mut().zip(bytes.chunks_exact(4)) {
        if let &[offset, len, blob, position] = bytes {
            let place = Place { subfile: 0, blob: blob.into(), position: position.into() };
            *run = Run { offset: offset.into(), len: len.into(), place };
        }
    }
    runs
}

/// Bits in a memory that grows up to its end.
#[derive(Default)]
struct Bits {
    words: [u64; 8],
    len: usize,
}

impl AsRef<[u64]> for Bits {
    fn as_ref(&self) -> &[u64] {
        self.words.get(..self.len).unwrap_or_default()
    }
}

impl AsMut<[u64]> for Bits {
    fn as_mut(&mut self) -> &mut [u64] {
        self.words.get_mut(..self.len).unwrap_or_default()
    }
}

impl Extend<u64> for Bits {
    fn extend<I: IntoIterator<Item = u64>>(&mut self, more: I) {
        for (word, new) in self.words.iter_mut().skip(self.len).zip(more) {
            *word = new;
            self.len = self.len.saturating_add(1);
        }
    }
}

entries! {
    fn gate_blob_names(bytes) {
        let name = Name::parse(bytes).ok_or(Fail)?;
        write!(Text, "{name}")?;
        let Name::Of { part, .. } = name else { return Ok(0) };
        let stored = part.stored().ok_or(Fail)?;
        Ok(usize_to_u64(part.suffix().len()) ^ usize_to_u64(stored.description.len()))
    }

    fn gate_blob_layout(
        _bytes,
        begin: u64,
        len: u64,
        recsize: u64,
        nreqs: u64,
        start: u64,
        count: u64,
    ) {
        let share = Share { nreqs, start, count };
        let values = Span::new(begin, len).ok_or(Fail)?;
        let recsize_of = Some(recsize).filter(|&n| n != 0);
        let layout = Layout { first: values, recsize: recsize_of, value_len: 8 };
        let sum = share.in_variable(layout, count).ok_or(Fail)?.end();
        let [first, ..] = share.parts(begin).ok_or(Fail)?;
        let sum = sum ^ first.end();
        let sum = sum ^ share.in_values(values, recsize).ok_or(Fail)?.end();
        let [offsets, lengths] = share.requests(begin).ok_or(Fail)?;
        Ok(sum ^ offsets.end() ^ lengths.end() ^ share.map_len().ok_or(Fail)?)
    }

    fn gate_blob_distribute(bytes, process: u64, nprocs: u64, nranks: u64) {
        let nprocs = NonZeroU64::new(nprocs).ok_or(Fail)?;
        let subfile = subfile_of(process, nprocs, nranks).ok_or(Fail)?;
        let grid = Grid::new(&[nranks, 3]).ok_or(Fail)?;
        let request = Request { offset: usize_to_u64(bytes.len()), len: process };
        let mut shares = Shares::default();
        let share = shares.push(subfile, process).ok_or(Fail)?;
        let outside = outside(&[request], grid).map_or(0, Request::end);
        Ok(share.start ^ shares.nelems() ^ shares.max_nreqs() ^ outside)
    }

    fn gate_blob_define(bytes, nelems: u64, nreqs: u64, number: u64, nblobs: u64) {
        let dims = [DimDef::record("time"), DimDef { name: "cell", length: 9 }];
        let var = VarDef { name: "heat", nc_type: Type::Double, dimids: &[0, 1] };
        let canonical = Definition { dims: &dims, attrs: &[], vars: &[(var, &[])] };
        let mut decompositions = [Decomposition::new(&[1], nelems, nreqs)];
        let partitions = [Some(Partition { decomposition: bytes.len(), global_dimids: &[0, 1] })];
        let group = Group { global_nprocs: 2, num_subfiles: 1, nblobs, world_ranks: Some(&[3]) };
        let subfile = Subfile::new(&canonical, group, &mut decompositions, &partitions);
        let subfile = subfile.map_err(|_| Fail)?;
        let grid = Grid::of_dims(&canonical, &[number]).map_or(0, Grid::total);
        let sum = grid ^ subfile.dim(number).map_or(0, |dim| dim.length);
        let len = subfile.attr(Some(number), nelems).map_or(0, |attr| attr.values.len());
        let form = Form::new(&subfile, number > 0).map_err(|_| Fail)?.ok_or(Fail)?;
        let gap = form.sealed().map_or(0, |(_, gap)| gap.end());
        core::hint::black_box(form.container(nelems).ok_or(Fail)?);
        let (mut header, mut window) = ([0; 256], [0; 64]);
        let order = Some(ByteOrder::Little).filter(|_| nelems > 0);
        encode(&subfile, form.plan(), (0, order), &mut header, &mut window).map_err(|_| Fail)?;
        Ok(sum ^ usize_to_u64(len) ^ gap ^ subfile.nmaps() ^ subfile.nblobs())
    }

    fn gate_blob_column(_bytes, at: u64, len: u64, recsize: u64, blob: u32, record: u64) {
        let dims = [DimDef::record("time"), DimDef { name: "cell", length: len }];
        let var = VarDef { name: "heat", nc_type: Type::Double, dimids: &[0, 1] };
        let canonical = Definition { dims: &dims, attrs: &[], vars: &[(var, &[])] };
        let decomposition = usize::try_from(blob).ok();
        let column = Column::new(&canonical, &var, decomposition).ok_or(Fail)?;
        core::hint::black_box(column.content(record).ok_or(Fail)?);
        core::hint::black_box(column.partition(&[0, 1]).ok_or(Fail)?);
        let shares = [Share { nreqs: 1, start: at, count: len }; 2];
        let held = column.in_values((at, recsize), blob, &shares).ok_or(Fail)?;
        let sum = held.span(record).ok_or(Fail)?.end();
        let held = column.in_blob(at, blob, &shares).ok_or(Fail)?;
        let records = Records { before: Some(at), all: Some(len) };
        records.check(column, record).map_err(|_| Fail)?;
        let place = records.place(column, held, record, len).map_err(|_| Fail)?;
        let range = records.of(column, record);
        Ok(sum ^ held.step ^ range.end ^ records.first() ^ place.end() ^ records.count(len))
    }

    fn gate_blob_pen(_bytes, start: u64, len: u64, record: u64, records: u64, variable: usize) {
        let (nc_type, is_record, decomposition) = (Type::Int, record > 0, None);
        let column = Column { nc_type, is_record, decomposition, len };
        let held = Held { start, len, step: len };
        let sums = [Sum::after(start, 0); 4];
        let written = Records { before: Some(start), all: None };
        let mut pen = Pen::new(written, 4, Bits::default(), sums);
        let before = pen.sum(variable).ok_or(Fail)?;
        pen.wrote(variable, column, record, Some((before, 7)));
        let (missing, _) = pen.missing([(column, Some(held)); 4], records).unwrap_or_default();
        let (of, host) = ((variable, column, held), Host { file: 0 });
        let crc = pen.sum_of_all(of, records, &host, &mut [0; 64], crc32c).map_err(|_| Fail)?;
        Ok(u64::from(crc) ^ usize_to_u64(missing) ^ pen.reached() ^ pen.records().first())
    }

    fn gate_blob_width(_bytes, len: u64, decomposition: usize, whole: u64, nreqs: u64, blob: u32) {
        let shares = [Share { nreqs, start: 0, count: len }; 3];
        let mut memory = [0; 3];
        let mut width = Width::new(&mut memory);
        width.add(Content::Whole { len: whole }).ok_or(Fail)?;
        width.add(Content::Elements { decomposition, len }).ok_or(Fail)?;
        let sum = width.of_blob(blob, &shares).ok_or(Fail)? ^ maps_len(&shares).ok_or(Fail)?;
        width.add(Content::Stray { len: whole }).ok_or(Fail)?;
        let sum = width.elements().iter().fold(sum, |sum, len| sum ^ len);
        Ok(sum ^ width_of_blob(width.fixed(), &[len], blob, &shares).ok_or(Fail)?)
    }

    fn gate_blob_walk(
        window,
        offset: u64,
        len: u64,
        big: bool,
        whole: u64,
        most: u64,
        nblobs: usize,
    ) {
        let order = if big { ByteOrder::Big } else { ByteOrder::Little };
        let span = Span::new(offset, len).ok_or(Fail)?;
        let (elements, nelems, max_nreqs) = (&[whole; 2], &[most; 2], &[most; 2]);
        let fixed = Fixed { first: whole, every: most };
        let data = Data { span, order, fixed, elements, nelems, max_nreqs };
        let (mut starts, mut shares) = ([0; 8], [Share::default(); 16]);
        let starts = starts.get_mut(..nblobs).ok_or(Fail)?;
        let shares = shares.get_mut(..nblobs.saturating_mul(2)).ok_or(Fail)?;
        let mut walk = Walk::new(data, starts, shares)?;
        if most.is_multiple_of(2) {
            walk = walk.mend();
        }
        drive_read(&mut walk, &Host { file: 0 }, window)?;
        if let Some(error) = walk.mended() {
            Err(error)?;
        }
        let found = usize_to_u64(walk.found());
        Ok(starts.iter().fold(found, |sum, start| sum ^ start))
    }

    fn gate_blob_seal(
        window,
        header_end: u64,
        numrecs: u64,
        nblobs: u64,
        variable: u32,
        blob: u32,
    ) {
        let shape = Shape::new(nblobs, numrecs).ok_or(Fail)?;
        let gap = shape.gap_after(header_end).ok_or(Fail)?;
        let len = shape.gap_len().ok_or(Fail)?;
        let [place, _] = shape.places(gap, true).ok_or(Fail)?;
        let values = Fingerprint::of_blob((variable, blob), 0, [blob]);
        let values = Fingerprint::from_words(values.join(Fingerprint::default()).words());
        let tie = Some(Tie::new(values, variable, blob));
        let facts = Facts {
            shape,
            header_len: header_end,
            header_crc: header_crc(window, crc32c),
            values_begin: gap.end(),
            numrecs,
            tie,
        };
        let head = facts.head(facts.tie_crc(crc32c), crc32c);
        let found = drive_read(&mut FindSeal::new(gap, crc32c), &Host { file: 0 }, window)?;
        let next = found.next(numrecs);
        let seal = found.judge(&facts)?.ok_or(Fail)?;
        let entry = seal.entry(variable, blob).ok_or(Fail)?;
        seal.check(variable, blob, [0; 4], head.head_crc.get())?;
        let (own, [head, _]) = (seal.facts().shape, heads(gap).ok_or(Fail)?);
        let sum = head.end() ^ entry.end() ^ own.rows() ^ u64::from(own.nblobs() ^ own.nvars());
        Ok(sum ^ len ^ usize_to_u64(next) ^ seal.place().head.end() ^ place.table.end())
    }

    fn gate_blob_append(bytes, header_end: u64, nblobs: u64, more: u64, copy: usize) {
        let shape = Shape::new(nblobs, 1).ok_or(Fail)?;
        let gap = shape.gap_after(header_end).ok_or(Fail)?;
        let (header_crc, values_begin) = (0, gap.end());
        let (header_len, numrecs) = (header_end, more);
        let tie = None;
        let facts = Facts { shape, header_len, header_crc, values_begin, numrecs, tie };
        let places = shape.places(gap, false).ok_or(Fail)?;
        let seal = Reseal { facts, places, table: bytes };
        let (slots, window) = ([Slot::EMPTY; 4], [0; 64]);
        let host = Host { file: 0 };
        let mut writer = Writer::open(host, Fill::Values, &mut [0; 4], slots, window)?;
        count(&mut writer, more, Some((&seal, copy)), crc32c)?;
        settle(writer.store_mut(), &seal, copy, crc32c)?;
        take_back(writer.store_mut(), more)?;
        Ok(writer.records())
    }

    fn gate_blob_sealing(bytes, header_end: u64, nblobs: u64, records: u64, blob: u32) {
        let shape = Shape::new(nblobs, 1).ok_or(Fail)?;
        let gap = shape.gap_after(header_end).ok_or(Fail)?;
        let seal = Sealing::new((shape, gap), (blob, 9), (header_end, bytes), crc32c);
        let seal = seal.ok_or(Fail)?;
        let values = seal.of_blob(blob, [blob]).join(seal.of_all(&[blob; 3]));
        let mut host = Host { file: 0 };
        let parts = seal.write_rows(&mut host, (blob, values), [blob], crc32c)?;
        let parts = parts.join(seal.write_table(&mut host, (bytes, values), crc32c)?);
        let sealed = NewSeal { seal: &seal, records, values, parts };
        complete(&mut host, (nblobs, Some(records)), Some(sealed), crc32c)?;
        let facts = seal.reseal(records, bytes, values).facts;
        let seal = Sealing::of(facts, gap, blob, 1).ok_or(Fail)?;
        Ok(u64::from(seal.nblobs()) ^ usize_to_u64(seal.next()))
    }

    fn gate_blob_find(bytes, element: u64, total: u64) {
        let mut runs = runs_of(bytes);
        sort(&mut runs);
        let mut spare = [Run::default(); 24];
        let is_over = overlap(&runs);
        let runs = Runs::new(resolve(&mut runs, &mut spare)?).ok_or(Fail)?;
        let run = runs.find(element).ok_or(Fail)?.clipped(total).ok_or(Fail)?;
        let sum = run.end() ^ runs.covered() ^ u64::from(is_over);
        let span = Span::new(element, total).ok_or(Fail)?;
        let sum = runs.pieces(span).fold(sum, |sum, piece| sum ^ piece.offset ^ piece.len);
        Ok(sum ^ usize_to_u64(runs.as_slice().len()))
    }

    fn gate_blob_gather(bytes, rows: u64, columns: u64, at: u64, stride: u64) {
        let mut runs = runs_of(bytes);
        sort(&mut runs);
        let runs = Runs::new(runs).ok_or(Fail)?;
        let (shape, start, count) = ([rows, columns], [at; 2], [rows, at]);
        let region = Region { start: &start, count: &count, stride: Some(&[stride; 2]) };
        let mut gather = Gather::new(&runs, &shape, region)?;
        let sum = gather.len() ^ u64::from(gather.is_empty());
        let mut memory = [Take::default(); 8];
        Ok(gather.fill(&mut memory).iter().fold(sum, |sum, take| sum ^ take.to ^ take.len))
    }

    fn gate_blob_book(_bytes, offset: u64, len: u64, start: u64, records: u64) {
        let requests = [Request { offset, len }; 2];
        let (nreqs, count) = numbers_of(&requests).ok_or(Fail)?;
        let (share, mut sum) = (Share { nreqs, start, count }, 0);
        for part in [Part::Nreqs, Part::BlobStart, Part::Offsets, Part::Lengths, Part::Nelems] {
            let mut add = |one: &[u8]| sum ^= usize_to_u64(one.len());
            put_part(part, share, &requests, ByteOrder::Little, &mut add);
            sum ^= row_len(part, nreqs) ^ u64::from(row_crc(0, len, row_len(part, nreqs)));
        }
        let mut crc = Sum::after(records, 0);
        crc.add(crc, start, crc.crc());
        sum ^= u64::from(crc.all().unwrap_or_default());
        let places = Span::new(offset, len).into_iter();
        let over = crc.over(places, &Host { file: 0 }, &mut [0; 64], crc32c).map_err(|_| Fail)?;
        sum ^= u64::from(over);
        Ok(sum)
    }

    fn gate_text64_blob_error(_bytes, id: u32, blob: u32, value: u64, signed: i64) {
        let id = NonZeroU32::new(id).ok_or(Fail)?;
        let part = Part::Nreqs;
        for error in [
            Error::Negative { id, part, blob, value: signed },
            Error::TooLarge { id, part, blob, value, max: 0 },
            Error::Differs { id, part, blob, value, expected: 0 },
            Error::Elements { id, found: value, nelems: 0 },
            Error::Blobs { found: value, data_len: 0 },
            Error::Cut { blob, end: value, data_end: 0 },
            Error::Size { blob },
            Error::Memory { need: value, room: 0 },
        ] {
            core::hint::black_box(error.blames_caller());
            write!(Text, "{error}")?;
        }
        Ok(0)
    }
}
