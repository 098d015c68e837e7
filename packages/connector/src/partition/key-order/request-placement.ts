import type { Runtime } from '@waybill/core'
import type { KafkaClient, TopicPartition } from '@waybill/kafka'
import { sourceEndOf } from './source-end.ts'
import type { WaitingBook } from './waiting-book.ts'

/** What a placement stands on. */
export interface PlacementDeps {
  readonly book: Pick<WaitingBook, 'unplacedRequests' | 'sourceEnds'>
  readonly source: TopicPartition
  readonly client: Pick<KafkaClient, 'admin'>
  readonly runtime: Runtime
  readonly signal: AbortSignal
  /** Requests may have been answered. */
  readonly changed: () => void
  readonly fail: (error: unknown) => void
}

/**
 * An operator's request may name a record that the source will never bring: of a topic that was deleted and created
 * again, or cut. The source has every record that a request can name when it is asked for its end after that.
 */
export class RequestPlacement {
  readonly #deps: PlacementDeps
  #isAsking = false

  constructor(deps: PlacementDeps) {
    this.#deps = deps
  }

  /** Requests have come. Never rejects. */
  async look(): Promise<void> {
    if (this.#isAsking) return
    this.#isAsking = true
    const { signal, fail } = this.#deps
    try {
      while (await this.#place());
    } catch (error) {
      if (!signal.aborted) fail(error)
    }
    this.#isAsking = false
  }

  /** False when there is nothing to ask for. */
  async #place(): Promise<boolean> {
    const { book, source, client, runtime, signal, changed } = this.#deps
    const requests = book.unplacedRequests()
    if (requests.length === 0 || signal.aborted) return false
    const failed = (err: Error): void => runtime.logger.warn({ ...source, err }, 'Cannot tell yet where it ends')
    const end = await sourceEndOf(source, { client, runtime, failed }, signal)
    signal.throwIfAborted()
    book.sourceEnds(end, requests)
    changed()
    return true
  }
}
