// zplan watch: results as the station publishes them, until a signal, or so many of them; and none
// missed. A subscriber hears nothing of what was published while its connection was away, or faster
// than it read. So the watch hears all titles, keeps the seq of what it printed, and when a number
// is left out asks `history` for it before it goes on. When nothing comes it looks now and then
// whether the station has published more: the last result may be the lost one.
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zmq.h>

#include "clock.h"
#include "gap.h"
#include "json.h"
#include "keyfile.h"
#include "memory.h"
#include "options.h"
#include "pages.h"
#include "print.h"
#include "process.h"
#include "result.h"

enum {
    LOOK_US = 5000000,      // quiet for this long: look whether there is more
    GRACE_US = 1000000,     // there is: it may be on its way, so look again before asking for it
    LOOK_MAX_US = 60000000, // between looks at a station that does not answer
    AGAIN_US = 1000000,     // between two tries to fill a gap
    PATIENCE_US = 60000000, // with those of one gap
    RESULTS_AT_ONCE = 64    // then signals are looked for
};

struct watch {
    const struct cli *cli;
    struct zplan_subscriber *subscriber;
    struct zplan_client *client; // for the history
    int signal_fd;
    struct span title; // only results whose title starts with this are printed
    int64_t left;      // results still wanted
    bool ended;        // enough, or a signal came, or nobody reads the output
    struct gap gap;
    bool answered;       // `history` has been answered: it is worth to wait for it
    bool told;           // that it is not
    bool behind;         // the last look found more than had come
    int64_t look_us;     // monotonic: when to look next
    int64_t look_gap_us; // from the last look to it
};

struct wanted {
    int64_t count, since; // since -1 = not given
    const char *epoch;
};

static const struct option rows[] = {
    {.name = "-n",
     .metavar = "COUNT",
     .type = OPTION_NUMBER,
     .offset = offsetof (struct wanted, count),
     .help = "end after this many results",
     .min = 1,
     .max = INT64_MAX},
    {.name = "--since",
     .metavar = "SEQ",
     .type = OPTION_NUMBER,
     .offset = offsetof (struct wanted, since),
     .help = "begin with what was published after this one",
     .max = INT64_MAX},
    {.name = "--epoch",
     .metavar = "TEXT",
     .type = OPTION_TEXT,
     .offset = offsetof (struct wanted, epoch),
     .help = "what SEQ belongs to: in another one now, begin with all that is kept"},
};

static const char about[] =
    "Print the results of runs as they come: time, plan, title, status, next time, text.\n"
    "With --json an object a line. Only plans whose title starts with TITLE, if that is given.\n"
    "What was published but did not come is asked for at --connect and printed in its place, "
    "marked\n"
    "(from history), in JSON {\"from\":\"history\", ...}. seq and epoch of the last result that a\n"
    "program has seen are what it gives to --since and --epoch next time, to go on where it "
    "was.\n\n"
    "  zplan watch\n"
    "  zplan watch report -n 1\n"
    "  zplan watch --since 4711\n"
    "  zplan watch --json | jq -r .id\n";

// -- printing

// After each line: whether to go on.
static void printed (struct watch *self)
{
    self->left--;
    // What could not be written is told at the end of main.
    if (fflush (stdout) || self->left == 0)
        self->ended = true;
}

static bool has_title (const struct watch *self, struct span title)
{
    return title.size >= self->title.size &&
           span_equal (span_of (title.data, self->title.size), self->title);
}

static bool run_has_title (const struct watch *self, const json_t *run)
{
    const json_t *title = json_object_get (run, "title");
    if (self->title.size == 0 || json_is_string (title))
        return has_title (self, text_of (title));
    char *text = title ? json_write (title) : memory_text ("");
    size_t size = strlen (text);
    uint8_t *bytes = memory_new (size);
    bool fits = json_to_frame (title, bytes, &size) && has_title (self, span_of (bytes, size));
    free (bytes);
    free (text);
    return fits;
}

// Whether a signal came that ends the watch.
static bool is_ended (struct watch *self)
{
    int number = process_next_signal (self->signal_fd);
    if (number != 0 && number != SIGCHLD)
        self->ended = true;
    return self->ended;
}

