//! An answer as programs take it.

use serde::Serialize;

use crate::advice::{self, Advice};
use crate::candidate::Candidate;
use crate::judge::Answer;
use crate::plan::Plan;
use crate::reach::Reach;
use crate::request::Request;
use crate::verdict::Judged;
use crate::way::Way;

/// The form of what is written.
const SCHEMA: u32 = 1;

/// An answer for a link with all that belongs to it: what `quell recommend --format json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct Report<'a> {
    schema: u32,
    /// The goal, as it was read.
    pub goal: String,
    link: LinkReport,
    load: &'a str,
    hosts: u16,
    /// The time and the number of the runs, in words.
    runs: String,
    columns: Vec<ColumnReport<'a>>,
    answer: &'a Answer,
    reach: Vec<ReachReport<'a>>,
    carries: &'a str,
    /// What to type on the router, and how to check it there.
    pub router: Advice,
    notes: &'a [String],
}

/// The link as it was taken.
#[derive(Clone, Debug, Serialize)]
struct LinkReport {
    technology: &'static str,
    down: WayReport,
    up: WayReport,
}

/// A direction.
#[derive(Clone, Debug, Serialize)]
struct WayReport {
    rate: String,
    shaped: String,
    words: String,
}

/// A figure of every row.
#[derive(Clone, Debug, Serialize)]
struct ColumnReport<'a> {
    title: &'a str,
    metric: &'a str,
    link: &'static str,
}

/// The winner where the link is not what was said.
#[derive(Clone, Debug, Serialize)]
struct ReachReport<'a> {
    change: &'a str,
    found: &'a Judged,
}

impl<'a> Report<'a> {
    /// Puts an answer together; `best` is the candidate that comes first, and `reach` how far it carries.
    pub fn of(
        (request, plan): (&'a Request, &'a Plan),
        answer: &'a Answer,
        best: &Candidate,
        (reach, carries): (&'a [(Reach, Judged)], &'a str),
    ) -> Report<'a> {
        let mut router = advice::of(request, plan, best);
        router.parts.extend(answer.rows.first().map(|row| advice::check(request, plan, best, row)));
        let way = |way: &'a Way| WayReport {
            rate: way.rate.to_string(),
            shaped: best.shaper(way).rate.to_string(),
            words: best.words(request.technology, way),
        };
        let columns = plan.columns.iter();
        let columns = columns.map(|c| ColumnReport { title: &c.title, metric: &c.metric, link: c.link });
        Report {
            schema: SCHEMA,
            goal: request.goal.to_string(),
            link: LinkReport {
                technology: request.technology.name,
                down: way(&plan.down),
                up: way(&plan.up),
            },
            load: &request.load.name,
            hosts: request.hosts,
            runs: plan.runs(),
            columns: columns.collect(),
            answer,
            reach: reach.iter().map(|(reach, found)| ReachReport { change: &reach.words, found }).collect(),
            carries,
            router,
            notes: &plan.notes,
        }
    }
}
