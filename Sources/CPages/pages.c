#include "CPages.h"

#include <string.h>

// The compiler reads the files, so that there is no second copy of them in the sources to go stale.
static const unsigned char openapi_yaml[] = {
#embed "../../openapi.yaml"
};
static const unsigned char index_html[] = {
#embed "index.html"
};
static const unsigned char style_css[] = {
#embed "style.css"
};
static const unsigned char app_js[] = {
#embed "app.js"
};
static const unsigned char document_js[] = {
#embed "document.js"
};
static const unsigned char conflict_js[] = {
#embed "conflict.js"
};
static const unsigned char events_js[] = {
#embed "events.js"
};

#define FILE_OF(name, array) {name, {array, sizeof array}}

static const struct {
    const char *name;
    cpages_file file;
} files[] = {
    FILE_OF("openapi.yaml", openapi_yaml), FILE_OF("index.html", index_html),   FILE_OF("style.css", style_css),
    FILE_OF("app.js", app_js),             FILE_OF("document.js", document_js), FILE_OF("conflict.js", conflict_js),
    FILE_OF("events.js", events_js),
};

cpages_file cpages_named(const char *name) {
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (strcmp(files[i].name, name) == 0) return files[i].file;
    return (cpages_file){NULL, 0};
}
