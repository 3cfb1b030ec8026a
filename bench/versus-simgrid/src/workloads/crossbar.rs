//! The platform of the network workloads: equal hosts around one switch, each with a split-duplex
//! link. Twin: the class `Crossbar` in `cpp/crossbar.hpp`.

use std::rc::Rc;
use std::sync::Arc;

use platform::{HostNames, Platform};
use sim_core::Simulation;

/// A simulation on a crossbar of `hosts` hosts, model LV08.
pub(crate) fn simulation(hosts: u64) -> Simulation {
    simulation_on(Arc::new(crossbar_platform(hosts, "lv08")))
}

/// A crossbar of `hosts` hosts under a model.
pub(crate) fn crossbar_platform(hosts: u64, model: &str) -> Platform {
    let last = hosts - 1;
    let text = format!(
        "version = 1\n[network]\nmodel = \"{model}\"\n[clusters.nodes]\nhosts = \"node-[0-{last}]\"\n\
         speed = \"1Gf\"\nbandwidth = \"1.25GBps\"\nlatency = \"10us\"\n"
    );
    Platform::parse("crossbar.toml", &text).expect("the platform is well-formed")
}

/// A simulation on any platform.
pub(crate) fn simulation_on(platform: Arc<Platform>) -> Simulation {
    let names = Rc::new(HostNames(Arc::clone(&platform)));
    Simulation::new(models::model(platform), names, 0)
}
