// What outlives a station that is fenced: made once by the program, destroyed at its end.
#pragma once

struct forward;
struct forward *forward_new (void);
void forward_destroy (struct forward **self);
