//! Delegation from a resource to a wrapped resource.

/// The methods of `Resource` that go to the wrapped resource in this field.
macro_rules! hand_on {
    ($inner:ident) => {
        fn set_suspended(&mut self, activity: ActivityId, suspended: bool, now: Time) {
            self.$inner.set_suspended(activity, suspended, now);
        }

        fn update(&mut self, activity: ActivityId, change: Change, now: Time) {
            self.$inner.update(activity, change, now);
        }

        fn remaining(&mut self, activity: ActivityId, now: Time) -> f64 {
            self.$inner.remaining(activity, now)
        }
    };
}

pub(crate) use hand_on;
