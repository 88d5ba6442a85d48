//! What files of a format in core use of each other: no circle, nothing against the order of rooms
//! that `CONTRIBUTING.md` has, nothing below it in the map at the start of its `mod.rs`.

use super::spec_tables::root;
use super::style::sources;
use std::collections::{BTreeMap, BTreeSet};

/// A module by its path from the root of the crate.
type Module = Vec<String>;

/// What a file uses, by the names in its text.
#[derive(Default)]
struct Uses {
    /// Names that are imported: the path of each, and whether others may import it from here.
    names: BTreeMap<String, (Module, bool)>,
    /// Paths in the text.
    paths: Vec<Module>,
    /// The words of the text without its imports.
    words: BTreeSet<String>,
}

/// The sources of core, by their modules.
struct House {
    modules: BTreeMap<Module, Uses>,
    /// The modules of each format from top to bottom, row by row, as its map names them.
    maps: BTreeMap<String, Vec<Vec<String>>>,
    /// The rooms from top to bottom.
    rooms: Vec<String>,
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

fn path(text: &str) -> Module {
    text.split("::").map(|part| part.trim().to_owned()).collect()
}

/// The text without tests and comments.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| [line.split(" // ").next().unwrap(), "\n"]).collect()
}

/// The paths of `a::{b, c::{d, e}}`, after `before`.
fn expand(before: &str, tree: &str, paths: &mut Vec<String>) {
    let mut depth = 0;
    let parts = tree.split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    for part in parts.map(str::trim).filter(|part| !part.is_empty()) {
        match part.split_once('{') {
            Some((front, rest)) => {
                let inner = rest.rsplit_once('}').unwrap().0;
                expand(&format!("{before}{}", front.trim()), inner, paths);
            }
            None => paths.push(format!("{before}{part}")),
        }
    }
}

impl Uses {
    fn of(text: &str) -> Self {
        let code = code(text);
        let (mut uses, mut rest) = (Self::default(), String::new());
        let mut lines = code.lines();
        while let Some(line) = lines.next() {
            let shown = line.trim_start().strip_prefix("pub");
            let is_pub = shown.is_some_and(|rest| rest.starts_with([' ', '(']));
            let item = match shown.filter(|_| is_pub) {
                Some(shown) if shown.starts_with('(') => {
                    shown.split_once(") ").unwrap_or_default().1
                }
                Some(shown) => shown.trim_start(),
                None => line.trim_start(),
            };
            let Some(tree) = item.strip_prefix("use ") else {
                rest.push_str(line);
                rest.push('\n');
                continue;
            };
            let mut tree = tree.to_owned();
            while !tree.contains(';') {
                tree.push_str(lines.next().unwrap());
            }
            let mut paths = Vec::new();
            expand("", tree.split(';').next().unwrap(), &mut paths);
            for used in paths {
                let (from, name) = used.split_once(" as ").unwrap_or((&used, ""));
                let from = path(from);
                let name = if name.is_empty() { from.last().unwrap() } else { name };
                uses.names.insert(name.to_owned(), (from.clone(), is_pub));
            }
        }
        let mut tail = rest.as_str();
        while let Some(at) = tail.find(is_word) {
            let (front, here) = tail.split_at(at);
            let before = front.chars().next_back();
            tail = here;
            let len = tail.find(|c| !is_word(c) && c != ':').unwrap_or(tail.len());
            let (found, more) = tail.split_at(len);
            let found = found.trim_end_matches(':');
            uses.words.extend(found.split(':').map(str::to_owned));
            if found.contains("::") && before != Some(':') {
                uses.paths.push(path(found));
            }
            tail = more;
        }
        uses
    }
}

impl House {
    /// The house of files with these places in core's `src`; `rooms` are from top to bottom.
    fn of(rooms: &[String], files: &[(String, String)]) -> Self {
        let mut house =
            Self { modules: BTreeMap::new(), maps: BTreeMap::new(), rooms: rooms.to_vec() };
        for (place, text) in files {
            let mut module: Module =
                place.strip_suffix(".rs").unwrap().split('/').map(str::to_owned).collect();
            if module.last().unwrap() == "mod" {
                module.pop();
                let rows = text.lines().take_while(|line| line.starts_with("//!"));
                let rows = rows.filter_map(|line| line.strip_prefix("//! |")?.split('|').nth(1));
                let names = |row: &str| {
                    let names = row.split('`').skip(1).step_by(2);
                    names.map(|name| name.trim_start_matches("mod@").to_owned()).collect()
                };
                if text.contains("In the order of reading") {
                    house.maps.insert(module[0].clone(), rows.map(names).collect());
                }
            }
            house.modules.insert(module, Uses::of(text));
        }
        house
    }

