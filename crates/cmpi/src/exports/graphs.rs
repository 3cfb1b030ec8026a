//! Topologies of graphs (MPI 5.0, section 8.5). Ranks are never reordered.

#![expect(non_snake_case, reason = "the names of the standard")]

use std::ffi::c_int;
use std::rc::Rc;

use mpi::{Graph, announce_call, prelude::*};

use super::communicators::COMM_NULL;
use super::info::{INFO_ENV, INFO_NULL};
use super::memory;
use super::objects::about;
use super::topologies::{count, place_among, rank_in_c, store_list, without};
use crate::arguments::{natural, rank};
use crate::bridge::{block, with_state};
use crate::errors::CallError;
use crate::state::communicators::Topology;
use crate::state::{Handle, MpiState};

/// `MPI_UNWEIGHTED`.
const UNWEIGHTED: usize = 10;
/// `MPI_WEIGHTS_EMPTY`.
const WEIGHTS_EMPTY: usize = 11;

/// The ends of the lists of neighbours of all ranks, and the lists.
type Lists<'a> = (&'a [c_int], &'a [c_int]);

/// A distributed graph with the weights of sources and destinations, if there are some.
type Weighted<'a> = (&'a Graph, Option<&'a [Vec<c_int>; 2]>);

impl MpiState {
    fn graph_lists(&self, comm: Handle) -> Result<Lists<'_>, CallError> {
        match self.topology(comm)? {
            Topology::Graph { ends, edges, .. } => Ok((ends, edges)),
            _ => Err(without("no topology of MPI_Graph_create")),
        }
    }

    fn distributed(&self, comm: Handle) -> Result<Weighted<'_>, CallError> {
        match self.topology(comm)? {
            Topology::Distributed(graph, weights) => Ok((graph, weights.as_deref())),
            _ => Err(without("no topology of MPI_Dist_graph_create")),
        }
    }
}

/// Returns the neighbours of a rank.
fn neighbors_of((ends, edges): Lists<'_>, rank: usize) -> Result<&[c_int], CallError> {
    let end = |rank: usize| usize::try_from(*ends.get(rank)?).ok();
    let start = if rank == 0 { Some(0) } else { end(rank - 1) };
    let range = start.zip(end(rank));
    range
        .and_then(|(start, end)| edges.get(start..end))
        .ok_or_else(|| {
            let text = format!("invalid rank {rank} of a graph of {} ranks", ends.len());
            CallError::new("MPI_ERR_RANK", text)
        })
}

fn load_list(number: usize, list: *const c_int, name: &str) -> Result<Vec<c_int>, CallError> {
    (0..number)
        .map(|index| memory::load(list.wrapping_add(index), name))
        .collect()
}

fn check_ranks(list: &[c_int]) -> Result<Vec<usize>, CallError> {
    list.iter().map(|number| rank(*number)).collect()
}

/// Returns the weights of a list of the program, if edges have some.
fn weights(number: usize, list: *const c_int) -> Result<Option<Vec<c_int>>, CallError> {
    match list as usize {
        UNWEIGHTED => Ok(None),
        WEIGHTS_EMPTY => Ok(Some(Vec::new())),
        _ => load_list(number, list, "weights").map(Some),
    }
}

/// An edge of a distributed graph: source, destination, weight.
type Edge = [c_int; 3];

/// Returns the edges that all ranks have given.
async fn all_edges(comm: &Comm, own: Vec<Edge>) -> Result<Vec<Edge>> {
    let bytes: Vec<u8> = own
        .iter()
        .flatten()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    let length = Buffer::from((bytes.len() as u64).to_le_bytes().to_vec());
    let lengths = comm.allgather(&length).await?;
    let lengths = lengths.bytes().unwrap_or_default().as_chunks::<8>().0;
    let blocks = Blocks::packed(lengths.iter().map(|length| u64::from_le_bytes(*length)));
    let all = comm.allgather_v(Buffer::from(bytes), blocks).await?;
    let words = all.bytes().unwrap_or_default().as_chunks::<4>().0;
    let words: Vec<c_int> = words
        .iter()
        .map(|word| c_int::from_le_bytes(*word))
        .collect();
    Ok(words.as_chunks::<3>().0.to_vec())
}

