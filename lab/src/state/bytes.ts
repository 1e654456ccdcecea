// Bytes as text and back.

/** Bytes in base64. */
export function base64(bytes: Uint8Array): string {
  let text = "";
  // In pieces, for a call takes only so many arguments.
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}

/** The bytes of base64; `null` if it is none. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i += 1) bytes[i] = binary.charCodeAt(i);
    return bytes;
  } catch {
    return null;
  }
}

/** Bytes in the base64 of addresses, which need no escapes there. */
export const base64url = (bytes: Uint8Array): string =>
  base64(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");

/** The bytes of that; `null` if it is none. */
export function fromBase64url(text: string): Uint8Array<ArrayBuffer> | null {
  return /^[A-Za-z0-9_-]*$/.test(text) ? fromBase64(text.replaceAll("-", "+").replaceAll("_", "/")) : null;
}
