//! Datatypes that a program makes, and messages that a program packs itself (MPI 5.0, chapter 5).
//!
//! *Not there*: the external representation of `long double` and of structures of numbers of
//! different lengths.

#![expect(non_snake_case, reason = "the names of the standard")]

use std::ffi::{c_char, c_int, c_void};
use std::iter;
use std::ops::Range;
use std::rc::Rc;

use super::{attributes, memory};
use crate::arguments::{Count, in_c, natural};
use crate::bridge::{caller, with_datatypes, with_state};
use crate::datatypes::{
    ComponentType, Contents, DATATYPE_NULL, MadeDatatype, datatype as of, element, number_length,
    predefined_name,
};
use crate::errors::CallError;
use crate::layouts::{Block, Datatype};
use crate::state::Handle;

/// `MPI_COMBINER_…`.
const NAMED: c_int = 101;
const DUP: c_int = 102;
const CONTIGUOUS: c_int = 103;
const VECTOR: c_int = 104;
const HVECTOR: c_int = 105;
const INDEXED: c_int = 106;
const HINDEXED: c_int = 107;
const INDEXED_BLOCK: c_int = 108;
const HINDEXED_BLOCK: c_int = 109;
const STRUCT: c_int = 110;
const SUBARRAY: c_int = 111;
const DARRAY: c_int = 112;
const RESIZED: c_int = 116;
/// `MPI_DISTRIBUTE_NONE`, …, `MPI_DISTRIBUTE_DFLT_DARG`.
const NONE: c_int = 16;
const BLOCK: c_int = 17;
const CYCLIC: c_int = 18;
const DEFAULT: c_int = 19;
/// Datatypes by `MPI_TYPECLASS_INTEGER`, `_REAL` and `_COMPLEX`, and sizes in bytes.
const MATCHES: [(c_int, c_int, Handle); 10] = [
    (192, 1, 0x2c1),
    (192, 2, 0x2c9),
    (192, 4, 0x2d1),
    (192, 8, 0x2d9),
    (193, 4, 0x2d2),
    (193, 8, 0x2da),
    (193, 16, 0x2e2),
    (194, 8, 0x2db),
    (194, 16, 0x2e3),
    (194, 32, 0x2eb),
];
/// Pairs by the datatypes of value and index.
const PAIRS: [(Handle, Handle, Handle); 9] = [
    (0x210, 0x209, 0x228),
    (0x214, 0x209, 0x229),
    (0x20a, 0x209, 0x22a),
    (0x209, 0x209, 0x22b),
    (0x208, 0x209, 0x22c),
    (0x220, 0x209, 0x22d),
    (0x21a, 0x21a, 0x230),
    (0x21c, 0x21c, 0x231),
    (0x219, 0x219, 0x232),
];
/// `MPI_ORDER_C`, `MPI_ORDER_FORTRAN`.
const ORDERS: [c_int; 2] = [12, 15];

fn insert_datatype(made: MadeDatatype) -> Handle {
    let location = caller().location();
    with_datatypes(|all| all.insert_made(made, location))
}

fn store_datatype(made: Datatype, contents: Contents, new: *mut Handle) {
    memory::store(new, insert_datatype(MadeDatatype::new(made, contents)));
}

fn number(value: impl Count, name: &str) -> Result<usize, CallError> {
    natural(value, name, "MPI_ERR_ARG")
}

/// Returns the argument `count` of a call.
fn count_of(count: impl Count) -> Result<usize, CallError> {
    natural(count, "count", "MPI_ERR_COUNT")
}

