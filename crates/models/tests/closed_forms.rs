//! Closed forms of the flow model, and laws of the model on random networks.
//!
//! Each closed form is derived in a comment; the numbers are chosen so that the result is exact or
//! within 1e-12.

use models::FlowModel;
use platform::LinkId;
use platform::profile::Change as Alteration;
use proptest::prelude::*;
use sim_core::{ActivityId, Change, HostId, Resource, Span, Time, Work};
use testing::lab::{Lab, UNLIMITED};

/// Relative to the date.
const TOLERANCE: f64 = 1e-12;

/// Three hosts and a link of 100 bytes/s and 1 s between each pair, of the sharing given.
fn triangle(sharing: &str) -> Lab {
    triangle_with("{}", sharing)
}

/// The same with a table `network`.
fn triangle_with(network: &str, sharing: &str) -> Lab {
    Lab::new(&format!(
        r#"
        version = 1
        network = {network}
        [hosts]
        a = {{ speed = "10f" }}
        b = {{ speed = "10f", cores = 2 }}
        c = {{ speed = "10f" }}
        [links.wire]
        bandwidth = "100Bps"
        latency = "1s"
        sharing = "{sharing}"
        [[routes]]
        from = "a"
        to = "b"
        links = ["wire"]
        [[routes]]
        from = "a"
        to = "c"
        links = ["wire"]
        "#
    ))
}

#[test]
fn one_transfer_takes_latency_plus_size_over_bandwidth() {
    let mut lab = triangle("shared");
    lab.send("a", "b", 200.0);
    lab.expect(&[(3.0, &[0])], TOLERANCE);
}

#[test]
fn no_bytes_take_the_latency() {
    let mut lab = triangle("shared");
    lab.send("a", "b", 0.0);
    lab.expect(&[(1.0, &[0])], TOLERANCE);
}

#[test]
fn two_transfers_share_and_the_longer_one_speeds_up_again() {
    // From 1 s on 50 bytes/s each; the first has its 100 bytes at 3 s; then the second has 200 left
    // at 100 bytes/s.
    let mut lab = triangle("shared");
    lab.send("a", "b", 100.0);
    lab.send("c", "a", 300.0);
    lab.expect(&[(3.0, &[0]), (5.0, &[1])], TOLERANCE);
}

#[test]
fn a_transfer_that_starts_later_takes_its_share_after_its_latency() {
    // The first is alone from 1 s to 3 s (200 of 300 bytes), then 50 bytes/s: its last 100 bytes
    // end at 5 s. The second has 100 of 200 bytes by then and ends at 6 s.
    let mut lab = triangle("shared");
    lab.send("a", "b", 300.0);
    lab.wait_until(2.0);
    lab.send("a", "c", 200.0);
    lab.expect(&[(5.0, &[0]), (6.0, &[1])], TOLERANCE);
}

/// log(200 / 100) / log(400 / 100) is a half, so the first transfer has 100 / 1.5 bytes/s from 1 s
/// on and ends at 4 s. The second one has 50 bytes/s until then, and 100 for the last 250 bytes.
#[test]
fn an_exchange_of_two_hosts_is_half_duplex() {
    let mut lab = triangle_with(
        r#"{ pair_duplex = { from = "100B", full = "400B" } }"#,
        "split-duplex",
    );
    lab.send("a", "b", 200.0);
    lab.send("b", "a", 400.0);
    lab.expect(&[(4.0, &[0]), (6.5, &[1])], TOLERANCE);
}

/// A message of up to 50 bytes has the latency of 1 s of the link. A longer one has 2 s + 0.01 s
/// per byte more: 100 bytes begin to flow after 1 + 2 + 1 s, and 200 after 1 + 2 + 2 s.
#[test]
fn long_messages_have_a_latency_of_their_own() {
    let mut lab = triangle_with(
        r#"{ message_latency = [{ above = "50B", time = "2s", per_byte = "10ms" }] }"#,
        "fatpipe",
    );
    lab.send("a", "b", 50.0);
    lab.send("a", "b", 100.0);
    lab.send("b", "a", 200.0);
    lab.expect(&[(1.5, &[0]), (5.0, &[1]), (7.0, &[2])], TOLERANCE);
    // No links are crossed: 1000 bytes over the implicit loopback of 10 GB/s.
    lab.send("a", "a", 1000.0);
    lab.expect(&[(7.000_000_1, &[3])], TOLERANCE);
}

