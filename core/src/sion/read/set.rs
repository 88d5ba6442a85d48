//! [`Reader`] reads a whole set of physical files.

use super::locate::Task;
use super::physical::Physical;
use super::tasks::values;
use crate::sion::disk::head::Head;
use crate::sion::disk::mapping::Mapping;
use crate::sion::disk::meta1::{KeyvalMode, Meta1};
use crate::sion::disk::meta2::entry;
use crate::sion::error::Error;
#[twin(ReadError = AsyncError)]
use crate::sion::error::ReadError;
use crate::sion::layout::ENTRY_LEN;
use crate::sion::raw;
use crate::span::{Span, Stride};
use crate::step::DriveError;
#[twin(read_exact)]
use crate::step::read_exact;
#[twin(ReadAt)]
use crate::store::ReadAt;
use crate::store::usize_to_u64;
use core::marker::PhantomData;
use striae_twin::twin;

/// Reads a whole set. `files` are its opened physical files in order, in any type that gives a
/// slice of them.
///
/// Tasks are numbered from 0 over (file, local rank).
#[derive(Debug, Clone, Copy)]
pub struct Reader<F, S> {
    files: F,
    ntasks: u64,
    store: PhantomData<fn() -> S>,
}

impl<S> Reader<[Physical<S>; 1], S> {
    /// Reads a set of one file, or one file of a set alone.
    #[must_use]
    pub fn alone(file: Physical<S>) -> Self {
        Self::of_parts([file])
    }
}

impl<F: AsRef<[Physical<S>]>, S> Reader<F, S> {
    /// Makes a set of these files, which must be in the order of their numbers. File 0 says how
    /// many there are, and [`Sibling`](crate::sion::filename::Sibling) how they are called.
    ///
    /// ```
    /// use striae_core::sion::filename::Sibling;
    /// use striae_core::sion::{Opened, Physical, Reader};
    ///
    /// # const FILES: [&[u8]; 2] = [
    /// #     include_bytes!("../../../doc/m06_np4_2files_lcomm.sion"),
    /// #     include_bytes!("../../../doc/m06_np4_2files_lcomm.sion.000001"),
    /// # ];
    /// # let store = |name: &str| match name {
    /// #     "log.sion" => Ok(FILES[0]),
    /// #     "log.sion.000001" => Ok(FILES[1]),
    /// #     _ => Err("no such file"),
    /// # };
    /// # type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
    /// let open = |number| -> Result<Physical<_>> {
    ///     let store = store(&format!("log.sion{}", Sibling(number)))?; // any `ReadAt`
    ///     match Physical::open(store, &mut [0; 2048])? {
    ///         Opened::Closed(file) => Ok(file),
    ///         Opened::Unclosed(_) => Err("the file was never closed".into()),
    ///     }
    /// };
    /// let mut files = vec![open(0)?];
    /// for number in 1..files[0].meta1().files_in_set() {
    ///     files.push(open(number)?);
    /// }
    /// let (set, mut window) = (Reader::of_set(files)?, [0; 2048]);
    /// let task = set.find_globalrank(3, &mut window)?.ok_or("there is no rank 3")?;
    /// let (file, task) = set.task(task, &mut window)?;
    /// let mut stream = file.stream(task);
    /// let mut bytes = vec![0; usize::try_from(stream.total()?)?];
    /// stream.read_all(&mut bytes)?;
    /// assert_eq!((bytes.len(), &bytes[..3]), (150, &[122, 129, 136][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::SetOf`] if their number is not the nfiles of file 0; [`Error::Differs`] if a file
    /// has another filenumber, or differs from file 0 in fileformat_version, nfiles or key-value
    /// mode.
    pub fn of_set(files: F) -> Result<Self, Error> {
        check_set(files.as_ref().iter().map(Physical::head))?;
        Ok(Self::of_parts(files))
    }

    /// Makes a set of these files without a check: they need not be a whole set.
    #[must_use]
    pub fn of_parts(files: F) -> Self {
        let ntasks = files.as_ref().iter().map(|file| u64::from(file.meta1().ntasks()));
        Self { ntasks: ntasks.fold(0, u64::saturating_add), files, store: PhantomData }
    }

    /// The physical files.
    #[must_use]
    pub fn files(&self) -> &[Physical<S>] {
        self.files.as_ref()
    }

    /// The number of tasks of the whole set.
    #[must_use]
    pub const fn ntasks(&self) -> u64 {
        self.ntasks
    }

