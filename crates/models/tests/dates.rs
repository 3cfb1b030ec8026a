//! Promise: the classic models give the dates of the reference simulator, and of closed forms where
//! they exist.
//!
//! Each test names the situation; the figures were computed by runs of `SimGrid` v4.1, with 12 to
//! 15 digits ("world one") or 6 decimals (its examples), and are re-derived in comments where there
//! is a closed form.

use sim_core::{End, Resource, Span, Time};
use testing::lab::{Lab, UNLIMITED};

/// Hosts a, b, c and a link of 100 MB/s and 1 ms between a and b; a further one of 10 GB/s and 2 ms
/// leads on to c.
fn world_one(network: &str, sharing: &str) -> Lab {
    Lab::new(&format!(
        r#"
        version = 1
        network = {{ {network} }}
        hosts = {{ a = {{ speed = "1Gf" }}, b = {{ speed = "1Gf" }}, c = {{ speed = "1Gf" }} }}
        [links]
        L = {{ bandwidth = "100MBps", latency = "1ms", sharing = "{sharing}" }}
        M = {{ bandwidth = "10GBps", latency = "2ms" }}
        W = {{ bandwidth = "10GBps", latency = "10ms" }}
        [[routes]]
        from = "a"
        to = "b"
        links = ["L"]
        [[routes]]
        from = "a"
        to = "c"
        links = ["L", "M"]
        [[routes]]
        from = "b"
        to = "c"
        links = ["W"]
        "#
    ))
}

#[track_caller]
fn alone(model: &str, sharing: &str, bytes: f64, wanted: f64) {
    let mut lab = world_one(&format!("model = \"{model}\""), sharing);
    lab.send("a", "b", bytes);
    lab.expect(&[(wanted, &[0])], 1e-13);
}

#[test]
fn a_latency_factor_of_zero_pays_no_latency() {
    // SimGrid 3.32 with `network/latency-factor:0`: 0.0105 for 1e6 bytes at 1e8 / 1.05 bytes/s.
    let mut lab = world_one("model = \"cm02\", latency_factor = 0", "shared");
    lab.send("a", "b", 1e6);
    lab.expect(&[(0.0105, &[0])], 1e-13);
    // By size: 1 up to 1 kB, then 0.
    let steps = "model = \"cm02\", latency_factor = [{ above = \"1kB\", factor = 0 }]";
    let mut lab = world_one(steps, "shared");
    lab.send("a", "b", 1e6);
    lab.send("b", "c", 0.0);
    lab.expect(&[(0.01, &[1]), (0.0105, &[0])], 1e-13);
}

#[test]
fn one_flow_by_size_and_model() {
    // raw: lat + size / B. cm02: the way back is the same link, so B / 1.05. lv08: 13.01 lat + size
    // / (0.97 B / 1.05). smpi: the same with the factors of the size, which are 1 for 0 bytes.
    let rows: [(f64, [f64; 4]); 5] = [
        (0.0, [0.001, 0.001, 0.01301, 0.001]),
        (
            1.0,
            [
                0.00100001,
                0.0010000105,
                0.0130100108247423,
                0.00201468292969693,
            ],
        ),
        (
            1e3,
            [0.00101, 0.0010105, 0.013020824742268, 0.00198100292145608],
        ),
        (
            1e5,
            [0.002, 0.00205, 0.0140924742268041, 0.0127597971905848],
        ),
        (1e8, [1.001, 1.051, 1.09548422680412, 1.12784079058482]),
    ];
    for (bytes, dates) in rows {
        for (model, wanted) in ["raw", "cm02", "lv08", "smpi"].into_iter().zip(dates) {
            alone(model, "shared", bytes, wanted);
        }
    }
}

#[test]
fn without_crosstraffic_the_whole_link_is_there() {
    let mut lab = world_one("model = \"lv08\", crosstraffic = false", "shared");
    lab.send("a", "b", 1e8);
    // 13.01 ms + 1e8 / 0.97e8.
    lab.expect(&[(1.04393783505155, &[0])], 1e-13);
}

