//! Promise: with a permanent receiver a put is over before its get, and the search considers this:
//! the search finds the same failures as brute force.

use explore::{Options, Reduction, check};
use sim_core::Stepper;

/// Two actors get the messages that a third actor puts; after each put the message may or may not
/// have been received.
fn program() -> Stepper {
    Stepper::on_one_host(|simulation| {
        let mailbox = simulation.new_mailbox();
        let getter = |_| {
            let mailbox = mailbox.clone();
            simulation.spawn_anonymous(0, move |_| async move {
                let get = mailbox.get_async().await;
                get.wait().await.expect("nobody cancels");
            })
        };
        let getters = [0, 1].map(getter);
        mailbox.set_receiver(Some(&getters[0]));
        simulation.spawn_anonymous(0, move |_| async move {
            for word in 0..2_u64 {
                mailbox.put(word, 1.0).await.expect("nobody cancels");
                if mailbox.probe().await {
                    return Err("nobody has received it yet");
                }
            }
            Ok(())
        });
    })
}

#[test]
fn puts_that_are_over_before_their_gets_are_explored() {
    let failures = |reduction| {
        let options = Options {
            reduction,
            ..Options::default()
        };
        let report = check(program(), &options);
        assert!(report.statistics.bounds.is_empty());
        report.statistics.failed
    };
    assert!(failures(Reduction::None) > 0);
    assert!(failures(Reduction::Odpor) > 0);
}
