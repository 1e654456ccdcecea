// The service worker, so that the page loads without a network. `offline.mjs` puts the version, which is a hash of the
// whole page, and its files with the hash of each in place of these two.
const VERSION = "";
const FILES = {};
// ---
/** The page's own address: the folder that this worker is in. */
const HOME = new URL("./", self.location.href).href;
// Pages in other folders of this server share its caches, and keep their own.
const OWN = `quell ${HOME} `;
const CACHE = OWN + VERSION;
const INDEX = "index.html";
/** How long a server may take to say which page is the newest, in milliseconds; then the one that was kept is shown. */
const PATIENCE_MS = 3000;
/** What every page of ours has, and the sign-in page of a network has not. */
const OURS = /<meta name="quell-lab" content="[0-9a-f]{16}">/;

// All of the page is kept before this worker serves any of it. It waits until no tab has the version before it, whose
// files it would remove: the browser sees to that, or the only tab says that it has the new version.
self.addEventListener("install", (event) => {
  event.waitUntil(keepAll());
});

self.addEventListener("activate", (event) => {
  const take = async () => {
    const old = (await caches.keys()).filter((name) => name.startsWith(OWN) && name !== CACHE);
    await Promise.all(old.map((name) => caches.delete(name)));
    // The tab that brought it is served from now on, and not only after its next load.
    await self.clients.claim();
  };
  event.waitUntil(take());
});

self.addEventListener("message", (event) => {
  const take = async () => {
    const tabs = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
    if (event.data?.build === VERSION && tabs.length === 1) await self.skipWaiting();
  };
  event.waitUntil(take());
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  const name = url.href.startsWith(HOME) ? url.href.slice(HOME.length).replace(/[?#].*$/, "") : "/";
  if (request.method !== "GET") return;
  if (name === "" || name === INDEX) event.respondWith(newest(request));
  // What is not of the page, such as the scenario that `quell lab` opens, is never kept.
  else if (Object.hasOwn(FILES, name)) event.respondWith(kept(name, request));
});

/** Keeps each file, if it is the one that was built: something between may answer in the server's place. */
async function keepAll() {
  const cache = await caches.open(CACHE);
  const keep = async ([name, hash]) => {
    const url = new URL(name, HOME);
    const answer = await fetch(url, { cache: "no-cache" });
    const bytes = await answer.clone().arrayBuffer();
    if (!answer.ok || (await digest(bytes)) !== hash) throw new Error(`${url} is not the file of this page`);
    await cache.put(url, fresh(answer, bytes));
  };
  await Promise.all(Object.entries(FILES).map(keep));
}

/**
 * The page as the server has it, which names the newest files. It is the kept one if the server cannot be reached, takes
 * too long, or if what answers is not this page.
 */
async function newest(request) {
  const old = await match(INDEX);
  // Without a kept page there is nothing else to show.
  if (!old) return fetch(request);
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), PATIENCE_MS);
  try {
    const answer = await fetch(request.url, { cache: "no-cache", credentials: "same-origin", signal: patience.signal });
    const text = await answer.text();
    if (answer.ok && OURS.test(text)) return fresh(answer, text);
  } catch {
    // No network, or one that hangs.
  } finally {
    clearTimeout(timer);
  }
  return old;
}

/** A file as it was kept: its name changes with its content. */
async function kept(name, request) {
  return (await match(name)) ?? fetch(request);
}

async function match(name) {
  const cache = await caches.open(CACHE);
  return cache.match(new URL(name, HOME));
}

/** An answer with its body unpacked, and without the way that it came: a page may not be what was redirected. */
function fresh(answer, body) {
  const headers = new Headers(answer.headers);
  for (const name of ["content-encoding", "content-length"]) headers.delete(name);
  return new Response(body, { status: answer.status, headers });
}

/** The first 128 bits of SHA-256, in hexadecimal digits. */
async function digest(bytes) {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(hash.subarray(0, 16), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
