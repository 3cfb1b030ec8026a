# Sourced in a guest: an adapter rxe1 with the address 10.0.1.1 on one end of a veth pair, and a network namespace, that of the process $sleeper,
# with 10.0.1.2 on the other end.
# shellcheck shell=sh
#
# The adapter belongs to the namespace of the guest's first process, whose port 4791 the kernel has. The tester's namespace is that of a sleeping
# process. The shell would take its own `ip`, which knows no veth.
unshare -n sleep 100000 &
sleeper=$!
/bin/ip link add veth0 mtu 4200 type veth peer name veth1 mtu 4200
until [ "$(readlink /proc/$sleeper/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.1; done
# veth queues a packet on the processor that sends it, and the adapter's responder moves from one to the other: two responses would change
# places. One processor takes all packets.
for end in veth0 veth1; do echo 1 >/sys/class/net/$end/queues/rx-0/rps_cpus; done
/bin/ip link set veth1 netns $sleeper
/bin/ip addr add 10.0.1.1/24 dev veth0
/bin/ip link set veth0 up
nsenter -t $sleeper -n /bin/ip link set lo up
nsenter -t $sleeper -n /bin/ip addr add 10.0.1.2/24 dev veth1
nsenter -t $sleeper -n /bin/ip link set veth1 up
rdma link add rxe1 type rxe netdev veth0
