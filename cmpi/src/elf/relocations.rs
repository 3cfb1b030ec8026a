//! Relocations of a program: places in its image that get an address when it is loaded.
//!
//! *Refused*: what needs thread-local variables or calls functions of the program before it begins.

use object::LittleEndian as LE;
use object::elf;

use super::{CopiedVariable, Dynamic, Image, Import, Refusal, damaged, refuse};

/// Length and address of compact relative relocations, in the dynamic section (generic ABI).
const DT_RELRSZ: u32 = 35;
const DT_RELR: u32 = 36;

/// The relocations of a program, sorted by what the loader does with them.
pub(super) struct Relocations<'a> {
    image: &'a Image,
    symbols: u64,
    strings: u64,
    pub(super) relative: Vec<(u64, i64)>,
    pub(super) imports: Vec<Import>,
    pub(super) copied: Vec<CopiedVariable>,
}

impl<'a> Relocations<'a> {
    pub(super) fn new(image: &'a Image, dynamic: &Dynamic<'_>) -> Self {
        Self {
            image,
            symbols: dynamic.value(elf::DT_SYMTAB).unwrap_or_default(),
            strings: dynamic.value(elf::DT_STRTAB).unwrap_or_default(),
            relative: Vec::new(),
            imports: Vec::new(),
            copied: Vec::new(),
        }
    }

    pub(super) fn read_all(&mut self, dynamic: &Dynamic<'_>) -> Result<(), Refusal> {
        if dynamic.value(elf::DT_REL).is_some() {
            return damaged("it has relocations without addends");
        }
        for (table, length) in [
            (elf::DT_RELA, elf::DT_RELASZ),
            (elf::DT_JMPREL, elf::DT_PLTRELSZ),
        ] {
            let Some(address) = dynamic.value(table) else {
                continue;
            };
            let length = dynamic.value(length).unwrap_or_default();
            let Some(entries) = self.image.table::<elf::Rela64<LE>>(address, length) else {
                return damaged("its relocations are outside of its segments");
            };
            for entry in entries {
                self.read(entry)?;
            }
        }
        if let Some(address) = dynamic.value(DT_RELR) {
            let length = dynamic.value(DT_RELRSZ).unwrap_or_default();
            self.read_packed(address, length)?;
        }
        Ok(())
    }

    fn read(&mut self, entry: &elf::Rela64<LE>) -> Result<(), Refusal> {
        let kind = entry.r_type(LE, false);
        let (offset, addend) = (entry.r_offset.get(LE), entry.r_addend.get(LE));
        match kind {
            elf::R_X86_64_NONE => return Ok(()),
            elf::R_X86_64_RELATIVE => {
                self.check_place(offset, 8)?;
                self.relative.push((offset, addend));
                return Ok(());
            }
            elf::R_X86_64_64
            | elf::R_X86_64_GLOB_DAT
            | elf::R_X86_64_JUMP_SLOT
            | elf::R_X86_64_COPY => {}
            elf::R_X86_64_DTPMOD64
            | elf::R_X86_64_DTPOFF64
            | elf::R_X86_64_TPOFF64
            | elf::R_X86_64_TLSDESC => {
                return refuse(
                    "the program uses thread-local variables, which all ranks would share: \
                     not supported",
                );
            }
            elf::R_X86_64_IRELATIVE => {
                return refuse(
                    "the program has indirect functions (attribute ifunc): not supported",
                );
            }
            other => return refuse(format!("relocations of type {other}: not supported")),
        }
        let (name, symbol) = self.symbol(entry.r_sym(LE, false))?;
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
        let addend = if kind == elf::R_X86_64_64 { addend } else { 0 };
        if symbol.st_shndx.get(LE) == elf::SHN_UNDEF {
            self.imports.push(Import {
                offset,
                name,
                addend,
                is_weak: symbol.st_info >> 4 == elf::STB_WEAK,
            });
            return Ok(());
        }
        if symbol.st_info & 0xf == elf::STT_GNU_IFUNC {
            return refuse("the program has indirect functions (attribute ifunc): not supported");
        }
        let value = i64::try_from(symbol.st_value.get(LE)).ok();
        let Some(value) = value.and_then(|value| value.checked_add(addend)) else {
            return damaged("the value of a symbol is too large");
        };
        self.relative.push((offset, value));
        Ok(())
    }

    /// Reads the compact form of relative relocations: addresses, each followed by bit sets of the
    /// next 63 words.
    fn read_packed(&mut self, address: u64, length: u64) -> Result<(), Refusal> {
        let Some(words) = self.image.table::<object::U64<LE>>(address, length) else {
            return damaged("its relocations are outside of its segments");
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
        let Some(addend) = self.image.at::<object::I64<LE>>(offset) else {
            return damaged("a relocation is outside of its segments");
        };
        self.relative.push((offset, addend.get(LE)));
        Ok(())
    }

    fn check_place(&self, offset: u64, length: u64) -> Result<(), Refusal> {
        if self.image.is_writable(offset, length) {
            return Ok(());
        }
        damaged("a relocation is outside of its writable segments")
    }

    fn symbol(&self, number: u32) -> Result<(String, &elf::Sym64<LE>), Refusal> {
        let offset = u64::from(number) * size_of::<elf::Sym64<LE>>() as u64;
        let address = self.symbols.checked_add(offset);
        let symbol = address.and_then(|address| self.image.at::<elf::Sym64<LE>>(address));
        let name = symbol.and_then(|symbol| {
            let offset = u64::from(symbol.st_name.get(LE));
            self.image.string(self.strings.checked_add(offset)?)
        });
        match (name, symbol) {
            (Some(name), Some(symbol)) => Ok((name, symbol)),
            _ => damaged("a symbol is outside of its segments"),
        }
    }
}