    /// Whether streams are key-value records.
    #[must_use]
    pub fn keyval(&self) -> KeyvalMode {
        self.files().first().map_or(KeyvalMode::None, |file| file.meta1().keyval())
    }

    /// The address of task `task`: its physical file, the number of that file, and the local rank.
    ///
    /// # Errors
    /// [`Error::NoTask`] if there is no such task.
    pub fn address(&self, task: u64) -> Result<(&Physical<S>, u32, u32), Error> {
        let mut left = task;
        for (number, file) in (0..).zip(self.files()) {
            match left.checked_sub(file.meta1().ntasks().into()) {
                Some(rest) => left = rest,
                None => return Ok((file, number, u32::try_from(left).unwrap_or(u32::MAX))),
            }
        }
        Err(Error::NoTask { task, ntasks: self.ntasks })
    }

    /// The number of tasks in the files before file `number`.
    fn before(&self, number: usize) -> u64 {
        let files = self.files().iter().take(number);
        files.map(|file| u64::from(file.meta1().ntasks())).fold(0, u64::saturating_add)
    }

    /// The task that an entry of the mapping names: its number, its file, and the place of its
    /// globalrank.
    fn named(&self, mapping: &Mapping, entry_bytes: &[u8]) -> Option<(u64, &Physical<S>, Span)> {
        let (number, local) = mapping.address(entry_bytes)?;
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        let file = self.files().get(number)?;
        let place = entry(file.meta1().layout().globalranks(), local)?;
        Some((self.before(number).saturating_add(local.into()), file, place))
    }
}

#[twin(ReadAt, ReadError = AsyncError)]
impl<F: AsRef<[Physical<S>]>, S: ReadAt> Reader<F, S> {
    /// Finds task `task` and its physical file. `window` needs 8 bytes. The amount that is read
    /// grows with the number of tasks before `task`: to see all tasks, use [`Physical::tasks`] of
    /// each file.
    ///
    /// # Errors
    /// See [`Physical::task`].
    pub async fn task(
        &self,
        task: u64,
        window: &mut [u8],
    ) -> Result<(&Physical<S>, Task), ReadError<S>> {
        let (file, _, local) = self.address(task)?;
        Ok((file, file.task(local, window).await?))
    }

    /// The task with this globalrank: the one that the mapping names, or else the first one. `None`
    /// if there is none. `window` needs 8 bytes.
    ///
    /// # Errors
    /// The store's own error.
    pub async fn find_globalrank(
        &self,
        globalrank: i64,
        window: &mut [u8],
    ) -> Result<Option<u64>, ReadError<S>> {
        match self.mapped(globalrank).await? {
            Some(task) => Ok(Some(task)),
            None => self.search_globalrank(globalrank, 0, window).await,
        }
    }

    /// The first task from `from` on with this globalrank. `window` needs 8 bytes.
    ///
    /// # Errors
    /// The store's own error.
    pub async fn search_globalrank(
        &self,
        globalrank: i64,
        from: u64,
        window: &mut [u8],
    ) -> Result<Option<u64>, ReadError<S>> {
        let mut first = 0u64; // number of the file's first task
        for file in self.files() {
            let (store, table) = (&file.store, file.meta1().layout().globalranks());
            store.will_read(&[Stride::one(table)]).await;
            let mut left = table.skip(from.saturating_sub(first).saturating_mul(ENTRY_LEN));
            while !left.is_empty() {
                let bytes = left.front_of(window);
                let entries = usize_to_u64(bytes.len()) >> 3;
                if entries == 0 {
                    return Err(DriveError::BufferTooSmall { need: 8 });
                }
                read_exact(store, left.offset(), bytes).await?;
                let order = file.meta1().order();
                let index = values(bytes).iter().position(|rank| rank.get(order) == globalrank);
                if let Some(index) = index {
                    let skip = left.offset().saturating_sub(table.offset()) >> 3;
                    let local = skip.saturating_add(usize_to_u64(index));
                    return Ok(Some(first.saturating_add(local)));
                }
                left = left.skip(entries.saturating_mul(ENTRY_LEN));
            }
            first = first.saturating_add(file.meta1().ntasks().into());
        }
        Ok(None)
    }