#[test]
fn a_fatpipe_is_not_shared_and_carries_acknowledgements_for_nothing() {
    for (model, wanted) in [("raw", 1.001), ("cm02", 1.001), ("lv08", 1.04393783505155)] {
        let mut lab = world_one(&format!("model = \"{model}\""), "fatpipe");
        lab.send("a", "b", 1e8);
        lab.send("a", "b", 1e8);
        lab.expect(&[(wanted, &[0, 1])], 1e-13);
    }
}

#[test]
fn a_split_duplex_link_alone_and_in_both_directions() {
    // In both directions each link carries 1 of one and 0.05 of the other transfer.
    for (model, one, two) in [
        ("raw", 1.001, 11.001),
        ("cm02", 1.001, 11.051),
        ("lv08", 1.04393783505155, 11.0954842268041),
    ] {
        alone(model, "split-duplex", 1e8, one);
        let mut lab = world_one(&format!("model = \"{model}\""), "split-duplex");
        lab.wait_until(10.0);
        lab.send("a", "b", 1e8);
        lab.send("b", "a", 1e8);
        lab.expect(&[(two, &[0, 1])], 1e-13);
    }
    let mut lab = world_one("model = \"lv08\", crosstraffic = 0", "split-duplex");
    lab.wait_until(10.0);
    lab.send("a", "b", 1e8);
    lab.send("b", "a", 1e8);
    lab.expect(&[(11.0439378350515, &[0, 1])], 1e-13);
}

#[test]
fn shares_are_unfair_by_round_trip_time() {
    // Penalties 1 ms and 3 ms (plus S / B in lv08): three quarters and one quarter of the link for
    // raw.
    for (network, a, b) in [
        ("model = \"raw\"", 1.33366666666667, 2.001),
        ("model = \"cm02\"", 1.40033333333333, 2.101),
        ("model = \"lv08\"", 1.49250636995374, 2.17795845360825),
        (
            "model = \"lv08\", crosstraffic = false",
            1.42158851997231,
            2.07486567010309,
        ),
    ] {
        let mut lab = world_one(network, "shared");
        lab.send("a", "b", 1e8);
        lab.send("a", "c", 1e8);
        lab.expect(&[(a, &[0]), (b, &[1])], 1e-13);
    }
    // Without penalties: half each once both have paid. 1e8 - 2e5 bytes of the first share with the
    // second from 3 ms on.
    let mut lab = world_one("model = \"raw\", rtt_penalty = false", "shared");
    lab.send("a", "b", 1e8);
    lab.send("a", "c", 1e8);
    lab.expect(&[(0.003 + 2.0 * 0.998, &[0]), (2.001, &[1])], 1e-13);
}

#[test]
fn the_window_bounds_a_fast_link_over_a_long_way() {
    // 10 ms + 1e9 / (4194304 / 20 ms), times 1 / 0.97 in lv08; no window in raw: 10 ms + 0.1 s.
    for (model, wanted) in [
        ("raw", 0.11),
        ("cm02", 4.77837158203125),
        ("lv08", 5.04594699178479),
    ] {
        let mut lab = world_one(&format!("model = \"{model}\""), "shared");
        lab.send("b", "c", 1e9);
        lab.expect(&[(wanted, &[0])], 1e-13);
    }
}

#[test]
fn a_rate_limit_is_the_rate_that_is_reached() {
    for (model, wanted) in [("cm02", 10.001), ("lv08", 10.01301)] {
        let mut lab = world_one(&format!("model = \"{model}\""), "shared");
        lab.send_at_most("a", "b", 1e8, 1e7);
        lab.expect(&[(wanted, &[0])], 1e-13);
    }
}

#[test]
fn the_implicit_loopback() {
    for (model, wanted) in [("raw", 0.1), ("cm02", 0.1), ("lv08", 0.103092783505155)] {
        let mut lab = world_one(&format!("model = \"{model}\""), "shared");
        lab.send("a", "a", 1e9);
        lab.send("a", "a", 1e9);
        lab.expect(&[(wanted, &[0, 1])], 1e-13);
    }
    let network = r#"model = "raw", loopback = { bandwidth = "1GBps", latency = "1ms" }"#;
    let mut lab = world_one(network, "shared");
    lab.send("a", "a", 1e9);
    lab.expect(&[(1.001, &[0])], 1e-13);
}

