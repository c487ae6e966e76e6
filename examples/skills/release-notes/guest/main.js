// Writes release notes: JSON in, JSON out.
import { input, print, readText } from "skill";

import { parse } from "./commit.js";
import { next } from "./version.js";

export function run() {
  const { version, commits } = input() ?? {};
  if (!Array.isArray(commits)) throw new Error('the input must be {"version": "1.0.0", "commits": ["…"]}');
  const { sections } = JSON.parse(readText("/skill/references/sections.json"));
  const parsed = commits.map(parse);
  // What breaks stands in the section for that, and not once more among its own type.
  const kind = (commit) => (commit.isBreaking ? "!" : commit.type);
  const blocks = sections.map(({ heading, types }) => [heading, parsed.filter((commit) => types.includes(kind(commit)))]);
  const listed = blocks.filter(([, found]) => found.length > 0);
  const markdown = listed.map(([heading, found]) => `## ${heading}\n\n${found.map(line).join("\n")}\n`).join("\n");
  const left_out = commits.length - blocks.reduce((count, [, found]) => count + found.length, 0);
  print({ next: next(version, parsed), markdown, left_out });
}

function line({ scope, text }) {
  const sentence = text.charAt(0).toUpperCase() + text.slice(1);
  return scope ? `- **${scope}**: ${sentence}` : `- ${sentence}`;
}
