// zplan update: change existing plans. A plan is read first, and its revision is sent with the
// changes: if somebody else changed the plan in between, the station rejects the update.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "bulk.h"
#include "clock.h"
#include "desc.h"
#include "json.h"
#include "action_frame.h"
#include "print.h"
#include "zonefile.h"

struct update_options {
    struct bulk bulk;
    struct action_options action;
    bool no_keep, no_wall_clock;
    struct zone *zone; // of --timezone, default UTC
};

static const struct option rows[] = {
    FLAG_OPTION (struct update_options, no_keep, "--no-keep",
                 "skip what was missed, instead of running it late"),
    FLAG_OPTION (struct update_options, no_wall_clock, "--no-wall-clock",
                 "the plan keeps no time zone of its own: the station's counts"),
};

// The filters of the other verbs, but named --of-...: here --title and --type are new values.
static const struct option which_rows[] = {
    TEXT_OPTION (struct update_options, bulk.selection.station, "--of-target", "NAME",
                 "plans for this target", .aliases = "--of-station", .offered = VALUES_STATIONS,
                 .utf8 = true, .once = true),
    TEXT_OPTION (struct update_options, bulk.selection.state, "--of-state", "STATE",
                 "queued retrying paused failed", .values = STATE_WORDS,
                 .old_values = WIRE_STATE_WORDS, .once = true),
    TEXT_OPTION (struct update_options, bulk.selection.type, "--of-type", "TYPE", TYPE_WORDS,
                 .values = TYPE_WORDS, .once = true),
    TEXT_OPTION (struct update_options, bulk.selection.title, "--of-title", "PATTERN",
                 "plans whose title matches; * matches anything", .utf8 = true, .once = true),
    TEXT_OPTION (struct update_options, bulk.selection.verdict, "--of-verdict", "VERDICT",
                 VERDICT_WORDS, .values = VERDICT_WORDS, .once = true),
};

static const char about[] =
    "Change plans: what is not given stays as it is. A new time counts from now, as if the plan\n"
    "had just been added. All --arg together replace all arguments. Rejected while a run is in\n"
    "progress, and when the plan was changed meanwhile. The value - removes a policy. Local\n"
    "times are in the plan's own zone, if it has one and --timezone is not given; --timezone\n"
    "with a new kind of time, or with --wall-clock, gives it another.\n\n"
    "  zplan update 1f --weekly tue@09:00\n"
    "  zplan update 1f --cron '0 9 * * TUE' --retry fixed:30s:5,manual\n"
    "  zplan update 1f --retry - --end -\n"
    "  zplan update 1f --repeat 20 --title 'report, longer'\n"
    "  zplan update --of-target jobs --of-title 'report*' --repeat forever --dry-run\n"
    "  zplan update 1f 20 --command sweep --arg /tmp --arg /var/tmp\n";

// -- when it runs

// Texts of the stored kind of time, against which --repeat and --skip are checked if no kind is
// given.
struct stored_words {
    char texts[3][24];
};

static void use_stored_cron (const json_t *cron, struct option_texts *ret)
{
    size_t i;
    const json_t *text;
    if (json_is_string (cron))
        ret->texts[ret->count++] = json_string_value (cron);
    json_array_foreach (cron, i, text)
    {
        if (ret->count < OPTION_TEXTS_MAX && json_is_string (text))
            ret->texts[ret->count++] = json_string_value (text);
    }
}

static void use_stored_kind (const json_t *plan, struct when_words *words,
                             struct stored_words *stored)
{
    const struct {
        const char *field, **word;
    } fields[] = {
        {"plan_type", &words->type}, {"plan_value", &words->value}, {"base_time", &words->time}};
    use_stored_cron (json_object_get (plan, "cron"), &words->cron);
    if (words->cron.count)
        return; // cron is the complete schedule
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        snprintf (stored->texts[i], sizeof stored->texts[i], "%" JSON_INTEGER_FORMAT,
                  field_number (plan, fields[i].field));
        *fields[i].word = stored->texts[i];
    }
}

// Whether the plan changes between running once and repeating: then plan_repet must change, too.
static bool repeat_changes (const struct when *when, const json_t *plan)
{
    json_int_t type = field_number (plan, "plan_type");
    return schedule_repeats ((enum schedule_type)type) != schedule_repeats (when->rule.type);
}

