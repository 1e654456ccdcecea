// The service worker, so that the page loads without a network. `offline.mjs` puts the version, which is a hash of the
// whole page, and the list of its files in place of these two.
const VERSION = "";
const FILES = [];
// ---
/** The page's own address: the folder that this worker is in. */
const HOME = new URL("./", self.location.href).href;
// Pages in other folders of this server share its caches, and keep their own.
const OWN = `quell ${HOME} `;
const CACHE = OWN + VERSION;

// All of the page is kept before this worker serves any of it. It waits until no tab has the version before it, whose
// files it would remove.
self.addEventListener("install", (event) => {
  const requests = FILES.map((name) => new Request(new URL(name, HOME), { cache: "no-cache" }));
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(requests)));
});

self.addEventListener("activate", (event) => {
  const remove = async () => {
    const old = (await caches.keys()).filter((name) => name.startsWith(OWN) && name !== CACHE);
    await Promise.all(old.map((name) => caches.delete(name)));
  };
  event.waitUntil(remove());
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  const name = url.href.startsWith(HOME) ? url.href.slice(HOME.length).replace(/[?#].*$/, "") : "/";
  if (request.method !== "GET") return;
  if (name === "" || name === "index.html") event.respondWith(newest(request));
  // What is not of the page, such as the scenario that `quell lab` opens, is never kept.
  else if (FILES.includes(name)) event.respondWith(kept(name, request));
});

/** The page as the server has it, which names the newest files; as it was kept, if the server cannot be reached. */
async function newest(request) {
  try {
    const answer = await fetch(request);
    if (answer.ok) return answer;
  } catch {
    // No network.
  }
  return (await match("index.html")) ?? Response.error();
}

/** A file as it was kept: its name changes with its content. */
async function kept(name, request) {
  return (await match(name)) ?? fetch(request);
}

async function match(name) {
  const cache = await caches.open(CACHE);
  return cache.match(new URL(name, HOME));
}
