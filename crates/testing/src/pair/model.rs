//! The sequential model of a program: memory and completions if each work request is executed
//! exactly once, one after another.
//!
//! A read may also return data that later requests write, unless one of these requests or a request
//! between is fenced: a relaxation that RC permits (IBA 10.8.3.3). Values of atomics are exact.

use rdma::{MemoryRegion, Operation, WcOpcode, WcStatus, WorkCompletion};

use super::PairSetup;

/// A work request of the requester.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Work {
    Send {
        length: u32,
    },
    SendImm {
        length: u32,
    },
    Write {
        at: u32,
        length: u32,
    },
    WriteImm {
        at: u32,
        length: u32,
    },
    Read {
        at: u32,
        length: u32,
    },
    FetchAdd {
        add: u64,
    },
    CompareSwap {
        compare: u64,
        swap: u64,
    },
    /// A write with an invalid key: the responder refuses the write.
    WrongKey {
        length: u32,
    },
}

/// A work request with the fence flag.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PostedWork {
    pub work: Work,
    /// Waits for earlier reads and atomics.
    pub fence: bool,
}

/// The immediate data of each work request that has some.
const IMMEDIATE: u32 = 0xC0DE;

/// The value of the atomic word at the start: additions wrap.
pub(super) const COUNTER: u64 = u64::MAX - 4;

impl PostedWork {
    /// Returns a work request without a fence.
    pub const fn new(work: Work) -> Self {
        Self { work, fence: false }
    }

    /// Returns a work request with a fence.
    pub const fn fenced(work: Work) -> Self {
        Self { work, fence: true }
    }
}

impl Work {
    /// Returns the length in bytes at the requester.
    pub const fn requester_length(&self) -> u32 {
        match *self {
            Self::Send { length }
            | Self::SendImm { length }
            | Self::Write { length, .. }
            | Self::WriteImm { length, .. }
            | Self::Read { length, .. }
            | Self::WrongKey { length } => length,
            Self::FetchAdd { .. } | Self::CompareSwap { .. } => 8,
        }
    }

    /// Returns true if a response carries data.
    pub const fn returns_data(&self) -> bool {
        matches!(
            self,
            Self::Read { .. } | Self::FetchAdd { .. } | Self::CompareSwap { .. }
        )
    }

    const fn consumes_receive(&self) -> bool {
        matches!(
            self,
            Self::Send { .. } | Self::SendImm { .. } | Self::WriteImm { .. }
        )
    }

    /// Returns the operation on a region of the responder.
    pub(super) const fn target_operation(
        &self,
        target: &MemoryRegion,
        counter_at: usize,
    ) -> Operation {
        let rkey = target.rkey;
        let counter = target.addr + counter_at as u64;
        match *self {
            Self::Send { .. } => Operation::Send,
            Self::SendImm { .. } => Operation::SendWithImm(IMMEDIATE),
            Self::Write { at, .. } => Operation::RdmaWrite {
                remote_addr: target.addr + at as u64,
                rkey,
            },
            Self::WriteImm { at, .. } => Operation::RdmaWriteWithImm {
                remote_addr: target.addr + at as u64,
                rkey,
                imm_data: IMMEDIATE,
            },
            Self::Read { at, .. } => Operation::RdmaRead {
                remote_addr: target.addr + at as u64,
                rkey,
            },
            Self::FetchAdd { add } => Operation::AtomicFetchAndAdd {
                remote_addr: counter,
                rkey,
                add,
            },
            Self::CompareSwap { compare, swap } => Operation::AtomicCmpAndSwp {
                remote_addr: counter,
                rkey,
                compare,
                swap,
            },
            Self::WrongKey { .. } => Operation::RdmaWrite {
                remote_addr: target.addr,
                rkey: !rkey,
            },
        }
    }
}

/// A receive completion.
#[derive(Clone, Debug)]
struct ExpectedReceive {
    opcode: WcOpcode,
    length: u32,
    immediate: Option<u32>,
    data: Vec<u8>,
}

