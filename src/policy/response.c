#include "response.h"

void response_connected (struct response *self, int64_t now_us, bool duplicate)
{
    self->message_us = now_us;
    self->status_us = 0;
    self->credit = RESPONSE_CREDIT_FIRST;
    self->unproven = duplicate;
}

bool response_message_came (struct response *self, int64_t now_us)
{
    bool was = self->unresponsive;
    self->message_us = now_us;
    self->unproven = false;
    self->unresponsive = false;
    self->probe = 0;
    self->since_s = 0;
    self->reconnects = 0;
    return was;
}

// A status that does not show a worker resets the credit: the target may need long for each run.
void response_status (struct response *self, uint64_t number, bool works, int64_t most,
                      int64_t now_us)
{
    self->status_us = now_us;
    if (number > self->answered)
        self->answered = number;
    if (!works)
        self->credit = RESPONSE_CREDIT_FIRST;
    else if (self->credit < most)
        self->credit++;
}

void response_set_unresponsive (struct response *self, int64_t now_s)
{
    self->unresponsive = true;
    self->credit = RESPONSE_CREDIT_FIRST;
    self->since_s = now_s;
}

int64_t response_credit (const struct response *self, int64_t most)
{
    if (!self->grows)
        return most;
    int64_t credit = self->unproven ? 1 : self->credit;
    return credit < most ? credit : most;
}

// Targets send statuses in the order of the runs. If a later run got its status, this one is lost;
// if the last status came recently, this one may still come.
enum no_status response_find_cause (const struct response *self, uint64_t number,
                                    int64_t timeout_us, int64_t now_us, int64_t *ret_until_us)
{
    if (self->answered > number)
        return NO_STATUS_RETRY;
    if (now_us - self->message_us >= timeout_us)
        return NO_STATUS_UNRESPONSIVE;
    if (!self->status_us || now_us - self->status_us >= timeout_us)
        return NO_STATUS_RETRY;
    *ret_until_us = self->status_us + timeout_us;
    return NO_STATUS_WAIT;
}