// What a plan or run says of its broadcast; the epoch is borrowed.
static struct gap_mark mark_of (const json_t *object)
{
    struct gap_mark mark = {.epoch = json_string_value (json_object_get (object, "epoch"))};
    json_get_integer (object, "seq", 1, INT64_MAX, &mark.seq);
    json_get_integer (object, "exec_id", 1, INT64_MAX, &mark.exec_id);
    return mark;
}

// -- the history

// What every page of the history says of the whole.
struct head {
    int64_t first, last;
    const char *epoch; // borrowed from the page
    bool missed;
};

static bool read_head (const json_t *page, struct head *ret)
{
    *ret = (struct head){.epoch = json_string_value (json_object_get (page, "epoch")),
                         .missed = json_is_true (json_object_get (page, "missed"))};
    json_get_integer (page, "first", 0, INT64_MAX, &ret->first);
    if (!ret->epoch)
        ret->epoch = ""; // nothing was ever published
    return json_get_integer (page, "last", 0, INT64_MAX, &ret->last);
}

// A walk through what the history has behind gap.last and before the result that is here.
struct filling {
    struct watch *watch;
    int64_t before; // INT64_MAX: none is here
    bool opened;    // the first page was seen
    bool broken;
    int64_t last; // of the station
    char epoch[EPOCH_SIZE];
};

static void open_history (struct filling *self, const struct head *head)
{
    struct gap *gap = &self->watch->gap;
    self->opened = true;
    self->last = head->last;
    snprintf (self->epoch, sizeof self->epoch, "%s", head->epoch);
    bool gone = head->missed;
    if (gap_is_elsewhere (gap, head->epoch)) {
        gone = false;
        complain (NULL, span_text ("the station counts its results anew: what came before that and "
                                   "was not printed is not known"));
        gap_anew (gap, head->epoch);
    } else if (head->last < gap->last) {
        fprintf (stderr, "zplan: there is no result %" PRId64 " yet: the last one is %" PRId64 "\n",
                 gap->last, head->last);
        gap->last = head->last;
        gone = false;
    }
    if (gone)
        fprintf (stderr,
                 "zplan: results after %" PRId64 " are gone: the first one kept is %" PRId64 "\n",
                 gap->last, head->first);
}

static bool take_page (struct pages *pages, const json_t *page)
{
    struct filling *self = pages->owner;
    struct watch *watch = self->watch;
    struct head head;
    if (!read_head (page, &head)) {
        self->broken = true;
        return false;
    }
    if (!self->opened)
        open_history (self, &head);
    size_t i;
    json_t *run;
    json_array_foreach (json_object_get (page, "runs"), i, run)
    {
        struct gap_mark mark = mark_of (run);
        mark.epoch = self->epoch;
        if (mark.seq >= self->before)
            return false;
        if (!gap_misses (&watch->gap, mark.seq, self->before))
            continue;
        gap_tell (&watch->gap, &mark);
        if (!run_has_title (watch, run))
            continue;
        result_print_run (watch->cli, run, self->epoch);
        printed (watch);
        if (watch->ended)
            return false;
    }
    return !is_ended (watch);
}

static json_t *filter_since (const struct gap *gap)
{
    json_t *filter = json_pack ("{s:I}", "since", (json_int_t)gap->last);
    if (*gap->epoch)
        json_object_set_new (filter, "epoch", json_string (gap->epoch));
    return filter;
}

// Print what was published after the last result, and before the one that is here.
static struct verdict fill (struct watch *self, int64_t before)
{
    struct filling filling = {.watch = self, .before = before};
    struct pages pages = {.word = "history",
                          .filter = filter_since (&self->gap),
                          .room = INT64_MAX,
                          .take = take_page,
                          .owner = &filling};
    struct verdict verdict = pages_turn (self->cli, self->client, &pages);
    json_decref (pages.filter);
    if (verdict.code == EXIT_DONE && filling.broken)
        verdict = verdict_refused ("the station's history is broken");
    if (verdict.code != EXIT_DONE)
        return verdict;
    self->answered = true;
    self->told = false;
    // Where the history holds no run for a number, none will come.
    if (!self->ended)
        gap_reach (&self->gap, filling.last < before ? filling.last : before - 1, filling.epoch);
    return verdict;
}

// Tell once that the history cannot be asked.
static void tell_silence (struct watch *self, const struct verdict *verdict)
{
    if (!self->told) {
        verdict_tell (verdict, "history");
        complain (NULL,
                  span_text ("until that is answered, what does not come cannot be asked for"));
    }
    self->told = true;
}

