// Each line is read (entry.h) and processed in stages: check whether a plan with this id exists,
// submit it. Each stage is a separate request in the pipeline.
#include "submit_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "clock.h"
#include "entry.h"
#include "json.h"
#include "memory.h"
#include "only.h"
#include "pipeline.h"
#include "print.h"
#include "progress.h"
#include "zonefile.h"

enum stage { STAGE_CHECK, STAGE_SUBMIT, STAGE_COMPARE };

// A line in flight.
struct load_line {
    int64_t line;
    enum stage stage;
    struct entry entry;
    struct verdict refusal; // in STAGE_COMPARE: why the submission was rejected
};

struct load_run {
    const struct cli *cli;
    const struct submit_lines *load;
    struct pipeline *pipeline;
    struct zone *zone;
    FILE *file;
    int64_t size, read; // bytes of the file; 0 = not known
    int64_t line;
    int64_t added, existing, updated, ended, refused, unknown; // numbers of lines
    // Lines that failed for a reason common to all (verdict_is_common). The first one stops
    // reading.
    int64_t not_taken;
    int64_t not_taken_line;          // the one with the lowest number
    struct verdict not_taken_reason; // why the station rejected that line
    bool target_requested;           // the station was already asked for its only target
    char only_target[TARGET_NAME_SIZE];
    struct reason no_target_reason; // why `only_target` is empty
    bool unread;                    // a part of the file could not be read
    struct progress progress;
    struct verdict no_answer;
};

// -- the result of a line

static void free_item (struct load_line *item)
{
    entry_clear (&item->entry);
    free (item);
}

static void show_progress (struct load_run *self)
{
    progress_share (
        &self->progress,
        (size_t)(self->added + self->existing + self->updated + self->ended + self->refused),
        self->size ? self->read : 0, self->size);
}

static const char *file_name (const struct load_run *self)
{
    return strcmp (self->load->file, "-") == 0 ? "stdin" : self->load->file;
}

// Report a line that is invalid, or that the station rejected.
static void report_refusal (const struct load_run *self, int64_t line, struct span words)
{
    complain_line (file_name (self), line, words);
    if (self->cli->json) {
        print_answer_new (
            self->cli, JSON_ANSWER,
            json_pack ("{s:I, s:o}", "line", (json_int_t)line, "refused", json_from_frame (words)));
    }
}

static void reject_line (struct load_run *self, int64_t line, struct span words)
{
    progress_clear (&self->progress);
    report_refusal (self, line, words);
    self->refused++;
}

static void refuse_item (struct load_run *self, struct load_line *item,
                         const struct verdict *verdict)
{
    if (!verdict_is_common (verdict)) {
        reject_line (self, item->line, verdict_text (verdict));
    } else if (self->not_taken++ == 0 || item->line < self->not_taken_line) {
        self->not_taken_line = item->line;
        self->not_taken_reason = *verdict;
    }
    free_item (item);
}

// Reject a line for a reason of the client.
static void refuse_item_because (struct load_run *self, struct load_line *item, const char *words)
{
    reject_line (self, item->line, span_text (words));
    free_item (item);
}

static void count_item (struct load_run *self, struct load_line *item, int64_t *count,
                        const char *word)
{
    ++*count;
    if (self->cli->json) {
        print_answer_new (self->cli, JSON_ANSWER,
                          json_pack ("{s:I, s:s, s:s}", "line", (json_int_t)item->line, "id",
                                     item->entry.id, "done", word));
    } else if (self->load->on_line) {
        self->load->on_line (self->load->owner, item->line, word);
    }
    free_item (item);
}

// -- the stages

