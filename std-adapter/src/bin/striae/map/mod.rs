//! `striae map`.

pub(crate) mod svg;
mod text;

use crate::args::{MapArgs, Outcome};
use crate::failure::{Failure, Sound, complain};
use crate::files::is_same;
use crate::printable::printable_path;
use crate::sheet::{self, Column, Form, Sheet, left, right};
use crate::text::{print, print_json, unless_gone};
use serde::Serialize;
use std::io::Write;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::Path;
use striae::Error;
use striae::format::Format;
use striae::map::{Amounts, Cell, Kind, Picture, Size, of_file};
use striae::publish::Publish;

/// Default numbers of columns.
const TEXT_WIDTH: u64 = 80;
const SVG_WIDTH: u64 = 96;

/// Largest number of rows for the longest file.
const ROWS: NonZeroU64 = NonZeroU64::new(16).unwrap();

/// Draws a file of this format.
pub(crate) fn map(args: &MapArgs, format: Format) -> Outcome {
    map_all(args, format, &|size| Ok(vec![of_file(&args.file.path, format, size)?]))
}

/// Draws the files of this format that `draw` makes pictures of.
pub(crate) fn map_all(
    args: &MapArgs,
    format: Format,
    draw: &dyn Fn(Size) -> Result<Vec<Picture>, Error>,
) -> Outcome {
    let draw = |columns| {
        let columns = NonZeroU64::new(columns).unwrap_or(NonZeroU64::MIN);
        draw(Size { columns, rows: ROWS })
    };
    let width = args.width.map(|width| u64::from(width.get()));
    let pictures = match &args.svg {
        Some(out) => {
            let pictures = draw(width.unwrap_or(SVG_WIDTH))?;
            let sources = pictures.iter().map(|picture| &*picture.path);
            save(&svg::svg(&pictures), out, args.force, sources)?;
            pictures
        }
        None if args.json => {
            let pictures = draw(width.unwrap_or(TEXT_WIDTH))?;
            let files = pictures.iter().map(|picture| File::new(picture, format)).collect();
            print_json(&Map { legend: legend(), files })?;
            pictures
        }
        None if args.csv => {
            let pictures = draw(TEXT_WIDTH)?;
            print(|out| write_tables(out, &pictures))?;
            pictures
        }
        None => {
            let width = width.unwrap_or_else(terminal_width);
            let label = text::label_width(width);
            let pictures = draw(width.saturating_sub(label))?;
            let mut out = anstream::stdout().lock();
            unless_gone(text::write(&mut out, &pictures, label > 0).and_then(|()| out.flush()))?;
            pictures
        }
    };
    damage(pictures)
}

const COLUMNS: &[Column] =
    &[left("file", 0), right("offset", 0), right("bytes", 0), left("kind", 0), left("name", 0)];

/// Writes a row for each table.
fn write_tables(out: &mut impl Write, pictures: &[Picture]) -> std::io::Result<()> {
    let mut sheet = Sheet::new(COLUMNS, Form::Csv(None), out)?;
    for picture in pictures {
        let path = picture.path.to_string_lossy();
        for part in &picture.parts {
            sheet.row(&[
                sheet::Cell::Text(&path),
                sheet::Cell::Number(part.span.offset()),
                sheet::Cell::Number(part.span.len()),
                sheet::Cell::Text(part.kind.look().name),
                sheet::Cell::Text(part.name),
            ])?;
        }
    }
    Ok(())
}

/// Reports why parts of the files are unknown.
fn damage(pictures: Vec<Picture>) -> Result<Sound, Failure> {
    let (mut first, mut sound) = (None, Sound::Yes);
    for picture in pictures {
        let mut kinds = picture.cells.amounts.present();
        match (picture.damage, kinds.find(|(kind, _)| *kind == Kind::Unknown)) {
            (Some(error), _) if first.is_none() => first = Some(error),
            (Some(error), _) => complain(&error.to_string()),
            (None, Some(_)) => {
                let path = printable_path(&picture.path);
                complain(&format!("{path}: some of it is unknown; striae verify says why"));
                sound = Sound::No;
            }
            (None, None) => {}
        }
    }
    first.map_or(Ok(sound), |error| Err(error.into()))
}

/// Number of columns of the terminal; else of the variable `COLUMNS`, else the default.
fn terminal_width() -> u64 {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
    let columns = size.map(|size| u64::from(size.ws_col)).filter(|&columns| columns > 0);
    let told = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|&columns| columns > 0);
    columns.or_else(told).unwrap_or(TEXT_WIDTH)
}

/// Writes a picture to a file, or to standard output for `-`. It never replaces what it shows.
pub(crate) fn save<'p>(
    picture: &str,
    out: &Path,
    force: bool,
    mut sources: impl Iterator<Item = &'p Path>,
) -> Result<(), Failure> {
    if out == Path::new("-") {
        let mut stdout = std::io::stdout().lock();
        return unless_gone(stdout.write_all(picture.as_bytes()).and_then(|()| stdout.flush()));
    }
    if sources.any(|source| is_same(source, out)) {
        return Err(Failure::usage(out, "is a source, and would be replaced"));
    }
    let publish = Publish::new(out, NonZeroU32::MIN, force)?;
    std::fs::write(publish.hidden(0), picture).map_err(|error| Error::new(out, error))?;
    Ok(publish.finish(false)?)
}

