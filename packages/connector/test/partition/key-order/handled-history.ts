/** What became of the records of one source partition, and whether that may be (I1, I7). */

/** A record of the source, and how often its handler fails before it succeeds. */
export interface SourceRecord {
  readonly key: string | null
  failuresLeft: number
}

/** How a handler was called. */
export type Via = 'SOURCE' | 'WAITING' | 'REPLAY'

interface Entry {
  readonly event: 'START' | 'OK' | 'FAIL'
  readonly offset: number
  readonly key: string | null
  readonly via: Via
  readonly owner: string
  readonly isZombie: boolean
  readonly atMs: number
}

/** Takes note of all that handlers do, and of every rule that is broken. */
export class HandledHistory {
  readonly records: SourceRecord[] = []
  readonly entries: Entry[] = []
  readonly broken: string[] = []
  readonly dead = new Set<number>()
  readonly skipped = new Set<number>()
  readonly released = new Set<number>()
  /** Replays, with how much had happened before. */
  readonly replayed = new Map<number, number>()
  readonly #running = new Map<string, Set<number>>()
  onDeadKey: 'RELEASE' | 'BLOCK' = 'RELEASE'
  now: () => number = () => 0

  start(offset: number, via: Via, owner: string, isZombie: boolean): void {
    const { key } = this.records[offset] as SourceRecord
    this.entries.push({ event: 'START', offset, key, via, owner, isZombie, atMs: this.now() })
    const running = this.#running.get(owner) ?? new Set()
    this.#running.set(owner, running)
    for (const other of running)
      if (key !== null && this.records[other]?.key === key) this.broken.push(`OVERLAP: ${offset} while ${other} runs`)
    running.add(offset)
    if (key === null || isZombie) return
    for (let earlier = 0; earlier < offset; earlier++) {
      if (this.records[earlier]?.key !== key || this.skipped.has(earlier) || this.succeeded(earlier)) continue
      if (this.dead.has(earlier) && (this.onDeadKey === 'RELEASE' || this.released.has(earlier))) continue
      this.broken.push(
        `I7: ${key}${offset} starts and ${key}${earlier} is ${this.dead.has(earlier) ? 'dead and blocks' : 'open'}`,
      )
    }
  }

  end(offset: number, via: Via, owner: string, isZombie: boolean): boolean {
    const record = this.records[offset] as SourceRecord
    const isOk = record.failuresLeft <= 0
    if (!isOk) record.failuresLeft--
    this.#running.get(owner)?.delete(offset)
    this.entries.push({ event: isOk ? 'OK' : 'FAIL', offset, key: record.key, via, owner, isZombie, atMs: this.now() })
    return isOk
  }

  replaying(offset: number): void {
    this.replayed.set(offset, this.entries.length)
  }

  succeeded(offset: number): boolean {
    return this.entries.some((entry) => entry.event === 'OK' && entry.offset === offset)
  }

  /** When handlers of that record started. */
  starts(offset: number): number[] {
    return this.entries.flatMap((entry) => (entry.event === 'START' && entry.offset === offset ? [entry.atMs] : []))
  }

  /** Offsets in the order in which they succeeded. */
  get successes(): number[] {
    return this.entries.flatMap(({ event, offset }) => (event === 'OK' ? [offset] : []))
  }

  /** At rest: everything has an outcome, and a handler that keeps the last write of a key has the right one. */
  checkEnd(): void {
    for (const [offset] of this.records.entries())
      if (!this.succeeded(offset) && !this.dead.has(offset)) this.broken.push(`LOSS: ${offset} has no outcome`)
    for (const [offset, before] of this.replayed)
      if (!this.entries.slice(before).some((entry) => entry.event !== 'START' && entry.offset === offset))
        this.broken.push(`REPLAY: ${offset} was replayed and never handled`)
    const ok = this.entries.filter(
      ({ event, isZombie, key, via }) => event === 'OK' && !isZombie && key !== null && via !== 'REPLAY',
    )
    for (const [index, entry] of ok.entries()) {
      if (this.replayed.has(entry.offset)) continue
      const overtaken = ok
        .slice(0, index)
        .find(
          ({ key, offset }) =>
            key === entry.key && offset > entry.offset && !ok.slice(index + 1).some((later) => later.offset === offset),
        )
      if (overtaken !== undefined) this.broken.push(`REGRESS: ${entry.offset} again after ${overtaken.offset}`)
    }
  }
}