static bool submit_line (struct load_run *self, struct load_line *item)
{
    struct zplan_frame frames[ZPLAN_FRAMES_MAX];
    const struct entry *entry = &item->entry;
    char request_id[IDENT_REQUEST_SIZE];
    bool has_request_id = false;
    size_t count = 0;
    frames[count++] = (struct zplan_frame){ZERO_FRAME_PLAN, entry->plan, strlen (entry->plan)};
    frames[count++] =
        (struct zplan_frame){ZERO_FRAME_STATION_ID, entry->station, strlen (entry->station)};
    if (*entry->id)
        frames[count++] = (struct zplan_frame){ZERO_FRAME_GLOBAL_ID, entry->id, strlen (entry->id)};
    for (size_t i = 0; i < entry->count && count < ZPLAN_FRAMES_MAX; i++) {
        has_request_id = has_request_id || entry->frames[i].type == ZERO_FRAME_REQUEST_ID;
        frames[count++] = entry->frames[i];
    }
    if (*entry->id && !has_request_id && count < ZPLAN_FRAMES_MAX) {
        ident_request (entry->id, request_id);
        frames[count++] =
            (struct zplan_frame){ZERO_FRAME_REQUEST_ID, request_id, strlen (request_id)};
        has_request_id = true;
    }
    if (count + !has_request_id > ZPLAN_FRAMES_MAX) {
        refuse_item_because (self, item, "messages: too many frames");
        return true;
    }
    item->stage = STAGE_SUBMIT;
    return pipeline_send (self->pipeline, ZERO_BYTE_COMMAND_PLAN, frames, count, item);
}

static bool send_command (struct load_run *self, struct load_line *item, enum stage stage,
                          const char *word)
{
    item->stage = stage;
    return pipeline_manage (self->pipeline, word, (const char *[]){item->entry.id}, 1, item);
}

// Whether the existing plan with this id equals that of the line.
static bool is_same_plan (const struct load_run *self, const struct load_line *item,
                          const struct zplan_reply *reply)
{
    struct reason reason;
    struct entry kept;
    json_t *plan = json_read_object (call_frame (reply, ZERO_FRAME_JSON), &reason);
    bool same = plan && entry_read (plan, (struct entry_zone){self->zone, NULL}, clock_wall_us (),
                                    &kept, &reason) == 0;
    if (same) {
        same = entry_equals (&kept, &item->entry);
        entry_clear (&kept);
    }
    json_decref (plan);
    return same;
}

static void handle_check (struct load_run *self, struct load_line *item,
                          const struct verdict *verdict, const struct zplan_reply *reply)
{
    if (reply->status == ZERO_STATUS_NOT_FIND_ID) {
        submit_line (self, item);
    } else if (verdict->code != EXIT_DONE) {
        refuse_item (self, item, verdict);
    } else if (is_same_plan (self, item, reply)) {
        count_item (self, item, &self->existing, "nothing");
    } else {
        refuse_item_because (self, item, "id: there is another plan with it");
    }
}

static void count_stored_item (struct load_run *self, struct load_line *item,
                               const struct zplan_reply *reply)
{
    enum zplan_stored stored = zplan_reply_stored (reply);
    if (stored == ZPLAN_STORED_BEFORE)
        count_item (self, item, &self->existing, "nothing");
    else if (stored == ZPLAN_STORED_UPDATED || stored == ZPLAN_STORED_REPLACED)
        count_item (self, item, &self->updated,
                    stored == ZPLAN_STORED_UPDATED ? "update" : "replace");
    else
        count_item (self, item, &self->added, "add");
}

static void handle_submission (struct load_run *self, struct load_line *item,
                               const struct verdict *verdict, const struct zplan_reply *reply)
{
    struct span id = call_frame (reply, ZERO_FRAME_GLOBAL_ID);
    if (reply->status == ZERO_STATUS_FRAME_PLANERROR_ID && *item->entry.id) {
        item->refusal = *verdict;
        send_command (self, item, STAGE_COMPARE, "message");
    } else if (verdict->code != EXIT_DONE) {
        refuse_item (self, item, verdict);
    } else if (reply->status != ZERO_STATUS_PLAN_ID || id.size == 0 ||
               id.size >= sizeof item->entry.id) {
        refuse_item_because (self, item, "the station answers, but keeps no plan");
    } else {
        snprintf (item->entry.id, sizeof item->entry.id, "%.*s", (int)id.size,
                  (const char *)id.data);
        count_stored_item (self, item, reply);
    }
}

