//! Datatypes that a program makes, and messages that it packs itself (MPI 5.0, chapter 5).
//!
//! *Not there*: `MPI_Type_create_darray`, envelopes and contents, the external representation.

#![expect(non_snake_case, reason = "the names of the standard")]

use std::ffi::{c_char, c_int, c_void};

use super::{Handle, attributes, exports, memory};
use crate::arguments::{Count, in_c, natural};
use crate::bridge::{with, with_datatypes};
use crate::datatypes::{MadeDatatype, datatype as of, element, predefined_name};
use crate::errors::CallError;
use crate::layouts::{Block, Datatype};

/// `MPI_DATATYPE_NULL`.
const DATATYPE_NULL: Handle = 0x200;
/// `MPI_ORDER_C`, `MPI_ORDER_FORTRAN`.
const ORDERS: [c_int; 2] = [12, 15];

fn store(made: Datatype, new: *mut Handle) {
    let handle = with_datatypes(|all| all.insert(MadeDatatype::new(made)));
    memory::store(new, handle);
}

fn number(value: impl Count, name: &str) -> Result<usize, CallError> {
    natural(value, name, "MPI_ERR_ARG")
}

/// Blocks of elements of one datatype: the number of blocks, their lengths in elements and their
/// displacements in bytes.
fn blocks<N: Count>(
    count: impl Count,
    length: impl Fn(usize) -> Result<N, CallError>,
    displacement: impl Fn(usize, &Datatype) -> Result<isize, CallError>,
    (old, new): (Handle, *mut Handle),
) -> Result<(), CallError> {
    let old = of(old)?;
    let block = |index| {
        let length = number(length(index)?, "length of a block")?;
        Ok((displacement(index, &old)?, length, &old))
    };
    let blocks: Result<Vec<Block<'_>>, CallError> =
        (0..number(count, "count")?).map(block).collect();
    store(Datatype::of_blocks(&blocks?)?, new);
    Ok(())
}

/// Returns a displacement in bytes of one in elements.
fn scaled(elements: impl Count, datatype: &Datatype) -> isize {
    (elements.into() as isize).wrapping_mul(datatype.extent())
}

fn listed<T: Copy>(list: *const T, index: usize, name: &str) -> Result<T, CallError> {
    memory::load(list.wrapping_add(index), name)
}

/// Returns the dimensions of an array, from the one that varies most slowly on.
fn dimensions<N: Count>(
    count: c_int,
    lists: [*const N; 3],
    order: c_int,
) -> Result<Vec<[usize; 3]>, CallError> {
    let mut parts = Vec::new();
    for index in 0..number(count, "ndims")? {
        let [length, part, start] = lists.map(|list| listed(list, index, "array_of_sizes"));
        let [length, part, start]: [i64; 3] = [length?.into(), part?.into(), start?.into()];
        if part < 1 || start < 0 || part > length || start > length - part {
            let text = format!(
                "dimension {index} of {length} elements: no part of {part} elements from {start} on"
            );
            return Err(CallError::new("MPI_ERR_ARG", text));
        }
        parts.push([
            number(length, "size")?,
            number(part, "size")?,
            number(start, "start")?,
        ]);
    }
    match ORDERS.iter().position(|known| *known == order) {
        Some(0) => {}
        Some(_) => parts.reverse(),
        None => {
            let text = format!("invalid order {order}: expected MPI_ORDER_C or MPI_ORDER_FORTRAN");
            return Err(CallError::new("MPI_ERR_ARG", text));
        }
    }
    Ok(parts)
}

/// Returns the place in a packed message of `length` bytes more, and stores the one behind them.
fn advance<N: Count>(position: *mut N, length: usize, size: N) -> Result<usize, CallError> {
    let start = number(memory::load(position, "position")?, "position")?;
    let (end, size) = (start + length, number(size, "size")?);
    if end > size {
        let text = format!("{length} bytes from byte {start} on, in a buffer of {size} bytes");
        return Err(CallError::new("MPI_ERR_TRUNCATE", text));
    }
    memory::store(position, in_c(end).unwrap_or_else(N::undefined));
    Ok(start)
}

