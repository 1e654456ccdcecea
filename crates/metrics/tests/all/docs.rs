//! `docs/metrics.md` is written from the declaration of the metrics.
//!
//! `QUELL_UPDATE_DOCS=1 cargo test -p quell-metrics --test all docs::` writes the page again.

use quell_metrics::{Better, Metric, SIZE, SIZES};

fn page() -> String {
    let sizes = SIZES.map(|(name, _)| format!("\"{SIZE}{name}\"")).join(", ");
    let mut page = format!(
        "# Metrics\n\n<!-- Written from crates/metrics/src/metric.rs by QUELL_UPDATE_DOCS=1 cargo test -p \
         quell-metrics --test all docs:: -->\n\nQuell computes every metric at an observed link, over the measured \
         window and over each segment. The scopes are all traffic (\"all\"), all traffic except acknowledgments \
         (\"data\"), each traffic class, and each lane that a discipline names (\"lane:l\", which RFC 9332 section \
         2.5.2.2 asks for) and each leaf of [classes](schedulers.md) or user of a [cell](radio.md) (\"lane:voice\"). Metrics of transfers are also computed by size, in bytes of data without separately \
         counted headers, with the scopes {sizes}. A metric's name is its column in `metrics.parquet` and its key in \
         JSON. `--metric` and Python's `Results.table` accept the name, or the title in upper or lower case. A packet \
         counts in the window in which its event happened. A metric that does not apply has no value; if you ask for \
         it by name, a note says at which links it applies.\n\nIntervals are Student's t, symmetrical about the mean. \
         Tables print half their width. If an interval would leave the range in the last column below (e.g., a \
         utilization above 1 or a delay below 0), tables print the part within the range as `[low, high]` instead, and \
         so do figures, CSV, and `low` and `high` in JSON. JSON's `half_width` and the decisions of `--seeds auto` use \
         the whole interval. A clipped interval means that there are too few seeds for the normal approximation. More \
         seeds solve that problem; clipping does not. Around a mean above 1, which a burst can give the utilization, the \
         interval is not clipped there.\n\nThree more forms build on these. You can use them wherever \
         you can name a metric: in tables, `--precision`, `search`, `plot` and Python.\n\n| written | is |\n| --- | \
         --- |\n| `goodput_bps[ftp]` | the metric of the class \"ftp\", whatever the table shows; likewise \
         `queue_delay_p99_s[lane:l]` for a lane and `slowdown_p99[size:0-10kB]` for transfers of one size |\n| \
         `goodput_bps[short]/goodput_bps[all]` | the ratio of two metrics, taken in each replication: here, the share \
         of a class; `queue_std_packets/queue_packets` is a coefficient of variation, and `queue_bytes/buffer_bytes` \
         is the share of the buffer in use |\n| `internal:p` | the average of an internal signal of the algorithm, by \
         its name in the paper: the mean of its samples, one per `series_step`, which is close to the time average; \
         also in `internal_means.parquet` |\n\n| name | title | unit | better | meaning | source | values |\n| --- | \
         --- | --- | --- | --- | --- | --- |\n",
    );
    for m in Metric::ALL {
        let better = match m.better() {
            Better::Higher => "more",
            Better::Lower => "less",
            Better::Neither => "",
        };
        let values = match m {
            Metric::Utilization => "0 to 1; more by a burst",
            _ if m.range().most.is_finite() => "0 to 1",
            _ => "from 0",
        };
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
