//! `<zone routing="Wifi">`: the access point, and the link that the stations share by time.
//!
//! SimGrid lets programs choose the level of each station; after an import, the level is 0, the
//! first bandwidth of the link.

use super::values::{Importer, spanned_at};
use super::xml::Element;
use platform::file::{WifiEntry, ZoneEntry, cut};

/// Returns true if a tag is a Wi-Fi link.
fn is_air(element: &Element) -> bool {
    element.name == "link" && element.get("sharing_policy") == Some("WIFI")
}

impl Importer {
    /// Takes over access point and air of a Wi-Fi zone.
    pub(super) fn wifi(&mut self, element: &Element, zone: &mut ZoneEntry) {
        for child in &element.children {
            if child.name == "prop" && child.get("id") == Some("access_point") {
                let name = self.required(child, "value");
                zone.gateway = name.map(|name| spanned_at(child, name.to_owned()));
            }
        }
        let mut air = element.children.iter().filter(|child| is_air(child));
        let Some(link) = air.next() else {
            let problem = format!("a Wi-Fi <{}> without a Wi-Fi link", element.name);
            let expected = "expected one <link sharing_policy=\"WIFI\"> in it";
            return self.diagnostic(element, problem, expected);
        };
        if let Some(second) = air.next() {
            let problem = "a second Wi-Fi link in one zone".to_owned();
            self.diagnostic(second, problem, "expected one for each zone");
        }
        let name = self.required(link, "id").map(str::to_owned);
        let Some(rates) = self.required(link, "bandwidth") else {
            return;
        };
        let rates: Vec<_> = rates
            .split(',')
            .filter_map(|rate| self.quantity(link, "bandwidth", rate.trim(), "Bps"))
            .collect();
        let latency = self.latency(link, "latency");
        if latency.is_some_and(|latency| latency.as_secs() != 0.0) {
            let text = cut(link.get("latency").unwrap_or_default());
            self.add_note(
                link,
                format!("latency={text:?} of a Wi-Fi link is not supported"),
            );
        }
        self.note_unread(link, &["id", "bandwidth", "latency", "sharing_policy"]);
        zone.wifi = Some(WifiEntry {
            name,
            bandwidths: rates,
            decay: false,
        });
    }

    /// Returns true if a child of a zone is one that [`Importer::wifi`] has taken over.
    pub(super) fn is_of_wifi(&self, zone: &Element, child: &Element) -> bool {
        matches!(zone.get("routing"), Some("Wifi" | "WIFI"))
            && (is_air(child) || child.get("id") == Some("access_point"))
    }
}
