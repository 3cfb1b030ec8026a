//! Hosts that go off end their actors and activities at this instant; hosts that come back start
//! restarting actors again.
//!
//! The model is the constant model, wrapped: computations on a host that goes off fail, and so do
//! transfers from or to this host. Host 1 goes off by itself at 10 s and comes back at 20 s.

use std::cell::RefCell;
use std::rc::Rc;

use crate::hand_on::hand_on;
use sim_core::{
    ActivityError, ActivityId, Change, Constant, Control, Controllable, End, HostId, Outcome,
    Resource, Simulation, Span, StartError, Time, Work,
};

/// The constant model on hosts that can fail.
struct Failing {
    inner: Constant,
    running: Vec<(ActivityId, Vec<HostId>)>,
    doomed: Vec<ActivityId>,
    switched: Vec<(HostId, bool)>,
    profile: Vec<(f64, HostId, bool)>,
}

impl Failing {
    fn new() -> Self {
        let inner = Constant::new(Span::from_secs(4.0), 1e9);
        let profile = vec![(20.0, HostId(1), true), (10.0, HostId(1), false)];
        Self {
            inner,
            running: Vec::new(),
            doomed: Vec::new(),
            switched: Vec::new(),
            profile,
        }
    }

    fn switch(&mut self, host: HostId, on: bool) {
        self.switched.push((host, on));
        if !on {
            let on_host = |(_, hosts): &(ActivityId, Vec<HostId>)| hosts.contains(&host);
            self.doomed.extend(
                self.running
                    .iter()
                    .filter(|entry| on_host(entry))
                    .map(|entry| entry.0),
            );
        }
    }
}

impl Resource for Failing {
    fn start(&mut self, activity: ActivityId, work: &Work, now: Time) -> Result<(), StartError> {
        let hosts = match work {
            Work::Exec { host, .. } => vec![*host],
            Work::Transfer { from, to, .. } => vec![*from, *to],
            Work::Parallel(work) => work.hosts().to_vec(),
            Work::Io { .. } => Vec::new(),
        };
        self.running.push((activity, hosts));
        self.inner.start(activity, work, now)
    }

    fn cancel(&mut self, activity: ActivityId, now: Time) {
        self.running.retain(|entry| entry.0 != activity);
        self.doomed.retain(|&other| other != activity);
        self.inner.cancel(activity, now);
    }

    hand_on!(inner);

    fn next_event(&mut self, now: Time, horizon: Time) -> Option<Time> {
        let event = self
            .profile
            .last()
            .map(|&(date, _, _)| Time::from_secs(date));
        let inner = self.inner.next_event(now, horizon);
        [event, inner].into_iter().flatten().min()
    }

    fn advance(&mut self, now: Time, ended: &mut Vec<(ActivityId, End)>) -> bool {
        while let Some(&(date, host, on)) = self.profile.last()
            && date <= now.as_secs()
        {
            self.profile.pop();
            self.switch(host, on);
        }
        for activity in std::mem::take(&mut self.doomed) {
            self.inner.cancel(activity, now);
            self.running.retain(|entry| entry.0 != activity);
            ended.push((activity, End::Failed));
        }
        self.inner.advance(now, ended);
        self.running
            .retain(|entry| !ended.iter().any(|(activity, _)| *activity == entry.0));
        !self.switched.is_empty()
    }

    fn as_controllable(&mut self) -> Option<&mut dyn Controllable> {
        Some(self)
    }
}

impl Controllable for Failing {
    fn control(&mut self, control: Control, _now: Time) -> Result<(), StartError> {
        let Control::Host { host, on } = control else {
            return Err(control.refusal_error());
        };
        self.switch(host, on);
        Ok(())
    }

    fn take_switched(&mut self, switched: &mut Vec<(HostId, bool)>) {
        switched.append(&mut self.switched);
    }
}

