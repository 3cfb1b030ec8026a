//! Communicators of a rank, with their topologies.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::rc::Rc;

use mpi::{Cartesian, Graph, prelude::*};

use super::Handle;
use crate::handles::{HandleTable, kinds};

/// Communicators of a rank.
#[derive(Default, Debug)]
pub(crate) struct Communicators {
    pub(crate) made: HandleTable<Comm, { kinds::COMM }>,
    /// Intercommunicators by handle; `made` has the local group of each.
    pub(crate) between: BTreeMap<Handle, InterComm>,
    /// Topologies by the handles of their communicators.
    pub(crate) topologies: BTreeMap<Handle, Topology>,
    /// `MPI_COMM_SELF`, after the first use by a call.
    pub(crate) own: OnceCell<Comm>,
}

/// The topology of a communicator.
#[derive(Clone, Debug)]
pub(crate) enum Topology {
    Grid(Cartesian),
    /// Of `MPI_Graph_create`: the ends of the lists of neighbours of all ranks, and the lists.
    Graph {
        graph: Graph,
        ends: Rc<[c_int]>,
        edges: Rc<[c_int]>,
    },
    /// Of `MPI_Dist_graph_create`, with the weights of sources and destinations if there are some.
    Distributed(Graph, Option<Rc<[Vec<c_int>; 2]>>),
}

impl Topology {
    /// Returns the neighbours.
    pub(crate) fn graph(&self) -> &Graph {
        match self {
            Self::Grid(grid) => grid,
            Self::Graph { graph, .. } | Self::Distributed(graph, _) => graph,
        }
    }

    /// Returns the same topology on a copy of the communicator.
    pub(crate) fn on(&self, comm: Comm) -> Self {
        match self {
            Self::Grid(grid) => Self::Grid(grid.with_comm(comm)),
            Self::Graph { graph, ends, edges } => Self::Graph {
                graph: graph.with_comm(comm),
                ends: Rc::clone(ends),
                edges: Rc::clone(edges),
            },
            Self::Distributed(graph, weights) => {
                Self::Distributed(graph.with_comm(comm), weights.clone())
            }
        }
    }
}

impl Communicators {
    /// Stores an intercommunicator and returns the handle.
    pub(crate) fn insert_inter(&mut self, inter: InterComm) -> Handle {
        let handle = self.made.insert(inter.local().clone());
        self.between.insert(handle, inter);
        handle
    }

    /// Stores a communicator with a topology and returns the handle.
    pub(crate) fn insert_topology(&mut self, topology: Topology) -> Handle {
        let handle = self.made.insert(Comm::clone(topology.graph()));
        self.topologies.insert(handle, topology);
        handle
    }

    /// Gives the copy of a communicator the topology of the original.
    pub(crate) fn copy_topology(&mut self, original: Handle, copy: Handle) {
        if let (Some(topology), Some(comm)) = (self.topologies.get(&original), self.made.get(copy))
        {
            let topology = topology.on(comm.clone());
            self.topologies.insert(copy, topology);
        }
    }
}
