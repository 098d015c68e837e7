import type { ChainBounds } from './read-plan.ts'

interface ChainRow {
  readonly seq: bigint
  readonly bytes: number
}

/** The rows of one key that are in memory and have not started, in sequence. */
export class KeyChain<R extends ChainRow> {
  /** Null: a row without a key, alone in its chain. */
  readonly text: string | null
  readonly #rows: R[] = []
  #bytes = 0
  isRunning: boolean = false

  constructor(text: string | null) {
    this.text = text
  }

  get isEmpty(): boolean {
    return this.#rows.length === 0
  }

  get first(): R {
    return this.#rows[0] as R
  }

  /** Inserts in sequence: a row committed late goes before those that have not started. */
  insert(row: R): void {
    let at = this.#rows.length
    while (at > 0 && (this.#rows[at - 1] as R).seq > row.seq) at--
    this.#rows.splice(at, 0, row)
    this.#bytes += row.bytes
  }

  /** Removes the first row, which starts. */
  start(): void {
    this.#bytes -= this.first.bytes
    this.#rows.shift()
    this.isRunning = true
  }

  /** Removes and returns all rows. */
  clear(): readonly R[] {
    this.#bytes = 0
    return this.#rows.splice(0)
  }

  /** Whether a key has enough rows in memory. One may always wait, however large. */
  isFull({ maxChain, maxChainBytes }: ChainBounds, next: R): boolean {
    return this.#rows.length >= maxChain || (!this.isEmpty && this.#bytes + next.bytes > maxChainBytes)
  }

  isHalfEmpty({ maxChain, maxChainBytes }: ChainBounds): boolean {
    return this.#rows.length * 2 <= maxChain && this.#bytes * 2 <= maxChainBytes
  }
}
