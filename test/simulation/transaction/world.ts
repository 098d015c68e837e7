/** Everything a seed consists of: the cluster, its logs, the processes that transform, and what must hold of them. */

import { createKafkaClient, type KafkaClient } from '@waybill/kafka'
import { errorName, type KafkaApi, type RequestOf, type ResponseOf } from '@waybill/kafka/wire'
import { type AcceptedCommit, createSimCluster, type SimCluster, type VirtualRuntime } from '@waybill/sim'
import { LogJournal } from '../client/log-journal.ts'
import { imbalanceOf, readState } from '../connector/committed-state.ts'
import { Draw } from '../draw.ts'
import { Court } from '../world/court.ts'
import { type NetworkWitness, SimProcess } from '../world/sim-process.ts'
import { judgeLogs } from './judge-logs.ts'
import { deadLetterTopic, groupId, outputTopic, type Program, sourceTopic, tierGroupId, tierTopic } from './program.ts'
import type { RareState } from './rare-states.ts'

/** A process with its client. */
export interface Station {
  readonly process: SimProcess
  readonly client: KafkaClient
}

/** What a partition of a group has committed. */
interface Position {
  readonly offset: bigint
  readonly metadata: string
}

/** See the file's comment. */
export class World {
  readonly runtime: VirtualRuntime
  readonly program: Program
  readonly court: Court<RareState>
  readonly draw: Draw
  readonly cluster: SimCluster
  readonly processes: SimProcess[] = []
  /** By topic. */
  readonly logs: ReadonlyMap<string, readonly LogJournal[]>
  /** Calls of the handler on the source, by value. */
  readonly calls = new Map<string, number>()
  readonly #positions = new Map<string, Position>()

  constructor(runtime: VirtualRuntime, program: Program, trace: ((who: string, text: string) => void) | undefined) {
    this.runtime = runtime
    this.program = program
    this.court = new Court(trace)
    this.draw = new Draw(runtime.random)
    this.cluster = createSimCluster({
      brokers: program.brokers,
      runtime,
      onCommit: (commit) => this.#checkCommit(commit),
    })
    const { partitions } = program
    const create = (topic: string): [string, readonly LogJournal[]] => {
      this.cluster.createTopic(topic, { partitions })
      return [
        topic,
        Array.from({ length: partitions }, (_, partition) => new LogJournal(this.cluster, topic, partition)),
      ]
    }
    this.logs = new Map([sourceTopic, outputTopic, tierTopic, deadLetterTopic].map(create))
  }

  get faultCounts(): ReadonlyMap<string, number> {
    return this.cluster.faultCounts
  }

  journalsOf(topic: string): readonly LogJournal[] {
    return this.logs.get(topic) ?? []
  }

  station(name: string): Station {
    const { cluster, runtime } = this
    const process = new SimProcess(name, runtime, cluster.transport(name), this.#witness(name))
    this.processes.push(process)
    const { transport } = process
    const client = createKafkaClient({ brokers: cluster.brokers, transport, clientId: name, runtime: process.runtime })
    return { process, client }
  }

  thawAll(): void {
    for (const process of this.processes) process.thaw()
  }

  /** What is not settled yet; undefined when everything is. */
  obstacle(): string | undefined {
    for (const [topic, group] of [
      [sourceTopic, groupId],
      [tierTopic, tierGroupId],
    ] as const)
      for (const { partition, end } of this.journalsOf(topic)) {
        const offset = this.#positions.get(`${group} ${topic}-${partition}`)?.offset ?? 0n
        if (offset < end) return `${topic}-${partition}: ${offset} of ${end} is committed`
      }
    return undefined
  }

  /** A reader of committed records sees exactly what it should (I13), and the commits add up (I20). */
  judge(): void {
    judgeLogs(this)
    if (this.program.isCalm) this.#judgeCalls()
    for (const [place, { offset, metadata }] of this.#positions) {
      const state = readState(offset, metadata)
      const wrong = state === undefined ? 'its metadata cannot be read' : imbalanceOf(state)
      if (wrong !== undefined) this.court.violate('I20', `${place}: ${wrong}`)
    }
  }

  /** Counts of the source as its commits have them, over all partitions. */
  counts(): Readonly<Record<'ok' | 'retried' | 'dead' | 'skipped', number>> {
    const sums = { ok: 0, retried: 0, dead: 0, skipped: 0 }
    for (const { partition } of this.journalsOf(sourceTopic)) {
      const position = this.#positions.get(`${groupId} ${sourceTopic}-${partition}`)
      const ledger = position === undefined ? undefined : readState(position.offset, position.metadata)?.source
      if (ledger === undefined) continue
      for (const name of ['ok', 'retried', 'dead', 'skipped'] as const) sums[name] += ledger[name]
    }
    return sums
  }

  /** Where nobody dies, what was decided is written, and nobody is asked twice (L5). */
  #judgeCalls(): void {
    for (const { value, fate } of this.program.records)
      if (fate === 'OK' && this.calls.get(value) !== 1)
        this.court.violate(
          'L5',
          `${value} was handled ${this.calls.get(value) ?? 0} times, and nothing has befallen anybody`,
        )
  }

  #checkCommit({ groupId: group, offsets, transactional, memberId }: AcceptedCommit): void {
    for (const { topic, partition, offset, metadata } of offsets) {
      const place = `${group} ${topic}-${partition}`
      this.court.note(memberId, () => `commits ${offset} of ${place}`)
      if (!transactional) this.court.violate('I13', `${place}: ${offset} is committed outside of a transaction`)
      const before = this.#positions.get(place)?.offset ?? 0n
      const { end } = this.journalsOf(topic)[partition] as LogJournal
      if (offset > before + 1n) this.court.reach('transaction: it holds several records')
      if (offset < before) this.court.violate('I2', `${place}: ${before} was committed, and now ${offset}`)
      if (offset > end) this.court.violate('I2', `${place}: ${offset} is committed, and the log ends at ${end}`)
      this.#positions.set(place, { offset, metadata: metadata ?? '' })
    }
  }

  #witness(name: string): NetworkWitness {
    const { court } = this
    return {
      sending: (api, request) => {
        if (api === 'EndTxn' && !(request as RequestOf<'EndTxn'>).committed) court.reach('transaction: it is aborted')
      },
      answered: (api, _request, response) => this.#answered(api, response),
      unanswered: (api, _request, error) => {
        court.note(name, () => `gets no answer to ${api}: ${error.message}`)
        if (api === 'EndTxn') court.reach('transaction: the answer to its end is lost')
      },
    }
  }

  #answered(api: KafkaApi, response: ResponseOf<KafkaApi>): void {
    const codes =
      api === 'EndTxn'
        ? [(response as ResponseOf<'EndTxn'>).errorCode]
        : api === 'TxnOffsetCommit'
          ? (response as ResponseOf<'TxnOffsetCommit'>).topics.flatMap(({ partitions }) =>
              partitions.map(({ errorCode }) => errorCode),
            )
          : []
    for (const code of codes) {
      const reason = errorName(code)
      if (reason === 'PRODUCER_FENCED' || reason === 'INVALID_PRODUCER_EPOCH')
        this.court.reach('transaction: an owner is fenced')
      if (reason === 'ILLEGAL_GENERATION' || reason === 'UNKNOWN_MEMBER_ID')
        this.court.reach('transaction: offsets are refused, the group has changed hands')
    }
  }
}
