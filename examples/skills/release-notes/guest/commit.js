/** Takes a subject such as `feat(api)!: add paging` apart. */
export function parse(subject) {
  const match = /^(\w+)(?:\(([^)]*)\))?(!?):\s*(.+)$/.exec(String(subject).trim());
  if (!match) return { type: "other", scope: "", isBreaking: false, text: String(subject).trim() };
  const [, type, scope = "", mark, text] = match;
  return { type: type.toLowerCase(), scope, isBreaking: mark === "!", text };
}
