//! Mailboxes: sends and receives match first in, first out; no unmatched entry stays behind.

use std::cell::RefCell;
use std::rc::Rc;

use crate::common::{Log, secs};
use crate::hand_on::hand_on;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use sim_core::{
    Activity, ActivityError, ActivityId, ActivityState, Change, Constant, End, Mailbox, Message,
    Outcome, Resource, Simulation, StartError, Time, Work,
};

/// Duration of a message in the constant model, in seconds.
const LATENCY: f64 = 1e-6;

#[test]
fn a_put_and_a_get_meet_whoever_comes_first() {
    // The data travel when both are there, at 1 s; both sides continue at 1 s + 1 µs.
    for (put_at, get_at) in [(0.0, 1.0), (1.0, 0.0)] {
        let mut simulation = Simulation::with_constant_model(2);
        let mailbox = simulation.new_mailbox();
        let same = mailbox.clone();
        simulation.spawn("putter", 0, move |me| async move {
            me.sleep(secs(put_at)).await;
            mailbox.put("hello", 100.0).await.unwrap();
            assert_eq!(me.now(), Time::from_secs(1.0 + LATENCY));
        });
        simulation.spawn("getter", 1, move |me| async move {
            me.sleep(secs(get_at)).await;
            let message = same.get().await.unwrap();
            assert_eq!(message.downcast::<&str>().unwrap(), "hello");
            assert_eq!(me.now(), Time::from_secs(1.0 + LATENCY));
        });
        let report = simulation.run();
        assert_eq!(report.outcome, Outcome::Finished);
        assert_eq!((report.messages, report.bytes), (1, 100.0));
    }
}

#[test]
fn puts_are_got_in_their_order_and_gets_served_in_theirs() {
    let mut simulation = Simulation::with_constant_model(1);
    let (mailbox, log) = (simulation.new_mailbox(), Log::new());
    let same = mailbox.clone();
    simulation.spawn("puts", 0, move |me| async move {
        for word in 0..3 {
            mailbox.put_detached(word, 1.0).await;
        }
        me.sleep(secs(1.0)).await;
        for word in 3..6 {
            mailbox.put(word, 1.0).await.unwrap();
        }
    });
    for name in ["a", "b"] {
        let (same, log) = (same.clone(), log.clone());
        simulation.spawn(name, 0, move |_| async move {
            for _ in 0..3 {
                let word = same.get().await.unwrap().word().unwrap();
                log.add((name, word));
            }
        });
    }
    assert_eq!(simulation.run().outcome, Outcome::Finished);
    // a and b take turns: each asks again behind the other.
    let expected = [("a", 0), ("b", 1), ("a", 2), ("b", 3), ("a", 4), ("b", 5)];
    assert_eq!(log.take(), expected);
}

#[test]
fn asynchronous_sides_compute_in_between() {
    let mut simulation = Simulation::with_constant_model(1);
    let mailbox = simulation.new_mailbox();
    let same = mailbox.clone();
    simulation.spawn("putter", 0, |me| async move {
        let put = mailbox.put_async(5, 8.0).await;
        assert_eq!(me.now(), Time::ZERO);
        assert_eq!(put.remaining(), 8.0);
        me.execute(1e9).await.unwrap();
        put.wait().await.unwrap();
        assert_eq!(me.now(), Time::from_secs(1.0));
    });
    simulation.spawn("getter", 0, |me| async move {
        let get = same.get_async().await;
        me.execute(2e9).await.unwrap();
        assert!(get.test().await);
        // The message is there once.
        assert_eq!(get.wait().await.unwrap().word(), Some(5));
        assert!(matches!(get.wait().await.unwrap(), Message::Empty));
    });
    assert_eq!(simulation.run().time, Time::from_secs(2.0));
}

