//! The theory for Python: conversion code for `quell.theory`, which names what is here.

pub mod analysis;
pub mod arrays;
pub mod criteria;
pub mod estimate;
pub mod fluid;
pub mod linear;
pub mod maps;
mod words;
