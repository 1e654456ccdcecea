//! The page that lists the links and loads.

use crate::preset::{Preset, links, loads};

/// The generated part of `docs/presets.md`, in Markdown.
pub fn page() -> String {
    let mut out = String::from("## Links\n\n| name | link | also called |\n| --- | --- | --- |\n");
    links().iter().for_each(|link| row(&mut out, &link.preset));
    out.push_str("\n## Loads\n\n| name | load | also called |\n| --- | --- | --- |\n");
    loads().iter().for_each(|load| row(&mut out, &load.preset));
    out.push_str("\n## Sources of the links\n");
    for link in links() {
        section(&mut out, "links", &link.preset);
        out.push_str(&format!("- sizes: {}\n", link.layer));
    }
    out.push_str("\n## Sources of the loads\n");
    for load in loads() {
        section(&mut out, "loads", &load.preset);
        let metrics: Vec<String> = load.metrics.iter().map(|m| format!("`{m}`")).collect();
        out.push_str(&format!("- most informative metrics: {}\n", metrics.join(", ")));
        out.push_str(&format!("- default algorithms: {}\n", load.aqm.join(", ")));
        out.push_str(&format!("- time: {}, metrics from {} on\n", load.duration, load.warmup));
    }
    out
}

fn row(out: &mut String, preset: &Preset) {
    out.push_str(&format!("| `{}` | {} | {} |\n", preset.name, preset.about, preset.aliases.join(", ")));
}

fn section(out: &mut String, folder: &str, preset: &Preset) {
    let name = preset.name;
    out.push_str(&format!("\n**[{name}](../scenarios/{folder}/{name}.toml)**, {}\n\n", preset.title));
    for (what, source) in &preset.sources {
        out.push_str(&format!("- {what}: {source}\n"));
    }
}
