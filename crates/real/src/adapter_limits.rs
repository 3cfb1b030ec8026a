//! Check of the options against the limits of an adapter: an error is reported before a connection
//! is made, with the name of the option.
//!
//! *Not checked*: memory. The limit of registered memory is known only at registration.

use mpi_verbs::Options;
use rdma::{DeviceAttributes, PortAttributes, PortState};

/// Returns the options that exceed the limits of the adapter, as text.
pub(super) fn check_limits(
    options: &Options,
    device: &DeviceAttributes,
    port: Option<&PortAttributes>,
) -> Result<(), String> {
    let name = &device.name;
    let wanted = &options.connection;
    let Some(port) = port else {
        return Err(format!(
            "--port {}: {name} has ports 1 to {}",
            wanted.port_num, device.phys_port_cnt
        ));
    };
    if !matches!(port.state, PortState::Active | PortState::ActiveDefer) {
        return Err(format!(
            "--port {}: that port of {name} is not active (its state is {:?}): check the cable and the network interface",
            wanted.port_num, port.state
        ));
    }
    if let Some(index) = wanted.gid_index
        && u32::from(index) >= port.gid_tbl_len
    {
        return Err(format!(
            "--gid-index {index}: port {} of {name} has {} global identifiers, from 0",
            wanted.port_num, port.gid_tbl_len
        ));
    }
    if let Some(mtu) = wanted.path_mtu
        && mtu > port.active_mtu
    {
        return Err(format!(
            "--path-mtu {}: port {} of {name} supports at most {} bytes",
            mtu.bytes(),
            wanted.port_num,
            port.active_mtu.bytes()
        ));
    }
    let most = device.max_qp_wr;
    if options.send_queue_depth > most {
        return Err(format!(
            "--send-queue-depth {}: {name} supports at most {most} work requests per queue",
            options.send_queue_depth
        ));
    }
    if options.receives() > most {
        return Err(format!(
            "--credits {}: for these a connection needs {} receives, and {name} supports at most {most} on a queue",
            options.credits,
            options.receives()
        ));
    }
    let each = options.receives() + options.send_queue_depth;
    if each > device.max_cqe {
        return Err(format!(
            "--credits {} and --send-queue-depth {}: a connection can complete {each} requests at once, and a completion queue of {name} holds {}",
            options.credits, options.send_queue_depth, device.max_cqe
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rdma::{AtomicCap, LinkLayer, Mtu};

    use super::*;

    fn adapter() -> (DeviceAttributes, PortAttributes) {
        let device = DeviceAttributes {
            name: "rxe0".to_owned(),
            fw_ver: String::new(),
            node_guid: 1,
            max_mr_size: 1 << 40,
            max_mr: 1000,
            max_pd: 1000,
            max_qp: 1000,
            max_qp_wr: 1000,
            max_sge: 32,
            max_cq: 1000,
            max_cqe: 1500,
            max_qp_rd_atom: 128,
            max_qp_init_rd_atom: 128,
            atomic_cap: AtomicCap::Hca,
            local_ca_ack_delay: 15,
            phys_port_cnt: 1,
        };
        let port = PortAttributes {
            state: PortState::Active,
            link_layer: LinkLayer::Ethernet,
            max_mtu: Mtu::Mtu4096,
            active_mtu: Mtu::Mtu1024,
            gid_tbl_len: 2,
            lid: 0,
            max_msg_sz: 1 << 23,
        };
        (device, port)
    }

    #[test]
    fn what_the_adapter_cannot_do_is_refused_by_the_name_of_its_option() {
        let (device, port) = adapter();
        let fine = Options::default();
        assert_eq!(check_limits(&fine, &device, Some(&port)), Ok(()));
        let with = |change: &dyn Fn(&mut Options)| {
            let mut options = fine.clone();
            change(&mut options);
            check_limits(&options, &device, Some(&port)).unwrap_err()
        };
        for (error, begins) in [
            (
                with(&|options| options.send_queue_depth = 1001),
                "--send-queue-depth 1001: rxe0 supports",
            ),
            (
                with(&|options| options.credits = 500),
                "--credits 500: for these",
            ),
            (
                with(&|options| (options.credits, options.send_queue_depth) = (400, 900)),
                "--credits 400 and --send-queue-depth 900: ",
            ),
            (
                with(&|options| options.connection.gid_index = Some(2)),
                "--gid-index 2: port 1 of rxe0 has 2 ",
            ),
            (
                with(&|options| options.connection.path_mtu = Some(Mtu::Mtu2048)),
                "--path-mtu 2048: port 1 of rxe0 supports at most 1024 bytes",
            ),
            (
                check_limits(&fine, &device, None).unwrap_err(),
                "--port 1: rxe0 has ports 1 to 1",
            ),
        ] {
            assert!(error.starts_with(begins), "{error}");
        }
        let down = PortAttributes {
            state: PortState::Down,
            ..port
        };
        let error = check_limits(&fine, &device, Some(&down)).unwrap_err();
        assert!(
            error.starts_with("--port 1: that port of rxe0 is not active"),
            "{error}"
        );
    }
}
