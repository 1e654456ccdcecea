# Chapters 5 and 6 of Chen 2010 in ns-2 2.35: ARED, PI and, with ns-2's PI, ST-PI at the settings that the experiments of this folder
# judge by.
#
#     ns thesis.tcl 6.4.3 pi 1                        section, algorithm, seed
#     ns thesis.tcl 5.5.3 pi-40 1 window 10000        a setting changed (the array below has their names)
#
# Prints a line for each segment and one for the whole run. README.md says how ../../ns2.csv is made of them.
#
#   source i --(d_i)--> A ==(rate, delay, algorithm)==> B     receivers are on B
#   reverse i --(d_i)--> B ==(drop-tail of 25)==> A           receivers are on A
#
# Flows start when the document says: start 2 webstart 1 udpstart 1 spreads them over two seconds and one, as rows before had it.
# way_back names the queue from B to A: droptail, red or pi with all of ns-2's own values, or own, which is the red or pi that
# "duplex-link $A $B ... RED" or "... PI" makes there when only the queue from A to B is configured.
# cwr 0 leaves a packet that is sent again without CWR, as releases before June 2008 do (2.33 and earlier); precise 0 halves
# windows to whole packets, and firstrto 6 is the first timeout, as until January 2006 (2.29); maxrto 100000 is the longest
# one until March 2007 (2.31). webfresh 0 keeps one connection for all transfers of a web session.

if {[llength $argv] < 3} { puts stderr "usage: ns thesis.tcl SECTION ALGORITHM SEED \[SETTING VALUE\]..."; exit 2 }
lassign $argv section algorithm seed

# What all sections share; times in seconds, delays in milliseconds, rates in bit/s, packets of 500 bytes.
array set set_ {
    packet 500  headers 0  minrto 0.2  window 20  tcp Reno  ecn 0  cwr 1  precise 1  firstrto 3  maxrto 60  webecn 0  webpacket 500  webmean 24  webfresh 1
    delay 10  buffer 500  way_back droptail  way_back_buffer 25  both_delays 0  both_rates 0  gentle 0  bytes 1  marklimit 0.1
    maxp 0.1  interval 0.5  a 0.00001822  b 0.00001816  w 170  step 0.01
    ftp 100  reverse 20  web 0  udp 0  d {40 40}  weblist {}  udprate 0  start 0  webstart 0  udpstart 0  webd {}
    hs 0.25980762  memory 7
}
# Sections: the duration, where segments end, settings, and changes: time, what, value(s).
array set sections {
    5.5.1 {2000 200 {rate 10e6} {200 delay 110 400 delay 210 600 delay 310 800 delay 410 1000 delay 310 1200 delay 210
        1400 delay 110 1600 delay 10}}
    5.5.2 {2000 200 {rate 10e6 both_rates 1} {200 rate 20e6 400 rate 30e6 600 rate 40e6 800 rate 50e6 1000 rate 40e6
        1200 rate 30e6 1400 rate 20e6 1600 rate 10e6}}
    5.5.3 {2000 200 {rate 10e6 ftp 30} {200 more 50 400 more 100 600 more 150 800 more 200 1000 fewer 150 1200 fewer 100
        1400 fewer 50 1600 fewer 30}}
    5.5.4 {1000 200 {rate 10e6 web 10 webpacket 1000 webmean 12 webstart 900 webeven 1} {}}
    5.5.5 {2000 200 {rate 10e6 udp 100 udprate 10e3} {200 udp 30e3 400 udp 50e3 600 udp 70e3 800 udp 90e3 1000 udp 70e3
        1200 udp 50e3 1400 udp 30e3 1600 udp 10e3}}
    6.4.1 {900 100 {d {90 150}} {100 d {630 900} 500 d {1 20}}}
    6.4.2 {600 100 {d {10 5000}} {}}
    6.4.3 {600 100 {d {1 20}} {200 rate 5e6 400 rate 15e6}}
    6.4.4 {600 100 {d {1 20} ftp 100 web 20} {300 more 1000 300 web 200}}
    6.4.5 {600 100 {d {1 20} udp 100 udprate 15e3} {300 udp 135e3}}
}
if {![info exists sections($section)]} { puts stderr "no section $section; there are [lsort [array names sections]]"; exit 2 }
lassign $sections($section) duration segment own changes
set set_(webeven) 0
if {[string match 6* $section]} {
    array set set_ {rate 15e6 delay 1 buffer 1000 ftp 300 reverse 50 web 50 tcp Tahoe ecn 1 window 100000
        interval 2 a 7.288e-5 b 7.264e-5}
}
array set set_ $own
foreach {name value} [lrange $argv 3 end] {
    if {[info exists set_($name)]} { set set_($name) $value } elseif {$name eq "changes"} { set changes $value
    } elseif {$name eq "duration"} { set duration $value } else { puts stderr "no setting $name"; exit 2 }
}
foreach name [array names set_] { set $name $set_($name) }