/// Makes a datatype of blocks of elements of another datatype, from the lengths of the blocks in
/// elements and their displacements, and stores the new datatype.
fn blocks<N: Count>(
    (lengths, displacements): (impl Iterator<Item = N>, &[isize]),
    contents: Contents,
    (old, new): (Handle, *mut Handle),
) -> Result<(), CallError> {
    let datatype = of(old)?;
    let block = |(length, displacement): (N, &isize)| {
        Ok((
            *displacement,
            number(length, "length of a block")?,
            &datatype,
        ))
    };
    let blocks: Result<Vec<Block<'_>>, CallError> = lengths.zip(displacements).map(block).collect();
    store_datatype(
        Datatype::of_blocks(&blocks?)?,
        contents.with_parts(&[old]),
        new,
    );
    Ok(())
}

/// Converts displacements in elements to displacements in bytes.
fn scaled<N: Count>(elements: &[N], datatype: Handle) -> Result<Vec<isize>, CallError> {
    let extent = of(datatype)?.extent();
    let place = |element: &N| ((*element).into() as isize).wrapping_mul(extent);
    Ok(elements.iter().map(place).collect())
}

/// Returns the displacements of blocks with equal distances.
fn strided(count: usize, stride: isize) -> Vec<isize> {
    let place = |index: usize| stride.wrapping_mul(index.cast_signed());
    (0..count).map(place).collect()
}

/// Returns the values of a list.
fn list<T: Copy>(count: usize, list: *const T, name: &str) -> Result<Vec<T>, CallError> {
    (0..count)
        .map(|index| load_element(list, index, name))
        .collect()
}

fn load_element<T: Copy>(list: *const T, index: usize, name: &str) -> Result<T, CallError> {
    memory::load(list.wrapping_add(index), name)
}

/// Returns the length of each dimension of an array, and the indices of a part of the array.
fn dimensions(lists: [&[impl Count]; 3]) -> Result<Vec<(usize, Range<usize>)>, CallError> {
    let [lengths, parts, starts] = lists;
    let mut all = Vec::new();
    for (index, length) in lengths.iter().enumerate() {
        let [length, part, start] = [(*length).into(), parts[index].into(), starts[index].into()];
        if part < 1 || start < 0 || part > length || start > length - part {
            let text = format!(
                "dimension {index} of {length} elements: no part of {part} elements from {start} on"
            );
            return Err(CallError::new("MPI_ERR_ARG", text));
        }
        let start = number(start, "start")?;
        all.push((
            number(length, "size")?,
            start..start + number(part, "size")?,
        ));
    }
    Ok(all)
}

/// Returns true if the first dimension varies fastest.
fn is_fortran(order: c_int) -> Result<bool, CallError> {
    let found = ORDERS.iter().position(|known| *known == order);
    found.map(|found| found == 1).ok_or_else(|| {
        let text = format!("invalid order {order}: expected MPI_ORDER_C or MPI_ORDER_FORTRAN");
        CallError::new("MPI_ERR_ARG", text)
    })
}

/// Returns the indices of a dimension that a process has: `of` processes get blocks of `block`
/// elements in turn.
fn dealt(length: usize, block: usize, place: usize, of: usize) -> Vec<usize> {
    (0..length)
        .filter(|index| index / block % of == place)
        .collect()
}

/// A dimension of a distributed array: the length, the distribution `MPI_DISTRIBUTE_…`, the
/// argument of the distribution, and the number of processes.
type Distribution = (usize, c_int, c_int, usize);

fn owned(
    (length, kind, argument, of): Distribution,
    place: usize,
) -> Result<Vec<usize>, CallError> {
    let block = match (kind, argument) {
        (NONE, _) if of == 1 => length.max(1),
        (BLOCK, DEFAULT) => length.div_ceil(of).max(1),
        (CYCLIC, DEFAULT) => 1,
        (BLOCK | CYCLIC, block) if block > 0 => number(block, "distribution argument")?,
        _ => 0,
    };
    if block == 0 || kind == BLOCK && block.saturating_mul(of) < length {
        let text = format!(
            "invalid distribution {kind} with argument {argument} of {length} elements over {of} processes"
        );
        return Err(CallError::new("MPI_ERR_ARG", text));
    }
    Ok(dealt(length, block, place, of))
}

