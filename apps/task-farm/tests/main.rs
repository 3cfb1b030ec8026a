//! The tests of task-farm, in one executable.

mod compiled;
mod known_answers;
