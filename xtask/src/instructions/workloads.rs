//! The programs with counted instructions. Their rows in `results/instructions.md` have the goals.

/// A program that runs twice, with two lengths.
pub(super) struct Workload {
    pub(super) name: &'static str,
    /// Arguments of `cargo build`.
    pub(super) build: &'static [&'static str],
    /// In the folder of the release build.
    pub(super) program: &'static str,
    /// With the words LENGTH and, for a file that is not kept, FILE in them.
    pub(super) arguments: &'static str,
    pub(super) short: &'static str,
    pub(super) long: &'static str,
    /// The divisor of the difference of the counts.
    pub(super) per: Per,
}

/// A number of messages, transitions, yields, sleeps or interactions.
pub(super) enum Per {
    /// The difference of the two lengths.
    Known(u64),
    /// The difference of the transitions that the checker reports.
    Transition,
}

/// 64 ranks, each with one message in a round; 100 rounds more.
const fn ring(name: &'static str, arguments: &'static str) -> Workload {
    Workload {
        name,
        build: &["-p", "ring"],
        program: "ring",
        arguments,
        short: "20",
        long: "120",
        per: Per::Known(6_400),
    }
}

pub(super) const ALL: &[Workload] = &[
    ring(
        "ring, flow",
        "-p platforms/cluster.toml -n 64 -q -- --size 1KiB --rounds LENGTH",
    ),
    ring(
        "ring, smpi",
        "-p platforms/cluster.toml -n 64 -q --set network.model=smpi -- --size 1KiB --rounds LENGTH",
    ),
    ring(
        "ring, loggops",
        "-p platforms/loggops.toml -n 64 -q -- --size 1KiB --rounds LENGTH",
    ),
    ring(
        "ring, flow, 64 in flight",
        "-p platforms/cluster.toml -n 64 -q -- --size 1KiB --tokens 64 --rounds LENGTH",
    ),
    ring(
        "ring, flow, skewed",
        "-p platforms/cluster.toml -n 64 -q -- \
         --size 1KiB --tokens 64 --skew 1e-5 --rounds LENGTH",
    ),
    ring(
        "ring, flow, observed",
        "-p platforms/cluster.toml -n 64 -q --log-events FILE -- --size 1KiB --rounds LENGTH",
    ),
    ring(
        "ring, loggops, 64 in flight",
        "-p platforms/loggops.toml -n 64 -q -- --size 1KiB --tokens 64 --rounds LENGTH",
    ),
    Workload {
        name: "yield",
        build: &["-p", "simrun-sim-core", "--example", "yield"],
        program: "examples/yield",
        arguments: "LENGTH",
        short: "1000",
        long: "11000",
        per: Per::Known(20_000),
    },
    Workload {
        name: "sleep, 3e4 actors",
        build: &["-p", "simrun-sim-core", "--example", "sleep"],
        program: "examples/sleep",
        arguments: "LENGTH",
        short: "2",
        long: "12",
        per: Per::Known(300_000),
    },
    Workload {
        name: "check philosophers",
        build: &["-p", "philosophers"],
        program: "philosophers",
        arguments: "check -q --format json -n LENGTH",
        short: "5",
        long: "8",
        per: Per::Transition,
    },
    Workload {
        name: "check task-farm",
        build: &["-p", "task-farm"],
        program: "task-farm",
        arguments: "check -q --format json --protocol eager -n LENGTH",
        short: "5",
        long: "7",
        per: Per::Transition,
    },
    Workload {
        name: "fuzz",
        build: &["-p", "simrun-tools"],
        program: "simrun-tools",
        arguments: "fuzz --tries LENGTH",
        short: "500",
        long: "1500",
        per: Per::Known(1_000),
    },
];
