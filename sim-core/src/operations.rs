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
/// is a bit, `wide` the second and the third number together, `parameter` two bits. The words of
/// the step and the kind of the object follow the number.
macro_rules! operations {
    (
        transitions {
            $(
                $(#[$doc:meta])*
                $name:ident $({ $($field:ident: $type:ty = $part:ident),* })? =
                    $number:literal $words:literal $(of $object:literal)?: [$($class:ident),*];
            )*
        }
        other steps {
            $(
                $(#[$step_doc:meta])*
                $step:ident = $step_number:literal $step_words:literal $(of $step_object:literal)?;
            )*
        }
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

            /// Returns the step in words.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $( Self::$name => $words, )*
                    $( Self::$step => $step_words, )*
                }
            }

            /// Returns the kind of the object that the step is about; `None` if the step has no
            /// object of the kernel, or different ones.
            #[must_use]
            pub const fn object_kind(self) -> Option<&'static str> {
                match self {
                    $($( Self::$name => Some($object), )?)*
                    $($( Self::$step => Some($step_object), )?)*
                    _ => None,
                }
            }
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
        Yield = 1 "yield": [LATER, SILENT];
        /// Wakes from a sleep.
        Sleep = 2 "sleep": [LATER, TIMED, SILENT];
        /// Draws a number below `limit`; one branch per value.
        Random { limit: u32 = first } = 3 "random": [FREE];
        /// Starts an actor.
        Create { child: ActorId = first } = 4 "create" of "actor": [FREE];
        /// Waits for the end of an actor.
        Join { target: ActorId = first } = 5 "join" of "actor":
            [TIMED, SUBSCRIBED, LIMITED, SILENT];
        /// Ends an actor from outside.
        Kill { target: ActorId = first } = 6 "kill" of "actor": [PAUSED, FREE];
        /// Stops an actor until the actor is resumed.
        Suspend { target: ActorId = first } = 7 "suspend" of "actor": [PAUSED, FREE];
        /// Lets a suspended actor continue.
        Resume { target: ActorId = first } = 8 "resume" of "actor": [FREE];
        /// Posts a send on a mailbox.
        AsyncSend { mailbox: u32 = first, comm: u32 = second } = 9 "post send" of "mailbox": [FREE];
        /// Posts a receive on a mailbox.
        AsyncReceive { mailbox: u32 = first, comm: u32 = second } = 10 "post receive" of "mailbox":
            [FREE];
        /// Asks whether a send waits in a mailbox.
        Probe { mailbox: u32 = first } = 11 "probe" of "mailbox": [POLLS];
        /// Asks whether an activity has ended.
        Test { activity: u32 = first } = 12 "test" of "mailbox":
            [POLLS, MEETS_TRANSFERS, TELLS_END];
        /// Asks whether any activity of a list has ended.
        TestAny { list: u32 = first } = 13 "test any" of "list":
            [POLLS, MEETS_TRANSFERS, TELLS_END];
        /// Waits for the end of an activity.
        Wait { activity: u32 = first, owned: bool = mark } = 14 "wait" of "mailbox":
            [TIMED, SUBSCRIBED, LIMITED, TAKES_TIME, TELLS_END];
        /// Waits for the end of any activity of a list; one branch per activity that has ended.
        WaitAny { list: u32 = first } = 15 "wait any" of "mailbox":
            [TIMED, SUBSCRIBED, LIMITED, TAKES_TIME, WAITS_FOR_ANY, TELLS_END];
        /// Ends an activity from outside.
        Cancel { activity: u32 = first } = 16 "cancel" of "mailbox": [MEETS_TRANSFERS, FREE];
        /// Joins the queue of a mutex; never blocks.
        MutexAsyncLock { mutex: u32 = first } = 17 "request lock" of "mutex": [FREE];
        /// Asks whether the actor is at the head of the queue.
        MutexTest { mutex: u32 = first } = 18 "test lock" of "mutex": [POLLS];
        /// Joins the queue of a mutex only if the queue is empty.
        MutexTryLock { mutex: u32 = first } = 19 "try lock" of "mutex": [POLLS];
        /// Waits to be at the head of the queue.
        MutexWait { mutex: u32 = first, owned: bool = mark } = 20 "lock" of "mutex": [SILENT];
        /// Leaves the head of the queue.
        MutexUnlock { mutex: u32 = first } = 21 "unlock" of "mutex": [FREE];
        /// Leaves the queue from a position behind the head.
        MutexCancel { mutex: u32 = first } = 22 "cancel lock" of "mutex": [FREE];
        /// Asks for a unit of a semaphore; never blocks.
        SemaphoreAsyncLock { semaphore: u32 = first } = 23 "request unit" of "semaphore": [FREE];
        /// Waits for the unit that was asked for.
        SemaphoreWait { semaphore: u32 = first, request: u32 = second, owned: bool = mark } =
            24 "acquire" of "semaphore":
            [TIMED, LIMITED, SILENT];
        /// Gives a unit back.
        SemaphoreUnlock { semaphore: u32 = first } = 25 "release" of "semaphore": [FREE];
        /// Arrives at a barrier; never blocks. `tells_last`: the actor will learn whether its
        /// arrival was the last.
        BarrierAsyncLock { barrier: u32 = first, tells_last: bool = mark } =
            26 "arrive" of "barrier": [FREE];
        /// Waits until all have arrived.
        BarrierWait { barrier: u32 = first, round: u32 = second, owned: bool = mark } =
            27 "leave" of "barrier":
            [QUEUED, SILENT];
        /// Releases the mutex and joins the queue of a condition variable.
        CondvarAsyncLock { condvar: u32 = first, mutex: u32 = second } =
            28 "unlock and wait" of "condition": [FREE];
        /// Waits for a signal, then asks for the mutex again.
        CondvarWait { condvar: u32 = first, mutex: u32 = second, request: u32 = third } =
            29 "wake up" of "condition":
            [TIMED, LIMITED];
        /// Wakes the longest waiting actor.
        CondvarSignal { condvar: u32 = first } = 30 "signal" of "condition": [FREE];
        /// Wakes all waiting actors.
        CondvarBroadcast { condvar: u32 = first } = 31 "broadcast" of "condition": [FREE];
        /// Continues after a device woke the actor.
        Device = 32 "continue": [LATER, SILENT];
        /// Switches a host on or off.
        SwitchHost { host: u32 = first, on: bool = mark } = 33 "switch host" of "host":
            [PAUSED, MEETS_TRANSFERS, FREE];
        /// Changes a property of the resource: see [`Control`](crate::Control).
        Control {
            parameter: ControlParameter = parameter, object: u32 = first, value: u64 = wide
        } =
            34 "control":
            [PAUSED, MEETS_TRANSFERS, FREE];
    }
    other steps {
        /// A device delivers an arrival to an actor.
        Deliver = 35 "deliver";
        /// The time of a wait for an activity, or for any of several, is up. The activity
        /// continues.
        TimeUp = 36 "time is up";
        /// The time limit of a put or a get expired: the operation is withdrawn.
        Withdraw = 37 "withdraw" of "mailbox";
        /// A join with a time limit: the join succeeds if its target has ended; otherwise the limit
        /// expires.
        TimedJoin = 38 "join in time" of "actor";
        /// A wait for a unit with a time limit: if no unit is free, the limit expires and the
        /// request is withdrawn.
        TimedSemaphoreWait = 39 "acquire in time" of "semaphore";
        /// A wait for a signal with a time limit: without a signal, the limit expires. The mutex is
        /// requested in any case.
        TimedCondvarWait = 40 "wake up in time" of "condition";
        /// A choice of an explorer for an actor that waits for its device.
        Choose = 41 "answer";
        /// A test that ends work in progress.
        TestEnded = 42 "test, ended" of "mailbox";
        /// A test of a list that ends a member in progress.
        TestAnyEnded = 43 "test any, ended" of "mailbox";
    }
}
