//! The tests of collective operations, in one executable.

mod common;
mod data_all;
mod many_ranks;
mod nccl;
mod openmpi_messages;
mod rooted;
mod selector_data;
mod selector_tables;
mod smpi_messages;
mod smpi_selectors;
mod two_level;
