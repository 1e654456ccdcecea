//! Algorithms that are named beside a scenario: those of its own that run, and others of the catalog beside them.

use crate::error::ScenarioError;
use crate::files::Files;
use crate::plugins::Plugins;
use crate::study::{Document, Hole, LeftOut, Point, Study};

impl Document {
    /// Adds those of `names` of which a field is set and that the scenario lacks, so that `aqm.pie.target` is that of
    /// the catalog's PIE; gives the ones that were added. `fields` are those that are set.
    pub fn add_changed<'a>(
        &mut self,
        names: impl IntoIterator<Item = &'a str>,
        fields: &[&str],
    ) -> Vec<&'a str> {
        let is_changed = |name: &str| {
            let of = format!("aqm.{name}.");
            fields.iter().any(|field| field.trim_start().starts_with(&of))
        };
        names.into_iter().filter(|name| is_changed(name) && self.add_algorithm(name)).collect()
    }
}

impl Study {
    /// Leaves in each point the algorithms that `choose` names, given the labels that are there; those that have no
    /// label there are the catalog's, with the defaults that they have there. `files` are the files that the resolved
    /// scenario names.
    ///
    /// # Errors
    /// Those of `choose`, and if an algorithm suits no point.
    pub fn select<E: From<ScenarioError>>(
        &mut self,
        files: &Files,
        choose: impl Fn(&[String]) -> Result<Vec<String>, E>,
    ) -> Result<(), E> {
        let name = self.name().to_string();
        let (mut kept, mut refused) = (Vec::new(), Vec::<(String, ScenarioError)>::new());
        for mut point in std::mem::take(&mut self.points) {
            let there = point.scenario.aqm.iter().map(|a| a.label().to_string());
            let labels: Vec<String> =
                there.chain(point.left_out.iter().map(|out| out.label.clone())).collect();
            let chosen = choose(&labels)?;
            point.left_out.retain(|out| chosen.contains(&out.label));
            let own = std::mem::take(&mut point.scenario.aqm);
            for label in &chosen {
                if point.left_out.iter().any(|out| out.label == *label) {
                    continue;
                }
                if let Some(own) = own.iter().find(|a| a.label() == label) {
                    point.scenario.aqm.push(own.clone());
                    continue;
                }
                // An algorithm that was added may not suit the link: better said now, and as a rule.
                let mut alone = point.clone();
                alone.scenario.aqm = vec![point.algorithm(label)];
                let document = Document::parse(&alone.to_toml(), &name)?.among(files.clone());
                match document.study(&Plugins::new()) {
                    Ok(_) => point.scenario.aqm.append(&mut alone.scenario.aqm),
                    Err(mut error) => {
                        error.line = None; // The line is not one of the file.
                        point.left_out.push(LeftOut { label: label.clone(), reason: error.reason() });
                        refused.push((label.clone(), error));
                    }
                }
            }
            kept.push(point);
        }
        // One that suits no point is wrong with what was chosen; where it suits one, it is left out at the others.
        let runs = |label: &str| kept.iter().any(|p| p.scenario.aqm.iter().any(|a| a.label() == label));
        if let Some((_, error)) = refused.into_iter().find(|(label, _)| !runs(label)) {
            return Err(error.into());
        }
        // Nothing that was chosen runs at such a point.
        let (points, empty) = kept.into_iter().partition(|p: &Point| !p.scenario.aqm.is_empty());
        self.points = points;
        self.holes.extend(empty.into_iter().map(|point| {
            let reasons: Vec<String> =
                point.left_out.iter().map(|o| format!("{}: {}", o.label, o.reason)).collect();
            Hole { settings: point.settings, reason: reasons.join("; ") }
        }));
        Ok(())
    }
}
