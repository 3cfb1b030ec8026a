//! Steps of a schedule.

/// A buffer of a rank that takes part in a collective operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Area {
    /// The contribution of the rank, which is only read.
    Send,
    /// The result. In operations with a result as long as the contribution (broadcasts, reductions
    /// of all kinds but `reduce_scatter`, scans) this area has the contribution at the beginning.
    Recv,
    /// Memory of the algorithm, [`Algorithm::temp`](crate::Algorithm::temp) bytes.
    Temp,
}

/// Consecutive bytes of an area.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// The area.
    pub area: Area,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
}

impl Part {
    /// A part of the contribution.
    #[must_use]
    pub const fn send(offset: u64, length: u64) -> Self {
        Self {
            area: Area::Send,
            offset,
            length,
        }
    }

    /// A part of the result.
    #[must_use]
    pub const fn recv(offset: u64, length: u64) -> Self {
        Self {
            area: Area::Recv,
            offset,
            length,
        }
    }

    /// A part of the algorithm's memory.
    #[must_use]
    pub const fn temp(offset: u64, length: u64) -> Self {
        Self {
            area: Area::Temp,
            offset,
            length,
        }
    }

    /// No bytes: a message that only synchronises.
    pub const EMPTY: Self = Self::temp(0, 0);
}

/// The position of the other operand of a reduction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    /// `into = from · into`: `from` belongs to lower ranks.
    Left,
    /// `into = into · from`: `from` belongs to higher ranks.
    Right,
}

/// A group of requests that are waited for together.
pub type Slot = u8;

/// The slot of blocking steps.
pub(crate) const BLOCKING: Slot = 3;

/// A receiver of the steps of a rank, in the order in which they are made.
///
/// Peers are ranks of the communicator. A message of a rank to itself is a copy, and has no send.
pub trait Steps {
    /// Returns the lane to which the steps belong, from 0 on; each lane has separate slots.
    fn lane(&self) -> u32 {
        0
    }

    /// Sets the number of the edge to which the next messages belong: a message is received from
    /// the edge of the send. Edges are used by exchanges between neighbours, and by lanes of one
    /// schedule with messages between the same ranks.
    fn set_edge(&mut self, edge: u32) {
        let _ = edge;
    }

    /// Starts a send, as `MPI_Isend`.
    fn isend_in(&mut self, slot: Slot, peer: u32, part: Part);

    /// Starts a send that completes only when its receive is posted, as `MPI_Issend`.
    fn issend_in(&mut self, slot: Slot, peer: u32, part: Part) {
        self.isend_in(slot, peer, part);
    }

    /// Starts a receive of exactly this length, as `MPI_Irecv`.
    fn irecv_in(&mut self, slot: Slot, peer: u32, part: Part);

    /// Sends, as `MPI_Send`.
    fn send(&mut self, peer: u32, part: Part);

    /// Waits for all requests of a slot.
    fn wait(&mut self, slot: Slot);

    /// Waits for the oldest request of a slot that has not been waited for.
    fn wait_first(&mut self, slot: Slot);

    /// Waits until fewer than `size` requests of a slot are in progress, so that one more has room
    /// in a window of `size` requests.
    fn window(&mut self, slot: Slot, size: u32) {
        let _ = (slot, size);
    }

    /// Waits until all lanes have come to the round of this one.
    fn join(&mut self) {}

    /// Builds a datatype of several blocks, for the copies that follow.
    fn build_datatype(&mut self) {}

    /// Copies bytes; the parts have equal lengths and do not overlap.
    fn copy(&mut self, from: Part, to: Part);

    /// Applies the operation of the call to two parts of equal lengths; `operand` is the position
    /// of `from`.
    fn reduce(&mut self, from: Part, into: Part, operand: Operand);
}

impl dyn Steps + '_ {
    /// Starts a send in slot 0.
    pub fn isend(&mut self, peer: u32, part: Part) {
        self.isend_in(0, peer, part);
    }

    /// Starts a receive in slot 0.
    pub fn irecv(&mut self, peer: u32, part: Part) {
        self.irecv_in(0, peer, part);
    }

    /// Waits for all requests of slot 0.
    pub fn wait_all(&mut self) {
        self.wait(0);
    }

    /// Receives, as `MPI_Recv`.
    pub fn recv(&mut self, peer: u32, part: Part) {
        self.irecv_in(BLOCKING, peer, part);
        self.wait(BLOCKING);
    }

    /// Sends and receives, as `MPI_Sendrecv`: the send is started first.
    pub fn exchange(&mut self, destination: u32, out: Part, source: u32, into: Part) {
        self.isend_in(BLOCKING, destination, out);
        self.irecv_in(BLOCKING, source, into);
        self.wait(BLOCKING);
    }
}

