//! Sets of blob files.

use crate::cdf::{name_and_shape, of_attribute, of_dim};
use crate::file::{Named, Store, Wrong};
use crate::format::{Set, subfile};
use crate::json::{Json, list, row};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use striae_core::store::usize_to_u64;
use striae_inspect::blob::subfile::Head;
use striae_inspect::blob::{Container, Flaw, Jury, Sealed, Subfile, Verdict};
use striae_inspect::cdf::Header;

/// What the subfiles that are here have together.
struct Judged<'a, S> {
    set: Set<'a, S>,
    verdict: Verdict,
    numrecs: u64,
    /// The header of the canonical file.
    header: Header,
    /// Subfiles that cannot be read, or do not belong to the set.
    lost: Vec<String>,
}

/// Checks that the name of a file says which subfile of a set it is.
pub(crate) fn must_have_number<S: Store>(file: &Named<S>) -> Result<(), Wrong> {
    if subfile(&file.name).is_some() {
        return Ok(());
    }
    Head::read(&file.store).map_err(Wrong::of(&file.name))?;
    let what = "is a subfile, but its name does not end in its number, as .0000: rename it";
    Err(Wrong::new(&file.name, what))
}

fn open<'a, S: Store>(all: &'a [Named<S>], first: &'a Named<S>) -> Result<Judged<'a, S>, Wrong> {
    must_have_number(first)?;
    let set = Set::blob(all, first);
    let files = set.files();
    let (mut jury, mut lost) = (Jury::default(), Vec::new());
    for (number, file) in files {
        match jury.hear(*number, &file.store) {
            Ok(()) => {}
            Err(error) => lost.push(Wrong::of(&file.name)(error)),
        }
    }
    let Some(verdict) = jury.judge() else {
        let no_subfile = || Wrong::new(set.base(), "no subfile of the set can be read");
        return Err(lost.into_iter().next().unwrap_or_else(no_subfile));
    };
    let mut lost: Vec<String> = lost.iter().map(ToString::to_string).collect();
    let stranger = |(number, flaw): &(u32, Flaw)| Wrong::new(&set.name(*number), flaw).to_string();
    lost.extend(verdict.strangers.iter().map(stranger));
    let numrecs = files.iter().filter(|(number, _)| verdict.members.contains(number));
    let numrecs = numrecs.filter_map(|(_, file)| records_of(&file.store)).next().unwrap_or(0);
    let header = verdict.head.definition().header(numrecs);
    let header = header.map_err(|error| Wrong::new(set.base(), Flaw::Cdf(error)))?;
    Ok(Judged { set, verdict, numrecs, header, lost })
}

/// The number of records by the header of a subfile, or else by its tables, if they are sound.
fn records_of<S: Store>(store: &S) -> Option<u64> {
    let head = Head::read(store).ok()?;
    let examined = || Subfile::examine(store, &head, &mut Err).ok();
    head.grammar.numrecs.or_else(|| Some(examined()?.numrecs))
}

impl<S: Store> Judged<'_, S> {
    fn container(&self) -> Container {
        self.verdict.head.container()
    }

    /// The decomposition of a variable, from 1.
    fn decomposition(&self, name: &str) -> Option<usize> {
        let canonical = &self.verdict.head.grammar.canonical;
        let variable = canonical.variables.iter().find(|one| &*one.name == name)?;
        variable.decomposition?.checked_add(1)
    }

    /// Whether the subfile has a seal.
    fn is_sealed(&self, file: &Named<S>) -> bool {
        let Ok(head) = Head::read(&file.store) else { return false };
        matches!(Sealed::read(&file.store, &head, self.numrecs), Ok(Some(_)))
    }

    fn remark(&self) -> Option<Json> {
        (!self.lost.is_empty()).then(|| self.lost.join("; ").into())
    }
}

pub(crate) fn info<S: Store>(all: &[Named<S>], first: &Named<S>) -> Result<Json, Wrong> {
    let judged = open(all, first)?;
    let (header, canonical) = (&judged.header, &judged.verdict.head.grammar.canonical);
    let own = judged.set.files().iter();
    let own: Vec<_> = own.filter(|(number, _)| u64::from(*number) < canonical.nsubfiles).collect();
    let decomposed = header.variables().filter(|one| judged.decomposition(one.name()).is_some());
    let data = header.variables().map(|one| one.len()).fold(0, u64::saturating_add);
    Ok(row()
        .with("path", first.name.as_str())
        .with("format", "blob")
        .with("container", judged.container().name())
        .with("numrecs", header.numrecs())
        .with("nprocs", canonical.nprocs)
        .with("subfiles", canonical.nsubfiles)
        .with("missing", canonical.nsubfiles.saturating_sub(usize_to_u64(own.len())))
        .with("sealed", own.iter().filter(|(_, file)| judged.is_sealed(file)).count())
        .with("decompositions", canonical.decompositions.len())
        .with("dims", header.head().ndims)
        .with("attributes", header.head().ngatts)
        .with("variables", header.head().nvars)
        .with("decomposed_variables", decomposed.count())
        .with("data_bytes", data)
        .with_some("remark", judged.remark()))
}

pub(crate) fn ls<S: Store>(
    all: &[Named<S>],
    first: &Named<S>,
    (from, count): (u64, u64),
) -> Result<Json, Wrong> {
    let judged = open(all, first)?;
    let (header, canonical) = (&judged.header, &judged.verdict.head.grammar.canonical);
    let skip = usize::try_from(from).unwrap_or(usize::MAX);
    let take = usize::try_from(count).unwrap_or(usize::MAX);
    let variables = header
        .variables()
        .skip(skip)
        .take(take)
        .map(|one| name_and_shape(one).with("decomposition", judged.decomposition(one.name())));
    let dims = |dimids: &[u64]| {
        let dims = dimids.iter().filter_map(|&dimid| header.dim(dimid)).map(|dim| dim.name);
        dims.collect::<Vec<_>>()
    };
    let decompositions = (1_u64..).zip(&canonical.decompositions).map(|(id, one)| {
        row().with("id", id).with("dims", dims(&one.dims)).with("nelems", one.total)
    });
    let subfiles = judged.set.files().iter().map(|(_, file)| {
        let container = (canonical, judged.container());
        let subfile = Subfile::open(&file.store, container.0, container.1).ok();
        row()
            .with("path", file.name.as_str())
            .with("nblobs", subfile.as_ref().map(|subfile| subfile.nblobs))
            .with("bytes", subfile.as_ref().map(|subfile| subfile.file_len))
    });
    Ok(row()
        .with("path", first.name.as_str())
        .with("format", "blob")
        .with("container", judged.container().name())
        .with("numrecs", header.numrecs())
        .with("nprocs", canonical.nprocs)
        .with("dims", list(header.dims().map(of_dim)))
        .with("attributes", list(header.attributes().map(of_attribute)))
        .with("variables", list(variables))
        .with("decompositions", list(decompositions))
        .with("subfiles", list(subfiles))
        .with_some("remark", judged.remark()))
}
