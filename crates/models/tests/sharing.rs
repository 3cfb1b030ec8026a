//! Promise: whatever starts, stops, waits and changes, transfers end when a simulation without any
//! of the model's tables says so.

use std::collections::BTreeMap;

use models::FlowModel;
use platform::Platform;
use proptest::prelude::*;
use sim_core::{ActivityId, Change, End, HostId, Resource, Time, Work};

/// Latency and bandwidth of the link of each host; a route takes the links of both its ends.
const LINKS: [(f64, f64); 6] = [
    (0.25, 100.0),
    (0.25, 100.0),
    (0.25, 100.0),
    (0.125, 80.0),
    (0.5, 300.0),
    (1.0, 50.0),
];

fn star() -> Platform {
    let mut text = "version = 1\nnetwork.model = \"flow\"\n".to_owned();
    for (host, (latency, bandwidth)) in LINKS.iter().enumerate() {
        text += &format!(
            "hosts.h{host}.speed = \"1f\"\n\
             links.l{host} = {{ bandwidth = \"{bandwidth}Bps\", latency = \"{latency}s\" }}\n"
        );
    }
    for to in 0..LINKS.len() {
        for from in 0..to {
            text += &format!(
                "[[routes]]\nfrom = \"h{from}\"\nto = \"h{to}\"\nlinks = [\"l{from}\", \"l{to}\"]\n"
            );
        }
    }
    Platform::parse("star.toml", &text).unwrap_or_else(|error| panic!("{error}"))
}

/// A transfer of the reference.
#[derive(Clone, Debug)]
struct Transfer {
    links: [usize; 2],
    latency: f64,
    bytes: f64,
    limit: f64,
    suspended: bool,
}

/// Transfers by number, moved from event to event with rates from scratch.
#[derive(Default)]
struct Reference {
    now: f64,
    transfers: BTreeMap<u64, Transfer>,
    ends: BTreeMap<u64, f64>,
}

impl Reference {
    /// The rates of the transfers that share: all rise together until a link or a limit holds them.
    fn rates(&self) -> BTreeMap<u64, f64> {
        let shares = |transfer: &Transfer| transfer.latency <= 0.0 && !transfer.suspended;
        let mut open: Vec<u64> = Vec::new();
        let all = self.transfers.iter();
        open.extend(all.filter(|(_, it)| shares(it)).map(|(number, _)| *number));
        let mut left = LINKS.map(|(_, bandwidth)| bandwidth);
        let mut rates = BTreeMap::new();
        while !open.is_empty() {
            let users = |link: usize| {
                let uses = |number: &&u64| self.transfers[*number].links.contains(&link);
                open.iter().filter(uses).count() as f64
            };
            let possible = |number: &u64| {
                let transfer = &self.transfers[number];
                let of_links = transfer.links.map(|link| left[link] / users(link));
                of_links[0].min(of_links[1]).min(transfer.limit)
            };
            let level = open.iter().map(possible).fold(f64::INFINITY, f64::min);
            let held = |number: &u64| possible(number) <= level * (1.0 + 1e-12);
            let (fixed, rest) = open.iter().partition::<Vec<u64>, _>(|number| held(number));
            for number in fixed {
                rates.insert(number, level);
                for link in self.transfers[&number].links {
                    left[link] -= level;
                }
            }
            open = rest;
        }
        rates
    }

    fn run_until(&mut self, date: f64) {
        loop {
            let rates = self.rates();
            let until_event = |(number, transfer): (&u64, &Transfer)| match rates.get(number) {
                Some(rate) => transfer.bytes / rate,
                None if transfer.suspended => f64::INFINITY,
                None => transfer.latency,
            };
            let next = self.transfers.iter().map(until_event);
            let step = next.fold(date - self.now, f64::min);
            let is_last = self.now + step >= date;
            self.now = if is_last { date } else { self.now + step };
            let is_due = |left: f64| left <= 1e-9;
            for (number, transfer) in &mut self.transfers {
                if let Some(rate) = rates.get(number) {
                    transfer.bytes -= rate * step;
                } else if !transfer.suspended {
                    transfer.latency -= step;
                    if is_due(transfer.latency) {
                        transfer.latency = 0.0;
                    }
                }
                let shared = rates.contains_key(number) || transfer.bytes == 0.0;
                if shared && transfer.latency == 0.0 && is_due(transfer.bytes) {
                    self.ends.insert(*number, self.now);
                }
            }
            self.transfers
                .retain(|number, _| !self.ends.contains_key(number));
            if is_last {
                return;
            }
        }
    }
}

/// The model, with the part of a kernel that it needs.
struct Kernel {
    model: FlowModel,
    now: Time,
    running: Vec<ActivityId>,
    free: Vec<u32>,
    slots: u32,
    started: u64,
    ends: BTreeMap<u64, f64>,
}

