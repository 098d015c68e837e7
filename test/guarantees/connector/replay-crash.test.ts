import { Buffer } from 'node:buffer'
import { type Binding, createConnector } from '@waybill/connector'
import { applicationOperator, NonRetryableError, noopLogger, RecordHeaders, runtimeWith } from '@waybill/core'
import { createKafkaClient, type KafkaClient, type KafkaRecord, requireAllDone } from '@waybill/kafka'
import { describeWith } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import { Child } from '../support/child.ts'
import { patient } from '../support/connector-scene.ts'
import type { ReplayMessage, ReplayTask } from '../support/replay-process.ts'
import { report, scale } from '../support/scale.ts'

/** A batch is a tenth of them. The result of a short run does not depend on their number. */
const letters = scale === 'WHOLE' ? 1_000 : 200
const title =
  scale === 'WHOLE'
    ? 'a replay of 1,000 dead letters whose process is killed'
    : 'a replay of 200 dead letters whose process is killed'
const partitions = 4
const batchSize = letters / 10

const modes: Readonly<Record<string, Partial<Binding>>> = {
  'to the original topic': {},
  'in the order of keys': { orderingMode: 'KEY', parallelism: 'KEY', keyOrder: { maxWaitingRecords: 1_000 } },
}
/** Between a write and its commit, and after a commit; at the beginning, in the middle, near the end. */
const everything = Object.keys(modes).flatMap((mode) =>
  ['replay.sent', 'replay.committed'].flatMap((point) => [1, 5, 9].map((times) => [mode, point, times] as const)),
)
const smoke = [
  ['to the original topic', 'replay.sent', 5],
  ['in the order of keys', 'replay.sent', 3],
] as const

async function readAll(kafka: KafkaClient, topic: string): Promise<KafkaRecord[]> {
  const [view] = requireAllDone('Looking at a topic', await kafka.admin.describeTopics([topic]))
  const all = (view?.partitions ?? []).map(({ partition }) => ({ topic, partition }))
  const ends = requireAllDone('Finding its ends', await kafka.admin.listOffsets(all, 'LATEST'))
  await using reader = kafka.reader(ends.map(({ offset, ...one }) => ({ ...one, from: 0n, until: offset ?? 0n })))
  const records: KafkaRecord[] = []
  for (let next = await reader.next(1_000); next !== undefined; next = await reader.next(1_000)) records.push(...next)
  return records
}

/** Returns the keys whose records were handled out of order, ignoring repeats. */
function disorderOf(handled: readonly { readonly key: string; readonly value: string }[]): string[] {
  return [...Map.groupBy(handled, ({ key }) => key)].flatMap(([key, calls]) => {
    const firsts = [...new Set(calls.map(({ value }) => value))]
    return firsts.join() === firsts.toSorted().join() ? [] : [`${key}: ${firsts.join()}`]
  })
}

describeWith('kafka')(title, ({ kafka: place }) => {
  test.for(scale === 'WHOLE' ? everything : smoke)(
    'misses none and repeats one batch at most: %s, at %s pass %d',
    { timeout: 300_000 },
    async ([mode, point, times]) => {
      await using kafka = createKafkaClient({ brokers: place.bootstrap })
      const slug = `replay-${mode}-${point}-${times}`.replaceAll(' ', '-')
      const topic = await place.createTopic(slug, { partitions })
      const binding: Omit<Binding, 'handler'> = {
        topic,
        groupId: `${topic}-group`,
        retry: { tier0: { maxAttempts: 1 } },
        dlt: { replay: { batchSize } },
        ...modes[mode],
      }
      const handled: { readonly key: string; readonly value: string }[] = []
      let isFixed = false
      await using connector = createConnector({
        clusters: { default: kafka },
        runtime: runtimeWith({ logger: noopLogger }),
        bindings: {
          work: {
            ...binding,
            handler: ({ key, value }) => {
              if (!isFixed) throw new NonRetryableError('not yet')
              handled.push({ key: String(key), value: String(value) })
            },
          },
        },
      })
      await connector.start()
      await using producer = kafka.producer('EVENT')
      const values = Array.from({ length: letters }, (_, at) => String(at).padStart(4, '0'))
      await Promise.all(
        values.map((value) =>
          producer.send({ topic, key: Buffer.from(`key-${Number(value) % 50}`), value: Buffer.from(value) }),
        ),
      )
      await eventually(
        async () =>
          expect((await connector.admin.dltStats('work', applicationOperator())).notReplayed).toBe(BigInt(letters)),
        patient,
      )
      isFixed = true

      const task: ReplayTask = { brokers: place.bootstrap, binding, count: letters }
      const script = new URL('../support/replay-process.ts', import.meta.url)
      await using victim = new Child<ReplayMessage>(script, { ...task, killAt: { point, times } })
      expect(await victim.ended).toEqual({ code: null, signal: 'SIGKILL' })
      const left = Number((await connector.admin.dltStats('work', applicationOperator())).notReplayed)
      await using heir = new Child<ReplayMessage>(script, task)
      expect(await heir.ended).toEqual({ code: 0, signal: null })
      // Those committed before the kill and those after it are all there are, and each once.
      expect(heir.of('REPLAYED')).toEqual([{ kind: 'REPLAYED', replayed: left, skipped: {}, remaining: '0' }])
      const committed = letters - left
      expect(committed).toBe((times - Number(point === 'replay.sent')) * batchSize)

      const target = binding.orderingMode === 'KEY' ? `${topic}.${binding.groupId}.waiting` : topic
      const copies = (await readAll(kafka, target)).filter(({ headers }) => headers.text('x-eventbus-replay-count'))
      expect(new Set(copies.map(({ value }) => String(value)))).toEqual(new Set(values))
      const repeated = copies.length - letters
      expect(repeated).toBeLessThanOrEqual(point === 'replay.sent' ? batchSize : 0)
      const counts = new Set(copies.map((one) => RecordHeaders.from(one.headers).text('x-eventbus-replay-count')))
      expect(counts).toEqual(new Set(['1']))

      await eventually(() => expect(new Set(handled.map(({ value }) => value)).size).toBe(letters), patient)
      expect(await connector.admin.dltStats('work', applicationOperator())).toMatchObject({
        count: letters,
        notReplayed: 0n,
      })
      expect(handled.length).toBeLessThanOrEqual(letters + repeated)
      if (binding.orderingMode === 'KEY') expect(disorderOf(handled)).toEqual([])
      report(`${slug}: ${committed} committed at the kill, ${repeated} copies repeated`)
    },
  )
})
