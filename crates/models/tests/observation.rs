//! Promise: an observer gets the life of each transfer: begin, rates with their bottlenecks, and
//! end, at dates known by hand; and an observer changes no date.

use std::cell::RefCell;
use std::rc::Rc;

use observe::{IncidentPlace, LinkParameter, NetworkEvent, NetworkObserver};
use platform::profile::Change;
use testing::lab::Lab;

type Told = Rc<RefCell<Vec<(f64, NetworkEvent<Vec<u32>>)>>>;

/// Makes the model of a lab report its events.
fn observed(lab: &mut Lab) -> Told {
    let told = Told::default();
    let events = Rc::clone(&told);
    let observer = move |time, event: NetworkEvent<&[u32]>| {
        let event = match event {
            NetworkEvent::Begin {
                flow,
                bytes,
                latency_s,
                alone_s,
                links,
            } => NetworkEvent::Begin {
                flow,
                bytes,
                latency_s,
                alone_s,
                links: links.to_vec(),
            },
            NetworkEvent::Rate { flow, rate, link } => NetworkEvent::Rate { flow, rate, link },
            NetworkEvent::End { flow } => NetworkEvent::End { flow },
            NetworkEvent::Computation { alone_s } => NetworkEvent::Computation { alone_s },
            NetworkEvent::LinkChange {
                link,
                parameter,
                value,
            } => NetworkEvent::LinkChange {
                link,
                parameter,
                value,
            },
            NetworkEvent::Incident {
                at,
                name,
                peer,
                value,
            } => NetworkEvent::Incident {
                at,
                name,
                peer,
                value,
            },
        };
        events.borrow_mut().push((time, event));
    };
    lab.model().0.set_observer(NetworkObserver::new(observer));
    told
}

/// Hosts a, b, c with a link of 100 B/s and 1 s each to a switch, and there a link of 150 B/s to d.
const TREE: &str = r#"
    version = 1
    network = { model = "raw" }
    hosts = { a = { speed = "1f" }, b = { speed = "1f" }, c = { speed = "1f" } , d = { speed = "1f" } }
    [links]
    A = { bandwidth = "100Bps", latency = "1s" }
    B = { bandwidth = "100Bps", latency = "1s" }
    D = { bandwidth = "150Bps", latency = "1s" }
    [[routes]]
    from = "a"
    to = "d"
    links = ["A", "D"]
    [[routes]]
    from = "b"
    to = "d"
    links = ["B", "D"]
"#;

#[test]
fn two_transfers_share_a_link_and_one_is_alone_before_and_after() {
    let mut lab = Lab::new(TREE);
    let told = observed(&mut lab);
    let route = |lab: &Lab, from| {
        let (from, to) = (lab.host(from), lab.host("d"));
        let mut route = platform::Route::default();
        lab.platform()
            .route_into(from, to, &mut route)
            .expect("there is one");
        route.hops.iter().map(|hop| hop.link.0).collect::<Vec<_>>()
    };
    let (from_a, from_b) = (route(&lab, "a"), route(&lab, "b"));
    let (a, d) = (Some(from_a[0]), Some(from_a[1]));
    // Alone from 2 s on, at 100 B/s; with the other from 4 s on, at 75 B/s each: 200 and 150 bytes
    // until 6 s. The first has 50 left then, alone again.
    lab.send("a", "d", 400.0);
    lab.wait_until(2.0);
    lab.send("b", "d", 150.0);
    lab.expect(&[(6.0, &[1]), (6.5, &[0])], 1e-12);
    let begin = |flow, bytes, alone_s, links| NetworkEvent::Begin {
        flow,
        bytes,
        latency_s: 2.0,
        alone_s,
        links,
    };
    let rate = |flow, rate, link| NetworkEvent::Rate { flow, rate, link };
    let expected = [
        (0.0, begin(0, 400.0, 6.0, from_a)),
        (2.0, rate(0, 100.0, a)),
        (2.0, begin(1, 150.0, 3.5, from_b)),
        (4.0, rate(0, 75.0, d)),
        (4.0, rate(1, 75.0, d)),
        (6.0, NetworkEvent::End { flow: 1 }),
        (6.0, rate(0, 100.0, a)),
        (6.5, NetworkEvent::End { flow: 0 }),
    ];
    assert_eq!(*told.borrow(), expected);
}

