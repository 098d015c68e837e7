/**
 * What happens in the demo. The parent holds what survives a crash (Kafka and the database file); the shop runs in a
 * child, so that it can be killed without a chance to tidy up.
 */

import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createKafkaClient, type KafkaClient, outcomesOf } from '@waybill/kafka'
import { createSimCluster, type SimCluster } from '@waybill/sim'
import { type Audit, countDead, makeAudit } from './audit.ts'
import { countOf } from './count-of.ts'
import type { Narrator } from './narrator.ts'
import type { DemoOptions } from './options.ts'
import { ShopProcess } from './shop-process.ts'
import type { PrintableRow, ShopTask } from './shop-task.ts'
import { withStore } from './store/open-store.ts'
import type { ShopStore, StoreAddress } from './store/shop-store.ts'

const ordersInAll = 180
const ordersPerSecond = 20
const ordersBeforeKill = 90
/** Far above what it takes: reached only when something is stuck, and the audit then says what. */
const patienceMs = 90_000

export interface Ending {
  readonly audit: Audit
  /** The connector's own account, from what its groups have committed. */
  readonly ledger: readonly PrintableRow[]
}

/** Plays it, and answers how it ended. */
export async function playStory(options: DemoOptions, { chapter, say, progress }: Narrator): Promise<Ending> {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-demo-'))
  const run = `demo-${Date.now().toString(36)}`
  const topic = `${run}.orders`
  const address: StoreAddress =
    options.postgres === null
      ? { kind: 'SQLITE', file: join(folder, 'shop.db') }
      : { kind: 'POSTGRES', url: options.postgres, schema: run.replace('-', '_') }
  const cluster = options.brokers === null ? createSimCluster() : null
  await using kafka = openKafka(options, cluster)
  const task: ShopTask = {
    store: address,
    brokers: options.brokers,
    clusterNodes: cluster?.brokers ?? [],
    topic,
    orders: ordersInAll,
    ordersPerSecond,
    logFile: join(folder, 'shop.log'),
  }

  chapter('1  A shop opens')
  say(`Kafka     ${options.brokers?.join(', ') ?? 'simulated, in this process'}`)
  say(`database  ${address.kind === 'SQLITE' ? address.file : `${address.url}, schema ${address.schema}`}`)
  say(`shop      a process of its own, which logs to ${task.logFile}`)
  await kafka.admin.createTopics([{ topic, partitions: 4, replication: 1 }])

  return await withStore(address, async (store) => {
    await store.createTables()
    const failures = [0, 0, 0, 0]
    const onFailed = (tier: number): void => void (failures[tier] = (failures[tier] ?? 0) + 1)
    const first = await ShopProcess.start(task, cluster, onFailed)
    const look = async (): Promise<number> => {
      const { orders, shipments, unpublished } = await store.counts()
      const tiers = failures.map((count, tier) => `${tier === 0 ? 'first try' : `tier ${tier}`} ${count}`).join(', ')
      progress(
        `${countOf(orders, 'order')}, ${shipments} shipped, ${unpublished} waiting in the outbox; failures: ${tiers}`,
      )
      return orders
    }

    chapter('2  Orders are placed: each commits together with its event, or not at all')
    say(
      'Every twelfth carrier fails at first, and its order climbs to a retry topic. The one of order-020 does not answer at\n' +
        '  all, and for order-040 there is none: both end in the dead letter topic.',
    )
    await until(async () => (await look()) >= ordersBeforeKill)
    // At a moment when an event is committed and not yet sent: what would be lost without an outbox.
    await until(async () => (await store.counts()).unpublished > 0, 1)

    chapter('3  kill -9')
    await first.kill()
    const left = await store.counts()
    const [placed, unsent] = [countOf(left.orders, 'order'), countOf(left.unpublished, 'event')]
    say(`The shop is gone in mid-sentence: ${placed}, ${left.shipments} shipped, ${unsent}`)
    say('not yet on Kafka, others on their way, claimed by a process that will not come back.')

    chapter('4  The shop opens again, and goes on where its last commit ended')
    const second = await ShopProcess.start(task, cluster, onFailed)
    const isOver = async (): Promise<boolean> => {
      await look()
      const { orders, shipments } = await store.counts()
      return orders === ordersInAll && shipments + (await countDead(kafka, topic)) >= ordersInAll
    }
    await until(isOver)

    chapter('5  The carrier of order-020 is back, and an operator replays the dead letters')
    const replayed = await second.replay()
    await until(async () => (await store.counts()).shipments === ordersInAll - 1)
    await until(async () => (await countDead(kafka, topic)) > replayed)
    say(`${replayed} delivered once more: one is shipped now, and the one without a carrier is dead again.`)
    const ledger = await second.stop()

    chapter('6  The account, from the rows in the database and the records in the topics')
    const audit = await makeAudit(store, kafka, topic)
    await tidyUp(store, kafka, topic, address)
    return { audit, ledger }
  })
}

function openKafka({ brokers }: DemoOptions, cluster: SimCluster | null): KafkaClient {
  return cluster === null
    ? createKafkaClient({ brokers: brokers ?? [] })
    : createKafkaClient({ brokers: cluster.brokers, transport: cluster.transport('demo') })
}

/** Waits, but not for ever: what is missing then is what the account is for. */
async function until(condition: () => Promise<boolean>, everyMs = 250): Promise<void> {
  const end = performance.now() + patienceMs
  while (!(await condition()) && performance.now() < end) await sleep(everyMs)
}

/** What a run leaves on real services. The simulated ones end with the process; the file stays for who is curious. */
async function tidyUp<Tx>(
  store: ShopStore<Tx>,
  kafka: KafkaClient,
  topic: string,
  address: StoreAddress,
): Promise<void> {
  const derived = [...[1, 2, 3].map((tier) => `${topic}.retry-${tier}`), `${topic}.DLT`]
  await outcomesOf(kafka.admin.deleteTopics([topic, ...derived])) // One that a run did not come to is not there.
  if (address.kind === 'POSTGRES')
    await store.database.connection((connection) => connection.query(`DROP SCHEMA ${address.schema} CASCADE`, []))
}
