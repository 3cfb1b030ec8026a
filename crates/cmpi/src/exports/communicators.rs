//! Communicators (MPI 5.0, chapter 7) that are made from other communicators.

#![expect(non_snake_case, reason = "the names of the standard")]

use std::ffi::{c_char, c_int};
use std::rc::Rc;

use mpi::{Attributes, CommunicatorManagement, Comparison, announce_call};

use super::groups::{compared, make_group};
use super::info::INFO_NULL;
use super::objects::about;
use super::{attributes, memory};
use crate::arguments::{UNDEFINED, natural, tag};
use crate::bridge::{block, with_state};
use crate::errors::CallError;
use crate::handles::{Duplicated, Memory};
use crate::state::{Handle, MpiState};

/// `MPI_COMM_NULL`.
pub(super) const COMM_NULL: Handle = 0x100;

/// `MPI_COMM_TYPE_SHARED`.
const TYPE_SHARED: c_int = 221;
/// `MPI_COMM_TYPE_HW_UNGUIDED`.
const TYPE_UNGUIDED: c_int = 222;
/// `MPI_COMM_TYPE_HW_GUIDED`.
const TYPE_GUIDED: c_int = 223;

/// Returns the name of a type of `MPI_Comm_split_type`.
const fn split_type_name(kind: c_int) -> Option<&'static str> {
    Some(match kind {
        TYPE_SHARED => "MPI_COMM_TYPE_SHARED",
        TYPE_UNGUIDED => "MPI_COMM_TYPE_HW_UNGUIDED",
        TYPE_GUIDED => "MPI_COMM_TYPE_HW_GUIDED",
        _ => return None,
    })
}

/// Copies a communicator, with the hints of the original or with the hints of `info`.
fn dup(comm: Handle, info: Option<Handle>, new: *mut Handle) -> Result<(), CallError> {
    about(comm)?;
    attributes::copy_attributes(comm)?;
    let handle = block(async |state| {
        if let Some(inter) = state.comms.between.get(&comm) {
            let made = inter.dup().await?;
            return Ok(state.comms.insert_inter(made));
        }
        let made = state.comm(comm)?.dup().await?;
        Ok::<_, CallError>(state.comms.made.insert(made))
    })?;
    with_state(|state| {
        state.comms.copy_topology(comm, handle);
        state.inherit(comm, handle);
        state.attributes.keep_copied(handle);
        state.set_hints(handle, info.unwrap_or(comm))
    })?;
    memory::store(new, handle);
    Ok(())
}

impl MpiState {
    /// Gives a new communicator the error handler of the original communicator.
    pub(super) fn inherit(&mut self, from: Handle, to: Handle) {
        if let Some(handler) = self.errors.of_objects.get(&from).copied() {
            self.errors.of_objects.insert(to, handler);
        }
    }

    /// Adds the hints of an info object, or the hints of another communicator.
    pub(super) fn set_hints(&mut self, comm: Handle, of: Handle) -> Result<(), CallError> {
        let given = match self.infos.hints.get(&of) {
            Some(hints) => hints.clone(),
            None if of == INFO_NULL || self.comm(of).is_ok() => return Ok(()),
            None => self.info(of)?.clone(),
        };
        let hints = self.infos.hints.entry(comm).or_default();
        hints.retain(|hint| given.iter().all(|other| other.0 != hint.0));
        hints.extend(given);
        Ok(())
    }

    /// Forgets all about a communicator or a datatype that is freed.
    pub(super) fn forget_object(&mut self, object: Handle) {
        self.comms.topologies.remove(&object);
        self.errors.of_objects.remove(&object);
        self.infos.hints.remove(&object);
        self.attributes.of_objects.remove(&object);
    }
}

/// Starts a copy of a communicator, with the hints of the original or with the hints of `info`.
fn idup(
    comm: Handle,
    info: Option<Handle>,
    new: *mut Handle,
    request: *mut Handle,
) -> Result<(), CallError> {
    about(comm)?;
    attributes::copy_attributes(comm)?;
    let (made, started) = with_state(|state| {
        announce_call(state.comm(comm)?, "idup of a communicator", || None);
        let (started, copied) = match state.comms.between.get(&comm) {
            Some(inter) => (inter.idup()?, Duplicated::Inter(inter.clone())),
            None => {
                let copied = state.comm(comm)?.clone();
                (copied.idup()?, Duplicated::Comm(copied))
            }
        };
        let made = state.comms.made.reserve();
        state.inherit(comm, made);
        state.attributes.keep_copied(made);
        state.set_hints(made, info.unwrap_or(comm))?;
        let memory = Memory::Comm {
            handle: made,
            original: comm,
            of: Rc::new(copied),
        };
        Ok::<_, CallError>((made, state.insert(started, memory)))
    })?;
    memory::store(new, made);
    memory::store(request, started);
    Ok(())
}

