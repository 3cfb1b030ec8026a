//! Relocations of a program: places in the image that get an address when the program is loaded.
//!
//! *Refused*: relocations for thread-local variables of the program at a fixed distance from the
//! thread pointer, and relocations that call functions of a program that has not started.

use object::LittleEndian as LE;
use object::elf;

use super::{
    CopiedVariable, Dynamic, Export, INITIAL_EXEC, Image, Import, Refusal, Value, refuse_damaged,
    refuse_file,
};

/// Length and address of compact relative relocations, in the dynamic section (generic ABI).
const DT_RELRSZ: u32 = 35;
const DT_RELR: u32 = 36;

/// The relocations of a program, sorted by the action of the loader.
pub(super) struct Relocations<'a> {
    image: &'a Image,
    symbols: u64,
    strings: u64,
    pub(super) relative: Vec<(u64, i64)>,
    pub(super) imports: Vec<Import>,
    pub(super) copied: Vec<CopiedVariable>,
    pub(super) thread_blocks: Vec<u64>,
    pub(super) thread_offsets: Vec<(u64, u64)>,
}

impl<'a> Relocations<'a> {
    pub(super) fn new(image: &'a Image, dynamic: &Dynamic<'_>) -> Self {
        Self {
            image,
            symbols: dynamic.value_of(elf::DT_SYMTAB).unwrap_or_default(),
            strings: dynamic.value_of(elf::DT_STRTAB).unwrap_or_default(),
            relative: Vec::new(),
            imports: Vec::new(),
            copied: Vec::new(),
            thread_blocks: Vec::new(),
            thread_offsets: Vec::new(),
        }
    }

    pub(super) fn read_all(&mut self, dynamic: &Dynamic<'_>) -> Result<(), Refusal> {
        if dynamic.value_of(elf::DT_REL).is_some() {
            return refuse_damaged("it has relocations without addends");
        }
        for (table, length) in [
            (elf::DT_RELA, elf::DT_RELASZ),
            (elf::DT_JMPREL, elf::DT_PLTRELSZ),
        ] {
            let Some(address) = dynamic.value_of(table) else {
                continue;
            };
            let length = dynamic.value_of(length).unwrap_or_default();
            let Some(entries) = self.image.table_at::<elf::Rela64<LE>>(address, length) else {
                return refuse_damaged("its relocations are outside of its segments");
            };
            for entry in entries {
                self.read_entry(entry)?;
            }
        }
        if let Some(address) = dynamic.value_of(DT_RELR) {
            let length = dynamic.value_of(DT_RELRSZ).unwrap_or_default();
            self.read_packed(address, length)?;
        }
        Ok(())
    }

    fn read_entry(&mut self, entry: &elf::Rela64<LE>) -> Result<(), Refusal> {
        let kind = entry.r_type(LE, false);
        let (offset, addend) = (entry.r_offset.get(LE), entry.r_addend.get(LE));
        let value = match kind {
            elf::R_X86_64_NONE => return Ok(()),
            elf::R_X86_64_RELATIVE => {
                self.check_place(offset, 8)?;
                self.relative.push((offset, addend));
                return Ok(());
            }
            elf::R_X86_64_64
            | elf::R_X86_64_GLOB_DAT
            | elf::R_X86_64_JUMP_SLOT
            | elf::R_X86_64_COPY => Value::Address,
            elf::R_X86_64_DTPMOD64 => Value::ThreadBlock,
            elf::R_X86_64_DTPOFF64 => Value::ThreadOffset,
            elf::R_X86_64_TPOFF64 => Value::ThreadDistance,
            elf::R_X86_64_TLSDESC => {
                return refuse_file(
                    "the program has descriptors of thread-local variables: compile it without \
                     -mtls-dialect=gnu2",
                );
            }
            elf::R_X86_64_IRELATIVE => {
                return refuse_file(
                    "the program has indirect functions (attribute ifunc): not supported",
                );
            }
            other => return refuse_file(format!("relocations of type {other}: not supported")),
        };
        let (name, symbol) = self.symbol_at(entry.r_sym(LE, false))?;
        if kind == elf::R_X86_64_COPY {
            let length = symbol.st_size.get(LE);
            self.check_place(offset, length)?;
            self.copied.push(CopiedVariable {
                offset,
                name,
                length,
            });
            return Ok(());
        }
        self.check_place(offset, 8)?;
        let has_addend = kind != elf::R_X86_64_GLOB_DAT && kind != elf::R_X86_64_JUMP_SLOT;
        let addend = if has_addend { addend } else { 0 };
        // Number 0 is the block of the file's own variables.
        let is_block = entry.r_sym(LE, false) == 0 && value != Value::Address;
        let is_there = symbol.st_shndx.get(LE) != elf::SHN_UNDEF;
        let is_local = symbol.st_info >> 4 == elf::STB_LOCAL
            || symbol.st_other & 3 == elf::STV_PROTECTED
            || symbol.st_shndx.get(LE) == elf::SHN_ABS;
        if is_block || (is_there && is_local) {
            return self.bind_own((offset, value), symbol, addend);
        }
        self.imports.push(Import {
            offset,
            value,
            name,
            addend,
            own: is_there.then(|| Export::from_symbol(symbol)),
            is_weak: symbol.st_info >> 4 == elf::STB_WEAK,
        });
        Ok(())
    }

