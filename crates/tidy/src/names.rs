//! The modules of a crate, and the file that defines what a path names.
//!
//! Modules follow from the files' paths, so a module that a macro declares has its place too. A path is resolved as
//! rustc does it: through imports, renames, globs and re-exports, to the first item that is not a module. Variants
//! and associated items are their type's. A name that no item has belongs to the file whose item macros could have
//! made it.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemUse, Macro, UseTree, Visibility};

/// The arrows of a crate, as indices of files: the first takes these names from the second.
pub type Arrows = BTreeMap<(usize, usize), BTreeSet<String>>;

/// The arrows between `files`, which are paths under `src` with their text.
///
/// # Panics
///
/// If a file does not parse.
pub fn arrows(files: &[(String, String)]) -> Arrows {
    let mut names = Names::default();
    let parsed: Vec<syn::File> = files
        .iter()
        .map(|(name, text)| syn::parse_file(text).unwrap_or_else(|error| panic!("{name}: {error}")))
        .collect();
    let library = files.iter().any(|(name, _)| name == "lib.rs");
    let mut places: Vec<(Vec<String>, usize)> =
        files.iter().enumerate().map(|(index, (name, _))| (place(name, library), index)).collect();
    let mut tested: BTreeSet<Vec<String>> = BTreeSet::new();
    for (place, index) in &places {
        note_test_files(place, &parsed[*index].items, &mut tested);
    }
    // From the top, so that a module without a file of its own is in that of the module above it.
    places.sort_by_key(|(place, _)| place.len());
    let mut roots = Vec::new();
    for (place, index) in places {
        if (1..=place.len()).any(|end| tested.contains(&place[..end])) {
            continue;
        }
        let module = names.module_at(&place);
        names.modules[module].file = index;
        Collect { names: &mut names, module }.items(&parsed[index].items);
        roots.push((module, &parsed[index]));
    }
    let mut edges = Edges { names: &names, module: 0, arrows: Arrows::new() };
    for (module, file) in roots {
        edges.module = module;
        edges.visit_file(file);
    }
    edges.arrows
}

/// The path of the module in a file. A binary beside a library counts as a module, which nothing takes from.
fn place(file: &str, library: bool) -> Vec<String> {
    let path = file.trim_end_matches(".rs").trim_end_matches("/mod");
    let path = if path == "lib" || path == "main" && !library { "" } else { path };
    path.split('/').filter(|part| !part.is_empty()).map(str::to_string).collect()
}

fn note_test_files(place: &[String], items: &[Item], tested: &mut BTreeSet<Vec<String>>) {
    for item in items {
        if let Item::Mod(item) = item {
            let inner: Vec<String> = place.iter().cloned().chain([item.ident.to_string()]).collect();
            match &item.content {
                None if is_test(&item.attrs) => drop(tested.insert(inner)),
                Some((_, items)) if !is_test(&item.attrs) => note_test_files(&inner, items, tested),
                _ => {}
            }
        }
    }
}

/// `#[cfg(test)]`, `#[cfg(all(test, ..))]`, the same with `doctest`, and `#[test]`.
fn is_test(attributes: &[Attribute]) -> bool {
    fn names_test(tokens: TokenStream) -> bool {
        let mut all = false;
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(word) => {
                all = word == "all";
                word == "test" || word == "doctest"
            }
            TokenTree::Group(group) => all && names_test(group.stream()),
            _ => false,
        })
    }
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) => list.path.is_ident("cfg") && names_test(list.tokens.clone()),
        meta => meta.path().is_ident("test"),
    })
}

#[derive(Default)]
struct Names {
    modules: Vec<Module>,
    /// The files that define each macro.
    macros: HashMap<String, BTreeSet<usize>>,
}

#[derive(Default)]
struct Module {
    parent: Option<usize>,
    file: usize,
    names: HashMap<String, Vec<Bound>>,
    globs: Vec<Vec<String>>,
    /// True if macros make items here.
    makes_items: bool,
}

#[derive(Clone)]
enum Bound {
    Module(usize),
    Item,
    Import(Vec<String>),
}

#[derive(Clone, Copy, PartialEq)]
enum Target {
    Module(usize),
    File(usize),
}

impl Names {
    /// The module at `place`, made if there is none.
    fn module_at(&mut self, place: &[String]) -> usize {
        if self.modules.is_empty() {
            self.modules.push(Module::default());
        }
        place.iter().fold(0, |module, name| self.child(module, name))
    }

