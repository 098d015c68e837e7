/**
 * The steps of the demo. The parent holds everything that survives a crash (Kafka and the database file); the shop runs in
 * a child process, so that it can be killed without a chance to clean up.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { createKafkaClient, type KafkaClient } from '@waybill/kafka'
import { createSimCluster, type SimCluster } from '@waybill/sim'
import { type Audit, countDead, makeAudit } from './audit.ts'
import { countOf } from './count-of.ts'
import { needing, unless } from './demo-failure.ts'
import type { Narrator } from './narrator.ts'
import type { DemoOptions } from './options.ts'
import { ShopProcess, type ShopWatch } from './shop-process.ts'
import type { PrintableRow, ShopTask } from './shop-task.ts'
import { clearServices, type Stage } from './stage.ts'
import { withStore } from './store/open-store.ts'

const ordersInAll = 180
const ordersPerSecond = 20
const ordersBeforeKill = 90
/** Far above the usual time: reached only if something is stuck, which the audit then shows. */
const patienceMs = 90_000

/** How long a service may take for its first response. */
const serviceMs = 10_000
const kafkaRemedy = 'Start one with `npm run services up`, give its address as --kafka HOST:PORT, or omit --kafka.'
const databaseRemedy = 'Start one with `npm run services up`, give its address as --postgres URL, or omit --postgres.'

export interface Ending {
  readonly audit: Audit
  /** The connector's own audit, from the committed offsets of its groups. */
  readonly ledger: readonly PrintableRow[]
}

/**
 * Runs the demo, and returns its result. Everything it created on real services is removed in any case; the caller removes
 * the folder. The signal interrupts it.
 *
 * @throws DemoFailure with the reason; the signal's abort reason
 */
export async function playStory(
  options: DemoOptions,
  stage: Stage,
  { chapter, say, progress }: Narrator,
  signal: AbortSignal,
): Promise<Ending> {
  const { topic, address } = stage
  const cluster = options.brokers === null ? createSimCluster() : null
  await using kafka = openKafka(options, cluster)
  const task: ShopTask = {
    store: address,
    brokers: options.brokers,
    clusterNodes: cluster?.brokers ?? [],
    topic,
    orders: ordersInAll,
    ordersPerSecond,
    logFile: stage.logFile,
  }

  chapter('1  A shop opens')
  const brokers = options.brokers?.join(', ') ?? 'simulated, in this process'
  const database = address.kind === 'SQLITE' ? address.file : `${address.url}, schema ${address.schema}`
  say(`Kafka     ${brokers}`)
  say(`database  ${database}`)
  say(`shop      a separate process, which logs to ${task.logFile}`)
  await needing(`Kafka (${brokers})`, kafkaRemedy, () =>
    unless(signal, kafka.admin.createTopics([{ topic, partitions: 4, replication: 1 }], { deadlineMs: serviceMs })),
  )
  await using _ = {
    async [Symbol.asyncDispose]() {
      for (const left of await clearServices(stage, kafka)) say(`Not removed: ${left}`)
    },
  }

  return await withStore(address, async (store) => {
    await needing(`The database (${database})`, databaseRemedy, () => unless(signal, store.createTables()))
    const gone = new AbortController()
    const over = AbortSignal.any([signal, gone.signal])
    const until = (condition: () => Promise<boolean>, everyMs = 250): Promise<void> => waitFor(condition, everyMs, over)
    const failures = [0, 0, 0, 0]
    const watch: ShopWatch = {
      over,
      onFailed: (tier) => void (failures[tier] = (failures[tier] ?? 0) + 1),
      onGone: (error) => gone.abort(error),
    }
    await using first = await ShopProcess.start(task, cluster, watch)
    const report = async (): Promise<number> => {
      const { orders, shipments, unpublished } = await store.counts()
      const tiers = failures.map((count, tier) => `${tier === 0 ? 'first try' : `tier ${tier}`} ${count}`).join(', ')
      progress(
        `${countOf(orders, 'order')}, ${shipments} shipped, ${unpublished} waiting in the outbox; failures: ${tiers}`,
      )
      return orders
    }

    chapter('2  Orders are placed: each commits together with its event, or not at all')
    say(
      'Every twelfth carrier fails at first, and its order moves to a retry topic. The carrier of order-020 never answers,\n' +
        '  and order-040 has no carrier: both become dead letters.',
    )
    await until(async () => (await report()) >= ordersBeforeKill)
    // Waits for an event that is committed and not yet sent: without an outbox it would be lost.
    await until(async () => (await store.counts()).unpublished > 0, 1)

    chapter('3  kill -9')
    await first.kill()
    const left = await store.counts()
    const [placed, unsent] = [countOf(left.orders, 'order'), countOf(left.unpublished, 'event')]
    say(`The shop's process is gone: ${placed}, ${left.shipments} shipped, ${unsent} not yet on Kafka,`)
    say('others in flight, claimed by a process that no longer exists.')

    chapter('4  The shop opens again, and continues after its last commit')
    await using second = await ShopProcess.start(task, cluster, watch)
    const isOver = async (): Promise<boolean> => {
      await report()
      const { orders, shipments } = await store.counts()
      return orders === ordersInAll && shipments + (await countDead(kafka, topic)) >= ordersInAll
    }
    await until(isOver)

    chapter('5  The carrier of order-020 is back, and an operator replays the dead letters')
    const replayed = await unless(over, second.replay())
    await until(async () => (await store.counts()).shipments === ordersInAll - 1)
    await until(async () => (await countDead(kafka, topic)) > replayed)
    say(`${replayed} delivered again: one is shipped now, and the one without a carrier is a dead letter again.`)
    const ledger = await unless(over, second.stop())

    chapter('6  The audit, from the rows in the database and the records in the topics')
    return { audit: await makeAudit(store, kafka, topic), ledger }
  })
}

function openKafka({ brokers }: DemoOptions, cluster: SimCluster | null): KafkaClient {
  return cluster === null
    ? createKafkaClient({ brokers: brokers ?? [] })
    : createKafkaClient({ brokers: cluster.brokers, transport: cluster.transport('demo') })
}

/** Waits for a condition, for a limited time: the audit shows what is missing then. */
async function waitFor(condition: () => Promise<boolean>, everyMs: number, signal: AbortSignal): Promise<void> {
  const end = performance.now() + patienceMs
  for (;;) {
    signal.throwIfAborted()
    if ((await condition()) || performance.now() >= end) return
    await sleep(everyMs)
  }
}