/// Part of `SimGrid`'s example platform: four hosts and the links between them.
fn four_hosts(network: &str) -> Lab {
    Lab::new(&format!(
        r#"
        version = 1
        network = {{ {network} }}
        [hosts]
        Tremblay = {{ speed = "98.095Mf" }}
        Jupiter = {{ speed = "76.296Mf" }}
        Fafard = {{ speed = "76.296Mf" }}
        Ginette = {{ speed = "48.492Mf" }}
        [links]
        0 = {{ bandwidth = "41.279125MBps", latency = "59.904us" }}
        1 = {{ bandwidth = "34.285625MBps", latency = "514.433us" }}
        2 = {{ bandwidth = "118.6825MBps", latency = "136.931us" }}
        3 = {{ bandwidth = "34.285625MBps", latency = "514.433us" }}
        4 = {{ bandwidth = "10.099625MBps", latency = "479.78us" }}
        5 = {{ bandwidth = "27.94625MBps", latency = "278.066us" }}
        8 = {{ bandwidth = "8.158MBps", latency = "270.544us" }}
        9 = {{ bandwidth = "7.20975MBps", latency = "1.461517ms" }}
        [[routes]]
        from = "Tremblay"
        to = "Jupiter"
        links = ["9"]
        [[routes]]
        from = "Fafard"
        to = "Ginette"
        links = ["8", "1", "0", "2", "5"]
        [[routes]]
        from = "Tremblay"
        to = "Ginette"
        links = ["4", "3", "5"]
        "#
    ))
}

#[test]
fn ping_pong() {
    for (model, ping, pong) in [
        ("lv08", 0.019014, 150.178356),
        ("cm02", 0.001462, 145.639041),
        ("raw", 0.001462, 138.703988),
    ] {
        let mut lab = four_hosts(&format!("model = \"{model}\""));
        lab.send("Tremblay", "Jupiter", 1.0);
        lab.expect(&[(ping, &[0])], 5.1e-7 / ping);
        lab.send("Jupiter", "Tremblay", 1e9);
        lab.expect(&[(pong, &[1])], 1e-8);
    }
}

#[test]
fn window_over_a_long_way() {
    // SimGrid's cm02-tcpgamma: 1e10 bytes over 1e10 bytes/s. With 1 ms the window allows 4194304 /
    // 2 ms.
    for (latency, wanted) in [("0s", 1.0), ("10us", 1.00001), ("1ms", 4.769372)] {
        let mut lab = Lab::new(&format!(
            r#"
            version = 1
            network = {{ model = "cm02", crosstraffic = false }}
            hosts = {{ a = {{ speed = "1Gf" }}, b = {{ speed = "1Gf" }} }}
            links.wire = {{ bandwidth = "10GBps", latency = "{latency}" }}
            routes = [{{ from = "a", to = "b", links = ["wire"] }}]
            "#
        ));
        lab.send("a", "b", 1e10);
        lab.expect(&[(wanted, &[0])], 2e-7);
    }
}

#[test]
fn throttling_on_a_cluster_with_a_backbone() {
    // 13.01 x 600 us = 7.806 ms; then 2.5e8 bytes at 0.97 x 125 MB/s, or at 62.5 MB/s.
    let mut lab = Lab::new(
        r#"
        version = 1
        network.model = "lv08"
        [clusters.nodes]
        hosts = "node-[0-99]"
        speed = "1Gf"
        bandwidth = "125MBps"
        latency = "50us"
        backbone = { bandwidth = "2.25GBps", latency = "500us" }
        "#,
    );
    lab.send("node-0", "node-1", 2.5e8);
    lab.expect(&[(2.069662, &[0])], 2e-7);
    lab.send_at_most("node-0", "node-1", 2.5e8, 6.25e7);
    lab.expect(&[(2.069662 + 4.007806, &[1])], 2e-7);
}

#[test]
fn host_to_host() {
    // Two transfers over the same link at 0 s, one elsewhere at 1 s, and a last one when it ends.
    let mut lab = four_hosts("model = \"lv08\"");
    let long = lab.send("Tremblay", "Jupiter", 1.5e7);
    lab.send("Tremblay", "Jupiter", 1e4);
    assert_eq!(lab.next_end().map(|(_, ended)| ended), Some(vec![1]));
    lab.wait_until(1.0);
    assert!((lab.remaining(long) - 8.48e6).abs() < 5e3);
    lab.send("Fafard", "Ginette", 1e7);
    lab.expect_first(&[(2.272621, &[0]), (2.343278, &[2])], 3e-7);
    lab.send("Tremblay", "Ginette", 100.0);
    lab.expect(&[(2.359841, &[3])], 3e-7);
}

