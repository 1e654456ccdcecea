//! Spaces, ends of lines and comments between the items of a list, or the pairs of a table in one line.
//!
//! TOML's libraries hang them on values: what stands behind a comma is before the next value. Readers see rows: a
//! comment behind a comma is of the value before it, and those on the lines above are of the value below.

use toml_edit::{Array, Decor, InlineTable, KeyMut, RawString, Value};

/// What stands around an item.
#[derive(Clone, Debug, Default)]
struct Row {
    /// What is above it, up to an empty line: it stays where it is.
    apart: String,
    /// What is right before it: its comments, the end of the line above, and its indentation.
    own: String,
    /// Between it and its comma.
    gap: String,
    /// Behind its comma, on the same line.
    tail: String,
}

/// What stands around the items of a list.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    /// Behind the opening bracket, on its line.
    head: String,
    rows: Vec<Row>,
    /// Before the closing bracket.
    end: String,
    /// The last one has a comma, too.
    comma: bool,
}

impl Rows {
    pub(super) fn of_array(array: &Array) -> Rows {
        let around = array.iter().enumerate().map(|(i, value)| {
            let before = if i == 0 { "" } else { " " };
            (text(value.decor().prefix(), before), text(value.decor().suffix(), ""))
        });
        Rows::new(around.collect(), text(Some(array.trailing()), ""), array.trailing_comma())
    }

    pub(super) fn put_into_array(self, array: &mut Array) {
        let (around, trailing) = self.texts();
        array.set_trailing_comma(self.comma && !array.is_empty());
        array.set_trailing(trailing);
        for (value, (before, behind)) in array.iter_mut().zip(around) {
            *value.decor_mut() = Decor::new(before, behind);
        }
    }

    pub(super) fn of_table(table: &mut InlineTable) -> Rows {
        let mut around = Vec::new();
        visit(table, &mut |key, value| {
            around.push((text(key.leaf_decor().prefix(), " "), text(value.decor().suffix(), "")));
        });
        Rows::new(around, text(Some(table.trailing()), ""), table.trailing_comma())
    }

    pub(super) fn put_into_table(self, table: &mut InlineTable) {
        let (around, trailing) = self.texts();
        table.set_trailing_comma(self.comma && !table.is_empty());
        table.set_trailing(trailing);
        let mut around = around.into_iter();
        visit(table, &mut |mut key, value| {
            if let Some((before, behind)) = around.next() {
                key.leaf_decor_mut().set_prefix(before);
                value.decor_mut().set_suffix(behind);
            }
        });
    }

    /// Takes them apart: what is before and behind each value, and what is before the closing bracket.
    fn new(around: Vec<(String, String)>, trailing: String, comma: bool) -> Rows {
        let mut all = Rows { head: String::new(), rows: Vec::new(), end: String::new(), comma };
        let count = around.len();
        let mut end = trailing;
        for (i, (before, behind)) in around.into_iter().enumerate() {
            let (line, rest) = of_line(&before);
            let above = match all.rows.last_mut() {
                None => &mut all.head,
                Some(row) => &mut row.tail,
            };
            *above = line.to_string();
            let at = rest
                .rmatch_indices('\n')
                .map(|(at, _)| at)
                .find(|at| rest[..*at].rfind('\n').is_some_and(|above| rest[above..*at].trim().is_empty()));
            let (apart, own) = rest.split_at(at.unwrap_or(0));
            let mut row = Row { apart: apart.to_string(), own: own.to_string(), ..Row::default() };
            if i + 1 == count && !comma {
                end = behind;
            } else {
                row.gap = behind;
            }
            all.rows.push(row);
        }
        if let Some(last) = all.rows.last_mut() {
            let (line, rest) = of_line(&end);
            (last.tail, end) = (line.to_string(), rest.to_string());
        }
        Rows { end, ..all }
    }

