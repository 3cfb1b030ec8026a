//! Mailboxes: rendezvous points with a FIFO of pending sends or of pending receives.

use std::fmt;
use std::rc::Rc;

use crate::activity::{Activity, ActivityError, end_result};
use crate::actor::{is_yes, nothing};
use crate::code::Code;
use crate::kernel::Shared;
use crate::operation::{NextAction, Operation};
use crate::sync::add_object;
use crate::{Actor, Kernel, Message, OperationResult, Span, Transition};

/// A mailbox, by which actors that need not know each other exchange messages.
///
/// A put and a get meet in the order in which they were made. The data start to travel when both
/// are there, from the sender's host to the receiver's; with a permanent receiver they start with
/// the put.
#[derive(Clone)]
pub struct Mailbox {
    kernel: Shared,
    number: u32,
}

impl Mailbox {
    pub(crate) fn named(kernel: &Shared, name: &str) -> Self {
        let number = {
            let kernel = &mut *kernel.borrow_mut();
            kernel.objects.mailboxes.find_mailbox(name, &kernel.actors)
        };
        Self {
            kernel: Rc::clone(kernel),
            number,
        }
    }

    pub(crate) fn unnamed(kernel: &Shared) -> Self {
        let (kernel, number) = add_object(kernel, |objects| objects.mailboxes.add_mailbox());
        Self { kernel, number }
    }

    /// Prepares a send; the operation issues it.
    #[inline]
    fn prepare_send(&self, message: Message, bytes: f64, rate: f64, detached: bool) -> Transition {
        assert!(
            bytes >= 0.0 && bytes.is_finite(),
            "a number of bytes must be finite and at least 0, not {bytes}"
        );
        assert!(rate > 0.0, "a rate must be above 0 bytes/s, not {rate}");
        let comm = self.kernel.borrow_mut().objects.activities.prepare_comm(
            self.number,
            message,
            bytes,
            rate,
            detached,
        );
        Transition::AsyncSend {
            mailbox: self.number,
            comm,
        }
    }

    #[inline]
    fn prepare_receive(&self) -> Transition {
        let mut kernel = self.kernel.borrow_mut();
        let comm = kernel.objects.activities.prepare_comm(
            self.number,
            Message::Empty,
            0.0,
            f64::INFINITY,
            false,
        );
        Transition::AsyncReceive {
            mailbox: self.number,
            comm,
        }
    }

    /// Puts a message of `bytes` bytes and waits until it has been received.
    ///
    /// # Errors
    /// If the communication failed or was cancelled.
    ///
    /// # Panics
    /// If `bytes` is negative or not finite.
    #[inline]
    #[track_caller]
    pub fn put(
        &self,
        message: impl Into<Message>,
        bytes: f64,
    ) -> Operation<'_, Result<(), ActivityError>> {
        let send = self.prepare_send(message.into(), bytes, f64::INFINITY, false);
        Operation::new(&self.kernel, send, follow_put)
    }

    /// [`Mailbox::put`], at most for `timeout`; after this time the put is withdrawn.
    ///
    /// # Errors
    /// If the communication failed or was cancelled.
    ///
    /// # Panics
    /// If `bytes` is negative or not finite.
    #[inline]
    #[track_caller]
    pub fn put_timeout(
        &self,
        message: impl Into<Message>,
        bytes: f64,
        timeout: Span,
    ) -> Operation<'_, Result<(), ActivityError>> {
        self.put(message, bytes).within(timeout)
    }

    /// Gets a message: waits until one has arrived.
    ///
    /// # Errors
    /// If the communication failed or was cancelled.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> Operation<'_, Result<Message, ActivityError>> {
        Operation::new(&self.kernel, self.prepare_receive(), follow_get)
    }

    /// [`Mailbox::get`], at most for `timeout`; after this time the get is withdrawn.
    ///
    /// # Errors
    /// If the communication failed or was cancelled.
    #[inline]
    #[track_caller]
    pub fn get_timeout(&self, timeout: Span) -> Operation<'_, Result<Message, ActivityError>> {
        self.get().within(timeout)
    }

    /// Starts to put a message; the handle reports the end of the put.
    ///
    /// # Panics
    /// If `bytes` is negative or not finite.
    #[inline]
    #[track_caller]
    pub fn put_async(&self, message: impl Into<Message>, bytes: f64) -> Operation<'_, Activity> {
        let send = self.prepare_send(message.into(), bytes, f64::INFINITY, false);
        Operation::new(&self.kernel, send, follow_async)
    }

    /// Starts to put a message that travels with at most `rate` bytes/s.
    ///
    /// # Panics
    /// If `bytes` is negative or not finite, or `rate` is not above 0.
    #[inline]
    #[track_caller]
    pub fn put_async_with_rate(
        &self,
        message: impl Into<Message>,
        bytes: f64,
        rate: f64,
    ) -> Operation<'_, Activity> {
        let send = self.prepare_send(message.into(), bytes, rate, false);
        Operation::new(&self.kernel, send, follow_async)
    }

    /// Puts a message that no actor waits for: the message outlives the sender.
    ///
    /// # Panics
    /// If `bytes` is negative or not finite.
    #[inline]
    #[track_caller]
    pub fn put_detached(&self, message: impl Into<Message>, bytes: f64) -> Operation<'_, ()> {
        let send = self.prepare_send(message.into(), bytes, f64::INFINITY, true);
        Operation::new(&self.kernel, send, nothing)
    }

    /// Starts to get a message; the handle reports the end of the get and then has the message.
    #[inline]
    #[track_caller]
    pub fn get_async(&self) -> Operation<'_, Activity> {
        Operation::new(&self.kernel, self.prepare_receive(), follow_async)
    }

    /// Returns true if a get would find a put.
    #[inline]
    #[track_caller]
    pub fn probe(&self) -> Operation<'_, bool> {
        let transition = Transition::Probe {
            mailbox: self.number,
        };
        Operation::new(&self.kernel, transition, is_yes)
    }

    /// Makes `receiver` the permanent receiver: puts start to travel to the host of the receiver at
    /// once. `None` removes the permanent receiver.
    pub fn set_receiver(&self, receiver: Option<&Actor>) {
        let kernel = &mut *self.kernel.borrow_mut();
        let receiver = receiver.map(|actor| actor.id.0);
        (kernel.objects.mailboxes).set_receiver(self.number, receiver, &kernel.actors);
    }
}

