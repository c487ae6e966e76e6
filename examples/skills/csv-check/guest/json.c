#include "json.h"

#include <stdlib.h>
#include <string.h>

// Writes a character in UTF-8 and returns where it ends.
static char *put(char *to, unsigned code) {
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
        *to++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *to++ = (char)(0xe0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    } else {
        *to++ = (char)(0xf0 | code >> 18);
        *to++ = (char)(0x80 | (code >> 12 & 0x3f));
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    }
    return to;
}

// Reads four hexadecimal digits; moves on only past those that there are.
static unsigned four_digits(const char **at) {
    unsigned code = 0;
    for (int digits = 0; digits < 4; digits++, (*at)++) {
        const char *all = "0123456789abcdefABCDEF";
        const char *digit = **at == 0 ? NULL : strchr(all, **at);
        if (digit == NULL) return 0xfffd;
        unsigned value = (unsigned)(digit - all);
        code = code << 4 | (value < 16 ? value : value - 6);
    }
    return code;
}

static unsigned escaped(const char **at) {
    char letter = *(*at)++;
    const char *found = letter == 0 ? NULL : strchr("n\nt\tr\rb\bf\f", letter);
    if (letter != 'u') return found ? (unsigned char)found[1] : (unsigned char)letter;
    unsigned code = four_digits(at);
    if (code >= 0xd800 && code < 0xdc00 && (*at)[0] == '\\' && (*at)[1] == 'u') {
        *at += 2;
        unsigned low = four_digits(at);
        return low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) : 0xfffd;
    }
    return code >= 0xd800 && code < 0xe000 ? 0xfffd : code;
}

// Reads the text whose opening quote `*at` stands on, into memory of its own, and moves behind the closing one.
static char *text(const char **at) {
    // Nothing grows more: a lone `\u` is two bytes, and becomes the three of a replacement character.
    char *start = malloc(3 * strlen(*at) + 1), *to = start;
    if (start == NULL) return NULL;
    for ((*at)++; **at != 0 && **at != '"';) {
        if (**at == '\\' && (*at)[1] != 0) {
            (*at)++;
            to = put(to, escaped(at));
        } else {
            *to++ = *(*at)++;
        }
    }
    if (**at == '"') (*at)++;
    *to = 0;
    return start;
}

char *json_text(const char *json, const char *key) {
    int depth = 0;
    for (const char *at = json; *at != 0;) {
        if (*at != '"') {
            depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
            at++;
            continue;
        }
        char *name = text(&at);
        at += strspn(at, " \t\r\n");
        int is_key = name != NULL && depth == 1 && *at == ':' && strcmp(name, key) == 0;
        free(name);
        if (!is_key) continue;
        at++;
        at += strspn(at, " \t\r\n");
        return *at == '"' ? text(&at) : NULL;
    }
    return NULL;
}
