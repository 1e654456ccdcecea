# Cases B2, D1 and D2 of Park et al. 2004 (Tables 2, 4 and 5) in ns-2 2.35, at the settings by which the experiments of this folder judge.
#
#     ns vrc.tcl b2 red 1                             case, algorithm, seed
#     ns vrc.tcl d2 pi 1 udp 4.5e6 delay 15           settings changed (the array below has their names)
#
# Algorithms: drop-tail, red, pi, avq (ns-2's own), rem (ns-2's, whose price OTcl computes with the printed alpha), vrc (OTcl, through
# the probability of ns-2's PI). README.md says how ../../ns2.csv is made of what this prints.
#
#   sender --(access)--> A ==(rate, delay, 100 packets)==> B --(access)--> receiver

if {[llength $argv] < 3} { puts stderr "usage: ns vrc.tcl CASE ALGORITHM SEED \[SETTING VALUE\]..."; exit 2 }
lassign $argv case algorithm seed

# Times in milliseconds, rates in bit/s. A range {low high} is drawn: the bottleneck's delay once, an access link's for each link.
# Subnets: connections, rate and delay of each access link, protocol, when they start and stop (seconds; a range is drawn).
array set set_ {
    duration 100  delay {5 15}  buffer 100  udp 0  udppacket 1000
    packet 1000  window 20  limitedtransmit 0  windowinit 2  minrto 1  initialrto 6  tick 0.1  maxrto 60  headers 0
    minth 20  maxth 80  maxp 0.1  weight 0.002  wait 1  markp 0.1  precision 0
    qref 50  a 0.002445  b 0.0024  alpha 0.0184  gamma 0.00175  phi 1.15  period 0.01
    kp 0.0024  ki 0.0045  kd 0.0003  memory 0.02  bounded 0  sides 2
}
set table3 {{35 100e6 {5 8} Reno 0 never} {20 10e6 {14 25} Newreno 0 never} {25 45e6 {11 16} Tahoe 0 never} {20 1.54e6 {21 34} Reno 0 never}}
array set cases [list \
    b2 {rate 10e6 subnets {{50 100e6 {10 30} Reno 0 never} {50 100e6 {10 30} Reno {0 50} {50 100}}}} \
    d1 [list rate 10e6 subnets $table3] \
    d1-tahoe {rate 10e6 subnets {{100 50e6 {11 19} Tahoe 0 never}}} \
    d1-reno {rate 10e6 subnets {{100 50e6 {11 19} Reno 0 never}}} \
    d1-newreno {rate 10e6 subnets {{100 50e6 {11 19} Newreno 0 never}}} \
    d2 [list rate 45e6 subnets $table3]]
if {![info exists cases($case)]} { puts stderr "no case $case; there are [lsort [array names cases]]"; exit 2 }
array set set_ $cases($case)
foreach {name value} [lrange $argv 3 end] {
    if {![info exists set_($name)]} { puts stderr "no setting $name; there are [lsort [array names set_]]"; exit 2 }
    set set_($name) $value
}
foreach name [array names set_] { set $name $set_($name) }

$defaultRNG seed $seed
set draws [new RNG]
proc draw {range} { return [expr {[llength $range] == 1 ? [lindex $range 0] : [$::draws uniform [lindex $range 0] [lindex $range 1]]}] }

# TCP of the second half of 2001; the window is ns-2's.
foreach {name value} [list packetSize_ $packet useHeaders_ [expr {$headers ? "true" : "false"}] window_ $window ecn_ 1 \
    singledup_ $limitedtransmit minrto_ $minrto rtxcur_init_ $initialrto tcpTick_ $tick maxrto_ $maxrto rfc2988_ false \
    precisionReduce_ [expr {$precision ? "true" : "false"}] windowInit_ $windowinit windowInitOption_ 1 \
    updated_rttvar_ false bugfix_ss_ 0] { Agent/TCP set $name $value }
Agent/TCPSink set packetSize_ 40

set ns [new Simulator]
set A [$ns node]; set B [$ns node]
set capacity [expr {$rate / (8.0 * $packet)}]
switch $algorithm {
    drop-tail { set discipline DropTail }
    red { set discipline RED
        foreach {name value} [list thresh_ $minth maxthresh_ $maxth linterm_ [expr {1.0 / $maxp}] q_weight_ $weight gentle_ true \
            wait_ $wait setbit_ true bytes_ false queue_in_bytes_ false mean_pktsize_ $packet use_mark_p_ true mark_p_ $markp] {
            Queue/RED set $name $value
        } }
    pi - vrc { set discipline PI
        foreach {name value} [list a_ $a b_ $b w_ [expr {$algorithm eq "pi" ? 1.0 / $period : 1e-9}] qref_ $qref setbit_ true \
            bytes_ false queue_in_bytes_ false mean_pktsize_ $packet] { Queue/PI set $name $value } }
    rem { set discipline REM
        foreach {name value} [list pupdtime_ 1e9 pbo_ $qref markpkts_ true qib_ false mean_pktsize_ $packet] { Queue/REM set $name $value } }
    avq { set discipline Vq
        foreach {name value} [list gamma_ 1.0 ecnlim_ 0.8 buflim_ 1.0 markpkts_ true queue_in_bytes_ false mean_pktsize_ $packet] {
            Queue/Vq set $name $value
        } }
    default { puts stderr "no algorithm $algorithm; there are drop-tail, red, pi, rem, avq and vrc"; exit 2 }
}
set d [expr {[draw $delay] / 1e3}]
$ns simplex-link $A $B $rate $d $discipline
$ns simplex-link $B $A $rate $d DropTail
$ns queue-limit $A $B $buffer
$ns queue-limit $B $A 1000
set monitor [$ns monitor-queue $A $B ""]

