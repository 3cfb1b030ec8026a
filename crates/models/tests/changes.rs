//! Promise: a change during a run takes effect at that instant, and a host or link that is off
//! fails all activities on it.

use platform::profile::{Change, Profile, Target};
use sim_core::{Controllable, End, Resource, Span};
use testing::lab::{Lab, UNLIMITED};

/// Hosts a, b, c (of 1 core, 2 cores, 1 core); a link of 100 MB/s and 1 ms from a to b, another
/// from a to c.
fn star(network: &str) -> Lab {
    Lab::new(&format!(
        r#"
        version = 1
        network = {{ {network} }}
        hosts = {{ a = {{ speed = "1Gf" }}, b = {{ speed = "1Gf", cores = 2 }}, c = {{ speed = "10f" }} }}
        [links]
        L = {{ bandwidth = "100MBps", latency = "1ms" }}
        M = {{ bandwidth = "100MBps", latency = "1ms" }}
        [[routes]]
        from = "a"
        to = "b"
        links = ["L"]
        [[routes]]
        from = "a"
        to = "c"
        links = ["M"]
        "#
    ))
}

#[test]
fn bandwidth_and_latency_under_a_transfer() {
    // The reference's dates. raw: 1 ms, 0.999e8 bytes until 1 s, the other 1.001e8 at 5e7 bytes/s;
    // the new latency is for others.
    for (model, wanted) in [("raw", 3.002), ("cm02", 3.202), ("lv08", 3.3559169072165)] {
        let mut lab = star(&format!("model = \"{model}\""));
        let link = lab.link("a", "b");
        lab.send("a", "b", 2e8);
        lab.wait_until(1.0);
        lab.change(Change::Bandwidth(link, 5e7));
        lab.wait_until(1.5);
        lab.change(Change::Latency(link, Span::from_millis(10.0)));
        lab.expect(&[(wanted, &[0])], 1e-13);
    }
}

#[test]
fn a_transfer_that_starts_later_pays_the_new_latency() {
    let mut lab = star("model = \"raw\"");
    let link = lab.link("a", "b");
    lab.send("a", "b", 0.0);
    lab.change(Change::Latency(link, Span::from_millis(10.0)));
    // The one that pays already is not touched, not even by a change to what it was.
    lab.change(Change::Latency(link, Span::from_millis(1.0)));
    lab.change(Change::Latency(link, Span::from_millis(10.0)));
    lab.send("a", "b", 1e6);
    lab.expect(&[(0.001, &[0]), (0.02, &[1])], 1e-13);
}

#[test]
fn a_faster_link_makes_transfers_faster_except_in_the_reference() {
    // 1e8 bytes until 1.001 s; then 1e8 more at twice the bandwidth, or still bound by the old one.
    for (compat, wanted) in [("", 1.501), (", compat = \"simgrid-4.1\"", 2.001)] {
        let mut lab = star(&format!("model = \"raw\"{compat}"));
        let link = lab.link("a", "b");
        lab.send("a", "b", 2e8);
        lab.wait_until(1.001);
        lab.change(Change::Bandwidth(link, 2e8));
        lab.expect(&[(wanted, &[0])], 1e-13);
    }
}

#[test]
fn a_new_latency_moves_the_shares() {
    // Penalties 1 : 1 at first. From 1.001 s on, with 1e8 of 2e8 bytes done in all, one route has 3
    // ms: a quarter and three quarters.
    let mut lab = Lab::new(
        r#"
        version = 1
        network.model = "raw"
        hosts = { a = { speed = "1f" }, b = { speed = "1f" }, c = { speed = "1f" } }
        [links]
        L = { bandwidth = "100MBps", latency = "1ms" }
        N = { bandwidth = "100GBps", latency = "0s" }
        [[routes]]
        from = "a"
        to = "b"
        links = ["L"]
        [[routes]]
        from = "c"
        to = "b"
        links = ["N", "L"]
        "#,
    );
    let link = lab.link("c", "b");
    lab.send("a", "b", 1.25e8);
    lab.send("c", "b", 1.25e8);
    lab.wait_until(1.001);
    lab.change(Change::Latency(link, Span::from_millis(2.0)));
    // 7.5e7 left of each: 1 s at 7.5e7 bytes/s; then 5e7 left at 1e8.
    lab.expect(&[(2.001, &[0]), (2.501, &[1])], 1e-12);
}

