// What the module `skill` offers, for editors and type checkers; the build takes types out and does not check them.
declare module "skill" {
  /** Returns the input: JSON from standard input, or else from `SKILL_INPUT`; `null` when there is none. */
  export function input<T = unknown>(): T | null;
  /** Returns the value of a variable, or `undefined`. */
  export function env(name: string): string | undefined;
  /** Reads a text file below `/skill`, `/work` or `/workspace`. */
  export function readText(path: string): string;
  /** Writes a text file below `/work` or a writable `/workspace`, replacing what was there. */
  export function writeText(path: string, text: string): void;
  /** Lists the names in a directory, in order. */
  export function list(path: string): string[];
  /** Prints a line: text as it is, everything else as JSON. */
  export function print(value: unknown): void;
  /** Prints a line to standard error. */
  export function log(...values: unknown[]): void;
}
