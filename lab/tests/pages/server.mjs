// A file server as plain as any, under a path of its own: the page must not need more.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

const TYPES = {
  html: "text/html; charset=utf-8",
  js: "text/javascript",
  css: "text/css",
  json: "application/json",
  svg: "image/svg+xml",
  wasm: "application/wasm",
};
const PREFIX = "/some/where/";

/**
 * Serves a folder on this machine; gives its URL and what ends it. `instead(name, response)` may answer in its place,
 * or leave it unanswered, and then returns true.
 */
export async function serve(folder, instead = () => false) {
  const server = createServer((request, response) => {
    const path = new URL(request.url, "http://localhost").pathname;
    const name = path === PREFIX ? "index.html" : path.slice(PREFIX.length);
    if (instead(name, response)) return;
    try {
      if (!path.startsWith(PREFIX) || !/^[\w.-]+$/.test(name)) throw new Error("no such file");
      const body = readFileSync(join(folder, name));
      response.writeHead(200, { "Content-Type": TYPES[name.split(".").pop()] ?? "application/octet-stream" }).end(body);
    } catch {
      response.writeHead(404, { "Content-Type": "text/plain" }).end("not here");
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${server.address().port}${PREFIX}`, close };
}
