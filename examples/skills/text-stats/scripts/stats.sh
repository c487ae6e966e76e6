#!/bin/sh
# Description: Counts lines, words and bytes of a text
#
# Only shell built-ins: no process is started. The JSON reader knows one thing, the string under the key "text".
set -eu

backslash='\'
newline='
'
tab='	'

# Decodes the JSON string at the start of $rest, up to its closing quote, into $text.
decode() {
    text=''
    while [ -n "$rest" ]; do
        plain=${rest%%\"*}
        plain=${plain%%"$backslash"*}
        text=$text$plain
        rest=${rest#"$plain"}
        case $rest in
        '"'*) return 0 ;;
        "${backslash}n"*) text=$text$newline; rest=${rest#??} ;;
        "${backslash}t"*) text=$text$tab; rest=${rest#??} ;;
        "${backslash}u"*) text=$text'?'; rest=${rest#??????} ;;
        "$backslash"*) rest=${rest#?}; text=$text${rest%"${rest#?}"}; rest=${rest#?} ;;
        esac
    done
    echo 'the input is not a JSON object with a "text"' >&2
    exit 1
}

read_input() {
    input=''
    while IFS= read -r line || [ -n "$line" ]; do
        input=$input$line
    done
    case $input in
    *'"text"'*'"'*) ;;
    *) echo 'give {"text": "..."} as input, or the text as an argument' >&2; exit 1 ;;
    esac
    rest=${input#*\"text\"}
    rest=${rest#*\"}
    decode
}

count_words() {
    # Splitting is the point; names of files must not take part in it.
    set -f
    # shellcheck disable=SC2086
    set -- $text
    words=$#
}

count_lines() {
    lines=0
    rest=$text
    while [ -n "$rest" ]; do
        lines=$((lines + 1))
        case $rest in
        *"$newline"*) rest=${rest#*"$newline"} ;;
        *) rest='' ;;
        esac
    done
}

if [ $# -gt 0 ]; then text=$1; else read_input; fi
count_lines
count_words
LC_ALL=C
echo "{\"lines\": $lines, \"words\": $words, \"bytes\": ${#text}}"
