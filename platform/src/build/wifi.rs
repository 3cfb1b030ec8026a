//! Checks of Wi-Fi zones: members that are no stations, levels that do not exist.

use super::for_each_zone;
use crate::Routing;
use crate::file::{Read, ZoneEntry, cut};

/// Refuses members that cannot be in a Wi-Fi zone, and stations in other zones.
pub(super) fn check_wifi_zones(read: &mut Read) {
    let Read {
        file,
        collector,
        names,
    } = read;
    for_each_zone(&file.root, &mut |number, here, zone: &ZoneEntry| {
        let is_wifi = zone.routing == Routing::Wifi;
        let place = || {
            let zone = names.zones.get(number as usize);
            zone.map_or(0..0, |zone| zone.name.span())
        };
        if zone.wifi.is_some() && !is_wifi {
            let problem = format!(
                "{:?} with the air of a Wi-Fi zone has routing {:?}",
                cut(here.name),
                zone.routing.name()
            );
            collector.add(place(), problem, "expected routing = \"wifi\"", None);
        }
        let clusters = zone.clusters.iter().map(|named| ("cluster", &named.name));
        let zones = zone.zones.iter().map(|named| ("zone", &named.name));
        for (what, name) in clusters.chain(zones).filter(|_| is_wifi) {
            let problem = format!("{what} {:?} in a Wi-Fi zone", cut(name.get_ref()));
            let expected = "its members are hosts, the stations, and routers";
            collector.add(name.span(), problem, expected, None);
        }
        for host in &zone.hosts {
            let Some(level) = &host.entry.wifi_level else {
                continue;
            };
            let name = cut(host.name.get_ref());
            let found = level.get_ref().0;
            if !is_wifi {
                let problem = format!("host {name:?} has a wifi_level, but no Wi-Fi");
                let expected = "expected it in a zone with routing = \"wifi\"";
                collector.add(level.span(), problem, expected, None);
                continue;
            }
            let levels = zone.wifi.as_ref().map(|wifi| wifi.bandwidths.len());
            if levels.is_some_and(|levels| found as usize >= levels) {
                let problem = format!("host {name:?} has the level {found}");
                let last = levels.unwrap_or(1) - 1;
                let expected =
                    format!("expected one of the bandwidths of its zone, from 0 to {last}");
                collector.add(level.span(), problem, expected, None);
            }
        }
    });
}
