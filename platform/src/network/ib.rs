//! The model `ib`: concurrent transfers on InfiniBand slow each other more than with fair sharing.
//!
//! As `cm02` with `weight_s` = 8775 bytes, and a penalty: the limit of each transfer (the slowest
//! link of its route, its window, its own rate) is divided by the penalty. The penalty follows from
//! the hosts that exchange transfers at the moment, from the start of a transfer (latency included)
//! to its end; transfers from a host to itself do not count. For a transfer from s to d, with β_e =
//! `be`, β_s = `bs`, γ_s = `ys` of `ib_penalty_factors`:
//!
//! - outgoing: 1 if s has one outgoing transfer; if s has n, the maximum over these transfers of `n
//!   β_s γ_s` if the target has more than two incoming transfers, else `n β_s`: one maximum for the
//!   whole host;
//! - incoming: 1 if d has one incoming transfer; otherwise (transfers from s to d) × β_e × (hosts
//!   that send to d);
//! - the penalty is the larger of the two.
//!
//! The rest is unchanged: the transfer is still shared max-min fairly.
//!
//! *Not modelled*: credits and buffers of switches, which cause these penalties; the place in the
//! network where the transfers meet. A user could observe that two transfers from one host to
//! far-apart targets are slowed as if they met.
//!
//! Source: J. Vienne, "Prédiction de performances d'applications de calcul haute performance sur
//! réseau Infiniband", thesis, Grenoble 2010; constants `smpi/IB-penalty-factors` and
//! `network/weight-S` of `SimGrid` v4.1. SimGrid's implementation counts starts twice (mailboxes)
//! or not at all (MPI); this model follows the description, not that behaviour.

use super::cm02::tcp;
use super::parameters::{
    FluidParameters, IbPenaltyFactors, ModelRow, NetworkModel, NetworkParameters, size,
};

/// The row of the model in the list of all.
pub(super) const MODEL: NetworkModel = NetworkModel(&ModelRow {
    name: "ib",
    summary: "cm02 with penalties of concurrent transfers on InfiniBand",
    preset,
});

/// `cm02` with penalties.
fn preset() -> NetworkParameters {
    let fluid = FluidParameters {
        weight_s: size("8775B"),
        ..tcp()
    };
    NetworkParameters {
        ib_penalty_factors: Some(IbPenaltyFactors {
            be: 0.965,
            bs: 0.925,
            ys: 1.35,
        }),
        ..NetworkParameters::of_fluid(MODEL, fluid)
    }
}