    /// A path of a module as one from the root; `None` if it is of another crate.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<Module> {
        let up = path.iter().take_while(|part| *part == "super").count();
        let rest = &path[up..];
        Some(match path[0].as_str() {
            "crate" => path[1..].to_vec(),
            "self" => [module, &path[1..]].concat(),
            "super" => [&module[..module.len().checked_sub(up)?], rest].concat(),
            first => {
                let inside = [module, &path[..1]].concat();
                let is_known = self.modules.contains_key(&inside)
                    || self.modules[module].names.get(first).is_some_and(|(from, _)| from != path);
                is_known.then(|| [module, path].concat())?
            }
        })
    }

    /// The module in which the item of a path is, through the imports of others.
    fn resolve(&self, path: &[String], depth: u32) -> Option<Module> {
        let len = (1..=path.len()).rev().find(|&len| self.modules.contains_key(&path[..len]))?;
        let (module, rest) = path.split_at(len);
        let from = rest.first().and_then(|name| self.modules[module].names.get(name));
        let further = from.filter(|_| depth < 8).and_then(|(from, _)| {
            let from = self.absolute(module, from)?;
            self.resolve(&[&from, &rest[1..]].concat(), depth + 1)
        });
        Some(further.unwrap_or_else(|| module.to_vec()))
    }

    /// The files of its format that a file uses. What it only names again of its own children, as
    /// a map does, is no use of them; nor are the few names at the top of a format.
    fn used(&self, module: &Module) -> BTreeSet<Module> {
        let uses = &self.modules[module];
        let names = uses.names.iter().filter_map(|(name, (from, is_pub))| {
            let target = self.resolve(&self.absolute(module, from)?, 0)?;
            let is_named_again =
                *is_pub && target.starts_with(module) && !uses.words.contains(name);
            (!is_named_again).then_some(target)
        });
        let paths = uses.paths.iter().filter_map(|path| {
            let target = self.resolve(&self.absolute(module, path)?, 0)?;
            Some(target)
        });
        let all = names.chain(paths);
        all.filter(|used| used != module && used.len() > 1 && used[0] == module[0]).collect()
    }

    /// What breaks the rules, and the number of uses.
    fn wrong(&self) -> (Vec<String>, usize) {
        let (mut wrong, mut count) = (Vec::new(), 0);
        let name = |module: &Module| module.join("/");
        let mut edges: BTreeMap<&Module, BTreeSet<Module>> = BTreeMap::new();
        for module in self.modules.keys().filter(|module| module.len() > 1) {
            let used = self.used(module);
            count += used.len();
            for used in &used {
                let room = |module: &Module| self.rooms.iter().position(|room| *room == module[1]);
                let row = |module: &Module| self.row(module);
                if room(module).zip(room(used)).is_some_and(|(own, used)| used > own) {
                    wrong.push(format!("{} is in a room before {}", name(module), name(used)));
                }
                if row(module).zip(row(used)).is_some_and(|(own, used)| used > own) {
                    wrong.push(format!("{} is before {} in the map", name(module), name(used)));
                }
            }
            edges.insert(module, used);
        }
        // What uses nothing of the rest, or is not used by it, is in no circle.
        loop {
            let left: Vec<_> = edges.keys().copied().cloned().collect();
            let used: BTreeSet<_> = edges.values().flatten().cloned().collect();
            edges.retain(|module, uses| {
                uses.retain(|used| left.contains(used));
                !uses.is_empty() && used.contains(*module)
            });
            if edges.len() == left.len() {
                break;
            }
        }
        for (module, used) in edges {
            let used: Vec<_> = used.iter().map(name).collect();
            wrong.push(format!("in a circle: {} uses {}", name(module), used.join(", ")));
        }
        (wrong, count)
    }

    /// The row of the map that has a module, or what it is a part of.
    fn row(&self, module: &Module) -> Option<usize> {
        let map = self.maps.get(&module[0])?;
        let rows = map.iter().enumerate().rev();
        let of = rows.filter(|(_, names)| {
            names.iter().any(|name| {
                let named = self.resolve(&[module[0].clone(), name.clone()], 0);
                named.is_some_and(|named| named.len() > 1 && module.starts_with(&named))
            })
        });
        of.map(|(row, _)| row).next()
    }
}

