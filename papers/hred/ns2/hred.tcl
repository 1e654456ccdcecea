# Section IV of Joo et al. 2006 in ns-2 2.35, with the network by which the experiments are judged (document.toml).
#
#     ns hred.tcl queue rem traffic 100 buffer 500 seed 1
#
# queue     red, pi, rem, vq (AVQ) or droptail
# traffic   FTP flows; a twelfth of it are web sessions a second (300)
# web       web sessions a second, if not that; 0 for none
# web_start when they begin to arrive (0 s)
# buffer    in kB (300)
# tcp       Sack1, Newreno or Reno, of the FTP flows (Reno)
# window    the largest window (20)
# sizes     differ (300 to 700 B) or equal (500 B)
# gamma     REM's (0.001)
# lambda    of PIC's rule (0.08888889, section IV.A)
# table2    1: 150 flows of 20 ms and 150 of 200 ms, without web
# access    Mbit/s of the access links (450)
# from, to  the window that is measured (150 to 200 s)
# seed      1

array set o {queue red traffic 300 web - web_start 0 buffer 300 tcp Reno window 20 sizes differ gamma 0.001 lambda 0.08888889
    table2 0 access 450 from 150 to 200 seed 1}
foreach {key value} $argv {
    if {![info exists o($key)]} { puts stderr "$key: there is no such setting; see the head of hred.tcl"; exit 2 }
    set o($key) $value
}
if {$o(web) eq "-"} { set o(web) [expr {$o(table2) ? 0 : $o(traffic) / 12.0}] }

$defaultRNG seed $o(seed)
set draws [new RNG]
set rate 45e6; set limit [expr {round($o(buffer) * 2)}]

# TCP as 2.27 had it; sizes are those on the wire.
foreach {name value} [list window_ $o(window) packetSize_ 500 useHeaders_ false minrto_ 1 rtxcur_init_ 6 maxrto_ 100000 \
    tcpTick_ 0.01 windowInit_ 2 precisionReduce_ false \
    updated_rttvar_ false bugfix_ss_ 0] { Agent/TCP set $name $value }
Agent/TCPSink set packetSize_ 40

# Table 1, in packets of 500 bytes.
Queue/DropTail set mean_pktsize_ 500
foreach {name value} [list thresh_ [expr {$limit / 4.0}] maxthresh_ [expr {$limit / 2.0}] linterm_ 10 q_weight_ 0.002 gentle_ true \
    wait_ true bytes_ false queue_in_bytes_ true mean_pktsize_ 500 adaptive_ 0] { Queue/RED set $name $value }
set z [expr {2 * 100 / (0.2 * 0.2 * 11250)}]; set w [expr {$o(lambda) / 0.2}]
set K [expr {$w * $z * sqrt($w * $w + 25) * 2 * 100 / (11250.0 * 11250.0)}]
foreach {name value} [list a_ [expr {$K * (1 / $z + 0.5 / 160)}] b_ [expr {$K * (1 / $z - 0.5 / 160)}] w_ 160 \
    qref_ [expr {0.375 * $limit}] bytes_ false queue_in_bytes_ true mean_pktsize_ 500] { Queue/PI set $name $value }
foreach {name value} [list gamma_ $o(gamma) phi_ 1.001 inw_ 1 pupdtime_ 0.001 pbo_ [expr {0.375 * $limit}] mean_pktsize_ 500 \
    qib_ true] { Queue/REM set $name $value }
foreach {name value} {gamma_ 1.0 queue_in_bytes_ true mean_pktsize_ 500} { Queue/Vq set $name $value }

set ns [new Simulator]
set A [$ns node]; set B [$ns node]
array set class {red RED pi PI rem REM vq Vq droptail DropTail}
set hop [expr {$o(table2) ? 5 : 10}]
# Other drop-tail queues count packets.
$ns simplex-link $A $B $rate ${hop}ms $class($o(queue))
$ns simplex-link $B $A $rate ${hop}ms DropTail
$ns queue-limit $A $B $limit
$ns queue-limit $B $A 100000
if {$o(queue) eq "droptail"} { [[$ns link $A $B] queue] set queue_in_bytes_ true }

