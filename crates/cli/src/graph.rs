//! `simrun graph`: the protocol machines as graphs, made from the tables that run.

use std::path::Path;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use mpi::machine::{self, Machine, Transition};
use report::{Figure, StateGraph};

use simrun::{drawing, status};

use crate::companion;

/// A machine, and the form of its graph.
#[derive(Args, Clone, Debug)]
pub(crate) struct GraphCommand {
    /// State machine
    #[arg(value_enum)]
    machine: Which,

    /// Output format: DOT or SVG
    #[arg(long, value_enum, default_value_t)]
    format: GraphFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Which {
    Send,
    Receive,
    Credits,
    Connection,
    Close,
    Endpoint,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum GraphFormat {
    #[default]
    Dot,
    Svg,
}

/// Prints the graph to standard output.
pub(crate) fn print_graph(command: &GraphCommand) -> ExitCode {
    let [connection, close] = mpi::connection::machines();
    let machine = match command.machine {
        Which::Send => machine::send_machine(),
        Which::Receive => machine::receive_machine(),
        Which::Credits => machine::credits(),
        Which::Connection => connection,
        Which::Close => close,
        Which::Endpoint => endpoint_machine(),
    };
    match command.format {
        GraphFormat::Dot => status::print(machine.to_dot().trim_end()),
        GraphFormat::Svg => match companion::TOOLS.program_path() {
            Ok(program) => {
                let figure = Figure::States(states(&machine));
                let drawn = drawing::draw_by(&program, &figure, Path::new("-"));
                drawn.map_or_else(|code| code, |()| ExitCode::SUCCESS)
            }
            Err(problem) => status::refuse(problem),
        },
    }
}

/// The stages of a connection of an endpoint.
fn endpoint_machine() -> Machine {
    let name = |stage: endpoint::ConnectionStage| format!("{stage:?}");
    let transitions = endpoint::TRANSITIONS.iter().map(|row| Transition {
        from: name(row.from),
        event: format!("{:?}", row.event),
        action: row.output.to_owned(),
        to: name(row.to),
        requirement: "",
    });
    let states: Vec<String> = endpoint::ConnectionStage::ALL
        .iter()
        .copied()
        .map(name)
        .collect();
    Machine {
        name: "endpoint",
        waits: states.clone(),
        states,
        transitions: transitions.collect(),
    }
}

/// The machine in the words of `report`.
fn states(machine: &Machine) -> StateGraph {
    let at = |name: &String| {
        let position = machine.states.iter().position(|state| state == name);
        position.expect("transitions lead from states to states")
    };
    StateGraph {
        title: format!("The machine \"{}\" of a connection", machine.name),
        states: machine
            .states
            .iter()
            .map(|state| (state.clone(), machine.waits.contains(state)))
            .collect(),
        transitions: machine
            .transitions
            .iter()
            .map(|transition| {
                let (from, to) = (at(&transition.from), at(&transition.to));
                (from, to, transition.label())
            })
            .collect(),
    }
}
