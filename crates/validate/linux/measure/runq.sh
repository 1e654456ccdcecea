#!/bin/bash
# runq.sh QUEUEFILE : two pinned workers, one boot per line, skips finished cells
cd "${UMLRUN:?the folder with the kernel and guest/}"
xargs -a $1 -P 2 --process-slot-var=SLOT -I{} sh -c '[ -f out/{}.ok ] || [ -f STOP ] || XA="seccomp=on" taskset -c $SLOT ./boot.sh {}' > runq.log 2>&1
echo QUEUE END $(date) >> runq.log
