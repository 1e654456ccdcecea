# Case D2 of Park et al. 2004 (Table 5) in ns-2 2.35: RED and PI at the settings that the experiment vrc-d2 is judged by.
#
#     ns d2.tcl red 1 0          algorithm (red or pi), seed, rate of the UDP source in bit/s (4.5e6 in the table)
#
#   sender --(subnet)--> A ==(45 Mbit/s, 10 ms, 100 packets)==> B --(subnet)--> receiver

if {[llength $argv] != 3} { puts stderr "usage: ns d2.tcl red|pi SEED UDP_RATE"; exit 2 }
lassign $argv algorithm seed udp
set duration 100.0; set rate 45e6

$defaultRNG seed $seed
set delays [new RNG]

# TCP of the second half of 2001; the window is ns-2's.
foreach {name value} {packetSize_ 1000 useHeaders_ false window_ 20 ecn_ 1 singledup_ 0 minrto_ 1 rtxcur_init_ 6 tcpTick_ 0.1
    rfc2988_ false precisionReduce_ false windowInit_ 1 windowInitOption_ 1} { Agent/TCP set $name $value }
Agent/TCPSink set packetSize_ 40
foreach {name value} {thresh_ 20 maxthresh_ 80 linterm_ 10 q_weight_ 0.002 gentle_ true wait_ true setbit_ true bytes_ false
    queue_in_bytes_ false mean_pktsize_ 1000 use_mark_p_ true mark_p_ 0.1} { Queue/RED set $name $value }
foreach {name value} {a_ 0.002445 b_ 0.0024 w_ 100 qref_ 50 setbit_ true bytes_ false queue_in_bytes_ false mean_pktsize_ 1000} {
    Queue/PI set $name $value
}

set ns [new Simulator]
set A [$ns node]; set B [$ns node]
$ns simplex-link $A $B $rate 10ms [string toupper $algorithm]
$ns simplex-link $B $A $rate 10ms DropTail
$ns queue-limit $A $B 100
$ns queue-limit $B $A 1000

# Table 3: connections, rate and delay of each access link in milliseconds, protocol.
foreach {count speed low high tcp} {35 100e6 5 8 Reno 20 10e6 14 25 Newreno 25 45e6 11 16 Tahoe 20 1.54e6 21 34 Reno} {
    for {set i 0} {$i < $count} {incr i} {
        set sender [$ns node]; set receiver [$ns node]
        set d [expr {[$delays uniform $low $high] / 1e3}]
        foreach {x y} [list $sender $A $B $receiver] {
            $ns duplex-link $x $y $speed $d DropTail
            $ns queue-limit $x $y 100000; $ns queue-limit $y $x 100000
        }
        set agent [expr {$tcp eq "Tahoe" ? [new Agent/TCP] : [new Agent/TCP/$tcp]}]
        set sink [new Agent/TCPSink]
        $ns attach-agent $sender $agent; $ns attach-agent $receiver $sink; $ns connect $agent $sink
        set ftp [new Application/FTP]; $ftp attach-agent $agent
        $ns at 0 "$ftp start"
    }
}
if {$udp > 0} {
    set sender [$ns node]; set receiver [$ns node]
    $ns duplex-link $sender $A 100e6 5ms DropTail; $ns duplex-link $B $receiver 100e6 5ms DropTail
    set agent [new Agent/UDP]; set null [new Agent/Null]
    $agent set packetSize_ 1000
    $ns attach-agent $sender $agent; $ns attach-agent $receiver $null; $ns connect $agent $null
    set cbr [new Application/Traffic/CBR]
    $cbr set packetSize_ 1000; $cbr set rate_ $udp; $cbr attach-agent $agent
    $ns at 0 "$cbr start"
}

# The queue each 10 ms, and the counters of the link from the start to the end.
set monitor [$ns monitor-queue $A $B ""]
set n 0; set sum 0.0; set squares 0.0
proc sample {} {
    global ns monitor n sum squares
    set q [$monitor set pkts_]
    incr n; set sum [expr {$sum + $q}]; set squares [expr {$squares + $q * $q}]
    $ns at [expr {[$ns now] + 0.01}] sample
}
proc finish {} {
    global monitor n sum squares algorithm seed udp rate duration
    set mean [expr {$sum / $n}]
    puts [format "D2 %s %s %s queue=%.3f deviation=%.3f utilization=%.3f loss=%.4f" $algorithm $seed $udp $mean \
        [expr {sqrt($squares / $n - $mean * $mean)}] [expr {800.0 * [$monitor set bdepartures_] / ($rate * $duration)}] \
        [expr {100.0 * [$monitor set pdrops_] / [$monitor set parrivals_]}]]
    exit 0
}
$ns at 0 sample
$ns at $duration finish
$ns run