/// A program's memory and completions.
#[derive(Clone, Debug)]
pub struct Model {
    works: Vec<PostedWork>,
    /// Bytes of a work request's local memory, and of a receive.
    pub(super) slot: usize,
    /// The place of the atomic word in the responder's memory.
    pub(super) counter_at: usize,
    /// The requester's memory, slot by slot.
    pub(super) sources: Vec<u8>,
    pub(super) initial_target: Vec<u8>,
    /// The responder's memory at the end.
    pub(super) target: Vec<u8>,
    /// The same after each work request.
    versions: Vec<Vec<u8>>,
    receives: Vec<ExpectedReceive>,
    /// The first work request that fails, and the status of the completion.
    failing: Option<(usize, WcStatus)>,
    /// Number of receives that complete, flushed ones included.
    received: usize,
}

/// Returns a byte of a pattern, different for each slot.
fn pattern_byte(slot: usize, at: usize) -> u8 {
    ((slot * 61 + at * 7 + 1) % 251) as u8
}

impl Model {
    pub(super) fn new(setup: &PairSetup) -> Self {
        let works = setup.works.clone();
        let longest = works
            .iter()
            .map(|posted| posted.work.requester_length())
            .max();
        let slot = (longest.unwrap_or(0).max(8) as usize).next_multiple_of(8);
        let ends = works.iter().map(|posted| match posted.work {
            Work::Write { at, length }
            | Work::WriteImm { at, length }
            | Work::Read { at, length } => at + length,
            _ => 0,
        });
        let counter_at = (ends.max().unwrap_or(0) as usize).next_multiple_of(8);
        let bytes = |slots: std::ops::Range<usize>| -> Vec<u8> {
            let places = slots.flat_map(|number| (0..slot).map(move |at| (number, at)));
            places
                .map(|(number, at)| pattern_byte(number, at))
                .collect()
        };
        let sources = bytes(0..works.len());
        let mut target: Vec<u8> = (0..counter_at).map(|at| pattern_byte(200, at)).collect();
        target.extend(COUNTER.to_ne_bytes());
        let mut this = Self {
            failing: if setup.is_cut {
                Some((0, WcStatus::RetryExcErr))
            } else {
                works
                    .iter()
                    .position(|posted| matches!(posted.work, Work::WrongKey { .. }))
                    .map(|number| (number, WcStatus::RemAccessErr))
            },
            received: 0,
            works,
            slot,
            counter_at,
            sources,
            initial_target: target.clone(),
            target,
            versions: Vec::new(),
            receives: Vec::new(),
        };
        for number in 0..this.works.len() {
            this.execute_work(number);
        }
        this.received = match this.failing {
            Some((_, WcStatus::RemAccessErr)) => this.receives_to_post(),
            _ => this.receives.len(),
        };
        this
    }

    fn execute_work(&mut self, number: usize) {
        if self.failing.is_some_and(|(failing, _)| number >= failing) {
            return;
        }
        let work = self.works[number].work;
        let from = number * self.slot;
        let data = self.sources[from..from + work.requester_length() as usize].to_vec();
        match work {
            Work::Write { at, .. } | Work::WriteImm { at, .. } => {
                self.target[at as usize..][..data.len()].copy_from_slice(&data);
            }
            Work::FetchAdd { add } => {
                let value = self.counter().wrapping_add(add);
                self.target[self.counter_at..].copy_from_slice(&value.to_ne_bytes());
            }
            Work::CompareSwap { compare, swap } if self.counter() == compare => {
                self.target[self.counter_at..].copy_from_slice(&swap.to_ne_bytes());
            }
            _ => {}
        }
        if work.consumes_receive() {
            let is_write = matches!(work, Work::WriteImm { .. });
            let mut received = vec![0; self.slot];
            if !is_write {
                received[..data.len()].copy_from_slice(&data);
            }
            self.receives.push(ExpectedReceive {
                opcode: if is_write {
                    WcOpcode::RecvRdmaWithImm
                } else {
                    WcOpcode::Recv
                },
                length: work.requester_length(),
                immediate: (!matches!(work, Work::Send { .. })).then_some(IMMEDIATE),
                data: received,
            });
        }
        self.versions.push(self.target.clone());
    }

