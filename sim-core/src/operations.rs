//! The table of the kernel's operations: every transition, its number, its fields and its classes.
//!
//! A new operation is a row here, its effect in `kernel/execute.rs`, and the call that issues the
//! operation; if the footprint is not the first two numbers, also a line in `kernel/stepping.rs`.
//!
//! [`Transition`] is for people and choosers, [`Code`](crate::code::Code) for the kernel, and
//! [`StepKind`] for explorers; all three are made from the table. The numbers are part of the
//! format of digests and are never changed.
//!
//! *Not decided here*: the effect of an operation, and which operations depend on each other.

use crate::code::{Class, Code, Draft};
use crate::{ActorId, ControlParameter};

/// Makes `Transition`, `StepKind`, the classes and both directions of the code from the table.
///
/// A field names its part of the code: `first`, `second` and `third` are numbers of 32 bits, `mark`
/// is a bit, `wide` the second and the third number together, `parameter` two bits.
macro_rules! operations {
    (
        transitions {
            $(
                $(#[$doc:meta])*
                $name:ident $({ $($field:ident: $type:ty = $part:ident),* })? = $number:literal:
                    [$($class:ident),*];
            )*
        }
        other steps { $( $(#[$step_doc:meta])* $step:ident = $step_number:literal; )* }
    ) => {
        /// One visible step of an actor. Objects are named by their serial numbers.
        ///
        /// `owned` marks a wait that belongs to a compound operation such as `lock`: dropping the
        /// operation, or its timeout, withdraws the request too.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[expect(
            missing_docs,
            reason = "the fields are the serial numbers of the objects that they name"
        )]
        pub enum Transition {
            $( $(#[$doc])* $name $({ $($field: $type),* })?, )*
        }

        /// The kind of a step. The numbers are the numbers of the digest.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum StepKind {
            $( $(#[$doc])* $name = $number, )*
            $( $(#[$step_doc])* $step = $step_number, )*
        }

        impl StepKind {
            /// All kinds, in the order of their numbers, which begin at 1.
            pub const ALL: [Self; [$($number,)* $($step_number,)*].len()] =
                [ $(Self::$name,)* $(Self::$step,)* ];
        }

        /// For each transition, its number and its classes.
        pub(crate) const TABLE: &[(u8, u16)] = &[ $( ($number, 0 $(| Class::$class)*) ),* ];

        impl Code {
            /// The transition.
            #[inline]
            pub(crate) fn transition(self) -> Transition {
                match self.kind() {
                    $( $number => Transition::$name $({ $($field: self.$part().into()),* })?, )*
                    other => unreachable!("{other} is no transition"),
                }
            }
        }

        impl From<Transition> for Code {
            #[inline(always)]
            fn from(transition: Transition) -> Self {
                match transition {
                    $(
                        Transition::$name $({ $($field),* })? => {
                            Draft::of($number) $($( .$part($field.into()) )*)? .code()
                        }
                    )*
                }
            }
        }
    };
}

operations! {
    transitions {
        /// Lets every other runnable actor go first.
        Yield = 1: [LATER, SILENT];
        /// Wakes from a sleep.
        Sleep = 2: [LATER, TIMED, SILENT];
        /// Draws a number below `limit`; one branch per value.
        Random { limit: u32 = first } = 3: [FREE];
        /// Starts an actor.
        Create { child: ActorId = first } = 4: [FREE];
        /// Waits for the end of an actor.
        Join { target: ActorId = first } = 5: [TIMED, SUBSCRIBED, LIMITED, SILENT];
        /// Ends an actor from outside.
        Kill { target: ActorId = first } = 6: [PAUSED, FREE];
        /// Stops an actor until the actor is resumed.
        Suspend { target: ActorId = first } = 7: [PAUSED, FREE];
        /// Lets a suspended actor continue.
        Resume { target: ActorId = first } = 8: [FREE];
        /// Posts a send on a mailbox.
        AsyncSend { mailbox: u32 = first, comm: u32 = second } = 9: [FREE];
        /// Posts a receive on a mailbox.
        AsyncReceive { mailbox: u32 = first, comm: u32 = second } = 10: [FREE];
        /// Asks whether a send waits in a mailbox.
        Probe { mailbox: u32 = first } = 11: [POLLS];
        /// Asks whether an activity has ended.
        Test { activity: u32 = first } = 12: [POLLS, MEETS_TRANSFERS, TELLS_END];
        /// Asks whether any activity of a list has ended.
        TestAny { list: u32 = first } = 13: [POLLS, MEETS_TRANSFERS, TELLS_END];
        /// Waits for the end of an activity.
        Wait { activity: u32 = first, owned: bool = mark } = 14:
            [TIMED, SUBSCRIBED, LIMITED, TAKES_TIME, TELLS_END];
        /// Waits for the end of any activity of a list; one branch per activity that has ended.
        WaitAny { list: u32 = first } = 15:
            [TIMED, SUBSCRIBED, LIMITED, TAKES_TIME, WAITS_FOR_ANY, TELLS_END];
        /// Ends an activity from outside.
        Cancel { activity: u32 = first } = 16: [MEETS_TRANSFERS, FREE];
        /// Joins the queue of a mutex; never blocks.
        MutexAsyncLock { mutex: u32 = first } = 17: [FREE];
        /// Asks whether the actor is at the head of the queue.
        MutexTest { mutex: u32 = first } = 18: [POLLS];
        /// Joins the queue of a mutex only if the queue is empty.
        MutexTryLock { mutex: u32 = first } = 19: [POLLS];
        /// Waits to be at the head of the queue.
        MutexWait { mutex: u32 = first, owned: bool = mark } = 20: [SILENT];
        /// Leaves the head of the queue.
        MutexUnlock { mutex: u32 = first } = 21: [FREE];
        /// Leaves the queue from a position behind the head.
        MutexCancel { mutex: u32 = first } = 22: [FREE];
        /// Asks for a unit of a semaphore; never blocks.
        SemaphoreAsyncLock { semaphore: u32 = first } = 23: [FREE];
        /// Waits for the unit that was asked for.
        SemaphoreWait { semaphore: u32 = first, request: u32 = second, owned: bool = mark } = 24:
            [TIMED, LIMITED, SILENT];
        /// Gives a unit back.
        SemaphoreUnlock { semaphore: u32 = first } = 25: [FREE];
        /// Arrives at a barrier; never blocks. `tells_last`: the actor will learn whether its
        /// arrival was the last.
        BarrierAsyncLock { barrier: u32 = first, tells_last: bool = mark } = 26: [FREE];
        /// Waits until all have arrived.
        BarrierWait { barrier: u32 = first, round: u32 = second, owned: bool = mark } = 27:
            [QUEUED, SILENT];
        /// Releases the mutex and joins the queue of a condition variable.
        CondvarAsyncLock { condvar: u32 = first, mutex: u32 = second } = 28: [FREE];
        /// Waits for a signal, then asks for the mutex again.
        CondvarWait { condvar: u32 = first, mutex: u32 = second, request: u32 = third } = 29:
            [TIMED, LIMITED];
        /// Wakes the longest waiting actor.
        CondvarSignal { condvar: u32 = first } = 30: [FREE];
        /// Wakes all waiting actors.
        CondvarBroadcast { condvar: u32 = first } = 31: [FREE];
        /// Continues after a device woke the actor.
        Device = 32: [LATER, SILENT];
        /// Switches a host on or off.
        SwitchHost { host: u32 = first, on: bool = mark } = 33: [PAUSED, MEETS_TRANSFERS, FREE];
        /// Changes a property of the resource: see [`Control`](crate::Control).
        Control { parameter: ControlParameter = parameter, object: u32 = first, value: u64 = wide } = 34:
            [PAUSED, MEETS_TRANSFERS, FREE];
    }
    other steps {
        /// A device delivers an arrival to an actor.
        Deliver = 35;
        /// The time of a wait for an activity, or for any of several, is up. The activity
        /// continues.
        TimeUp = 36;
        /// The time limit of a put or a get expired: the operation is withdrawn.
        Withdraw = 37;
        /// A join with a time limit: the join succeeds if its target has ended; otherwise the limit
        /// expires.
        TimedJoin = 38;
        /// A wait for a unit with a time limit: if no unit is free, the limit expires and the
        /// request is withdrawn.
        TimedSemaphoreWait = 39;
        /// A wait for a signal with a time limit: without a signal, the limit expires. The mutex is
        /// requested in any case.
        TimedCondvarWait = 40;
        /// A choice of an explorer for an actor that waits for its device.
        Choose = 41;
        /// A test that ends work in progress.
        TestEnded = 42;
        /// A test of a list that ends a member in progress.
        TestAnyEnded = 43;
    }
}
