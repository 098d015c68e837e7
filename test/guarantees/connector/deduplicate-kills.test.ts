import { Buffer } from 'node:buffer'
import { createKafkaClient } from '@waybill/kafka'
import { fromPg, migrate } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import { Child } from '../support/child.ts'
import { patient } from '../support/connector-scene.ts'
import type { DeduplicateKill, DeduplicateMessage, DeduplicateTask } from '../support/deduplicate-process.ts'
import { report, scale } from '../support/scale.ts'

const records = 100
/** Concurrent handlers: each may be between its effect and its mark. */
const inFlight = 4

/**
 * Returns the allowed repeats with a store. A handler killed before its effect is committed repeats nothing; those
 * beside it may.
 */
function mayRepeat(point: DeduplicateKill): number {
  return point === 'EFFECT' ? inFlight - 1 : inFlight
}

const smoke = [
  ['INBOX', 'EFFECT', 30],
  ['INBOX', 'handler.after', 30],
  ['STORE', 'BEFORE_MARK', 30],
] as const
const points = {
  INBOX: ['EFFECT', 'handler.after', 'retry.acked', 'commit.send'],
  STORE: ['EFFECT', 'BEFORE_MARK', 'handler.after', 'retry.acked', 'commit.send'],
} as const
const everything = (['INBOX', 'STORE'] as const).flatMap((marks) =>
  points[marks].flatMap((point: DeduplicateKill) => [1, 30, 80].map((handled) => [marks, point, handled] as const)),
)

describeWith('postgres', 'kafka')('a connector that deduplicates and is killed', ({ postgres, kafka: place }) => {
  test.for(scale === 'WHOLE' ? everything : smoke)(
    'I9 C-78 has every effect, and no second one but where the mark stands beside it: %s, at %s after %d calls',
    { timeout: 120_000 },
    async ([marks, point, handled]) => {
      await using kafka = createKafkaClient({ brokers: place.bootstrap })
      const slug = `deduplicate-${marks}-${point}-${handled}`
      const topic = await place.createTopic(slug, { partitions: 2 })
      const { pool, url } = postgres
      await migrate(fromPg(pool), { tables: { outbox: false } })
      await pool.query('drop table if exists effect')
      await pool.query('create table effect (value text not null)')
      const values = Array.from({ length: records }, (_, at) => `${slug}-${String(at).padStart(3, '0')}`)
      await using producer = kafka.producer('EVENT')
      await Promise.all(
        values.map((value) => producer.send({ topic, key: Buffer.from(value), value: Buffer.from(value) })),
      )
      const binding = { topic, groupId: `${topic}-group` }
      const task: DeduplicateTask = { brokers: place.bootstrap, database: url, marks, binding }
      const script = new URL('../support/deduplicate-process.ts', import.meta.url)
      await using victim = new Child<DeduplicateMessage>(script, { ...task, killAt: { point, handled } })
      expect(await victim.ended).toEqual({ code: null, signal: 'SIGKILL' })
      await using heir = new Child<DeduplicateMessage>(script, task)
      const effects = async (): Promise<string[]> =>
        (await pool.query<{ value: string }>('select value from effect')).rows.map(({ value }) => value)
      await eventually(async () => expect(new Set(await effects()).size).toBe(records), patient)
      expect(await heir.terminate()).toEqual({ code: 0, signal: null })

      const had = await effects()
      expect([...new Set(had)].toSorted()).toEqual(values)
      const repeated = had.length - records
      expect(repeated).toBeLessThanOrEqual(marks === 'INBOX' ? 0 : mayRepeat(point))
      report(`${slug}: ${repeated} effects repeated`)
    },
  )
})
