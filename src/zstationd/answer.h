// Answers: how they are built from a request, and the way back they take.
#pragma once

#include "station.h"

enum { STATUS_TEXT_MAX = REASON_MAX + 32 }; // a status word and a reason

// Begin an answer: a STATUS frame with the status's word and the reason, unless that is NULL. The
// words are written to `text` and borrowed by the answer.
void answer_start (struct message *answer, uint8_t status, const char *reason,
                   char text[STATUS_TEXT_MAX]);

// Append what identifies the request - LOCAL_ID, GLOBAL_ID, REQUEST_ID, REQUESTER - where the
// request has it and the answer does not yet.
void answer_echo (struct message *answer, const struct message *request);

// Answer a request with a status, its reason or NULL, and the echoes, in the envelope that the
// request's envelope asks for.
void answer_request (struct station *station, const struct request *request, uint8_t status,
                     const char *reason);

// Answer a job in the same way; the job stays whose it was.
void answer_job (struct station *station, const struct job *job, uint8_t status,
                 const char *reason);

// Send a worker's answer to a job back: on the connection the job came by; if that is gone and the
// job is a plan's, to the plan proxy station's request socket. The answer is completed in place.
void answer_pass (struct station *station, const struct job *job, struct message *answer);
