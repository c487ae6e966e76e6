// Just enough JSON for an input of one text.
#pragma once

// Returns the text of a key of the outermost object, in memory of its own; NULL when there is none.
char *json_text(const char *json, const char *key);
