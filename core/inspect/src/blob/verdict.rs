//! [`Verdict`]: whose header a set goes by, and which subfiles do not belong to it.
//!
//! What all subfiles have is judged over all of them: no subfile is right because of its number.
//! Every reader of a set goes by the same [`Jury`].

use super::flaw::Flaw;
use super::fnv::Fnv;
pub use super::sealed::TRIES;
use super::sealed::{Sealable, find, read_again};
use super::subfile::Head;
use crate::subject::{Failed, Subject, Sum, read};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::cmp::Reverse;
use striae_core::blob::seal::{COPIES, Duplicate};
use striae_core::blob::{Seal, Tie};
use striae_core::store::usize_to_u64;

/// What a seal says of the header of its subfile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Proof {
    /// It is wrong.
    Disproved,
    /// Nothing: there is no seal, or it is damaged.
    None,
    /// It is as sealed.
    Proved,
}

/// A header that one or more subfiles have.
#[derive(Debug)]
struct Candidate {
    /// The first subfile with it, if possible one whose seal proves it.
    number: u32,
    head: Head,
    proof: Proof,
    /// The number of the first candidate with which this one can make a set.
    class: usize,
    /// The [`fingerprint`] of the header, once another one may be the same.
    fingerprint: Option<u64>,
    /// How many subfiles have it, and for how many of them a seal proves it.
    votes: Votes,
}

/// The more, the better: those that a seal proves, then all that no seal disproves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Votes {
    proved: u64,
    credible: u64,
}

impl Votes {
    const fn add(&mut self, proof: Proof) {
        match proof {
            Proof::Disproved => {}
            Proof::None => self.credible = self.credible.saturating_add(1),
            Proof::Proved => {
                self.credible = self.credible.saturating_add(1);
                self.proved = self.proved.saturating_add(1);
            }
        }
    }

    const fn join(self, other: Self) -> Self {
        Self {
            proved: self.proved.saturating_add(other.proved),
            credible: self.credible.saturating_add(other.credible),
        }
    }
}

/// What a copy of a seal ties its subfile to, with the number of records that it is of.
type Bond = (u64, Tie);

/// A subfile whose header was read.
#[derive(Debug)]
struct Heard {
    number: u32,
    /// Blobs, as its header says.
    nblobs: u64,
    candidate: usize,
    proof: Proof,
    /// What the copies of its seal say that it belongs to, each with a number of records.
    ties: Vec<Bond>,
    seal: SealState,
}

/// Whether a subfile has a seal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SealState {
    None,
    Damaged,
    Whole,
}

/// Hears all subfiles of a set, then [judges](Self::judge) them together.
#[derive(Debug, Default)]
pub struct Jury {
    candidates: Vec<Candidate>,
    heard: Vec<Heard>,
}

/// Whose header a set goes by, and which subfiles do not belong to it.
#[derive(Debug)]
pub struct Verdict {
    /// The number of the subfile whose header counts.
    pub number: u32,
    /// Its header.
    pub head: Head,
    /// The subfiles that belong to the set, in the order in which they count. Those whose header is
    /// not as sealed come last.
    pub members: Vec<u32>,
    /// The subfiles that do not belong to it, and why. Without those after its last one, if the
    /// others have a blob of each process: an earlier set of more subfiles left them.
    pub strangers: Vec<(u32, Flaw)>,
    /// The members without a seal, if others have one: all writers seal all subfiles or none.
    pub unsealed: Vec<u32>,
    /// The members that their seals tie to the set: a copy of each has the number of records that
    /// the set has.
    pub tied: Vec<u32>,
}

impl Verdict {
    /// Why a subfile does not belong to the set.
    #[must_use]
    pub fn flaw(&self, number: u32) -> Option<&Flaw> {
        self.strangers.iter().find(|(stranger, _)| *stranger == number).map(|(_, flaw)| flaw)
    }