static bool has_member (const json_t *plan, const char *field)
{
    return json_object_get (plan, field) != NULL;
}

// Whether the plan will have this policy after the change.
static bool has_policy (const json_t *fields, const json_t *plan, const char *field)
{
    const json_t *value = json_object_get (has_member (fields, field) ? fields : plan, field);
    return value && !json_is_null (value);
}

// Remove a stored member, unless the change sets it.
static void remove_member (json_t *fields, const json_t *plan, const char *field)
{
    if (has_member (plan, field) && !has_member (fields, field))
        json_object_set_new (fields, field, json_null ());
}

// Set the new kind of time, and remove stored members that do not apply to it.
static void set_kind (const struct when *when, const struct when_words *words, const json_t *plan,
                      json_t *fields)
{
    const struct schedule *rule = &when->rule;
    bool zone_stays =
        !words->timezone && has_member (plan, "timezone") && !has_member (fields, "timezone");
    json_object_update_missing (fields, when->members); // no zone after --no-wall-clock
    if (zone_stays)
        json_object_del (fields, "timezone");
    json_object_set_new (fields, "plan_type", json_integer (rule->type));
    json_object_set_new (fields, "plan_value", json_integer (rule->value));
    json_object_set_new (fields, "plan_time", json_integer (rule->base_time));
    if (words->timezone && has_member (plan, "timezone") && !has_member (fields, "timezone"))
        json_object_set_new (fields, "timezone", json_string (words->timezone));
    remove_member (fields, plan, "cron");
    if (json_is_array (json_object_get (plan, "cycle")) || !schedule_repeats (rule->type))
        remove_member (fields, plan, "cycle");
    if (!schedule_repeats (rule->type))
        remove_member (fields, plan, "iteration");
}

static void set_keep (const struct update_options *self, const struct when *when, bool new_kind,
                      const json_t *plan, json_t *fields)
{
    const struct when_words *words = &self->action.words;
    bool keep = when->rule.keep;
    // --in and --at run a missed time late; a plan that repeats from now on should not inherit
    // this.
    bool resets = new_kind && repeat_changes (when, plan) && schedule_repeats (when->rule.type);
    bool is_set = self->no_keep || words->keep;
    if (!is_set && has_policy (fields, plan, "misfire"))
        return; // the misfire policy decides
    if (is_set || (new_kind && keep) || resets)
        json_object_set_new (fields, "no_keep",
                             json_boolean (!self->no_keep && (words->keep || keep)));
}

// Set the changed windows, policies and zone; the value - removes one.
static int set_terms (const struct update_options *self, const struct when_words *words,
                      const struct zone *zone, int64_t step, json_t *fields, struct reason *reason)
{
    const struct terms_context context = {.zone = zone, .step = step, .use = TERMS_CHANGED};
    if (self->no_wall_clock)
        json_object_set_new (fields, "timezone", json_null ());
    if (words->start && strcmp (words->start, "-") == 0)
        json_object_set_new (fields, "start_time", json_null ());
    else if (words->start && when_put_start (words->start, zone, fields, reason))
        return -1;
    return terms_read (&words->terms, &context, fields, reason);
}

// Add the members of the time options to `fields`; local times are in this zone. `plan` may be an
// empty object, to check the options only.
static int set_times_in_zone (const struct update_options *self, const struct zone *zone,
                              const json_t *plan, json_t *fields, struct reason *reason)
{
    struct when when;
    struct stored_words stored;
    struct when_words words = self->action.words, rest = words;
    bool new_kind = when_is_given (&words);
    words.terms = (struct terms){0};
    if (new_kind)
        rest.start = NULL;
    else
        words.start = NULL;
    if (!new_kind && (words.repeat || words.skip))
        use_stored_kind (plan, &words, &stored);
    if (when_read (&words, zone, clock_wall_us (), &when, reason))
        return -1;
    int64_t step = words.every ? when.rule.value : 1;
    int rc = set_terms (self, &rest, zone, step, fields, reason);
    if (rc == 0 && new_kind)
        set_kind (&when, &words, plan, fields);
    else if (rc == 0 && words.wall_clock)
        json_object_update (fields, when.members);
    bool repeats = words.repeat || (new_kind && repeat_changes (&when, plan));
    if (repeats && !has_policy (fields, NULL, "iteration"))
        json_object_set_new (fields, "plan_repet", json_integer (when.rule.repeat));
    if (words.skip)
        json_object_set_new (fields, "skip_set", json_integer (when.skip));
    set_keep (self, &when, new_kind, plan, fields);
    when_clear (&when);
    return rc;
}

