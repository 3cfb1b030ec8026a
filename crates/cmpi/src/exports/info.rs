//! Info objects (MPI 5.0, chapter 10): pairs of texts in the order in which they were set.
//!
//! No call heeds them.

#![expect(non_snake_case, reason = "the names of the standard")]

use std::ffi::{c_char, c_int};

use super::memory;
use crate::bridge::with_state;
use crate::errors::CallError;
use crate::state::properties::{Info, PropertyOwner};
use crate::state::{Handle, MpiState};

/// `MPI_INFO_NULL`.
pub(super) const INFO_NULL: Handle = 0x130;

/// `MPI_INFO_ENV`.
pub(super) const INFO_ENV: Handle = 0x131;

impl MpiState {
    pub(super) fn info(&mut self, info: Handle) -> Result<&mut Info, CallError> {
        if info == INFO_ENV {
            let (ranks, host) = (self.world.size().to_string(), self.world.host_name());
            let pairs = [
                ("maxprocs", ranks),
                ("host", host),
                ("thread_level", "MPI_THREAD_FUNNELED".to_owned()),
            ];
            let pairs = pairs.map(|(key, value)| (key.to_owned(), value));
            return Ok(self.infos.environment.insert(pairs.to_vec()));
        }
        self.infos
            .made
            .get_mut(info)
            .ok_or_else(|| CallError::new("MPI_ERR_INFO", format!("invalid info object {info:#x}")))
    }
}

/// Returns a value.
fn info_value(info: Handle, key: *const c_char) -> Result<Option<String>, CallError> {
    let key = memory::text(key);
    with_state(|state| {
        let pair = state.info(info)?.iter().find(|pair| pair.0 == key);
        Ok(pair.map(|pair| pair.1.clone()))
    })
}

/// Adds hints to the hints of an object.
fn set_hints(owner: PropertyOwner, object: Handle, info: Handle) -> Result<(), CallError> {
    owner.check(object)?;
    with_state(|state| state.set_hints(object, info))
}

/// Makes an info object of the hints of an object.
fn hints(owner: PropertyOwner, object: Handle, info: *mut Handle) -> Result<(), CallError> {
    owner.check(object)?;
    let found = with_state(|state| {
        let hints = state.infos.hints.get(&object).cloned().unwrap_or_default();
        state.infos.made.insert(hints)
    });
    memory::store(info, found);
    Ok(())
}

exports! {
    fn MPI_Comm_set_info(comm: Handle, info: Handle) {
        set_hints(PropertyOwner::Comm, comm, info)
    }

    fn MPI_Comm_get_info(comm: Handle, info: *mut Handle) {
        hints(PropertyOwner::Comm, comm, info)
    }

    fn MPI_Win_set_info(window: Handle, info: Handle) {
        set_hints(PropertyOwner::Window, window, info)
    }

    fn MPI_Win_get_info(window: Handle, info: *mut Handle) {
        hints(PropertyOwner::Window, window, info)
    }

    fn MPI_Session_get_info(session: Handle, info: *mut Handle) {
        hints(PropertyOwner::Session, session, info)
    }

    fn MPI_Info_create(info: *mut Handle) {
        let handle = with_state(|state| state.infos.made.insert(Info::new()));
        memory::store(info, handle);
        Ok(())
    }

    fn MPI_Info_create_env(_argc: c_int, _argv: usize, info: *mut Handle) {
        let handle = with_state(|state| {
            let environment = state.info(INFO_ENV)?.clone();
            Ok::<_, CallError>(state.infos.made.insert(environment))
        })?;
        memory::store(info, handle);
        Ok(())
    }

    fn MPI_Info_set(info: Handle, key: *const c_char, value: *const c_char) {
        let (key, value) = (memory::text(key), memory::text(value));
        with_state(|state| {
            let pairs = state.info(info)?;
            match pairs.iter_mut().find(|pair| pair.0 == key) {
                Some(pair) => pair.1 = value,
                None => pairs.push((key, value)),
            }
            Ok(())
        })
    }

    fn MPI_Info_get(info: Handle, key: *const c_char, length: c_int, text: *mut c_char, flag: *mut c_int) {
        let found = info_value(info, key)?;
        memory::store(flag, c_int::from(found.is_some()));
        if let Some(found) = found {
            // Without the 0 behind.
            let longest = usize::try_from(length).unwrap_or(0) + 1;
            memory::store_text(text, std::ptr::null_mut(), &found, longest);
        }
        Ok(())
    }

    fn MPI_Info_get_string(info: Handle, key: *const c_char, length: *mut c_int, text: *mut c_char, flag: *mut c_int) {
        let found = info_value(info, key)?;
        memory::store(flag, c_int::from(found.is_some()));
        if let Some(found) = found {
            let room = usize::try_from(memory::load(length, "buflen")?).unwrap_or(0);
            if room > 0 {
                memory::store_text(text, std::ptr::null_mut(), &found, room);
            }
            memory::store(length, c_int::try_from(found.len() + 1).unwrap_or(c_int::MAX));
        }
        Ok(())
    }

    fn MPI_Info_get_valuelen(info: Handle, key: *const c_char, length: *mut c_int, flag: *mut c_int) {
        let found = info_value(info, key)?;
        memory::store(flag, c_int::from(found.is_some()));
        if let Some(found) = found {
            memory::store(length, c_int::try_from(found.len()).unwrap_or(c_int::MAX));
        }
        Ok(())
    }

    fn MPI_Info_get_nkeys(info: Handle, count: *mut c_int) {
        let found = with_state(|state| Ok::<_, CallError>(state.info(info)?.len()))?;
        memory::store(count, c_int::try_from(found).unwrap_or(c_int::MAX));
        Ok(())
    }

    fn MPI_Info_get_nthkey(info: Handle, number: c_int, key: *mut c_char) {
        let found = with_state(|state| {
            let pairs = state.info(info)?;
            let pair = usize::try_from(number).ok().and_then(|number| pairs.get(number));
            pair.map(|pair| pair.0.clone()).ok_or_else(|| {
                let text = format!("invalid number {number} of a key: there are {}", pairs.len());
                CallError::new("MPI_ERR_ARG", text)
            })
        })?;
        // MPI_MAX_INFO_KEY.
        memory::store_text(key, std::ptr::null_mut(), &found, 256);
        Ok(())
    }

    fn MPI_Info_delete(info: Handle, key: *const c_char) {
        let key = memory::text(key);
        with_state(|state| {
            let pairs = state.info(info)?;
            let place = pairs.iter().position(|pair| pair.0 == key).ok_or_else(|| {
                CallError::new("MPI_ERR_INFO_NOKEY", format!("no key {key}"))
            })?;
            pairs.remove(place);
            Ok(())
        })
    }

    fn MPI_Info_dup(info: Handle, new: *mut Handle) {
        let handle = with_state(|state| {
            let copy = state.info(info)?.clone();
            Ok::<_, CallError>(state.infos.made.insert(copy))
        })?;
        memory::store(new, handle);
        Ok(())
    }

    fn MPI_Info_free(info: *mut Handle) {
        let handle = memory::load(info, "info")?;
        with_state(|state| {
            state.info(handle)?;
            state.infos.made.remove(handle);
            Ok::<_, CallError>(())
        })?;
        memory::store(info, INFO_NULL);
        Ok(())
    }
}