#[test]
fn a_token_around_two_clusters() {
    // Up and down links of their own (hosts 1, 2, 4, 5), or one link for both ways (3, 6), which
    // the way back takes too.
    let mut lab = Lab::new(
        r#"
        version = 1
        network.model = "lv08"
        [hosts]
        h1 = { speed = "1Gf" }
        h2 = { speed = "1Gf" }
        h3 = { speed = "1Gf" }
        h4 = { speed = "1Gf" }
        h5 = { speed = "1Gf" }
        h6 = { speed = "1Gf" }
        [links]
        l1 = { bandwidth = "125MBps", latency = "100us", sharing = "split-duplex" }
        l2 = { bandwidth = "125MBps", latency = "100us", sharing = "split-duplex" }
        l3 = { bandwidth = "125MBps", latency = "100us" }
        l4 = { bandwidth = "125MBps", latency = "100us", sharing = "split-duplex" }
        l5 = { bandwidth = "125MBps", latency = "100us", sharing = "split-duplex" }
        l6 = { bandwidth = "125MBps", latency = "100us" }
        backbone1 = { bandwidth = "2.25GBps", latency = "500us" }
        backbone2 = { bandwidth = "2.25GBps", latency = "500us" }
        between = { bandwidth = "2.25GBps", latency = "500us" }
        [[routes]]
        from = "h1"
        to = "h2"
        links = ["l1", "backbone1", { link = "l2", direction = "down" }]
        [[routes]]
        from = "h2"
        to = "h3"
        links = ["l2", "backbone1", "l3"]
        [[routes]]
        from = "h3"
        to = "h4"
        links = ["l3", "backbone1", "between", "backbone2", { link = "l4", direction = "down" }]
        [[routes]]
        from = "h4"
        to = "h5"
        links = ["l4", "backbone2", { link = "l5", direction = "down" }]
        [[routes]]
        from = "h5"
        to = "h6"
        links = ["l5", "backbone2", "l6"]
        [[routes]]
        from = "h6"
        to = "h1"
        links = ["l6", "backbone2", "between", "backbone1", { link = "l1", direction = "down" }]
        "#,
    );
    let ring = ["h1", "h2", "h3", "h4", "h5", "h6", "h1"];
    let dates = [0.017354, 0.035121, 0.065898, 0.083252, 0.101019, 0.131796];
    for (at, date) in dates.into_iter().enumerate() {
        lab.send(ring[at], ring[at + 1], 1e6);
        lab.expect(&[(date, &[at as u64])], 5.1e-7 / date);
    }
}

#[test]
fn an_mpi_message_of_a_million_bytes() {
    // Payload and envelope: 11.6436 x 1.461517 ms + 1000016 / (0.940694 x 7.20975e6 / 1.05).
    let mut lab = four_hosts("model = \"smpi\"");
    let envelope = lab.platform().network().envelope_bytes();
    lab.send("Tremblay", "Jupiter", 1e6 + envelope as f64);
    lab.expect(&[(0.171838, &[0])], 3e-6);
}

#[test]
fn infiniband_penalties() {
    // 0 → 2 would get two thirds of the link of 0, since 0 → 1 gets one third of that of 1. But 0
    // has two outgoing transfers, one to a crowded host: its limit is B / (2 x 0.925 x 1.35), and
    // 1e7 bytes take 0.24975 s. The three into 1: B / (0.965 x 3) is above their fair third, so 3 s
    // for 1e8 bytes.
    let mut lab = Lab::new(
        r#"
        version = 1
        network.model = "ib"
        [clusters.nodes]
        hosts = "n[0-4]"
        speed = "1Gf"
        bandwidth = "100MBps"
        latency = "500us"
        "#,
    );
    lab.send("n0", "n1", 1e8);
    lab.send("n0", "n2", 1e7);
    lab.send("n3", "n1", 1e8);
    lab.send("n4", "n1", 1e8);
    lab.expect(&[(0.25075, &[1]), (3.001, &[0, 2, 3])], 1e-12);
    // Alone there is no penalty, and a penalty ends with the transfers that cause it.
    lab.send("n0", "n2", 1e7);
    lab.expect(&[(3.001 + 0.101, &[4])], 1e-12);
    // Two to one host: 2 x 0.965, which would leave less than all of the link to one that has no
    // rival on it. From 3.102 on: both pay 1 ms; half a link each is less than B / 1.93.
    lab.send("n0", "n2", 1e7);
    lab.send_at_most("n0", "n2", 1e7, 1e7);
    // The second has 1e7 bytes/s, so that the first would have 9e7, but its limit is 1e8 / 1.93.
    let first = 3.102 + 0.001 + 1e7 * 1.93 / 1e8;
    // The limit of the second is 1e7 / 1.93 until the first ends.
    let second = first + (1e7 - (first - 3.103) * 1e7 / 1.93) / 1e7;
    lab.expect(&[(first, &[5]), (second, &[6])], 1e-12);
}

