//! The speed of a host: one text, or a list with one for each power state.

use serde::ser::{Serialize, Serializer};
use std::fmt;

use toml::Spanned;
use toml::de::DeValue;

use super::field::{InvalidValue, ParseField, cut};
use super::section::{Collector, Section};
use crate::units::Speed;

/// The speeds of one core in all power states of a host; there is at least one.
#[derive(Clone, PartialEq, Debug)]
pub struct Speeds(Vec<Speed>);

/// The number of a power state, from 0.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PowerState(pub u32);

impl Speeds {
    /// The speeds in this order, if one of them is above 0: a host may stand still in some power
    /// states, but not in all.
    #[must_use]
    pub fn new(speeds: Vec<Speed>) -> Option<Self> {
        let moves = speeds.iter().any(|speed| speed.flop_per_s() > 0.0);
        moves.then_some(Self(speeds))
    }

    /// In flop/s.
    pub(crate) fn flop_per_s(&self) -> impl ExactSizeIterator<Item = f64> {
        self.0.iter().map(Speed::flop_per_s)
    }

    /// The number of power states.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.0.len()
    }

    /// The speed in a power state; the first one if there is no such state, which the reader
    /// refuses.
    pub(crate) fn state_speed(&self, state: PowerState) -> f64 {
        let speed = self.0.get(state.0 as usize).unwrap_or(&self.0[0]);
        speed.flop_per_s()
    }
}

impl fmt::Display for Speeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<&str> = self.0.iter().map(Speed::text).collect();
        f.write_str(&texts.join(" or "))
    }
}

impl Serialize for Speeds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0[..] {
            [one] => one.serialize(serializer),
            all => all.serialize(serializer),
        }
    }
}

impl ParseField for Speeds {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        let Some(array) = value.get_ref().as_array() else {
            let speed = Speed::read(value)?;
            let problem = format!("speed {:?}", cut(speed.text()));
            return Self::new(vec![speed]).ok_or_else(|| InvalidValue {
                problem,
                expected: "expected more than 0".to_owned(),
                help: None,
            });
        };
        let speeds: Result<Vec<Speed>, InvalidValue> = array.iter().map(Speed::read).collect();
        Self::new(speeds?).ok_or_else(|| InvalidValue {
            problem: "an array without a speed above 0".to_owned(),
            expected: "expected a speed for each power state, such as [\"2Gf\", \"1Gf\"]"
                .to_owned(),
            help: None,
        })
    }
}

impl PowerState {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "the form that serde asks for"
    )]
    pub(crate) const fn is_first(&self) -> bool {
        self.0 == 0
    }
}

impl Serialize for PowerState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.0)
    }
}

impl ParseField for PowerState {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        let number = value.get_ref().as_integer();
        let number = number.and_then(|text| u32::from_str_radix(text.as_str(), text.radix()).ok());
        number.map(Self).ok_or_else(|| {
            let expected = "the number of a power state, from 0, without quotes";
            InvalidValue::kind(value.get_ref(), expected)
        })
    }
}

/// The keys `speed` and `pstate` of a host or a cluster.
pub(super) fn speeds(
    collector: &mut Collector,
    section: &Section<'_>,
) -> Option<(Speeds, PowerState)> {
    let speeds = collector.required::<Speeds>(section, "speed", "\"16Gf\"");
    let pstate = collector.optional::<Spanned<PowerState>>(section, "pstate");
    let (speeds, pstate) = (speeds?, pstate?);
    let Some(pstate) = pstate else {
        return Some((speeds, PowerState::default()));
    };
    let (span, number) = (pstate.span(), pstate.get_ref().0);
    if number as usize >= speeds.count() {
        let last = speeds.count() - 1;
        let problem = format!("there is no power state {number}");
        let expected = format!("\"speed\" has the power states 0 to {last}");
        collector.add(span, problem, expected, None);
        return None;
    }
    Some((speeds, *pstate.get_ref()))
}
