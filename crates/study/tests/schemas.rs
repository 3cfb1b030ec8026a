//! Promise: the JSON Schemas of `simrun platform schema` have the keys, words and units of the
//! readers, and accept the files of this checkout.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use collectives::{Collective, Selector};
use platform::Platform;
use platform::units::{BandwidthKind, DurationKind, Kind, SizeKind, SpeedKind};
use serde_json::{Value as Json, json};
use study::Study;

/// Sets of words: the keys of each table, or the values of each key.
type Lists = BTreeSet<BTreeSet<String>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn schema(name: &str) -> Json {
    let path = root().join(format!("crates/cli/schemas/{name}.schema.json"));
    let text = fs::read_to_string(path).expect("a schema");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn files_are_valid_without_unknown_keys() {
    for (name, folders) in [
        ("platform", ["platforms", "crates/cli/src/new"]),
        ("study", ["studies", "studies/optimise"]),
        ("selector", ["crates/collectives/selectors"; 2]),
    ] {
        let validator = jsonschema::draft7::new(&schema(name)).expect("a schema");
        let entries = folders.map(|folder| fs::read_dir(root().join(folder)).expect("a folder"));
        let paths = entries.into_iter().flatten();
        let paths = paths.map(|entry| entry.expect("an entry").path());
        let mut count = 0;
        for path in paths.filter(|path| path.extension().is_some_and(|end| end == "toml")) {
            let text = fs::read_to_string(&path).expect("a file");
            let mut file: Json = toml::from_str(&text).expect("TOML");
            let mistakes = validator.iter_errors(&file);
            let mistakes =
                mistakes.map(|mistake| format!("{}: {mistake}", mistake.instance_path()));
            assert_eq!(mistakes.collect::<Vec<_>>(), [""; 0], "{}", path.display());
            file["unknown"] = json!(1);
            assert!(!validator.is_valid(&file), "{}", path.display());
            count += 1;
        }
        assert!(count > 1, "{name}");
    }
}

/// Adds the keys of all tables that refuse other keys, and the values of all keys with words.
fn add_lists(schema: &Json, keys: &mut Lists, words: &mut Lists) {
    if schema["additionalProperties"] == false {
        let properties = schema["properties"].as_object().expect("properties");
        keys.insert(properties.keys().cloned().collect());
    }
    if let Some(values) = schema["enum"].as_array() {
        let values = values.iter().filter_map(Json::as_str);
        words.insert(values.map(str::to_owned).collect());
    }
    match schema {
        Json::Object(map) => map.values().for_each(|part| add_lists(part, keys, words)),
        Json::Array(list) => list.iter().for_each(|part| add_lists(part, keys, words)),
        _ => {}
    }
}

/// Returns the keys and the words of a schema.
fn lists(name: &str) -> (Lists, Lists) {
    let (mut keys, mut words) = (Lists::new(), Lists::new());
    add_lists(&schema(name), &mut keys, &mut words);
    (keys, words)
}

/// Returns the lists of a reader's messages, behind a text and with a separator.
fn told(messages: &str, before: &str, separator: &str) -> Lists {
    let lists = messages.lines().filter_map(|line| line.split_once(before));
    let list = |(_, list): (&str, &str)| {
        let list = list.split("; did you mean").next().unwrap_or_default();
        let words = list.split(separator);
        words.map(|word| word.replace(['`', '"'], "")).collect()
    };
    lists.map(list).collect()
}

/// An unknown key in each table of a platform file, and in the tables of other models.
const TABLES: [&str; 3] = [
    r#"
version = 1
unknown = 1
wifi.unknown = 1
network = { unknown = 1, device = "verbs", latency_factor = [{ unknown = 1 }], message_latency = [{ unknown = 1 }], os = [{ unknown = 1 }], pair_duplex = { unknown = 1 }, loopback = { unknown = 1 }, verbs = { unknown = 1, faults = { unknown = 1 } } }
protocol.unknown = 1
connection = { unknown = 1, endpoints = { unknown = 1 } }
collectives = { unknown = 1, bcast = { unknown = 1 } }
memory.unknown = 1
noise = { unknown = 1, compute = { unknown = 1 }, links = { unknown = 1 } }
hosts.a = { unknown = 1, speed_profile = { unknown = 1 }, disks = { d = { unknown = 1 } } }
links.l.unknown = 1
clusters.c = { unknown = 1, backbone = { unknown = 1 }, host_overrides = { n = { unknown = 1 } }, link_overrides = { n = { unknown = 1 } } }
zones.z.unknown = 1
routes = [{ unknown = 1, from = "a", to = "a", links = [{ unknown = 1 }] }]
"#,
    "version = 1\nnetwork = { model = 'loggops', loopback = { unknown = 1 } }",
    "version = 1\nnetwork = { model = 'ib', ib_penalty_factors = { unknown = 1 } }",
];

/// An unknown word for each key of a platform file that has words.
const WORDS: [&str; 2] = [
    r#"
version = 1
routing = "unknown"
to_itself = "unknown"
network.model = "unknown"
protocol = { rendezvous = "unknown", control_messages = "unknown", ssend_protocol = "unknown", ready_send = "unknown", transport = "unknown" }
connection = { mode = "unknown", descriptor_limit_policy = "unknown", endpoints = { kind = "unknown" } }
collectives.setup = "unknown"
hosts.a = { speed = "1Gf", state_profile = { points = [["0s", "unknown"]] } }
links.l = { bandwidth = "1Gbps", latency = "0s", sharing = "unknown" }
clusters.c = { hosts = "n[0-1]", speed = "1Gf", bandwidth = "1Gbps", latency = "0s", topology = "unknown" }
routes = [{ from = "a", to = "a", links = [{ link = "l", direction = "unknown" }] }]
"#,
    "version = 1\nnetwork = { device = 'unknown', compat = 'unknown' }",
];

fn platform_mistakes(files: &[&str]) -> String {
    let mistakes = files.iter().map(|file| {
        let error = Platform::parse("p.toml", file).expect_err("mistakes");
        format!("{error}\n")
    });
    mistakes.collect()
}

#[test]
fn the_schema_of_platforms_has_the_keys_and_words_of_the_reader() {
    let (keys, words) = lists("platform");
    let told_keys = told(&platform_mistakes(&TABLES), " can have the keys ", ", ");
    assert_eq!(keys, told_keys);
    let told_words = told(&platform_mistakes(&WORDS), ": expected \"", "\" or \"");
    assert_eq!(told_words.len(), 18, "{told_words:?}");
    let missing: Vec<_> = told_words.difference(&words).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_schema_of_studies_has_the_keys_of_the_reader() {
    let text = "unknown = 1\noptimise.unknown = 1\nvary.x = 1\nreplicate.unknown = 1\n\
                limits.unknown = 1\nmeasure.t.unknown = 1\n";
    let error = Study::parse("STUDY.toml", text).expect_err("mistakes");
    let told = told(
        &error.to_string(),
        "unknown key \"unknown\": expected one of ",
        ", ",
    );
    assert_eq!(lists("study").0, told);
}

/// The keys of the file itself have no list in the reader.
#[test]
fn the_schema_of_selectors_has_the_keys_of_the_reader() {
    let head = "version = 1\nname = 'x'\n";
    let tables = ["bcast = [{ unknown = 1 }]", "nccl.unknown = 1"];
    let mistakes = tables.map(|table| {
        let read = Selector::parse(&format!("{head}{table}\n"));
        read.expect_err("a mistake")
    });
    let mut expected = told(&mistakes.join("\n"), "expected one of ", ", ");
    let own = "version name source base asks_nodes smpi_communicators nccl".split(' ');
    let operations = Collective::ALL.map(Collective::name);
    expected.insert(own.chain(operations).map(str::to_owned).collect());
    assert_eq!(lists("selector").0, expected);
}

#[test]
fn quantities_have_the_units_of_the_reader() {
    fn check<K: Kind>(name: &str) {
        for file in ["platform", "study"] {
            let schema = schema(file);
            let Some(quantity) = schema["definitions"].get(name) else {
                continue;
            };
            let accepts = |text: &str| jsonschema::is_valid(quantity, &json!(text));
            for unit in K::UNITS {
                assert!(accepts(&format!("1.5e3 {}", unit.name)), "{}", unit.name);
            }
            for text in ["1", "fast", "1x", "-1s", "1..2s"] {
                assert!(!accepts(text), "{name}: {text}");
            }
        }
    }
    check::<SizeKind>("size");
    check::<DurationKind>("duration");
    check::<BandwidthKind>("bandwidth");
    check::<SpeedKind>("speed");
}