/// The first message flows alone from 1 s to 1.5 s. Then both have 50 bytes/s: the first one ends
/// at 2.5 s, and the second one has 50 bytes left, half a second.
#[test]
fn two_messages_share_a_link_where_the_gap_is_shorter_than_a_transfer() {
    let mut lab = triangle_with(r#"{ message_gap = "500ms" }"#, "shared");
    lab.send("a", "b", 100.0);
    lab.send("a", "b", 100.0);
    lab.expect(&[(2.5, &[0]), (3.0, &[1])], TOLERANCE);
}

/// A message takes 1 s + 1 s, and the next message leaves 5 s later. Empty messages leave apart,
/// too; messages of the other host and of a host to itself leave at once.
#[test]
fn messages_of_a_host_leave_a_gap_apart() {
    let mut lab = triangle_with(r#"{ message_gap = "5s" }"#, "shared");
    lab.send("a", "b", 100.0);
    lab.send("a", "a", 0.0);
    lab.send("a", "b", 0.0);
    lab.send("a", "b", 100.0);
    lab.send("b", "a", 0.0);
    let dates: &[(f64, &[u64])] = &[
        (0.0, &[1]),
        (1.0, &[4]),
        (2.0, &[0]),
        (6.0, &[2]),
        (12.0, &[3]),
    ];
    lab.expect(dates, TOLERANCE);
    // The adapter is free since 15 s, and is not ahead of the time.
    lab.wait_until(20.0);
    lab.send("a", "b", 0.0);
    lab.send("a", "b", 0.0);
    lab.expect(&[(21.0, &[5]), (26.0, &[6])], TOLERANCE);
}

#[test]
fn messages_of_many_senders_arrive_together() {
    let mut lab = triangle_with(r#"{ message_gap = "5s" }"#, "shared");
    lab.send("b", "a", 0.0);
    lab.send("c", "a", 0.0);
    lab.expect(&[(1.0, &[0, 1])], TOLERANCE);
}

#[test]
fn what_ends_together_comes_together() {
    let mut lab = triangle("shared");
    for _ in 0..3 {
        lab.send("a", "b", 100.0);
    }
    lab.expect(&[(4.0, &[0, 1, 2])], TOLERANCE);
}

#[test]
fn a_fatpipe_limits_each_transfer_but_is_not_shared() {
    let mut lab = triangle("fatpipe");
    lab.send("a", "b", 100.0);
    lab.send("b", "a", 100.0);
    lab.send("a", "c", 200.0);
    lab.expect(&[(2.0, &[0, 1]), (3.0, &[2])], TOLERANCE);
}

#[test]
fn opposite_directions_of_a_split_duplex_link_do_not_interact() {
    let mut lab = triangle("split-duplex");
    lab.send("a", "b", 100.0);
    lab.send("b", "a", 100.0);
    lab.expect(&[(2.0, &[0, 1])], TOLERANCE);
    lab.send("a", "b", 100.0);
    lab.send("a", "c", 100.0);
    lab.expect(&[(5.0, &[2, 3])], TOLERANCE);
}

#[test]
fn the_slowest_of_three_links_decides() {
    // Latencies 1 + 2 + 3 s, then 100 bytes at 10 bytes/s. The transfer over the last link alone
    // has 0 + 3 s latency and then the 90 bytes/s that the long one leaves from 6 s on: 3 s at 100,
    // then 540 - 300 = 240 at 90.
    let mut lab = Lab::new(
        r#"
        version = 1
        hosts = { a = { speed = "1f" }, b = { speed = "1f" }, c = { speed = "1f" } }
        [links]
        one = { bandwidth = "50Bps", latency = "1s" }
        two = { bandwidth = "10Bps", latency = "2s" }
        three = { bandwidth = "100Bps", latency = "3s" }
        [[routes]]
        from = "a"
        to = "b"
        links = ["one", "two", "three"]
        [[routes]]
        from = "c"
        to = "b"
        links = ["three"]
        "#,
    );
    lab.send("b", "a", 100.0);
    lab.send("c", "b", 540.0);
    lab.expect(&[(6.0 + 240.0 / 90.0, &[1]), (16.0, &[0])], TOLERANCE);
}

#[test]
fn a_rate_limit_leaves_the_rest_to_others_and_can_change() {
    // 25 + 75 bytes/s from 1 s on. At 3 s the limit rises to 1000: 50 + 50, 100 - 50 = 50 left of
    // the first and 250 - 150 = 100 of the second: 4 s, then 50 left at 100 bytes/s.
    let mut lab = triangle("shared");
    let limited = lab.send_at_most("a", "b", 100.0, 25.0);
    let other = lab.send("a", "b", 250.0);
    lab.wait_until(3.0);
    assert_eq!(lab.remaining(limited), 50.0);
    assert_eq!(lab.remaining(other), 100.0);
    with(&mut lab, |model, now| {
        model.update(limited, Change::Bound(1000.0), now);
    });
    lab.expect(&[(4.0, &[0]), (4.5, &[1])], TOLERANCE);
}

#[test]
fn a_host_reaches_itself_over_the_implicit_loopback() {
    let mut lab = triangle("shared");
    lab.send("a", "a", 1e10);
    lab.send("a", "a", 2e10);
    lab.send_at_most("a", "a", 3e10, 1e10);
    lab.expect(&[(1.0, &[0]), (2.0, &[1]), (3.0, &[2])], TOLERANCE);
}

#[test]
fn cores_are_shared_when_there_are_not_enough() {
    // One core of 10 flop/s: 5 each. Two cores: three computations have 20/3 each, two have 10
    // each.
    let mut lab = triangle("shared");
    lab.exec("a", 10.0, 1.0, UNLIMITED);
    lab.expect(&[(1.0, &[0])], TOLERANCE);
    lab.exec("a", 10.0, 1.0, UNLIMITED);
    lab.exec("a", 10.0, 1.0, UNLIMITED);
    lab.expect(&[(3.0, &[1, 2])], TOLERANCE);
    lab.exec("b", 10.0, 1.0, UNLIMITED);
    lab.exec("b", 10.0, 1.0, UNLIMITED);
    lab.expect(&[(4.0, &[3, 4])], TOLERANCE);
    for _ in 0..3 {
        lab.exec("b", 10.0, 1.0, UNLIMITED);
    }
    lab.expect(&[(5.5, &[5, 6, 7])], TOLERANCE);
    lab.exec("b", 10.0, 1.0, 2.0);
    lab.exec("b", 0.0, 1.0, UNLIMITED);
    lab.expect(&[(5.5, &[9]), (10.5, &[8])], TOLERANCE);
}

#[test]
fn priorities_are_shares() {
    // 2 : 1 of 30 flop/s on one core: after 1 s the first has its 20, the second 20 left.
    let mut lab = Lab::new("version = 1\nhosts.a.speed = \"30f\"");
    lab.exec("a", 20.0, 2.0, UNLIMITED);
    let second = lab.exec("a", 30.0, 1.0, UNLIMITED);
    assert_eq!(lab.next_end(), Some((1.0, vec![0])));
    lab.exec("a", 40.0, 1.0, UNLIMITED);
    // 3 : 1 now: 22.5 and 7.5 flop/s; the second ends 20 / 22.5 s later, and the third has 40 -
    // 20/3 left at 30.
    with(&mut lab, |model, now| {
        model.update(second, Change::Priority(3.0), now);
    });
    let middle = 1.0 + 20.0 / 22.5;
    lab.expect(
        &[(middle, &[1]), (middle + (40.0 - 20.0 / 3.0) / 30.0, &[2])],
        TOLERANCE,
    );
}

#[test]
fn suspended_work_stands_still_and_leaves_its_share() {
    // Both at 50 bytes/s from 1 s to 2 s. The first sleeps to 3 s, the second has 100 bytes/s. From
    // 3 s 50 each: the second has 50 left and ends at 4 s; the first then has 100 left.
    let mut lab = triangle("shared");
    let first = lab.send("a", "b", 200.0);
    lab.send("a", "b", 200.0);
    lab.wait_until(2.0);
    with(&mut lab, |model, now| model.set_suspended(first, true, now));
    lab.wait_until(3.0);
    assert_eq!(lab.remaining(first), 150.0);
    let (model, now) = lab.model();
    model.set_suspended(first, false, now);
    lab.expect(&[(4.0, &[1]), (5.0, &[0])], TOLERANCE);
}

#[test]
fn a_latency_being_paid_stops_too() {
    let mut lab = triangle("shared");
    let id = lab.send("a", "b", 100.0);
    lab.wait_until(0.5);
    with(&mut lab, |model, now| model.set_suspended(id, true, now));
    lab.wait_until(3.0);
    with(&mut lab, |model, now| model.set_suspended(id, false, now));
    lab.expect(&[(4.5, &[0])], TOLERANCE);
}

#[test]
fn what_is_cancelled_leaves_its_share_and_is_not_reported() {
    let mut lab = triangle("shared");
    let working = lab.send("a", "b", 200.0);
    lab.send("a", "b", 200.0);
    let paying = lab.send("a", "b", 200.0);
    with(&mut lab, |model, now| model.cancel(paying, now));
    lab.wait_until(2.0);
    with(&mut lab, |model, now| model.cancel(working, now));
    lab.expect(&[(3.5, &[1])], TOLERANCE);
}

#[test]
fn nonsense_and_missing_routes_are_refused() {
    let mut lab = triangle("shared");
    let mut refused = |from: &str, to: &str, bytes, rate| {
        let work = Work::Transfer {
            from: lab.host(from),
            to: lab.host(to),
            bytes,
            rate,
        };
        let id = ActivityId { number: 0, slot: 0 };
        let error = lab.model().0.start(id, &work, Time::ZERO);
        error.expect_err("refused").to_string()
    };
    assert_eq!(
        refused("b", "c", 1.0, UNLIMITED),
        "no route from host \"b\" to host \"c\": add [[routes]] with from = \"b\", to = \"c\""
    );
    assert!(refused("a", "b", f64::NAN, UNLIMITED).starts_with("an amount of work"));
    assert!(refused("a", "b", 1.0, 0.0).starts_with("a priority or a rate limit"));
}

/// Calls the model at the present date.
fn with(lab: &mut Lab, call: impl FnOnce(&mut FlowModel, Time)) {
    let (model, now) = lab.model();
    call(model, now);
}

/// A step of a random history.
#[derive(Clone, Debug)]
enum HistoryStep {
    Send(u32, u32, f64, f64),
    Exec(u32, f64, f64),
    Cancel(prop::sample::Index),
    Suspend(prop::sample::Index),
    Resume(prop::sample::Index),
    Bound(prop::sample::Index, f64),
    Bandwidth(prop::sample::Index, f64),
    Latency(prop::sample::Index, f64),
    Advance,
}

fn steps() -> impl Strategy<Value = Vec<HistoryStep>> {
    let rate = prop_oneof![Just(UNLIMITED), 1.0..200.0];
    let step = prop_oneof![
        4 => (0_u32..12, 0_u32..12, 0.0..1000.0, rate)
            .prop_map(|(from, to, bytes, rate)| HistoryStep::Send(from, to, bytes, rate)),
        1 => (0_u32..12, 0.0..100.0, 0.5..4.0)
            .prop_map(|(host, flops, priority)| HistoryStep::Exec(host, flops, priority)),
        1 => any::<prop::sample::Index>().prop_map(HistoryStep::Cancel),
        1 => any::<prop::sample::Index>().prop_map(HistoryStep::Suspend),
        1 => any::<prop::sample::Index>().prop_map(HistoryStep::Resume),
        1 => (any::<prop::sample::Index>(), 1.0..200.0).prop_map(|(at, rate)| HistoryStep::Bound(at, rate)),
        1 => (any::<prop::sample::Index>(), 1.0..200.0)
            .prop_map(|(at, rate)| HistoryStep::Bandwidth(at, rate)),
        1 => (any::<prop::sample::Index>(), 0.0..2.0)
            .prop_map(|(at, latency)| HistoryStep::Latency(at, latency)),
        4 => Just(HistoryStep::Advance),
    ];
    prop::collection::vec(step, 1..120)
}

/// Two clusters of six, one with a backbone, and a slow link between them.
const TWO_SITES: &str = r#"
    version = 1
    [links]
    wan = { bandwidth = "90Bps", latency = "500ms" }
    [clusters.east]
    hosts = "e[0-5]"
    speed = "10f"
    cores = 2
    bandwidth = "100Bps"
    latency = "100ms"
    backbone = { bandwidth = "250Bps", latency = "50ms" }
    [clusters.west]
    hosts = "w[0-5]"
    speed = "10f"
    bandwidth = "70Bps"
    latency = "0s"
    sharing = "shared"
    loopback = { bandwidth = "150Bps", latency = "0s", sharing = "shared" }
    [[routes]]
    from = "east"
    to = "west"
    links = ["wan"]
"#;

/// Runs a history; returns the bits of all end dates, with the numbers of the ended activities.
fn play(steps: &[HistoryStep], model: &str, check: bool) -> Vec<(u64, Vec<u64>)> {
    let text = TWO_SITES.replace(
        "version = 1",
        &format!("version = 1\n    network.model = \"{model}\""),
    );
    let mut lab = Lab::new(&text);
    let mut running: Vec<ActivityId> = Vec::new();
    let mut history = Vec::new();
    for step in steps {
        match step {
            HistoryStep::Send(from, to, bytes, rate) => {
                let id = lab.start(&Work::Transfer {
                    from: HostId(*from),
                    to: HostId(*to),
                    bytes: *bytes,
                    rate: *rate,
                });
                running.push(id);
            }
            HistoryStep::Exec(host, flops, priority) => {
                let id = lab.start(&Work::Exec {
                    host: HostId(*host),
                    threads: 1,
                    flops: *flops,
                    priority: *priority,
                    bound: UNLIMITED,
                });
                running.push(id);
            }
            HistoryStep::Advance => {
                let Some((date, ended)) = lab.next_end() else {
                    continue;
                };
                running.retain(|id| !ended.contains(&(id.number)));
                history.push((date.to_bits(), ended));
            }
            HistoryStep::Bandwidth(at, rate) => {
                let link = LinkId(at.index(lab.platform().link_id_end() as usize) as u32);
                lab.change(Alteration::Bandwidth(link, *rate));
            }
            HistoryStep::Latency(at, latency) => {
                let link = LinkId(at.index(lab.platform().link_id_end() as usize) as u32);
                let latency = Span::from_secs(*latency);
                lab.change(Alteration::Latency(link, latency));
            }
            _ if running.is_empty() => {}
            HistoryStep::Cancel(at) => {
                let id = running.swap_remove(at.index(running.len()));
                with(&mut lab, |model, now| model.cancel(id, now));
            }
            HistoryStep::Suspend(at) | HistoryStep::Resume(at) => {
                let suspended = matches!(step, HistoryStep::Suspend(_));
                let (model, now) = lab.model();
                model.set_suspended(*at.get(&running), suspended, now);
            }
            HistoryStep::Bound(at, rate) => {
                with(&mut lab, |model, now| {
                    model.update(*at.get(&running), Change::Bound(*rate), now);
                });
            }
        }
        if check {
            with(&mut lab, |model, now| {
                model.next_event(now, now);
                model.check_solver(1e-11);
            });
        }
    }
    history
}

proptest! {
    #[test]
    fn rates_are_always_those_of_a_full_solve(steps in steps()) {
        for model in ["flow", "lv08", "ib"] {
            play(&steps, model, true);
        }
    }

    #[test]
    fn the_same_calls_give_the_same_bits(steps in steps()) {
        prop_assert_eq!(play(&steps, "lv08", false), play(&steps, "lv08", false));
    }
}
