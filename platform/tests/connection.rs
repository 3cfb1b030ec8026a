//! Promise: `[connection]` says how ranks get connected, in units.

use platform::{Override, Platform};
use settings::{AtLimit, ConnectionMode};

fn read(section: &str) -> Result<Platform, String> {
    let text = format!("version = 1\nhosts.a.speed = \"1Gf\"\n[connection]\n{section}\n");
    Platform::parse("c.toml", &text).map_err(|error| error.to_string())
}

#[test]
fn without_the_section_connections_are_instant() {
    let platform = Platform::parse("c.toml", "version = 1\nhosts.a.speed = \"1Gf\"\n");
    let platform = platform.expect("a platform");
    let connection = platform.connection();
    assert_eq!(connection.mode, ConnectionMode::Instant);
    assert!(!platform.summary().to_string().contains("connect "));
    let printed = platform.to_toml();
    assert!(
        printed.contains("[connection]\nmode = \"instant\"\ndescriptor_limit_policy = \"wait\"\n"),
        "{printed}"
    );
}

#[test]
fn every_key_is_read_shown_and_written() {
    let all = "mode = \"on-demand\"\ndescriptors = 1000\ndescriptor_limit_policy = \"fail\"\nidle_timeout = \"10ms\"\n\
               connect_time = \"1us\"\naccept_time = \"2us\"\nmessage_time = \"3us\"\ntransport_packet_size = \"66B\"\n\
               request_size = \"100B\"\nresponse_size = \"101B\"\nclose_size = \"102B\"";
    let platform = read(all).expect("a platform");
    let connection = platform.connection();
    assert_eq!(connection.mode, ConnectionMode::OnDemand);
    assert_eq!(
        (connection.descriptors, connection.at_limit),
        (Some(1000), AtLimit::Fail)
    );
    assert_eq!(
        connection.idle_close.as_ref().map(|idle| idle.as_secs()),
        Some(0.01)
    );
    let times = [
        &connection.connect_time,
        &connection.accept_time,
        &connection.message_time,
    ];
    assert_eq!(times.map(|time| time.as_secs()), [1e-6, 2e-6, 3e-6]);
    let sizes = [
        &connection.socket_size,
        &connection.request_size,
        &connection.response_size,
        &connection.close_size,
    ];
    assert_eq!(sizes.map(|size| size.bytes()), [66, 100, 101, 102]);
    let summary = platform.summary().to_string();
    let shown = "\nconnect   on demand; 1us to open, 2us to accept, 3us per message\
                 \n          packets: socket 66B, request 100B, answer 101B, close 102B\
                 \n          at most 1000 sockets per rank: idle ones are closed, without any sends fail\
                 \n          closed when idle for 10ms";
    assert!(summary.ends_with(shown), "{summary}");
    let again = Platform::parse("again.toml", &platform.to_toml()).expect("the same");
    assert_eq!(again.connection(), connection);
}

#[test]
fn endpoints_may_share_initiators() {
    let key = "endpoints = { kind = \"dc\", above = 60, initiators = 8 }";
    let platform = read(key).expect("a platform");
    let connection = platform.connection();
    assert_eq!(connection.initiators_among(60), None);
    assert_eq!(connection.initiators_among(61), Some(8));
    let summary = platform.summary().to_string();
    let shown = "\nconnect   DC endpoints above 60 ranks, 8 initiators per rank";
    assert!(summary.ends_with(shown), "{summary}");
    let again = Platform::parse("again.toml", &platform.to_toml()).expect("the same");
    assert_eq!(again.connection(), connection);
}

#[test]
fn all_wrong_values_are_answered() {
    let both = read("mode = 1\ndescriptors = \"many\"").expect_err("two mistakes");
    assert_eq!(both.lines().count(), 2, "{both}");
}

#[test]
fn connections_can_be_changed_before_a_run() {
    let change: Override = "connection.mode=static".parse().expect("a change");
    let text = "version = 1\nhosts.a.speed = \"1Gf\"\n";
    let platform = Platform::parse("c.toml", text).expect("a platform");
    let changed = platform
        .with_overrides("c.toml", &[change])
        .expect("a platform");
    assert_eq!(changed.connection().mode, ConnectionMode::Static);
}
