//! Named nodes, links between them and static routes.
