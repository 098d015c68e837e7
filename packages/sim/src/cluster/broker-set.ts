/** The nodes of a simulated cluster with everything they share, and the verbs that change them from outside. */

import { Buffer } from 'node:buffer'
import { StateError } from '@waybill/core'
import { type CoordinatorKind, type KafkaApi, type KafkaTransport, TransportError } from '@waybill/kafka/wire'
import { type ChildChannel, serveTransport } from '../process/serve-transport.ts'
import { compact } from './compaction.ts'
import { type CoordinatorKey, CoordinatorPlacement } from './coordinator-placement.ts'
import { drawUuid } from './draw-uuid.ts'
import { type FaultName, type FaultProfile, Faults, isMatched, type RequestMatch } from './faults.ts'
import { fetchHandler } from './fetch-handler.ts'
import { GroupCoordinator } from './group-coordinator.ts'
import { logHandlers } from './log-handlers.ts'
import { NodeTable } from './node-table.ts'
import { produceHandler } from './produce-handler.ts'
import { RequestServer } from './request-server.ts'
import type { GroupSnapshot, PartitionSnapshot, SimCluster, SimTopicOptions } from './sim-cluster.ts'
import type { ResolvedSimClusterOptions } from './sim-cluster-options.ts'
import { type ConnectionHost, SimConnection } from './sim-connection.ts'
import { requireTopicOptions } from './topic-arguments.ts'
import { configProblem } from './topic-config.ts'
import { topicHandlers } from './topic-handlers.ts'
import { type Topic, TopicTable } from './topic-table.ts'
import { TransactionCoordinator } from './transaction-coordinator.ts'

/** The implementation of {@link SimCluster}. */
export class BrokerSet implements SimCluster {
  readonly #options: ResolvedSimClusterOptions
  readonly #nodes: NodeTable
  readonly #topics: TopicTable
  readonly #placement: CoordinatorPlacement
  readonly #groups: GroupCoordinator
  readonly #faults: Faults
  readonly #host: ConnectionHost
  readonly #connections = new Set<SimConnection>()