#[test]
fn constant_durations() {
    let mut lab = world_one("model = \"constant\"", "shared");
    lab.send("a", "b", 1e12);
    lab.send("a", "a", 0.0);
    lab.exec("a", 5e8, 1.0, UNLIMITED);
    lab.expect(&[(0.5, &[2]), (1.0, &[0, 1])], 0.0);
    let mut lab = world_one("model = \"constant\", duration = \"20us\"", "shared");
    lab.send("c", "b", 1e12);
    lab.expect(&[(20e-6, &[0])], 0.0);
}

#[test]
fn messages_without_links() {
    // 2 o + L + (s - 1) max(G, O), whatever the links and the other transfers; hosts need no route.
    let mut lab = world_one(
        "model = \"loggops\", latency = \"10us\", overhead = \"1us\", gap = \"3us\", gap_per_byte = \"5ns\", \
         overhead_per_byte = \"2ns\"",
        "shared",
    );
    lab.send("a", "b", 1.0);
    lab.send("a", "b", 0.0);
    lab.send("c", "c", 1001.0);
    lab.exec("a", 5e8, 1.0, UNLIMITED);
    lab.expect(&[(12e-6, &[0, 1]), (17e-6, &[2]), (0.5, &[3])], 1e-15);
    let mut lab = world_one(
        "model = \"loggops\", latency = \"2500ns\", overhead = \"1500ns\", gap = \"0s\", \
         gap_per_byte = \"6ns\", overhead_per_byte = \"8ns\"",
        "shared",
    );
    lab.send("a", "b", 1001.0);
    lab.expect(&[(13.5e-6, &[0])], 1e-15);
}

#[test]
fn work_that_ends_too_late_has_a_date_and_work_that_stands_still_has_none() {
    // Alone, and shared by two.
    for flows in [1, 2] {
        let mut lab = world_one("model = \"raw\"", "shared");
        let ids: Vec<_> = (0..flows)
            .map(|_| lab.send_at_most("a", "b", 1e300, 1e-20))
            .collect();
        // First the latency is paid.
        let (model, now) = lab.model();
        let date = model.next_event(now, now).expect("the end of the latency");
        model.advance(date, &mut Vec::new());
        let end = model.next_event(date, date).expect("an end");
        assert!(end > Time::HORIZON, "{end}");
        for id in ids {
            model.set_suspended(id, true, date);
        }
        assert_eq!(model.next_event(date, date), None);
    }
}

#[test]
fn only_ends_are_events_of_the_model() {
    // 1 GB/s, and latencies that end together and apart.
    let mut lab = world_one("model = \"raw\"", "shared");
    let one = lab.send_at_most("a", "b", 1e6, 1e6);
    let other = lab.send_at_most("b", "a", 2e6, 1e6);
    let (model, now) = lab.model();
    let latency = model
        .next_event(now, now)
        .expect("the end of the latencies");
    // Up to a horizon, the dates are those of before.
    assert_eq!(model.next_event(now, latency), Some(latency));
    let end = model.next_event(now, Time::NEVER).expect("an end");
    assert_eq!(end, latency + Span::from_secs(1.0));
    let mut ended = Vec::new();
    model.advance(end, &mut ended);
    assert_eq!(ended, [(one, End::Done)]);
    let end = model.next_event(end, Time::NEVER).expect("another end");
    assert_eq!(end, latency + Span::from_secs(2.0));
    model.advance(end, &mut ended);
    assert_eq!(ended[1..], [(other, End::Done)]);

    // What stands still after its latency does so at that date.
    let id = lab.send_at_most("a", "b", 1e300, 1e-20);
    let (model, now) = lab.model();
    let latency = model.next_event(now, now).expect("the end of the latency");
    assert_eq!(model.next_event(now, Time::NEVER), Some(latency));
    model.advance(latency, &mut ended);
    let end = model.next_event(latency, Time::NEVER);
    assert!(end.is_some_and(|end| end > Time::HORIZON));
    model.cancel(id, latency);
}

