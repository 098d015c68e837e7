import { createSeededRandom, type Random, systemClock, systemTimers } from '@waybill/core/internal'
import { createKafkaClient } from '@waybill/kafka'
import { describeWith } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import { Crew, noFaults } from './support/crew.ts'
import { Ledger, readLog } from './support/ledger.ts'
import { OffsetWatch } from './support/offset-watch.ts'
import { report, scale } from './support/scale.ts'
import { Writer } from './support/writer.ts'

const stormMs = scale === 'WHOLE' ? 60_000 : 4_000
const everyMs = 500
const partitions = 12
const mostWorkers = 5

/** Makes workers join and leave all the time, and keeps at least one. */
async function rage(crew: Crew, random: Random): Promise<void> {
  const endsAt = systemClock.monotonic() + stormMs
  while (systemClock.monotonic() < endsAt) {
    await systemTimers.sleep(everyMs)
    const { length } = crew.present
    if (length === 1 || (length < mostWorkers && random() < 0.5)) await crew.enter()
    else crew.leave(Math.floor(random() * length))
  }
}

describeWith('kafka')('a rebalance storm', ({ kafka: place }) => {
  test.each(['COOPERATIVE', 'EAGER'] as const)(
    'skips nothing, repeats nothing, and lets no member commit a released partition: %s',
    async (assignment) => {
      const seed = systemClock.now() % 1_000_000
      const random = createSeededRandom(seed)
      const topic = await place.createTopic(`storm-${assignment}`, { partitions })
      const groupId = place.named(`storm-${assignment}`)
      await using kafka = createKafkaClient({ brokers: place.bootstrap })
      const ledger = new Ledger()
      await using crew = new Crew(kafka, {
        groupId,
        topics: [topic],
        assignment,
        ledger,
        handleMs: () => random() * 2,
        heartbeatIntervalMs: 100,
        maxWaitMs: 100,
      })
      await crew.enter()
      await using writer = new Writer(kafka, { topic, partitions, everyMs: 20 })
      await using watch = new OffsetWatch(kafka, groupId)
      await rage(crew, random)
      await crew.left()
      await writer.stop()
      await eventually(() => expect(ledger.missing(writer.all)).toEqual([]), { deadlineMs: 120_000, everyMs: 200 })
      await crew.stop()
      await watch.stop()

      const found = { seed, ...crew.faults, failures: writer.failures, setbacks: watch.setbacks }
      expect(found).toEqual({ seed, ...noFaults, failures: [], setbacks: [] })
      expect(await readLog(kafka, place.named(`audit-${assignment}`), topic)).toEqual(writer.sent)
      // Checks that the run covered the cases.
      const { length } = crew.all
      const { looks } = watch
      report(
        `${assignment}: ${ledger.size} records, ${length} members came and went, ${crew.refused} late commits refused, ` +
          `offsets looked at ${looks} times (seed ${seed})`,
      )
      expect(length).toBeGreaterThan(stormMs / everyMs / 6)
      expect(crew.refused).toBeGreaterThan(length)
      expect(looks).toBeGreaterThan(5)
    },
    stormMs + 300_000,
  )
})
