// Keeps lists of the stopped plans, and of the dead letters among them, in the order in which they
// stopped.
#include <stdio.h>

#include "plan_step.h"
#include "store_private.h"

static enum stop_state stop_state_of (int64_t state, int64_t verdict)
{
    if (state != PLAN_PAUSE && state != PLAN_ERROR && state != PLAN_CLOSE)
        return STOP_NONE;
    return verdict == VERDICT_FAILURE || verdict == VERDICT_PENDING ? STOP_DEAD : STOP_STOPPED;
}

enum stop_state plan_stop_state (const struct plan *plan)
{
    // During a run outside the schedule, `extra` has the state that the plan had before.
    return plan->step.size ? STOP_NONE
                           : stop_state_of (plan->extra ? plan->extra : plan->state, plan->verdict);
}

enum stop_state message_stop_state (struct span message)
{
    struct plan_step step;
    int64_t extra = message_number (message, "extra");
    return plan_step_stored (message, &step)
               ? STOP_NONE
               : stop_state_of (extra ? extra : message_number (message, "plan_state"),
                                message_number (message, "verdict"));
}

// Add the plan to the list with the present time, unless it is there already, or remove it.
static void write_stop_list (struct store *self, const char *key, struct span member, bool stopped)
{
    char score[32];
    if (!stopped) {
        store_put (self, WORDS (TEXT ("ZREM"), TEXT (key), member));
        return;
    }
    snprintf (score, sizeof score, "%.3f", (double)store_now_us (self) / 1e6);
    store_put (self, WORDS (TEXT ("ZADD"), TEXT (key), TEXT ("NX"), TEXT (score), member));
}

void store_write_stop_state (struct store *self, struct span station, uint64_t plan_id,
                             enum stop_state stop_state)
{
    struct span member = PLAN_KEY (KEY_MESSAGE, station, plan_id);
    write_stop_list (self, KEY_STOPPED, member, stop_state != STOP_NONE);
    write_stop_list (self, KEY_DEAD, member, stop_state == STOP_DEAD);
}