#[test]
fn quirks_of_the_reference_only_when_asked_for() {
    // Ends 0.5 ns apart: one date with the tolerance of the reference, two without.
    for (compat, ends) in [("", 2), (", compat = \"simgrid-4.1\"", 1)] {
        let mut lab = world_one(&format!("model = \"raw\"{compat}"), "fatpipe");
        lab.send("a", "b", 1e5);
        lab.send("a", "b", 1e5 + 0.05);
        let mut dates = 0;
        while lab.next_end().is_some() {
            dates += 1;
        }
        assert_eq!(dates, ends);
    }
    // A route without latency: its penalty is S / B, or 1, which is 4869 times more than 20537 /
    // 1e8.
    let zero = |compat: &str| {
        let mut lab = Lab::new(&format!(
            r#"
            version = 1
            network = {{ model = "lv08", crosstraffic = false{compat} }}
            hosts = {{ a = {{ speed = "1f" }}, b = {{ speed = "1f" }}, c = {{ speed = "1f" }} }}
            [links]
            near = {{ bandwidth = "100MBps", latency = "0s" }}
            far = {{ bandwidth = "1GBps", latency = "1ms", sharing = "fatpipe" }}
            [[routes]]
            from = "a"
            to = "b"
            links = ["near"]
            [[routes]]
            from = "a"
            to = "c"
            links = ["near", "far"]
            "#
        ));
        lab.send("a", "b", 97e6);
        lab.send("a", "c", 97e10);
        lab.next_end().expect("the first ends").0
    };
    // 0.01301 s alone, then shared by the inverse penalties 1 / 20537e-8 and 1 / (0.001 + 20537e-8
    // + 20537e-9).
    let (near, far): (f64, f64) = (20537e-8, 0.001 + 20537e-8 + 20537e-9);
    for (compat, near) in [("", near), (", compat = \"simgrid-4.1\"", 1.0)] {
        let share = (1.0 / near) / (1.0 / near + 1.0 / far);
        let wanted = 0.01301 + (1.0 - 0.01301) / share;
        let found = zero(compat);
        // The far one has a window: 2.1e9 bytes/s, which does not matter.
        assert!((found - wanted).abs() < 1e-9 * wanted, "{found} {wanted}");
    }
}

#[test]
fn fatpipe_clusters_share_their_cables_in_the_reference() {
    // SimGrid 3.32 (CM02) on a cluster with sharing_policy="FATPIPE": 3 transfers out and one back
    // over 1e8 bytes/s.
    let cluster = |compat: &str| {
        Lab::new(&format!(
            "version = 1\nnetwork = {{ model = \"cm02\"{compat} }}\n[clusters.c]\nhosts = \"n[0-3]\"\n\
             speed = \"1Gf\"\nbandwidth = \"100MBps\"\nlatency = \"3us\"\nsharing = \"fatpipe\"\n"
        ))
    };
    let dates = |mut lab: Lab, ends: &[(f64, &[u64])]| {
        for bytes in [1e8, 2e8, 3e8] {
            lab.send("n0", "n1", bytes);
        }
        lab.send("n1", "n0", 1e8);
        lab.expect(ends, 1e-9);
    };
    let shared: [(f64, &[u64]); 3] = [(4.200006, &[0, 3]), (6.300006, &[1]), (7.350006, &[2])];
    dates(cluster(", compat = \"simgrid-4.1\""), &shared);
    let alone: [(f64, &[u64]); 3] = [(1.000006, &[0, 3]), (2.000006, &[1]), (3.000006, &[2])];
    dates(cluster(""), &alone);
}