/// The sums of the amounts of all pictures.
fn amounts_of(pictures: &[Picture]) -> Amounts {
    let mut amounts = Amounts::default();
    pictures.iter().for_each(|picture| amounts.add_all(&picture.cells.amounts));
    amounts
}

/// The letters of a kind: two if neighbouring owners have different letters.
fn letters(kind: Kind) -> String {
    let both = [Some(0), Some(1)].map(|owner| kind.letter_of(owner));
    let count = if kind.is_data() { 2 } else { 1 };
    both.into_iter().take(count).collect()
}

/// The explanation of small letters, if any occur.
fn owners(pictures: &[Picture]) -> Option<String> {
    let mut cells = pictures.iter().flat_map(|picture| &picture.cells.cells);
    let is_any = cells.any(|cell| cell.kind.is_data() && letter_of(cell).is_ascii_lowercase());
    let owner = pictures.first().filter(|_| is_any)?.owner;
    Some(format!("a small letter is of a {owner} with an odd number"))
}

/// A number of bytes, with a `~` if it is an estimate.
fn bytes_of(kind: Kind, bytes: u64, is_sampled: bool) -> String {
    let about = if is_sampled && !kind.is_exact() { "~" } else { "" };
    format!("{about}{bytes}")
}

/// A share of `all` in percent, with two decimals.
fn percent(bytes: u64, all: u64) -> String {
    let parts = u128::from(bytes).saturating_mul(10_000);
    let parts = parts.checked_div(all.into()).unwrap_or(0);
    match (parts.div_euclid(100), parts.rem_euclid(100)) {
        (0, 0) if bytes > 0 => "<0.01".to_owned(),
        (whole, part) => format!("{whole}.{part:02}"),
    }
}

/// The rows of cells of a picture.
fn rows(picture: &Picture) -> impl Iterator<Item = &[Cell]> {
    let columns = usize::try_from(picture.columns.get()).unwrap_or(usize::MAX);
    picture.cells.cells.chunks(columns)
}

/// The letter of a cell. A table in the cell, however short, determines it.
fn letter_of(cell: &Cell) -> char {
    let shown = cell.mark.unwrap_or(cell.kind);
    shown.letter_of(cell.owner.filter(|_| cell.mark.is_none()))
}

/// Whether black is easier to read than white on this colour.
fn is_light([red, green, blue]: [u8; 3]) -> bool {
    let [red, green, blue] = [red, green, blue].map(u32::from);
    let sum = red.saturating_mul(3).saturating_add(green.saturating_mul(6));
    sum.saturating_add(blue) > 1200 // of 2550
}

/// The title of a picture: path, size of the file, size of a cell.
fn title(picture: &Picture, cell: &str) -> String {
    let cell_len = picture.cells.cell_len;
    let path = printable_path(&picture.path);
    let is = if cell_len.get() == 1 { "1 byte".to_owned() } else { format!("{cell_len} bytes") };
    format!("{path}: {} bytes, a {cell} is {is}", picture.file_len)
}

#[derive(Serialize)]
struct Map<'a> {
    legend: Vec<Entry>,
    files: Vec<File<'a>>,
}

#[derive(Serialize)]
struct Entry {
    kind: &'static str,
    letter: char,
    description: &'static str,
}

#[derive(Serialize)]
struct File<'a> {
    file: String,
    format: &'static str,
    owner: &'a str,
    bytes: u64,
    sampled: bool,
    kinds: Vec<Part>,
    tables: Vec<Part>,
    cell_bytes: u64,
    cells: Vec<Part>,
}

/// A range of bytes, only with the fields that apply.
#[derive(Default, Serialize)]
struct Part {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mark: Option<&'static str>,
}

fn legend() -> Vec<Entry> {
    let entry = |kind: Kind| {
        let look = kind.look();
        Entry { kind: look.name, letter: look.letter, description: look.description }
    };
    Kind::ALL.into_iter().map(entry).collect()
}

impl<'a> File<'a> {
    fn new(picture: &'a Picture, format: Format) -> Self {
        let Picture { path, file_len, owner, parts, cells, .. } = picture;
        let name = |kind: Kind| kind.look().name;
        let kinds = cells.amounts.present();
        let kinds = kinds.map(|(kind, bytes)| Part { kind: name(kind), bytes, ..Part::default() });
        let tables = parts.iter().map(|part| Part {
            kind: name(part.kind),
            name: Some(part.name),
            offset: Some(part.span.offset()),
            bytes: part.span.len(),
            ..Part::default()
        });
        let each = cells.cells.iter().map(|cell| Part {
            kind: name(cell.kind),
            offset: Some(cell.span.offset()),
            bytes: cell.span.len(),
            owner: cell.owner,
            mark: cell.mark.map(name),
            name: None,
        });
        Self {
            file: path.to_string_lossy().into_owned(),
            format: format.name(),
            owner,
            bytes: *file_len,
            sampled: cells.is_sampled,
            kinds: kinds.collect(),
            tables: tables.collect(),
            cell_bytes: cells.cell_len.get(),
            cells: each.collect(),
        }
    }
}
