// Checks a CSV text: JSON in, JSON out. Quoted fields may hold separators, line ends and doubled quotes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

enum { MOST_PROBLEMS = 100 };

// What a row turned out to be: how many fields, how many lines, and whether its last quote is closed.
struct row {
    size_t fields, lines;
    int is_open;
};

static char *read_all(FILE *from) {
    size_t length = 0, size = 1 << 16;
    char *text = malloc(size);
    while (text != NULL) {
        length += fread(text + length, 1, size - length - 1, from);
        if (length < size - 1) break;
        text = realloc(text, size *= 2);
    }
    if (text != NULL) text[length] = 0;
    return text;
}

// Reads a row and moves to the next one.
static struct row read_row(const char **at, char separator) {
    struct row row = {.fields = 1, .lines = 1};
    int is_quoted = 0;
    for (; **at != 0; (*at)++) {
        row.lines += **at == '\n';
        if (**at == '"') is_quoted = !is_quoted;
        if (is_quoted) continue;
        if (**at == separator) row.fields++;
        if (**at == '\n') {
            (*at)++;
            row.lines--;
            break;
        }
    }
    row.is_open = is_quoted;
    return row;
}

// The separator that makes the most fields of the first row.
static char find_separator(const char *csv) {
    char best = ',';
    size_t most = 1;
    for (const char *separator = ",;\t|"; *separator != 0; separator++) {
        const char *at = csv;
        size_t fields = read_row(&at, *separator).fields;
        if (fields > most) {
            most = fields;
            best = *separator;
        }
    }
    return best;
}

static void check(const char *csv) {
    char separator = find_separator(csv);
    size_t rows = 0, columns = 0, line = 1, problems = 0;
    char *found = NULL;
    size_t length = 0;
    FILE *list = open_memstream(&found, &length);
    for (const char *at = csv; *at != 0 && list != NULL;) {
        if (*at == '\n' || (*at == '\r' && at[1] == '\n')) {
            // An empty line is no row.
            at += 1 + (*at == '\r');
            line++;
            continue;
        }
        struct row row = read_row(&at, separator);
        if (rows++ == 0) columns = row.fields;
        const char *before = problems ? "," : "";
        if (row.is_open && problems++ < MOST_PROBLEMS) {
            fprintf(list, "%s{\"line\":%zu,\"problem\":\"a quote is never closed\"}", before, line);
        } else if (row.fields != columns && problems++ < MOST_PROBLEMS) {
            fprintf(list, "%s{\"line\":%zu,\"problem\":\"%zu fields instead of %zu\"}", before, line, row.fields, columns);
        }
        line += row.lines;
    }
    if (list != NULL) fclose(list);
    const char *shown = separator == '\t' ? "\\t" : (char[]){separator, 0};
    printf("{\"rows\":%zu,\"columns\":%zu,\"separator\":\"%s\",\"problems\":[%s]}\n", rows, columns, shown, found ? found : "");
    free(found);
}

int main(void) {
    char *input = read_all(stdin);
    char *csv = input == NULL ? NULL : json_text(input, "csv");
    free(input);
    if (csv == NULL) {
        fprintf(stderr, "the input must be {\"csv\": \"…\"}\n");
        return 1;
    }
    check(csv);
    free(csv);
    return 0;
}
