import { type Runtime, runtimeWith, type Timers } from '@waybill/core'
import { createSeededRandom } from '@waybill/core/internal'
import {
  createBrokerTransport,
  errorName,
  type KafkaTransport,
  type NodeAddress,
  readBatches,
} from '@waybill/kafka/wire'
import { createSimCluster, createVirtualRuntime, type SimCluster } from '@waybill/sim'
import type { KafkaPlace } from '@waybill/test-support'
import { createCluster } from '../../../src/client/cluster/cluster.ts'
import { createNodes, type Nodes } from '../../../src/client/cluster/nodes.ts'
import type { ProducerDeps } from '../../../src/client/producer/coordinator-call.ts'
import { type WatchedTransport, watchTransport } from './watched-transport.ts'

/** A record as it lies in the log. */
export interface LoggedRecord {
  readonly offset: bigint
  readonly key: string | null
  readonly value: string | null
  readonly headers: readonly (readonly [string, string | null])[]
  readonly timestamp: number
}

/** A cluster with what tests of producers need. */
export interface World {
  readonly runtime: Runtime
  readonly transport: WatchedTransport
  /** A client of its own: connections and metadata are not shared. */
  client(): ProducerDeps
  createTopic(partitions: number, configs?: Readonly<Record<string, string>>): Promise<string>
  /** Returns a unique name. */
  named(name: string): string
  /** Returns the records of a partition: all of them, or the committed ones. */
  readLog(topic: string, partition: number, isolation?: 'READ_COMMITTED'): Promise<LoggedRecord[]>
}

/** Runs a program in a world of its own. */
export type RunInWorld = (program: (world: World) => Promise<void>) => Promise<void>

/** A simulated world on a virtual clock, with the cluster's verbs. */
export function runInSimulation(
  program: (world: World, sim: SimCluster) => Promise<void>,
  options: { readonly seed?: number; readonly brokers?: number } = {},
): Promise<void> {
  const runtime = createVirtualRuntime(options.seed ?? 1)
  return runtime.run(() => runOnSim(runtime, program, options.brokers ?? 1))
}

/** A simulated world on the system's clock. */
export function runOnSystemClock(program: (world: World) => Promise<void>): Promise<void> {
  return runOnSim(runtimeWith({}), program, 1)
}

async function runOnSim(
  runtime: Runtime,
  program: (world: World, sim: SimCluster) => Promise<void>,
  brokers: number,
): Promise<void> {
  const sim = createSimCluster({ runtime, brokers })
  let topics = 0
  await runIn(runtime, sim.transport('producer'), { host: 'sim', port: 1 }, (world) => program(world, sim), {
    named: (name) => name,
    async createTopic(partitions, configs = {}) {
      const topic = `topic-${++topics}`
      sim.createTopic(topic, { partitions, configs })
      return topic
    },
  })
}

/** A world on real brokers, through `port` where given. */
export async function runOnKafka(
  kafka: KafkaPlace,
  program: (world: World) => Promise<void>,
  through?: { readonly port: number },
): Promise<void> {
  const [host = '', port = ''] = (kafka.bootstrap[0] ?? '').split(':')
  const direct = createBrokerTransport()
  const transport: KafkaTransport =
    through === undefined
      ? direct
      : { connect: (_node, clientId, signal) => direct.connect({ host: '127.0.0.1', ...through }, clientId, signal) }
  await runIn(runtimeWith({}), transport, { host, port: Number(port) }, program, {
    named: (name) => kafka.named(`${name}-${++count}`),
    createTopic: (partitions, config = {}) => kafka.createTopic(`topic-${++count}`, { partitions, config }),
  })
}
let count = 0

async function runIn(
  runtime: Runtime,
  transport: KafkaTransport,
  bootstrap: NodeAddress,
  program: (world: World) => Promise<void>,
  parts: Pick<World, 'createTopic' | 'named'>,
): Promise<void> {
  const opened: Nodes[] = []
  const watched = watchTransport(transport, createSeededRandom(7))
  const clientOn = (carrier: KafkaTransport): ProducerDeps => {
    const lanes = [
      createNodes(carrier, 'producer-test', runtime),
      createNodes(carrier, 'producer-test', runtime),
    ] as const
    opened.push(...lanes)
    return { cluster: createCluster(lanes[0], [bootstrap], runtime), nodes: lanes[1], runtime }
  }
  const reader = clientOn(transport)
  const world: World = {
    runtime,
    transport: watched,
    ...parts,
    client: () => clientOn(watched),
    readLog: (topic, partition, isolation) =>
      readLog(reader, runtime.timers, topic, partition, isolation === 'READ_COMMITTED'),
  }
  try {
    await program(world)
  } finally {
    for (const nodes of opened) nodes.close()
  }
}

async function readLog(
  { cluster, nodes }: ProducerDeps,
  timers: Timers,
  topic: string,
  partition: number,
  isCommitted: boolean,
): Promise<LoggedRecord[]> {
  const description = (await cluster.topics([topic], 5_000)).get(topic)
  const leader = description?.leaders[partition]
  if (description === undefined || leader === undefined || leader === null) throw new Error(`${topic} has no leader.`)
  const committed: LoggedRecord[] = []
  const open = new Map<bigint, LoggedRecord[]>()
  let looks = 0
  for (let fetchOffset = 0n; ; ) {
    const answer = await nodes.send(
      leader,
      'Fetch',
      {
        maxWaitMs: 10,
        minBytes: 1,
        maxBytes: 50_000_000,
        isolationLevel: 'READ_UNCOMMITTED',
        sessionId: 0,
        sessionEpoch: -1,
        topics: [
          {
            topicId: description.topicId,
            partitions: [{ partition, currentLeaderEpoch: -1, fetchOffset, partitionMaxBytes: 50_000_000 }],
          },
        ],
        forgottenTopics: [],
      },
      10_000,
    )
    const fetched = answer.topics[0]?.partitions[0]
    // A leader of a new topic may learn late that it is one.
    if (fetched !== undefined && errorName(fetched.errorCode) === 'NOT_LEADER_OR_FOLLOWER' && looks++ < 100) {
      await timers.sleep(20)
      continue
    }
    if (fetched === undefined || fetched.errorCode !== 0)
      throw new Error(`Cannot read ${topic}: ${errorName(fetched?.errorCode ?? answer.errorCode)}`)
    for (const batch of readBatches(fetched.records)) {
      batch.verify()
      const { producerId } = batch
      if (batch.isControl) {
        if (batch.controlKind() === 'COMMIT') committed.push(...(open.get(producerId) ?? []))
        open.delete(producerId)
      } else {
        const records = batch.records({ topic, partition, epoch: 0 }, fetchOffset).map((record) => ({
          offset: record.offset,
          key: record.key?.toString() ?? null,
          value: record.value?.toString() ?? null,
          headers: [...record.headers].map(([name, value]) => [name, value?.toString() ?? null] as const),
          timestamp: record.timestamp,
        }))
        if (isCommitted && batch.isTransactional) open.set(producerId, [...(open.get(producerId) ?? []), ...records])
        else committed.push(...records)
      }
      fetchOffset = batch.lastOffset + 1n
    }
    if (fetchOffset >= fetched.highWatermark) return committed
  }
}
