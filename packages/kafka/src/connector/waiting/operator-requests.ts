import { type Original, originalId } from './original.ts'
import type { WaitingRecord } from './waiting-record.ts'

/** Releases of one original that no outcome has answered yet. */
export interface PendingRelease {
  readonly original: Original
  /** Highest replay whose marker they end. */
  count: number
  readonly at: bigint[]
}

/**
 * Replays and releases that came before the outcome they are about. An operator's request is acknowledged once it is in
 * the log, so it stays unsettled until this owner knows what became of the original: wherever it lies in the log, and
 * whichever owner reads it.
 */
export class OperatorRequests {
  readonly #replays = new Map<string, WaitingRecord>()
  readonly #releases = new Map<string, PendingRelease>()

  get isEmpty(): boolean {
    return this.#replays.size === 0 && this.#releases.size === 0
  }

  get releases(): IterableIterator<readonly [string, PendingRelease]> {
    return this.#releases.entries()
  }

  /** Keeps the replay with the highest count; answers the one that is a duplicate by that. */
  keepReplay(replay: WaitingRecord): WaitingRecord | undefined {
    const id = originalId(replay.original)
    const known = this.#replays.get(id)
    if (known !== undefined && known.replayCount >= replay.replayCount) return replay
    this.#replays.set(id, replay)
    return known
  }

  takeReplay(id: string): WaitingRecord | undefined {
    const replay = this.#replays.get(id)
    this.#replays.delete(id)
    return replay
  }

  /** Replays of other originals at the same offset: of a topic that was deleted and created again since. */
  takeReplaysAt(offset: bigint): WaitingRecord[] {
    const found = [...this.#replays.values()].filter(({ original }) => original.offset === offset)
    for (const { original } of found) this.#replays.delete(originalId(original))
    return found
  }

  /** The replay at this offset of the waiting topic. */
  takeReplayFrom(at: bigint): WaitingRecord | undefined {
    const found = [...this.#replays.values()].find((replay) => replay.at === at)
    if (found !== undefined) this.#replays.delete(originalId(found.original))
    return found
  }

  /** Where the release at this offset of the waiting topic and others of the same original lie. */
  takeReleasesFrom(at: bigint): readonly bigint[] {
    const found = [...this.#releases].find(([, release]) => release.at.includes(at))
    if (found !== undefined) this.#releases.delete(found[0])
    return found?.[1].at ?? []
  }

  keepRelease({ original, replayCount, at }: WaitingRecord): void {
    const id = originalId(original)
    const known = this.#releases.get(id)
    if (known === undefined) this.#releases.set(id, { original, count: replayCount, at: [at] })
    else {
      known.count = Math.max(known.count, replayCount)
      known.at.push(at)
    }
  }

  releaseOf(id: string): PendingRelease | undefined {
    return this.#releases.get(id)
  }

  dropRelease(id: string): void {
    this.#releases.delete(id)
  }
}
