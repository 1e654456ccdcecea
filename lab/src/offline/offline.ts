// The page without a network: after the first load its service worker has all of it.

import { signal } from "@preact/signals";

/** True once the page would load without a network. */
export const isKept = signal(false);

/** Lets the service worker keep the page; where there is none (an old browser, plain HTTP), the page works without. */
export async function keepOffline(): Promise<void> {
  if (!("serviceWorker" in navigator) || !window.isSecureContext) return;
  try {
    const registration = await navigator.serviceWorker.register("sw.js");
    // A worker of this page's version need not wait for the next visit, if no other tab has the version before it.
    const build = document.querySelector<HTMLMetaElement>('meta[name="quell-lab"]')?.content;
    const offer = (worker: ServiceWorker | null) => worker?.state === "installed" && worker.postMessage({ build });
    offer(registration.waiting);
    registration.addEventListener("updatefound", () => {
      const worker = registration.installing;
      worker?.addEventListener("statechange", () => offer(worker));
    });
    await navigator.serviceWorker.ready;
    isKept.value = true;
  } catch {
    // A private window refuses it: the page is then loaded each time.
  }
}
