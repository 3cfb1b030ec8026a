//! Promise: computations with threads and parallel tasks have the reference's dates and closed
//! forms; failures end them.
//!
//! Rows O19 and O23 are dates of `SimGrid` 4.1; pairs of tasks were run with `host/model:ptask_L07`
//! of 3.32.

use std::rc::Rc;

use platform::profile::Change;
use sim_core::{Change as Update, End, HostId, ParallelWork, Resource, Span, Work};
use testing::lab::{Lab, UNLIMITED};

/// Hosts a, b, c of 1 Gflop/s; a link of 100 MB/s and 1 ms from a to b, one more of 2 ms on to c, a
/// long one from b to c.
fn three(network: &str) -> Lab {
    Lab::new(&format!(
        r#"
        version = 1
        network = {{ {network} }}
        hosts = {{ a = {{ speed = "1Gf" }}, b = {{ speed = "1Gf" }}, c = {{ speed = "1Gf" }}, d = {{ speed = "1Gf", cores = 2 }} }}
        [links]
        L = {{ bandwidth = "100MBps", latency = "1ms" }}
        M = {{ bandwidth = "100MBps", latency = "2ms" }}
        F = {{ bandwidth = "10GBps", latency = "100ms" }}
        P = {{ bandwidth = "100MBps", latency = "1ms", sharing = "fatpipe" }}
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
        links = ["F"]
        [[routes]]
        from = "a"
        to = "d"
        links = ["P"]
        "#
    ))
}

const NOTHING: [f64; 4] = [0.0; 4];

#[test]
fn computations_share_cores() {
    // O19: 1, 2, 3, 5 computations on two cores; a bound; two threads.
    for (count, end) in [(1, 1.0), (2, 1.0), (3, 1.5), (5, 2.5)] {
        let mut lab = three("");
        for _ in 0..count {
            lab.exec("d", 1e9, 1.0, UNLIMITED);
        }
        let all: Vec<u64> = (0..count).collect();
        lab.expect(&[(end, &all)], 1e-15);
    }
    let mut lab = three("");
    lab.exec("d", 1e9, 1.0, 2.5e8);
    lab.expect(&[(4.0, &[0])], 0.0);
    lab.threads("d", 2, 1e9);
    lab.expect(&[(5.0, &[1])], 0.0);
}

#[test]
fn threads_are_as_many_computations() {
    // Three threads on two cores; two threads and one computation: two thirds and one third of the
    // cores.
    let mut lab = three("");
    let task = lab.threads("d", 3, 1e9);
    lab.wait_until(0.25);
    assert_eq!(lab.remaining(task), 2.5e9);
    lab.expect(&[(1.5, &[0])], 1e-15);
    let mut lab = three("");
    lab.threads("d", 2, 1e9);
    lab.threads("d", 1, 1e9);
    lab.expect(&[(1.5, &[0, 1])], 1e-15);
    let mut lab = three("");
    lab.threads("d", 2, 1e9);
    lab.threads("d", 2, 1e9);
    lab.expect(&[(2.0, &[0, 1])], 1e-15);
    // Threads beyond the cores of a host weigh, but alone they are no faster.
    let mut lab = three("");
    lab.threads("a", 3, 1e9);
    lab.exec("a", 1e9, 1.0, UNLIMITED);
    lab.expect(&[(4.0, &[0, 1])], 1e-15);
}