    fn counter(&self) -> u64 {
        let bytes = self.target[self.counter_at..].try_into();
        u64::from_ne_bytes(bytes.expect("the word is the end"))
    }

    /// Returns the number of receives: one more than the program needs; that one must stay unused.
    pub(super) fn receives_to_post(&self) -> usize {
        let consume = |posted: &&PostedWork| posted.work.consumes_receive();
        self.works.iter().filter(consume).count() + 1
    }

    fn expected_status(&self, number: usize) -> WcStatus {
        match self.failing {
            Some((failing, status)) if number == failing => status,
            Some((failing, _)) if number > failing => WcStatus::WrFlushErr,
            _ => WcStatus::Success,
        }
    }

    /// Checks a completion of the requester, and the memory of the work request.
    pub(super) fn check_send(
        &self,
        number: usize,
        completion: &WorkCompletion,
        found: &[u8],
    ) -> Result<(), String> {
        let Some(posted) = self.works.get(number) else {
            return Err(format!("completion order: {completion:?} is one too many"));
        };
        let (wr_id, status) = (completion.wr_id, completion.status);
        if wr_id != number as u64 {
            return Err(format!("completion order: {wr_id}, expected {number}"));
        }
        let expected = self.expected_status(number);
        if status != expected {
            return Err(format!(
                "completion status: {status:?} of {number}, expected {expected:?}"
            ));
        }
        if !completion.status.is_success() {
            return Ok(());
        }
        let fits = |at: usize, byte: u8| match posted.work {
            Work::Read { at: from, length } if at < length as usize => {
                self.may_read(number, from as usize + at, byte)
            }
            Work::FetchAdd { .. } | Work::CompareSwap { .. } if at < 8 => {
                let before = number.checked_sub(1).map(|last| &self.versions[last]);
                before.unwrap_or(&self.initial_target)[self.counter_at + at] == byte
            }
            _ => self.sources[number * self.slot + at] == byte,
        };
        match (0..).zip(found).find(|&(at, &byte)| !fits(at, byte)) {
            Some((at, byte)) => Err(format!(
                "returned data: byte {at} of {:?} is {byte}",
                posted.work
            )),
            None => Ok(()),
        }
    }

    /// Returns true if a read may return this value of a byte.
    fn may_read(&self, number: usize, at: usize, byte: u8) -> bool {
        let later = self.works[number + 1..].iter();
        let unfenced = later.take_while(|posted| !posted.fence).count();
        let last = (number + 1 + unfenced).min(self.versions.len());
        let mut versions = self.versions[number..last].iter();
        versions.any(|version| version[at] == byte)
    }

    /// Checks a completion of the responder, and the memory of the receive.
    pub(super) fn check_receive(
        &self,
        number: usize,
        completion: &WorkCompletion,
        found: &[u8],
    ) -> Result<(), String> {
        let Some(expected) = self.receives.get(number) else {
            if number < self.received && completion.status == WcStatus::WrFlushErr {
                return Ok(());
            }
            return Err(format!("executed once: {completion:?} is one too many"));
        };
        let head = (
            completion.wr_id,
            completion.status,
            completion.opcode,
            completion.byte_len,
            completion.imm_data,
        );
        let wanted = (
            number as u64,
            WcStatus::Success,
            Some(expected.opcode),
            expected.length,
            expected.immediate,
        );
        if head != wanted {
            return Err(format!("executed once: {head:?}, expected {wanted:?}"));
        }
        if found != expected.data {
            return Err(format!("received data: of receive {number}"));
        }
        Ok(())
    }

    /// Returns the error in the counts of completions or in the memory at the end.
    pub(super) fn fault_at_the_end(&self, polled: [usize; 2], target: &[u8]) -> Option<String> {
        let expected = [self.works.len(), self.received];
        if polled != expected {
            return Some(format!(
                "progress: {polled:?} completions, not {expected:?}"
            ));
        }
        let mut bytes = target.iter().zip(&self.target);
        let wrong = bytes.position(|(found, wanted)| found != wanted)?;
        let place = if wrong < self.counter_at {
            "remote memory"
        } else {
            "atomic sum"
        };
        Some(format!("{place}: byte {wrong} is not that of the model"))
    }
}
