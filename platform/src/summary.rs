//! A platform in a few lines: counts and parameters.

use std::fmt;

use crate::{Factors, NetworkParameters, Platform};

/// Prints counts of hosts, clusters, links and routes, the model and its parameters; made by [`Platform::summary`].
#[derive(Clone, Copy, Debug)]
pub struct Summary<'p>(pub(crate) &'p Platform);

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let platform = self.0;
        if let Some(name) = platform.name() {
            writeln!(f, "name      {name}")?;
        }
        writeln!(
            f,
            "hosts     {} ({} single, {} in clusters)",
            platform.host_count,
            platform.singles.len(),
            platform.host_count as usize - platform.singles.len()
        )?;
        for named in &platform.file.clusters {
            let entry = &named.entry;
            writeln!(
                f,
                "cluster   {}: {}, {} hosts of {} x {}, links of {} and {}, {}",
                named.name.get_ref(),
                entry.hosts.text(),
                entry.hosts.count(),
                entry.cores,
                entry.speed,
                entry.link.bandwidth,
                entry.link.latency,
                match &entry.backbone {
                    Some(backbone) => format!("backbone of {}", backbone.bandwidth),
                    None => "no backbone".to_owned(),
                }
            )?;
        }
        // The implicit loopback is always there and not worth counting.
        writeln!(f, "links     {}", platform.wire_count - 1)?;
        writeln!(
            f,
            "routes    {} declared, in clusters computed",
            platform.routes.len()
        )?;
        let network = platform.network();
        let model = network.model;
        writeln!(f, "network   {}: {}", model.name(), model.summary())?;
        parameters(f, network)?;
        let threshold = &platform.protocol().eager_threshold;
        write!(
            f,
            "protocol  eager below {threshold}, rendezvous from there on"
        )
    }
}

/// The parameters that are not those of the plain model.
fn parameters(f: &mut fmt::Formatter<'_>, network: &NetworkParameters) -> fmt::Result {
    if network.compat.is_some() {
        writeln!(f, "          with the quirks of SimGrid 4.1")?;
    }
    if let Some(duration) = &network.duration {
        writeln!(f, "          duration {duration}")?;
    }
    if let Some(factors) = &network.ib_penalty_factors {
        let crate::IbPenaltyFactors { be, bs, ys } = factors;
        writeln!(f, "          penalties be {be}, bs {bs}, ys {ys}")?;
    }
    let Some(fluid) = &network.fluid else {
        return Ok(());
    };
    for (name, factor) in [
        ("latency", &fluid.latency_factor),
        ("bandwidth", &fluid.bandwidth_factor),
    ] {
        match factor {
            Factors::Same(1.0) => {}
            Factors::Same(all) => writeln!(f, "          {name} x {all}")?,
            Factors::Steps(steps) => {
                write!(f, "          {name} x")?;
                for step in steps {
                    write!(f, " {} above {},", step.factor, step.above)?;
                }
                writeln!(f, " 1 below")?;
            }
        }
    }
    if fluid.rtt_penalty {
        let weight = &fluid.weight_s;
        writeln!(f, "          unfair by latency + {weight} / bandwidth")?;
    }
    if fluid.tcp_gamma.bytes() > 0 {
        writeln!(f, "          window {}", fluid.tcp_gamma)?;
    }
    if fluid.crosstraffic > 0.0 {
        let share = fluid.crosstraffic;
        writeln!(f, "          {share} of each rate on the way back")?;
    }
    if fluid.envelope.bytes() > 0 {
        writeln!(f, "          messages grow by {}", fluid.envelope)?;
    }
    Ok(())
}
