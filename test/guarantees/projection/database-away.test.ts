import { type Connector, createConnector } from '@waybill/connector'
import { noopLogger, runtimeWith } from '@waybill/core'
import { systemTimers } from '@waybill/core/internal'
import { createKafkaClient, type OutRecord } from '@waybill/kafka'
import { createProjector } from '@waybill/projection'
import { createProjectionStore } from '@waybill/sql'
import { describeWith, describeWithPrivate, type KafkaPlace, loadPlaceKind } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import { openDatabase } from '../outbox/support/open-database.ts'
import { report, scale } from '../support/scale.ts'
import { CreditTotals, creditProjection, creditRecord } from './support/credit-events.ts'
import { ProjectionScene, patient } from './support/projection-scene.ts'

const isWhole = scale === 'WHOLE'
const downMs = isWhole ? 60_000 : 4_000
/** A wait inside of the poll loop would exceed it, and cost the member its partitions. */
const maxPollIntervalMs = isWhole ? 20_000 : 2_000
const accounts = Array.from({ length: 50 }, (_, index) => `a${index}`)
const partitions = 4
const services = isWhole ? (['postgres', 'mysql'] as const) : (['postgres'] as const)
const title =
  'S3-012 S3-013 S3-015 S2-071 a projection whose database stops under load waits, without a dead letter or a rebalance, and catches up'

/** Writes the next event of every account, again and again, until it is stopped. */
class Load {
  /** The last version of every account. */
  version = 0
  readonly #scene: ProjectionScene
  readonly #over = new AbortController()
  readonly #running: Promise<void>

  constructor(scene: ProjectionScene) {
    this.#scene = scene
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#over.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    while (!this.#over.signal.aborted) {
      const version = this.version + 1
      const { topic } = this.#scene
      const records: OutRecord[] = await Promise.all(accounts.map((account) => creditRecord(topic, account, version)))
      await this.#scene.write(records)
      this.version = version
      await systemTimers.sleep(100, this.#over.signal).catch(() => {})
    }
  }
}

describeWith('kafka')('a projection on Kafka', ({ kafka: place }) => {
  for (const name of services)
    describeWithPrivate(name)(`with its own ${name}`, (service) => {
      test(title, { timeout: 400_000 }, async () => {
        const database = (await loadPlaceKind(name)).create(service().url, `away_${name}`)
        await database.open()
        await stopsAndReturns(place, { dialect: name, url: database.url }, async () => {
          await service().stop()
          await systemTimers.sleep(downMs)
          await service().start()
        })
        await database.close()
      })
    })
})

async function stopsAndReturns(
  place: KafkaPlace,
  address: { readonly dialect: 'postgres' | 'mysql'; readonly url: string },
  outage: () => Promise<void>,
): Promise<void> {
  await using kafka = createKafkaClient({ brokers: place.bootstrap })
  await using scene = await ProjectionScene.create(place, kafka, address, {
    name: `away-${address.dialect}`,
    partitions,
  })
  const counters = new Map<string, number>()
  const metrics = {
    counter: (name: string, _: unknown, by: number) => void counters.set(name, (counters.get(name) ?? 0) + by),
    gauge: () => {},
    histogram: () => {},
  }
  const runtime = runtimeWith({ logger: noopLogger, metrics })
  const groupId = `${scene.topic}-group`
  const members = Array.from({ length: 2 }, () => {
    const open = openDatabase(address)
    const projector = createProjector(creditProjection(scene.topic, 1), {
      store: createProjectionStore(open.database),
      runtime,
    })
    const binding = projector.binding({ groupId, maxPollIntervalMs, maxPollRecords: 100 })
    return {
      open,
      connector: createConnector({ clusters: { default: kafka }, bindings: { credits: binding }, runtime }),
    }
  })
  for (const { connector } of members) await connector.start()
  const load = new Load(scene)
  const lag = async (): Promise<number> =>
    load.version - Math.min(...(await scene.rows()).map(({ version }) => version))
  try {
    await eventually(async () => expect((await scene.rows()).length).toBe(accounts.length), patient)
    await eventually(async () => expect(await lag()).toBeLessThan(5), patient)
    // The group comes to rest once each member has its share.
    const shares = () => members.map(({ connector }) => partitionsOf(connector))
    await eventually(async () => expect(shares()).toEqual(members.map(() => partitions / members.length)), patient)
    const rebalances = counters.get('eventbus.rebalances')
    const before = load.version
    await outage()
    const during = load.version - before
    expect(during).toBeGreaterThan(downMs / 1_000)
    await eventually(async () => expect(await lag()).toBeLessThan(5), patient)
    await load.stop()
    await scene.committed(groupId)
    const totals = new CreditTotals()
    const wanted = accounts
      .toSorted()
      .map((account) => ({ account, version: load.version, total: totals.at(account, load.version) }))
    expect(await scene.rows()).toEqual(wanted)
    expect(await scene.dead()).toEqual(new Set())
    expect(await scene.quarantined(1)).toEqual([])
    expect(counters.get('eventbus.rebalances')).toBe(rebalances)
    report(`${address.dialect}: ${during * accounts.length} events while it was away, none lost, dead or rebalanced`)
  } finally {
    await load.stop()
    for (const { connector, open } of members) {
      await connector.stop()
      await open[Symbol.asyncDispose]()
    }
  }
}

/** The partitions that the members of a process read. */
function partitionsOf(connector: Connector): number {
  const members = connector.listBindings().flatMap(({ containers }) => containers.flatMap((one) => one.members))
  return members.reduce((sum, one) => sum + one.partitions.length, 0)
}
