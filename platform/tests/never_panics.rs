//! Promise: no text makes the reader panic, hang or use much memory, and every mistake can be
//! shown.

use platform::Platform;
use proptest::prelude::*;
use proptest::sample::Index;
use testing::readers::toml as survive;

const FILES: [&str; 5] = [
    include_str!("../../platforms/cluster.toml"),
    include_str!("../../platforms/two-hosts.toml"),
    include_str!("../../platforms/grid.toml"),
    r#"version = 1
network = { model = "ib", latency_factor = [{ above = "1kB", factor = 2 }], loopback = { latency = "1us" }, ib_penalty_factors = { be = 1, bs = 2.5, ys = 3 } }
hosts = { a = { speed = "1Gf", cores = 2, disks.d = { read_bandwidth = "1GBps", write_bandwidth = "2GBps" } }, b = { speed = "1.5e3f" } }
[links]
one = { bandwidth = "1Gbps", latency = "1us", sharing = "split-duplex" }
"two µ" = { bandwidth = "8Kibps", latency = "1µs", sharing = "fatpipe" }
[clusters.c]
hosts = "n[0-3,08-11]x"
speed = "1Gf"
bandwidth = "1GB/s"
latency = "0s"
loopback = { bandwidth = "10GBps", latency = "1ns" }
disks = { d = { read_bandwidth = "1GBps", write_bandwidth = "2GBps", total_bandwidth = "2.5GBps" } }
[[routes]]
from = "a"
to = "c"
links = ["one", { link = "one", direction = "down" }, "two µ"]
symmetric = false
"#,
    r#"version = 1
routing = "dijkstra"
routers = ["r"]
links = { w = { bandwidth = "1Gbps", latency = "1us" }, v = { bandwidth = "1Gbps", latency = "1us" } }
[clusters.t]
topology = "fat-tree"
hosts = "t[0-3]"
speed = "1Gf"
bandwidth = "1GB/s"
latency = "1s"
down = [2, 2]
up = [1, 2]
cables = [1, 2]
limiter = "2GBps"
compat = "simgrid-4.1"
gateway = "t0"
[clusters.d]
topology = "dragonfly"
hosts = "d[0-7]"
speed = "1Gf"
bandwidth = "1GB/s"
latency = "1s"
groups = 2
chassis = 2
routers = 2
nodes = 1
to_itself = "links"
[clusters.o]
topology = "torus"
hosts = "o[0-11]"
dimensions = [2, 3, 2]
speed = "1Gf"
bandwidth = "1GB/s"
latency = "1s"
[zones.s]
routing = "vivaldi"
gateway = "h"
coordinates = [1, 2.5, 3]
hosts = { h = { speed = "1f", coordinates = [1, 2, 3] } }
routes = [{ from = "h", to = "*", links = ["v"] }]
[zones.cell]
routing = "wifi"
gateway = "ap"
routers = ["ap"]
wifi = { bandwidths = ["54Mbps", "36Mbps"], decay = true, name = "air" }
hosts = { phone = { speed = "1f", wifi_level = 1 }, tablet = { speed = "1f" } }
[zones.s.zones.i]
routing = "floyd"
routers = ["q"]
[[routes]]
from = "t"
to = "r"
links = ["w"]
[[routes]]
from = "r"
to = "o"
gateway_to = "o3"
links = ["w", "v"]
[[routes]]
from = "s"
to = "r"
links = ["w"]
[[routes]]
from = "cell"
to = "r"
links = ["w"]
"#,
];

/// Pieces that have a meaning somewhere in the format.
const PIECES: [&str; 24] = [
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "\"",
    "=",
    ",",
    ".",
    "-",
    "\n",
    "0",
    "9999999999999999999",
    "1e999",
    "inf",
    "nan",
    "true",
    "µ",
    "\u{feff}",
    "\0",
    "[hosts.a]",
    "[0-67108863]",
    "version = 1",
];

/// A change of a text: the place and length to cut out, and the text to insert there.
type Edit = (Index, usize, Index, bool);

fn edited(text: &str, edits: &[Edit]) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    for (at, cut, piece, copy) in edits {
        let at = at.index(letters.len() + 1);
        let end = (at + cut).min(letters.len());
        let put: Vec<char> = if *copy {
            // A piece of the file itself, in the wrong place.
            let from = piece.index(letters.len() + 1);
            letters[from..(from + 20).min(letters.len())].to_vec()
        } else {
            PIECES[piece.index(PIECES.len())].chars().collect()
        };
        letters.splice(at..end, put);
    }
    letters.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn mutations_of_valid_files(
        file in 0..FILES.len(),
        edits in prop::collection::vec((any::<Index>(), 0_usize..8, any::<Index>(), any::<bool>()), 0..6),
    ) {
        survive(&edited(FILES[file], &edits));
    }

    #[test]
    fn any_text(text in any::<String>()) {
        survive(&text);
    }

    #[test]
    fn any_quantity_and_pattern(text in "[-+.0-9a-zA-Zµ/\\[\\], ]{0,24}") {
        let text = &text;
        survive(&format!("version = 1\n[clusters.c]\nhosts = \"{text}\"\nspeed = \"{text}\"\nbandwidth = \"{text}\""));
        survive(&format!(
            "version = 1\n[clusters.c]\nhosts = \"{text}\"\nspeed = \"1f\"\nbandwidth = \"1Bps\"\nlatency = \"1s\""
        ));
    }
}

#[test]
fn the_files_are_platforms() {
    for file in FILES {
        Platform::parse("file.toml", file).unwrap_or_else(|error| panic!("{error}"));
    }
}

proptest! {
    #[test]
    fn any_change(path in "[a-z*.\"]{0,12}(links|routes|clusters|0|\\.|\\*){0,5}", value in "[*=.0-9a-zGbps\\[\\]]{0,9}") {
        let platform = Platform::parse("file.toml", FILES[3]).expect("a platform");
        if let Ok(change) = format!("{path}={value}").parse() {
            let _ = platform.with_overrides("file.toml", &[change]);
        }
    }
}

#[test]
fn deep_nesting_and_long_lines_are_refused_in_time() {
    survive(&"[".repeat(100_000));
    survive(&format!("version = 1\na = {}", "{ a = ".repeat(50_000)));
    survive(&format!(
        "version = 1\nname = \"{}\"",
        "x".repeat(1_000_000)
    ));
    survive(&format!("version = 1\n{} = 1", "x".repeat(1_000_000)));
    let routes = "[[routes]]\nfrom = \"a\"\nto = \"b\"\nlinks = [\"c\"]\n".repeat(2_000);
    survive(&format!("version = 1\n{routes}"));
}
