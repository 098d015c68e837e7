import { systemTimers } from '@waybill/core/internal'
import type { KafkaClient } from '@waybill/kafka'

/** Polls the committed offsets of a group, and records every one that moves back. */
export class OffsetWatch implements AsyncDisposable {
  readonly setbacks: string[] = []
  readonly #over = new AbortController()
  readonly #running: Promise<void>
  #looks = 0

  /** Watches all topics, or one. */
  constructor(kafka: KafkaClient, groupId: string, topic?: string) {
    this.#running = this.#run(kafka, groupId, topic)
  }

  /** Number of polls. */
  get looks(): number {
    return this.#looks
  }

  async stop(): Promise<void> {
    this.#over.abort()
    await this.#running
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #run(kafka: KafkaClient, groupId: string, topic: string | undefined): Promise<void> {
    const highest = new Map<string, bigint>()
    while (!this.#over.signal.aborted) {
      // A request that a broker cannot answer while it is down is retried.
      const offsets = await kafka.admin.groupOffsets(groupId, undefined, { deadlineMs: 5_000 }).catch(() => [])
      for (const found of offsets) {
        if (found.outcome !== 'DONE' || found.committed === null || (topic ?? found.topic) !== found.topic) continue
        const name = `${found.topic}-${found.partition}`
        const before = highest.get(name) ?? 0n
        if (found.committed < before) this.setbacks.push(`${name} from ${before} to ${found.committed}`)
        highest.set(name, found.committed)
      }
      this.#looks++
      await systemTimers.sleep(20, this.#over.signal).catch(() => {})
    }
  }
}