/// Checks the name of the external representation, and returns the length of the numbers in bytes.
/// The external representation has the bytes of a number in reverse order.
fn external(name: *const c_char, datatype: Handle) -> Result<usize, CallError> {
    let name = memory::text(name);
    if name != "external32" {
        let text = format!("invalid data representation {name}: expected external32");
        return Err(CallError::new("MPI_ERR_ARG", text));
    }
    number_length(datatype)
}

fn swapped(bytes: &[u8], number: usize) -> Vec<u8> {
    let numbers = bytes.chunks(number.max(1));
    numbers
        .flat_map(|number| number.iter().rev().copied())
        .collect()
}

/// Returns how a datatype was made.
fn contents(datatype: Handle) -> Result<Rc<Contents>, CallError> {
    if let Some(found) =
        with_datatypes(|all| all.get(datatype).map(|made| Rc::clone(&made.contents)))
    {
        return Ok(found);
    }
    of(datatype)?;
    Ok(Rc::new(Contents::new(NAMED)))
}

fn refuse_large(contents: &Contents) -> Result<(), CallError> {
    if contents.counts.is_empty() {
        return Ok(());
    }
    let text = "the datatype was made with large counts: call the function with _c";
    Err(CallError::new("MPI_ERR_TYPE", text))
}

fn store_number<N: Count>(place: *mut N, number: usize) {
    memory::store(place, in_c(number).unwrap_or_else(N::undefined));
}

/// Stores the values of a list that has room for `most`.
fn store_all<T: Copy>(list: *mut T, most: impl Count, values: &[T]) -> Result<(), CallError> {
    let room = number(most, "length of a list")?;
    if room < values.len() {
        let text = format!("a list of {room} values, and there are {}", values.len());
        return Err(CallError::new("MPI_ERR_ARG", text));
    }
    for (index, value) in values.iter().enumerate() {
        memory::store(memory::element(list, index), *value);
    }
    Ok(())
}

/// Stores the datatypes of which another datatype is made; made datatypes get new handles.
fn store_parts(
    list: *mut Handle,
    most: impl Count,
    parts: &[ComponentType],
) -> Result<(), CallError> {
    let handle = |part: &ComponentType| match part {
        ComponentType::Predefined(handle) => *handle,
        ComponentType::Made(made) => insert_datatype(MadeDatatype::clone(made)),
    };
    let handles: Vec<Handle> = parts.iter().map(handle).collect();
    store_all(list, most, &handles)
}