/// The rooms of a format in the order of `CONTRIBUTING.md`.
fn rooms() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let rows = text.lines().skip_while(|line| *line != "| room | holds |").skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let rooms = rows.flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2));
    rooms.map(|room| room.trim_end_matches(".rs").trim_end_matches('/').to_owned()).collect()
}

#[test]
fn files_of_core_use_only_what_is_above_them() {
    let rooms = rooms();
    assert!(
        ["raw", "error", "verdict", "write"].iter().all(|room| rooms.iter().any(|own| own == room)),
        "{rooms:?}"
    );
    let files: Vec<_> = sources()
        .into_iter()
        .filter_map(|(place, text)| Some((place.strip_prefix("core/src/")?.to_owned(), text)))
        .filter(|(place, _)| place != "lib.rs")
        .collect();
    let house = House::of(&rooms, &files);
    assert!(house.maps.len() >= 6, "{:?}", house.maps.keys());
    for (format, rows) in &house.maps {
        for name in rows.iter().flatten().filter(|name| name.starts_with(char::is_lowercase)) {
            let named = house.resolve(&[format.clone(), name.clone()], 0).unwrap();
            assert!(named.len() > 1, "the map of {format} names {name}, which is no module");
        }
    }
    let (wrong, count) = house.wrong();
    assert!(wrong.is_empty() && count > 500, "{count} uses: {wrong:#?}");
}

/// What is wrong with files of these texts.
fn wrong(files: &[(&str, &str)]) -> Vec<String> {
    let rooms = ["raw", "disk", "write"].map(str::to_owned);
    let owned = |(place, text): &(&str, &str)| (format!("gsd/{place}.rs"), (*text).to_owned());
    let top = [(
        "mod",
        "//! In the order of reading\n//! | room | module |\n//! | | [`raw`], [`a`] |\n//! | write | [`b`] |\npub use write::b;",
    )];
    let files: Vec<_> = top.iter().chain(files).map(owned).collect();
    House::of(&rooms, &files).wrong().0
}

#[test]
fn a_circle_and_a_use_of_what_is_below_are_found() {
    let nothing: [String; 0] = [];
    let good = [
        ("raw", "pub struct A; // uses crate::gsd::write::b::B"),
        ("a", "use super::raw::A;\npub fn f(_: A) {}"),
        ("write", "mod b;\nmod c;\npub use b::B;"),
        ("write/b", "pub struct B(super::c::C);"),
        ("write/c", "use crate::gsd::a::f;\npub struct C;"),
    ];
    assert_eq!(wrong(&good), nothing);
    let with = |place: &str, text: &'static str| {
        wrong(&good.map(|(at, old)| (at, if at == place { text } else { old })))
    };
    // By an import, through what the room names again, and by a path in the text.
    for text in ["use super::b::B;", "use crate::gsd::write::{B};", "fn f(_: super::b::B) {}"] {
        assert_eq!(with("write/c", text).len(), 2, "{text}");
    }
    // A parent that uses a child which uses it; to name it again is no use.
    let parent =
        ["mod b;\npub use b::B;\npub struct A;", "mod b;\npub use b::B;\npub struct A(B);"];
    let child = ("write/b", "use super::A;\npub struct B;");
    let of = |parent| wrong(&[("write", parent), child]).len();
    assert_eq!(parent.map(of), [0, 2]);
    // Against the order of the rooms, and of the map.
    assert_eq!(
        with("raw", "use super::write::c::C;"),
        [
            "gsd/raw is in a room before gsd/write/c",
            "in a circle: gsd/a uses gsd/raw",
            "in a circle: gsd/raw uses gsd/write/c",
            "in a circle: gsd/write/c uses gsd/a"
        ]
    );
    let above =
        [("a", "use super::write::b::B;"), ("write", "pub mod b;"), ("write/b", "pub struct B;")];
    assert_eq!(wrong(&above), ["gsd/a is before gsd/write/b in the map"]);
}
