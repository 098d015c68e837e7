/**
 * Replays and releases that arrived before the outcome they refer to. An operator's request is acknowledged once it is in
 * the log, so it stays unsettled until this owner knows the outcome of the original: wherever it lies in the log, and
 * whichever owner reads it.
 *
 * An original has one replay and one release: the one with the highest count, and among equals the last in the log. By
 * that rule a request moves: it is written again, and once that was read, it has replaced the former copy, for this owner
 * and for the next. Nothing answers it while the move is in flight: the answer would settle one copy, and the next owner
 * would find the other.
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

  /** Keeps the request. Returns the offset of the copy that is a duplicate now: the former one, or this one. */
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

  /** Removes a request that is answered. */
  drop({ id, copy }: OperatorRequest): void {
    this.#of(copy).delete(id)
  }

  /** Finds the request at an offset of the waiting topic. */
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
