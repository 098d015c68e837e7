import type { Runtime } from '@waybill/core'
import type { KafkaClient, TopicPartition } from '@waybill/kafka'
import { sourceEndOf } from './source-end.ts'
import type { WaitingBook } from './waiting-book.ts'

/** The collaborators of a placement. */
export interface PlacementDeps {
  readonly book: Pick<WaitingBook, 'unplacedRequests' | 'sourceEnds'>
  readonly source: TopicPartition
  readonly client: Pick<KafkaClient, 'admin'>
  readonly runtime: Runtime
  readonly signal: AbortSignal
  /** Called when requests may have been answered. */
  readonly changed: () => void
  readonly fail: (error: unknown) => void
}

/**
 * Finds requests for records that the source will never return, because it was re-created or truncated. Every record that
 * a request can name lies below the end of the source, if the end is read after the request.
 */
export class RequestPlacement {
  readonly #deps: PlacementDeps
  #isAsking = false

  constructor(deps: PlacementDeps) {
    this.#deps = deps
  }

  /** Places requests that arrived. Never rejects. */
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

  /** Returns false if no request needs the end of the source. */
  async #place(): Promise<boolean> {
    const { book, source, client, runtime, signal, changed } = this.#deps
    const requests = book.unplacedRequests()
    if (requests.length === 0 || signal.aborted) return false
    const failed = (err: Error): void =>
      runtime.logger.warn({ ...source, err }, 'End offset of the source not available, retrying')
    const end = await sourceEndOf(source, { client, runtime, failed }, signal)
    signal.throwIfAborted()
    book.sourceEnds(end, requests)
    changed()
    return true
  }
}