static int set_times (const struct update_options *self, const json_t *plan, json_t *fields,
                      struct reason *reason)
{
    const char *name = json_string_value (json_object_get (plan, "timezone"));
    if (self->action.words.timezone || self->no_wall_clock || !name)
        return set_times_in_zone (self, self->zone, plan, fields, reason);
    struct zone *zone = zonefile_load (name, reason);
    int rc = zone ? set_times_in_zone (self, zone, plan, fields, reason) : -1;
    zone_destroy (&zone);
    return rc;
}

// -- the action

enum { FIRST_FRAME = 2 }; // index in the stored messages: after the mailbox and the description

// Parse the description in stored messages. 0, or -1 with a reason.
static int read_description (const json_t *messages, struct desc *ret, struct reason *reason)
{
    size_t count = json_array_size (messages), size;
    if (count < FIRST_FRAME)
        return reason_set (reason, "its stored messages are broken");
    uint8_t *bytes = frame_bytes (json_array_get (messages, 1), &size);
    struct reason why = {"no bytes"};
    int rc = 0;
    if (!bytes || desc_parse (span_of (bytes, size), count - FIRST_FRAME, ret, &why))
        rc = reason_set (reason, "its stored description is broken: %s", why.text);
    free (bytes);
    return rc;
}

static void add_frame (struct desc *desc, json_t *list, uint8_t type, json_t *frame)
{
    if (desc->count < DESC_FRAMES_MAX)
        desc_add (desc, type);
    json_array_append_new (list, frame);
}

// If frames are given, set `messages` in the fields to change: given frames replace the stored ones
// of their type, at the position of the first of these, or are added at the end. 0, or -1 with a
// reason.
static int update_messages (const struct action_options *action, const json_t *plan, json_t *fields,
                            struct reason *reason)
{
    struct zplan_frame given[ACTION_FRAMES_MAX];
    enum { TYPE_ABSENT, TYPE_GIVEN, TYPE_ADDED } types[UINT8_MAX + 1] = {0};
    const json_t *messages = json_object_get (plan, "messages");
    size_t count = action_frames (action, given);
    struct desc stored;
    if (count == 0)
        return 0;
    if (read_description (messages, &stored, reason))
        return -1;
    for (size_t i = 0; i < count; i++)
        types[given[i].type] = TYPE_GIVEN;

    struct desc merged = {.code = stored.code};
    json_t *list = json_array ();
    for (size_t i = 0; i < stored.count + count; i++) {
        uint8_t type = i < stored.count ? stored.types[i] : given[i - stored.count].type;
        if (types[type] == TYPE_ABSENT)
            add_frame (&merged, list, type,
                       json_incref (json_array_get (messages, FIRST_FRAME + i)));
        for (size_t j = 0; types[type] == TYPE_GIVEN && j < count; j++)
            if (given[j].type == type)
                add_frame (&merged, list, type,
                           json_from_frame (span_of (given[j].data, given[j].size)));
        types[type] = types[type] == TYPE_ABSENT ? TYPE_ABSENT : TYPE_ADDED;
    }
    if (json_array_size (list) > DESC_FRAMES_MAX) {
        json_decref (list);
        return reason_set (reason, "more than %d frames", DESC_FRAMES_MAX);
    }
    uint8_t bytes[DESC_SIZE_MAX];
    size_t size = desc_write (&merged, bytes);
    json_array_insert_new (list, 0, json_from_frame (span_of (bytes, size)));
    json_array_insert (list, 0, json_array_get (messages, 0));
    return json_object_set_new (fields, "messages", list);
}

// -- one plan

// Make the argument of the command `update`. NULL with a reason.
static json_t *update_fields (const struct update_options *self, const json_t *plan,
                              struct reason *reason)
{
    json_t *revision = json_object_get (plan, "revision");
    json_t *fields = json_object ();
    json_t *vote = NULL;
    bool good = json_is_integer (revision);
    if (!good)
        reason_set (reason, "the station gives it no revision: it cannot be changed");
    json_object_set (fields, "revision", revision);
    if (self->action.title)
        json_object_set_new (fields, "description", json_string (self->action.title));
    good = good && set_times (self, plan, fields, reason) == 0 &&
           action_vote (&self->action, json_object_get (plan, "vote"), &vote, reason) == 0 &&
           update_messages (&self->action, plan, fields, reason) == 0;
    if (vote)
        json_object_set_new (fields, "vote", vote);
    if (good)
        return fields;
    json_decref (fields);
    return NULL;
}

