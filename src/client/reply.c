// Accessors of a reply: its frames, and its status as text.
#include "zplan_client.h"

#include "codes.h"
#include "decimal.h"
#include "settings.h"
#include "utf8.h"

const void *zplan_reply_frame (const struct zplan_reply *reply, uint8_t type, size_t *ret_size)
{
    for (size_t i = 0; reply && i < reply->count; i++) {
        if (reply->frames[i].type == type) {
            if (ret_size)
                *ret_size = reply->frames[i].size;
            return reply->frames[i].data;
        }
    }
    return NULL;
}

enum zplan_stored zplan_reply_stored (const struct zplan_reply *reply)
{
    static const struct {
        const char *words;
        enum zplan_stored stored;
    } rows[] = {{"+plan: already exists", ZPLAN_STORED_BEFORE},
                {"+plan: updated", ZPLAN_STORED_UPDATED},
                {"+plan: replaced", ZPLAN_STORED_REPLACED}};
    size_t size = 0;
    const void *status = zplan_reply_frame (reply, ZERO_FRAME_STATUS, &size);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (size >= strlen (rows[i].words) &&
            memcmp (status, rows[i].words, strlen (rows[i].words)) == 0)
            return rows[i].stored;
    return size ? ZPLAN_STORED_BEFORE : ZPLAN_STORED_NEW;
}

int64_t zplan_reply_first_time (const struct zplan_reply *reply)
{
    char text[DECIMAL_SIZE];
    size_t size = 0;
    int64_t time;
    const void *digits = zplan_reply_frame (reply, ZERO_FRAME_PLAN_TIME, &size);
    if (!digits || size >= sizeof text)
        return 0;
    memcpy (text, digits, size);
    text[size] = '\0';
    return number_parse (text, &time) && time > 0 ? time : 0;
}

// Copy text, cut to `size` with its NUL; each byte of a control character or of invalid UTF-8
// becomes a '?'.
static void copy_printable (struct span words, char *out, size_t size)
{
    const uint8_t *at = words.data, *end = at + words.size;
    size_t used = 0;
    while (at < end) {
        size_t length = *at < 0x80 ? 1 : utf8_size (at, end);
        bool plain = length && *at >= 0x20 && *at != 0x7F;
        if (used + (plain ? length : 1) >= size)
            break; // at a character's boundary
        if (plain)
            memcpy (out + used, at, length);
        else
            out[used] = '?';
        used += plain ? length : 1;
        at += plain ? length : 1;
    }
    out[used] = '\0';
}

const char *zplan_reply_words (const struct zplan_reply *reply, char *out, size_t size)
{
    size_t length = 0;
    if (!out || size == 0)
        return "";
    *out = '\0';
    if (!reply)
        return out;
    const void *words = zplan_reply_frame (reply, ZERO_FRAME_STATUS, &length);
    copy_printable (length ? span_of (words, length) : span_text (status_word (reply->status)), out,
                    size);
    return out;
}
