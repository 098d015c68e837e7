/** What a world on a simulated cluster consists of, whatever its processes do: the time, the cluster, and a court. */

import { createKafkaClient, type KafkaClient } from '@waybill/kafka'
import { createSimCluster, type SimCluster, type VirtualRuntime } from '@waybill/sim'
import { type AcceptedCommit } from '@waybill/sim/internal'
import { Draw } from '../draw.ts'
import { Court } from './court.ts'
import type { Trace } from './run-world.ts'
import { type NetworkWitness, SimProcess } from './sim-process.ts'

/** A process with its client. */
export interface Station {
  readonly process: SimProcess
  readonly client: KafkaClient
}

/** What a program says of the cluster that it runs on. */
export interface ClusterPlan {
  readonly brokers: number
  readonly latencyMs?: number
  readonly markerDelayMs?: number
}

const blind: NetworkWitness = { sending() {}, answered() {}, unanswered() {} }

/** See the file's comment. What must hold is said by whoever extends it. */
export abstract class ClusterWorld<P extends ClusterPlan, State extends string> {
  readonly runtime: VirtualRuntime
  readonly program: P
  readonly court: Court<State>
  /** Choices of the processes and of the chaos. */
  readonly draw: Draw
  readonly cluster: SimCluster
  readonly #processes: SimProcess[] = []

  constructor(runtime: VirtualRuntime, program: P, trace: Trace | undefined) {
    this.runtime = runtime
    this.program = program
    this.court = new Court(trace)
    this.draw = new Draw(runtime.random)
    const { brokers, latencyMs, markerDelayMs } = program
    this.cluster = createSimCluster({
      brokers,
      runtime,
      ...(latencyMs === undefined ? {} : { latencyMs }),
      ...(markerDelayMs === undefined ? {} : { markerDelayMs }),
      onCommit: (commit) => this.accepted(commit),
      onLogChange: (topic, partition) => this.logChanged(topic, partition),
    })
  }

  get faultCounts(): ReadonlyMap<string, number> {
    return this.cluster.faultCounts
  }

  /** Virtual time. */
  now(): number {
    return this.runtime.clock.monotonic()
  }

  /** @param witness - is told what passes between the process and the cluster */
  station(name: string, witness: NetworkWitness = blind): Station {
    const { brokers } = this.cluster
    const process = new SimProcess(name, this.runtime, this.cluster.transport(name), witness)
    this.#processes.push(process)
    const { transport, runtime } = process
    return { process, client: createKafkaClient({ brokers, transport, clientId: name, runtime }) }
  }

  /** Also those that were told to stop in their sleep. */
  thawAll(): void {
    for (const process of this.#processes) process.thaw()
  }

  /** The cluster has accepted a commit. */
  protected abstract accepted(commit: AcceptedCommit): void

  /** A log was appended to, deleted from or compacted. */
  protected logChanged(_topic: string, _partition: number): void {}
}
