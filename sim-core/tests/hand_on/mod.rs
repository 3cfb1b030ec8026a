//! Delegation from a resource to a wrapped resource.

/// The methods of `Resource` that go to the wrapped resource in this field.
macro_rules! hand_on {
    ($inner:ident) => {
        fn suspend(&mut self, activity: ActivityId, now: Time) {
            self.$inner.suspend(activity, now);
        }

        fn resume(&mut self, activity: ActivityId, now: Time) {
            self.$inner.resume(activity, now);
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
