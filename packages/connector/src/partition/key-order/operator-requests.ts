/**
 * Replays and releases that came before the outcome they are about. An operator's request is acknowledged once it is in
 * the log, so it stays unsettled until this owner knows what became of the original: wherever it lies in the log, and
 * whichever owner reads it.
 *
 * Of an original there is one replay and one release: the one with the highest count, and of equal ones the last in the
 * log. By that rule a request moves: it is written once more, and when that was read, it has replaced the former copy,
 * for this owner as for the next one. While it is on its way nothing answers it: the answer would settle one copy, and
 * the next owner would find the other.
 */

import { originalId } from './original.ts'
import type { OperatorRequest } from './waiting-entry.ts'
import type { WaitingRecord } from './waiting-record.ts'

/** See the file's comment. */
export class OperatorRequests {
  readonly #replays = new Map<string, OperatorRequest>()
  readonly #releases = new Map<string, OperatorRequest>()

  get size(): number {
    return this.#replays.size + this.#releases.size
  }

  /** Keeps the request. Answers where the copy lies that it makes, or that makes it, a duplicate. */
  keep(copy: WaitingRecord): bigint | undefined {
    const id = originalId(copy.original)
    const requests = this.#of(copy)
    const known = requests.get(id)
    if (known === undefined) {
      requests.set(id, { id, copy, move: undefined, outcome: undefined, isPlaced: false })
      return undefined
    }
    const former = known.copy
    if (known.move?.replayCount === copy.replayCount) known.move = undefined
    if (copy.replayCount < former.replayCount) return copy.at
    known.copy = copy
    return former.at
  }

  replayOf(id: string): OperatorRequest | undefined {
    return this.#replays.get(id)
  }

  releaseOf(id: string): OperatorRequest | undefined {
    return this.#releases.get(id)
  }

  /** The request has its answer. */
  drop({ id, copy }: OperatorRequest): void {
    this.#of(copy).delete(id)
  }

  /** The request at this offset of the waiting topic. */
  at(offset: bigint): OperatorRequest | undefined {
    for (const request of this) if (request.copy.at === offset) return request
    return undefined
  }

  *[Symbol.iterator](): IterableIterator<OperatorRequest> {
    yield* this.#replays.values()
    yield* this.#releases.values()
  }

  #of({ kind }: WaitingRecord): Map<string, OperatorRequest> {
    return kind === 'REPLAY' ? this.#replays : this.#releases
  }
}
