import pg from 'pg'
import { PgBoss } from 'pg-boss'
import type { NumberedPayload } from './call-counter.ts'
import { type Rival, sessions } from './rival.ts'

const queue = 'deliver'
const batchSize = 500

function open(pool: pg.Pool): PgBoss {
  const db = { executeSql: (text: string, values?: unknown[]) => pool.query(text, values as unknown[]) }
  return new PgBoss({ db, schedule: false, supervise: false })
}

/** pg-boss: loops that fetch 500 jobs and delete them, as many as there are sessions, without a wait between polls. */
export const pgBoss: Rival = {
  countLeft: 'SELECT count(*)::int AS left FROM pgboss.job',

  async seed(pool, payloads) {
    const boss = open(pool)
    await boss.start()
    await boss.createQueue(queue)
    const jobs = payloads.map((data) => ({ data }))
    for (let from = 0; from < jobs.length; from += 5_000) await boss.insert(queue, jobs.slice(from, from + 5_000))
    await boss.stop({ graceful: false })
  },

  async start(url, listener) {
    const boss = open(new pg.Pool({ connectionString: url, max: sessions }))
    await boss.start()
    const loops = Array.from({ length: sessions }, async () => {
      for (;;) {
        const jobs = await boss.fetch<NumberedPayload>(queue, { batchSize })
        if (jobs.length === 0) return
        for (const { data } of jobs) await listener(data)
        await boss.deleteJob(
          queue,
          jobs.map(({ id }) => id),
        )
      }
    })
    await Promise.all(loops)
  },
}
