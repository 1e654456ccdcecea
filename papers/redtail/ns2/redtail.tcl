# Table III and section V of Jou et al. 2003 in ns-2 2.35: Adaptive RED and drop-tail at the settings by which the experiments judge.
#
#     ns redtail.tcl iii ared 1                       section, algorithm (ared or drop-tail), seed
#     ns redtail.tcl iii drop-tail 1 rtt 66           a setting changed (the array below has their names)
#
# Table III: losses in percent, delays in seconds and rates in kB/s of FTP (ftp), web (web) and CBR (cbr) from 100 s to the end. Section
# V: the loss of the whole run.
#
#   source --(100 Mbit/s)--> A ==(rate, 5 ms, buffer)==> B     receivers are on B

if {[llength $argv] < 3} { puts stderr "usage: ns redtail.tcl iii|v ared|drop-tail SEED \[SETTING VALUE\]..."; exit 2 }
lassign $argv section algorithm seed

# Times in seconds but for round trips, which are in milliseconds; queues in packets of 1000 bytes.
array set set_ {
    duration 400  from 100  rtt 64  window 64  tcp Tahoe  windowinit 1  minrto 1  initialrto 6  precision 0
    minth 20  maxth 80  maxp 0.1  wait 1
    ftp 10  late 0  web 0  cbr 0  think 50  shape 1.3  smallest 2.3  webrtt {16 240}  spread 0
}
switch $section {
    iii { array set set_ {rate 3e6 buffer 160 web 800 cbr 160e3} }
    v { array set set_ {rate 6e6 buffer 320 ftp 20 late 20 from 0 spread 1} }
    default { puts stderr "no section $section; there are iii and v"; exit 2 }
}
foreach {name value} [lrange $argv 3 end] {
    if {![info exists set_($name)]} { puts stderr "no setting $name; there are [lsort [array names set_]]"; exit 2 }
    set set_($name) $value
}
foreach name [array names set_] { set $name $set_($name) }

$defaultRNG seed $seed
foreach stream {starts rtts sizes pauses} { set draw($stream) [new RNG] }
proc uniform {stream low high} { return [$::draw($stream) uniform $low $high] }

# TCP of 2002 and 2003; packets have all their bytes on the wire.
foreach {name value} [list packetSize_ 1000 useHeaders_ false window_ $window windowInit_ $windowinit windowInitOption_ 1 \
    minrto_ $minrto rtxcur_init_ $initialrto tcpTick_ 0.01 maxrto_ 60 precisionReduce_ [expr {$precision ? "true" : "false"}] \
    updated_rttvar_ false bugfix_ss_ 0] {
    Agent/TCP set $name $value
}
Agent/TCPSink set packetSize_ 40
switch $algorithm {
    ared { set discipline RED
        # The weight is the one that adaptive RED computes: 1 - exp(-1 / (packets per second)).
        foreach {name value} [list bytes_ false queue_in_bytes_ false mean_pktsize_ 1000 thresh_ $minth maxthresh_ $maxth \
            linterm_ [expr {1.0 / $maxp}] q_weight_ [expr {1.0 - exp(-8000.0 / $rate)}] gentle_ true adaptive_ 1 interval_ 0.5 \
            alpha_ 0.01 beta_ 0.9 top_ 0.5 bottom_ 0.01 wait_ $wait setbit_ false] { Queue/RED set $name $value } }
    drop-tail { set discipline DropTail }
    default { puts stderr "no algorithm $algorithm; there are ared and drop-tail"; exit 2 }
}

# Every packet goes over the bottleneck or back, so routes are few; they are written down, not computed.
Simulator instproc compute-routes {} { return }
set ns [new Simulator]
$ns use-scheduler Heap
set A [$ns node]; set B [$ns node]
$ns simplex-link $A $B $rate 5ms $discipline
$ns simplex-link $B $A $rate 5ms DropTail
$ns queue-limit $A $B $buffer
$ns queue-limit $B $A 100000
proc route {from to by} { $from add-route [$to id] [[$::ns link $from $by] head] }
route $A $B $B; route $B $A $A
set monitor [$ns makeflowmon Fid]
$ns attach-fmon [$ns link $A $B] $monitor 0

