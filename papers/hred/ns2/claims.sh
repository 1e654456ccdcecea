#!/bin/sh
# Runs hred.tcl with the seeds 1 to 3, and writes 6.csv and 4-5.csv: what ns-2 gives with NewReno for claims of the experiments hred-6 and hred-4-5.
# NS is the command that runs ns-2.
set -eu
cd "$(dirname "$0")"
for out in 6 4-5; do echo "quantity,algorithm,at,segment,link,run,seed,value" > "$out.csv"; done
for seed in 1 2 3; do
    for traffic in 100 300 600; do
        line="$(${NS:-ns} hred.tcl tcp Newreno queue rem traffic $traffic buffer 500 seed $seed)"
        echo "$line" | awk -v traffic="$traffic" -v seed="$seed" '{
            for (i = 1; i <= NF; i++) { split($i, f, "="); found[f[1]] = f[2] }
            at = "rem,flows.traffic.count=" traffic
            printf "queue_std_bytes,%s,,,,%s,%.0f\n", at, seed, found["deviation"] >> "6.csv"
            printf "queue_std_bytes,%s,,,500,%s,%.0f\n", at, seed, found["deviation"] >> "4-5.csv"
            if (traffic == 300) {
                printf "queue_delay_p95_s,%s,,,,%s,%.5f\n", at, seed, found["p95"] * 8 / 45e6 >> "6.csv"
                printf "utilization,%s,,,,%s,%.4f\n", at, seed, found["utilization"] >> "6.csv"
            }
        }'
    done
done
