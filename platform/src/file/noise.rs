//! Reading `[noise]`.
//!
//! Zeros are accepted: a study varies noise from none on.

use toml::Spanned;
use toml::de::DeValue;

use super::network::NotNegative;
use super::section::{Collector, Section};
use crate::network::NetworkParameters;
use crate::noise::{ComputeNoise, LinkNoise, Noise};
use crate::units::Duration;

/// Reads the table into `noise`.
pub(super) fn noise(
    collector: &mut Collector,
    value: &Spanned<DeValue<'_>>,
    network: &NetworkParameters,
    noise: &mut Noise,
) {
    let keys = ["compute", "links"];
    let section = collector.section(value, value.span(), "noise table".to_owned(), &keys);
    let Some(section) = section else { return };
    let mut table = |key: &str, known: &[&'static str]| {
        let value = section.get(key)?;
        let what = format!("noise.{key} table");
        collector.section(value, value.span(), what, known)
    };
    let compute = table("compute", &["period", "detour", "variation"]);
    let links = table("links", &["latency"]);
    if let Some(inner) = compute {
        read_compute(collector, &inner, &mut noise.compute);
    }
    if let Some(inner) = links {
        read_links(collector, &inner, network, &mut noise.links);
    }
}

/// Greatest coefficient of variation of computations: with larger values, nearly all computations
/// take no time, and a few computations take all of the time. \[choice\]
const VARIATION_MAX: f64 = 10.0;

fn read_compute(collector: &mut Collector, section: &Section<'_>, compute: &mut ComputeNoise) {
    compute.period = collector.optional(section, "period").flatten();
    compute.detour = collector.optional(section, "detour").flatten();
    let variation = collector.optional(section, "variation").flatten();
    compute.variation = variation.map_or(0.0, |NotNegative(number)| number);
    if let Some(value) = section
        .get("variation")
        .filter(|_| compute.variation > VARIATION_MAX)
    {
        let problem = format!("variation {}", compute.variation);
        let expected = "expected at most 10, the coefficient of variation";
        collector.add(value.span(), problem, expected, None);
    }
    // Where one of them is wrong, that is a mistake already.
    match (section.get("period"), section.get("detour")) {
        (Some(period), None) => {
            let problem = "period without detour".to_owned();
            let expected = "expected the length of each detour, for example detour = \"25us\"";
            collector.add(period.span(), problem, expected, None);
        }
        (None, Some(detour)) => {
            let problem = "detour without period".to_owned();
            let expected = "expected the time between detours, for example period = \"1ms\"";
            collector.add(detour.span(), problem, expected, None);
        }
        _ => {}
    }
    let (Some(period), Some(detour)) = (&compute.period, &compute.detour) else {
        return;
    };
    if detour.as_secs() >= period.as_secs()
        && let Some(value) = section.get("detour")
    {
        let problem = format!("detour of {detour} in a period of {period}");
        let expected = "expected a detour shorter than its period";
        collector.add(value.span(), problem, expected, None);
    }
}

fn read_links(
    collector: &mut Collector,
    section: &Section<'_>,
    network: &NetworkParameters,
    links: &mut LinkNoise,
) {
    links.latency = collector.optional::<Duration>(section, "latency").flatten();
    let Some(value) = section.get("latency") else {
        return;
    };
    let without_flows = match network.device {
        Some(_) => "[network] device = \"verbs\"".to_owned(),
        None if network.fluid.is_none() => format!("[network] model {:?}", network.model.name()),
        None => return,
    };
    let problem = format!("noise of links with {without_flows}");
    let expected = "expected a model whose transfers cross links, such as \"flow\"";
    collector.add(value.span(), problem, expected, None);
}