# Random numbers: one stream for the algorithm, one for each kind of draw.
$defaultRNG seed $seed
foreach stream {delays starts sizes pauses} { set draw($stream) [new RNG] }
proc uniform {stream range} { return [$::draw($stream) uniform [lindex $range 0] [lindex $range 1]] }
proc exponential {stream mean} { return [expr {-$mean * log(1.0 - [$::draw($stream) uniform 0 1])}] }

# TCP. Packets have all their bytes on the wire unless headers are asked for.
Agent/TCP set packetSize_ $packet
Agent/TCP set useHeaders_ [expr {$headers ? "true" : "false"}]
Agent/TCP set window_ $window
Agent/TCP set minrto_ $minrto
Agent/TCP set SetCWRonRetransmit_ $cwr
Agent/TCP set precisionReduce_ $precise
Agent/TCP set rtxcur_init_ $firstrto
Agent/TCP set maxrto_ $maxrto
Agent/TCPSink set packetSize_ 40

# Every packet goes over the bottleneck or back, so routes are few; they are written down, not computed.
Simulator instproc compute-routes {} { return }
set ns [new Simulator]
set A [$ns node]; set B [$ns node]

# The way back comes first, while the classes of queues still have ns-2's own values.
if {$way_back eq "own"} { set way_back [expr {[string match *pi* $algorithm] ? "pi" : "red"}] }
array set disciplines {droptail DropTail red RED pi PI}
if {![info exists disciplines($way_back)]} { puts stderr "no way back $way_back"; exit 2 }
$ns simplex-link $B $A $rate [expr {$delay / 1e3}] $disciplines($way_back)
$ns queue-limit $B $A $way_back_buffer

# The algorithm; queues are counted in bytes and compared in packets of 500.
if {[regexp {^ared(?:-(\d+)-(\d+))?$} $algorithm - low high]} {
    if {$low eq ""} { set low 75; set high 225 }
    set discipline RED
    foreach {name value} [list bytes_ $bytes queue_in_bytes_ 1 mean_pktsize_ 500 thresh_ $low maxthresh_ $high \
        linterm_ [expr {1.0 / $maxp}] q_weight_ 5e-5 gentle_ $gentle adaptive_ 1 interval_ $interval alpha_ 0.01 beta_ 0.9 \
        top_ 0.5 bottom_ 0.01 wait_ 1 setbit_ $ecn use_mark_p_ [expr {$marklimit < 1}] mark_p_ $marklimit] {
        Queue/RED set $name $value
    }
} elseif {[regexp {^(?:st-)?pi(?:-(\d+))?$} $algorithm - target]} {
    if {$target eq ""} { set target 150 }
    set discipline PI
    foreach {name value} [list bytes_ $bytes queue_in_bytes_ 1 mean_pktsize_ 500 qref_ $target a_ $a b_ $b w_ $w setbit_ $ecn] {
        Queue/PI set $name $value
    }
} else { puts stderr "no algorithm $algorithm"; exit 2 }

