//! Runs an interaction of workers over simulated endpoints, as `simrun fuzz` did: `case.rs` has the
//! steps and the observations of the workers at the failure. The program uses only `endpoint`.
//!
//! Exit status 1 if the workers observe the same again, 0 if not: the failure is gone, or another.

#![allow(dead_code)]

mod case;
mod command;
mod pattern;
mod response;
mod rma;
mod worker;

use std::process::ExitCode;

use endpoint::simulated::Network;

use command::{Command, MICROSECOND};
use worker::Worker;

/// Simulated time that a step may take, in picoseconds.
const STEP_BUDGET: u64 = 1_000_000 * MICROSECOND;

fn main() -> ExitCode {
    let mut network = Network::new(case::WORKERS, case::settings()).expect("endpoints");
    let mut workers: Vec<Worker> = (0..case::WORKERS)
        .map(|_| Worker::new(network.uris()))
        .collect();
    let mut blocked = None;
    for (number, step) in case::steps().iter().enumerate() {
        println!("step {number}: {step:?}");
        if !runs(&mut network, &mut workers, step) {
            println!("step {number} is blocked");
            blocked = Some(number);
            break;
        }
    }
    if blocked.is_none() {
        for (number, worker) in (0..).zip(&mut workers) {
            worker.finish(network.endpoint(number));
            if let Err(error) = network.destroy_endpoint(number) {
                worker.cannot_destroy(&error.to_string());
            }
        }
    }
    let observed: Vec<Vec<String>> = workers.into_iter().map(lines).collect();
    for (number, lines) in observed.iter().enumerate() {
        println!("worker {number} observed");
        for line in lines {
            println!("  {line}");
        }
    }
    if blocked == case::BLOCKED && observed == case::observed() {
        println!("the failure has happened again: {}", case::FAILURE);
        ExitCode::FAILURE
    } else {
        println!("other observations than when it failed: {}", case::FAILURE);
        ExitCode::SUCCESS
    }
}

/// Runs a step; returns false if the step is blocked.
fn runs(network: &mut Network, workers: &mut [Worker], step: &[(u32, Command)]) -> bool {
    let begin = network.now();
    for (number, command) in step {
        let worker = &mut workers[*number as usize];
        worker.begin(command, network.endpoint(*number), begin);
    }
    let mut active: Vec<&(u32, Command)> = step.iter().collect();
    loop {
        let now = network.now();
        if case::ALL_POLL {
            for (number, worker) in (0..).zip(workers.iter_mut()) {
                worker.poll(network.endpoint(number));
            }
        }
        active.retain(|(number, command)| {
            let endpoint = network.endpoint(*number);
            let worker = &mut workers[*number as usize];
            worker.poll(endpoint);
            !worker.has_ended(command, endpoint, now)
        });
        if active.is_empty() {
            return true;
        }
        let alarms = active.iter().map(|(number, _)| &workers[*number as usize]);
        let alarm = alarms.filter_map(Worker::alarm).min();
        if now > begin + STEP_BUDGET + case::LONGEST_TIME || !network.advance_time(alarm) {
            return false;
        }
    }
}

fn lines(worker: Worker) -> Vec<String> {
    let responses = worker.into_responses();
    responses.iter().map(response::Response::line).collect()
}