#[test]
fn a_link_that_goes_off_fails_what_is_on_it() {
    for model in ["flow", "raw", "cm02", "lv08"] {
        let mut lab = star(&format!("model = \"{model}\""));
        let link = lab.link("a", "b");
        lab.send("a", "b", 1e9);
        lab.send("b", "a", 1e9);
        lab.send("a", "c", 1e6);
        lab.wait_until(0.0005);
        assert_eq!(lab.next_end().expect("the other link").1, [2]);
        lab.wait_until(1.0);
        lab.change(Change::Link(link, false));
        let failed = vec![(0, End::Failed), (1, End::Failed)];
        assert_eq!(lab.next_end_of_any_kind(), Some((1.0, failed)));
        // What starts over it fails at once, elsewhere not; and it can come back.
        lab.send("a", "b", 1.0);
        assert_eq!(
            lab.next_end_of_any_kind(),
            Some((1.0, vec![(3, End::Failed)]))
        );
        lab.send("a", "c", 0.0);
        lab.change(Change::Link(link, true));
        lab.send("a", "b", 0.0);
        assert_eq!(lab.next_end().map(|(_, ended)| ended), Some(vec![4, 5]));
    }
}

#[test]
fn a_link_can_go_off_while_the_latency_is_paid_or_everything_is_suspended() {
    let mut lab = star("model = \"lv08\"");
    let link = lab.link("a", "b");
    lab.send("a", "b", 1e9);
    let suspended = lab.send("a", "b", 1e9);
    let cancelled = lab.send("a", "b", 1e9);
    let (model, now) = lab.model();
    model.set_suspended(suspended, true, now);
    lab.wait_until(0.005);
    lab.change(Change::Link(link, false));
    let (model, now) = lab.model();
    model.cancel(cancelled, now);
    let failed = vec![(0, End::Failed), (1, End::Failed)];
    assert_eq!(lab.next_end_of_any_kind(), Some((0.005, failed)));
    assert_eq!(lab.next_end_of_any_kind(), None);
}

#[test]
fn a_host_that_goes_off_fails_its_work_and_what_reaches_it() {
    let mut lab = star("model = \"flow\"");
    let host = lab.host("b");
    lab.exec("b", 1e10, 1.0, UNLIMITED);
    lab.exec("a", 1e9, 1.0, UNLIMITED);
    lab.send("a", "b", 1e9);
    lab.send("a", "c", 2e8);
    lab.wait_until(0.5);
    for _ in 0..2 {
        lab.change(Change::Host(host, false));
    }
    let mut switched = Vec::new();
    lab.model().0.take_switched(&mut switched);
    assert_eq!(switched, [(host, false)]);
    let failed = vec![(0, End::Failed), (2, End::Failed)];
    assert_eq!(lab.next_end_of_any_kind(), Some((0.5, failed)));
    lab.exec("b", 1.0, 1.0, UNLIMITED);
    assert_eq!(
        lab.next_end_of_any_kind(),
        Some((0.5, vec![(4, End::Failed)]))
    );
    lab.expect_first(&[(1.0, &[1])], 1e-13);
    lab.change(Change::Host(host, true));
    lab.exec("b", 5e8, 1.0, UNLIMITED);
    lab.expect(&[(1.5, &[5]), (2.001, &[3])], 1e-13);
}