static void wait_a_little (struct watch *self)
{
    zmq_pollitem_t item = {.fd = self->signal_fd, .events = ZMQ_POLLIN};
    zmq_poll (&item, 1, AGAIN_US / 1000);
    is_ended (self);
}

// Fill the gap before the result that is here. Where the history was answered before, it is waited
// for: nothing is printed out of its order as long as there is hope.
static void fill_before (struct watch *self, const struct gap_mark *mark)
{
    int64_t until_us = clock_mono_us () + (self->answered ? PATIENCE_US : 0);
    for (;;) {
        struct verdict verdict = fill (self, mark->seq);
        if (verdict.code == EXIT_DONE || is_ended (self))
            return;
        tell_silence (self, &verdict);
        if (clock_mono_us () >= until_us)
            break;
        wait_a_little (self);
        if (self->ended)
            return;
    }
    fprintf (stderr, "zplan: results between %" PRId64 " and %" PRId64 " are missed\n",
             gap_is_elsewhere (&self->gap, mark->epoch) ? 0 : self->gap.last, mark->seq);
}

// Ask for no more than where the station is. True: `ret_page` holds the head, to be given back.
static bool ask_head (struct watch *self, json_t **ret_page, struct head *ret)
{
    struct zplan_reply reply;
    json_t *filter = self->gap.known ? filter_since (&self->gap) : json_pack ("{s:b}", "newest", 1);
    json_object_set_new (filter, "limit", json_integer (1));
    char *text = json_write (filter);
    int outcome = zplan_client_manage (self->client, "history", (const char *[]){text}, 1, &reply);
    free (text);
    json_decref (filter);
    struct verdict verdict = call_verdict (self->cli, outcome, &reply);
    struct reason reason;
    *ret_page = NULL;
    if (verdict.code == EXIT_DONE) {
        *ret_page = json_read_object (call_frame (&reply, ZERO_FRAME_JSON), &reason);
        if (!*ret_page || !read_head (*ret_page, ret))
            verdict = verdict_refused ("the station's history is broken");
    }
    if (verdict.code == EXIT_DONE) {
        self->answered = true;
        self->told = false;
        return true;
    }
    json_decref (*ret_page);
    if (!is_ended (self))
        tell_silence (self, &verdict);
    return false;
}

static void look_after (struct watch *self, int64_t gap_us)
{
    self->look_gap_us = gap_us;
    self->look_us = clock_mono_us () + gap_us;
}

// Whether the station has published more than came here. What is found for the first time may still
// be on its way.
static void look (struct watch *self)
{
    struct head head = {.epoch = ""};
    json_t *page;
    if (!ask_head (self, &page, &head)) {
        int64_t gap_us = 2 * self->look_gap_us;
        look_after (self, gap_us < LOOK_US ? LOOK_US : gap_us < LOOK_MAX_US ? gap_us : LOOK_MAX_US);
        return;
    }
    if (!self->gap.known)
        gap_begin (&self->gap, head.last, head.epoch);
    bool behind = gap_is_behind (&self->gap, head.last, head.epoch);
    json_decref (page);
    if (behind && self->behind) {
        struct verdict verdict = fill (self, INT64_MAX);
        if (verdict.code != EXIT_DONE && !is_ended (self))
            tell_silence (self, &verdict);
        behind = false;
    }
    self->behind = behind;
    look_after (self, behind ? GRACE_US : LOOK_US);
}

// -- results

static void hear (struct watch *self, const struct zplan_result *result)
{
    struct reason reason;
    json_t *plan = json_read_object (span_of (result->plan, result->plan_size), &reason);
    struct gap_mark mark = mark_of (plan);
    enum gap_sort sort = gap_sort (&self->gap, &mark);
    if (sort == GAP_MISSING || sort == GAP_ANEW)
        fill_before (self, &mark);
    if (sort == GAP_BACK)
        fprintf (stderr,
                 "zplan: the station has lost results that were printed: after %" PRId64
                 " comes %" PRId64 "\n",
                 self->gap.last, mark.seq);
    if (sort != GAP_AGAIN && !self->ended) {
        if (sort != GAP_STRAY)
            gap_pass (&self->gap, &mark);
        if (has_title (self, span_of (result->title, result->title_size))) {
            result_print (self->cli, result, plan);
            printed (self);
        }
    }
    json_decref (plan);
}