  constructor(options: ResolvedSimClusterOptions) {
    const { runtime, markerDelayMs, onCommit } = options
    this.#options = options
    const nodes = (this.#nodes = new NodeTable(options.brokers))
    const topics = (this.#topics = new TopicTable(options.brokers, runtime.random, options.onLogChange))
    const placement = (this.#placement = new CoordinatorPlacement(nodes))
    const transactions: TransactionCoordinator = new TransactionCoordinator({
      runtime,
      topics,
      placement,
      markerDelayMs,
      endGroup: (groupId, producerId, committed) => groups.endTransaction(groupId, producerId, committed),
    })
    const groups = (this.#groups = new GroupCoordinator({
      runtime,
      topics,
      placement,
      onCommit,
      verify: (request) => transactions.verifyGroup(request),
    }))
    const handlers = {
      ...topicHandlers({
        clusterId: drawUuid(runtime.random),
        nodes,
        topics,
        placement,
        deleteTopic: (topic) => this.#deleteTopic(topic),
      }),
      ...groups.handlers,
      ...transactions.handlers,
      ...logHandlers(topics),
      Fetch: fetchHandler(runtime, topics),
      Produce: produceHandler({ runtime, nodes, topics, transactions }),
    }
    this.#faults = new Faults(runtime)
    const server = new RequestServer(runtime, handlers, this.#faults)
    this.#host = {
      runtime,
      latencyMs: () => options.latencyMs * runtime.random(),
      serve: (api, request, call) => server.serve(api, request, call),
      over: (connection) => this.#connections.delete(connection),
    }
  }

  get brokers(): readonly string[] {
    return this.#nodes.ids.map((id) => {
      const { host, port } = this.#nodes.addressOf(id)
      return `${host}:${port}`
    })
  }

  serve(child: ChildChannel): void {
    serveTransport(this.transport(`process ${child.pid ?? 'of a child'}`), child)
  }

  transport(client: string): KafkaTransport {
    return {
      connect: async (address, clientId, signal) => {
        await this.#options.runtime.timers.sleep(this.#host.latencyMs(), signal).catch((cause: unknown) => {
          throw new TransportError('The attempt to connect was called off.', 'NOT_SENT', { cause })
        })
        const node = this.#nodes.at(address)
        if (node === undefined)
          throw new TransportError(`Connection to ${address.host}:${address.port} refused.`, 'NOT_SENT')
        const connection = new SimConnection(this.#host, { node, client, clientId })
        this.#connections.add(connection)
        return connection
      },
    }
  }

  createTopic(name: string, options: SimTopicOptions = {}): string {
    requireTopicOptions(options)
    if (this.#topics.byName(name) !== undefined)
      throw new StateError(`The simulated cluster already has topic ${name}.`)
    const configs = Object.entries(options.configs ?? {}).map(([key, value]) => ({ name: key, value }))
    for (const config of configs) {
      const problem = configProblem(config)
      if (problem !== null) throw new StateError(problem)
    }
    return this.#topics.create({
      name,
      configs,
      partitions: options.partitions ?? 1,
      replicationFactor: options.replicationFactor ?? Math.min(3, this.#nodes.ids.length),
      firstOffset: options.firstOffset ?? 0n,
    }).id
  }

  deleteTopic(name: string): void {
    const topic = this.#topics.byName(name)
    if (topic === undefined) throw new StateError(`The simulated cluster has no topic ${name}.`)
    this.#deleteTopic(topic)
  }

  recordsFrom(topic: string, partition: number, offset: bigint): Buffer {
    const { log } = this.#topics.existing(topic, partition)
    return log.read(offset, log.highWatermark, Number.POSITIVE_INFINITY, true).records
  }

  partition(topic: string, partition: number): PartitionSnapshot {
    const { log, leader, leaderEpoch } = this.#topics.existing(topic, partition)
    const { logStartOffset, highWatermark, lastStableOffset } = log
    const batches = [...log.batches]
    return {
      leader,
      leaderEpoch,
      logStartOffset,
      highWatermark,
      lastStableOffset,
      // Built on first read: many callers only check whether there is more.
      get records() {
        return Buffer.concat(batches.map(({ bytes }) => bytes))
      },
    }
  }

  group(groupId: string): GroupSnapshot {
    const { membership, offsets } = this.#groups.existing(groupId)
    return {
      state: membership.state,
      generation: membership.generation,
      members: [...membership.members].map(({ id, instanceId, clientId, assignment }) => ({
        memberId: id,
        groupInstanceId: instanceId,
        clientId,
        assignment,
      })),
      offsets: offsets.all,
    }
  }

  killBroker(node: number, { electAfterMs = 0 }: { readonly electAfterMs?: number } = {}): void {
    if (!this.#nodes.isUp(node)) throw new StateError(`Node ${node} of the simulated cluster is not up.`)
    this.#nodes.setUp(node, false)
    this.#breakConnections({ node }, `Node ${node} went down.`)
    this.#unload(this.#placement.keysOf(node))
    if (electAfterMs === 0) this.#takeOver()
    else this.#options.runtime.timers.schedule(electAfterMs, () => this.#takeOver())
  }

  restartBroker(node: number): void {
    if (this.#nodes.isUp(node)) throw new StateError(`Node ${node} of the simulated cluster is up.`)
    this.#nodes.setUp(node, true)
    this.#load(this.#placement.keysOf(node))
    this.#takeOver()
  }

  moveLeader(topic: string, partition: number, node: number): void {
    const moved = this.#topics.existing(topic, partition)
    if (!this.#nodes.isUp(node) || !moved.replicas.includes(node))
      throw new StateError(
        `Node ${node} cannot lead ${topic}-${partition}: its replicas are ${moved.replicas.join(', ')}.`,
      )
    moved.lead(node)
  }

  electUnclean(topic: string, partition: number, offset: bigint): bigint {
    const cut = this.#topics.existing(topic, partition)
    const other = cut.replicas.find((node) => node !== cut.leader && this.#nodes.isUp(node))
    cut.leadWithout(other ?? cut.leader, offset)
    return cut.log.highWatermark
  }

  moveCoordinator(kind: CoordinatorKind, key: string, node: number): void {
    const moved = [{ kind, key }]
    this.#unload(moved)
    this.#placement.move(kind, key, node)
    this.#load(moved)
  }

  rebalance(groupId: string): void {
    this.#groups.existing(groupId).membership.rebalance()
  }

  expireMember(groupId: string, memberId: string): void {
    if (!this.#groups.existing(groupId).membership.expire(memberId))
      throw new StateError(`Group ${groupId} has no member ${memberId}.`)
  }

  deleteRecords(topic: string, partition: number, beforeOffset: bigint): void {
    const { log } = this.#topics.existing(topic, partition)
    log.deleteBefore(beforeOffset < log.highWatermark ? beforeOffset : log.highWatermark)
  }

  applyRetention(): void {
    const now = this.#options.runtime.clock.now()
    for (const { config, partitions } of this.#topics.all) {
      if (!config.deletesRecords) continue
      for (const { log } of partitions) {
        const kept = log.batches.find(({ view }) => view.maxTimestamp >= now - config.retentionMs)
        log.deleteBefore(kept?.baseOffset ?? log.highWatermark)
      }
    }
  }

  compact(topic: string, partition: number): void {
    compact(this.#topics.existing(topic, partition).log)
  }

  cut(match: Omit<RequestMatch, 'api'>): void {
    this.#breakConnections(match, 'The connection was cut.')
  }

  stall(match: RequestMatch): Disposable {
    return this.#faults.stall(match)
  }

  dropResponses(match: RequestMatch, rate = 1): Disposable {
    return this.#faults.dropResponses(match, rate)
  }

  failNext(api: KafkaApi, errorCode: number): void {
    this.#faults.failNext(api, errorCode)
  }

  setFaults(profile: FaultProfile | false): void {
    this.#faults.use(profile)
  }

  get faultCounts(): ReadonlyMap<FaultName, number> {
    return this.#faults.counts
  }

  #deleteTopic(topic: Topic): void {
    this.#topics.delete(topic)
    this.#groups.forgetTopic(topic.name)
  }

  #breakConnections(match: RequestMatch, why: string): void {
    for (const connection of this.#connections) if (isMatched(match, null, connection.call)) connection.break(why)
  }

  /** Leaders and coordinators for what has none. */
  #takeOver(): void {
    this.#topics.elect((node) => this.#nodes.isUp(node))
    this.#load(this.#placement.moveFromDownNodes())
  }

  #unload(keys: readonly CoordinatorKey[]): void {
    for (const { kind, key } of keys) if (kind === 'GROUP') this.#groups.unload(key)
  }

  #load(keys: readonly CoordinatorKey[]): void {
    for (const { kind, key } of keys) if (kind === 'GROUP') this.#groups.load(key)
  }
}
