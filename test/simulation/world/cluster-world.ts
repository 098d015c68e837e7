/** A world on a simulated cluster, for any kind of process: the time, the cluster, and a court. */

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

/** The part of a program that describes the cluster. */
export interface ClusterPlan {
  readonly brokers: number
  readonly latencyMs?: number
  readonly markerDelayMs?: number
}

const blind: NetworkWitness = { sending() {}, answered() {}, unanswered() {} }

/** See the file's comment. Subclasses add the checks. */
export abstract class ClusterWorld<P extends ClusterPlan, State extends string> {
  readonly runtime: VirtualRuntime
  readonly program: P
  readonly court: Court<State>
  /** Random choices of the processes and the chaos. */
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

  /** @param witness - observes the traffic between the process and the cluster */
  station(name: string, witness: NetworkWitness = blind): Station {
    const { brokers } = this.cluster
    const process = new SimProcess(name, this.runtime, this.cluster.transport(name), witness)
    this.#processes.push(process)
    const { transport, runtime } = process
    return { process, client: createKafkaClient({ brokers, transport, clientId: name, runtime }) }
  }

  /** Thaws all processes, including those stopped while frozen. */
  thawAll(): void {
    for (const process of this.#processes) process.thaw()
  }

  /** Called when the cluster has accepted a commit. */
  protected abstract accepted(commit: AcceptedCommit): void

  /** Called when a log was appended to, deleted from or compacted. */
  protected logChanged(_topic: string, _partition: number): void {}
}
