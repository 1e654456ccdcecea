// What tests of the page's pure parts take.

export { command, commandWithText, shell } from "./keep/command.ts";
export { areAlike, areSame, isPlace } from "./keep/place.ts";
export { drive } from "./recommend/drive.ts";
export * from "./set/range.ts";
export * from "./set/schema.ts";
export { tokens } from "./set/text/tokens.ts";
export { base64, base64url, fromBase64, fromBase64url } from "./state/bytes.ts";
export * from "./state/document.ts";
export { fromHash, stateOf, toDoc, toHash } from "./state/link.ts";
export { finds } from "./ui/find.ts";
