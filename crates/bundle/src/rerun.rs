//! Computing replications of a bundle again, and comparing them bit for bit.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use quell_lab::{Options, Replication, RunError, Table, differing_tables, fingerprint};
use quell_scenario::values::Seeds;
use quell_scenario::{Document, Files, FoundFile, Plugins, Point, Study};
use quell_units::text::plural;
use sha2::{Digest, Sha256};

use crate::archive::Bundle;
use crate::error::BundleError;

/// The share of the replications that is computed again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// The share, in (0, 1].
    pub of: f64,
    /// The number of the draw: others draw others.
    pub draw: u64,
}

/// The outcome of computing replications again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rerun {
    /// The number that was computed again.
    pub computed: usize,
    /// The number of all replications.
    pub all: usize,
    /// Those that are not the same, in order.
    pub differing: Vec<Differing>,
    /// True if it was stopped before all were computed.
    pub stopped: bool,
}

/// A replication that is not the same when it is computed again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differing {
    /// The point's settings, the algorithm and the seed, in one line.
    pub which: String,
    /// The digests in the bundle and now, if they differ: it is another sample path.
    pub digests: Option<(u64, u64)>,
    /// The tables in which its figures differ, if its sample path is the same.
    pub tables: Vec<&'static str>,
}

/// A comparison of the engine here with the one that made a bundle, by the algorithms that take part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Engines {
    /// The algorithms with which both compute the same.
    pub same: Vec<String>,
    /// Those with which this engine computes something else.
    pub other: Vec<String>,
    /// Those that are not in the catalog here.
    pub absent: Vec<String>,
    /// The commit that made the bundle.
    pub commit: String,
}

impl Engines {
    /// True if this engine is known to compute what the bundle's did.
    pub fn agree(&self) -> bool {
        self.other.is_empty() && self.absent.is_empty()
    }

    /// The differences, in sentences; `None` if nothing does.
    pub fn difference(&self) -> Option<String> {
        let mut sentences = Vec::new();
        match (self.other.is_empty(), self.same.is_empty()) {
            (true, _) => {}
            (false, true) if self.other.len() > 1 => sentences.push(format!(
                "this engine has different fingerprints for all algorithms ({}), so something they have in common, \
                 such as senders, traffic or links, computes something else here",
                self.other.join(", ")
            )),
            (false, true) => sentences.push(format!(
                "this engine has a different fingerprint for {}, so the algorithm or the engine itself computes \
                 something else here",
                self.other.join(", ")
            )),
            (false, false) => sentences.push(format!(
                "this engine has a different fingerprint for {}, but the same for {}, so the former compute something \
                 else here",
                self.other.join(", "),
                self.same.join(", ")
            )),
        }
        if !self.absent.is_empty() {
            sentences.push(format!("there is no {} in this catalog", self.absent.join(", ")));
        }
        (!sentences.is_empty()).then(|| {
            format!(
                "{}; results may differ. The bundle was made by commit {}",
                sentences.join("; "),
                self.commit
            )
        })
    }
}

impl Bundle {
    /// Compares the engine here with the one that made the bundle.
    pub fn engines(&self) -> Engines {
        let run = &self.results.run;
        let mut all = Engines { commit: run.commit.clone(), ..Engines::default() };
        for (algorithm, print) in &run.engine {
            let list = match fingerprint(algorithm) {
                Ok(here) if here == *print => &mut all.same,
                Ok(_) => &mut all.other,
                Err(_) => &mut all.absent,
            };
            list.push(algorithm.clone());
        }
        all
    }

    /// Computes a share of the replications again and compares each with the bundle's. The draw follows from the archive's
    /// hash, so that everybody who checks one archive draws the same.
    ///
    /// # Errors
    /// If the replications cannot be computed: real packets were sent, an algorithm is not in the catalog, or a scenario
    /// is not one here.
    pub fn rerun(&self, share: Share, options: &Options<'_>) -> Result<Rerun, BundleError> {
        if self.results.run.live {
            let why = "real packets were sent in real time, which cannot be computed again; verify it without --rerun";
            return Err(BundleError::BadInput(why.to_string()));
        }
        let drawn = self.draw(share);
        let (study, groups) = self.study(&drawn)?;
        let found =
            quell_lab::run(&study, options).map_err(|e: RunError| BundleError::Failed(e.to_string()))?;
        let stored: HashMap<(usize, &str, u64), &Replication> =
            drawn.iter().map(|r| ((r.point, r.algorithm.as_str(), r.seed), *r)).collect();
        let mut rerun = Rerun { all: self.results.replications.len(), ..Rerun::default() };
        for again in found.replications {
            let point = groups[again.point];
            let Some(before) = stored.get(&(point, again.algorithm.as_str(), again.seed)) else { continue };
            rerun.computed += 1;
            rerun.differing.extend(self.compare(before, Replication { point, ..again })?);
        }
        rerun.stopped = rerun.computed < drawn.len();
        Ok(rerun)
    }

