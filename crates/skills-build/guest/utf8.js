// UTF-8, which QuickJS leaves to its host; also as the `TextEncoder` and `TextDecoder` that packages expect.

/** Returns the bytes of a text; half a character becomes U+FFFD. */
export function encode(text) {
  const bytes = new Uint8Array(text.length * 3);
  let at = 0;
  for (const character of text) {
    let code = character.codePointAt(0);
    if (code >= 0xd800 && code < 0xe000) code = 0xfffd;
    if (code < 0x80) {
      bytes[at++] = code;
      continue;
    }
    const more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    bytes[at++] = [0, 0xc0, 0xe0, 0xf0][more] | (code >> (6 * more));
    for (let left = more - 1; left >= 0; left--) bytes[at++] = 0x80 | ((code >> (6 * left)) & 0x3f);
  }
  return bytes.subarray(0, at);
}

/** Returns the text of bytes; what is not UTF-8 becomes U+FFFD. */
export function decode(bytes) {
  const parts = [];
  let codes = [];
  for (let at = 0; at < bytes.length; ) {
    const [code, length] = character(bytes, at);
    codes.push(code);
    at += length;
    if (codes.length === 4096) {
      parts.push(String.fromCodePoint(...codes));
      codes = [];
    }
  }
  return parts.join("") + String.fromCodePoint(...codes);
}

// Reads one character; one byte that begins none counts as one.
function character(bytes, at) {
  const first = bytes[at];
  if (first < 0x80) return [first, 1];
  const more = first >= 0xf0 && first < 0xf5 ? 3 : first >= 0xe0 ? 2 : 1;
  if (first < 0xc2 || first >= 0xf5) return [0xfffd, 1];
  let code = first & (0x3f >> more);
  for (let next = 1; next <= more; next++) {
    const byte = bytes[at + next];
    if (byte === undefined || byte >> 6 !== 2) return [0xfffd, 1];
    code = (code << 6) | (byte & 0x3f);
  }
  const isWrong = code < [0, 0x80, 0x800, 0x10000][more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000);
  return isWrong ? [0xfffd, 1] : [code, more + 1];
}

globalThis.TextEncoder ??= class {
  encode = (text = "") => encode(String(text));
};
globalThis.TextDecoder ??= class {
  decode = (bytes = []) => decode(bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes);
};