type Log = Rc<RefCell<Vec<(&'static str, f64)>>>;

fn world() -> (Simulation, Log) {
    let names: Vec<String> = vec!["stable".into(), "failing".into()];
    (
        Simulation::new(Box::new(Failing::new()), Rc::new(names), 0),
        Log::default(),
    )
}

#[test]
fn actors_on_a_failed_host_end_at_that_instant() {
    let (mut simulation, log) = world();
    let dropped = log.clone();
    simulation.spawn("victim", 1, |me| async move {
        let hook = dropped.clone();
        let now = me.clone();
        me.on_exit(move |failed| {
            assert!(failed);
            hook.borrow_mut().push(("ended", now.now().as_secs()));
        });
        me.sleep(Span::from_secs(100.0)).await;
        dropped.borrow_mut().push(("woke", me.now().as_secs()));
    });
    let report = simulation.run();
    assert_eq!(report.outcome, Outcome::Finished);
    assert_eq!(*log.borrow(), [("ended", 10.0)]);
    assert_eq!(report.time.as_secs(), 10.0);
}

#[test]
fn a_partner_elsewhere_sees_the_failure() {
    // The transfer starts at 8 s, would last 4 s, and fails at 10 s.
    let (mut simulation, log) = world();
    let mailbox = simulation.new_mailbox();
    let same = mailbox.clone();
    simulation.spawn("sender", 1, |me| async move {
        me.sleep(Span::from_secs(8.0)).await;
        mailbox.put(1, 1.0).await
    });
    let seen = log.clone();
    simulation.spawn("receiver", 0, |me| async move {
        assert_eq!(same.get().await.unwrap_err(), ActivityError::Failed);
        seen.borrow_mut().push(("failure", me.now().as_secs()));
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
    assert_eq!(*log.borrow(), [("failure", 10.0)]);
}

#[test]
fn a_restarting_actor_begins_again() {
    // From 0 s it works until its host goes off at 10 s; from 20 s on it has the 15 s that it
    // needs.
    let (mut simulation, log) = world();
    let steps = log.clone();
    simulation.spawn_restarting("worker", 1, move |me| {
        let steps = steps.clone();
        async move {
            steps.borrow_mut().push(("begin", me.now().as_secs()));
            me.sleep(Span::from_secs(15.0)).await;
            steps.borrow_mut().push(("end", me.now().as_secs()));
        }
    });
    simulation.spawn("watcher", 0, |me| async move {
        me.sleep(Span::from_secs(50.0)).await;
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
    assert_eq!(
        *log.borrow(),
        [("begin", 0.0), ("begin", 20.0), ("end", 35.0)]
    );
}

#[test]
fn an_actor_switches_hosts() {
    let (mut simulation, log) = world();
    let end = log.clone();
    let computing = simulation.spawn("computing", 1, |me| async move { me.execute(9e9).await });
    simulation.spawn("operator", 0, |me| async move {
        me.sleep(Span::from_secs(3.0)).await;
        me.switch_host(HostId(1), false).await;
        assert!(computing.has_ended() && !me.host_is_on(HostId(1)));
        // Nothing starts on a host that is off.
        let late = me
            .spawn("late", HostId(1), |_| async {
                unreachable!("its host is off")
            })
            .await;
        late.join().await;
        me.switch_host(HostId(1), true).await;
        let child = me
            .spawn(
                "child",
                HostId(1),
                |me| async move { me.execute(2e9).await },
            )
            .await;
        child.join().await;
        end.borrow_mut().push(("end", me.now().as_secs()));
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
    assert_eq!(*log.borrow(), [("end", 5.0)]);
}

#[test]
fn an_actor_may_switch_its_own_host_off() {
    let (mut simulation, _) = world();
    simulation.spawn("operator", 0, |me| async move {
        me.switch_host(HostId(0), false).await;
        unreachable!("its host is off");
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
}

#[test]
fn a_model_without_failures_says_so() {
    let mut simulation = Simulation::with_constant_model(1);
    simulation.spawn("operator", 0, |me| async move {
        me.switch_host(HostId(0), false).await;
    });
    let expected = "host 0 cannot be switched: hosts of this model are always on";
    assert_eq!(simulation.run().outcome, Outcome::BadInput(expected.into()));
}