proc access {node router speed delays} {
    global ns
    $ns duplex-link $node $router $speed [expr {$delays / 1e3}] DropTail
    $ns queue-limit $node $router 100000; $ns queue-limit $router $node 100000
}
foreach subnet $subnets {
    lassign $subnet count speed range tcp start stop
    for {set i 0} {$i < $count} {incr i} {
        set sender [$ns node]; set receiver [$ns node]
        if {$sides == 2} {
            access $sender $A $speed [draw $range]; access $receiver $B $speed [draw $range]
        } else {
            access $sender $A $speed [expr {2.0 * [draw $range]}]; set receiver $B
        }
        set agent [expr {$tcp eq "Tahoe" ? [new Agent/TCP] : [new Agent/TCP/$tcp]}]
        set sink [new Agent/TCPSink]
        $ns attach-agent $sender $agent; $ns attach-agent $receiver $sink; $ns connect $agent $sink
        set ftp [new Application/FTP]; $ftp attach-agent $agent
        $ns at [draw $start] "$ftp start"
        if {$stop ne "never"} { $ns at [draw $stop] "$ftp stop" }
    }
}
if {$udp > 0} {
    set sender [$ns node]; set receiver [$ns node]
    access $sender $A 100e6 20; access $receiver $B 100e6 20
    set agent [new Agent/UDP]; set null [new Agent/Null]
    $agent set packetSize_ $udppacket
    $ns attach-agent $sender $agent; $ns attach-agent $receiver $null; $ns connect $agent $null
    set cbr [new Application/Traffic/CBR]
    $cbr set packetSize_ $udppacket; $cbr set rate_ $udp; $cbr attach-agent $agent
    $ns at 0 "$cbr start"
}

# REM and VRC: each period, from what arrived in it and the queue at its end.
set queue [[$ns link $A $B] queue]
set arrived 0; set price 0.0; set estimate 0.0; set correction 0.0
proc arrivals {} {
    global monitor arrived
    set now [$monitor set parrivals_]; set n [expr {$now - $arrived}]; set arrived $now
    return $n
}
proc rem {} {
    global ns queue monitor price alpha gamma phi period qref capacity
    set excess [expr {[$monitor set pkts_] - $qref}]
    set price [expr {max(0.0, $price + $gamma * ($alpha * $excess + [arrivals] - $capacity * $period))}]
    $queue set prob_ [expr {1.0 - pow($phi, -$price)}]
    $ns at [expr {[$ns now] + $period}] rem
}
# eq. 12: beta and gamma are the roots of x^2 - (K_P / K_D) x + K_I / K_D.
set half [expr {$kp / $kd / 2.0}]; set root [expr {sqrt($half * $half - $ki / $kd)}]
set vgamma [expr {$half + $root}]; set vbeta [expr {$half - $root}]
proc vrc {} {
    global ns queue monitor estimate correction kd vbeta vgamma memory period qref capacity bounded
    set keep [expr {exp(-$period / $memory)}]
    set estimate [expr {(1.0 - $keep) * [arrivals] / $period + $keep * $estimate}]
    set target [expr {$capacity - $vgamma * ([$monitor set pkts_] - $qref)}]
    $queue set prob_ [expr {min(1.0, max(0.0, $kd * ($estimate - $target + $correction)))}]
    set correction [expr {$correction + $vbeta * $period * ($estimate - $target)}]
    if {$bounded} { set correction [expr {min(1.0 / $kd, max(-$vgamma * $qref, $correction))}] }
    $ns at [expr {[$ns now] + $period}] vrc
}
if {$algorithm in {rem vrc}} { $ns at $period $algorithm }

# The queue each 10 ms, and the counters of the link from the start to the end.
set n 0; set sum 0.0; set squares 0.0
proc sample {} {
    global ns monitor n sum squares
    set q [$monitor set pkts_]
    incr n; set sum [expr {$sum + $q}]; set squares [expr {$squares + $q * $q}]
    $ns at [expr {[$ns now] + 0.01}] sample
}
proc finish {} {
    global monitor n sum squares case algorithm seed udp rate duration d
    set mean [expr {$sum / $n}]
    puts [format "%s %s %s udp=%s delay=%.2f queue=%.3f deviation=%.3f utilization=%.3f loss=%.4f" $case $algorithm $seed $udp [expr {1e3 * $d}] \
        $mean [expr {sqrt($squares / $n - $mean * $mean)}] [expr {800.0 * [$monitor set bdepartures_] / ($rate * $duration)}] \
        [expr {100.0 * [$monitor set pdrops_] / [$monitor set parrivals_]}]]
    exit 0
}
$ns at 0 sample
$ns at $duration finish
$ns run
