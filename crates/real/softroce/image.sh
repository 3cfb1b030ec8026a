#!/usr/bin/env bash
# image.sh: makes the system that the guests run, from Debian packages, and prints the folder that it is in: `vmlinux` and `base.cpio`.
#
# The packages are downloaded and unpacked, not installed, and nothing here needs root. What is there already is used again: the image is
# made anew when the kernel package, the list of packages or `init` changes.
#
# Why a guest: InfiniBand in software (Soft-RoCE, the kernel module rdma_rxe) needs a kernel that has it. Only Debian's generic kernels do.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
need apt-get=apt apt-cache=apt dpkg-deb=dpkg depmod=kmod modprobe=kmod cpio=cpio xz=xz-utils zstd=zstd flock=util-linux ldd=libc-bin sha256sum=coreutils

mkdir -p "$cache/debs"
# One at a time; who comes second finds it made.
exec 9>"$cache/lock"
flock 9

if [ -e "$cache/kernel" ]; then
  kernel=$(cat "$cache/kernel")
else
  kernel=$(apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-[0-9].*-amd64\)$/\1/p' | head -n 1)
  [ -n "$kernel" ] || die "apt knows no kernel (linux-image-amd64): apt-get update"
fi
release=${kernel#linux-image-}

# The kernel; a shell and what goes with it; the tool that makes an rxe device; verbs with their provider; what measures; ssh.
packages="$kernel busybox-static iproute2 libmnl0 libelf1 libcap2 libbpf1 libtirpc3 libxtables12 libbsd0 libmd0 util-linux
  libibverbs1 ibverbs-providers ibverbs-utils libnl-3-200 libnl-route-3-200
  perftest librdmacm1 libibumad3 libpci3
  dropbear-bin libtomcrypt1 libtommath1 libgmp10"
# shellcheck disable=SC2086 # a list
packages=$(printf '%s\n' $packages | sort)
key=$({ printf '%s\n' "$packages"; cat "$here/init" "$here/image.sh"; } | sha256sum | cut -c 1-16)
image=$cache/image-$key
if [ -e "$image/base.cpio" ]; then
  printf '%s\n' "$image"
  exit 0
fi

# ---- packages ----
wanted=()
for package in $packages; do
  compgen -G "$cache/debs/${package}_*.deb" >/dev/null || wanted+=("$package")
done
if [ ${#wanted[@]} -gt 0 ]; then
  printf 'softroce: downloading %s packages\n' "${#wanted[@]}" >&2
  (cd "$cache/debs" && apt-get download -q "${wanted[@]}" >"$cache/apt.log" 2>&1) ||
    die "packages cannot be downloaded (try apt-get update): $(tail -n 3 "$cache/apt.log")"
fi
work=$cache/making
rm -rf "$work"
mkdir -p "$work/pkg" "$work/root"/{bin,dev,etc/libibverbs.d,lib64,mod,proc,root,run,sys,tmp,usr/lib/x86_64-linux-gnu/libibverbs}
for package in $packages; do
  for deb in "$cache/debs/${package}"_*.deb; do dpkg-deb -x "$deb" "$work/pkg"; done
done
cd "$work"

# ---- kernel ----
# QEMU starts a plain ELF kernel directly; a packed one would unpack itself in the guest, which emulation makes slow.
packed=pkg/boot/vmlinuz-$release
offset() { LC_ALL=C grep -abom 1 -P "$1" "$packed" | head -n 1 | cut -d : -f 1; }
unpack() { # unpack MAGIC COMMAND...: what follows the packed kernel in the file makes the command complain, which means nothing
  local at
  at=$(offset "$1") || return 0
  [ -n "$at" ] || return 0
  shift
  tail -c "+$((at + 1))" "$packed" | "$@" 2>/dev/null >vmlinux || true
}
is_elf() { [ "$(head -c 4 vmlinux 2>/dev/null | tail -c 3)" = ELF ]; }
unpack '\xfd7zXZ\x00' xz -dc
is_elf || unpack '\x28\xb5\x2f\xfd' zstd -dc
is_elf || die "the kernel in $packed is packed in an unknown way"

# ---- modules ----
depmod -b pkg "$release"
[ -n "$(find pkg/lib/modules -name 'rdma_rxe.ko*')" ] || die "$kernel has no rdma_rxe; a generic kernel has"
# No module says that it needs crc32_generic, but rdma_rxe asks the kernel for a crc32 when it starts.
# 9pnet_virtio and 9p: the folder that guests share with us.
for module in crc32_generic crc32c_generic virtio_pci virtio_net dummy veth sch_netem rdma_rxe 9pnet_virtio 9p; do
  modprobe -d "$PWD/pkg" -S "$release" --show-depends "$module" 2>/dev/null || true
done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' >order
while read -r file; do
  name=$(basename "$file" .xz)
  case $file in
    *.xz) xz -dc "$file" >"root/mod/$name" ;;
    *) cp "$file" "root/mod/$name" ;;
  esac
  printf '%s\n' "$name" >>root/mod/order
done <order

# ---- programs ----
lib=usr/lib/x86_64-linux-gnu
libraries=$PWD/pkg/$lib:$PWD/pkg/lib/x86_64-linux-gnu
add() { # add FILE TO: with the shared libraries that it needs
  cp -L "$1" "root/$2"
  LD_LIBRARY_PATH=$libraries ldd "$1" | awk '$3 ~ "^/" { print $3 }' | while read -r library; do
    [ -e "root/$lib/$(basename "$library")" ] || cp -L "$library" "root/$lib/"
  done
}
found() { find pkg -path "*/$1" -type f | head -n 1; }
cp -L /lib64/ld-linux-x86-64.so.2 root/lib64/
ln -s usr/lib root/lib
for program in ip tc rdma chrt ibv_devinfo ibv_devices ib_send_lat ib_write_lat ib_read_lat ib_send_bw ib_write_bw; do
  file=$(found "*bin/$program")
  [ -n "$file" ] || die "no $program in the packages"
  add "$file" "bin/$program"
done
# libibverbs reads the name of the provider from etc/ and loads it.
provider=$(find pkg -name 'librxe-rdmav*.so' | head -n 1)
add "$provider" "$lib/libibverbs/$(basename "$provider")"
cp pkg/etc/libibverbs.d/rxe.driver root/etc/libibverbs.d/
busybox=$(found bin/busybox)
cp "$busybox" root/bin/busybox
"$busybox" --list | while read -r name; do
  [ -e "root/bin/$name" ] || ln -s busybox "root/bin/$name"
done
# One guest reaches the other by ssh, as real machines do: with a key that exists only in this image, on a wire that only the two have.
for program in dropbear dbclient; do
  file=$(found "*bin/$program")
  [ -n "$file" ] || die "no $program in the packages"
  add "$file" "bin/$program"
done
mkdir -p root/root/.ssh root/etc/dropbear
keygen=$(found bin/dropbearkey)
LD_LIBRARY_PATH=$libraries "$keygen" -t ed25519 -f root/root/.ssh/id_dropbear 2>/dev/null |
  sed -n '/^ssh-ed25519 /p' >root/root/.ssh/authorized_keys
LD_LIBRARY_PATH=$libraries "$keygen" -t ed25519 -f root/etc/dropbear/dropbear_ed25519_host_key >/dev/null 2>&1
[ -s root/root/.ssh/authorized_keys ] || die "dropbearkey made no key"
chmod -R go= root/root
printf 'root:x:0:0::/root:/bin/sh\n' >root/etc/passwd
printf '127.0.0.1 localhost\n10.0.0.1 node0\n10.0.0.2 node1\n' >root/etc/hosts
install -m 755 "$here/init" root/init
(cd root && find . | LC_ALL=C sort | cpio -o -H newc --quiet -R 0:0) >base.cpio
(cd root && find . -name '*.so*' | sed 's,.*/,,' | sort -u) >libraries

rm -rf "$cache/new"
mkdir "$cache/new"
mv vmlinux base.cpio libraries "$cache/new/"
mv "$cache/new" "$image"
printf '%s\n' "$kernel" >"$cache/kernel"
rm -rf "$work"
printf 'softroce: %s, %s\n' "$kernel" "$(du -sh "$image" | cut -f 1)" >&2
printf '%s\n' "$image"