exports! {
    fn MPI_Type_contiguous<N>(count: N, old: Handle, new: *mut Handle) {
        blocks(1, |_| Ok(count), |_, _| Ok(0), (old, new))
    }

    fn MPI_Type_vector<N>(count: N, length: N, stride: N, old: Handle, new: *mut Handle) {
        let place = |index: usize, old: &Datatype| {
            Ok(scaled(stride, old).wrapping_mul(index.cast_signed()))
        };
        blocks(count, |_| Ok(length), place, (old, new))
    }

    fn MPI_Type_create_hvector<N>(count: N, length: N, stride: isize, old: Handle, new: *mut Handle) {
        let place = |index: usize, _: &Datatype| Ok(stride.wrapping_mul(index.cast_signed()));
        blocks(count, |_| Ok(length), place, (old, new))
    }

    fn MPI_Type_indexed<N>(count: N, lengths: *const N, displs: *const N, old: Handle, new: *mut Handle) {
        let length = |index| listed(lengths, index, "array_of_blocklengths");
        let place = |index, old: &Datatype| {
            Ok(scaled(listed(displs, index, "array_of_displacements")?, old))
        };
        blocks(count, length, place, (old, new))
    }

    fn MPI_Type_create_hindexed<N>(count: N, lengths: *const N, displs: *const isize, old: Handle, new: *mut Handle) {
        let length = |index| listed(lengths, index, "array_of_blocklengths");
        let place = |index, _: &Datatype| listed(displs, index, "array_of_displacements");
        blocks(count, length, place, (old, new))
    }

    fn MPI_Type_create_indexed_block<N>(count: N, length: N, displs: *const N, old: Handle, new: *mut Handle) {
        let place = |index, old: &Datatype| {
            Ok(scaled(listed(displs, index, "array_of_displacements")?, old))
        };
        blocks(count, |_| Ok(length), place, (old, new))
    }

    fn MPI_Type_create_hindexed_block<N>(count: N, length: N, displs: *const isize, old: Handle, new: *mut Handle) {
        let place = |index, _: &Datatype| listed(displs, index, "array_of_displacements");
        blocks(count, |_| Ok(length), place, (old, new))
    }

    fn MPI_Type_create_struct<N>(count: N, lengths: *const N, displs: *const isize, types: *const Handle, new: *mut Handle) {
        let mut parts = Vec::new();
        for index in 0..number(count, "count")? {
            let length = number(listed(lengths, index, "array_of_blocklengths")?, "length of a block")?;
            let place = listed(displs, index, "array_of_displacements")?;
            parts.push((place, length, of(listed(types, index, "array_of_types")?)?));
        }
        let blocks: Vec<Block<'_>> = parts.iter().map(|(place, length, old)| (*place, *length, old)).collect();
        store(Datatype::of_blocks(&blocks)?.aligned(), new);
        Ok(())
    }

    fn MPI_Type_create_subarray<N>(
        dims: c_int, sizes: *const N, subsizes: *const N, starts: *const N, order: c_int,
        old: Handle, new: *mut Handle,
    ) {
        let parts = dimensions(dims, [sizes, subsizes, starts], order)?;
        store(of(old)?.subarray(&parts)?, new);
        Ok(())
    }

    fn MPI_Type_create_resized(old: Handle, lower: isize, extent: isize, new: *mut Handle) {
        store(of(old)?.resized(lower, extent), new);
        Ok(())
    }

    fn MPI_Type_set_name(datatype: Handle, name: *const c_char) {
        of(datatype)?;
        let name = memory::text(name);
        with(|state| state.type_names.insert(datatype, name));
        Ok(())
    }

    fn MPI_Type_get_name(datatype: Handle, name: *mut c_char, length: *mut c_int) {
        of(datatype)?;
        let given = with(|state| state.type_names.get(&datatype).cloned());
        let name_of = || predefined_name(datatype).unwrap_or_default().to_owned();
        memory::store_text(name, length, &given.unwrap_or_else(name_of), 128);
        Ok(())
    }

    fn MPI_Type_dup(old: Handle, new: *mut Handle) {
        of(old)?;
        attributes::copy(old)?;
        let mut made = MadeDatatype::new(of(old)?);
        if element(old).is_ok() {
            made.commit();
        }
        let handle = with_datatypes(|all| all.insert(made));
        with(|state| state.keep_copied(handle));
        memory::store(new, handle);
        Ok(())
    }

    fn MPI_Type_commit(datatype: *mut Handle) {
        let handle = memory::load(datatype, "datatype")?;
        // Predefined ones are committed, and others refused.
        of(handle)?;
        with_datatypes(|all| all.get_mut(handle).map(MadeDatatype::commit));
        Ok(())
    }

    fn MPI_Type_free(datatype: *mut Handle) {
        let handle = memory::load(datatype, "datatype")?;
        if with_datatypes(|all| all.get(handle).is_none()) {
            let text = format!("the datatype {handle:#x} cannot be freed");
            return Err(CallError::new("MPI_ERR_TYPE", text));
        }
        attributes::delete_all(handle)?;
        with_datatypes(|all| all.remove(handle));
        with(|state| state.type_names.remove(&handle));
        memory::store(datatype, DATATYPE_NULL);
        Ok(())
    }

    fn MPI_Type_size<N>(datatype: Handle, size: *mut N) {
        let found = of(datatype)?.element().size;
        memory::store(size, in_c(found).unwrap_or_else(N::undefined));
        Ok(())
    }

    fn MPI_Type_get_extent(datatype: Handle, lower: *mut isize, extent: *mut isize) {
        let found = of(datatype)?;
        memory::store(lower, found.lower);
        memory::store(extent, found.extent());
        Ok(())
    }

    fn MPI_Type_get_true_extent(datatype: Handle, lower: *mut isize, extent: *mut isize) {
        let (start, end) = of(datatype)?.true_bounds();
        memory::store(lower, start);
        memory::store(extent, end - start);
        Ok(())
    }

    fn MPI_Pack<N>(data: *const c_void, count: N, datatype: Handle, buffer: *mut c_void, size: N, position: *mut N, _comm: Handle) {
        let given = memory::place(data, count, datatype)?;
        let start = advance(position, given.length, size)?;
        let mut target = memory::bytes_at(buffer, given.length)?;
        target.address += start;
        memory::with_bytes(given, |bytes| memory::store_bytes(target, bytes));
        Ok(())
    }

    fn MPI_Unpack<N>(buffer: *const c_void, size: N, position: *mut N, data: *mut c_void, count: N, datatype: Handle, _comm: Handle) {
        let target = memory::place(data, count, datatype)?;
        let start = advance(position, target.length, size)?;
        let mut given = memory::bytes_at(buffer, target.length)?;
        given.address += start;
        memory::with_bytes(given, |bytes| memory::store_bytes(target, bytes));
        Ok(())
    }

    fn MPI_Pack_size<N>(count: N, datatype: Handle, _comm: Handle, size: *mut N) {
        let length = number(count, "count")? * element(datatype)?.size;
        memory::store(size, in_c(length).unwrap_or_else(N::undefined));
        Ok(())
    }
}
