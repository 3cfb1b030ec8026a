//! `wifi = { … }` of a zone of Wi-Fi stations, and the level that a station chooses.

use serde::Serialize;
use toml::Spanned;
use toml::de::DeValue;

use super::field::{InvalidValue, ParseField, cut};
use super::section::{Collector, Section};
use crate::units::Bandwidth;

/// The air that the stations of a zone share.
#[derive(Clone, Serialize, Debug)]
pub struct WifiEntry {
    /// Name of the air as a link; the default comes from the name of the zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The rate of a station by its level; at least one.
    pub bandwidths: Vec<Bandwidth>,
    /// True if collisions cost air time with more than 20 stations.
    pub decay: bool,
}

/// A position among the rates of a zone, from 0.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug)]
#[serde(transparent)]
pub struct WifiLevel(pub(crate) u32);

impl ParseField for WifiLevel {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        let number = value.get_ref().as_integer();
        number
            .and_then(|number| u32::from_str_radix(number.as_str(), number.radix()).ok())
            .map(Self)
            .ok_or_else(|| InvalidValue::kind(value.get_ref(), "the number of a level, from 0"))
    }
}

/// The table `wifi` of a zone; `None` if the table is absent or has a mistake.
pub(super) fn wifi(collector: &mut Collector, zone: &Section<'_>) -> Option<WifiEntry> {
    const KEYS: [&str; 3] = ["name", "bandwidths", "decay"];
    let value = zone.get("wifi")?;
    let section =
        collector.section(value, value.span(), "air of a Wi-Fi zone".to_owned(), &KEYS)?;
    let name: Option<Option<Spanned<String>>> = collector.optional(&section, "name");
    let bandwidths = collector.required(&section, "bandwidths", "[\"54Mbps\", \"36Mbps\"]");
    let decay = collector.optional(&section, "decay");
    let bandwidths: Spanned<Vec<Bandwidth>> = bandwidths?;
    if bandwidths.get_ref().is_empty() {
        let problem = "a Wi-Fi zone without rates".to_owned();
        let expected = "expected the rate of each level, such as [\"54Mbps\", \"36Mbps\"]";
        collector.add(bandwidths.span(), problem, expected, None);
        return None;
    }
    let name = name?;
    if let Some(name) = name.as_ref().filter(|name| name.get_ref().is_empty()) {
        let problem = format!("empty name {:?}", cut(name.get_ref()));
        collector.add(name.span(), problem, "expected a name", None);
    }
    Some(WifiEntry {
        name: name.map(Spanned::into_inner),
        bandwidths: bandwidths.into_inner(),
        decay: decay?.unwrap_or(false),
    })
}
