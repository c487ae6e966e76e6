// Counts the words of `references/words.txt` in a text.
import { input, print, readText } from "skill";

interface Input {
  text: string;
}

export function run(): void {
  const given = input<Partial<Input>>();
  if (typeof given?.text !== "string") throw new Error('the input must be {"text": …}');
  const text = given.text.toLowerCase();
  const words = readText("/skill/references/words.txt").trim().split("\n");
  const counts: [string, number][] = words.map((word) => [word, text.split(word).length - 1]);
  print({ counts: Object.fromEntries(counts) });
}
