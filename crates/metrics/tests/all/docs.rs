//! `docs/metrics.md` is written from the declaration of the metrics.
//!
//! `QUELL_UPDATE_DOCS=1 cargo test -p quell-metrics --test all docs::` writes the page again.

use quell_metrics::{Better, Metric, SIZE, SIZES};

fn page() -> String {
    let sizes = SIZES.map(|(name, _)| format!("\"{SIZE}{name}\"")).join(", ");
    let mut page = format!(
        "# Metrics\n\n\
         <!-- Written from crates/metrics/src/metric.rs by QUELL_UPDATE_DOCS=1 cargo test -p quell-metrics --test all docs:: -->\n\n\
         Every figure is taken at an observed link, over the measured window and over each segment, for all \
         traffic (scope \"all\"), for all but acknowledgments (\"data\"), for each traffic class, and for each lane that a discipline names \
         (\"lane:l\": what RFC 9332 section 2.5.2.2 asks for). The figures of transfers are also taken by size, in bytes of data without \
         headers that are counted apart: scopes {sizes}. The name is the \
         column of `metrics.parquet`, the key in JSON, and what `--metric` and Python's `Results.table` take; titles \
         do as well, in capitals or not. Packets count in the window in which the event happened. A figure that \
         does not apply has no value; where it is asked for by name, a note says at which link it does apply.\n\n\
         Intervals are Student's t, symmetrical about the mean. Tables print half their width, and where that would lead beyond \
         the last column of the table below (a utilization above 1, a delay below 0), the ends of the part that is possible, \
         `[low, high]`, instead; so do figures, JSON's `low` and `high`, and CSV. JSON's `half_width` and the decisions of \
         `--seeds auto` remain those of the whole interval. An interval that is cut so says that the seeds are too few for the \
         normal approximation: more of them, not the cut, make it right.\n\n\
         Three more are made of these; they stand wherever a metric does, in tables, `--precision`, `search`, `plot` and Python:\n\n\
         | written | is |\n| --- | --- |\n\
         | `goodput_bps[ftp]` | the figure of the class \"ftp\", whatever the table is of; \
         `queue_delay_p99_s[lane:l]` that of a lane, `slowdown_p99[size:0-10kB]` that of the transfers of a size |\n\
         | `goodput_bps[short]/goodput_bps[all]` | the ratio of two figures, taken in each replication: here, the \
         share of a class; `queue_std_packets/queue_packets` is a coefficient of variation, \
         `queue_bytes/buffer_bytes` the share of the buffer that is filled |\n\
         | `internal:p` | the average of an internal signal of the algorithm, by its paper's name: the mean of its \
         samples, one each `series_step`, which comes close to the average over time; also in \
         `internal_means.parquet` |\n\n\
         | name | title | unit | better | meaning | source | values |\n| --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for m in Metric::ALL {
        let better = match m.better() {
            Better::Higher => "more",
            Better::Lower => "less",
            Better::Neither => "",
        };
        let values = if m.range().most.is_finite() { "0 to 1" } else { "from 0" };
        let cells = [&format!("`{}`", m.name()), m.title(), m.unit(), better, m.doc(), m.source(), values];
        page += &format!("| {} |\n", cells.join(" | "));
    }
    page
}

#[test]
fn the_page_of_metrics_is_that_of_the_code() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");
    let page = page();
    if std::env::var_os("QUELL_UPDATE_DOCS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    assert!(
        std::fs::read_to_string(path).unwrap_or_default() == page,
        "docs/metrics.md is stale; QUELL_UPDATE_DOCS=1 cargo test -p quell-metrics --test all docs:: writes it again"
    );
}
