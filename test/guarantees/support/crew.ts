import type { KafkaClient } from '@waybill/kafka'
import { Worker, type WorkerOptions } from './worker.ts'

/** Violations in the work of a group; all empty when there are none. */
export interface CrewFaults {
  readonly repeated: readonly string[]
  readonly accepted: readonly string[]
  readonly lost: readonly string[]
  readonly fatal: readonly string[]
}

/** No fault. */
export const noFaults: CrewFaults = { repeated: [], accepted: [], lost: [], fatal: [] }

/** Workers of one group that come and go. */
export class Crew implements AsyncDisposable {
  readonly present: Worker[] = []
  readonly all: Worker[] = []
  readonly #kafka: KafkaClient
  readonly #options: Omit<WorkerOptions, 'name'>
  readonly #leaving: Promise<void>[] = []

  constructor(kafka: KafkaClient, options: Omit<WorkerOptions, 'name'>) {
    this.#kafka = kafka
    this.#options = options
  }

  async enter(): Promise<Worker> {
    const worker = new Worker(this.#kafka, { ...this.#options, name: `worker ${this.all.length}` })
    this.present.push(worker)
    this.all.push(worker)
    return worker.start()
  }

  /** Starts to stop one of the present workers, without waiting. */
  leave(index: number): void {
    this.#leaving.push(...this.present.splice(index, 1).map((worker) => worker.stop()))
  }

  /** Resolves when the leaving workers are gone. */
  async left(): Promise<void> {
    await Promise.all(this.#leaving)
  }

  /** Stops all workers. */
  async stop(): Promise<void> {
    while (this.present.length > 0) this.leave(0)
    await this.left()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  get faults(): CrewFaults {
    return {
      repeated: this.#options.ledger.repeated,
      accepted: this.all.flatMap(({ accepted }) => accepted),
      lost: this.all.flatMap(({ name, lost }) => lost.map((partition) => `${name}: ${partition}`)),
      fatal: this.all.flatMap(({ name, fatal }) => fatal.map((error) => `${name}: ${error}`)),
    }
  }

  /** Refused commits of released partitions. */
  get refused(): number {
    return this.all.reduce((sum, { refused }) => sum + refused, 0)
  }
}