proc source_node {rtt} {
    global ns A B
    set node [$ns node]
    $ns duplex-link $node $A 100e6 [expr {($rtt / 2.0 - 5.0) / 1e3}] DropTail
    $ns queue-limit $node $A 100000; $ns queue-limit $A $node 100000
    route $node $B $A; route $A $node $node; route $B $node $A
    return $node
}
proc sender {rtt class} {
    global ns B tcp
    set agent [expr {$tcp eq "Tahoe" ? [new Agent/TCP] : [new Agent/TCP/$tcp]}]
    set sink [new Agent/TCPSink]
    $agent set fid_ $class; $sink set fid_ $class
    $ns attach-agent [source_node $rtt] $agent; $ns attach-agent $B $sink; $ns connect $agent $sink
    return [list $agent $sink]
}
for {set i 0} {$i < $ftp + $late} {incr i} {
    set app [new Application/FTP]; $app attach-agent [lindex [sender $rtt 1] 0]
    if {$i < $ftp} { $ns at [uniform starts 0 $spread] "$app start" } else { $ns at 100 "$app start"; $ns at 300 "$app stop" }
}
# Web clients: a file by a new connection, and once its last byte is acknowledged a pause; they begin with a part of one.
proc begin_file {i} {
    global client sizes shape smallest
    lassign $client($i) agent sink
    $agent reset; $sink reset
    $agent advanceby [expr {int(ceil($smallest / pow(1.0 - [uniform sizes 0 1], 1.0 / $shape)))}]
}
Agent/TCP instproc done {} {
    global ns of think
    if {[info exists of($self)]} { $ns at [expr {[$ns now] - $think * log(1.0 - [uniform pauses 0 1])}] "begin_file $of($self)" }
}
for {set i 0} {$i < $web} {incr i} {
    set client($i) [sender [uniform rtts [lindex $webrtt 0] [lindex $webrtt 1]] 2]
    set of([lindex $client($i) 0]) $i
    $ns at [uniform starts 100 [expr {100 + $think}]] "begin_file $i"
}
if {$cbr > 0} {
    set agent [new Agent/UDP]; set null [new Agent/Null]
    $agent set fid_ 3; $agent set packetSize_ 1000
    $ns attach-agent [source_node $rtt] $agent; $ns attach-agent $B $null; $ns connect $agent $null
    set source [new Application/Traffic/CBR]
    $source set packetSize_ 1000; $source set rate_ $cbr; $source attach-agent $agent
    $ns at 100 "$source start"
}

# Counters of each class, from `from` on.
set names {1 ftp 2 web 3 cbr}
proc begin {} {
    global monitor before
    foreach flow [$monitor flows] {
        foreach counter {parrivals_ pdrops_ bdepartures_} { set before([$flow set flowid_],$counter) [$flow set $counter] }
        $flow set-delay-samples [new Samples]
    }
}
# Classes that have not begun are asked for later.
proc watch {} {
    global ns monitor before
    foreach flow [$monitor flows] {
        if {![info exists before([$flow set flowid_],pdrops_)]} {
            foreach counter {parrivals_ pdrops_ bdepartures_} { set before([$flow set flowid_],$counter) 0 }
            $flow set-delay-samples [new Samples]
        }
    }
    $ns at [expr {[$ns now] + 0.1}] watch
}
proc finish {} {
    global monitor before names duration from section algorithm seed
    set out "$section $algorithm $seed"
    set all 0; set lost 0
    foreach flow [$monitor flows] {
        set id [$flow set flowid_]
        foreach counter {parrivals_ pdrops_ bdepartures_} { set n($counter) [expr {[$flow set $counter] - $before($id,$counter)}] }
        incr all $n(parrivals_); incr lost $n(pdrops_)
        set class [dict get $names $id]
        append out [format " %s_loss=%.4f %s_delay=%.5f %s_rate=%.3f" $class [expr {100.0 * $n(pdrops_) / $n(parrivals_)}] \
            $class [[$flow get-delay-samples] mean] $class [expr {$n(bdepartures_) / 1e3 / ($duration - $from)}]]
    }
    puts "$out loss=[format %.5f [expr {1.0 * $lost / $all}]]"
    exit 0
}
$ns at $from begin
$ns at $from watch
$ns at $duration finish
$ns run