    fn child(&mut self, parent: usize, name: &str) -> usize {
        for bound in self.modules[parent].names.get(name).into_iter().flatten() {
            if let Bound::Module(child) = bound {
                return *child;
            }
        }
        let child = self.modules.len();
        let file = self.modules[parent].file;
        self.modules.push(Module { parent: Some(parent), file, ..Module::default() });
        self.bind(parent, name, Bound::Module(child));
        child
    }

    fn bind(&mut self, module: usize, name: &str, bound: Bound) {
        self.modules[module].names.entry(name.to_string()).or_default().push(bound);
    }

    /// Finds the modules and files that `path`, written in `module`, names.
    fn resolve(&self, module: usize, path: &[String], seen: &mut Vec<(usize, String)>) -> Vec<Target> {
        let Some((first, rest)) = path.split_first() else { return vec![Target::Module(module)] };
        match first.as_str() {
            "self" => self.resolve_in(module, rest, seen),
            "super" => self.modules[module].parent.map_or(vec![], |above| self.resolve(above, rest, seen)),
            "crate" => self.resolve_in(0, rest, seen),
            _ => self.resolve_in(module, path, seen),
        }
    }

    fn resolve_in(&self, module: usize, path: &[String], seen: &mut Vec<(usize, String)>) -> Vec<Target> {
        let Some((first, rest)) = path.split_first() else { return vec![Target::Module(module)] };
        let found = self.look_up(module, first, true, seen);
        let leads_on = |target: &&Target| !rest.is_empty() && matches!(target, Target::Module(_));
        let modules: Vec<Target> = found.iter().filter(leads_on).copied().collect();
        let mut targets = Vec::new();
        // Where a function or a macro has a module's name, a path goes on in the module.
        for target in if modules.is_empty() { found } else { modules } {
            match target {
                Target::Module(inner) => targets.extend(self.resolve_in(inner, rest, seen)),
                Target::File(_) => targets.push(target),
            }
        }
        targets
    }

    fn look_up(&self, module: usize, name: &str, made: bool, seen: &mut Vec<(usize, String)>) -> Vec<Target> {
        let key = (module, name.to_string());
        if seen.contains(&key) {
            return vec![];
        }
        seen.push(key);
        let here = &self.modules[module];
        let mut targets = Vec::new();
        for bound in here.names.get(name).into_iter().flatten() {
            match bound {
                Bound::Module(inner) => targets.push(Target::Module(*inner)),
                Bound::Item => targets.push(Target::File(here.file)),
                Bound::Import(path) => targets.extend(self.resolve(module, path, seen)),
            }
        }
        if targets.is_empty() {
            for glob in &here.globs {
                for target in self.resolve(module, glob, &mut seen.clone()) {
                    if let Target::Module(inner) = target {
                        targets.extend(self.look_up(inner, name, false, seen));
                    }
                }
            }
        }
        if targets.is_empty() && made && here.makes_items {
            targets.push(Target::File(here.file));
        }
        seen.pop();
        targets
    }
}

/// Notes what the items of a module, and the imports anywhere in them, are called.
struct Collect<'a> {
    names: &'a mut Names,
    module: usize,
}

impl Collect<'_> {
    fn items(&mut self, items: &[Item]) {
        for item in items.iter().filter(|item| !is_test(attributes(item))) {
            let name = match item {
                Item::Const(item) => &item.ident,
                Item::Enum(item) => &item.ident,
                Item::Fn(item) => &item.sig.ident,
                Item::Static(item) => &item.ident,
                Item::Struct(item) => &item.ident,
                Item::Trait(item) => &item.ident,
                Item::TraitAlias(item) => &item.ident,
                Item::Type(item) => &item.ident,
                Item::Union(item) => &item.ident,
                Item::Macro(item) => match &item.ident {
                    Some(name) => {
                        let file = self.names.modules[self.module].file;
                        self.names.macros.entry(name.to_string()).or_default().insert(file);
                        name
                    }
                    None => {
                        self.names.modules[self.module].makes_items = true;
                        continue;
                    }
                },
                Item::Mod(item) => {
                    if let Some((_, items)) = &item.content {
                        let module = self.names.child(self.module, &item.ident.to_string());
                        Collect { names: self.names, module }.items(items);
                    }
                    continue;
                }
                _ => {
                    self.visit_item(item);
                    continue;
                }
            };
            self.names.bind(self.module, &name.to_string(), Bound::Item);
            self.visit_item(item);
        }
    }
}

impl<'ast> Visit<'ast> for Collect<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test(attributes(item)) && !matches!(item, Item::Mod(_)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        leaves(&item.tree, &mut Vec::new(), &mut |path, name| match name {
            Some(name) => self.names.bind(self.module, name, Bound::Import(path.to_vec())),
            None => self.names.modules[self.module].globs.push(path.to_vec()),
        });
    }
}

