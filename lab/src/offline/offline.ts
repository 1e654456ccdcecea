// The page without a network: after the first load its service worker has all of it.

import { signal } from "@preact/signals";

/** True once the page would load without a network. */
export const isKept = signal(false);

/** Lets the service worker keep the page; where there is none (an old browser, plain HTTP), the page works without. */
export async function keepOffline(): Promise<void> {
  if (!("serviceWorker" in navigator) || !window.isSecureContext) return;
  try {
    await navigator.serviceWorker.register("sw.js");
    await navigator.serviceWorker.ready;
    isKept.value = true;
  } catch {
    // A private window refuses it: the page is then loaded each time.
  }
}