# A node at a round-trip time in ms.
proc host {rtt} {
    global ns A o hop
    set node [$ns node]
    $ns duplex-link $node $A ${o(access)}Mb [expr {$rtt / 2.0 - $hop}]ms DropTail
    $ns queue-limit $node $A 100000; $ns queue-limit $A $node 100000
    return $node
}
proc ftp {rtt size group} {
    global ns B o draws senders
    set agent [new Agent/TCP/$o(tcp)]
    set sink [expr {$o(tcp) eq "Sack1" ? [new Agent/TCPSink/Sack1] : [new Agent/TCPSink]}]
    $agent set packetSize_ $size
    $ns attach-agent [host $rtt] $agent; $ns attach-agent $B $sink; $ns connect $agent $sink
    set source [new Application/FTP]; $source attach-agent $agent
    $ns at [$draws uniform 0 1] "$source start"
    lappend senders [list $agent $size $group]
}
set sizes [expr {$o(sizes) eq "equal" ? {500 500 500 500 500} : {300 400 500 600 700}}]
if {$o(table2)} {
    for {set i 0} {$i < 150} {incr i} { foreach {group rtt} {short 20 long 200} { ftp $rtt [lindex $sizes [expr {$i % 5}]] $group } }
} else {
    for {set i 0} {$i < $o(traffic)} {incr i} { ftp [$draws uniform 40 200] [lindex $sizes [expr {$i % 5}]] all }
}

# The web of tcl/ex/web-traffic.tcl.
if {$o(web) > 0} {
    set pool [new PagePool/WebTraf]
    set servers 200
    $pool set-num-server $servers; $pool set-num-client 1
    for {set i 0} {$i < $servers} {incr i} { $pool set-server $i [host [$draws uniform 40 200]] }
    $pool set-client 0 $B
    set times {}
    for {set t $o(web_start)} {1} {} {
        set t [expr {$t + [$draws exponential [expr {1.0 / $o(web)}]]}]
        if {$t >= $o(to)} break
        lappend times $t
    }
    $pool set-num-session [llength $times]
    set i 0
    foreach t $times {
        foreach {name kind settings} {pause Exponential {avg_ 1} objects Constant {val_ 1} gap Exponential {avg_ 0.01}
            size ParetoII {avg_ 10 shape_ 1.2}} {
            set $name [new RandomVariable/$kind]
            foreach {key value} $settings { [set $name] set $key $value }
        }
        $pool create-session $i 10 $t $pause $objects $gap $size
        incr i
    }
}

# The bytes that wait each 10 ms, and the counters of the link.
set monitor [$ns monitor-queue $A $B ""]
set seen {}
proc sample {} {
    global ns monitor seen
    lappend seen [$monitor set size_]
    $ns at [expr {[$ns now] + 0.01}] sample
}
proc begin {} {
    global monitor was senders acked
    foreach name {bdepartures_ pdrops_ parrivals_} { set was($name) [$monitor set $name] }
    foreach sender $senders { set acked([lindex $sender 0]) [[lindex $sender 0] set ack_] }
    sample
}
proc finish {} {
    global monitor was senders acked seen rate o
    set n [llength $seen]; set sum 0.0; set squares 0.0
    foreach q $seen { set sum [expr {$sum + $q}]; set squares [expr {$squares + double($q) * $q}] }
    set mean [expr {$sum / $n}]
    foreach name {bdepartures_ pdrops_ parrivals_} { set d($name) [expr {[$monitor set $name] - $was($name)}] }
    array set got {short 0.0 long 0.0 all 0.0}
    foreach sender $senders {
        lassign $sender agent size group
        set got($group) [expr {$got($group) + ([$agent set ack_] - $acked($agent)) * $size}]
    }
    set line [format "queue=%.0f deviation=%.0f p95=%.0f utilization=%.4f loss=%.5f" $mean \
        [expr {sqrt($squares / $n - $mean * $mean)}] [lindex [lsort -integer $seen] [expr {int(0.95 * $n)}]] \
        [expr {8.0 * $d(bdepartures_) / ($rate * ($o(to) - $o(from)))}] [expr {double($d(pdrops_)) / $d(parrivals_)}]]
    if {$o(table2)} { append line [format " short=%.2f" [expr {100 * $got(short) / ($got(short) + $got(long))}]] }
    puts "$line"
    exit 0
}
$ns at $o(from) begin
$ns at $o(to) finish
$ns run