static void on_answer (void *owner, void *given, int outcome, const struct zplan_reply *reply)
{
    struct load_run *self = owner;
    struct load_line *item = given;
    struct verdict verdict = call_verdict (self->cli, outcome, reply);
    if (verdict.code == EXIT_NO_ANSWER) {
        self->no_answer = verdict;
        self->unknown++;
        free_item (item);
    } else if (outcome != ZPLAN_OK) {
        refuse_item (self, item, &verdict);
    } else if (item->stage == STAGE_CHECK) {
        handle_check (self, item, &verdict, reply);
    } else if (item->stage == STAGE_SUBMIT) {
        handle_submission (self, item, &verdict, reply);
    } else if (item->stage == STAGE_COMPARE && verdict.code == EXIT_DONE &&
               is_same_plan (self, item, reply)) {
        count_item (self, item, &self->existing, "nothing");
    } else {
        refuse_item (self, item, &item->refusal);
    }
    show_progress (self);
}

// -- the lines

// Make the station store the plan as paused and held. A plan that was already paused is not marked
// as held, so that it stays paused when held plans are reset.
static void pause_entry (struct entry *entry)
{
    struct reason reason;
    json_t *plan = json_read_object (span_text (entry->plan), &reason);
    if (field_is_true (plan, "paused")) {
        json_decref (plan);
        return; // the plan is already paused; `paused` and `hold` exclude each other
    }
    json_object_set_new (plan, "hold",
                         entry->state == ENTRY_PAUSED ? json_string ("pause") : json_true ());
    free (entry->plan);
    entry->plan = json_write (plan);
    json_decref (plan);
}

// Send the first request for a line. False: the station does not answer.
static bool send_item (struct load_run *self, struct load_line *item)
{
    bool hold = self->load->mode == LINES_HELD || item->entry.state == ENTRY_PAUSED;
    if (item->entry.state == ENTRY_OVER) {
        count_item (self, item, &self->ended, "nothing");
        return true;
    }
    if (hold)
        pause_entry (&item->entry);
    // Do not pause an existing plan: it may have been released meanwhile.
    bool sent = hold && *item->entry.id ? send_command (self, item, STAGE_CHECK, "message")
                                        : submit_line (self, item);
    if (!sent) {
        self->unknown++;
        free_item (item);
    }
    return sent;
}

// Add the station's only target to a plan without one. False with a reason: there is none, or there
// are several.
static bool add_target (struct load_run *self, json_t *object, struct reason *reason)
{
    bool has_action =
        json_object_get (object, "command") || json_object_get (object, "publish_title");
    if (!has_action || json_object_get (object, "station") || json_object_get (object, "target"))
        return true; // entry_read reports an invalid entry
    if (!self->target_requested) {
        int code;
        struct reason why = {"the station cannot be asked"};
        struct zplan_client *client = call_open (self->cli, &code);
        if (client &&
            only_target_request (self->cli, client, NULL, self->only_target, &why) != EXIT_DONE)
            self->only_target[0] = '\0';
        zplan_client_destroy (&client);
        self->target_requested = true;
        self->no_target_reason = why;
    }
    if (self->only_target[0])
        json_object_set_new (object, "station", json_string (self->only_target));
    else
        reason_set (reason, "target: %s", self->no_target_reason.text);
    return self->only_target[0] != '\0';
}

static bool process_line (struct load_run *self, struct span text)
{
    struct reason reason;
    struct load_line *item = memory_new (sizeof *item);
    item->line = self->line;
    json_t *object = json_read_object (text, &reason);
    bool good = object && add_target (self, object, &reason) &&
                entry_read (object, (struct entry_zone){self->zone, self->load->timezone},
                            clock_wall_us (), &item->entry, &reason) == 0;
    json_decref (object);
    if (good)
        return send_item (self, item);
    free (item);
    reject_line (self, self->line, span_text (reason.text));
    return true;
}

static bool is_blank (const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!strchr (" \t\r\n", text[i]))
            return false;
    return true;
}

// Process a line of the file. False: the station does not answer.
static bool process_text (struct load_run *self, const char *text, size_t size)
{
    self->line++;
    self->read += (int64_t)size;
    bool responsive = is_blank (text, size) || process_line (self, span_of (text, size));
    show_progress (self);
    return responsive;
}

