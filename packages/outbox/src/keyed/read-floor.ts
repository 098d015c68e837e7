/**
 * Decides where the reads of a shard begin, and how much below is known to be complete. It only handles numbers; the
 * queue and the reader act on them.
 *
 *            complete             floor
 *   ────────────┴───────────────────┴──────────────▶ seq
 *    all is known │ a late commit    │ not read yet
 *                 │ may have left a row
 *
 * `floor`: the next read begins above it. `complete`: each row up to it is settled, in memory, or of a held key, and no
 * other can appear. A read proves that as far as numbers are settled: assigned, and without an open transaction that
 * has one of them ({@link SettledNumbers}). If the database does not tell, nothing is complete, and any row may hide
 * below the floor.
 */

/** The part below a read that may hide rows. */
export interface UnsurePart {
  readonly above: bigint | null
  readonly upTo: bigint
}

interface Read {
  readonly from: bigint | null
  readonly settled: bigint | null
  /** The lowest floor requested during the read, whose rows came from above it. Undefined: none. */
  floorTo?: bigint | null
  completeTo?: bigint | null
}

export class ReadFloor {
  #floor: bigint | null = null
  #complete: bigint | null = null
  #read: Read | undefined

  get complete(): bigint | null {
    return this.#complete
  }

  /** Where the next read begins. Rows above it may be unread, even those that were read before. */
  get next(): bigint | null {
    return this.#floor
  }

  get isReading(): boolean {
    return this.#read !== undefined
  }

  /** Whether more could be complete than is. */
  get isBehind(): boolean {
    return this.#complete === null || !isUpTo(this.#floor, this.#complete)
  }

  /** @param settled the point up to which numbers are settled @returns where the read begins */
  begin(settled: bigint | null): bigint | null {
    this.#read = { from: this.#floor, settled }
    return this.#floor
  }

  /** The part below the current read that may hide rows; undefined if none can. */
  get unsure(): UnsurePart | undefined {
    const from = this.#read?.from ?? null
    return from === null || isUpTo(from, this.#complete) ? undefined : { above: this.#complete, upTo: from }
  }

  /** Records that all rows up to this one were read and kept. @param last null: the read reached the end */
  keptUpTo(last: bigint | null): void {
    if (this.#read === undefined) return
    const { from, settled } = this.#read
    if (settled === null || !isUpTo(from, this.#complete)) return
    const reached = last === null || last > settled ? settled : last
    if (isUpTo(this.#complete, reached)) this.#complete = reached
  }

  /** @param last the highest row read */
  end(last: bigint | undefined): void {
    const { from, floorTo, completeTo } = this.#read as Read
    this.#read = undefined
    this.#floor = last ?? from
    if (floorTo !== undefined) this.lower(floorTo)
    if (completeTo !== undefined) this.doubt(completeTo)
  }

  /** Ends a failed read: nothing changes except for requests made during it. */
  abandon(): void {
    this.#read = undefined
  }

  /** Makes the next read begin here, or lower. */
  lower(to: bigint | null): void {
    this.#floor = lower(this.#floor, to)
    if (this.#read !== undefined) this.#read.floorTo = lowerOf(this.#read.floorTo, to)
  }

  /** Marks everything above as incomplete: a key held since then was released. */
  doubt(above: bigint | null): void {
    this.#complete = lower(this.#complete, above)
    if (this.#read !== undefined) this.#read.completeTo = lowerOf(this.#read.completeTo, above)
  }
}

/** Null is below all. */
function isUpTo(one: bigint | null, other: bigint | null): boolean {
  return one === null || (other !== null && one <= other)
}

export function lower(one: bigint | null, other: bigint | null): bigint | null {
  return isUpTo(one, other) ? one : other
}

function lowerOf(one: bigint | null | undefined, other: bigint | null): bigint | null {
  return one === undefined ? other : lower(one, other)
}
