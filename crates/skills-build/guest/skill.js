// What a skill in JavaScript has of the world: its input, files, variables and output. QuickJS brings none of them.
import environment from "wasi:cli/environment@0.2.0";
import stderr from "wasi:cli/stderr@0.2.0";
import stdin from "wasi:cli/stdin@0.2.0";
import stdout from "wasi:cli/stdout@0.2.0";
import preopens from "wasi:filesystem/preopens@0.2.0";
import { decode, encode } from "./utf8.js";

// The most that one call of WASI takes or is asked for.
const WRITE = 4096;
const READ = 65536;

/** Returns the value of a variable, or `undefined`. */
export function env(name) {
  return environment.getEnvironment().find(([key]) => key === name)?.[1];
}

/** Returns the input: JSON from standard input, or else from `SKILL_INPUT`; `null` when there is none. */
export function input() {
  const text = readInput().trim() || env("SKILL_INPUT") || "null";
  return JSON.parse(text);
}

/** Reads a text file: `/skill/…` is the skill, `/work/…` its scratch directory, `/workspace/…` a granted workspace. */
export function readText(path) {
  const file = open(path, {}, { read: true });
  const chunks = [];
  for (let offset = 0, end = false; !end; ) {
    const [bytes, last] = file.read(READ, offset);
    chunks.push(bytes);
    offset += bytes.length;
    end = last || bytes.length === 0;
  }
  return decode(joined(chunks));
}

/** Writes a text file, replacing what was there. */
export function writeText(path, text) {
  const file = open(path, { create: true, truncate: true }, { write: true });
  const bytes = encode(text);
  for (let offset = 0; offset < bytes.length; ) {
    offset += file.write(bytes.subarray(offset, offset + READ), offset);
  }
}

/** Lists the names in a directory, in order. */
export function list(path) {
  const entries = open(path, { directory: true }, { read: true }).readDirectory();
  const names = [];
  for (let entry; (entry = entries.readDirectoryEntry()); ) names.push(entry.name);
  return names.sort();
}

/** Prints a line: text as it is, everything else as JSON. */
export function print(value) {
  write(stdout.getStdout(), typeof value === "string" ? value : JSON.stringify(value));
}

/** Prints a line to standard error. */
export function log(...values) {
  write(stderr.getStderr(), values.map(shown).join(" "));
}

globalThis.console = { log, info: log, warn: log, error: log, debug: log };

function shown(value) {
  if (typeof value === "string") return value;
  return value instanceof Error ? `${value}\n${value.stack ?? ""}`.trimEnd() : (JSON.stringify(value) ?? String(value));
}

function write(stream, text) {
  const bytes = encode(`${text}\n`);
  for (let at = 0; at < bytes.length; at += WRITE) stream.blockingWriteAndFlush(bytes.subarray(at, at + WRITE));
}

function readInput() {
  const stream = stdin.getStdin();
  const chunks = [];
  try {
    for (;;) chunks.push(stream.blockingRead(READ));
  } catch {
    // WASI reports the end of the input as an error.
    return decode(joined(chunks));
  }
}

function joined(chunks) {
  const bytes = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

function open(path, openFlags, flags) {
  const within = (root) => path === root || path.startsWith(root.endsWith("/") ? root : `${root}/`);
  const [directory, root] = preopens.getDirectories().find(([, root]) => within(root)) ?? [];
  if (!directory) throw new Error(`${path}: not in a directory that this skill was given`);
  const below = path.slice(root.length).replace(/^\/+/, "") || ".";
  try {
    return directory.openAt({ symlinkFollow: true }, below, openFlags, flags);
  } catch (error) {
    throw new Error(`${path}: ${error?.payload ?? error?.message ?? error}`);
  }
}
