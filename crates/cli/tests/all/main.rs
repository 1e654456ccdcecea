//! The command, as a user sees it.

mod adaptive;
mod bundle;
mod characterize;
mod commands;
mod common;
mod conformance;
mod failures;
mod files;
mod flent;
mod gateway;
mod hostile;
mod identify;
mod import;
mod lab;
mod measure;
mod options;
mod presets;
mod recommend;
mod reproduce;
mod scale;
mod shells;
mod survival;
mod tc;
mod theory;
mod traces;
mod tune;
