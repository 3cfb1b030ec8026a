//! Defects of the protocols that tests insert, to check that searches and campaigns find them.
//! Without the feature `seeded-defects`, which only tests enable, there are no defects, and the
//! check for a defect costs no time.

/// Seeded defect.
#[cfg_attr(
    not(feature = "seeded-defects"),
    expect(unreachable_pub, reason = "only tests can name it")
)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProtocolDefect {
    /// A connection that waits for a packet buffer is not told of a free one.
    NoWakeOnBuffers,
    /// A connection that waits for credits is not told of new ones.
    NoWakeOnCredits,
    /// A packet buffer does not come back.
    BufferLost,
    /// A credit is not taken.
    CreditNotTaken,
    /// A used-up packet gives two credits back.
    CreditTwice,
    /// Used-up packets are told only together with other packets.
    NoUpdates,
    /// An update needs a buffer that messages may have taken.
    UpdatesNotReserved,
    /// The latest message leaves first.
    LatestFirst,
    /// A message that was returned to its sender can still be received.
    CancelKeepsMessage,
    /// A cancelled send is over before the receiver has decided.
    CancelWithoutAnswer,
    /// Under a model checker, a wait or test of several requests completes the first one only.
    LowestIndexOnly,
    /// Under a model checker, a look says yes if the operation is over.
    LookSeesArrivals,
    /// Under a model checker, a look says no once.
    SecondNoForbidden,
    /// Under a model checker, a cancelled receive never gets a message.
    CancelAlwaysWins,
    /// Ranks leave `MPI_Bcast` and other rooted calls when all have called, without data.
    BarrierForRooted,
    /// Under a model checker, `MPI_Comm_dup` and other constructors never wait for all ranks.
    ConstructorsNeverWait,
    /// Under a model checker, a send is buffered if the program tests the request.
    TestedSendBuffered,
}

/// The defect of a rank.
#[cfg_attr(not(feature = "seeded-defects"), derive(Default))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProtocolDefects {
    #[cfg(any(test, feature = "seeded-defects"))]
    pub(crate) one: Option<ProtocolDefect>,
}

#[cfg(feature = "seeded-defects")]
thread_local! {
    /// The defect of ranks that are made on this thread.
    static SEEDED: std::cell::Cell<Option<ProtocolDefect>> = const { std::cell::Cell::new(None) };
}

/// Calls `f`; ranks that `f` makes have the defect.
#[cfg(feature = "seeded-defects")]
pub fn with_protocol_defect<T>(defect: ProtocolDefect, f: impl FnOnce() -> T) -> T {
    let before = SEEDED.replace(Some(defect));
    let result = f();
    SEEDED.set(before);
    result
}

#[cfg(feature = "seeded-defects")]
impl Default for ProtocolDefects {
    fn default() -> Self {
        Self { one: SEEDED.get() }
    }
}

impl ProtocolDefects {
    /// Returns true if the set contains this defect.
    #[cfg(any(test, feature = "seeded-defects"))]
    pub(crate) fn has(self, defect: ProtocolDefect) -> bool {
        self.one == Some(defect)
    }

    /// Returns true if the set contains this defect.
    #[cfg(not(any(test, feature = "seeded-defects")))]
    #[expect(clippy::unused_self, reason = "in tests it is used")]
    pub(crate) const fn has(self, _: ProtocolDefect) -> bool {
        false
    }
}
