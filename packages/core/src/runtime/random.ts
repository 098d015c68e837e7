import { ArgumentError } from '../errors.ts'
import { showValue } from '../option/show-value.ts'

/** Uniform in [0, 1). */
export type Random = () => number

/** The process's own source. */
export const systemRandom: Random = () => Math.random()

/**
 * A seeded source: the same seed gives the same sequence on every machine and version of Node. SplitMix32, chosen for
 * size and speed; not for secrets.
 *
 * @param seed - An integer, of which the lower 32 bits count.
 */
export function createSeededRandom(seed: number): Random {
  // `createSeededRandom(Math.random())` would give every program the sequence of seed 0.
  if (!Number.isSafeInteger(seed)) throw new ArgumentError(`A seed is an integer, not ${showValue(seed)}.`)
  let state = seed | 0
  return () => {
    state = (state + 0x9e3779b9) | 0
    let mixed = state ^ (state >>> 16)
    mixed = Math.imul(mixed, 0x21f0aaad)
    mixed ^= mixed >>> 15
    mixed = Math.imul(mixed, 0x735a2d97)
    mixed ^= mixed >>> 15
    return (mixed >>> 0) / 2 ** 32
  }
}
