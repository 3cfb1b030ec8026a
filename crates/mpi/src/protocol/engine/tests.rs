//! Two engines, all packets between them, and every order in which anything can happen (E1, E2).

mod explored;
mod explorer;
mod scenarios;
