//! Symbols that a file has for others.

use std::collections::BTreeMap;

use object::LittleEndian as LE;
use object::elf;

use super::{Dynamic, Image, Refusal, refuse_damaged};

type Word = object::U32<LE>;

/// Flag of the version of a symbol that only programs of before are bound to.
const HIDDEN: u16 = 0x8000;

/// A symbol that a file has for others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Export {
    /// Address of the symbol, or the offset of a thread-local variable in the block.
    pub value: u64,
    /// Length in bytes.
    pub length: u64,
    /// True for a thread-local variable.
    pub is_thread_local: bool,
    /// True if a function of the file returns the address of the symbol.
    pub is_indirect: bool,
}

impl Export {
    pub(super) fn from_symbol(symbol: &elf::Sym64<LE>) -> Self {
        let kind = symbol.st_info & 0xf;
        Self {
            value: symbol.st_value.get(LE),
            length: symbol.st_size.get(LE),
            is_thread_local: kind == elf::STT_TLS,
            is_indirect: kind == elf::STT_GNU_IFUNC,
        }
    }
}

/// Returns the table of symbols of a file, and their number.
fn symbol_table<'a>(
    image: &'a Image,
    dynamic: &Dynamic<'_>,
) -> Result<(&'a [elf::Sym64<LE>], u64), Refusal> {
    let place = dynamic.value_of(elf::DT_SYMTAB).unwrap_or_default();
    let found = count_symbols(image, dynamic).and_then(|count| {
        let bytes = count.saturating_mul(size_of::<elf::Sym64<LE>>() as u64);
        Some((image.table_at::<elf::Sym64<LE>>(place, bytes)?, count))
    });
    found.map_or_else(
        || refuse_damaged("its table of symbols is outside of its segments"),
        Ok,
    )
}

/// Returns true if a file needs a function of MPI.
pub(super) fn calls_mpi(image: &Image, dynamic: &Dynamic<'_>) -> Result<bool, Refusal> {
    let strings = dynamic.value_of(elf::DT_STRTAB).unwrap_or_default();
    let is_of_mpi = |symbol: &elf::Sym64<LE>| {
        let place = strings.checked_add(symbol.st_name.get(LE).into());
        let name = place.and_then(|place| image.string_at(place));
        let is_undefined = symbol.st_shndx.get(LE) == elf::SHN_UNDEF;
        is_undefined && name.is_some_and(|it| it.starts_with("MPI_") || it.starts_with("PMPI_"))
    };
    Ok(symbol_table(image, dynamic)?.0.iter().any(is_of_mpi))
}

/// Returns the symbols of a file by their names.
pub(super) fn read_exports(
    image: &Image,
    dynamic: &Dynamic<'_>,
) -> Result<BTreeMap<String, Export>, Refusal> {
    let address = |tag: u32| dynamic.value_of(tag).unwrap_or_default();
    let (symbols, count) = symbol_table(image, dynamic)?;
    let versions = dynamic.value_of(elf::DT_VERSYM);
    let versions = versions
        .and_then(|address| image.table_at::<object::U16<LE>>(address, count.checked_mul(2)?));
    let is_hidden = |number: usize| {
        let version = versions.and_then(|versions| versions.get(number));
        version.is_some_and(|version| version.get(LE) & HIDDEN != 0)
    };
    let mut exports = BTreeMap::new();
    for (number, symbol) in symbols.iter().enumerate() {
        let section = symbol.st_shndx.get(LE);
        let is_there = section != elf::SHN_UNDEF && section != elf::SHN_ABS;
        if !is_there || symbol.st_info >> 4 == elf::STB_LOCAL || is_hidden(number) {
            continue;
        }
        let name = address(elf::DT_STRTAB).checked_add(symbol.st_name.get(LE).into());
        let Some(name) = name.and_then(|name| image.string_at(name)) else {
            return refuse_damaged("the name of a symbol is outside of its segments");
        };
        exports.insert(name, Export::from_symbol(symbol));
    }
    Ok(exports)
}

/// Returns the number of symbols, which only the tables for lookup by name contain.
fn count_symbols(image: &Image, dynamic: &Dynamic<'_>) -> Option<u64> {
    let word = |address: u64| Some(u64::from(image.value_at::<Word>(address)?.get(LE)));
    if let Some(address) = dynamic.value_of(elf::DT_HASH) {
        return word(address.checked_add(4)?);
    }
    let Some(address) = dynamic.value_of(elf::DT_GNU_HASH) else {
        return Some(0);
    };
    let [buckets, first, filters] = [0, 4, 8].map(|at| word(address.checked_add(at)?));
    let (buckets, first) = (buckets?, first?);
    let start = address.checked_add(16 + filters? * 8)?;
    let heads = image.table_at::<Word>(start, buckets * 4)?;
    let last = heads.iter().map(|head| u64::from(head.get(LE))).max();
    let Some(mut last) = last.filter(|last| *last >= first) else {
        return Some(first);
    };
    let chains = start.checked_add(buckets * 4)?;
    // The last entry of a chain is odd.
    while word(chains.checked_add((last - first) * 4)?)? & 1 == 0 {
        last += 1;
    }
    Some(last + 1)
}
