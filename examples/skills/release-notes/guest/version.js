/** Returns the version after `version`; `null` when that is none. Before 1.0.0 the middle number counts what breaks. */
export function next(version, commits) {
  const match = /^v?(\d+)\.(\d+)\.(\d+)/.exec(String(version ?? ""));
  if (!match) return null;
  const [major, minor, patch] = match.slice(1).map(Number);
  const breaks = commits.some((commit) => commit.isBreaking);
  if (breaks && major > 0) return `${major + 1}.0.0`;
  if (breaks || commits.some((commit) => commit.type === "feat")) return `${major}.${minor + 1}.0`;
  return `${major}.${minor}.${patch + 1}`;
}
