//! Commands and replies as lines of text, for a device's side in another process: a word, and
//! decimal numbers separated by spaces.

use std::fmt::Write as _;

use super::{
    DeviceCommand, DeviceCompletion, DeviceReply, DialogueParameters, DialogueSetup, OpenedDevice,
};
use crate::{Access, Mtu, Operation, Psn, WcStatus};

/// Returns the words of a line: the first word, and the numbers after the first word.
fn split_line(line: &str) -> Option<(&str, Vec<u64>)> {
    let mut words = line.split_ascii_whitespace();
    let name = words.next()?;
    let numbers: Result<Vec<u64>, _> = words.map(str::parse).collect();
    Some((name, numbers.ok()?))
}

fn join_line(name: &str, numbers: &[u64]) -> String {
    let mut line = name.to_owned();
    for number in numbers {
        // Writing to a string does not fail.
        let _ = write!(line, " {number}");
    }
    line
}

impl DeviceCommand {
    /// Returns the command as a line, without a line end.
    #[must_use]
    pub fn to_line(&self) -> String {
        match *self {
            Self::Open(setup) => join_line("open", &setup.setup_numbers()),
            Self::Post {
                request,
                operation,
                length,
            } => {
                let mut numbers = vec![request, length.into()];
                numbers.extend(operation_numbers(&operation));
                join_line("post", &numbers)
            }
            Self::PostReceive => "receive".to_owned(),
            Self::Poll => "poll".to_owned(),
            Self::Read { offset, length } => join_line("read", &[offset, length.into()]),
            Self::Close => "close".to_owned(),
        }
    }

    /// Returns the command of a line; `None` if the line is no command.
    #[must_use]
    pub fn from_line(line: &str) -> Option<Self> {
        let (name, numbers) = split_line(line)?;
        Some(match (name, numbers.as_slice()) {
            ("open", numbers) => Self::Open(DialogueSetup::from_numbers(numbers)?),
            ("post", [request @ 0..4, length, operation @ ..]) => Self::Post {
                request: *request,
                operation: operation_from(operation)?,
                length: small(*length)?,
            },
            ("receive", []) => Self::PostReceive,
            ("poll", []) => Self::Poll,
            ("read", [offset, length]) => Self::Read {
                offset: *offset,
                length: small(*length)?,
            },
            ("close", []) => Self::Close,
            _ => return None,
        })
    }
}

fn small<T: TryFrom<u64>>(number: u64) -> Option<T> {
    T::try_from(number).ok()
}

impl DialogueSetup {
    fn setup_numbers(&self) -> [u64; 9] {
        [
            self.parameters.mtu.bytes().into(),
            self.parameters.start.get().into(),
            self.receives.into(),
            self.receive_length.into(),
            self.access.bits().into(),
            self.timeout.into(),
            self.retry_cnt.into(),
            self.rnr_retry.into(),
            self.min_rnr_timer.into(),
        ]
    }

    fn from_numbers(numbers: &[u64]) -> Option<Self> {
        let numbers: &[u64; 9] = numbers.try_into().ok()?;
        let [mtu, start, receives, receive_length, access, ..] = *numbers;
        let [.., timeout, retry_cnt, rnr_retry, min_rnr_timer] = *numbers;
        let parameters = DialogueParameters {
            mtu: Mtu::from_bytes(small(mtu)?)?,
            start: Psn::new(small(start)?),
        };
        Some(Self {
            parameters,
            receives: small(receives)?,
            receive_length: small(receive_length)?,
            access: access_of(small(access)?),
            timeout: small(timeout)?,
            retry_cnt: small(retry_cnt)?,
            rnr_retry: small(rnr_retry)?,
            min_rnr_timer: small(min_rnr_timer)?,
        })
    }
}

/// Returns the rights with these bits.
fn access_of(bits: u32) -> Access {
    let all = [
        Access::LOCAL_WRITE,
        Access::REMOTE_WRITE,
        Access::REMOTE_READ,
        Access::REMOTE_ATOMIC,
    ];
    let given = all.into_iter().filter(|one| bits & one.bits() != 0);
    given.fold(Access::NONE, |rights, one| rights | one)
}

/// Returns an operation as the number of its kind and the numbers of its fields.
fn operation_numbers(operation: &Operation) -> Vec<u64> {
    match *operation {
        Operation::Send => vec![0],
        Operation::SendWithImm(data) => vec![1, data.into()],
        Operation::RdmaWrite { remote_addr, rkey } => vec![2, remote_addr, rkey.into()],
        Operation::RdmaWriteWithImm {
            remote_addr,
            rkey,
            imm_data,
        } => vec![3, remote_addr, rkey.into(), imm_data.into()],
        Operation::RdmaRead { remote_addr, rkey } => vec![4, remote_addr, rkey.into()],
        Operation::AtomicCmpAndSwp {
            remote_addr,
            rkey,
            compare,
            swap,
        } => vec![5, remote_addr, rkey.into(), compare, swap],
        Operation::AtomicFetchAndAdd {
            remote_addr,
            rkey,
            add,
        } => vec![6, remote_addr, rkey.into(), add],
    }
}

