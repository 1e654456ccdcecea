#!/bin/bash
# boot.sh CELL : one boot of the kernel for one cell file in cells/
cd "${UMLRUN:?the folder with the kernel and guest/}"; T0=$(date +%s.%N)
timeout -k 5 ${TO:-400} nice -n 5 ${UML:-${UMLRUN}/linux-hz1000} mem=${MEMG:-512M} root=/dev/root rootfstype=hostfs rootflags=/ ro init=${UMLRUN}/guest/uml_init2.sh time-travel=inf-cpu con=null con0=fd:0,fd:1 quiet umid=u$$ job=$1 $XA </dev/null > logs/$1.log 2>&1
echo "$1 rc $? wall $(echo "$(date +%s.%N)-$T0" | bc) $(grep -c FAILED logs/$1.log) failed" | tee -a walls.txt
