//! What a program has registered, by the number of its API.

use libc::{c_char, c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};
use striae_c::sion::parts::Failure;

/// What a program does with gathered data, of the callbacks that are never called.
pub type Process = Option<unsafe extern "C" fn(*const c_void, *mut i64, c_int) -> c_int>;

type CreateGroup = unsafe extern "C" fn(
    *mut *mut c_void,
    *mut c_void,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
) -> c_int;
type OfGroup = unsafe extern "C" fn(*mut c_void) -> c_int;
type Broadcast = unsafe extern "C" fn(*mut c_void, *mut c_void, c_int, c_int, c_int) -> c_int;
type Equal =
    unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void, c_int, c_int, c_int) -> c_int;
type Varying = unsafe extern "C" fn(
    *mut c_void,
    *mut c_void,
    *mut c_void,
    c_int,
    *mut c_int,
    c_int,
    c_int,
) -> c_int;
type Name = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_char;
type Coalesced = unsafe extern "C" fn(
    *const c_void,
    *mut i64,
    c_int,
    i64,
    *mut c_void,
    c_int,
    c_int,
    c_int,
    c_int,
    Process,
) -> c_int;

/// The callbacks of an API.
#[derive(Debug, Clone, Copy, Default)]
pub struct Callbacks {
    /// Makes the group of the processes of a file.
    pub create_group: Option<CreateGroup>,
    /// Gives it back.
    pub free_group: Option<OfGroup>,
    /// Waits for all processes.
    pub barrier: Option<OfGroup>,
    /// Copies values of one process to all.
    pub bcast: Option<Broadcast>,
    /// Brings as many values of each process to one.
    pub gather: Option<Equal>,
    /// Brings values of each process to one.
    pub gatherv: Option<Varying>,
    /// Brings as many values of one process to each.
    pub scatter: Option<Equal>,
    /// Brings values of one process to each; is not needed.
    pub scatterv: Option<Varying>,
    /// The name of a physical file.
    pub name: Option<Name>,
    /// Is not needed.
    pub gather_and_execute: Option<Coalesced>,
    /// Is not needed.
    pub execute_and_scatter: Option<Coalesced>,
    /// Is not needed.
    pub capability: Option<OfGroup>,
}

/// The APIs that are not freed; an index is the number of an API.
static APIS: Mutex<Vec<Option<Callbacks>>> = Mutex::new(Vec::new());

fn lock() -> MutexGuard<'static, Vec<Option<Callbacks>>> {
    APIS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unknown(aid: c_int) -> Failure {
    format!("aid {aid} is no API").into()
}

/// Makes an API without callbacks.
pub(super) fn create() -> Result<c_int, Failure> {
    let mut apis = lock();
    let free = apis.iter().position(Option::is_none).unwrap_or(apis.len());
    match apis.get_mut(free) {
        Some(place) => *place = Some(Callbacks::default()),
        None => apis.push(Some(Callbacks::default())),
    }
    Ok(c_int::try_from(free)?)
}

/// Forgets an API. Sets that it has opened keep it.
pub(super) fn free(aid: c_int) -> Result<(), Failure> {
    let mut apis = lock();
    let place = usize::try_from(aid).ok().and_then(|aid| apis.get_mut(aid));
    place.and_then(Option::take).map(drop).ok_or_else(|| unknown(aid))
}

/// The callbacks of an API.
pub(super) fn get(aid: c_int) -> Result<Callbacks, Failure> {
    let apis = lock();
    let found = usize::try_from(aid).ok().and_then(|aid| *apis.get(aid)?);
    found.ok_or_else(|| unknown(aid))
}

/// Registers a callback, which the API must not have yet.
pub(super) fn register<T>(
    aid: c_int,
    callback: Option<T>,
    place: impl FnOnce(&mut Callbacks) -> &mut Option<T>,
) -> Result<(), Failure> {
    let mut apis = lock();
    let found = usize::try_from(aid).ok().and_then(|aid| apis.get_mut(aid)?.as_mut());
    let place = place(found.ok_or_else(|| unknown(aid))?);
    if place.is_some() {
        return Err("the API has this callback already".into());
    }
    *place = Some(callback.ok_or("the callback is a null pointer")?);
    Ok(())
}
