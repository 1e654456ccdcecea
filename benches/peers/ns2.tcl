# One benchmark case in ns-2 2.35: greedy flows over bottlenecks in a row.
# usage: ns ns2.tcl key value ...   Prints "RESULT key=value ..." with the CPU time of the event loop.
#
#   source i -- access -- R0 ==bottleneck== R1 ( == R2 ... ) -- access -- receiver i
#
# Acknowledgments take the same way back, over links with drop-tail queues that never fill.

array set P {
  rate 10e6 delay 0.005 hops 1 buffer 500 access 100e6 duration 100 packet 500 seed 1
  aqm RED minth 6.25 maxth 18.75 weight 0.0004 ecn 0 minrto 0.2 start 1
  groups {100 0 1 0.1 0.1}
  scheduler Calendar routes manual headers all monitor 0
}
# groups: for each group of flows five values: number, first router, last router, least and largest
# round-trip propagation time. routes: "manual" fills in each node's one way by hand; "static" lets ns-2
# compute all pairs, which takes most of a minute for 2000 nodes and gives the same event loop.
# headers: those that a packet has room for, where not all that ns-2 knows.
# monitor: count at the bottlenecks (costs time, so the timed runs do without).
foreach {key value} $argv {
  if {![info exists P($key)]} { puts stderr "unknown key $key"; exit 2 }
  set P($key) $value
}

# CPU time of this process in nanoseconds.
proc cpu {} {
  set f [open /proc/self/schedstat]; set x [lindex [gets $f] 0]; close $f
  return $x
}

if {$P(headers) ne "all"} { remove-all-packet-headers; eval add-packet-header $P(headers) }
global defaultRNG
$defaultRNG seed $P(seed)
set draw [new RNG]

# TCP as Quell's defaults have it: the agents' own, but no limit on the window.
Agent/TCP set window_ 10000
Agent/TCP set packetSize_ $P(packet)
Agent/TCP set useHeaders_ false
Agent/TCP set ecn_ $P(ecn)
Agent/TCP set minrto_ $P(minrto)
Agent/TCP set tcpTick_ 0.01
Agent/TCP set overhead_ 0
Agent/TCP set windowInit_ 2
Agent/TCP set windowInitOption_ 1

Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set mean_pktsize_ $P(packet)
Queue/RED set thresh_ $P(minth)
Queue/RED set maxthresh_ $P(maxth)
Queue/RED set q_weight_ $P(weight)
Queue/RED set linterm_ 10
Queue/RED set gentle_ true
Queue/RED set wait_ true
Queue/RED set adaptive_ 0
Queue/RED set setbit_ $P(ecn)
Queue/RED set use_mark_p_ false

set ns [new Simulator]
$ns use-scheduler $P(scheduler)
if {$P(routes) eq "manual"} { $ns rtproto Manual }

for {set i 0} {$i <= $P(hops)} {incr i} { set router($i) [$ns node] }
# ns-2's drop-tail queue holds one packet less than its limit.
set limit [expr {$P(aqm) eq "DropTail" ? $P(buffer) + 1 : $P(buffer)}]
for {set i 0} {$i < $P(hops)} {incr i} {
  set j [expr {$i + 1}]
  $ns simplex-link $router($i) $router($j) $P(rate) $P(delay) $P(aqm)
  $ns queue-limit $router($i) $router($j) $limit
  $ns simplex-link $router($j) $router($i) $P(rate) $P(delay) DropTail
  $ns queue-limit $router($j) $router($i) 100000
}

# An end of a flow behind an access link of its own.
proc endpoint {at delay} {
  global ns P
  set node [$ns node]
  $ns duplex-link $node $at $P(access) $delay DropTail
  $ns queue-limit $node $at 100000
  $ns queue-limit $at $node 100000
  return $node
}

# `from`, behind router $a, and `to`, behind router $b, learn the way to each other.
proc way {from a to b} {
  global router
  [$from get-module Manual] add-route-to-adj-node -default $router($a)
  set step [expr {$a < $b ? 1 : -1}]
  for {set i $a} {$i != $b} {incr i $step} {
    set next [[Simulator instance] link $router($i) $router([expr {$i + $step}])]
    [$router($i) get-module Manual] add-route [$to set address_] [$next head]
  }
  [$router($b) get-module Manual] add-route-to-adj-node $to
}

foreach {count a b low high} $P(groups) {
  for {set i 0} {$i < $count} {incr i} {
    set rtt [$draw uniform $low $high]
    set delay [expr {($rtt / 2.0 - abs($b - $a) * $P(delay)) / 2.0}]
    set source [endpoint $router($a) $delay]
    set sink [endpoint $router($b) $delay]
    if {$P(routes) eq "manual"} {
      way $source $a $sink $b
      way $sink $b $source $a
    }
    set tcp [new Agent/TCP/Reno]
    set receiver [new Agent/TCPSink]
    $ns attach-agent $source $tcp
    $ns attach-agent $sink $receiver
    $ns connect $tcp $receiver
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at [$draw uniform 0 $P(start)] "$ftp start"
    lappend agents $tcp
  }
}

if {$P(monitor)} {
  for {set i 0} {$i < $P(hops)} {incr i} {
    lappend monitors [$ns monitor-queue $router($i) $router([expr {$i + 1}]) ""]
  }
}

proc finish {} {
  global P agents monitors loop0
  set loop [expr {[cpu] - $loop0}]
  set out "RESULT loop_ns=$loop process_ns=[cpu]"
  set sent 0
  foreach tcp $agents { incr sent [$tcp set ndatapack_] }
  append out " sent=$sent"
  if {$P(monitor)} {
    set arrived 0; set dropped 0; set bits 0
    foreach m $monitors {
      incr arrived [$m set parrivals_]
      incr dropped [$m set pdrops_]
      set bits [expr {$bits + 8.0 * [$m set bdepartures_]}]
    }
    append out " arrived=$arrived dropped=$dropped utilization=[expr {$bits / $P(rate) / $P(duration) / $P(hops)}]"
  }
  puts $out
  exit 0
}
$ns at 0.0 { set loop0 [cpu] }
$ns at $P(duration) finish
$ns run