#[test]
fn threads_follow_bounds_priorities_and_speeds() {
    let start = |lab: &mut Lab, priority, bound| {
        let host = lab.host("d");
        lab.start(&Work::Exec {
            host,
            threads: 2,
            flops: 2e9,
            priority,
            bound,
        })
    };
    // The bound is for all threads: 5e8 of 2e9 flop/s.
    let mut lab = three("");
    start(&mut lab, 1.0, 5e8);
    lab.expect(&[(4.0, &[0])], 1e-15);
    // The priority is that of each thread: 4 parts of 5 of the cores; then the other one has a
    // core.
    let mut lab = three("");
    start(&mut lab, 2.0, UNLIMITED);
    lab.exec("d", 1e9, 1.0, UNLIMITED);
    lab.expect(&[(1.25, &[0]), (1.75, &[1])], 1e-15);
    let mut lab = three("");
    let threads = start(&mut lab, 1.0, UNLIMITED);
    lab.exec("d", 2e9, 1.0, UNLIMITED);
    let (model, now) = lab.model();
    model.update(threads, Update::Priority(2.0), now);
    lab.expect(&[(1.25, &[0]), (2.75, &[1])], 1e-15);
    // Half the speed from 0.5 s on: half of the work at 1e9 flop/s.
    let mut lab = three("");
    start(&mut lab, 1.0, UNLIMITED);
    lab.wait_until(0.5);
    let host = lab.host("d");
    lab.change(Change::Speed(host, 0.5));
    lab.expect(&[(1.5, &[0])], 1e-15);
    // None is no number of threads.
    let work = Work::Exec {
        host,
        threads: 0,
        flops: 1.0,
        priority: 1.0,
        bound: 1.0,
    };
    let error = lab.try_start(&work).expect_err("no thread");
    assert_eq!(error.to_string(), "a computation needs at least one thread");
}

#[test]
fn one_task() {
    // O23, in every model: neither factors nor acknowledgements.
    for model in ["flow", "raw", "cm02", "lv08", "smpi"] {
        for (flops, bytes, wanted) in [
            ([1e9, 2e9], NOTHING, 2.0),
            ([0.0, 0.0], [0.0, 1e8, 0.0, 0.0], 1.001),
            ([1e9, 1e9], [0.0, 1e8, 1e8, 0.0], 2.001),
            ([3e9, 1e9], [0.0, 1e8, 0.0, 0.0], 3.001),
            ([0.0, 0.0], NOTHING, 0.0),
        ] {
            let mut lab = three(&format!("model = \"{model}\""));
            lab.task(&["a", "b"], &flops, &bytes);
            lab.expect(&[(wanted, &[0])], 1e-13);
        }
    }
}