$ns simplex-link $A $B $rate [expr {$delay / 1e3}] $discipline
$ns queue-limit $A $B $buffer
proc route {from to by} { $from add-route [$to id] [[$::ns link $from $by] head] }
route $A $B $B; route $B $A $A

# A source with its own link to a router; the delay is the d of the document.
proc source_node {router far range} {
    global ns
    set node [$ns node]
    set d [uniform delays $range]
    $ns duplex-link $node $router 100e6 [expr {$d / 1e3}] DropTail
    $ns queue-limit $node $router 100000
    $ns queue-limit $router $node 100000
    route $node $far $router; route $router $node $node; route $far $node $router
    lappend ::links [list $node $router]
    return $node
}
proc sender {node far class marked size} {
    global ns tcp ecn
    set agent [expr {$tcp eq "Tahoe" ? [new Agent/TCP] : [new Agent/TCP/$tcp]}]
    set sink [new Agent/TCPSink]
    $agent set fid_ $class
    $agent set ecn_ $marked; $agent set packetSize_ $size
    $ns attach-agent $node $agent; $ns attach-agent $far $sink; $ns connect $agent $sink
    return [list $agent $sink]
}

# Classes at the bottleneck: 1 FTP, 2 web, 3 UDP, 4 acknowledgments of the reverse flows.
set greedy 0; set running 0
proc greedy {n at} {
    global ns A B d ecn packet ftps greedy start
    for {} {$greedy < $n} {incr greedy} {
        set ftps($greedy) [new Application/FTP]
        $ftps($greedy) attach-agent [lindex [sender [source_node $A $B $d] $B 1 $ecn $packet] 0]
    }
}
proc run_ftp {n} {
    global ns ftps running start
    for {} {$running < $n} {incr running} { $ns at [expr {[$ns now] + [uniform starts [list 0 $start]]}] "$ftps($running) start" }
    for {} {$running > $n} {} { incr running -1; $ftps($running) stop }
}
set most $ftp
foreach {time what value} $changes { if {$what eq "more" && $value > $most} { set most $value } }
greedy $most 0
$ns at 0 "run_ftp $ftp"

for {set i 0} {$i < $reverse} {incr i} {
    set back [new Application/FTP]
    $back attach-agent [lindex [sender [source_node $B $A $d] $A 4 $ecn $packet] 0]
    $ns at [uniform starts [list 0 $start]] "$back start"
}

# Web sessions: a transfer, and once its last byte is acknowledged a pause. Two connections take turns, so that no
# packet of a transfer is left when its connection begins again.
if {$webd eq ""} { set webd $d }
proc begin_transfer {session} {
    global pair turn webmean webfresh
    if {$webfresh} {
        set turn($session) [expr {1 - $turn($session)}]
        lassign $pair($session,$turn($session)) agent sink
        $agent reset; $sink reset
    } else { lassign $pair($session,$turn($session)) agent sink }
    set n [expr {int(ceil([exponential sizes $webmean]))}]
    $agent advanceby [expr {$n < 1 ? 1 : $n}]
}
set transfers 0
Agent/TCP instproc done {} {
    global session_of ns
    if {[info exists session_of($self)]} {
        incr ::transfers
        $ns at [expr {[$ns now] + [exponential pauses 0.5]}] "begin_transfer $session_of($self)"
    }
}
set sessions 0
proc run_web {n at} {
    global ns A B webd pair turn session_of sessions webstart webeven webecn webpacket web
    for {} {$sessions < $n} {incr sessions} {
        set node [source_node $A $B $webd]
        set turn($sessions) 0
        foreach k {0 1} {
            set pair($sessions,$k) [sender $node $B 2 $webecn $webpacket]
            set session_of([lindex $pair($sessions,$k) 0]) $sessions
        }
        set offset [expr {$webeven ? $webstart * $sessions / ($n - 1.0) : [uniform starts [list 0 $webstart]]}]
        $ns at [expr {$at + $offset}] "begin_transfer $sessions"
    }
}
run_web $web 0
foreach {time what value} $changes { if {$what eq "web"} { run_web $value $time } }