// Process all lines, and wait for the answers. False: the station does not answer.
static bool process_lines (struct load_run *self)
{
    char *text = NULL;
    size_t room = 0;
    ssize_t size;
    const struct submit_lines *load = self->load;
    bool responsive = !load->first_size || process_text (self, load->first, load->first_size);
    while (responsive && self->not_taken == 0 && !(load->stop_on_error && self->refused > 0) &&
           (size = getline (&text, &room, self->file)) >= 0)
        responsive = process_text (self, text, (size_t)size);
    if (ferror (self->file)) {
        complain (file_name (self), span_text (strerror (errno)));
        self->unread = true;
    }
    free (text);
    return responsive && pipeline_drain (self->pipeline);
}

// -- the file

static int report_load (struct load_run *self)
{
    progress_clear (&self->progress);
    if (self->not_taken) { // report the first of these lines: several may have been in flight
        report_refusal (self, self->not_taken_line,
                        span_of (self->not_taken_reason.words, self->not_taken_reason.size));
        fprintf (stderr,
                 "zplan: stopped: line %" PRId64 " is the first that was not taken; lines with an "
                 "id may be sent again\n",
                 self->not_taken_line);
    }
    if (self->cli->json) {
        print_answer_new (
            self->cli, JSON_ANSWER,
            json_pack ("{s:{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}}", "summary", "lines",
                       (json_int_t)self->line, "added", (json_int_t)self->added, "there",
                       (json_int_t)self->existing, "updated", (json_int_t)self->updated, "ended",
                       (json_int_t)self->ended, "refused", (json_int_t)self->refused, "unknown",
                       (json_int_t)self->unknown, "not_taken", (json_int_t)self->not_taken));
    } else {
        if (self->load->on_line)
            self->load->on_line (self->load->owner, 0, NULL);
        printf ("%" PRId64 " plan%s added", self->added, self->added == 1 ? "" : "s");
        const struct {
            int64_t count;
            const char *words;
        } more[] = {{self->existing, self->existing == 1 ? "already exists" : "already exist"},
                    {self->updated, "updated"},
                    {self->ended, "ended and skipped"},
                    {self->refused, "refused"},
                    {self->not_taken, "not taken"},
                    {self->unknown, "not known"}};
        for (size_t i = 0; i < sizeof more / sizeof *more; i++)
            if (more[i].count)
                printf (", %" PRId64 " %s", more[i].count, more[i].words);
        putchar ('\n');
    }
    if (self->unknown)
        return verdict_print (&self->no_answer, NULL);
    return self->refused || self->not_taken || self->unread ? EXIT_REFUSED : EXIT_DONE;
}

FILE *lines_open (const char *name)
{
    struct stat status;
    FILE *file = strcmp (name, "-") == 0 ? stdin : fopen (name, "r");
    bool folder =
        file && file != stdin && fstat (fileno (file), &status) == 0 && S_ISDIR (status.st_mode);
    if (file && !folder)
        return file;
    complain (name, span_text (strerror (file ? EISDIR : errno)));
    if (file)
        fclose (file);
    return NULL;
}

int submit_lines (const struct cli *cli, const struct submit_lines *load)
{
    int code = EXIT_REFUSED;
    struct reason reason;
    struct load_run self = {.cli = cli, .load = load};
    self.zone = zonefile_load (load->timezone ? load->timezone : "UTC", &reason);
    if (!self.zone)
        return usage_error (cli->argv[0], &reason);
    struct stat status;
    self.file = load->opened ? load->opened : lines_open (load->file);
    if (self.file && fstat (fileno (self.file), &status) == 0 && S_ISREG (status.st_mode))
        self.size = status.st_size;
    if (self.file)
        self.pipeline = pipeline_open (cli, on_answer, &self, &code);
    if (self.pipeline) {
        progress_start (&self.progress, cli->argv[0], cli->json ? PROGRESS_LINES : PROGRESS_QUIET);
        process_lines (&self);
        code = report_load (&self);
    }
    pipeline_destroy (&self.pipeline);
    if (self.file && self.file != stdin && self.file != load->opened)
        fclose (self.file);
    zone_destroy (&self.zone);
    return code;
}
