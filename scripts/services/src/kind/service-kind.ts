import type { ProcessPlan } from '../process/service-process.ts'
import type { Answer } from '../service.ts'

/** What has to be known to start one service. */
export interface LaunchRequest {
  /** Empty and this service's alone; deleted with everything in it once the service is gone. */
  readonly folder: string
  /** Where its output goes; a service of several processes numbers them. */
  readonly logFile: string
  /** Where it listens. What else a service needs to listen on it finds itself. */
  readonly port: number
  /** Kafka only: how many brokers. */
  readonly brokers: number
  readonly progress: (text: string) => void
}

/** A service that is ready to be started. */
export interface Launch {
  readonly url: string
  /** What it will say of itself once it runs. */
  readonly answer: Answer
  readonly processes: readonly ProcessPlan[]
}

/** One kind of service: where it usually is, how to ask it who it is, and how to start one. */
export interface ServiceKind {
  /** Its name in sentences: `PostgreSQL`. */
  readonly title: string
  /** The environment variable that says where it is. */
  readonly variable: string
  readonly usualPort: number
  /** The address of one that listens on this machine with nothing but defaults. */
  urlAt(port: number): string
  /** Asks by the service's own protocol, with the login the address carries. Throws when it cannot be used. */
  probe(url: string): Promise<Answer>
  /** Why this machine cannot start one; undefined when it can. Looks, and downloads nothing. */
  findObstacle(): Promise<string | undefined>
  /** Prepares everything up to the start of the process: binaries, configuration, an empty data folder. */
  prepare(request: LaunchRequest): Promise<Launch>
}

/** How long a service on this machine or network may take to answer a question. */
export const probeTimeoutMs = 3_000