/// Returns the wait that follows the send or the receive.
fn started(answer: OperationResult) -> Code {
    let OperationResult::Number(activity) = answer else {
        unreachable!("posting answers with the communication")
    };
    Code::from(Transition::Wait {
        activity,
        owned: true,
    })
}

fn follow_put(
    kernel: &mut Kernel,
    code: Code,
    answer: OperationResult,
) -> NextAction<Result<(), ActivityError>> {
    let Some(activity) = code.owned_activity() else {
        return NextAction::Then(started(answer));
    };
    if answer != OperationResult::Timeout {
        kernel.objects.activities.release_activity(activity);
    }
    NextAction::Return(end_result(answer))
}

fn follow_get(
    kernel: &mut Kernel,
    code: Code,
    answer: OperationResult,
) -> NextAction<Result<Message, ActivityError>> {
    let Some(activity) = code.owned_activity() else {
        return NextAction::Then(started(answer));
    };
    let result = end_result(answer).map(|()| kernel.objects.activities.take_message(activity));
    if answer != OperationResult::Timeout {
        kernel.objects.activities.release_activity(activity);
    }
    NextAction::Return(result)
}

fn follow_async(kernel: &mut Kernel, code: Code, answer: OperationResult) -> NextAction<Activity> {
    let OperationResult::Number(activity) = answer else {
        unreachable!("posting answers with the communication")
    };
    let gets = matches!(code.transition(), Transition::AsyncReceive { .. });
    NextAction::Return(Activity::new(kernel.share_self(), activity, gets))
}

impl fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mailbox({})", self.number)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Outcome, Simulation};

    /// A thousand messages need no more activities than one message: an activity is freed once both
    /// sides have its result.
    #[test]
    fn a_blocking_transfer_gives_its_activity_back() {
        let mut simulation = Simulation::with_constant_model(2);
        let mailbox = simulation.new_mailbox();
        let receiving = mailbox.clone();
        simulation.spawn_anonymous(0, move |_| async move {
            for round in 0..1000_u32 {
                mailbox.put((), 1.0).await.expect("it arrives");
                let in_use = mailbox.kernel.borrow().objects.activities.slots().count();
                assert!(in_use <= 2, "{in_use} activities after round {round}");
            }
        });
        simulation.spawn_anonymous(1, move |_| async move {
            for _ in 0..1000 {
                receiving.get().await.expect("it arrives");
            }
        });
        let report = simulation.run();
        assert!(matches!(report.outcome, Outcome::Finished), "{report:?}");
    }
}
