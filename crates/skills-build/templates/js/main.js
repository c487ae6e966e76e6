// Counts the words of `references/words.txt` in a text.
import { input, print, readText } from "skill";

export function run() {
  const text = input()?.text;
  if (typeof text !== "string") throw new Error('the input must be {"text": …}');
  const words = readText("/skill/references/words.txt").trim().split("\n");
  const counts = words.map((word) => [word, text.toLowerCase().split(word).length - 1]);
  print({ counts: Object.fromEntries(counts) });
}
