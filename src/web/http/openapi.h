// The interface as an OpenAPI 3.1 document, made from the table of routes. Pure.
#pragma once

#include <jansson.h>

json_t *openapi_document (const char *root, const char *version);
