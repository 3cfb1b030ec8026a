//! A broadcast among the members of a communicator that is being made, before the ranks know its
//! context.
//!
//! The messages are in the context of the old communicator. Its other ranks do not take part: so
//! the broadcast is not counted among the calls of the old communicator, and has a separate tag. An
//! event log contains its messages, as for other ways to make a communicator.

use ::collectives::{Call, Collective, Facts};
use observe::SourceLocation;

use super::{in_32_bits, position, select, start_prepared};
use crate::protocol::engine::{CallNumber, PreparedCall};
use crate::{Buffer, Comm, Request, Result};

/// Sends the data of rank 0 to these ranks, by the algorithm that the selector selects. Returns
/// the data, and true if the ranks have exchanged their nodes before. `name` and `location`
/// describe the call that makes the communicator.
pub(crate) async fn broadcast_uncounted(
    comm: &Comm,
    data: Buffer,
    tag: u32,
    (name, location): (&'static str, SourceLocation),
) -> Result<(Buffer, bool)> {
    let (rank, size) = (in_32_bits(comm.rank()), in_32_bits(comm.size()));
    let mut call = Call::new(Collective::Bcast, rank, size, data.len());
    let settings = comm.process().channel().settings();
    let placement = settings.placement.as_deref();
    call.nodes = placement.and_then(|placement| comm.members().nodes(placement));
    let facts = Facts::from_nodes(call.nodes.as_ref());
    let (algorithm, asks_nodes) = select(settings, &mut call, facts, false)?;
    let call = PreparedCall {
        name,
        algorithm,
        is_independent: false,
        asks_nodes,
        call,
        reduction: None,
        send: Buffer::phantom(0),
        recv: data,
        has_result: true,
        members: comm.members().clone(),
        context: comm.call_context()?,
        number: CallNumber {
            tag,
            position: position::UNCOUNTED,
        },
        location,
    };
    if asks_nodes {
        let token = start_prepared(comm, call.node_setup());
        Request::new(comm, token).wait_in(name, location).await?;
    }
    let token = start_prepared(comm, call);
    let done = Request::new(comm, token).wait_in(name, location).await?;
    Ok((done.buffer, asks_nodes))
}
