//! Reading `[memory]`: costs of a rank's memory in collective operations. The platform only carries
//! them.

use settings::MemorySettings;
use toml::Spanned;
use toml::de::DeValue;

use super::network::overhead;
use super::section::Collector;
use crate::units::{Duration, Size};

/// `[memory]`, with sizes and times as they are written.
pub type Memory = MemorySettings<Size, Duration>;

/// Reads the table into `memory`; `reduces` is true if `[collectives]` has a bandwidth of
/// reductions.
pub(super) fn read_memory(
    collector: &mut Collector,
    value: &Spanned<DeValue<'_>>,
    (memory, reduces): (&mut Memory, bool),
) {
    const DATATYPE_BUILD: &str = "datatype_build";
    const KEYS: [&str; 5] = [
        "reduce",
        "copy",
        "first_touch",
        "registration",
        DATATYPE_BUILD,
    ];
    let section = collector.section(value, value.span(), "memory table".to_owned(), &KEYS);
    let Some(section) = section else { return };
    let tables = [
        &mut memory.reduce,
        &mut memory.copy,
        &mut memory.first_touch,
        &mut memory.registration,
    ];
    for (key, store) in KEYS.into_iter().zip(tables) {
        if let Some(value) = section.get(key)
            && let Some(read) = overhead(collector, value, key)
        {
            *store = read;
        }
    }
    if let Some(Some(read)) = collector.optional(&section, DATATYPE_BUILD) {
        memory.datatype_build = Some(read);
    }
    if reduces && let Some(value) = section.get("reduce") {
        let problem = "reduce, beside [collectives] reduce_bandwidth".to_owned();
        collector.add(value.span(), problem, "expected one of the two", None);
    }
}