/// Calls `found` with every path of a `use` and the name that it gets, which globs lack.
fn leaves(tree: &UseTree, path: &mut Vec<String>, found: &mut impl FnMut(&[String], Option<&str>)) {
    let mut leaf = |path: &mut Vec<String>, name: String, called: &str| match name.as_str() {
        "self" => {
            found(path, Some(if called == "self" { path.last().map_or("", |last| last) } else { called }))
        }
        _ => {
            path.push(name);
            found(path, Some(called));
            path.pop();
        }
    };
    match tree {
        UseTree::Path(step) => {
            path.push(step.ident.to_string());
            leaves(&step.tree, path, found);
            path.pop();
        }
        UseTree::Name(name) => leaf(path, name.ident.to_string(), &name.ident.to_string()),
        UseTree::Rename(name) => leaf(path, name.ident.to_string(), &name.rename.to_string()),
        UseTree::Glob(_) => found(path, None),
        UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, path, found)),
    }
}

/// Notes what the code of a module takes from other files.
struct Edges<'a> {
    names: &'a Names,
    module: usize,
    arrows: Arrows,
}

impl Edges<'_> {
    fn take(&mut self, path: &[String]) {
        let from = self.names.modules[self.module].file;
        for target in self.names.resolve(self.module, path, &mut Vec::new()) {
            if let Target::File(to) = target
                && to != from
            {
                self.arrows.entry((from, to)).or_default().insert(said(path));
            }
        }
    }

    fn call(&mut self, name: &str) {
        let from = self.names.modules[self.module].file;
        let Some(files) = self.names.macros.get(name) else { return };
        if let (false, 1, Some(to)) = (files.contains(&from), files.len(), files.first()) {
            self.arrows.entry((from, *to)).or_default().insert(format!("{name}!"));
        }
    }

    /// Takes the paths of tokens. Of single words only macros and capitalized ones: others may be variables.
    fn scan(&mut self, tokens: TokenStream) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < trees.len() {
            match &trees[at] {
                TokenTree::Group(group) => self.scan(group.stream()),
                TokenTree::Ident(word) if !is_punct(at.checked_sub(1).and_then(|at| trees.get(at)), '.') => {
                    let mut path = vec![word.to_string()];
                    while is_punct(trees.get(at + 1), ':') && is_punct(trees.get(at + 2), ':') {
                        match trees.get(at + 3) {
                            Some(TokenTree::Ident(word)) => path.push(word.to_string()),
                            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                                self.scan_group(&path, group.stream());
                                at += 3;
                                break;
                            }
                            _ => break,
                        }
                        at += 3;
                    }
                    if path.len() > 1 || path[0].starts_with(char::is_uppercase) {
                        self.take(&path);
                    } else if is_punct(trees.get(at + 1), '!') {
                        self.call(&path[0]);
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// Takes the paths of a braced group in a `use` that is written in tokens.
    fn scan_group(&mut self, above: &[String], tokens: TokenStream) {
        let tree = syn::parse2::<UseTree>(
            TokenTree::Group(proc_macro2::Group::new(Delimiter::Brace, tokens)).into(),
        );
        if let Ok(tree) = tree {
            leaves(&tree, &mut above.to_vec(), &mut |path, _| self.take(path));
        }
    }
}

fn is_punct(token: Option<&TokenTree>, sign: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}

/// A path as messages show it: without what only leads to the name.
fn said(path: &[String]) -> String {
    let type_or_last =
        path.iter().position(|word| word.starts_with(char::is_uppercase)).unwrap_or(path.len() - 1);
    path[type_or_last].clone()
}

impl<'ast> Visit<'ast> for Edges<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let inner = self.names.resolve_in(self.module, &[item.ident.to_string()], &mut Vec::new());
        if let (Some((_, items)), Some(Target::Module(inner))) = (&item.content, inner.first()) {
            let outer = std::mem::replace(&mut self.module, *inner);
            items.iter().for_each(|item| self.visit_item(item));
            self.module = outer;
        }
    }

    /// Takes imports, not re-exports.
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if matches!(item.vis, Visibility::Inherited) {
            leaves(&item.tree, &mut Vec::new(), &mut |path, _| self.take(path));
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            self.take(&path.segments.iter().map(|segment| segment.ident.to_string()).collect::<Vec<_>>());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast Macro) {
        match called.path.get_ident() {
            Some(name) => self.call(&name.to_string()),
            None => self.visit_path(&called.path),
        }
        self.scan(called.tokens.clone());
    }

    /// Neither who may see an item nor what is derived of it is an arrow.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_attribute(&mut self, _: &'ast Attribute) {}
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