    /// The strangers, if another process that appends may be why one seems not to belong to the
    /// set.
    fn live(&self) -> Option<&[(u32, Flaw)]> {
        let may_be_live = self.strangers.iter().any(|(_, flaw)| {
            matches!(flaw, Flaw::Older { .. } | Flaw::OtherSet { what: IDENTITIES })
        });
        may_be_live.then_some(&self.strangers)
    }
}

/// What differs in sealed subfiles of different sets.
const IDENTITIES: &str = "sealed identities";

impl Jury {
    /// Hears a subfile. The number is that of its name.
    ///
    /// # Errors
    /// [`Flaw`] if it has no header of a subfile; an error of the store.
    pub fn hear<S: Subject>(&mut self, number: u32, store: &S) -> Result<(), Failed<S, Flaw>> {
        let like = self.candidates.first().map(|known| &known.head.header);
        let head = match like {
            Some(like) => Head::read_like(store, like)?,
            None => Head::read(store)?,
        };
        let (proof, ties, seal) = testimony(store, &head, number)?;
        let nblobs = head.grammar.nblobs;
        let candidate = self.candidate(number, head, proof);
        self.heard.push(Heard { number, nblobs, candidate, proof, ties, seal });
        Ok(())
    }

    /// The place of the candidate with this header, which has one vote more.
    fn candidate(&mut self, number: u32, head: Head, proof: Proof) -> usize {
        let (mut class, mut place, mut own) = (self.candidates.len(), None, None);
        for (index, known) in self.candidates.iter_mut().enumerate() {
            let of_set = (&known.head.grammar.canonical, known.head.container());
            if head.differs(of_set.0, of_set.1).is_none() {
                class = class.min(known.class);
                let of_known = *known.fingerprint.get_or_insert_with(|| fingerprint(&known.head));
                if *own.get_or_insert_with(|| fingerprint(&head)) == of_known {
                    place = Some(index);
                    break;
                }
            }
        }
        let place = place.unwrap_or(self.candidates.len());
        match self.candidates.get_mut(place) {
            Some(known) => {
                if proof > known.proof {
                    (known.number, known.head, known.proof) = (number, head, proof);
                }
                known.votes.add(proof);
            }
            None => {
                let mut votes = Votes::default();
                votes.add(proof);
                let fingerprint = own;
                self.candidates.push(Candidate { number, head, proof, class, fingerprint, votes });
            }
        }
        place
    }

    /// Judges what was heard; `None` if no subfile was.
    ///
    /// The header is that of most of the subfiles whose seals prove it; if no seal proves one, of
    /// most subfiles. Of two that have as many votes, it is the one that claims fewer elements: a
    /// claim that is too large costs more.
    #[must_use]
    pub fn judge(mut self) -> Option<Verdict> {
        let of_class = |class: usize| {
            let own = self.candidates.iter().filter(|one| one.class == class);
            own.fold(Votes::default(), |votes, one| votes.join(one.votes))
        };
        let rank = |one: &Candidate| {
            let elements = elements(&one.head);
            (of_class(one.class), Reverse(elements), Reverse(one.class), one.votes)
        };
        let all = self.candidates.iter().enumerate();
        let best = all.max_by_key(|(index, one)| (rank(one), Reverse(*index)));
        let best = best.map(|(index, _)| index)?;
        let Candidate { number, head, class, .. } = self.candidates.swap_remove(best);
        let classes: Vec<_> = self.candidates.iter().map(|one| one.class).collect();
        let canonical = &head.grammar.canonical;
        let (mut strangers, mut extra, mut members) = (Vec::new(), Vec::new(), Vec::new());
        let last = classes.len(); // which took the place of the best one
        for heard in self.heard {
            let other = match heard.candidate {
                place if place == best => None,
                place if place == last => self.candidates.get(best),
                place => self.candidates.get(place),
            };
            let other = other.filter(|other| other.class != class);
            let differs = other.and_then(|other| other.head.differs(canonical, head.container()));
            if u64::from(heard.number) >= canonical.nsubfiles {
                let what = differs.unwrap_or("numbers of subfiles");
                extra.push((heard.number, Flaw::OtherSet { what }));
            } else if let Some(what) = differs {
                strangers.push((heard.number, Flaw::OtherSet { what }));
            } else {
                members.push(heard);
            }
        }
        tied(&mut members, canonical.nsubfiles, &mut strangers);
        let nblobs = members.iter().fold(0_u64, |sum, heard| sum.saturating_add(heard.nblobs));
        let is_whole = usize_to_u64(members.len()) == canonical.nsubfiles;
        if !is_whole || nblobs != canonical.nprocs {
            strangers.append(&mut extra); // they may have what the others lack
        }
        members.sort_by_key(|heard| (heard.proof == Proof::Disproved, heard.number));
        let is_sealed = members.iter().any(|heard| heard.seal == SealState::Whole);
        let unsealed = members.iter().filter(|one| is_sealed && one.seal == SealState::None);
        let unsealed = unsealed.map(|heard| heard.number).collect();
        let tied = members.iter().filter(|one| !one.ties.is_empty());
        let tied = tied.map(|heard| heard.number).collect();
        let members = members.into_iter().map(|heard| heard.number).collect();
        Some(Verdict { number, head, members, strangers, unsealed, tied })
    }

