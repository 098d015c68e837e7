/** Tracks the effect of operators' moves on single records: those skipped, and those due again. */

import type { Evidence, Fate } from './evidence.ts'
import type { Place } from './places.ts'
import type { LogRecord, TopicLog } from './topic-log.ts'

/** The outcomes of a record before it became due again: they no longer settle it. */
export interface EarlierLife {
  readonly successes: number
  readonly hops: number
  readonly deadLetters: number
}

const noLife: EarlierLife = { successes: 0, hops: 0, deadLetters: 0 }

/** See the file's comment. */
export class PassedOver {
  readonly #evidence: () => Evidence
  /** By group and place. */
  readonly #passed = new Set<string>()
  readonly #earlier = new Map<string, EarlierLife>()

  constructor(evidence: () => Evidence) {
    this.#evidence = evidence
  }

  /** Returns true when an operator has decided that the group skips the record. */
  has({ groupId }: Place, { place }: LogRecord): boolean {
    return this.#passed.has(`${groupId} ${place}`)
  }

  /** Returns the outcomes that no longer count for the record. */
  earlierLifeOf({ groupId }: Place, { place }: LogRecord): EarlierLife {
    return this.#earlier.get(`${groupId} ${place}`) ?? noLife
  }

  /** Marks records that have no outcome and will not get one. */
  pass(place: Place, { records }: TopicLog, isPassed: (offset: bigint) => boolean): number {
    let count = 0
    for (const record of records) {
      if (!isPassed(record.offset)) continue
      count++
      this.#passed.add(`${place.groupId} ${record.place}`)
      const fate = this.#fateOf(place, record)
      if (fate !== undefined) fate.isPassedOver = true
    }
    return count
  }

  /** Marks everything from an offset on as due again, whatever its earlier outcome. */
  repeat(place: Place, { records }: TopicLog, from: bigint): void {
    for (const record of records) {
      if (record.offset < from) continue
      const name = `${place.groupId} ${record.place}`
      this.#passed.delete(name)
      const fate = this.#fateOf(place, record)
      if (fate === undefined) continue
      fate.isRepeated = true
      this.#earlier.set(name, {
        successes: fate.successes.get(record.place) ?? 0,
        hops: fate.hops.length,
        deadLetters: fate.deadLetters.length,
      })
    }
  }

  #fateOf({ kind, binding }: Place, record: LogRecord): Fate | undefined {
    const evidence = this.#evidence()
    const original = kind === 'SOURCE' ? evidence.originalIn(record) : evidence.originalOf(record)
    return original?.fates.get(binding.groupId)
  }
}
