#!/bin/sh
# Runs hred.tcl with the seeds 1 to 3, and writes claims.csv: what ns-2 gives for claims of the experiments hred-4-5 and hred-6.
# NS is the command that runs ns-2.
set -eu
cd "$(dirname "$0")"
rows() { # ALGORITHM AT RUN SEED, with a line of hred.tcl
    awk -v algorithm="$1" -v at="$2" -v run="$3" -v seed="$4" '{
        for (i = 1; i <= NF; i++) { split($i, f, "="); found[f[1]] = f[2] }
        tail = algorithm "," at ",,," run "," seed
        printf "queue_std_bytes,%s,%.0f\n", tail, found["deviation"]
        printf "queue_delay_p95_s,%s,%.5f\n", tail, found["p95"] * 8 / 45e6
        printf "utilization,%s,%.4f\n", tail, found["utilization"]
    }'
}
out=claims.csv
echo "quantity,algorithm,at,segment,link,run,seed,value" > "$out"
for seed in 1 2 3; do
    for traffic in 100 300 600; do
        line="$(${NS:-ns} hred.tcl queue rem traffic $traffic buffer 500 seed $seed)"
        # hred-6 has one run, which need not be named; hred-4-5 calls it 500.
        for run in "" 500; do echo "$line" | rows rem "flows.traffic.count=$traffic" "$run" "$seed"; done >> "$out"
    done
done
