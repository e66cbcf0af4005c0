/* train/ranks/follow.c: what the ranks do that are not the first: as rank 0 tells them. */
#include "train/ranks/ranks.h"

asc_status asc_ranks_follow(asc_trainer *t)
{
    for (;;) {
        asc_rank_command c;
        if (asc_comm_broadcast(t->ctx, &c, sizeof c)) {
            return asc_error(t->ctx);
        }
        t->state.step = c.step;
        if (c.order == ASC_RANK_STEP) {
            asc_trainer_step(t);
        } else if (c.order == ASC_RANK_GATHER) {
            asc_ranks_move_streams(t, true);
        } else if (c.order == ASC_RANK_KEPT || c.order == ASC_RANK_VALUES) {
            asc_ranks_hand_over(t, &c);
        } else if (c.order == ASC_RANK_END) {
            t->reported = c.reported;
            t->result = c.result;
            asc_error_clear(t->ctx); /* rank 0 knows of it, and says what it is */
            asc_verdict_take(t->ctx, &c.verdict, -1);
            return asc_error(t->ctx);
        }
        if (asc_comm_lost(t->ctx)) {
            return asc_error(t->ctx);
        }
    }
}
