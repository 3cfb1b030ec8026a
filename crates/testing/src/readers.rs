//! Properties that hold for any text that the readers of platforms are given; used by tests and by
//! the fuzz targets.

use platform::{HostId, LoadError, Platform};
use simgrid_import::import;

/// Reads a text as simrun's TOML and uses the result, valid or not.
///
/// # Panics
/// If the reader breaks a promise.
pub fn toml(text: &str) {
    match Platform::parse("mutated.toml", text) {
        Ok(platform) => {
            let printed = platform.to_toml();
            let again = Platform::parse("printed.toml", &printed)
                .unwrap_or_else(|error| panic!("{error}\n{printed}"));
            assert_eq!(again.to_toml(), printed);
            usable(&platform);
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert!(!error.report(false).is_empty());
        }
    }
}

/// Reads a text as SimGrid's XML and uses the result, valid or not.
///
/// # Panics
/// If the reader breaks a promise.
pub fn xml(text: &str) {
    // What is not connected as we want it is refused, with its place in the XML.
    match simgrid_import::parse("mutated.xml", text) {
        Ok(platform) => {
            let printed = platform.to_toml();
            let again = Platform::parse("printed.toml", &printed)
                .unwrap_or_else(|error| panic!("{error}\n{printed}"));
            usable(&again);
            usable(&platform);
        }
        Err(error) => assert!(!error.report(false).is_empty()),
    }
    match import("mutated.xml", text) {
        Ok(imported) => {
            let notes = imported.notes.iter().map(ToString::to_string);
            assert!(notes.into_iter().all(|note| !note.is_empty()));
        }
        Err(mistakes) => assert!(!LoadError::Diagnostics(mistakes).report(false).is_empty()),
    }
}

/// Queries the first and the last host of a platform.
fn usable(platform: &Platform) {
    assert!(!platform.summary().to_string().is_empty());
    let Some(last) = platform.host_count().checked_sub(1).map(HostId) else {
        return;
    };
    let name = platform.host_name(last).into_owned();
    assert_eq!(platform.host_by_name(&name), Some(last));
    for host in [HostId(0), last] {
        if let Ok(route) = platform.route(host, last) {
            for hop in route.hops {
                assert!(!platform.link(hop.link).name.is_empty());
            }
        }
    }
}
