//! Groups (MPI 5.0, section 7.3).

#![expect(non_snake_case, reason = "the names of the standard")]

use std::ffi::c_int;

use mpi::{Comparison, prelude::*};

use super::memory;
use crate::arguments::{PROC_NULL_IN_C, UNDEFINED, natural};
use crate::bridge::{caller, with_state};
use crate::errors::CallError;
use crate::state::{Handle, MpiState};

/// `MPI_GROUP_NULL`.
const GROUP_NULL: Handle = 0x108;
/// `MPI_GROUP_EMPTY`.
const GROUP_EMPTY: Handle = 0x109;

impl MpiState {
    /// Returns a group.
    pub(super) fn group(&self, group: Handle) -> Result<Group, CallError> {
        if group == GROUP_EMPTY {
            return Ok(self.world.group().incl(&[])?);
        }
        self.groups.get(group).cloned().ok_or_else(|| {
            let text = match group {
                GROUP_NULL => "invalid group: MPI_GROUP_NULL".to_owned(),
                _ => format!("invalid group {group:#x}"),
            };
            CallError::new("MPI_ERR_GROUP", text)
        })
    }
}

/// Returns the value in C of the comparison of two groups or communicators.
pub(super) const fn compared(found: Comparison) -> c_int {
    match found {
        Comparison::Identical => 201,
        Comparison::Congruent => 202,
        Comparison::Similar => 203,
        Comparison::Unequal => 204,
    }
}

/// Makes a group of others.
pub(super) fn make_group(
    new: *mut Handle,
    made: impl FnOnce(&mut MpiState) -> Result<Group, CallError>,
) -> Result<(), CallError> {
    let location = caller().location();
    let handle = with_state(|state| {
        let made = made(state)?;
        Ok::<_, CallError>(if made.size() == 0 {
            GROUP_EMPTY
        } else {
            state.groups.insert_made(made, location)
        })
    })?;
    memory::store(new, handle);
    Ok(())
}

fn member(rank: c_int) -> Result<usize, CallError> {
    natural(rank, "rank", "MPI_ERR_RANK")
}

fn check_rank_count(number: c_int) -> Result<usize, CallError> {
    usize::try_from(number).map_err(|_| {
        let text = format!("invalid number {number} of ranks: expected at least 0");
        CallError::new("MPI_ERR_ARG", text)
    })
}

/// Returns the ranks of a list.
fn load_ranks(number: c_int, list: *const c_int) -> Result<Vec<usize>, CallError> {
    let rank = |index| {
        let rank = memory::load(list.wrapping_add(index), "ranks")?;
        member(rank)
    };
    (0..check_rank_count(number)?).map(rank).collect()
}

/// Returns the ranks of ranges: first, last and distance of each.
fn ranged(number: c_int, ranges: *const c_int) -> Result<Vec<usize>, CallError> {
    let mut ranks = Vec::new();
    for index in 0..check_rank_count(number)? {
        let part = |part| memory::load(ranges.wrapping_add(3 * index + part), "ranges");
        let (mut rank, last, step) = (part(0)?, part(1)?, part(2)?);
        if step == 0 {
            let text = "invalid distance 0 of ranks: expected another one";
            return Err(CallError::new("MPI_ERR_ARG", text));
        }
        while if step > 0 { rank <= last } else { rank >= last } {
            ranks.push(member(rank)?);
            rank = rank.saturating_add(step);
        }
    }
    Ok(ranks)
}

exports! {
    fn MPI_Comm_group(comm: Handle, new: *mut Handle) {
        make_group(new, |state| Ok(state.comm(comm)?.group()))
    }

    fn MPI_Group_size(group: Handle, size: *mut c_int) {
        let found = with_state(|state| state.group(group))?.size();
        memory::store(size, c_int::try_from(found).unwrap_or(c_int::MAX));
        Ok(())
    }

    fn MPI_Group_rank(group: Handle, rank: *mut c_int) {
        let found = with_state(|state| state.group(group))?.rank();
        let found = found.and_then(|rank| c_int::try_from(rank).ok());
        memory::store(rank, found.unwrap_or(UNDEFINED));
        Ok(())
    }

    fn MPI_Group_incl(group: Handle, number: c_int, ranks: *const c_int, new: *mut Handle) {
        let ranks = load_ranks(number, ranks)?;
        make_group(new, |state| Ok(state.group(group)?.incl(&ranks)?))
    }

    fn MPI_Group_excl(group: Handle, number: c_int, ranks: *const c_int, new: *mut Handle) {
        let ranks = load_ranks(number, ranks)?;
        make_group(new, |state| Ok(state.group(group)?.excl(&ranks)?))
    }

    fn MPI_Group_range_incl(group: Handle, number: c_int, ranges: *const c_int, new: *mut Handle) {
        let ranks = ranged(number, ranges)?;
        make_group(new, |state| Ok(state.group(group)?.incl(&ranks)?))
    }

    fn MPI_Group_range_excl(group: Handle, number: c_int, ranges: *const c_int, new: *mut Handle) {
        let ranks = ranged(number, ranges)?;
        make_group(new, |state| Ok(state.group(group)?.excl(&ranks)?))
    }

    fn MPI_Group_union(one: Handle, other: Handle, new: *mut Handle) {
        make_group(new, |state| Ok(state.group(one)?.union(&state.group(other)?)))
    }

    fn MPI_Group_intersection(one: Handle, other: Handle, new: *mut Handle) {
        make_group(new, |state| Ok(state.group(one)?.intersection(&state.group(other)?)))
    }

    fn MPI_Group_difference(one: Handle, other: Handle, new: *mut Handle) {
        make_group(new, |state| Ok(state.group(one)?.difference(&state.group(other)?)))
    }

    fn MPI_Group_translate_ranks(one: Handle, number: c_int, ranks: *const c_int, other: Handle, translated: *mut c_int) {
        let (one, other) = with_state(|state| Ok::<_, CallError>((state.group(one)?, state.group(other)?)))?;
        for index in 0..check_rank_count(number)? {
            let rank = memory::load(ranks.wrapping_add(index), "ranks")?;
            let found = match rank {
                PROC_NULL_IN_C => PROC_NULL_IN_C,
                _ => {
                    let rank = member(rank)?;
                    let found = one.translate_ranks(&[rank], &other)?;
                    let found = found.first().copied().flatten();
                    found.and_then(|rank| c_int::try_from(rank).ok()).unwrap_or(UNDEFINED)
                }
            };
            memory::store(memory::element(translated, index), found);
        }
        Ok(())
    }

    fn MPI_Group_compare(one: Handle, other: Handle, result: *mut c_int) {
        let found = with_state(|state| {
            Ok::<_, CallError>(state.group(one)?.compare(&state.group(other)?))
        })?;
        memory::store(result, compared(found));
        Ok(())
    }

    fn MPI_Group_free(group: *mut Handle) {
        let handle = memory::load(group, "group")?;
        with_state(|state| {
            // Refuses handles that name none; that of the empty group is predefined.
            state.group(handle)?;
            state.groups.remove(handle);
            Ok::<_, CallError>(())
        })?;
        memory::store(group, GROUP_NULL);
        Ok(())
    }
}