// Take what has come, but look for signals now and then.
static void hear_all (struct watch *self)
{
    struct zplan_result result;
    for (int i = 0; i < RESULTS_AT_ONCE && !self->ended; i++) {
        if (zplan_subscriber_recv (self->subscriber, 0, &result) != ZPLAN_OK)
            break;
        hear (self, &result);
        self->behind = false;
        // Looks at a station that does not answer stay as rare as they have become.
        look_after (self, self->told ? self->look_gap_us : LOOK_US);
    }
}

static int wait_and_print (struct watch *self)
{
    while (!self->ended) {
        zmq_pollitem_t items[] = {
            {.socket = zplan_subscriber_socket (self->subscriber), .events = ZMQ_POLLIN},
            {.fd = self->signal_fd, .events = ZMQ_POLLIN}};
        int64_t wait_us = self->look_us - clock_mono_us ();
        int rc = zmq_poll (items, 2, wait_us > 0 ? (long)(wait_us / 1000) + 1 : 0);
        if (rc < 0 && errno != EINTR)
            return EXIT_REFUSED;
        if (is_ended (self))
            break;
        hear_all (self);
        if (!self->ended && clock_mono_us () >= self->look_us)
            look (self);
    }
    return EXIT_DONE;
}

// -- the beginning

static struct zplan_subscriber *subscribe (const struct cli *cli, int *ret_exit)
{
    struct keyfile key;
    if (keyfile_read (&key, cli, ret_exit))
        return NULL;
    struct zplan_subscriber *subscriber =
        key.given ? zplan_subscriber_new_curve (cli->publish, "", &key.curve)
                  : zplan_subscriber_new (cli->publish, "");
    if (subscriber)
        return subscriber;
    struct reason reason;
    if (errno == EINVAL) {
        reason_set (&reason, "--publish: want tcp://HOST:PORT or ipc://PATH, got %s",
                    quoted (span_text (cli->publish)));
        *ret_exit = usage_error (cli->argv[0], &reason);
    } else {
        complain (cli->publish, span_text (strerror (errno)));
        *ret_exit = EXIT_REFUSED;
    }
    return NULL;
}

// Without --since the watch begins with what is published from now on. A history that does not
// answer keeps nobody from that, but from what was asked for by --since.
static int begin (struct watch *self, const struct wanted *wanted)
{
    look_after (self, LOOK_US);
    if (wanted->since < 0) {
        look (self);
        return EXIT_DONE;
    }
    gap_resume (&self->gap, wanted->since, wanted->epoch);
    struct verdict verdict = fill (self, INT64_MAX);
    return is_ended (self) ? EXIT_DONE : verdict_tell (&verdict, "history");
}

static int watch (struct watch *self, const struct wanted *wanted)
{
    int code;
    self->client = call_open (self->cli, &code);
    self->subscriber = self->client ? subscribe (self->cli, &code) : NULL;
    if (!self->subscriber)
        return code;
    zplan_client_set_interrupt (self->client, self->signal_fd);
    code = begin (self, wanted);
    return code == EXIT_DONE ? wait_and_print (self) : code;
}

int verb_watch (const struct cli *cli)
{
    struct wanted wanted = {.count = INT64_MAX, .since = -1};
    const struct usage usage = {
        .synopsis = "zplan watch [TITLE] [-n COUNT] [--since SEQ]",
        .about = about,
        .groups = {{"Watch", rows, sizeof rows / sizeof *rows, &wanted}},
        .group_count = 1,
        .words_max = 1,
        .words = "at most one title",
    };
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    struct reason reason;
    if (wanted.epoch && wanted.since < 0)
        reason_set (&reason, "--epoch: goes with --since only");
    else
        code = call_text ("--epoch", wanted.epoch, &reason);
    if ((wanted.epoch && wanted.since < 0) || code)
        return usage_error (cli->argv[0], &reason);

    struct watch self = {.cli = cli,
                         .signal_fd = process_prepare (),
                         .title = span_text (count ? cli->argv[1] : ""),
                         .left = wanted.count};
    code = watch (&self, &wanted);
    zplan_subscriber_destroy (&self.subscriber);
    zplan_client_destroy (&self.client);
    close (self.signal_fd);
    return code;
}