    /// The other way.
    fn texts(&self) -> (Vec<(String, String)>, String) {
        let mut around = Vec::new();
        let mut line = self.head.clone();
        for row in &self.rows {
            let mut before = format!("{}{}", row.apart, row.own);
            if line.contains('#') && !before.starts_with('\n') {
                before = format!("\n{}{}", self.indent(), before.trim_start_matches(' '));
            }
            around.push((format!("{line}{before}"), row.gap.clone()));
            line.clone_from(&row.tail);
        }
        let mut end = self.end.clone();
        if line.contains('#') && !end.starts_with('\n') {
            end.insert(0, '\n');
        }
        end.insert_str(0, &line);
        match around.last_mut() {
            Some((_, behind)) if !self.comma => {
                behind.push_str(&end);
                (around, String::new())
            }
            _ => (around, end),
        }
    }

    /// The indentation of items that have lines of their own.
    fn indent(&self) -> String {
        let own = self.rows.iter().find_map(|row| row.own.rsplit_once('\n'));
        own.map_or("  ", |(_, indent)| indent).to_string()
    }

    pub(super) fn remove(&mut self, at: usize, count: usize) {
        let gone: Vec<Row> = self.rows.drain(at..at + count).collect();
        let Some(first) = gone.first() else { return };
        let kept: String =
            gone.iter().map(|row| row.apart.as_str()).filter(|apart| apart.contains('#')).collect();
        let shares_line = at > 0 && !first.own.contains('\n');
        match self.rows.get_mut(at) {
            Some(next) => {
                if !next.own.contains('\n') {
                    // It stands where the first of them stood.
                    next.own = match first.own.rsplit_once('\n') {
                        Some((_, indent)) => format!("\n{indent}"),
                        None => first.own.clone(),
                    };
                }
                next.apart = if kept.is_empty() && at > 0 { next.apart.clone() } else { kept + &next.apart };
            }
            None => self.end = kept + &self.end,
        }
        // What is said at the end of a line is of all that is left on it.
        if let (true, Some(last), Some(above)) =
            (shares_line, gone.last(), self.rows.get_mut(at.wrapping_sub(1)))
            && above.tail.is_empty()
        {
            above.tail.clone_from(&last.tail);
        }
        if self.rows.is_empty() {
            self.comma = false;
            self.end = format!("{}{}", self.head, self.end);
            self.head.clear();
            if !self.end.contains('#') {
                self.end.clear();
            }
        }
    }

    /// A row at the end; `inside` is what stands beside the only one within its brackets.
    pub(super) fn push(&mut self, inside: &str) {
        let own = match self.rows.last() {
            Some(last) => match last.own.rsplit_once('\n') {
                Some((_, indent)) => format!("\n{indent}"),
                None => " ".to_string(),
            },
            None if self.end.contains('\n') => {
                let own = format!("{}\n  ", self.end.trim_end());
                self.end = "\n".to_string();
                own
            }
            None => {
                self.end = inside.to_string();
                inside.to_string()
            }
        };
        self.rows.push(Row { own, ..Row::default() });
    }

    pub(super) fn move_to(&mut self, from: usize, to: usize) {
        let has_words = |row: &Row| [&row.own, &row.gap, &row.tail].iter().any(|text| text.contains('#'));
        // Without comments, values move over places.
        if !self.rows.iter().any(has_words) {
            return;
        }
        let apart: Vec<String> = self.rows.iter_mut().map(|row| std::mem::take(&mut row.apart)).collect();
        let row = self.rows.remove(from);
        self.rows.insert(to, row);
        self.rows.iter_mut().zip(apart).for_each(|(row, apart)| row.apart = apart);
    }
}

/// What is on the line, and the rest; nothing is on it if there is no other line.
fn of_line(text: &str) -> (&str, &str) {
    text.split_at(text.find('\n').unwrap_or(0))
}

fn text(raw: Option<&RawString>, usual: &str) -> String {
    raw.and_then(|raw| raw.as_str()).unwrap_or(usual).to_string()
}

/// Visits the pairs of a table in one line, as they are written.
pub(super) fn visit(table: &mut InlineTable, with: &mut dyn FnMut(KeyMut<'_>, &mut Value)) {
    for (key, value) in table.iter_mut() {
        match value {
            Value::InlineTable(inner) if inner.is_dotted() => visit(inner, with),
            value => with(key, value),
        }
    }
}
