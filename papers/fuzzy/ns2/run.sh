#!/bin/sh
# Runs scenario.tcl with 256 flows for each algorithm and the seeds 1 to 3, and writes s1.csv and s2.csv: what ns-2 gives for
# claims of the experiments fuzzy-s1 and fuzzy-s2. Nothing is random with drop-tail in scenario 2, so that it has one run, which
# refutes nothing. It takes about a minute.
set -eu
cd "$(dirname "$0")"
for scenario in 1 2; do
    echo "quantity,algorithm,at,segment,link,run,seed,value" > "s$scenario.csv"
    case $scenario in
    1) algorithms="drop-tail red ared" ;;
    *) algorithms="red ared" ;;
    esac
    for algorithm in $algorithms; do
        for seed in 1 2 3; do
            ns scenario.tcl "$scenario" 256 "$algorithm" "$seed" |
                awk -v head="$algorithm,flows.ftp.count=256,,,,$seed" '{
                    for (i = 5; i <= 7; i++) { split($i, f, "="); found[f[1]] = f[2] }
                    printf "loss_rate,%s,%.6f\n", head, found["loss"] / 100
                }' >> "s$scenario.csv"
        done
    done
done