#[test]
fn cores_priorities_and_bounds_of_computations() {
    // The reference's dates: 1, 2, 3 and 5 computations of 1e9 flop on 2 cores of 1e9 flop/s.
    for (count, wanted) in [(1, 1.0), (2, 1.0), (3, 1.5), (5, 2.5)] {
        let mut lab = star("model = \"lv08\"");
        let numbers: Vec<u64> = (0..count).collect();
        for _ in 0..count {
            lab.exec("b", 1e9, 1.0, UNLIMITED);
        }
        lab.expect(&[(wanted, &numbers)], 1e-13);
    }
    let mut lab = star("model = \"lv08\"");
    lab.exec("b", 1e9, 1.0, 2.5e8);
    lab.expect(&[(4.0, &[0])], 1e-13);
    // Priorities 2 and 1 on one core.
    let mut lab = star("model = \"lv08\"");
    lab.exec("a", 1e9, 2.0, UNLIMITED);
    lab.exec("a", 1e9, 1.0, UNLIMITED);
    lab.expect(&[(1.5, &[0]), (2.0, &[1])], 1e-13);
    // SimGrid's exec-basic: 98095 flop each on 98.095 Mflop/s.
    let mut lab = Lab::new("version = 1\nhosts.a.speed = \"98.095Mf\"");
    lab.exec("a", 98095.0, 2.0, UNLIMITED);
    lab.exec("a", 98095.0, 1.0, UNLIMITED);
    lab.expect(&[(0.0015, &[0]), (0.002, &[1])], 1e-13);
}

#[test]
fn computations_under_a_speed_profile() {
    // SimGrid's two_hosts_profiles: 10 flop/s, of which 1.0 from 0 s, 0.8 from 10 s, 0.4 from 20 s,
    // again from 30 s on.
    for (start, flops, end) in [
        (0.0, 40.0, 4.0),
        (10.0, 40.0, 15.0),
        (20.0, 40.0, 30.0),
        (0.0, 220.0, 30.0),
        // 220 per period, and 100 + 40 in the second one.
        (0.0, 360.0, 45.0),
        (95.0, 1.0, 95.1),
    ] {
        let mut lab = star("model = \"cm02\"");
        lab.add_profile(Profile {
            target: Target::Speed(lab.host("c")),
            count: 1,
            events: [(0.0, 1.0), (10.0, 0.8), (20.0, 0.4)].into(),
            period_s: Some(30.0),
            drawn: None,
        });
        lab.wait_until(start);
        lab.exec("c", flops, 1.0, UNLIMITED);
        lab.expect(&[(end, &[0])], 1e-13);
    }
}

#[test]
fn a_speed_or_bandwidth_of_zero_stops_without_failing() {
    // 10 of 20 flop in the first second, nothing for two; and 1e8 - 1e5 bytes in the first second.
    let mut lab = star("model = \"flow\"");
    let (host, link) = (lab.host("c"), lab.link("a", "b"));
    lab.exec("c", 20.0, 1.0, UNLIMITED);
    let sent = lab.send("a", "b", 2e8 - 1e5);
    lab.wait_until(1.0);
    lab.change(Change::Speed(host, 0.0));
    lab.change(Change::Bandwidth(link, 0.0));
    assert_eq!(lab.next_end(), None);
    lab.wait_until(3.0);
    assert!((lab.remaining(sent) - 1e8).abs() < 1e-3);
    lab.change(Change::Speed(host, 1.0));
    lab.change(Change::Bandwidth(link, 1e8));
    lab.expect(&[(4.0, &[0, 1])], 1e-12);
}

#[test]
fn transfers_under_profiles_of_links_and_hosts() {
    // 1e8 bytes/s, from 2 s on 2e7, from 4 s on 3e7, again from 10 s on: in a period, 2e8 - 1e5 +
    // 4e7 + 1.8e8.
    let mut lab = star("model = \"flow\"");
    let link = lab.link("a", "b");
    lab.add_profile(Profile {
        target: Target::Bandwidth(link),
        count: 2,
        events: [(0.0, 1e8), (2.0, 2e7), (4.0, 3e7)].into(),
        period_s: Some(10.0),
        drawn: None,
    });
    lab.send("a", "b", 4.199e8 + 1e8);
    lab.expect(&[(11.0, &[0])], 1e-13);
    // What would end when the link goes off fails: changes come first.
    let mut lab = star("model = \"flow\"");
    let link = lab.link("a", "b");
    lab.add_profile(Profile {
        target: Target::Link(link),
        count: 2,
        events: [(1.001, 0.0), (2.0, 1.0)].into(),
        period_s: None,
        drawn: None,
    });
    lab.send("a", "b", 1e8);
    assert_eq!(
        lab.next_end_of_any_kind(),
        Some((1.001, vec![(0, End::Failed)]))
    );
    lab.wait_until(2.0);
    lab.send("a", "b", 1e8);
    lab.expect(&[(3.001, &[1])], 1e-13);
}
