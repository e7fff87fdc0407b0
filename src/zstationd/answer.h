// Answers: how they are built from a request, and the way back they take.
#pragma once

#include "station.h"

enum { STATUS_TEXT_MAX = REASON_MAX + 32 }; // a status word and a reason

// Begin an answer: a STATUS frame with the status's word and the reason, unless that is NULL. The
// words are written to `text` and borrowed by the answer.
void answer_start (struct message *answer, uint8_t status, const char *reason,
                   char text[STATUS_TEXT_MAX]);

// Answer a request with a status, its reason or NULL, and what identifies the request - LOCAL_ID,
// GLOBAL_ID, REQUEST_ID, REQUESTER, where it has them - in the envelope that the request's envelope
// asks for.
void answer_request (struct target_server *station, const struct target_request *request,
                     uint8_t status, const char *reason);

// The same with an answer that was begun, which is completed in place.
void answer_reply (struct target_server *station, const struct target_request *request,
                   struct message *answer);

// Send an answer to a job back: on the connection the job came by; if that is gone and the job is a
// plan's, to zpland's request socket, and so all later ones: the answers of one job
// keep their order. The answer is completed in place with the echoes that it does not have yet.
// False: it was lost.
bool answer_pass (struct target_server *station, struct job *job, struct message *answer);

// The same for one of several who answer the job: RESPONSER, the only one, is this name and stands
// last. The answer has at most 31 frames of other types.
bool answer_pass_from (struct target_server *station, struct job *job, struct message *answer,
                       const char *name);

// Answer a job with a status and its reason or NULL; the job keeps its owner. False: lost.
bool answer_job (struct target_server *station, struct job *job, uint8_t status,
                 const char *reason);

// The job's last answer, and the job's end: it cannot be done.
void answer_failed (struct target_server *station, struct job **job, uint8_t status,
                    const char *reason);