    /// The replications that are computed again, at least one, in their order.
    fn draw(&self, share: Share) -> Vec<&Replication> {
        let all = &self.results.replications;
        let place = |r: &Replication| {
            let text = format!("{} {} {} {} {}", self.sha256, share.draw, r.point, r.algorithm, r.seed);
            Sha256::digest(text)
        };
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by_cached_key(|i| place(&all[*i]));
        order.truncate(((share.of * all.len() as f64).ceil() as usize).clamp(1, all.len().max(1)));
        order.sort_unstable();
        order.into_iter().map(|i| &all[i]).collect()
    }

    /// A study of these replications, with a point for each point and algorithm of theirs; and the points of the bundle
    /// that those are.
    fn study(&self, drawn: &[&Replication]) -> Result<(Study, Vec<usize>), BundleError> {
        let inputs = Arc::new(self.inputs.clone());
        let files = Files::new(move |name| match inputs.get(name) {
            Some(bytes) => Ok(FoundFile { name: name.to_string(), bytes: bytes.clone() }),
            None => Err("is not in the bundle".to_string()),
        });
        let mut known: BTreeMap<usize, Study> = BTreeMap::new();
        let (mut points, mut groups) = (Vec::new(), Vec::new());
        for group in drawn.chunk_by(|a, b| (a.point, &a.algorithm) == (b.point, &b.algorithm)) {
            let (number, algorithm) = (group[0].point, &group[0].algorithm);
            let study = match known.entry(number) {
                std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::btree_map::Entry::Vacant(free) => free.insert(self.point(number, &files)?),
            };
            let mut point: Point = study.points[0].clone();
            point.settings.clone_from(&self.results.run.points[number].settings);
            point.scenario.aqm.retain(|aqm| aqm.label() == algorithm);
            if point.scenario.aqm.len() != 1 {
                let why = format!(
                    "point {}: its scenario has no algorithm {algorithm}: the bundle is damaged",
                    number + 1
                );
                return Err(BundleError::Failed(why));
            }
            point.scenario.seeds = Seeds::List(group.iter().map(|r| r.seed).collect());
            points.push(point);
            groups.push(number);
        }
        match known.into_values().next() {
            Some(any) => Ok((any.with_points(points), groups)),
            None => Err(BundleError::BadInput(
                "the bundle has no replication that could be computed again".into(),
            )),
        }
    }

    /// The scenario of a point.
    fn point(&self, number: usize, files: &Files) -> Result<Study, BundleError> {
        let refuse =
            |why: String| BundleError::Failed(format!("point {} cannot be computed here: {why}", number + 1));
        let info =
            self.results.run.points.get(number).ok_or_else(|| refuse("it is not in run.json".into()))?;
        let name = Path::new("results/run.json").display().to_string();
        let document = Document::parse(&info.scenario, &name).map_err(|e| refuse(e.to_string()))?;
        let study =
            document.among(files.clone()).study(&Plugins::new()).map_err(|e| refuse(e.to_string()))?;
        match study.points.len() {
            1 => Ok(study),
            n => Err(refuse(format!("its scenario has {}", plural(n, "point")))),
        }
    }

    /// Compares a replication with what was computed now; `None`: it is the same.
    fn compare(
        &self,
        before: &Replication,
        mut again: Replication,
    ) -> Result<Option<Differing>, BundleError> {
        let title = self.results.run.points[before.point].title();
        let comma = if title.is_empty() { "" } else { ", " };
        let which = format!("{}, seed {}{comma}{title}", before.algorithm, before.seed);
        if before.digest != again.digest {
            let digests = Some((before.digest, again.digest));
            return Ok(Some(Differing { which, digests, tables: Vec::new() }));
        }
        // Not all have their time series, and some results are without flows.
        if before.series.is_empty() {
            again.series.clear();
        }
        let differing = differing_tables(before, &again).map_err(BundleError::Failed)?;
        let tables: Vec<&str> = differing.into_iter().map(Table::name).collect();
        Ok((!tables.is_empty()).then_some(Differing { which, digests: None, tables }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_named() {
        let engines = |same: &[&str], other: &[&str], absent: &[&str]| {
            let list = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
            let (same, other, absent) = (list(same), list(other), list(absent));
            Engines { same, other, absent, commit: "c0".into() }
        };
        assert_eq!(engines(&["red"], &[], &[]).difference(), None);
        let said = |e: Engines| e.difference().unwrap();
        assert!(
            said(engines(&["red"], &["pie"], &[]))
                .contains("this engine has a different fingerprint for pie, but the same for red")
        );
        assert!(said(engines(&[], &["pie", "red"], &[])).contains("something they have in common"));
        assert!(said(engines(&[], &["pie"], &[])).contains("the algorithm or the engine itself"));
        assert!(said(engines(&["red"], &[], &["mine"])).contains("no mine in this catalog"));
        assert!(said(engines(&[], &["pie"], &[])).ends_with("made by commit c0"));
    }
}