/// Steps with other rank numbers, for a part of an algorithm that only some ranks execute.
pub(crate) struct Renumbered<'a, F> {
    pub(crate) steps: &'a mut dyn Steps,
    /// Returns the rank of the communicator that a rank of the part is.
    pub(crate) rank: F,
}

impl<F: Fn(u32) -> u32> Steps for Renumbered<'_, F> {
    fn lane(&self) -> u32 {
        self.steps.lane()
    }

    fn set_edge(&mut self, edge: u32) {
        self.steps.set_edge(edge);
    }

    fn isend_in(&mut self, slot: Slot, peer: u32, part: Part) {
        self.steps.isend_in(slot, (self.rank)(peer), part);
    }

    fn issend_in(&mut self, slot: Slot, peer: u32, part: Part) {
        self.steps.issend_in(slot, (self.rank)(peer), part);
    }

    fn irecv_in(&mut self, slot: Slot, peer: u32, part: Part) {
        self.steps.irecv_in(slot, (self.rank)(peer), part);
    }

    fn send(&mut self, peer: u32, part: Part) {
        self.steps.send((self.rank)(peer), part);
    }

    fn wait(&mut self, slot: Slot) {
        self.steps.wait(slot);
    }

    fn wait_first(&mut self, slot: Slot) {
        self.steps.wait_first(slot);
    }

    fn window(&mut self, slot: Slot, size: u32) {
        self.steps.window(slot, size);
    }

    fn join(&mut self) {
        self.steps.join();
    }

    fn build_datatype(&mut self) {
        self.steps.build_datatype();
    }

    fn copy(&mut self, from: Part, to: Part) {
        self.steps.copy(from, to);
    }

    fn reduce(&mut self, from: Part, into: Part, operand: Operand) {
        self.steps.reduce(from, into, operand);
    }
}

/// Steps in which one area has the name of another: a part of an algorithm that works elsewhere.
pub(crate) struct Renamed<'a> {
    pub(crate) steps: &'a mut dyn Steps,
    pub(crate) from: Area,
    pub(crate) to: Area,
    /// Added to all offsets in that area.
    pub(crate) offset: u64,
}

impl Renamed<'_> {
    fn rename_part(&self, part: Part) -> Part {
        if part.area == self.from {
            return Part {
                area: self.to,
                offset: part.offset + self.offset,
                length: part.length,
            };
        }
        part
    }
}

impl Steps for Renamed<'_> {
    fn lane(&self) -> u32 {
        self.steps.lane()
    }

    fn set_edge(&mut self, edge: u32) {
        self.steps.set_edge(edge);
    }

    fn isend_in(&mut self, slot: Slot, peer: u32, part: Part) {
        let part = self.rename_part(part);
        self.steps.isend_in(slot, peer, part);
    }

    fn issend_in(&mut self, slot: Slot, peer: u32, part: Part) {
        let part = self.rename_part(part);
        self.steps.issend_in(slot, peer, part);
    }

    fn irecv_in(&mut self, slot: Slot, peer: u32, part: Part) {
        let part = self.rename_part(part);
        self.steps.irecv_in(slot, peer, part);
    }

    fn send(&mut self, peer: u32, part: Part) {
        let part = self.rename_part(part);
        self.steps.send(peer, part);
    }

    fn wait(&mut self, slot: Slot) {
        self.steps.wait(slot);
    }

    fn wait_first(&mut self, slot: Slot) {
        self.steps.wait_first(slot);
    }

    fn window(&mut self, slot: Slot, size: u32) {
        self.steps.window(slot, size);
    }

    fn join(&mut self) {
        self.steps.join();
    }

    fn build_datatype(&mut self) {
        self.steps.build_datatype();
    }

    fn copy(&mut self, from: Part, to: Part) {
        let (from, to) = (self.rename_part(from), self.rename_part(to));
        self.steps.copy(from, to);
    }

    fn reduce(&mut self, from: Part, into: Part, operand: Operand) {
        let (from, into) = (self.rename_part(from), self.rename_part(into));
        self.steps.reduce(from, into, operand);
    }
}
