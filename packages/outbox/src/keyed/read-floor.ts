/**
 * Where the reads of a shard begin, and how much of what lies below is known to be complete. Numbers only: it decides, the
 * queue and the reader act.
 *
 *            complete             floor
 *   ────────────┴───────────────────┴──────────────▶ seq
 *    all is known │ a late commit    │ not read yet
 *                 │ may have left a row
 *
 * `floor`: the next read begins above it. `complete`: each row up to it is finished, or in memory, or of a key that is held,
 * and no other can appear. A read proves that for as far as numbers are settled: given, and no transaction that has one of
 * them is open ({@link SettledNumbers}). Where the database does not tell, nothing is complete, and all below the floor may
 * hide a row.
 */

/** The part below a read that may hide rows. */
export interface UnsurePart {
  readonly above: bigint | null
  readonly upTo: bigint
}

interface Read {
  readonly from: bigint | null
  readonly settled: bigint | null
  /** The lowest that was asked for meanwhile: what the read brought came from above it. Undefined: nothing was. */
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

  get isReading(): boolean {
    return this.#read !== undefined
  }

  /** Whether more could be complete than is. */
  get isBehind(): boolean {
    return this.#complete === null || !isUpTo(this.#floor, this.#complete)
  }

  /** @param settled up to where numbers are settled by now @returns where the read begins */
  begin(settled: bigint | null): bigint | null {
    this.#read = { from: this.#floor, settled }
    return this.#floor
  }

  /** What of the part below the present read may hide rows; undefined when nothing can. */
  get unsure(): UnsurePart | undefined {
    const from = this.#read?.from ?? null
    return from === null || isUpTo(from, this.#complete) ? undefined : { above: this.#complete, upTo: from }
  }

  /** All rows up to this one came, and were kept. @param last null: it came to the end */
  keptUpTo(last: bigint | null): void {
    if (this.#read === undefined) return
    const { from, settled } = this.#read
    if (settled === null || !isUpTo(from, this.#complete)) return
    const reached = last === null || last > settled ? settled : last
    if (isUpTo(this.#complete, reached)) this.#complete = reached
  }

  /** @param last the highest row that came */
  end(last: bigint | undefined): void {
    const { from, floorTo, completeTo } = this.#read as Read
    this.#read = undefined
    this.#floor = last ?? from
    if (floorTo !== undefined) this.lower(floorTo)
    if (completeTo !== undefined) this.doubt(completeTo)
  }

  /** It brought nothing: all is as before it, but for what was asked for meanwhile. */
  abandon(): void {
    this.#read = undefined
  }

  /** The next read begins here, or lower. */
  lower(to: bigint | null): void {
    this.#floor = lower(this.#floor, to)
    if (this.#read !== undefined) this.#read.floorTo = lowerOf(this.#read.floorTo, to)
  }

  /** Nothing above is complete: a key was held since then, and is no more. */
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
