/** Takes up the document of a link, or what this window had. */
export async function restore(): Promise<void> {}
