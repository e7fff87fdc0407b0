// Answers: build them from a request, and send them back to the requester.
#pragma once

#include "station.h"

enum { STATUS_TEXT_MAX = REASON_MAX + 32 }; // a status word and a reason

// Begin an answer: a STATUS frame with the status's word and the reason, unless that is NULL. The
// text is written to `text` and borrowed by the answer.
void answer_start (struct message *answer, uint8_t status, const char *reason,
                   char text[STATUS_TEXT_MAX]);

// Answer a request with a status, its reason or NULL, and the request's LOCAL_ID, GLOBAL_ID,
// REQUEST_ID and REQUESTER if it has them, in the envelope that matches the request's.
void answer_request (struct target_server *station, const struct target_request *request,
                     uint8_t status, const char *reason);

// As answer_request, with an answer that answer_start began and this function completes in place.
void answer_request_with (struct target_server *station, const struct target_request *request,
                          struct message *answer);

// Send an answer to the requester of a job: on the job's connection or, if that is gone and the job
// is a plan's, to zpland's request socket. Later answers are then sent there too, so the answers of
// one job keep their order. Ids of the request that the answer lacks are added in place. `voter`,
// unless it is NULL, is the name of one of several workers that answer the job: a RESPONSER frame
// with it is appended, and replaces any other; the answer has at most 31 frames of other types.
// False: the answer was lost.
bool answer_pass (struct target_server *station, struct job *job, struct message *answer,
                  const char *voter);

// Answer a job with a status and its reason or NULL; the job is not destroyed. False: the answer
// was lost.
bool answer_job (struct target_server *station, struct job *job, uint8_t status,
                 const char *reason);

// Send the final answer of a job that failed, and destroy the job.
void answer_failed (struct target_server *station, struct job **job, uint8_t status,
                    const char *reason);