    /// Judges a set to which another process may append meanwhile: `hear` hears all subfiles, and
    /// does so again until nothing seems wrong because of that, or is wrong twice.
    ///
    /// # Errors
    /// The errors of `hear`.
    pub fn settled<E>(
        mut hear: impl FnMut(&mut Self) -> Result<(), E>,
    ) -> Result<Option<Verdict>, E> {
        let read = || {
            let mut jury = Self::default();
            hear(&mut jury)?;
            Ok(jury.judge())
        };
        let is_same = |one: &Option<Verdict>, other: &Option<Verdict>| {
            one.as_ref().and_then(Verdict::live) == other.as_ref().and_then(Verdict::live)
        };
        read_again(|one| one.as_ref().and_then(Verdict::live).is_none(), is_same, read)
    }
}

/// What is sound, or is read twice in the same way: another process may append meanwhile. After
/// some tries, what was read last.
///
/// # Errors
/// The errors of `read`.
pub fn steady<T: PartialEq, E>(
    is_sound: impl Fn(&T) -> bool,
    read: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    read_again(is_sound, T::eq, read)
}

/// Moves the subfiles to the strangers whose seals tie them to another place or set.
fn tied(members: &mut Vec<Heard>, nsubfiles: u64, strangers: &mut Vec<(u32, Flaw)>) {
    let mut leave = |members: &mut Vec<Heard>, flaw: &dyn Fn(&Heard) -> Option<Flaw>| {
        members.retain(|heard| {
            let flaw = flaw(heard);
            strangers.extend(flaw.clone().map(|flaw| (heard.number, flaw)));
            flaw.is_none()
        });
    };
    leave(members, &|heard| {
        let tie = heard
            .ties
            .iter()
            .map(|(_, tie)| tie)
            .find(|tie| tie.number != heard.number || u64::from(tie.nsubfiles) != nsubfiles)?;
        Some(Flaw::OtherPlace { number: tie.number, nsubfiles: tie.nsubfiles })
    });
    // While a writer counts records, all subfiles still have the copy of the old number of records;
    // when it replaces these, all have one of the new number.
    let Some((numrecs, set)) = most(members) else { return };
    leave(members, &|heard| {
        let own = heard.ties.iter().map(|(numrecs, _)| *numrecs).max()?;
        let is_one = heard.ties.iter().any(|(own, tie)| (*own, tie.set) == (numrecs, set));
        match numrecs.checked_sub(own).filter(|&by| by > 0) {
            _ if is_one => None,
            Some(by) => Some(Flaw::Older { by }),
            None => Some(Flaw::OtherSet { what: IDENTITIES }),
        }
    });
}

