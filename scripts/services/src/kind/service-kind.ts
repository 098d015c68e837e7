import type { ProcessPlan } from '../process/service-process.ts'
import type { Answer } from '../service.ts'

/** The parameters for starting one service. */
export interface LaunchRequest {
  /** Empty and used by this service alone; deleted with its content once the service is gone. */
  readonly folder: string
  /** File for its output; a service of several processes numbers them. */
  readonly logFile: string
  /** The port it listens on. It chooses any further ports itself. */
  readonly port: number
  /** Kafka only: how many brokers. */
  readonly brokers: number
  readonly progress: (text: string) => void
}

/** A service that is ready to be started. */
export interface Launch {
  readonly url: string
  /** Its expected answer once it runs. */
  readonly answer: Answer
  readonly processes: readonly ProcessPlan[]
}

/** One kind of service: its default address, how to probe it, and how to start one. */
export interface ServiceKind {
  /** Its name in sentences: `PostgreSQL`. */
  readonly title: string
  /** The environment variable with its address. */
  readonly variable: string
  readonly usualPort: number
  /** Returns the address of a service with default settings on this machine. */
  urlAt(port: number): string
  /** Probes by the service's own protocol, with the credentials in the address. Throws when it cannot be used. */
  probe(url: string): Promise<Answer>
  /** Returns why this machine cannot start one; undefined when it can. Downloads nothing. */
  findObstacle(): Promise<string | undefined>
  /** Prepares everything up to the start of the process: binaries, configuration, an empty data folder. */
  prepare(request: LaunchRequest): Promise<Launch>
}

/** How long a service on this machine or network may take to respond. */
export const probeTimeoutMs = 3_000