/// Returns numbers in words: short lists in full, others with a hash (FNV-1a of 64 bits), since
/// each rank gives the whole graph.
fn describe_numbers(numbers: &[c_int]) -> String {
    if numbers.len() <= 64 {
        return format!("{numbers:?}");
    }
    let hash = numbers
        .iter()
        .fold(0xCBF2_9CE4_8422_2325_u64, |hash, number| {
            (hash ^ u64::from(number.cast_unsigned())).wrapping_mul(0x0100_0000_01B3)
        });
    format!("of {} numbers with the hash {hash:016x}", numbers.len())
}

/// Announces the call that makes a distributed graph, with the arguments on which all ranks agree.
fn announce_distributed(
    (comm, name): (Handle, &'static str),
    weights: *const c_int,
    (info, reorder): (Handle, c_int),
) -> Result<(), CallError> {
    with_state(|state| {
        let mut hints = match info {
            // MPI_INFO_ENV has the host of the rank, which differs.
            INFO_NULL | INFO_ENV => Vec::new(),
            info => state.info(info)?.clone(),
        };
        hints.sort();
        let weights = match weights as usize {
            UNWEIGHTED => "MPI_UNWEIGHTED",
            _ => "weights",
        };
        let reorder = reorder != 0;
        announce_call(state.comm(comm)?, name, || {
            Some(format!(
                "has {weights}, reorder {reorder} and the hints {hints:?}"
            ))
        });
        Ok(())
    })
}

/// Makes a communicator with a distributed graph.
fn distribute(
    comm: Handle,
    lists: [Vec<c_int>; 2],
    weights: Option<[Vec<c_int>; 2]>,
    new: *mut Handle,
) -> Result<(), CallError> {
    let handle = block(async move |state| {
        let [sources, destinations] = lists;
        let (sources, destinations) = (check_ranks(&sources)?, check_ranks(&destinations)?);
        let graph = state.comm(comm)?.graph(&sources, &destinations).await?;
        let topology = Topology::Distributed(graph, weights.map(Rc::new));
        Ok::<_, CallError>(state.comms.insert_topology(topology))
    })?;
    with_state(|state| state.inherit(comm, handle));
    memory::store(new, handle);
    Ok(())
}

exports! {
    fn MPI_Graph_create(comm: Handle, nodes: c_int, index: *const c_int, edges: *const c_int, reorder: c_int, new: *mut Handle) {
        about(comm)?;
        let nodes = count(nodes)?;
        let handle = block(async |state| {
            let comm = state.comm(comm)?;
            place_among(comm, nodes)?;
            let ends = load_list(nodes, index, "index")?;
            let number = natural(ends.last().copied().unwrap_or(0), "number of edges", "MPI_ERR_ARG")?;
            let edges = load_list(number, edges, "edges")?;
            let reorder = reorder != 0;
            announce_call(comm, "graph_create", || {
                let [index, edges] = [&ends, &edges].map(|list| describe_numbers(list));
                Some(format!("has index {index}, edges {edges} and reorder {reorder}"))
            });
            let own = comm.rank();
            let Some(made) = comm.split((own < nodes).then_some(0), 0).await? else {
                return Ok(COMM_NULL);
            };
            let neighbors = check_ranks(neighbors_of((&ends, &edges), own)?)?;
            let graph = Graph::new(made, &neighbors, &neighbors)?;
            let (ends, edges) = (ends.into(), edges.into());
            Ok::<_, CallError>(state.comms.insert_topology(Topology::Graph { graph, ends, edges }))
        })?;
        memory::store(new, handle);
        Ok(())
    }

    fn MPI_Graph_map(comm: Handle, nodes: c_int, _index: *const c_int, _edges: *const c_int, rank: *mut c_int) {
        let nodes = count(nodes)?;
        let found = with_state(|state| place_among(state.comm(comm)?, nodes))?;
        memory::store(rank, found);
        Ok(())
    }

    fn MPI_Graphdims_get(comm: Handle, nodes: *mut c_int, number: *mut c_int) {
        with_state(|state| {
            let (ends, edges) = state.graph_lists(comm)?;
            memory::store(nodes, rank_in_c(ends.len()));
            memory::store(number, rank_in_c(edges.len()));
            Ok(())
        })
    }

    fn MPI_Graph_get(comm: Handle, maxindex: c_int, maxedges: c_int, index: *mut c_int, edges: *mut c_int) {
        with_state(|state| {
            let (ends, all) = state.graph_lists(comm)?;
            store_list(index, maxindex, ends.iter().copied());
            store_list(edges, maxedges, all.iter().copied());
            Ok(())
        })
    }

    fn MPI_Graph_neighbors_count(comm: Handle, node: c_int, number: *mut c_int) {
        let node = rank(node)?;
        with_state(|state| {
            let found = neighbors_of(state.graph_lists(comm)?, node)?;
            memory::store(number, rank_in_c(found.len()));
            Ok(())
        })
    }

    fn MPI_Graph_neighbors(comm: Handle, node: c_int, most: c_int, neighbors: *mut c_int) {
        let node = rank(node)?;
        with_state(|state| {
            let found = neighbors_of(state.graph_lists(comm)?, node)?;
            store_list(neighbors, most, found.iter().copied());
            Ok(())
        })
    }

    fn MPI_Dist_graph_create_adjacent(
        comm: Handle, indegree: c_int, sources: *const c_int, sourceweights: *const c_int,
        outdegree: c_int, destinations: *const c_int, destweights: *const c_int,
        info: Handle, reorder: c_int, new: *mut Handle,
    ) {
        about(comm)?;
        let (sources_number, destinations_number) = (count(indegree)?, count(outdegree)?);
        let lists = [
            load_list(sources_number, sources, "sources")?,
            load_list(destinations_number, destinations, "destinations")?,
        ];
        let weights = weights(sources_number, sourceweights)?
            .zip(weights(destinations_number, destweights)?)
            .map(|(sources, destinations)| [sources, destinations]);
        let call = (comm, "dist_graph_create_adjacent");
        announce_distributed(call, sourceweights, (info, reorder))?;
        distribute(comm, lists, weights, new)
    }

    fn MPI_Dist_graph_create(
        comm: Handle, number: c_int, sources: *const c_int, degrees: *const c_int,
        destinations: *const c_int, edgeweights: *const c_int, info: Handle, reorder: c_int, new: *mut Handle,
    ) {
        about(comm)?;
        announce_distributed((comm, "dist_graph_create"), edgeweights, (info, reorder))?;
        let (lists, weights) = block(async |state| {
            let mut own: Vec<Edge> = Vec::new();
            for index in 0..count(number)? {
                let source = memory::load(sources.wrapping_add(index), "sources")?;
                let degree = memory::load(degrees.wrapping_add(index), "degrees")?;
                for _ in 0..natural(degree, "degree", "MPI_ERR_ARG")? {
                    let at = own.len();
                    let destination = memory::load(destinations.wrapping_add(at), "destinations")?;
                    let weight = match edgeweights as usize {
                        UNWEIGHTED | WEIGHTS_EMPTY => 0,
                        _ => memory::load(edgeweights.wrapping_add(at), "weights")?,
                    };
                    own.push([source, destination, weight]);
                }
            }
            let comm = state.comm(comm)?;
            let all = all_edges(comm, own).await?;
            let rank = rank_in_c(comm.rank());
            let (mut lists, mut weights) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
            for [source, destination, weight] in all {
                let ends = [(destination, source), (source, destination)];
                for (number, (own, other)) in ends.into_iter().enumerate() {
                    if own == rank {
                        lists[number].push(other);
                        weights[number].push(weight);
                    }
                }
            }
            Ok::<_, CallError>((lists, weights))
        })?;
        let weights = (edgeweights as usize != UNWEIGHTED).then_some(weights);
        distribute(comm, lists, weights, new)
    }

    fn MPI_Dist_graph_neighbors_count(comm: Handle, indegree: *mut c_int, outdegree: *mut c_int, weighted: *mut c_int) {
        with_state(|state| {
            let (graph, weights) = state.distributed(comm)?;
            memory::store(indegree, rank_in_c(graph.sources().len()));
            memory::store(outdegree, rank_in_c(graph.destinations().len()));
            memory::store(weighted, c_int::from(weights.is_some()));
            Ok(())
        })
    }

    fn MPI_Dist_graph_neighbors(
        comm: Handle, maxindegree: c_int, sources: *mut c_int, sourceweights: *mut c_int,
        maxoutdegree: c_int, destinations: *mut c_int, destweights: *mut c_int,
    ) {
        with_state(|state| {
            let (graph, weights) = state.distributed(comm)?;
            store_list(sources, maxindegree, graph.sources().map(rank_in_c));
            store_list(destinations, maxoutdegree, graph.destinations().map(rank_in_c));
            let Some([of_sources, of_destinations]) = weights else {
                return Ok(());
            };
            if sourceweights as usize != UNWEIGHTED {
                store_list(sourceweights, maxindegree, of_sources.iter().copied());
            }
            if destweights as usize != UNWEIGHTED {
                store_list(destweights, maxoutdegree, of_destinations.iter().copied());
            }
            Ok(())
        })
    }
}