fn operation_from(numbers: &[u64]) -> Option<Operation> {
    Some(match *numbers {
        [0] => Operation::Send,
        [1, data] => Operation::SendWithImm(small(data)?),
        [2, remote_addr, rkey] => Operation::RdmaWrite {
            remote_addr,
            rkey: small(rkey)?,
        },
        [3, remote_addr, rkey, imm_data] => Operation::RdmaWriteWithImm {
            remote_addr,
            rkey: small(rkey)?,
            imm_data: small(imm_data)?,
        },
        [4, remote_addr, rkey] => Operation::RdmaRead {
            remote_addr,
            rkey: small(rkey)?,
        },
        [5, remote_addr, rkey, compare, swap] => Operation::AtomicCmpAndSwp {
            remote_addr,
            rkey: small(rkey)?,
            compare,
            swap,
        },
        [6, remote_addr, rkey, add] => Operation::AtomicFetchAndAdd {
            remote_addr,
            rkey: small(rkey)?,
            add,
        },
        _ => return None,
    })
}

impl DeviceReply {
    /// Returns the reply as a line, without a line end.
    #[must_use]
    pub fn to_line(&self) -> String {
        match self {
            Self::Opened(opened) => {
                let numbers = [
                    opened.qp_num.into(),
                    opened.address,
                    opened.rkey.into(),
                    opened.has_atomics.into(),
                    opened.max_mtu.into(),
                    opened.max_rd_atomic.into(),
                ];
                join_line("opened", &numbers)
            }
            Self::Completions(completions) => {
                let numbers = completions.iter().flat_map(|completion| {
                    let status = completion.status.code();
                    [completion.id, status.into(), completion.length.into()]
                });
                join_line("completions", &numbers.collect::<Vec<_>>())
            }
            Self::Bytes(bytes) => {
                let numbers: Vec<u64> = bytes.iter().copied().map(u64::from).collect();
                join_line("bytes", &numbers)
            }
            Self::Done => "done".to_owned(),
        }
    }

    /// Returns the reply of a line; `None` if the line is no reply.
    #[must_use]
    pub fn from_line(line: &str) -> Option<Self> {
        let (name, numbers) = split_line(line)?;
        Some(match (name, numbers.as_slice()) {
            ("opened", &[qp_num, address, rkey, atomics, max_mtu, max_rd_atomic]) => {
                Self::Opened(OpenedDevice {
                    qp_num: small(qp_num)?,
                    address,
                    rkey: small(rkey)?,
                    has_atomics: atomics != 0,
                    max_mtu: small(max_mtu)?,
                    max_rd_atomic: small(max_rd_atomic)?,
                })
            }
            ("completions", numbers) if numbers.len().is_multiple_of(3) => {
                let completion = |numbers: &[u64]| {
                    Some(DeviceCompletion {
                        id: numbers[0],
                        status: WcStatus::from_code(small(numbers[1])?),
                        length: small(numbers[2])?,
                    })
                };
                let completions: Option<Vec<_>> = numbers.chunks(3).map(completion).collect();
                Self::Completions(completions?)
            }
            ("bytes", numbers) => {
                let bytes: Option<Vec<u8>> = numbers.iter().copied().map(small).collect();
                Self::Bytes(bytes?)
            }
            ("done", []) => Self::Done,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Dialogue, DialogueStep, FAMILIES};
    use super::*;

    #[test]
    fn commands_of_all_cases_are_read_back() {
        let parameters = DialogueParameters {
            mtu: Mtu::Mtu2048,
            start: DialogueParameters::WRAPPING,
        };
        let mut posted = 0;
        for case in FAMILIES.iter().flat_map(|family| &family.cases) {
            let Dialogue { setup, steps } = case.dialogue(&parameters).expect(case.title);
            let mut commands = vec![DeviceCommand::Open(setup)];
            commands.extend(steps.iter().filter_map(|step| match *step {
                DialogueStep::Post {
                    request,
                    operation,
                    length,
                } => Some(DeviceCommand::Post {
                    request,
                    operation,
                    length,
                }),
                _ => None,
            }));
            posted += commands.len() - 1;
            for command in commands {
                assert_eq!(DeviceCommand::from_line(&command.to_line()), Some(command));
            }
        }
        assert!(posted > 10);
    }

    #[test]
    fn replies_are_read_back_and_others_refused() {
        let completion = DeviceCompletion {
            id: 1000,
            status: WcStatus::RetryExcErr,
            length: 7,
        };
        for reply in [
            DeviceReply::Opened(OpenedDevice {
                qp_num: 17,
                address: u64::MAX,
                rkey: 5,
                has_atomics: true,
                max_mtu: 4096,
                max_rd_atomic: 16,
            }),
            DeviceReply::Completions(vec![completion; 2]),
            DeviceReply::Bytes(vec![0, 255]),
            DeviceReply::Done,
        ] {
            assert_eq!(DeviceReply::from_line(&reply.to_line()), Some(reply));
        }
        for line in ["", "done 1", "bytes 256", "completions 1", "opened x"] {
            assert_eq!(DeviceReply::from_line(line), None, "{line}");
            assert_eq!(DeviceCommand::from_line(line), None, "{line}");
        }
    }
}
