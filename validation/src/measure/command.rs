//! Commands of rank 0 to the other ranks: one small message, so that only rank 0 knows the plan and
//! the end. A plan at all ranks would need agreement on stopping and refinement.

use mpi::{Buffer, Comm, Result};

use crate::sample::Kernel;

/// Tag of commands.
pub(crate) const COMMAND: u32 = 1;
/// Tag of everything that is measured.
pub(crate) const DATA: u32 = 2;

/// Bytes of a command.
const LENGTH: u64 = 32;

/// One block of a kernel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Block {
    pub(crate) kernel: Kernel,
    pub(crate) size: u64,
    pub(crate) repetitions: u32,
    /// Pause of the kernel in seconds, for kernels that pause.
    pub(crate) delay_s: f64,
}

/// Numbers of kernels in commands: kind and count.
fn kernel_code(kernel: Kernel) -> (u32, u32) {
    match kernel {
        Kernel::PingPong => (1, 0),
        Kernel::PingPongOccupied => (2, 0),
        Kernel::Stream(number) => (3, number),
        Kernel::DelayedStream(number) => (4, number),
        Kernel::Send => (5, 0),
        Kernel::Isend => (6, 0),
        Kernel::Receive => (7, 0),
        Kernel::Late => (8, 0),
        Kernel::Incast(number) => (9, number),
        Kernel::Outcast(number) => (10, number),
        Kernel::Exchange => (11, 0),
        Kernel::Copy => (12, 0),
        Kernel::Ring(number) => (13, number),
        Kernel::Reduce => (14, 0),
    }
}

fn kernel((kind, number): (u32, u32)) -> Option<Kernel> {
    Some(match kind {
        1 => Kernel::PingPong,
        2 => Kernel::PingPongOccupied,
        3 => Kernel::Stream(number),
        4 => Kernel::DelayedStream(number),
        5 => Kernel::Send,
        6 => Kernel::Isend,
        7 => Kernel::Receive,
        8 => Kernel::Late,
        9 => Kernel::Incast(number),
        10 => Kernel::Outcast(number),
        11 => Kernel::Exchange,
        12 => Kernel::Copy,
        13 => Kernel::Ring(number),
        14 => Kernel::Reduce,
        _ => return None,
    })
}

/// Tells all other ranks to do their part of a block, or to stop.
pub(crate) async fn announce_block(world: &Comm, block: Option<&Block>) -> Result<()> {
    let message = Buffer::from(encoded(block).to_vec());
    for rank in 1..world.size() {
        world.send(&message, rank, COMMAND).await?;
    }
    Ok(())
}

/// Waits for the next command; `None` is the command to stop.
pub(crate) async fn receive_block(world: &Comm) -> Result<Option<Block>> {
    let mut message = Buffer::zeroed(LENGTH);
    world.recv(&mut message, 0, COMMAND).await?;
    Ok(message.bytes().and_then(decoded))
}

fn encoded(block: Option<&Block>) -> [u8; LENGTH as usize] {
    let mut bytes = [0; LENGTH as usize];
    if let Some(block) = block {
        let (kind, number) = kernel_code(block.kernel);
        bytes[0..4].copy_from_slice(&kind.to_le_bytes());
        bytes[4..8].copy_from_slice(&number.to_le_bytes());
        bytes[8..16].copy_from_slice(&block.size.to_le_bytes());
        bytes[16..20].copy_from_slice(&block.repetitions.to_le_bytes());
        bytes[24..32].copy_from_slice(&block.delay_s.to_le_bytes());
    }
    bytes
}

fn decoded(bytes: &[u8]) -> Option<Block> {
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let long = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    Some(Block {
        kernel: kernel((word(0)?, word(4)?))?,
        size: long(8)?,
        repetitions: word(16)?,
        delay_s: f64::from_bits(long(24)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_as_they_were_told() {
        let kernels = [
            "pp", "ppi", "prtt4", "dprtt2", "os", "ois", "or", "late", "incast3", "outcast2",
            "bidir", "copy", "reduce", "ring4",
        ];
        for name in kernels {
            let block = Block {
                kernel: name.parse().unwrap(),
                size: 1 << 40,
                repetitions: 20,
                delay_s: 1.5e-6,
            };
            assert_eq!(decoded(&encoded(Some(&block))), Some(block));
        }
        assert_eq!(decoded(&encoded(None)), None);
        assert_eq!(decoded(&[1, 2, 3]), None);
    }
}
