/** A simulated or real cluster for tests of admin calls, with functions to write records and join groups. */

import { Buffer } from 'node:buffer'
import { type Runtime, systemRuntime } from '@waybill/core'
import type { Admin } from '@waybill/kafka'
import { type Cluster, createAdmin, createCluster, createNodes, type Nodes } from '@waybill/kafka/internal'
import {
  createBrokerTransport,
  encodeAssignment,
  encodeBatch,
  encodeSubscription,
  errorCode,
  type KafkaTransport,
  type NodeAddress,
} from '@waybill/kafka/wire'
import { createSimCluster, createVirtualRuntime, type SimCluster } from '@waybill/sim'
import type { KafkaPlace } from '@waybill/test-support'

/** A group member that stays until it leaves. */
export interface JoinedMember {
  readonly memberId: string
  readonly leave: () => Promise<void>
}

/** A cluster and an admin for it. */
export interface AdminWorld {
  readonly runtime: Runtime
  readonly admin: Admin
  readonly cluster: Cluster
  readonly nodes: Nodes
  /** Returns a unique name. */
  readonly named: (name: string) => string
  /** Writes one record for each timestamp. */
  readonly write: (topic: string, partition: number, timestamps: readonly number[]) => Promise<void>
  /** Joins a group and is assigned partition 0 of the topic. */
  readonly join: (groupId: string, topic: string) => Promise<JoinedMember>
}

/** Runs a program in a world. */
export type RunInAdminWorld = (program: (world: AdminWorld) => Promise<void>) => Promise<void>

/** Runs on a simulated cluster and a virtual clock. */
export async function runOnSim(
  program: (world: AdminWorld, sim: SimCluster) => Promise<void>,
  { brokers = 1, seed = 1 }: { readonly brokers?: number; readonly seed?: number } = {},
): Promise<void> {
  const runtime = createVirtualRuntime(seed)
  const sim = createSimCluster({ runtime, brokers })
  await runtime.run(() =>
    inWorld(runtime, sim.transport('admin'), { host: 'sim', port: 1 }, String, (world) => program(world, sim)),
  )
}

let count = 0

/** Runs on real brokers. */
export async function runOnKafka(kafka: KafkaPlace, program: (world: AdminWorld) => Promise<void>): Promise<void> {
  const [host = '', port = ''] = (kafka.bootstrap[0] ?? '').split(':')
  const run = ++count
  const named = (name: string): string => kafka.named(`${name}.${run}`)
  await inWorld(systemRuntime, createBrokerTransport(), { host, port: Number(port) }, named, program)
}

async function inWorld(
  runtime: Runtime,
  transport: KafkaTransport,
  bootstrap: NodeAddress,
  named: (name: string) => string,
  program: (world: AdminWorld) => Promise<void>,
): Promise<void> {
  const nodes = createNodes(transport, 'admin-test', runtime)
  const cluster = createCluster(nodes, [bootstrap], runtime)
  const admin = createAdmin({ cluster, nodes, runtime })
  try {
    await program({
      runtime,
      admin,
      cluster,
      nodes,
      named,
      write: (topic, partition, timestamps) => write(cluster, nodes, topic, partition, timestamps),
      join: (groupId, topic) => join(runtime, cluster, nodes, groupId, topic),
    })
  } finally {
    nodes.close()
  }
}

async function write(
  cluster: Cluster,
  nodes: Nodes,
  topic: string,
  partition: number,
  timestamps: readonly number[],
): Promise<void> {
  const leader = (await cluster.refresh([topic], 5_000)).get(topic)?.leaders[partition]
  if (leader === undefined || leader === null) throw new Error(`${topic}-${partition} has no leader.`)
  const records = timestamps.map((timestamp) => ({ key: null, value: Buffer.from('x'), headers: [], timestamp }))
  const partitions = [{ partitionIndex: partition, records: [encodeBatch(records)] }]
  const request = { transactionalId: null, timeoutMs: 5_000, topics: [{ name: topic, partitions }] }
  const answer = await nodes.send(leader, 'Produce', request, 5_000)
  const code = answer.topics[0]?.partitions[0]?.errorCode
  if (code !== errorCode.NONE) throw new Error(`Producing to ${topic}-${partition}: ${code}.`)
}

async function join(
  runtime: Runtime,
  cluster: Cluster,
  nodes: Nodes,
  groupId: string,
  topic: string,
): Promise<JoinedMember> {
  const metadata = encodeSubscription({ topics: [topic], owned: [], generationId: -1 })
  const request = {
    groupId,
    sessionTimeoutMs: 30_000,
    rebalanceTimeoutMs: 30_000,
    groupInstanceId: null,
    protocolType: 'consumer',
    protocols: [{ name: 'range', metadata }],
    reason: '',
  }
  for (let memberId = ''; ; ) {
    const node = await cluster.coordinator('GROUP', groupId, 5_000).catch(() => null)
    const joined = node === null ? null : await nodes.send(node, 'JoinGroup', { ...request, memberId }, 35_000)
    if (node === null || joined === null || joined.errorCode !== errorCode.NONE) {
      memberId = joined?.memberId ?? ''
      await runtime.timers.sleep(50)
      continue
    }
    const { generationId } = joined
    const synced = await nodes.send(
      node,
      'SyncGroup',
      {
        groupId,
        generationId,
        memberId: joined.memberId,
        groupInstanceId: null,
        protocolType: 'consumer',
        protocolName: 'range',
        assignments: [{ memberId: joined.memberId, assignment: encodeAssignment([{ topic, partitions: [0] }]) }],
      },
      35_000,
    )
    if (synced.errorCode !== errorCode.NONE) throw new Error(`SyncGroup: ${synced.errorCode}.`)
    return {
      memberId: joined.memberId,
      async leave() {
        const members = [{ memberId: joined.memberId, groupInstanceId: null, reason: '' }]
        await nodes.send(node, 'LeaveGroup', { groupId, members }, 5_000)
      },
    }
  }
}