#[test]
fn changes_of_links_and_hosts_are_told() {
    let mut lab = Lab::new(TREE);
    let told = observed(&mut lab);
    let (link, host) = (lab.link("a", "d"), lab.host("b"));
    lab.wait_until(1.0);
    for change in [
        Change::Bandwidth(link, 50.0),
        Change::Link(link, false),
        Change::Speed(host, 0.5),
        Change::Host(host, false),
        // It is off already.
        Change::Host(host, false),
    ] {
        lab.change(change);
    }
    let of_link = |parameter, value| NetworkEvent::LinkChange {
        link: link.0,
        parameter,
        value,
    };
    let of_host = |name, value| NetworkEvent::Incident {
        at: IncidentPlace::Host(host.0),
        name,
        peer: None,
        value,
    };
    let expected = [
        of_link(LinkParameter::Bandwidth, 50.0),
        of_link(LinkParameter::State, 0.0),
        of_host("speed of the host", Some(0.5)),
        of_host("host off", None),
    ];
    assert_eq!(*told.borrow(), expected.map(|event| (1.0, event)));
}

#[test]
fn a_failed_transfer_ends_and_one_without_links_has_no_rate() {
    let mut lab = Lab::new(TREE);
    let told = observed(&mut lab);
    lab.send("a", "d", 400.0);
    lab.wait_until(3.0);
    let link = lab.link("a", "d");
    lab.change(Change::Link(link, false));
    lab.next_end_of_any_kind();
    assert_eq!(
        told.borrow().last(),
        Some(&(3.0, NetworkEvent::End { flow: 0 }))
    );

    let mut lab = Lab::new(
        r#"
        version = 1
        network = { model = "constant", duration = "3s" }
        hosts = { a = { speed = "1f" }, b = { speed = "1f" } }
        "#,
    );
    let told = observed(&mut lab);
    lab.send("a", "b", 100.0);
    lab.expect(&[(3.0, &[0])], 1e-12);
    let begin = NetworkEvent::Begin {
        flow: 0,
        bytes: 100.0,
        latency_s: 3.0,
        alone_s: 3.0,
        links: Vec::new(),
    };
    let end = NetworkEvent::End { flow: 0 };
    assert_eq!(*told.borrow(), [(0.0, begin), (3.0, end)]);
}

/// Penalties for concurrent transfers are no link's, and are not part of the duration alone.
#[test]
fn a_penalty_of_the_model_is_no_bottleneck() {
    let text = TREE.replace("\"raw\"", "\"ib\"");
    let mut lab = Lab::new(&text);
    let told = observed(&mut lab);
    lab.send("a", "d", 400.0);
    let alone_s = match told.borrow().first() {
        Some((_, NetworkEvent::Begin { alone_s, .. })) => *alone_s,
        other => panic!("{other:?}"),
    };
    let (end, _) = lab.next_end().expect("it ends");
    assert!((alone_s - end).abs() <= 1e-12 * end, "{alone_s} {end}");

    lab.send("a", "d", 400.0);
    lab.send("b", "d", 400.0);
    lab.next_end();
    let told = told.borrow();
    let rates = told.iter().filter_map(|(_, event)| match event {
        NetworkEvent::Rate { rate, link, .. } => Some((*rate, *link)),
        _ => None,
    });
    let rates: Vec<_> = rates.collect();
    // Acknowledgements take 5 % of a link alone; two into one host have the penalty 0.965 × 2.
    let (alone, both) = (rates[0].0, rates[2]);
    assert!((alone * 1.05 - 100.0).abs() < 1e-10, "{rates:?}");
    assert!((both.0 * 1.93 - 100.0).abs() < 1e-10, "{rates:?}");
    assert_eq!(both.1, None);
}