if {$udp > 0} {
    for {set i 0} {$i < $udp} {incr i} {
        set node [source_node $A $B $d]
        set agent [new Agent/UDP]; set null [new Agent/Null]
        $agent set fid_ 3; $agent set packetSize_ 1500
        $ns attach-agent $node $agent; $ns attach-agent $B $null; $ns connect $agent $null
        set onoff($i) [new Application/Traffic/Exponential]
        $onoff($i) set packetSize_ 500; $onoff($i) set burst_time_ 1; $onoff($i) set idle_time_ 1; $onoff($i) set rate_ $udprate
        $onoff($i) attach-agent $agent
        $ns at [uniform starts [list 0 $udpstart]] "$onoff($i) start"
    }
}

# Changes. A delay or a rate changes on the way to the receivers only, unless both ways are asked for.
proc change {what value} {
    global ns A B links both_delays both_rates udp onoff rate
    switch $what {
        delay { $ns delay $A $B [expr {$value / 1e3}]; if {$both_delays} { $ns delay $B $A [expr {$value / 1e3}] } }
        rate { account; set rate $value; [[$ns link $A $B] link] set bandwidth_ $value
            if {$both_rates} { [[$ns link $B $A] link] set bandwidth_ $value } }
        d { foreach link $links {
                lassign $link node router
                set s [expr {[uniform delays $value] / 1e3}]
                $ns delay $node $router $s
                if {$both_delays} { $ns delay $router $node $s }
            } }
        more - fewer { run_ftp $value }
        udp { # ns-2 reads rate_ when a source starts
            for {set i 0} {$i < $udp} {incr i} { $onoff($i) stop; $onoff($i) set rate_ $value; $onoff($i) start } }
        web { }
    }
}
foreach {time what value} $changes { $ns at $time [list change $what $value] }

# ST-PI sets the target and the gains of ns-2's PI (Fig. 6.1). PI's target is a whole number of packets.
if {[string match st-pi* $algorithm]} {
    set self [[$ns link $A $B] queue]
    set hl [expr {0.7 / sqrt(3.0)}]
    set aim [expr {double($target)}]; set gain 1.0; set s2 0.0
    proc restart_detection {} { global aim hl hs g2; set g2 [expr {(($hs * $aim) ** 2 + ($hl * $aim) ** 2) / 2.0}] }
    restart_detection
    proc tune {} {
        global ns monitor self aim gain s2 g2 hl hs memory a b w
        set q [expr {[$monitor set size_] / 500.0}]
        set share [expr {1.0 / ($memory * $w)}]
        set e2 [expr {($q - $aim) ** 2}]
        if {$q > 0 && $q < 2 * $aim} {
            set s2 [expr {(1 - $share) * $s2 + $share * $e2}]
            if {$q > 0.3 * $aim && $q < 1.7 * $aim} {
                set g2 [expr {(1 - $share / 4) * $g2 + $share / 4 * $e2}]
                set s [expr {sqrt($s2)}]; set g [expr {sqrt($g2)}]
                set high [expr {$hl * $aim}]; set low [expr {$hs * $aim}]
                if {($g > $high && $s > $high) || ($g < $low && $s < $low)} {
                    set k [expr {$g > $high ? $s / $high : $s / $low}]
                    set aim [expr {$k * $aim}]; set gain [expr {$gain / ($k * $k)}]
                    $self set qref_ [expr {round($aim)}]; $self set a_ [expr {$gain * $a}]; $self set b_ [expr {$gain * $b}]
                    restart_detection
                }
            }
        }
        $ns at [expr {[$ns now] + 1.0 / $w}] tune
    }
    $ns at 0 tune
}