    /// The task that the mapping names for a global rank, if the task's globalrank is the same
    /// number.
    ///
    /// # Errors
    /// The store's own error.
    pub async fn mapped(&self, globalrank: i64) -> Result<Option<u64>, ReadError<S>> {
        let Some(first) = self.files().first() else { return Ok(None) };
        let mapping = match first.mapping().await {
            Err(DriveError::Format(_)) => None, // it is damaged: then the tasks are searched
            mapping => mapping?,
        };
        let Some(mapping) = mapping else { return Ok(None) };
        let place = u64::try_from(globalrank).ok().and_then(|rank| mapping.entry(rank));
        let Some(place) = place else { return Ok(None) };
        let mut bytes = [0; Mapping::ENTRY_LEN];
        read_exact(&first.store, place.offset(), &mut bytes).await?;
        let Some((task, file, place)) = self.named(&mapping, &bytes) else { return Ok(None) };
        let mut bytes = [0; 8];
        read_exact(&file.store, place.offset(), &mut bytes).await?;
        Ok((file.head().integer_in(&bytes) == globalrank).then_some(task))
    }
}

/// Checks that physical files, in order, are one set.
///
/// # Errors
/// See [`Reader::of_set`].
pub fn check_set<'h>(heads: impl Iterator<Item = &'h Head> + Clone) -> Result<(), Error> {
    let given = u32::try_from(heads.clone().count()).unwrap_or(u32::MAX);
    let Some(first) = heads.clone().next() else {
        return Err(Error::SetOf { given: 0, nfiles: 1 });
    };
    let nfiles = first.meta1.files_in_set();
    if given != nfiles {
        return Err(Error::SetOf { given, nfiles });
    }
    for (file, head) in (0..).zip(heads) {
        if let Some(error) = differences(&first.meta1, file, &head.meta1).next() {
            return Err(error);
        }
    }
    Ok(())
}

/// The fields by which the file with `meta1` cannot be file `file` of the set whose file 0 has
/// `first`: an [`Error::Differs`] for each.
pub fn differences(first: &Meta1, file: u32, meta1: &Meta1) -> impl Iterator<Item = Error> {
    let is_serial = first.nfiles() == 1; // SIONlib writes 1 then
    // Nothing else of the flags has an effect.
    let flags = if first.is_keyval() == meta1.is_keyval() { meta1 } else { first }.flags();
    [
        (
            raw::Ident::fileformat_version,
            meta1.fileformat_version().number().into(),
            first.fileformat_version().number().into(),
        ),
        (raw::Meta1::nfiles, meta1.nfiles().into(), first.nfiles().into()),
        (
            raw::Meta1::filenumber,
            meta1.filenumber().filter(|_| !is_serial).unwrap_or(file).into(),
            file.into(),
        ),
        (raw::Meta1::flag1, meta1.flags().0, flags.0),
    ]
    .into_iter()
    .filter(|(_, value, expected)| value != expected)
    .map(move |(field, value, expected): (_, i64, i64)| Error::Differs {
        field,
        file,
        value,
        expected,
    })
}

/// The identity of a set whose files have these, in order; `None` for a file without a sound seal,
/// which says nothing, and 0 for a seal without one. It is that of more than half of the sealed
/// files, or else that of the first of them. A sealed file with another one is of another set.
#[must_use]
pub fn identity_of(files: impl Iterator<Item = Option<u32>> + Clone) -> Option<u32> {
    let sealed = files.flatten();
    // The vote of Boyer and Moore: if one has more than half, it is left.
    let (mut left, mut votes) = (None, 0_usize);
    for identity in sealed.clone() {
        match left {
            Some(it) if it == identity => votes = votes.saturating_add(1),
            _ if votes > 0 => votes = votes.saturating_sub(1),
            _ => (left, votes) = (Some(identity), 1),
        }
    }
    let is_left = |identity: &u32| Some(*identity) == left;
    let (own, all) = (sealed.clone().filter(is_left).count(), sealed.clone().count());
    if own > all.saturating_sub(own) { left } else { sealed.clone().next() }
}

/// The newest of these numbers of [commits of the whole set], one for each file, if not all files
/// that have one have the same. 0 is that of a file that was committed by itself, or has no sound
/// seal: it is compared with no others, whichever file it is.
///
/// [commits of the whole set]: crate::sion::Varheader::set_number
#[must_use]
pub fn newest_apart(numbers: impl Iterator<Item = u32> + Clone) -> Option<u32> {
    let numbers = numbers.filter(|number| *number > 0);
    let newest = numbers.clone().max()?;
    numbers.min().filter(|oldest| *oldest < newest).map(|_| newest)
}
