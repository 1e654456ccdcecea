"""Draw the picture of the README from the results of `make run`: `make docs` runs this."""

import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

import quell
import quell.plot

mpl.use("Agg")
results = quell.read(sys.argv[1])
fig, (over_time, delay) = plt.subplots(
    1, 2, figsize=(11, 3.6), width_ratios=[1.5, 1], constrained_layout=True
)
some = ["drop-tail", "red", "ared", "pi", "avq"]
quell.plot.queue(results, algorithms=some, ax=over_time)
quell.plot.delay_cdf(results, ax=delay)
over_time.set_xlim(30, 60)
for extra in [*over_time.texts, over_time.get_legend()]:
    if extra:
        extra.remove()
over_time.set_title("Queue over time (one seed)")
delay.set_title("How long packets wait")
fig.savefig(Path(__file__).with_suffix(".png"), dpi=110)