exports! {
    fn MPI_Comm_idup(comm: Handle, new: *mut Handle, request: *mut Handle) {
        idup(comm, None, new, request)
    }

    fn MPI_Comm_idup_with_info(comm: Handle, info: Handle, new: *mut Handle, request: *mut Handle) {
        idup(comm, Some(info), new, request)
    }

    fn MPI_Comm_dup(comm: Handle, new: *mut Handle) {
        dup(comm, None, new)
    }

    fn MPI_Comm_split(comm: Handle, color: c_int, key: c_int, new: *mut Handle) {
        let colour = match u32::try_from(color) {
            Ok(colour) => Some(colour),
            Err(_) if color == UNDEFINED => None,
            Err(_) => {
                let text = format!("invalid color {color}: expected at least 0, or MPI_UNDEFINED");
                return Err(CallError::new("MPI_ERR_ARG", text));
            }
        };
        about(comm)?;
        let handle = block(async |state| {
            if let Some(inter) = state.comms.between.get(&comm) {
                let made = inter.split(colour, key).await?;
                return Ok(made.map_or(COMM_NULL, |made| state.comms.insert_inter(made)));
            }
            let made = state.comm(comm)?.split(colour, key).await?;
            Ok::<_, CallError>(made.map_or(COMM_NULL, |made| state.comms.made.insert(made)))
        })?;
        memory::store(new, handle);
        Ok(())
    }

    fn MPI_Comm_free(comm: *mut Handle) {
        let handle = memory::load(comm, "comm")?;
        // Refuses handles that name none.
        about(handle)?;
        attributes::delete_all(handle)?;
        with_state(|state| {
            let inter = state.comms.between.remove(&handle);
            state.forget_object(handle);
            let Some(freed) = state.comms.made.remove(handle) else {
                return Err(CallError::new("MPI_ERR_COMM", "MPI_COMM_WORLD cannot be freed"));
            };
            if let Some(inter) = inter {
                return Ok(inter.free()?);
            }
            Ok(freed.free()?)
        })?;
        memory::store(comm, COMM_NULL);
        Ok(())
    }

    fn MPI_Comm_get_parent(parent: *mut Handle) {
        // No other program has started this one.
        memory::store(parent, COMM_NULL);
        Ok(())
    }

    fn MPI_Comm_compare(one: Handle, other: Handle, result: *mut c_int) {
        let found = with_state(|state| {
            let groups = state.comm(one)?.compare(state.comm(other)?);
            Ok::<_, CallError>(match (state.comms.between.get(&one), state.comms.between.get(&other)) {
                (None, None) => groups,
                (Some(one), Some(other)) => groups.max(one.remote().compare(other.remote())),
                _ => Comparison::Unequal,
            })
        })?;
        memory::store(result, compared(found));
        Ok(())
    }

    fn MPI_Comm_create(comm: Handle, group: Handle, new: *mut Handle) {
        about(comm)?;
        let group = with_state(|state| state.group(group))?;
        let handle = block(async |state| {
            if let Some(inter) = state.comms.between.get(&comm) {
                announce_call(state.comm(comm)?, "create of a communicator", || None);
                let making = inter.create(&group);
                drop(group);
                let made = making.await?;
                return Ok(made.map_or(COMM_NULL, |made| state.comms.insert_inter(made)));
            }
            let making = state.comm(comm)?.create(&group);
            drop(group);
            let made = making.await?;
            Ok::<_, CallError>(made.map_or(COMM_NULL, |made| state.comms.made.insert(made)))
        })?;
        memory::store(new, handle);
        Ok(())
    }

    fn MPI_Comm_create_group(comm: Handle, group: Handle, number: c_int, new: *mut Handle) {
        let (group, number) = (with_state(|state| state.group(group))?, tag(number)?);
        let handle = block(async |state| {
            let making = state.comm(comm)?.create_group(&group, number);
            drop(group);
            let made = making.await?;
            Ok::<_, CallError>(made.map_or(COMM_NULL, |made| state.comms.made.insert(made)))
        })?;
        memory::store(new, handle);
        Ok(())
    }

    fn MPI_Comm_split_type(comm: Handle, kind: c_int, key: c_int, _info: Handle, new: *mut Handle) {
        about(comm)?;
        if kind != UNDEFINED && split_type_name(kind).is_none() {
            let text = format!("split_type {kind} is not supported: expected MPI_COMM_TYPE_SHARED");
            return Err(CallError::new("MPI_ERR_ARG", text));
        }
        let handle = block(async |state| {
            let comm = state.comm(comm)?;
            // A rank with MPI_UNDEFINED gets no communicator, whichever type the others give.
            let agreed = || split_type_name(kind).map(|name| format!("has split_type {name}"));
            announce_call(comm, "split_type of a communicator", agreed);
            if kind != TYPE_SHARED {
                // No part of a host is known.
                comm.split(None, key).await?;
                return Ok(COMM_NULL);
            }
            let made = comm.split_by_host(key).await?;
            Ok::<_, CallError>(state.comms.made.insert(made))
        })?;
        memory::store(new, handle);
        Ok(())
    }

    fn MPI_Comm_dup_with_info(comm: Handle, info: Handle, new: *mut Handle) {
        dup(comm, Some(info), new)
    }

    fn MPI_Comm_test_inter(comm: Handle, flag: *mut c_int) {
        about(comm)?;
        let is_inter = with_state(|state| state.comms.between.contains_key(&comm));
        memory::store(flag, c_int::from(is_inter));
        Ok(())
    }

    fn MPI_Comm_remote_size(comm: Handle, size: *mut c_int) {
        let found = with_state(|state| Ok::<_, CallError>(state.inter(comm)?.remote_size()))?;
        memory::store(size, c_int::try_from(found).unwrap_or(c_int::MAX));
        Ok(())
    }

    fn MPI_Comm_remote_group(comm: Handle, new: *mut Handle) {
        make_group(new, |state| Ok(state.inter(comm)?.remote_group()))
    }

    fn MPI_Intercomm_create(local: Handle, local_leader: c_int, peer: Handle, remote_leader: c_int, number: c_int, new: *mut Handle) {
        about(local)?;
        let leader = natural(local_leader, "local_leader", "MPI_ERR_RANK")?;
        let number = tag(number)?;
        let handle = block(async |state| {
            let own = state.comm(local)?;
            // Only the leader's arguments count.
            let is_leader = own.rank() == leader;
            let (peer, remote) = match is_leader {
                true => (state.comm(peer)?, natural(remote_leader, "remote_leader", "MPI_ERR_RANK")?),
                false => (own, 0),
            };
            let agreed = || Some(format!("has local_leader {leader}"));
            announce_call(own, "create of an intercommunicator", agreed);
            let made = own.intercomm_create(leader, peer, remote, number).await?;
            Ok::<_, CallError>(state.comms.insert_inter(made))
        })?;
        with_state(|state| state.inherit(local, handle));
        memory::store(new, handle);
        Ok(())
    }

    fn MPI_Intercomm_merge(inter: Handle, high: c_int, new: *mut Handle) {
        let handle = block(async |state| {
            let (inter, high) = (state.inter(inter)?, high != 0);
            let agreed = || Some(format!("has high {high}"));
            announce_call(inter.local(), "merge of an intercommunicator", agreed);
            let made = inter.merge(high).await?;
            Ok::<_, CallError>(state.comms.made.insert(made))
        })?;
        with_state(|state| state.inherit(inter, handle));
        memory::store(new, handle);
        Ok(())
    }

    fn MPI_Comm_set_name(comm: Handle, name: *const c_char) {
        let name = memory::text(name);
        with_state(|state| {
            state.comm(comm)?.set_name(name);
            Ok(())
        })
    }

    fn MPI_Comm_get_name(comm: Handle, name: *mut c_char, length: *mut c_int) {
        let found = with_state(|state| Ok::<_, CallError>(state.comm(comm)?.name()))?;
        memory::store_text(name, length, &found, 128);
        Ok(())
    }

}
