//! InfiniBand congestion control.

use models::packet::{
    CCTI_TIMER_UNIT_PS, CongestionParameters, CongestionSource, FecnSettings, ListedTopology,
    PacketSettings,
};
use sim_core::HostId;

use super::lab::{self, WIRE_TIME, base_link};

#[test]
fn three_notifications_leave_a_quarter() {
    let mut source = CongestionSource::new(CongestionParameters::linear(128, 1, 0));
    assert_eq!(source.delay(WIRE_TIME), 0);
    for _ in 0..3 {
        source.on_becn(0);
    }
    assert_eq!(WIRE_TIME + source.delay(WIRE_TIME), 4 * WIRE_TIME);
    assert_eq!(source.next_event_at(), None);
    // The index stays within the table.
    for _ in 0..1000 {
        source.on_becn(0);
    }
    assert_eq!(source.index(), 127);
}

#[test]
fn the_timer_gives_the_rate_back() {
    let mut source = CongestionSource::new(CongestionParameters::linear(128, 1, 150));
    for _ in 0..3 {
        source.on_becn(0);
    }
    let period = 150 * CCTI_TIMER_UNIT_PS;
    assert_eq!(period, 153_600_000);
    source.handle_events(3 * period - 1);
    assert_eq!(
        (source.index(), source.next_event_at()),
        (1, Some(3 * period))
    );
    source.handle_events(3 * period);
    assert_eq!((source.index(), source.next_event_at()), (0, None));
}

#[test]
fn a_shift_divides_the_delay() {
    let parameters = CongestionParameters {
        table: vec![0, 2 << 14 | 3],
        ccti_increase: 1,
        ccti_timer: 0,
        ccti_min: 0,
    };
    let mut source = CongestionSource::new(parameters);
    source.on_becn(0);
    assert_eq!(source.delay(1_000), 750);
}

/// Returns the marked packets of flows into a hot port, and of a flow that shares a link with them.
fn marked(fecn: FecnSettings) -> (usize, usize) {
    let mut links = ListedTopology::new();
    let between = links.add_link("S1 to S2", base_link());
    let (hot, idle) = (
        links.add_link("hot", base_link()),
        links.add_link("idle", base_link()),
    );
    for (host, to, route) in [
        (0, 10, vec![between, hot]),
        (1, 10, vec![hot]),
        (2, 10, vec![hot]),
        (3, 11, vec![between, idle]),
    ] {
        let up = links.add_link(format!("up {host}"), base_link());
        links.add_route(HostId(host), HostId(to), &[vec![up], route].concat());
    }
    let settings = PacketSettings {
        fecn: Some(fecn),
        ..PacketSettings::default()
    };
    let mut network = lab::network(links, settings);
    for (host, to) in [(0, 10), (1, 10), (2, 10), (3, 11)] {
        lab::send_many(&mut network, host, to, 400);
    }
    let deliveries = lab::run(&mut network);
    assert_eq!(deliveries.len(), 1600);
    let count = |host| {
        deliveries
            .iter()
            .filter(|end| end.marked && end.host.0 == host)
            .count()
    };
    (count(10), count(11))
}

#[test]
fn only_roots_of_congestion_mark() {
    let fecn = FecnSettings {
        threshold: 15,
        packet_size: 0,
        marking_rate: 0,
        victim_mask: false,
    };
    let (hot, victim) = marked(fecn);
    assert!(hot > 1000, "{hot}");
    // The shared link is a root itself until its buffers are full.
    assert!(victim < 40, "{victim}");
    let (_, with_mask) = marked(FecnSettings {
        victim_mask: true,
        ..fecn
    });
    assert!(with_mask > 200, "{with_mask}");
    assert_eq!(
        marked(FecnSettings {
            threshold: 0,
            ..fecn
        }),
        (0, 0)
    );
    assert_eq!(
        marked(FecnSettings {
            packet_size: 5_000,
            ..fecn
        }),
        (0, 0)
    );
    let (every_third, _) = marked(FecnSettings {
        marking_rate: 2,
        ..fecn
    });
    assert!(
        (hot / 3 - 10..=hot / 3 + 10).contains(&every_third),
        "{every_third} of {hot}"
    );
}
