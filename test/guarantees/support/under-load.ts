import { createSeededRandom, systemClock } from '@waybill/core/internal'
import { createKafkaClient, type KafkaClient, requireAllDone } from '@waybill/kafka'
import { eventually } from '@waybill/testkit'
import { expect } from 'vitest'
import { Crew, noFaults } from './crew.ts'
import { Ledger, readLog } from './ledger.ts'
import { OffsetWatch } from './offset-watch.ts'
import { report } from './scale.ts'
import { Transactor } from './transactor.ts'
import { Writer } from './writer.ts'

const partitions = 6
const topic = 'load'
const pairs = 'pairs'
const groupId = 'workers'

/** A cluster under load, as a fault injector sees it. */
export interface Load {
  readonly kafka: KafkaClient
  readonly topics: readonly string[]
  /** Resolves when records written from now on are handled. */
  flows(): Promise<void>
}

/** Keeps writes, transactions and workers running during a fault of the brokers; then accounts for every record. */
export async function underLoad(brokers: readonly string[], trouble: (load: Load) => Promise<void>): Promise<void> {
  const seed = systemClock.now() % 1_000_000
  const random = createSeededRandom(seed)
  await using kafka = createKafkaClient({ brokers })
  const newTopics = [topic, pairs].map((name) => ({ topic: name, partitions, replication: -1 }))
  requireAllDone('Creating topics', await kafka.admin.createTopics(newTopics, { deadlineMs: 60_000 }))
  const ledger = new Ledger()
  await using crew = new Crew(kafka, {
    groupId,
    topics: [topic],
    ledger,
    handleMs: () => random() * 2,
    heartbeatIntervalMs: 500,
    requestTimeoutMs: 5_000,
    maxWaitMs: 200,
  })
  await crew.enter()
  await crew.enter()
  await using writer = new Writer(kafka, { topic, partitions, everyMs: 10 })
  await using transactor = new Transactor(kafka, 'transactor', pairs)
  await using watch = new OffsetWatch(kafka, groupId)
  const flows = async (): Promise<void> => {
    const [handled, committed] = [ledger.size, transactor.committed.length]
    await eventually(
      () => {
        expect(ledger.size).toBeGreaterThan(handled + 1_000)
        expect(transactor.committed.length).toBeGreaterThan(committed + 40)
      },
      { deadlineMs: 120_000 },
    )
  }

  await flows()
  await trouble({ kafka, topics: [topic, pairs], flows })
  await flows()

  await Promise.all([writer.stop(), transactor.stop()])
  await eventually(() => expect(ledger.missing(writer.all)).toEqual([]), { deadlineMs: 120_000, everyMs: 200 })
  await crew.stop()
  await watch.stop()
  const fatal = [...crew.faults.fatal, ...transactor.fatal]
  const found = { seed, ...crew.faults, fatal, failures: writer.failures, setbacks: watch.setbacks }
  expect(found).toEqual({ seed, ...noFaults, failures: [], setbacks: [] })
  expect(await readLog(kafka, 'audit', topic)).toEqual(writer.sent)
  expectWholePairs(await readLog(kafka, 'audit-pairs', pairs), transactor)
  report(
    `${ledger.size} records confirmed and handled once, ${transactor.committed.length} transactions committed, ` +
      `${transactor.unknown.length} without an answer, offsets looked at ${watch.looks} times (seed ${seed})`,
  )
}

/**
 * Checks that committed texts are in both partitions, once and in order; one of unknown outcome may be there, whole.
 */
function expectWholePairs([one = [], other = []]: string[][], { committed, unknown }: Transactor): void {
  expect(one).toEqual(other)
  const doubtful = new Set(unknown)
  expect(one.filter((text) => !doubtful.has(text))).toEqual(committed)
  expect(new Set(one).size).toBe(one.length)
}
