//! Builds the platform from the typed file: resolves names, assigns numbers, reports
//! contradictions.
//!
//! Members of all zones are numbered in one order: hosts, clusters, routers, zones, each kind in
//! the order of the file, members of a zone before members of its inner zones. `names` checks the
//! names, `resolve` resolves the names in routes, `assemble` assigns the numbers.

mod assemble;
mod names;
mod overrides;
mod resolve;
mod wifi;

use std::path::Path;

use crate::diagnostic::{Diagnostics, Source};
use crate::file::{Named, Read, ZoneEntry, read_platform_file};
use crate::platform::Platform;

/// Reads a platform from text; files that the text names are searched for in `folder`.
///
/// # Errors
/// All mistakes in the text.
pub(crate) fn build(
    file_name: &str,
    text: &str,
    folder: Option<&Path>,
) -> Result<Platform, Diagnostics> {
    let source = Source::new(file_name, text);
    match read_platform_file(text, folder) {
        Ok(read) => finish_platform(source, read),
        Err(list) => Err(Diagnostics::new(source, list)),
    }
}

/// Makes the platform of a file that has been read, with the places of its entries in `source`.
///
/// # Errors
/// All mistakes in the file.
pub(crate) fn finish_platform(source: Source, mut read: Read) -> Result<Platform, Diagnostics> {
    names::check_names(&mut read);
    wifi::check_wifi_zones(&mut read);
    let resolved = resolve::resolve(&source, &mut read);
    if read.collector.mistakes.is_empty() {
        names::check_count_of_links(&mut read);
        names::check_count_of_disks(&mut read);
    }
    if read.collector.mistakes.is_empty() {
        overrides::check_overrides(&mut read);
    }
    if !read.collector.mistakes.is_empty() {
        return Err(Diagnostics::new(source, read.collector.mistakes));
    }
    Ok(assemble::assemble(read.file, resolved))
}

/// A zone on the way through the tree.
#[derive(Clone, Copy)]
pub(crate) struct ZoneVisit<'f> {
    /// The table in the file, with a dot at the end, such as `zones.site.`; empty for the platform.
    prefix: &'f str,
    pub(crate) name: &'f str,
    pub(crate) depth: u32,
    /// The number of the zone that contains this zone.
    outer: u32,
}

/// Visits a zone and all its inner zones; a zone comes before its inner zones.
pub(crate) fn for_each_zone<'f>(
    root: &'f ZoneEntry,
    visit: &mut impl FnMut(u32, ZoneVisit<'_>, &'f ZoneEntry),
) {
    fn visit_zone_tree<'f>(
        here: ZoneVisit<'_>,
        entry: &'f ZoneEntry,
        next: &mut u32,
        visit: &mut impl FnMut(u32, ZoneVisit<'_>, &'f ZoneEntry),
    ) {
        let number = *next;
        *next += 1;
        visit(number, here, entry);
        for Named { name, entry } in &entry.zones {
            let inner = ZoneVisit {
                prefix: &format!("{}zones.{}.", here.prefix, name.get_ref()),
                name: name.get_ref(),
                depth: here.depth + 1,
                outer: number,
            };
            visit_zone_tree(inner, entry, next, visit);
        }
    }
    let here = ZoneVisit {
        prefix: "",
        name: "",
        depth: 0,
        outer: 0,
    };
    visit_zone_tree(here, root, &mut 0, visit);
}
