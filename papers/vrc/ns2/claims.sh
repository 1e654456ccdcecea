#!/bin/sh
# Runs case D2 for each scheme, without UDP and with it, and the seeds 1 to 3, and writes d2.csv: what ns-2 gives for a claim of the
# experiment vrc-d2. It takes some minutes.
set -eu
cd "$(dirname "$0")"
echo "quantity,algorithm,at,segment,link,run,seed,value" > d2.csv
for algorithm in red pi rem avq vrc; do
    for case in plain udp; do
        if [ $case = udp ]; then rate=4.5e6; else rate=0; fi
        for seed in 1 2 3; do
            ns vrc.tcl d2 "$algorithm" "$seed" udp $rate |
                awk -v algorithm="$algorithm" -v case="$case" -v seed="$seed" '{
                    for (i = 5; i <= NF; i++) { split($i, f, "="); found[f[1]] = f[2] }
                    printf "utilization,%s,,,,%s,%s,%.6f\n", algorithm, case, seed, found["utilization"] / 100
                }' >> d2.csv
        done
    done
done
