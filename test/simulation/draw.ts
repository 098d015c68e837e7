import type { Random } from '@waybill/core/internal'

/** Choices that a seed decides. */
export class Draw {
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
  }

  /** Returns true with that probability. */
  chance(probability: number): boolean {
    return this.#random() < probability
  }

  /** Returns a number from `min` to below `max`. */
  between(min: number, max: number): number {
    return min + (max - min) * this.#random()
  }

  /** Returns an integer from `min` to `max`, both included. */
  integer(min: number, max: number): number {
    return Math.floor(this.between(min, max + 1))
  }

  /** Returns a number from `min` to below `max`, every order of magnitude equally likely. */
  magnitude(min: number, max: number): number {
    return min * (max / min) ** this.#random()
  }

  /** Returns whole milliseconds from `min` to `max`. */
  ms(min: number, max: number): number {
    return Math.round(this.between(min, max))
  }

  /** Returns whole milliseconds, every order of magnitude equally likely. */
  msOfMagnitude(min: number, max: number): number {
    return Math.round(this.magnitude(min, max))
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)] as T
  }

  /** Returns each of the list with that probability. */
  some<T>(list: readonly T[], probability: number): T[] {
    return list.filter(() => this.chance(probability))
  }
}