/// Returns the place in a packed message of `length` bytes more, and stores the one behind them.
fn advance_position<N: Count>(
    position: *mut N,
    length: usize,
    size: N,
) -> Result<usize, CallError> {
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
        count_of(count)?;
        let contents = Contents::new(CONTIGUOUS).counts(&[count]);
        blocks((iter::once(count), &[0]), contents, (old, new))
    }

    fn MPI_Type_vector<N>(count: N, length: N, stride: N, old: Handle, new: *mut Handle) {
        let contents = Contents::new(VECTOR).counts(&[count, length, stride]);
        let places = strided(count_of(count)?, scaled(&[stride], old)?[0]);
        blocks((iter::repeat(length), &places), contents, (old, new))
    }

    fn MPI_Type_create_hvector<N>(count: N, length: N, stride: isize, old: Handle, new: *mut Handle) {
        let contents = Contents::new(HVECTOR).counts(&[count, length]).with_displacements::<N>(&[stride]);
        let places = strided(count_of(count)?, stride);
        blocks((iter::repeat(length), &places), contents, (old, new))
    }

    fn MPI_Type_indexed<N>(count: N, lengths: *const N, displs: *const N, old: Handle, new: *mut Handle) {
        let blocks_number = count_of(count)?;
        let lengths = list(blocks_number, lengths, "array_of_blocklengths")?;
        let places = list(blocks_number, displs, "array_of_displacements")?;
        let contents = Contents::new(INDEXED).counts(&[count]).counts(&lengths).counts(&places);
        blocks((lengths.into_iter(), &scaled(&places, old)?), contents, (old, new))
    }

    fn MPI_Type_create_hindexed<N>(count: N, lengths: *const N, displs: *const isize, old: Handle, new: *mut Handle) {
        let blocks_number = count_of(count)?;
        let lengths = list(blocks_number, lengths, "array_of_blocklengths")?;
        let places = list(blocks_number, displs, "array_of_displacements")?;
        let contents = Contents::new(HINDEXED).counts(&[count]).counts(&lengths).with_displacements::<N>(&places);
        blocks((lengths.into_iter(), &places), contents, (old, new))
    }

    fn MPI_Type_create_indexed_block<N>(count: N, length: N, displs: *const N, old: Handle, new: *mut Handle) {
        let places = list(count_of(count)?, displs, "array_of_displacements")?;
        let contents = Contents::new(INDEXED_BLOCK).counts(&[count, length]).counts(&places);
        blocks((iter::repeat(length), &scaled(&places, old)?), contents, (old, new))
    }

    fn MPI_Type_create_hindexed_block<N>(count: N, length: N, displs: *const isize, old: Handle, new: *mut Handle) {
        let places = list(count_of(count)?, displs, "array_of_displacements")?;
        let contents = Contents::new(HINDEXED_BLOCK).counts(&[count, length]).with_displacements::<N>(&places);
        blocks((iter::repeat(length), &places), contents, (old, new))
    }

    fn MPI_Type_create_struct<N>(count: N, lengths: *const N, displs: *const isize, types: *const Handle, new: *mut Handle) {
        let blocks_number = count_of(count)?;
        let lengths = list(blocks_number, lengths, "array_of_blocklengths")?;
        let places = list(blocks_number, displs, "array_of_displacements")?;
        let types = list(blocks_number, types, "array_of_types")?;
        let datatypes: Result<Vec<Datatype>, CallError> = types.iter().map(|old| of(*old)).collect();
        let mut parts = Vec::new();
        for ((length, place), old) in lengths.iter().zip(&places).zip(&datatypes?) {
            parts.push((*place, number(*length, "length of a block")?, old.clone()));
        }
        let blocks: Vec<Block<'_>> = parts.iter().map(|(place, length, old)| (*place, *length, old)).collect();
        let contents = Contents::new(STRUCT).counts(&[count]).counts(&lengths);
        let contents = contents.with_displacements::<N>(&places).with_parts(&types);
        store_datatype(Datatype::of_blocks(&blocks)?.aligned(), contents, new);
        Ok(())
    }

    fn MPI_Type_create_subarray<N>(
        dims: c_int, sizes: *const N, subsizes: *const N, starts: *const N, order: c_int,
        old: Handle, new: *mut Handle,
    ) {
        let dims_number = number(dims, "ndims")?;
        let sizes = list(dims_number, sizes, "array_of_sizes")?;
        let subsizes = list(dims_number, subsizes, "array_of_subsizes")?;
        let starts = list(dims_number, starts, "array_of_starts")?;
        let mut parts = dimensions([&sizes, &subsizes, &starts])?;
        if is_fortran(order)? {
            parts.reverse();
        }
        let contents = Contents::new(SUBARRAY).integers(&[dims]);
        let contents = contents.counts(&sizes).counts(&subsizes).counts(&starts).integers(&[order]);
        store_datatype(of(old)?.part_of_array(&parts)?, contents.with_parts(&[old]), new);
        Ok(())
    }

    fn MPI_Type_create_darray<N>(
        size: c_int, rank: c_int, dims: c_int, sizes: *const N, distributions: *const c_int,
        arguments: *const c_int, processes: *const c_int, order: c_int, old: Handle, new: *mut Handle,
    ) {
        let dims_number = number(dims, "ndims")?;
        let sizes = list(dims_number, sizes, "array_of_gsizes")?;
        let distributions = list(dims_number, distributions, "array_of_distribs")?;
        let arguments = list(dims_number, arguments, "array_of_dargs")?;
        let processes = list(dims_number, processes, "array_of_psizes")?;
        let contents = Contents::new(DARRAY).integers(&[size, rank, dims]).counts(&sizes);
        let contents = contents.integers(&distributions).integers(&arguments);
        let contents = contents.integers(&processes).integers(&[order]);
        // Processes are in row-major order.
        let mut rank = number(rank, "rank")?;
        let mut parts = Vec::new();
        for index in (0..dims_number).rev() {
            let length = number(sizes[index], "size")?;
            let of = number(processes[index], "number of processes")?.max(1);
            let dimension = (length, distributions[index], arguments[index], of);
            parts.push((length, owned(dimension, rank % of)?.into_iter()));
            rank /= of;
        }
        if !is_fortran(order)? {
            parts.reverse();
        }
        store_datatype(of(old)?.part_of_array(&parts)?, contents.with_parts(&[old]), new);
        Ok(())
    }

    fn MPI_Type_create_resized<N>(old: Handle, lower: isize, extent: isize, new: *mut Handle) {
        let contents = Contents::new(RESIZED).with_displacements::<N>(&[lower, extent]).with_parts(&[old]);
        store_datatype(of(old)?.resized(lower, extent), contents, new);
        Ok(())
    }

    fn MPI_Type_get_envelope(
        datatype: Handle, integers: *mut c_int, addresses: *mut c_int, datatypes: *mut c_int, combiner: *mut c_int,
    ) {
        let contents = contents(datatype)?;
        refuse_large(&contents)?;
        store_number(integers, contents.integers.len());
        store_number(addresses, contents.addresses.len());
        store_number(datatypes, contents.datatypes.len());
        memory::store(combiner, contents.combiner);
        Ok(())
    }

    fn MPI_Type_get_envelope_c(
        datatype: Handle, integers: *mut i64, addresses: *mut i64, counts: *mut i64, datatypes: *mut i64, combiner: *mut c_int,
    ) {
        let contents = contents(datatype)?;
        store_number(integers, contents.integers.len());
        store_number(addresses, contents.addresses.len());
        store_number(counts, contents.counts.len());
        store_number(datatypes, contents.datatypes.len());
        memory::store(combiner, contents.combiner);
        Ok(())
    }

    fn MPI_Type_get_contents(
        datatype: Handle, maxintegers: c_int, maxaddresses: c_int, maxdatatypes: c_int,
        integers: *mut c_int, addresses: *mut isize, datatypes: *mut Handle,
    ) {
        let contents = contents(datatype)?;
        refuse_large(&contents)?;
        store_all(integers, maxintegers, &contents.integers)?;
        store_all(addresses, maxaddresses, &contents.addresses)?;
        store_parts(datatypes, maxdatatypes, &contents.datatypes)
    }

    fn MPI_Type_get_contents_c(
        datatype: Handle, maxintegers: i64, maxaddresses: i64, maxcounts: i64, maxdatatypes: i64,
        integers: *mut c_int, addresses: *mut isize, counts: *mut i64, datatypes: *mut Handle,
    ) {
        let contents = contents(datatype)?;
        store_all(integers, maxintegers, &contents.integers)?;
        store_all(addresses, maxaddresses, &contents.addresses)?;
        store_all(counts, maxcounts, &contents.counts)?;
        store_parts(datatypes, maxdatatypes, &contents.datatypes)
    }

    fn MPI_Type_match_size(class: c_int, size: c_int, datatype: *mut Handle) {
        let found = MATCHES.iter().find(|known| (known.0, known.1) == (class, size));
        let found = found.ok_or_else(|| {
            let text = format!("no datatype of the class {class} has {size} bytes");
            CallError::new("MPI_ERR_ARG", text)
        })?;
        memory::store(datatype, found.2);
        Ok(())
    }

    fn MPI_Type_get_value_index(value: Handle, index: Handle, pair: *mut Handle) {
        let found = PAIRS.iter().find(|known| (known.0, known.1) == (value, index));
        memory::store(pair, found.map_or(DATATYPE_NULL, |found| found.2));
        Ok(())
    }

    fn MPI_Type_set_name(datatype: Handle, name: *const c_char) {
        of(datatype)?;
        let name = memory::text(name);
        with_state(|state| state.type_names.insert(datatype, name));
        Ok(())
    }

    fn MPI_Type_get_name(datatype: Handle, name: *mut c_char, length: *mut c_int) {
        of(datatype)?;
        let given = with_state(|state| state.type_names.get(&datatype).cloned());
        let name_of = || predefined_name(datatype).unwrap_or_default().to_owned();
        memory::store_text(name, length, &given.unwrap_or_else(name_of), 128);
        Ok(())
    }

    fn MPI_Type_dup(old: Handle, new: *mut Handle) {
        of(old)?;
        attributes::copy_attributes(old)?;
        let mut made = MadeDatatype::new(of(old)?, Contents::new(DUP).with_parts(&[old]));
        if element(old).is_ok() {
            made.commit();
        }
        let handle = insert_datatype(made);
        with_state(|state| state.attributes.keep_copied(handle));
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
        with_state(|state| state.type_names.remove(&handle));
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
        let given = memory::elements_at(data, count, datatype)?;
        let start = advance_position(position, given.length, size)?;
        let mut target = memory::bytes_at(buffer, given.length)?;
        target.address += start;
        memory::with_bytes(given, |bytes| memory::store_bytes(target, bytes));
        Ok(())
    }

    fn MPI_Unpack<N>(buffer: *const c_void, size: N, position: *mut N, data: *mut c_void, count: N, datatype: Handle, _comm: Handle) {
        let target = memory::elements_at(data, count, datatype)?;
        let start = advance_position(position, target.length, size)?;
        let mut given = memory::bytes_at(buffer, target.length)?;
        given.address += start;
        memory::with_bytes(given, |bytes| memory::store_bytes(target, bytes));
        Ok(())
    }

    fn MPI_Pack_size<N>(count: N, datatype: Handle, _comm: Handle, size: *mut N) {
        let length = count_of(count)? * element(datatype)?.size;
        memory::store(size, in_c(length).unwrap_or_else(N::undefined));
        Ok(())
    }

    fn MPI_Pack_external<N>(name: *const c_char, data: *const c_void, count: N, datatype: Handle, buffer: *mut c_void, size: isize, position: *mut i64) {
        let swap = external(name, datatype)?;
        let given = memory::elements_at(data, count, datatype)?;
        let start = advance_position(position, given.length, size as i64)?;
        let mut target = memory::bytes_at(buffer, given.length)?;
        target.address += start;
        memory::with_bytes(given, |bytes| memory::store_bytes(target, &swapped(bytes, swap)));
        Ok(())
    }

    fn MPI_Unpack_external<N>(name: *const c_char, buffer: *const c_void, size: isize, position: *mut i64, data: *mut c_void, count: N, datatype: Handle) {
        let swap = external(name, datatype)?;
        let target = memory::elements_at(data, count, datatype)?;
        let start = advance_position(position, target.length, size as i64)?;
        let mut given = memory::bytes_at(buffer, target.length)?;
        given.address += start;
        memory::with_bytes(given, |bytes| memory::store_bytes(target, &swapped(bytes, swap)));
        Ok(())
    }

    fn MPI_Pack_external_size<N>(name: *const c_char, count: N, datatype: Handle, size: *mut i64) {
        external(name, datatype)?;
        let length = count_of(count)? * element(datatype)?.size;
        memory::store(size, in_c(length).unwrap_or_else(i64::undefined));
        Ok(())
    }
}
