#include "answer_text.h"

#include <stdbool.h>

#include "codes.h"
#include "ident.h"
#include "utf8.h"

static const struct span *first_frame (uint8_t type, const struct desc *desc,
                                       const struct span *frames)
{
    for (size_t i = 0; i < desc->count; i++)
        if (desc->types[i] == type)
            return &frames[i];
    return NULL;
}

// The text without white space at both ends; a trailing newline is common.
static struct span trim_spaces (struct span text)
{
    while (text.size && text.data[0] <= ' ')
        text = span_of (text.data + 1, text.size - 1);
    while (text.size && text.data[text.size - 1] <= ' ')
        text.size--;
    return text;
}

struct span answer_text (uint8_t status, const struct desc *desc, const struct span *frames)
{
    const struct span *words = first_frame (ZERO_FRAME_STATUS, desc, frames);
    const struct span *content = first_frame (ZERO_FRAME_CONTENT, desc, frames);
    struct span status_text = words ? *words : (struct span){0};
    bool has_more = status_text.size && !span_equal (status_text, span_text (status_word (status)));
    if (status < ZERO_STATUS_ERROR_FLAG || has_more || !content)
        return utf8_cut (status_text, ANSWER_TEXT_MAX);
    struct span text = utf8_cut (trim_spaces (*content), ANSWER_TEXT_MAX);
    return text.size && utf8_is_text (text) ? text : utf8_cut (status_text, ANSWER_TEXT_MAX);
}

struct span answer_trimmed (struct span text)
{
    while (text.size && text.data[text.size - 1] == '\0')
        text.size--;
    return text;
}

bool answer_number (const struct message *message, uint8_t type, uint64_t *ret)
{
    return ident_parse (answer_trimmed (message_last_frame (message, type, NULL)), ret);
}

bool answer_plan (const struct message *message, uint64_t *ret_id)
{
    return message->envelope == ENVELOPE_MAILBOX
               ? mailbox_parse (answer_trimmed (message->sender), ret_id)
               : answer_number (message, ZERO_FRAME_GLOBAL_ID, ret_id);
}
