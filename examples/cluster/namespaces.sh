#!/bin/sh -eu
# A cluster on one machine, to try what a network does: runs a program as MPI processes, each in a
# network namespace of its own, joined by a bridge over which it may send so many Mbit/s, each way, with
# so much delay: namespaces.sh PROCESSES MBIT DELAY_MS PROGRAM OPTIONS... The bridge and mpirun have a
# namespace as well: a device that comes and goes in the machine's own would be taken for a network by
# other MPI programs that start meanwhile.
# Wants root, ip, tc, unshare and Open MPI. Exits with 77 where the system does not permit it; where it
# has no delay (sch_netem), it says so and continues without.
count=$1 mbit=$2 delay=$3
shift 3
folder=$(mktemp -d) net=10.213.0
id=wordloom-${folder##*.}

clean() {
  for i in $(seq 0 "$count"); do
    ip netns pids "$id-$i" 2>/dev/null | xargs -r kill -9 2>/dev/null || true
    ip netns del "$id-$i" 2>/dev/null || true
  done
  rm -rf -- "$folder"
}
trap clean EXIT
trap 'exit 130' INT TERM

skip() {
  echo "namespaces.sh: skipped: $1" >&2
  exit 77
}
for program in ip tc unshare mpirun; do
  command -v $program >/dev/null || skip "there is no $program"
done
for i in $(seq 0 "$count"); do
  ip netns add "$id-$i" 2>"$folder/error" || skip "no namespaces: $(cat "$folder/error")"
  ip -n "$id-$i" link set lo up 2>"$folder/error" || skip "no loopback: $(cat "$folder/error")"
done
ip -n "$id-0" link add name bridge type bridge 2>"$folder/error" ||
  skip "no bridge: $(cat "$folder/error")"
ip -n "$id-0" address add "$net.1/24" dev bridge
ip -n "$id-0" link set bridge up

# $1: the namespace, $2: its device.
shape() {
  tc -n "$1" qdisc add dev "$2" root handle 1: tbf rate "${mbit}mbit" burst 256kb latency 100ms \
    2>"$folder/error" || skip "no limit of bandwidth: $(cat "$folder/error")"
  if [ "$delay" != 0 ]; then
    tc -n "$1" qdisc add dev "$2" parent 1: netem delay "${delay}ms" 2>"$folder/error" ||
      echo "namespaces.sh: no delay: $(cat "$folder/error")" >&2
  fi
}
for i in $(seq "$count"); do
  ip -n "$id-0" link add "port$i" type veth peer name eth0 netns "$id-$i"
  ip -n "$id-0" link set "port$i" master bridge up
  ip -n "$id-$i" address add "$net.$((i + 1))/24" dev eth0
  ip -n "$id-$i" link set eth0 up
  shape "$id-0" "port$i"
  shape "$id-$i" eth0
  echo "$net.$((i + 1)) slots=1" >>"$folder/hosts"
done

# In the place of ssh: HOST COMMAND...
cat >"$folder/agent" <<AGENT
#!/bin/sh
i=\$((\${1##*.} - 1))
shift
exec ip netns exec "$id-\$i" unshare --uts sh -c "hostname $id-\$i; \$*"
AGENT
chmod +x "$folder/agent"

exec 3<&0  # or mpirun would read /dev/null
ip netns exec "$id-0" mpirun --hostfile "$folder/hosts" --map-by node --bind-to none \
  --mca plm_rsh_agent "$folder/agent" --mca btl tcp,self --mca btl_tcp_if_include "$net.0/24" \
  --mca oob_tcp_if_include "$net.0/24" "$@" <&3 &
wait $!  # a signal ends it, and mpirun is ended by clean
