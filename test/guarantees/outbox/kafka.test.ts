import { createKafkaClient } from '@waybill/kafka'
import { describeWith } from '@waybill/test-support'
import { expect, test } from 'vitest'
import { readLog } from '../support/ledger.ts'
import { report, scale } from '../support/scale.ts'
import { OutboxScene } from './support/outbox-scene.ts'

const smoke = [['multiNode', 'outbox.listener.after']] as const
/** After the broker's acknowledgment, and while the outcome is written to the table. */
const everything = (['multiNode', 'keyed'] as const).flatMap((mode) =>
  ['outbox.listener.before', 'outbox.listener.after', 'outbox.finish.before', 'outbox.finish.after'].map(
    (point) => [mode, point] as const,
  ),
)

describeWith('postgres', 'kafka')('an outbox that publishes to Kafka and is killed', ({ postgres, kafka: place }) => {
  test.concurrent.for(scale === 'WHOLE' ? everything : smoke)(
    'leaves every committed event in the topic, in the order of its key where that is kept: %s, at %s',
    { timeout: 120_000 },
    async ([mode, point]) => {
      await using kafka = createKafkaClient({ brokers: place.bootstrap })
      const topic = await place.createTopic(`${mode}-${point}`, { partitions: 3 })
      const publishing = { mode, leaseMs: 2_000, kafka: { brokers: place.bootstrap, topic } } as const
      await using scene = await OutboxScene.open({ dialect: 'postgres', url: postgres.url }, publishing)
      const victim = scene.node({ until: 1e6, lanes: 2, events: 1, everyMs: 2 }, { killAt: { point, handled: 40 } })
      expect(await scene.died(victim)).toEqual({ code: null, signal: 'SIGKILL' })
      const written = await scene.book.count()
      const heir = scene.node({ until: written + 40, lanes: 2, events: 1, everyMs: 0 })
      await scene.settled(written + 40, [heir])
      await scene.end(heir)

      const { rows, journal } = await scene.expectNothingWrong()
      const log = (await readLog(kafka, `${topic}-reader`, topic)).map((partition) =>
        partition.map((text) => JSON.parse(text) as { readonly value: string; readonly key: string }),
      )
      const published = log.flat().map(({ value }) => value)
      const expected = rows.map(({ value }) => value).filter((value) => !value.startsWith('DEAD'))
      expect([...new Set(published)].toSorted()).toEqual(expected.toSorted())
      // One more for each repeated delivery, and for each that had no time to be recorded.
      const repeats = published.length - expected.length
      const ended = journal.lines.filter(({ step }) => step === 'OK' || step === 'FAIL' || step === 'DEAD').length
      const inHand = journal.values('START').length - ended
      expect(repeats).toBeLessThanOrEqual(journal.repeated.length + inHand)
      if (mode === 'keyed')
        expect(firstsOfKeys(log)).toEqual(firstsOfKeys([rows.filter(({ value }) => expected.includes(value))]))
      report(`${mode}, ${point}: ${expected.length} events published, ${repeats} records repeated`)
    },
  )
})

/** Returns the values of each key in order of first appearance. */
function firstsOfKeys(
  log: readonly (readonly { readonly key: string; readonly value: string }[])[],
): Record<string, string[]> {
  const byKey: Record<string, string[]> = {}
  for (const { key, value } of log.flat()) {
    const values = (byKey[key] ??= [])
    if (!values.includes(value)) values.push(value)
  }
  return byKey
}