impl Kernel {
    fn start(&mut self, work: &Work) -> u64 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        });
        self.started += 1;
        let number = self.started;
        let id = ActivityId { number, slot };
        self.model.start(id, work, self.now).expect("a route");
        self.running.push(id);
        number
    }

    fn run_until(&mut self, date: f64) {
        let target = Time::from_secs(date);
        loop {
            let next = self.model.next_event(self.now, target);
            let next = next.filter(|next| *next < target);
            self.now = next.unwrap_or(target);
            let mut ended = Vec::new();
            self.model.advance(self.now, &mut ended);
            for (id, end) in ended {
                assert_eq!(end, End::Done);
                self.ends.insert(id.number, self.now.as_secs());
                self.running.retain(|other| *other != id);
                self.free.push(id.slot);
            }
            if next.is_none() {
                return;
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Send {
        from: usize,
        to: usize,
        bytes: f64,
        limit: f64,
    },
    Cancel(prop::sample::Index),
    Suspend(prop::sample::Index),
    Resume(prop::sample::Index),
    Limit(prop::sample::Index, f64),
    Wait(f64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let bytes = prop_oneof![2 => Just(50.0), 1 => Just(0.0), 2 => 1.0..300.0];
    let limit = prop_oneof![4 => Just(f64::INFINITY), 1 => 1.0..150.0];
    let other = 1..LINKS.len();
    let send = (0..LINKS.len(), other, bytes, limit).prop_map(|(from, by, bytes, limit)| {
        let to = (from + by) % LINKS.len();
        Step::Send {
            from,
            to,
            bytes,
            limit,
        }
    });
    let index = any::<prop::sample::Index>;
    let step = prop_oneof![
        6 => send,
        1 => index().prop_map(Step::Cancel),
        1 => index().prop_map(Step::Suspend),
        1 => index().prop_map(Step::Resume),
        1 => (index(), 1.0..150.0).prop_map(|(at, limit)| Step::Limit(at, limit)),
        3 => prop_oneof![0.01..0.5, 0.5..4.0].prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 1..120)
}

/// Makes a step at the present date in both.
fn take_step(step: &Step, kernel: &mut Kernel, reference: &mut Reference) {
    let now = kernel.now;
    match *step {
        Step::Send {
            from,
            to,
            bytes,
            limit,
        } => {
            let work = Work::Transfer {
                from: HostId(from as u32),
                to: HostId(to as u32),
                bytes,
                rate: limit,
            };
            let transfer = Transfer {
                links: [from, to],
                latency: LINKS[from].0 + LINKS[to].0,
                bytes,
                limit,
                suspended: false,
            };
            reference.transfers.insert(kernel.start(&work), transfer);
        }
        Step::Wait(seconds) => {
            let date = now.as_secs() + seconds;
            kernel.run_until(date);
            reference.run_until(date);
        }
        _ if kernel.running.is_empty() => {}
        Step::Cancel(at) => {
            let id = kernel.running.swap_remove(at.index(kernel.running.len()));
            kernel.model.cancel(id, now);
            kernel.free.push(id.slot);
            reference.transfers.remove(&id.number);
        }
        Step::Suspend(at) | Step::Resume(at) => {
            let id = *at.get(&kernel.running);
            let transfer = reference.transfers.get_mut(&id.number).expect("running");
            let suspend = matches!(step, Step::Suspend(_));
            if std::mem::replace(&mut transfer.suspended, suspend) == suspend {
                return;
            }
            kernel.model.set_suspended(id, suspend, now);
        }
        Step::Limit(at, limit) => {
            let id = *at.get(&kernel.running);
            kernel.model.update(id, Change::Bound(limit), now);
            reference
                .transfers
                .get_mut(&id.number)
                .expect("running")
                .limit = limit;
        }
    }
}

/// Asserts that two simulations agree on their present state.
fn compare(kernel: &mut Kernel, reference: &Reference) {
    let near = |found: f64, wanted: f64| (found - wanted).abs() <= 1e-7 * wanted.max(1.0);
    assert_eq!(
        kernel.ends.keys().collect::<Vec<_>>(),
        reference.ends.keys().collect::<Vec<_>>()
    );
    for (found, (number, wanted)) in kernel.ends.values().zip(&reference.ends) {
        assert!(near(*found, *wanted), "{number}: {found} for {wanted}");
    }
    for id in &kernel.running {
        let left = kernel.model.remaining(*id, kernel.now);
        let wanted = reference.transfers[&id.number].bytes;
        assert!(near(left, wanted), "{}: {left} for {wanted}", id.number);
    }
}

proptest! {
    #[test]
    fn transfers_end_as_in_a_simulation_without_tables(steps in steps()) {
        let mut kernel = Kernel {
            model: FlowModel::new(star().into()),
            now: Time::ZERO,
            running: Vec::new(),
            free: Vec::new(),
            slots: 0,
            started: 0,
            ends: BTreeMap::new(),
        };
        let mut reference = Reference::default();
        for step in &steps {
            take_step(step, &mut kernel, &mut reference);
            compare(&mut kernel, &reference);
        }
        for id in kernel.running.clone() {
            reference.transfers.get_mut(&id.number).expect("running").suspended = false;
            kernel.model.set_suspended(id, false, kernel.now);
        }
        take_step(&Step::Wait(1e4), &mut kernel, &mut reference);
        prop_assert!(kernel.running.is_empty() && reference.transfers.is_empty());
        compare(&mut kernel, &reference);
    }
}
