//! Promise: `[noise]` is read with units, shown and written back, and reached by overrides.

use platform::{Override, Platform};

const HOSTS: &str = "version = 1\nhosts.a.speed = \"1Gf\"\n";

fn read(rest: &str) -> Result<Platform, String> {
    Platform::parse("n.toml", &format!("{HOSTS}{rest}\n")).map_err(|error| error.to_string())
}

fn with(changes: &[&str]) -> Result<Platform, String> {
    let changes = changes.iter().map(|text| text.parse::<Override>());
    let changes: Vec<Override> = changes.map(|it| it.expect("an override")).collect();
    let platform = read("").expect("a platform");
    let changed = platform.with_overrides("n.toml", &changes);
    changed.map_err(|error| error.to_string())
}

#[test]
fn without_the_table_there_is_no_noise() {
    let platform = read("").expect("a platform");
    assert!(!platform.to_toml().contains("noise"));
    assert!(!platform.summary().to_string().contains("noise"));
    assert_eq!(platform.noise().compute.detours(), None);
}

#[test]
fn every_key_is_read_shown_and_written() {
    let all = "[noise.compute]\nperiod = \"1ms\"\ndetour = \"25us\"\nvariation = 0.1\n\
               [noise.links]\nlatency = \"500ns\"";
    let platform = read(all).expect("a platform");
    let noise = platform.noise();
    assert_eq!(noise.compute.detours(), Some((1e-3, 25e-6)));
    assert_eq!(
        (noise.compute.variation, noise.links.latency_s()),
        (0.1, 5e-7)
    );
    let shown = "\nnoise     computation stops for 25us every 1ms\
                 \n          computation times vary by a lognormal factor, coefficient of variation 0.1\
                 \n          latencies of links grow by an exponential time of mean 500ns";
    let summary = platform.summary().to_string();
    assert!(summary.ends_with(shown), "{summary}");
    let again = Platform::parse("again.toml", &platform.to_toml()).expect("the same");
    assert_eq!(again.noise(), noise);
}

#[test]
fn overrides_need_no_table_in_the_file() {
    let platform = with(&["noise.compute.period=1ms", "noise.compute.detour=25us"]);
    let noise = platform.expect("a platform").noise().clone();
    assert_eq!(noise.compute.detours(), Some((1e-3, 25e-6)));
    let platform = with(&["noise.links.latency=1us"]).expect("a platform");
    assert_eq!(platform.noise().links.latency_s(), 1e-6);
    let error = with(&["noise.links.latency*=2"]).expect_err("nothing to multiply");
    assert!(
        error.contains("nothing in noise.links is called"),
        "{error}"
    );
    let error = with(&["noise.disks.latency=1us"]).expect_err("no such noise");
    assert!(error.contains("unknown key \"disks\""), "{error}");
    let error = with(&["noise.compute.period=1ms"]).expect_err("no detour");
    assert!(error.contains("period without detour"), "{error}");
}

#[test]
fn zeros_are_no_noise() {
    let text = "[noise]\ncompute = { period = \"1ms\", detour = \"0s\", variation = 0 }\n\
                links = { latency = \"0s\" }";
    let platform = read(text).expect("a platform");
    let noise = platform.noise();
    assert_eq!(
        (noise.compute.detours(), noise.links.latency_s()),
        (None, 0.0)
    );
}