static int update_one_plan (struct plan_command *command, const char *id)
{
    int code;
    struct reason reason;
    json_t *plan = plan_command_read_plan (command, id, &code);
    if (!plan)
        return code;
    json_t *fields = update_fields (command->owner, plan, &reason);
    if (fields) {
        char *text = json_write (fields);
        code = plan_command_send (command, id, text);
        free (text);
    } else {
        struct verdict verdict = verdict_refused (reason.text);
        code = plan_command_report_rejection (command, id, &verdict);
    }
    json_decref (fields);
    json_decref (plan);
    return code;
}

// -- checks of the options

// Check --repeat and --skip alone, for the stored kind of time: their limits are the same for all
// kinds that repeat.
static int check_repeat_and_skip (const struct when_words *given, const struct zone *zone,
                                  struct reason *reason)
{
    struct when when;
    const struct when_words words = {.every = "1h", .repeat = given->repeat, .skip = given->skip};
    if (when_read (&words, zone, clock_wall_us (), &when, reason))
        return -1;
    when_clear (&when);
    return 0;
}

// Check all that does not depend on the stored plan, before any is read.
static int check_update_options (struct update_options *self, struct reason *reason)
{
    struct update_options trial = *self;
    struct when_words *words = &trial.action.words;
    const char *zone = words->timezone;
    json_t *vote = NULL, *nothing = json_object (), *fields = json_object ();
    if (!words->wall_clock)
        words->timezone = NULL; // on its own --timezone only says how other options are read
    const struct option_group groups[] = {action_change_options (&trial.action),
                                          when_options (words), terms_options (&words->terms),
                                          terms_names_changed (&words->terms)};
    bool given = self->no_keep || self->no_wall_clock ||
                 options_given (groups, sizeof groups / sizeof *groups);
    words->timezone = zone;
    bool with_stored = !when_is_given (words);
    if (with_stored)
        words->repeat = words->skip = NULL;
    int rc = -1;
    if (!given)
        reason_set (reason, "want something to change: --title, --every, --repeat, --arg ...");
    else if (words->keep && self->no_keep)
        reason_set (reason, "--keep and --no-keep: want one or the other");
    else if (words->wall_clock && self->no_wall_clock)
        reason_set (reason, "--wall-clock and --no-wall-clock: want one or the other");
    else if (!when_check_conflicts (&self->action.words, reason) &&
             !(with_stored && check_repeat_and_skip (&self->action.words, self->zone, reason)) &&
             !set_times_in_zone (&trial, self->zone, nothing, fields, reason))
        rc = action_vote (&self->action, NULL, &vote, reason);
    json_decref (vote);
    json_decref (nothing);
    json_decref (fields);
    return rc;
}

int verb_update (const struct cli *cli)
{
    struct update_options self = {0};
    const struct option_group which = OPTION_GROUP ("Which plans", which_rows, &self);
    const struct usage usage = {
        .synopsis = "zplan update ID... | --of-target NAME ... | --all  [--title TEXT] [TIME] ...",
        .about = about,
        .groups = {action_change_options (&self.action), when_options (&self.action.words),
                   terms_options (&self.action.words.terms),
                   terms_names_changed (&self.action.words.terms),
                   OPTION_GROUP ("Besides", rows, &self), which, bulk_options (&self.bulk)},
        .words_max = INT_MAX,
        .words = "plans, by id or name",
    };
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    struct reason reason;
    struct plan_command command = {.cli = cli,
                                   .bulk = &self.bulk,
                                   .name = "update",
                                   .done = "updated",
                                   .apply = update_one_plan,
                                   .owner = &self};
    const char *zone = self.action.words.timezone ? self.action.words.timezone : "UTC";
    self.zone = zonefile_load (zone, &reason);
    if (!self.zone || bulk_read (&self.bulk, &which, cli, count, &reason) ||
        check_update_options (&self, &reason))
        code = usage_error (cli->argv[0], &reason);
    else
        code = bulk_apply (&command);
    zone_destroy (&self.zone);
    free (self.bulk.plans);
    return code;
}
