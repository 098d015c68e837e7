import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import pg from 'pg'
import type { NumberedPayload } from './call-counter.ts'
import { type Rival, sessions } from './rival.ts'

/** Its log would be mixed with the result. */
const logger = new Logger(() => () => {})

/** graphile-worker: a local queue of 500 jobs, completions in batches. It deletes completed jobs. */
export const graphileWorker: Rival = {
  countLeft: 'SELECT count(*)::int AS left FROM graphile_worker._private_jobs',

  async seed(pool, payloads) {
    const setup = await makeWorkerUtils({ pgPool: pool, logger })
    await setup.migrate()
    const jobs = payloads.map((payload) => ({ identifier: 'deliver', payload }))
    for (let from = 0; from < jobs.length; from += 5_000) await setup.addJobs(jobs.slice(from, from + 5_000))
    await setup.release()
  },

  async start(url, listener) {
    await run({
      pgPool: new pg.Pool({ connectionString: url, max: sessions }),
      noHandleSignals: true,
      logger,
      taskList: { deliver: (payload) => listener(payload as NumberedPayload) },
      preset: { worker: { concurrentJobs: 24, localQueue: { size: 500 }, completeJobBatchDelay: 0 } },
    })
  },
}
