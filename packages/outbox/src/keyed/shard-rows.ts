/**
 * The rows of one shard in memory, in a chain per key, and the turns of the chains.
 *
 * A row:   added behind its key ──▶ started ──▶ settling ──▶ forgotten
 * A chain: ready ──take──▶ running ──advance──▶ ready, or gone
 */

import { KeyChain } from './key-chain.ts'
import { KnownRows } from './known-rows.ts'
import type { ReadFloor } from './read-floor.ts'
import type { ChainBounds } from './read-plan.ts'

interface ChainedRow {
  readonly seq: bigint
  readonly bytes: number
  /** Null: no order. */
  readonly keyText: string | null
}

export class ShardRows<R extends ChainedRow> {
  readonly #floor: Pick<ReadFloor, 'isReading'>
  readonly #chains = new Map<string, KeyChain<R>>()
  /** Chains whose first row may run, in the order of their turns. */
  readonly #ready = new Set<KeyChain<R>>()
  /** Includes rows whose settlement is not confirmed. */
  readonly #known = new KnownRows()
  readonly #forgottenDuringRead = new Set<bigint>()

  /** @param floor - knows whether a read is in progress: it may return rows that were forgotten after it began */
  constructor(floor: Pick<ReadFloor, 'isReading'>) {
    this.#floor = floor
  }

  /** The number of rows, running and settling ones included. */
  get size(): number {
    return this.#known.size
  }

  /** Their bytes (I24). */
  get bytes(): number {
    return this.#known.bytes
  }

  get seqs(): Iterable<bigint> {
    return this.#known
  }

  get hasReady(): boolean {
    return this.#ready.size > 0
  }

  has(seq: bigint): boolean {
    return this.#known.has(seq)
  }

  /** Whether the row is in memory, or was when the current read began. */
  hasOrHad(seq: bigint): boolean {
    return this.#known.has(seq) || this.#forgottenDuringRead.has(seq)
  }

  chainOf(text: string | null): KeyChain<R> | undefined {
    return text === null ? undefined : this.#chains.get(text)
  }

  /** Whether the key has enough rows in memory. */
  isFull(row: R, bounds: ChainBounds): boolean {
    return this.chainOf(row.keyText)?.isFull(bounds, row) === true
  }

  /** Adds a row behind its key. */
  add(row: R): void {
    const chain = this.chainOf(row.keyText) ?? this.#newChain(row.keyText)
    chain.insert(row)
    this.#known.add(row.seq, row.bytes)
    if (!chain.isRunning) this.#ready.add(chain)
  }

  /** Returns the chains in turn. Each loses its turn. */
  *turns(): Generator<KeyChain<R>> {
    for (const chain of this.#ready) {
      this.#ready.delete(chain)
      yield chain
    }
  }

  /** Gives the key's next row its turn, after the other keys. */
  advance(chain: KeyChain<R>): void {
    if (chain.isEmpty) this.#chains.delete(chain.text as string)
    else this.#ready.add(chain)
  }

  /** Forgets the rows of a key that have not started; they stay in the table. */
  drop(text: string): void {
    const chain = this.#chains.get(text)
    if (chain === undefined) return
    this.#forgetQueued(chain)
    this.#ready.delete(chain)
    this.#chains.delete(text)
  }

  /** Forgets all rows that have not started. */
  dropAll(): void {
    for (const chain of [...this.#chains.values(), ...this.#ready]) this.#forgetQueued(chain)
    this.#ready.clear()
  }

  forget(seq: bigint): void {
    if (this.#known.delete(seq) && this.#floor.isReading) this.#forgottenDuringRead.add(seq)
  }

  readEnded(): void {
    this.#forgottenDuringRead.clear()
  }

  #newChain(text: string | null): KeyChain<R> {
    const chain = new KeyChain<R>(text)
    if (text !== null) this.#chains.set(text, chain)
    return chain
  }

  #forgetQueued(chain: KeyChain<R>): void {
    for (const { seq } of chain.clear()) this.forget(seq)
  }
}
