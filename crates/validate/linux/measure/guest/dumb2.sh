#!/bin/bash
# sourced by uml_init2.sh after the cell file (cells/ID), which sets
#  L label, O output dir, RATE Mbit/s (bottleneck), OW one-way ms, OW2 one-way ms of group 2 (optional), DUR s, ECN tcp_ecn sysctl, CC1 N1 [CC2 N2], QD "tc lines;...", NE extra netem words (loss.. rate..), UDPR bit/s (frame level), REMARK=1 (group 2 ECT(0)->ECT(1) at G ingress), SIV TCP_INFO sample ms, EXTRA a command run before the senders, APART ms over which the flows' starts are spread
# S --s0/g0-- G --g1/d0-- D --d1/r0-- R ; bottleneck qdisc on G:g1 ; netem on D:d1 (->R) and D:d0 (->G)
[ -n "$NOLOWAT" ] || export LOWAT=16384; B=/run/out/guest; SY=/run/out/sys; mkdir -p $O
tc(){ $SY/lib/ld-linux-x86-64.so.2 --library-path $SY/lib $SY/tc "$@"; }
run(){ echo "tc $*" >> $O/$L.cmds; tc "$@" || echo "FAILED tc $*" | tee -a $O/$L.cmds; }
: > $O/$L.cmds
echo "1000000 1500000 2000000" > /proc/sys/net/ipv4/tcp_mem; echo 100000 > /proc/sys/net/core/netdev_max_backlog
for n in S G D R; do ip netns add $n; ip -n $n link set lo up; done
ip link add s0 netns S type veth peer name g0 netns G
ip link add g1 netns G type veth peer name d0 netns D
ip link add d1 netns D type veth peer name r0 netns R
for x in "S s0 10.0.1.1/24" "G g0 10.0.1.2/24" "G g1 10.0.2.1/24" "D d0 10.0.2.2/24" "D d1 10.0.3.1/24" "R r0 10.0.3.2/24"; do set -- $x
 ip -n $1 addr add $3 dev $2; ip netns exec $1 ethtool -K $2 tso off gso off gro off >/dev/null 2>&1 || echo "FAILED ethtool $1 $2" >> $O/$L.cmds; ip -n $1 link set $2 up; done
ip -n S route add default via 10.0.1.2; ip -n R route add default via 10.0.3.1
ip -n G route add 10.0.3.0/24 via 10.0.2.2; ip -n D route add 10.0.1.0/24 via 10.0.2.1
for n in G D; do ip netns exec $n sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'; done
for n in S R; do ip netns exec $n sh -c "echo ${ECN:-0} > /proc/sys/net/ipv4/tcp_ecn; echo 1 > /proc/sys/net/ipv4/tcp_no_metrics_save; echo '4096 131072 ${MEM:-16777216}' > /proc/sys/net/ipv4/tcp_rmem;  echo '4096 65536 ${MEM:-16777216}' > /proc/sys/net/ipv4/tcp_wmem"; done
if [ -z "$OW2" ]; then
 run -n D qdisc add dev d1 root handle 30: netem delay ${OW}ms $NE limit 100000
 run -n D qdisc add dev d0 root handle 31: netem delay ${OW}ms limit 100000
else for x in "d1 dport" "d0 sport"; do set -- $x
 run -n D qdisc add dev $1 root handle 1: prio bands 2 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
 run -n D qdisc add dev $1 parent 1:1 handle 30: netem delay ${OW}ms limit 100000
 run -n D qdisc add dev $1 parent 1:2 handle 32: netem delay ${OW2}ms limit 100000
 run -n D filter add dev $1 parent 1: protocol ip prio 1 u32 match ip protocol 6 0xff match ip $2 5202 0xffff flowid 1:2
done; fi
IFS=';'; for l in $QD; do IFS=' '; run -n G $l; done; IFS=$' \t\n'
if [ -n "$REMARK" ]; then run -n G qdisc add dev g0 ingress
 run -n G filter add dev g0 parent ffff: protocol ip prio 1 u32 match ip protocol 6 0xff match ip dport 5202 0xffff match ip tos 2 0x3 action pedit ex munge ip tos set 1 retain 0x3 pipe action csum ip4h
fi
[ -n "$APART" ] && { export APART; ip netns exec S busybox ping -c 2 10.0.3.2 > /dev/null; } # addresses are known
[ -n "$EXTRA" ] && eval "$EXTRA"; P=""; ip netns exec R $B/bulk s 5201 $((DUR+3)) $CC1 & P="$P $!"
[ -n "$CC2" ] && { ip netns exec R $B/bulk s 5202 $((DUR+3)) $CC2 & P="$P $!"; }
[ -n "$UDPR" ] && { ip netns exec R $B/udp s 5300 $((DUR+1)) ${WARM:-10} > $O/$L.udp & up=$!; }
sleep 0.5; w0=$(cut -d' ' -f1 /proc/uptime); C=""
ip netns exec S $B/bulk c 10.0.3.2 5201 $N1 $DUR $CC1 ${SIV:-500} $O/$L.ti1 > $O/$L.flows1 2>$O/$L.err & C="$C $!"
[ -n "$CC2" ] && { ip netns exec S $B/bulk c 10.0.3.2 5202 $N2 $DUR $CC2 ${SIV:-500} $O/$L.ti2 > $O/$L.flows2 2>>$O/$L.err & C="$C $!"; }
[ -n "$UDPR" ] && { ip netns exec S $B/udp c 10.0.3.2 5300 $UDPR 1472 $DUR 2>>$O/$L.err & C="$C $!"; }
if [ -n "$QD" ]; then ip netns exec G $B/qsamp g1 ${QIV:-50} $DUR > $O/$L.samples & C="$C $!"; fi
wait $C
tc -n G -s qdisc show dev g1 > $O/$L.final; tc -n D -s qdisc show dev d1 > $O/$L.netem; [ -n "$REMARK" ] && tc -n G -s filter show dev g0 ingress > $O/$L.remark
ip netns exec S cat /proc/net/netstat /proc/net/snmp > $O/$L.nstatS; ip netns exec R cat /proc/net/netstat /proc/net/snmp > $O/$L.nstatR
[ -n "$UDPR" ] && wait $up
kill $P 2>/dev/null; wait $P 2>/dev/null
[ -s $O/$L.err ] && { echo ERR; cat $O/$L.err; }
echo "done $L guest $w0 $(cut -d' ' -f1 /proc/uptime)"; echo ok > $O/$L.ok
