//! Sessions (MPI 5.0, section 11.3).
//!
//! The process sets are `mpi://WORLD` and `mpi://SELF`. A session may be used without `MPI_Init`.

#![expect(non_snake_case, reason = "the names of the standard")]

use std::ffi::{c_char, c_int};

use mpi::CommunicatorManagement;

use super::{groups, memory};
use crate::arguments::natural;
use crate::bridge::{block, with_state};
use crate::errors::CallError;
use crate::state::{Handle, MpiState};

/// `MPI_SESSION_NULL`.
const SESSION_NULL: Handle = 0x120;

/// Names of the process sets.
const SETS: [&str; 2] = ["mpi://WORLD", "mpi://SELF"];

impl MpiState {
    /// Refuses handles that name no session.
    pub(super) fn session(&self, session: Handle) -> Result<(), CallError> {
        self.concerned.set(session);
        self.sessions.get(session).copied().ok_or_else(|| {
            let text = format!("invalid session {session:#x}");
            CallError::new("MPI_ERR_SESSION", text)
        })
    }
}

/// Returns the number of a process set.
fn find_process_set(name: *const c_char) -> Result<usize, CallError> {
    let name = memory::text(name);
    let found = SETS.iter().position(|set| set.eq_ignore_ascii_case(&name));
    found.ok_or_else(|| {
        let text = format!("invalid process set {name}: expected one of {SETS:?}");
        CallError::new("MPI_ERR_ARG", text)
    })
}

/// Returns a tag for a text (FNV-1a, folded to 15 bits).
fn tag_of(text: &str) -> u32 {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let hash = text.bytes().fold(0x811c_9dc5, step);
    (hash >> 15 ^ hash) & 0x7fff
}

exports! {
    fn MPI_Session_init(_info: Handle, handler: Handle, session: *mut Handle) {
        let made = with_state(|state| {
            let made = state.sessions.insert(());
            state.errors.of_objects.insert(made, handler);
            made
        });
        memory::store(session, made);
        Ok(())
    }

    fn MPI_Session_finalize(session: *mut Handle) {
        let handle = memory::load(session, "session")?;
        with_state(|state| {
            state.session(handle)?;
            state.sessions.remove(handle);
            state.forget_object(handle);
            Ok::<_, CallError>(())
        })?;
        memory::store(session, SESSION_NULL);
        Ok(())
    }

    fn MPI_Session_get_num_psets(session: Handle, _info: Handle, number: *mut c_int) {
        with_state(|state| state.session(session))?;
        memory::store(number, c_int::try_from(SETS.len()).unwrap_or(c_int::MAX));
        Ok(())
    }

    fn MPI_Session_get_nth_pset(session: Handle, _info: Handle, number: c_int, length: *mut c_int, name: *mut c_char) {
        with_state(|state| state.session(session))?;
        let number = natural(number, "number of a process set", "MPI_ERR_ARG")?;
        let found = SETS.get(number).ok_or_else(|| {
            let text = format!("invalid number {number} of a process set: there are {}", SETS.len());
            CallError::new("MPI_ERR_ARG", text)
        })?;
        let room = natural(memory::load(length, "pset_len")?, "pset_len", "MPI_ERR_ARG")?;
        if room > 0 {
            memory::store_text(name, std::ptr::null_mut(), found, room);
        }
        memory::store(length, c_int::try_from(found.len() + 1).unwrap_or(c_int::MAX));
        Ok(())
    }

    fn MPI_Session_get_pset_info(session: Handle, name: *const c_char, info: *mut Handle) {
        let number = find_process_set(name)?;
        let found = with_state(|state| {
            state.session(session)?;
            let size = if number == 0 { state.world.size() } else { 1 };
            let pair = ("mpi_size".to_owned(), size.to_string());
            Ok::<_, CallError>(state.infos.made.insert(vec![pair]))
        })?;
        memory::store(info, found);
        Ok(())
    }

    fn MPI_Group_from_session_pset(session: Handle, name: *const c_char, new: *mut Handle) {
        with_state(|state| state.session(session))?;
        let number = find_process_set(name)?;
        groups::make_group(new, |state| {
            let world = state.world.group();
            Ok(match number {
                0 => world,
                _ => world.incl(&[state.world.rank()])?,
            })
        })
    }

    fn MPI_Intercomm_create_from_groups(local: Handle, local_leader: c_int, remote: Handle, remote_leader: c_int, text: *const c_char, _info: Handle, handler: Handle, new: *mut Handle) {
        let number = tag_of(&memory::text(text));
        let leader = natural(local_leader, "local_leader", "MPI_ERR_RANK")?;
        let handle = block(async |state| {
            let group = state.group(local)?;
            let made = state.world.create_group(&group, number).await?;
            let own = made.ok_or_else(|| {
                CallError::new("MPI_ERR_GROUP", "the rank is not a member of local_group")
            })?;
            // Only the leader's arguments count.
            let peer = match own.rank() == leader {
                true => {
                    let remote = state.group(remote)?;
                    let rank = natural(remote_leader, "remote_leader", "MPI_ERR_RANK")?;
                    remote.translate_ranks(&[rank], &state.world.group())?[0].unwrap_or(usize::MAX)
                }
                false => 0,
            };
            let inter = own.intercomm_create(leader, &state.world, peer, number).await?;
            own.free()?;
            let handle = state.comms.insert_inter(inter);
            state.errors.of_objects.insert(handle, handler);
            Ok::<_, CallError>(handle)
        })?;
        memory::store(new, handle);
        Ok(())
    }

    fn MPI_Comm_create_from_group(group: Handle, text: *const c_char, _info: Handle, handler: Handle, new: *mut Handle) {
        let number = tag_of(&memory::text(text));
        let handle = block(async |state| {
            let group = state.group(group)?;
            let made = state.world.create_group(&group, number).await?;
            let Some(made) = made else {
                return Ok(super::communicators::COMM_NULL);
            };
            let handle = state.comms.made.insert(made);
            state.errors.of_objects.insert(handle, handler);
            Ok::<_, CallError>(handle)
        })?;
        memory::store(new, handle);
        Ok(())
    }
}