    /// Binds a place to a symbol of the program itself.
    fn bind_own(
        &mut self,
        (offset, value): (u64, Value),
        symbol: &elf::Sym64<LE>,
        addend: i64,
    ) -> Result<(), Refusal> {
        if symbol.st_info & 0xf == elf::STT_GNU_IFUNC {
            return refuse_file(
                "the program has indirect functions (attribute ifunc): not supported",
            );
        }
        let sum = i64::try_from(symbol.st_value.get(LE)).ok();
        let Some(sum) = sum.and_then(|sum| sum.checked_add(addend)) else {
            return refuse_damaged("the value of a symbol is too large");
        };
        match value {
            Value::Address => self.relative.push((offset, sum)),
            Value::ThreadBlock => self.thread_blocks.push(offset),
            Value::ThreadOffset => self.thread_offsets.push((offset, sum.cast_unsigned())),
            Value::ThreadDistance => return refuse_file(INITIAL_EXEC),
        }
        Ok(())
    }

    /// Reads the compact form of relative relocations: addresses, each followed by bit sets of the
    /// next 63 words.
    fn read_packed(&mut self, address: u64, length: u64) -> Result<(), Refusal> {
        let Some(words) = self.image.table_at::<object::U64<LE>>(address, length) else {
            return refuse_damaged("its relocations are outside of its segments");
        };
        let mut next = 0_u64;
        for word in words.iter().map(|word| word.get(LE)) {
            if word & 1 == 0 {
                self.add_in_place(word)?;
                next = word.saturating_add(8);
                continue;
            }
            for bit in (1..64).filter(|bit| word >> bit & 1 == 1) {
                self.add_in_place(next.saturating_add((bit - 1) * 8))?;
            }
            next = next.saturating_add(63 * 8);
        }
        Ok(())
    }

    fn add_in_place(&mut self, offset: u64) -> Result<(), Refusal> {
        self.check_place(offset, 8)?;
        let Some(addend) = self.image.value_at::<object::I64<LE>>(offset) else {
            return refuse_damaged("a relocation is outside of its segments");
        };
        self.relative.push((offset, addend.get(LE)));
        Ok(())
    }

    fn check_place(&self, offset: u64, length: u64) -> Result<(), Refusal> {
        if self.image.is_writable(offset, length) {
            return Ok(());
        }
        refuse_damaged("a relocation is outside of its writable segments")
    }

    fn symbol_at(&self, number: u32) -> Result<(String, &'a elf::Sym64<LE>), Refusal> {
        let offset = u64::from(number) * size_of::<elf::Sym64<LE>>() as u64;
        let address = self.symbols.checked_add(offset);
        let symbol = address.and_then(|address| self.image.value_at::<elf::Sym64<LE>>(address));
        let name = symbol.and_then(|symbol| {
            let offset = u64::from(symbol.st_name.get(LE));
            self.image.string_at(self.strings.checked_add(offset)?)
        });
        match (name, symbol) {
            (Some(name), Some(symbol)) => Ok((name, symbol)),
            _ => refuse_damaged("a symbol is outside of its segments"),
        }
    }
}