#[test]
fn an_actor_may_send_to_itself() {
    // The handle of the get has the message, also if the put is waited for first.
    let mut simulation = Simulation::with_constant_model(1);
    let mailbox = simulation.new_mailbox();
    simulation.spawn("both", 0, |me| async move {
        let put = mailbox.put_async(1, 1.0).await;
        let get = mailbox.get_async().await;
        assert!(matches!(put.wait().await.unwrap(), Message::Empty));
        assert_eq!(get.wait().await.unwrap().word(), Some(1));
        let put = mailbox.put_async(2, 1.0).await;
        assert_eq!(mailbox.get().await.unwrap().word(), Some(2));
        put.wait().await.unwrap();
        assert_eq!(me.now(), Time::from_secs(2.0 * LATENCY));
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
}

#[test]
fn a_detached_put_outlives_its_sender() {
    let mut simulation = Simulation::with_constant_model(1);
    let mailbox = simulation.new_mailbox();
    let same = mailbox.clone();
    let sender = simulation.spawn("sender", 0, |_| async move {
        mailbox.put_detached(3, 1.0).await;
    });
    simulation.spawn("getter", 0, |me| async move {
        me.sleep(secs(1.0)).await;
        assert!(sender.has_ended());
        assert!(same.probe().await);
        assert_eq!(same.get().await.unwrap().word(), Some(3));
        assert!(!same.probe().await);
    });
    assert_eq!(simulation.run().time, Time::from_secs(1.0 + LATENCY));
}

#[test]
fn with_a_permanent_receiver_data_travel_at_once() {
    // As O22, with the constant model: a detached put at 0 is there at 1 µs, so a get 3 s later
    // returns at once; a get before the arrival waits for the rest; a put that is waited for ends
    // without a get.
    let mut simulation = Simulation::with_constant_model(2);
    let mailbox = simulation.new_mailbox();
    let same = mailbox.clone();
    let receiver = simulation.spawn("receiver", 1, |me| async move {
        me.sleep(secs(3.0)).await;
        assert_eq!(same.get().await.unwrap().word(), Some(1));
        assert_eq!(me.now(), Time::from_secs(3.0));
        me.sleep_until(Time::from_secs(4.0 + LATENCY / 2.0)).await;
        assert_eq!(same.get().await.unwrap().word(), Some(2));
        assert_eq!(me.now(), Time::from_secs(4.0 + LATENCY));
    });
    mailbox.set_receiver(Some(&receiver));
    simulation.spawn("sender", 0, |me| async move {
        mailbox.put_detached(1, 1.0).await;
        me.sleep(secs(4.0)).await;
        mailbox.put(2, 1.0).await.unwrap();
        assert_eq!(me.now(), Time::from_secs(4.0 + LATENCY));
        receiver.join().await;
        // The receiver has ended: the message travels to its host, and another actor may get it.
        mailbox.put(3, 1.0).await.unwrap();
        assert_eq!(mailbox.get().await.unwrap().word(), Some(3));
        // Without it a put waits again.
        mailbox.set_receiver(None);
        let put = mailbox.put_timeout(4, 1.0, secs(1.0)).await;
        assert_eq!(put, Err(ActivityError::TimedOut));
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
}

#[test]
fn timeouts_withdraw_the_request() {
    let mut simulation = Simulation::with_constant_model(1);
    let mailbox = simulation.new_mailbox();
    simulation.spawn("actor", 0, |me| async move {
        let put = mailbox.put_timeout(1, 1.0, secs(1.0)).await;
        assert_eq!(put, Err(ActivityError::TimedOut));
        assert!(!mailbox.probe().await);
        let get = mailbox.get_timeout(secs(1.0)).await;
        assert_eq!(get.unwrap_err(), ActivityError::TimedOut);
        assert_eq!(me.now(), Time::from_secs(2.0));
        // No get is left for this put.
        mailbox.put_detached(2, 1.0).await;
        assert!(mailbox.probe().await);
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
}

#[test]
fn a_timeout_during_the_transfer_cancels_it_for_both() {
    let mut simulation = Simulation::with_constant_model(1);
    let mailbox = simulation.new_mailbox();
    let same = mailbox.clone();
    simulation.spawn("getter", 0, |_| async move {
        let get = mailbox.get_timeout(secs(LATENCY / 2.0)).await;
        assert_eq!(get.unwrap_err(), ActivityError::TimedOut);
    });
    simulation.spawn("putter", 0, |me| async move {
        assert_eq!(same.put(1, 1.0).await, Err(ActivityError::Cancelled));
        assert_eq!(me.now(), Time::from_secs(LATENCY / 2.0));
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
}

#[test]
fn cancel_works_in_each_status() {
    let mut simulation = Simulation::with_constant_model(1);
    let mailbox = simulation.new_mailbox();
    simulation.spawn("actor", 0, |_| async move {
        let cancelled = |end: Result<Message, ActivityError>| {
            assert_eq!(end.unwrap_err(), ActivityError::Cancelled);
        };
        // Send: half a communication.
        let put = mailbox.put_async(1, 1.0).await;
        assert_eq!(put.status(), ActivityState::Send);
        put.cancel().await;
        cancelled(put.wait().await);
        assert!(!mailbox.probe().await);
        // Receive: the other half.
        let get = mailbox.get_async().await;
        assert_eq!(get.status(), ActivityState::Receive);
        get.cancel().await;
        cancelled(get.wait().await);
        // Ready: both sides see it.
        let (put, get) = (mailbox.put_async(1, 1.0).await, mailbox.get_async().await);
        assert_eq!(put.status(), ActivityState::Ready);
        get.cancel().await;
        cancelled(put.wait().await);
        cancelled(get.wait().await);
        // Done: too late.
        let (put, get) = (mailbox.put_async(1, 1.0).await, mailbox.get_async().await);
        put.wait().await.unwrap();
        assert_eq!(get.status(), ActivityState::Done);
        get.cancel().await;
        assert_eq!(get.wait().await.unwrap().word(), Some(1));
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
}

#[test]
fn names_name_mailboxes() {
    let mut simulation = Simulation::with_constant_model(1);
    let named = simulation.mailbox("x");
    named.set_receiver(None);
    simulation.spawn("actor", 0, |me| async move {
        named.put_detached(1, 1.0).await;
        assert!(me.mailbox("x").probe().await);
        assert!(!me.mailbox("y").probe().await);
        assert!(!me.new_mailbox().probe().await);
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
}

/// One step of the only actor that works on a mailbox; another one gets killed.
#[derive(Clone, Copy, Debug)]
enum MailboxStep {
    PutAsync,
    PutDetached,
    PutTimeout,
    GetAsync,
    GetTimeout,
    CancelOldest,
    DropNewest,
    /// An actor puts, or gets, and is killed.
    KilledPut,
    KilledGet,
}

/// Reference model of a mailbox: pending puts or pending gets, oldest first.
#[derive(Default)]
struct Model {
    puts: Vec<u64>,
    gets: Vec<usize>,
    /// The value that each get receives, in the order of their creation.
    got: Vec<Option<u64>>,
}

impl Model {
    fn put(&mut self, word: u64) -> bool {
        if self.gets.is_empty() {
            self.puts.push(word);
            return false;
        }
        let get = self.gets.remove(0);
        self.got[get] = Some(word);
        true
    }

    fn get(&mut self) -> Option<u64> {
        self.got.push(None);
        if self.puts.is_empty() {
            self.gets.push(self.got.len() - 1);
            return None;
        }
        let word = self.puts.remove(0);
        *self.got.last_mut().expect("just pushed") = Some(word);
        Some(word)
    }
}

#[expect(
    clippy::too_many_lines,
    reason = "one arm per step, and the checks after them"
)]
/// Performs the steps on a mailbox and on the model; the handles of gets are checked at the end.
async fn perform(me: sim_core::Actor, mailbox: Mailbox, steps: Vec<MailboxStep>) {
    let mut model = Model::default();
    // The handle and the word or the number of the get.
    let mut puts: Vec<(Activity, u64)> = Vec::new();
    let mut gets: Vec<(Activity, usize)> = Vec::new();
    for (word, step) in (0..).zip(steps) {
        match step {
            MailboxStep::PutAsync => {
                puts.push((mailbox.put_async(word, 1.0).await, word));
                model.put(word);
            }
            MailboxStep::PutDetached => {
                mailbox.put_detached(word, 1.0).await;
                model.put(word);
            }
            MailboxStep::PutTimeout => {
                let met = mailbox.put_timeout(word, 1.0, secs(1.0)).await.is_ok();
                assert_eq!(met, !model.gets.is_empty());
                if met {
                    model.put(word);
                }
            }
            MailboxStep::GetAsync => {
                gets.push((mailbox.get_async().await, model.got.len()));
                model.get();
            }
            MailboxStep::GetTimeout => {
                let got = mailbox.get_timeout(secs(1.0)).await.ok();
                assert_eq!(got.and_then(|message| message.word()), model.get());
                model.gets.retain(|&get| get + 1 != model.got.len());
            }
            MailboxStep::CancelOldest => {
                if let Some((put, word)) = puts.first() {
                    // Let what has met arrive, so that only what waits is cancelled.
                    me.sleep(secs(1.0)).await;
                    put.cancel().await;
                    model.puts.retain(|other| other != word);
                    puts.remove(0);
                }
            }
            MailboxStep::DropNewest => {
                me.sleep(secs(1.0)).await;
                if let Some((_, number)) = gets.pop() {
                    model.gets.retain(|&other| other != number);
                }
            }
            MailboxStep::KilledPut | MailboxStep::KilledGet => {
                let other = mailbox.clone();
                let puts = matches!(step, MailboxStep::KilledPut);
                let waits = if puts {
                    model.gets.is_empty()
                } else {
                    model.puts.is_empty()
                };
                let victim = me
                    .spawn("victim", me.host(), move |_| async move {
                        if puts {
                            let _ = other.put(word, 1.0).await;
                        } else {
                            drop(other.get().await);
                        }
                    })
                    .await;
                // It meets what waits, or is killed while it waits.
                me.sleep(secs(1.0)).await;
                assert_eq!(victim.has_ended(), !waits);
                victim.kill().await;
                match (puts, waits) {
                    (true, false) => drop(model.put(word)),
                    (false, false) => drop(model.get()),
                    (_, true) => {}
                }
            }
        }
    }
    // A final observer: what the model says is there, in that order, and nothing else.
    me.sleep(secs(1.0)).await;
    assert_eq!(mailbox.probe().await, !model.puts.is_empty());
    for (get, number) in &gets {
        assert_eq!(
            get.test().await,
            model.got[*number].is_some(),
            "get {number}"
        );
        if model.got[*number].is_some() {
            assert_eq!(
                get.wait().await.expect("it has met").word(),
                model.got[*number]
            );
        }
    }
    drop(gets);
    for word in model.puts {
        assert_eq!(mailbox.get().await.expect("it waits").word(), Some(word));
    }
    // The same question again would wait for an event.
    me.sleep(secs(1.0)).await;
    assert!(!mailbox.probe().await);
    let last = mailbox.put_async(0, 1.0).await;
    assert!(mailbox.probe().await, "no get was left");
    drop(last);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_mailbox_is_a_list(steps in proptest::collection::vec(prop_oneof![
        2 => Just(MailboxStep::PutAsync),
        2 => Just(MailboxStep::PutDetached),
        1 => Just(MailboxStep::PutTimeout),
        3 => Just(MailboxStep::GetAsync),
        1 => Just(MailboxStep::GetTimeout),
        1 => Just(MailboxStep::CancelOldest),
        1 => Just(MailboxStep::DropNewest),
        1 => Just(MailboxStep::KilledPut),
        1 => Just(MailboxStep::KilledGet),
    ], 0..20)) {
        let mut simulation = Simulation::with_constant_model(1);
        let mailbox = simulation.new_mailbox();
        simulation.spawn("actor", 0, |me| perform(me, mailbox, steps));
        let outcome = simulation.run().outcome;
        prop_assert_eq!(outcome, Outcome::Finished);
    }
}

/// Whichever side posts first, the rate of the send limits the transfer.
#[test]
fn a_send_with_a_rate_limits_its_transfer() {
    for (put_at, get_at) in [(0.0, 1.0), (1.0, 0.0)] {
        let rates = Rc::new(RefCell::new(Vec::new()));
        let model = Recorded {
            constant: Constant::new(secs(LATENCY), 1e9),
            rates: Rc::clone(&rates),
        };
        let names = Rc::new(vec!["host".to_owned()]);
        let mut simulation = Simulation::new(Box::new(model), names, 0);
        let mailbox = simulation.new_mailbox();
        let same = mailbox.clone();
        simulation.spawn("putter", 0, move |me| async move {
            me.sleep(secs(put_at)).await;
            let put = mailbox.put_async_with_rate(1, 100.0, 50.0).await;
            put.wait().await.unwrap();
        });
        simulation.spawn("getter", 0, move |me| async move {
            me.sleep(secs(get_at)).await;
            same.get().await.unwrap();
        });
        assert_eq!(simulation.run().outcome, Outcome::Finished);
        assert_eq!(
            *rates.borrow(),
            [50.0],
            "put at {put_at} s, get at {get_at} s"
        );
    }
}

/// The constant model, which notes the rates of transfers.
struct Recorded {
    constant: Constant,
    rates: Rc<RefCell<Vec<f64>>>,
}

impl Resource for Recorded {
    fn start(&mut self, activity: ActivityId, work: &Work, now: Time) -> Result<(), StartError> {
        if let Work::Transfer { rate, .. } = work {
            self.rates.borrow_mut().push(*rate);
        }
        self.constant.start(activity, work, now)
    }

    fn cancel(&mut self, activity: ActivityId, now: Time) {
        self.constant.cancel(activity, now);
    }

    hand_on!(constant);

    fn next_event(&mut self, now: Time, horizon: Time) -> Option<Time> {
        self.constant.next_event(now, horizon)
    }

    fn advance(&mut self, now: Time, ended: &mut Vec<(ActivityId, End)>) -> bool {
        self.constant.advance(now, ended)
    }
}
