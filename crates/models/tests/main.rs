//! The tests of the models of platforms, in one executable.

mod actors;
mod changes;
mod closed_forms;
mod dates;
mod disks;
mod idle;
mod observation;
mod packet;
mod parallel;
mod profiles;
mod sharing;
mod wifi;
