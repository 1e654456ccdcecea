"""The fluid of TCP with RED or PI in jitcdde, for `quell-bench fluid`.

Reads one JSON object per line: the model with its numbers, where it starts, the tolerance and the times
of the samples. Answers each with the queue at those times and the CPU time of the integration alone.
"""

import json
import sys
import time

from jitcdde import jitcdde, t, y

compiled = {}


def equations(m):
    n, c, tp, a = m["flows"], m["capacity"], m["propagation"], m["decrease"]
    rtt = tp + y(1) / c
    then = t - rtt
    if m["model"] == "red":
        p = m["max_p"] * (y(2, then) - m["min_th"]) / (m["max_th"] - m["min_th"])
        last = m["forgetting"] * c * (y(1) - y(2))
    else:
        p = y(2, then)
        last = m["k_p"] * (n * y(0) / rtt - c) + m["k_i"] * (y(1) - m["q_ref"])
    return [
        1 / rtt - y(0) * y(0, then) * p / (a * (tp + y(1, then) / c)),
        n * y(0) / rtt - c,
        last,
    ]


def solver(m):
    key = json.dumps(m, sort_keys=True)
    if key not in compiled:
        compiled[key] = jitcdde(equations(m), max_delay=m["longest"], verbose=False)
        compiled[key].compile_C(verbose=False)
    return compiled[key]


for line in sys.stdin:
    task = json.loads(line)
    dde = solver(task["model"])
    dde.purge_past()
    dde.reset_integrator()
    dde.constant_past(task["start"])
    dde.set_integration_parameters(rtol=task["rtol"], atol=task["atol"], first_step=1e-3, max_step=1.0)
    # The weak discontinuity at the start is left to the error control, which costs least.
    dde.initial_discontinuities_handled = True
    clock = time.process_time()
    queue = [float(dde.integrate(at)[1]) for at in task["times"]]
    cpu = time.process_time() - clock
    print(json.dumps({"cpu": cpu, "queue": queue}), flush=True)
