// What a plan does, as options: zplan add sends it, zplan next takes and ignores it, so that one
// line of options serves both.
#pragma once

#include "options.h"
#include "when.h"

// What the plan does; when it does it is in struct when_words.
struct order {
    const char *station, *command, *publish_title;
    struct option_texts arguments;
    const char *context, *content;
    const char *title, *id;
    struct when_words words;
};

// The options that fill it. The last row is --now, which is another option in zplan next.
struct option_group order_options (struct order *order);
