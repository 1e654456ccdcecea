//! What there is: the catalogs of the libraries, for menus and forms.

use quell_aqm::catalog::CATALOG;
use quell_aqm::params::ParamDoc;
use quell_metrics::{Better, Metric};
use quell_presets::{Preset, links, loads};
use quell_router::Platform;
use quell_router::technology::TECHNOLOGIES;
use quell_scenario::dialect::Dialect;
use quell_tcp::catalog::{Parameter, SENDERS};
use quell_view::chart::Diagram;
use quell_view::style::{Style, of_algorithm};

use crate::protocol::{
    About, AboutAlgorithm, AboutDialect, AboutLoad, AboutMetric, AboutParameter, AboutPreset, AboutSender,
    Named,
};

pub(crate) fn about() -> About {
    About {
        version: env!("CARGO_PKG_VERSION").to_string(),
        commit: commit().to_string(),
        algorithms: CATALOG
            .iter()
            .map(|entry| AboutAlgorithm {
                name: entry.name,
                title: entry.title,
                family: entry.family.name(),
                source: entry.source,
                label: entry.label,
                params: (entry.params)().into_iter().map(|doc| parameter(doc, None)).collect(),
                style: Style::number(of_algorithm(entry.name).unwrap_or(0)).into(),
            })
            .collect(),
        tcp: Parameter::all().into_iter().map(|p| parameter(p.doc, Some(p.range))).collect(),
        senders: SENDERS
            .iter()
            .map(|entry| AboutSender {
                key: entry.key,
                name: entry.name,
                title: entry.title,
                doc: entry.summary,
                source: entry.source,
                reads: entry.reads,
                needs: entry.demands(),
                refuses: entry.refusals(),
            })
            .collect(),
        dialects: [Dialect::Quell]
            .into_iter()
            .chain(Dialect::ALL)
            .map(|dialect| AboutDialect { name: dialect.name(), release: dialect.release() })
            .collect(),
        metrics: Metric::ALL.iter().map(|metric| of_metric(*metric)).collect(),
        diagrams: Diagram::ALL.iter().map(|d| Named { name: d.name(), doc: d.doc() }).collect(),
        loads: loads()
            .iter()
            .map(|load| AboutLoad {
                preset: preset(&load.preset),
                duration_s: load.duration.as_secs_f64(),
                warmup_s: load.warmup.as_secs_f64(),
                aqm: load.aqm.clone(),
                metrics: load.metrics.clone(),
            })
            .collect(),
        links: links().iter().map(|link| preset(&link.preset)).collect(),
        technologies: TECHNOLOGIES.iter().map(|t| Named { name: t.name, doc: t.title }).collect(),
        routers: Platform::all()
            .map(|platform| Named { name: platform.name(), doc: platform.title() })
            .collect(),
    }
}

/// The commit that the module was built from, as its build says in `QUELL_COMMIT`.
pub(crate) fn commit() -> &'static str {
    option_env!("QUELL_COMMIT").unwrap_or(quell_metrics::UNKNOWN)
}

fn parameter(doc: ParamDoc, range: Option<String>) -> AboutParameter {
    let ParamDoc { name, doc, unit, default, source, choices } = doc;
    let kind = match unit {
        "name" => "choice",
        "true or false" => "boolean",
        _ => "number",
    };
    AboutParameter { name, doc, unit, kind, default, source, range, choices }
}

fn of_metric(metric: Metric) -> AboutMetric {
    AboutMetric {
        name: metric.name(),
        title: metric.title(),
        unit: metric.unit(),
        better: match metric.better() {
            Better::Higher => "higher",
            Better::Lower => "lower",
            Better::Neither => "neither",
        },
        doc: metric.doc(),
        source: metric.source(),
    }
}

fn preset(preset: &Preset) -> AboutPreset {
    AboutPreset {
        name: preset.name,
        title: preset.title.clone(),
        about: preset.about.clone(),
        aliases: preset.aliases.clone(),
        sources: preset.sources.clone(),
    }
}