#[test]
fn closed_forms_of_one_task() {
    // The largest latency is that of a to c, over L and M; L carries both transfers.
    let mut lab = three("");
    lab.task(
        &["a", "b", "c"],
        &[],
        &[0.0, 1e8, 1e8, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    );
    lab.expect(&[(2.003, &[0])], 1e-13);
    // 1e9 bytes over 10 GB/s and 100 ms: a window of 4194304 / (2 x 0.1 s x 1e9) in models that
    // have one.
    for (model, wanted) in [("flow", 0.2), ("cm02", 47.7837158203125)] {
        let mut lab = three(&format!("model = \"{model}\""));
        lab.task(&["b", "c"], &[], &[0.0, 1e9, 0.0, 0.0]);
        lab.expect(&[(wanted, &[0])], 1e-13);
    }
    // One host twice: both amounts on its one core. On two cores each has its own, and none is
    // faster than a core.
    for (host, flops, wanted) in [
        ("a", [1e9, 1e9], 2.0),
        ("d", [1e9, 1e9], 1.0),
        ("d", [3e9, 1e9], 3.0),
    ] {
        let mut lab = three("");
        lab.task(&[host, host], &flops, &[]);
        lab.expect(&[(wanted, &[0])], 1e-13);
    }
    // A fatpipe limits what crosses it in all, as does the implicit loopback.
    let mut lab = three("");
    lab.task(&["a", "d"], &[], &[0.0, 1e8, 1e8, 0.0]);
    lab.expect(&[(2.001, &[0])], 1e-13);
    let mut lab = three("");
    lab.task(&["a", "b"], &[], &[1e9, 0.0, 0.0, 0.0]);
    lab.expect(&[(0.1, &[0])], 1e-13);
    // The constant model: a second for bytes, and no link.
    let mut lab = three("model = \"constant\"");
    lab.task(&["a", "b"], &[1e9, 2e9], &[0.0, 1e15, 0.0, 0.0]);
    lab.task(&["c"], &[1e9], &[]);
    lab.expect(&[(1.0, &[1]), (3.0, &[0])], 1e-13);
}

#[test]
fn two_tasks() {
    // One core: half each.
    let mut lab = three("");
    lab.task(&["a", "b"], &[1e9, 0.0], &[]);
    lab.task(&["a", "b"], &[2e9, 0.0], &[]);
    lab.expect(&[(2.0, &[0]), (3.0, &[1])], 1e-13);
    // One link: half each.
    let mut lab = three("");
    lab.task(&["a", "b"], &[], &[0.0, 1e8, 0.0, 0.0]);
    lab.task(&["a", "b"], &[], &[0.0, 2e8, 0.0, 0.0]);
    lab.expect(&[(2.001, &[0]), (3.001, &[1])], 1e-13);
    // Two cores, each wanted twice as much by another: a third each.
    let mut lab = three("");
    lab.task(&["a", "b"], &[2e9, 1e9], &[0.0, 1e7, 0.0, 0.0]);
    lab.task(&["a", "b"], &[1e9, 2e9], &[0.0, 1e7, 0.0, 0.0]);
    lab.expect(&[(3.001, &[0, 1])], 1e-13);
    // One has a core for itself and takes little of the link; the other has the rest of that: 1e8
    // bytes at 9e7 bytes/s until 1.001 s, then 1e8.
    let mut lab = three("");
    lab.task(&["a", "b"], &[1e9, 0.0], &[0.0, 1e7, 0.0, 0.0]);
    lab.task(&["a", "b"], &[], &[0.0, 1e8, 0.0, 0.0]);
    lab.expect(&[(1.001, &[0]), (1.101, &[1])], 1e-13);
    // The second half a second later.
    let mut lab = three("");
    lab.task(&["a", "b"], &[1e9, 0.0], &[0.0, 1e8, 0.0, 0.0]);
    lab.wait_until(0.5);
    lab.task(&["a", "b"], &[1e9, 0.0], &[0.0, 1e8, 0.0, 0.0]);
    lab.expect(&[(1.501, &[0]), (2.001, &[1])], 1e-13);
}

#[test]
fn a_task_among_others_counts_as_one() {
    // A computation has half of the core until the task ends.
    let mut lab = three("");
    lab.task(&["a"], &[1e9], &[]);
    lab.exec("a", 2e9, 1.0, UNLIMITED);
    lab.expect(&[(2.0, &[0]), (3.0, &[1])], 1e-13);
    // A transfer has half of the link.
    let mut lab = three("");
    lab.task(&["a", "b"], &[], &[0.0, 1e8, 0.0, 0.0]);
    lab.send("b", "a", 2e8);
    lab.expect(&[(2.001, &[0]), (3.001, &[1])], 1e-13);
    // Where the task does not need its half, the other has the rest: 8e7 of 1e8 bytes/s.
    let mut lab = three("");
    lab.task(&["a", "b"], &[1e8, 0.0], &[0.0, 2e6, 0.0, 0.0]);
    lab.send("b", "a", 8e6);
    lab.expect(&[(0.101, &[0, 1])], 1e-13);
}

#[test]
fn what_is_left_is_a_part_and_a_task_can_stand_still() {
    let mut lab = three("");
    let task = lab.task(&["a", "b"], &[2e9, 1e9], &[0.0, 1e8, 0.0, 0.0]);
    assert_eq!(lab.remaining(task), 1.0);
    lab.wait_until(0.501);
    assert!((lab.remaining(task) - 0.75).abs() < 1e-15);
    let (model, now) = lab.model();
    model.set_suspended(task, true, now);
    // Nobody can bound it or give it a priority.
    model.update(task, Update::Bound(1e-9), now);
    model.update(task, Update::Priority(100.0), now);
    lab.wait_until(1.501);
    assert!((lab.remaining(task) - 0.75).abs() < 1e-15);
    let (model, now) = lab.model();
    model.set_suspended(task, false, now);
    lab.expect(&[(3.001, &[0])], 1e-13);
    // Cancelled while it pays and while it works: the others do not notice.
    let paying = lab.task(&["a", "b"], &[1e9, 1e9], &[0.0, 1e8, 0.0, 0.0]);
    let (model, now) = lab.model();
    model.cancel(paying, now);
    let working = lab.task(&["a"], &[1e9], &[]);
    lab.exec("a", 1e9, 1.0, UNLIMITED);
    lab.wait_until(3.501);
    let (model, now) = lab.model();
    model.cancel(working, now);
    lab.expect(&[(4.251, &[3])], 1e-13);
}

#[test]
fn hosts_and_links_fail_and_change_under_a_task() {
    let run = |change: &dyn Fn(&Lab) -> Change| {
        let mut lab = three("");
        lab.task(
            &["a", "b", "c"],
            &[1e9, 1e9, 0.0],
            &[0.0, 1e8, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        );
        lab.wait_until(0.5);
        let change = change(&lab);
        lab.change(change);
        lab.next_end_of_any_kind()
    };
    let failed = Some((0.5, vec![(0, End::Failed)]));
    let done = |date: f64| Some((date, vec![(0, End::Done)]));
    let check = |found: Option<(f64, Vec<(u64, End)>)>, wanted: Option<(f64, Vec<(u64, End)>)>| {
        let (found, wanted) = (found.expect("an end"), wanted.expect("an end"));
        assert!((found.0 - wanted.0).abs() < 1e-12, "{found:?} {wanted:?}");
        assert_eq!(found.1, wanted.1);
    };
    // Every host of the list counts, also one without work; other links and hosts do not.
    for name in ["a", "b", "c"] {
        check(
            run(&|lab| Change::Host(lab.host(name), false)),
            failed.clone(),
        );
    }
    check(run(&|lab| Change::Host(lab.host("d"), false)), done(1.001));
    check(
        run(&|lab| Change::Link(lab.link("a", "b"), false)),
        failed.clone(),
    );
    check(
        run(&|lab| Change::Link(lab.link("b", "c"), false)),
        done(1.001),
    );
    // Half is left but for the latency: half the speed, or half the bandwidth, double its time.
    check(
        run(&|lab| Change::Speed(lab.host("b"), 0.5)),
        done(0.5 + 2.0 * 0.501),
    );
    check(
        run(&|lab| Change::Bandwidth(lab.link("a", "b"), 5e7)),
        done(0.5 + 2.0 * 0.501),
    );
    check(run(&|lab| Change::Speed(lab.host("c"), 0.5)), done(1.001));
    // A latency that has been paid does not matter in a model without window.
    check(
        run(&|lab| Change::Latency(lab.link("a", "b"), Span::from_secs(1.0))),
        done(1.001),
    );
    // What starts over what is off fails at once.
    for change in [
        |lab: &Lab| Change::Host(lab.host("b"), false),
        |lab: &Lab| Change::Link(lab.link("a", "b"), false),
    ] {
        let mut lab = three("");
        let change = change(&lab);
        lab.change(change);
        lab.task(&["a", "b"], &[1e9, 0.0], &[0.0, 1.0, 0.0, 0.0]);
        assert_eq!(
            lab.next_end_of_any_kind(),
            Some((0.0, vec![(0, End::Failed)]))
        );
    }
}

#[test]
fn a_window_moves_with_the_latency() {
    // cm02: 0.1 s; then a window of 4194304 / (2 x 0.1 x 1e9) of the task per second; a tenth of
    // the latency is ten times that.
    let mut lab = three("model = \"cm02\"");
    lab.task(&["b", "c"], &[], &[0.0, 1e9, 0.0, 0.0]);
    lab.wait_until(10.1);
    let link = lab.link("b", "c");
    lab.change(Change::Latency(link, Span::from_secs(0.01)));
    let rate = 4194304.0 / 2e8;
    lab.expect(&[(10.1 + (1.0 - 10.0 * rate) / (10.0 * rate), &[0])], 1e-12);
}

#[test]
fn amounts_that_make_no_task_are_refused() {
    let (a, b) = (HostId(0), HostId(1));
    let new = |hosts: &[HostId], flops: &[f64], bytes: &[f64]| {
        ParallelWork::new(hosts.to_vec(), flops.to_vec(), bytes.to_vec())
            .expect_err("it is refused")
            .to_string()
    };
    assert_eq!(
        new(&[], &[], &[]),
        "a parallel task needs at least one host"
    );
    assert_eq!(
        new(&[a, b], &[1.0], &[]),
        "a parallel task on 2 hosts needs 2 amounts of flop or none, not 1"
    );
    assert_eq!(
        new(&[a, b], &[], &[1.0, 2.0]),
        "a parallel task on 2 hosts needs 2 x 2 amounts of bytes or none, not 2"
    );
    assert_eq!(
        new(&[a, b], &[1.0, -1.0], &[]),
        "a parallel task needs amounts that are finite and at least 0, not -1 flop on host number 1 of its list"
    );
    assert_eq!(
        new(&[a, b], &[f64::NAN, 1.0], &[]),
        "a parallel task needs amounts that are finite and at least 0, not NaN flop on host number 0 of its list"
    );
    assert_eq!(
        new(&[a, b], &[], &[0.0, 1.0, f64::INFINITY, 0.0]),
        "a parallel task needs amounts that are finite and at least 0, not inf bytes from host number 1 to host number 0 of its list"
    );
}

#[test]
fn a_task_needs_routes() {
    let mut lab =
        Lab::new("version = 1\nhosts = { a = { speed = \"1Gf\" }, b = { speed = \"1Gf\" } }\n");
    let work = |bytes: f64| {
        let hosts = vec![HostId(0), HostId(1)];
        let work = ParallelWork::new(hosts, vec![1e9, 1e9], vec![0.0, bytes, 0.0, 0.0]);
        Work::Parallel(Rc::new(work.expect("a task")))
    };
    let error = lab.try_start(&work(1.0)).expect_err("no route");
    assert!(
        error
            .to_string()
            .starts_with("no route from host \"a\" to host \"b\""),
        "{error}"
    );
    // Without bytes it needs none, and nothing is left of the other.
    lab.start(&work(0.0));
    lab.expect(&[(1.0, &[1])], 0.0);
}

#[test]
fn work_stays_small() {
    // It is built for every message; the task is behind a pointer.
    assert_eq!(size_of::<Work>(), 40);
}

#[test]
fn hundreds_of_different_amounts() {
    // 300 tasks of 1 to 300 Mflop on one core: the k-th shortest of n ends when all have had as
    // much as it, and the shorter ones all of theirs.
    let mut lab = three("");
    for at in 1..=300_u32 {
        lab.task(&["a"], &[f64::from(at) * 1e6], &[]);
    }
    for at in 1..=300_u32 {
        let shorter = f64::from(at * (at + 1)) / 2.0;
        let longer = f64::from((300 - at) * at);
        let (date, ended) = lab.next_end().expect("something ends");
        let wanted = (shorter + longer) * 1e-3;
        assert!((date - wanted).abs() < 1e-11 * wanted, "{date} {wanted}");
        assert_eq!(ended, [u64::from(at - 1)]);
    }
    // And one task with as many amounts between as many hosts: the largest limits it.
    let count = 20_u32;
    let mut lab = Lab::new(&format!(
        "version = 1\nclusters.c = {{ hosts = \"n[0-{}]\", speed = \"1Gf\", bandwidth = \"1GBps\", latency = \"1us\" }}\n",
        count - 1
    ));
    let names: Vec<String> = (0..count).map(|at| format!("n{at}")).collect();
    let hosts: Vec<&str> = names.iter().map(String::as_str).collect();
    // From i to j: 1e6 (20 i + j) bytes; the last row is the largest, and each host also keeps
    // something for itself.
    let bytes: Vec<f64> = (0..count * count).map(|at| f64::from(at) * 1e6).collect();
    let last: f64 = bytes[(count * (count - 1)) as usize..].iter().sum();
    let own = bytes[(count * count - 1) as usize];
    lab.task(&hosts, &[], &bytes);
    lab.expect(&[(2e-6 + (last - own) / 1e9, &[0])], 1e-12);
}
