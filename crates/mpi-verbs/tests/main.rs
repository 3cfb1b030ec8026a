//! The tests of packets over adapters in memory, in one executable.

mod one_sided;
mod packet;
mod packet_channel;