# Measurement: counters of the bottleneck by class, and the queue in bytes each 10 ms.
set monitor [$ns makeflowmon Fid]
$ns attach-fmon [$ns link $A $B] $monitor 0
set capacity 0.0; set accounted 0.0
proc account {} {
    global ns rate capacity accounted
    set now [$ns now]
    set capacity [expr {$capacity + $rate * ($now - $accounted)}]; set accounted $now
}
set queue_sum 0.0; set queue_squares 0.0; set samples 0
proc sample {} {
    global ns monitor queue_sum queue_squares samples step
    set q [expr {[$monitor set size_] / 500.0}]
    set queue_sum [expr {$queue_sum + $q}]; set queue_squares [expr {$queue_squares + $q * $q}]; incr samples
    $ns at [expr {[$ns now] + $step}] sample
}
proc counters {} {
    global monitor capacity queue_sum queue_squares samples seen total
    account
    # Counters of ns-2 have 32 bits: take differences often, and let them wrap.
    foreach name {barrivals_ bdepartures_} {
        set value [$monitor set $name]
        if {![info exists seen($name)]} { set seen($name) 0; set total($name) 0.0 }
        set change [expr {$value - $seen($name)}]
        if {$change < 0} { set change [expr {$change + 4294967296.0}] }
        set total($name) [expr {$total($name) + $change}]; set seen($name) $value
    }
    set class {}
    foreach id {1 2 3 4} { set arrived($id) 0; set dropped($id) 0 }
    foreach flow [$monitor flows] {
        set id [$flow set flowid_]
        set arrived($id) [$flow set parrivals_]; set dropped($id) [$flow set pdrops_]
    }
    foreach id {1 2 3 4} { lappend class $arrived($id) $dropped($id) }
    return [concat [list $capacity $total(bdepartures_) $queue_sum $queue_squares $samples] $class]
}
proc keep_counting {} { counters; $::ns at [expr {[$::ns now] + 20.003}] keep_counting }
proc report {name before after} {
    set difference {}
    foreach x $before y $after { lappend difference [expr {double($y - $x)}] }
    lassign $difference bits sent sum squares n ftp ftp_drops web web_drops udp udp_drops acks ack_drops
    set mean [expr {$sum / $n}]
    set deviation [expr {sqrt(max(0, $squares / $n - $mean * $mean))}]
    set data [expr {$ftp + $web + $udp}]; set drops [expr {$ftp_drops + $web_drops + $udp_drops}]
    proc share {x y} { return [expr {$y > 0 ? 100.0 * $x / $y : 0}] }
    puts [format "%s utilization=%.4f loss=%.5f queue=%.4f deviation=%.4f throughput=%.5f all=%.4f webshare=%.4f webloss=%.3f ftploss=%.3f udploss=%.3f ackshare=%.3f ackloss=%.3f" \
        $name [share [expr {8 * $sent}] $bits] [share $drops $data] $mean $deviation [expr {$sent / 1e9}] \
        [share [expr {$drops + $ack_drops}] [expr {$data + $acks}]] [share $web $data] [share $web_drops $web] \
        [share $ftp_drops $ftp] [share $udp_drops $udp] [share $acks [expr {$data + $acks}]] [share $ack_drops $acks]]
    return $deviation
}
set index 0; set deviations 0.0
proc end_segment {} {
    global ns segment duration last first index deviations section algorithm seed
    set now [counters]
    set sd [report "SEGMENT $section $algorithm $seed $index" $last $now]
    set deviations [expr {$deviations + $sd}]; incr index
    set last $now
    if {[$ns now] + $segment <= $duration + 0.001} {
        $ns at [expr {[$ns now] + $segment}] end_segment
    } else {
        report "WHOLE $section $algorithm $seed" $first $now
        puts "DEVIATION $section $algorithm $seed [expr {$deviations / $index}] transfers=$::transfers"
        exit 0
    }
}
$ns at 0 sample
$ns at 1.501 keep_counting
set last [counters]; set first $last
$ns at $segment end_segment
$ns run