/// The number of records and the identity that most seals have; of several, that of most records,
/// then that of the first subfile.
fn most(members: &[Heard]) -> Option<(u64, [u8; 16])> {
    let mut votes: BTreeMap<(u64, [u8; 16]), (u64, u32)> = BTreeMap::new();
    for heard in members {
        let own: BTreeSet<_> =
            heard.ties.iter().map(|(numrecs, tie)| (*numrecs, tie.set)).collect();
        for key in own {
            let (count, _) = votes.entry(key).or_insert((0, heard.number));
            *count = count.saturating_add(1);
        }
    }
    let votes = votes.into_iter();
    votes
        .max_by_key(|((numrecs, _), (count, first))| (*count, *numrecs, Reverse(*first)))
        .map(|(key, _)| key)
}

/// The elements of all decompositions, as a header claims them.
fn elements(head: &Head) -> u64 {
    let all = head.grammar.canonical.decompositions.iter();
    all.fold(0, |sum, one| sum.saturating_add(one.total))
}

/// What the seal of a subfile says of its header, what it belongs to, and whether there is one.
fn testimony<S: Subject>(
    store: &S,
    head: &Head,
    number: u32,
) -> Result<(Proof, Vec<Bond>, SealState), Failed<S, Flaw>> {
    let checksum = store.checksum(Sum::Crc32c);
    let found = find(store, head)?;
    let seal = match found.copies {
        copies if copies.iter().any(|copy| matches!(copy, Duplicate::Whole(_))) => SealState::Whole,
        copies if copies == [Duplicate::None; COPIES] => SealState::None,
        _ => SealState::Damaged,
    };
    let (mut proof, mut ties) = (Proof::None, Vec::new());
    if seal != SealState::Whole {
        return Ok((proof, ties, seal)); // nothing to compare the header with
    }
    let Some(facts) = head.facts(0, checksum) else { return Ok((proof, ties, seal)) };
    for copy in found.copies {
        let Duplicate::Whole(seal) = copy else { continue };
        let own = seal.facts();
        let is_right = (own.header_len, own.header_crc) == (facts.header_len, facts.header_crc);
        proof = match (is_right, proof) {
            (true, _) => Proof::Proved,
            (false, Proof::None) => Proof::Disproved,
            (false, known) => known,
        };
        let tie = match own.tie {
            Some(tie) => Some(tie),
            None => shared(store, head, (&seal, number))?,
        };
        ties.extend(tie.map(|tie| (own.numrecs, tie)));
    }
    Ok((proof, ties, seal))
}

/// A tie for a seal of version 1, which has none. It is made of the checksums of the variables that
/// are not decomposed, for each subfile of a set has the same values of them. `None` if the set has
/// no such variable.
fn shared<S: Subject>(
    store: &S,
    head: &Head,
    (seal, number): (&Seal, u32),
) -> Result<Option<Tie>, Failed<S, Flaw>> {
    let set = &head.grammar.canonical;
    let mut hash = Fnv::new(set.nprocs);
    let mut is_any = false;
    for (index, _) in (0..).zip(&set.variables).filter(|(_, one)| one.decomposition.is_none()) {
        let place = Sealable::Values(index).number(set).and_then(|own| seal.entry(own, 0));
        if let Some(place) = place {
            let mut entry = [0; 4];
            read(store, place.offset(), &mut entry)?;
            hash.add(&entry);
            is_any = true;
        }
    }
    let nsubfiles = u32::try_from(set.nsubfiles).ok().filter(|_| is_any);
    let set = u128::from(hash.0).to_be_bytes();
    Ok(nsubfiles.map(|nsubfiles| Tie { set, number, nsubfiles }))
}

/// A number that differs for most headers that differ in what [`Head::differs`] does not compare:
/// the number of processes, and attributes.
fn fingerprint(head: &Head) -> u64 {
    let definition = head.definition();
    let mut hash = Fnv::new(head.grammar.canonical.nprocs);
    for list in definition.lists() {
        hash.add(&usize_to_u64(list.len()).to_be_bytes());
        for attribute in list {
            let name = attribute.name_bytes();
            hash.add(&usize_to_u64(name.len()).to_be_bytes());
            hash.add(name);
            hash.add(attribute.nc_type().name().as_bytes());
            hash.add(&attribute.count().to_be_bytes());
            hash.add(attribute.bytes());
        }
    }
    hash.0
}
