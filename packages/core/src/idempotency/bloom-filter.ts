import { murmur2 } from '../partition/murmur2.ts'

/**
 * Texts of which one is certainly not there, or maybe. Never wrong when it says no; how often it is wrong when it says
 * maybe depends on how many it holds.
 */
export class BloomFilter {
  readonly #bits: Uint32Array
  readonly #size: number
  readonly #probes: number

  /** Of so many texts that are not there it takes this part for maybe there, once it holds as many as expected. */
  constructor(expected: number, falsePositiveRate: number) {
    const bitsPerText = -Math.log(falsePositiveRate) / Math.LN2 ** 2
    this.#size = Math.max(64, Math.ceil(expected * bitsPerText))
    this.#bits = new Uint32Array(Math.ceil(this.#size / 32))
    this.#probes = Math.max(1, Math.round(bitsPerText * Math.LN2))
  }

  add(text: string): void {
    const probe = probesOf(text)
    for (let step = 0; step < this.#probes; step++) {
      const bit = probe(step) % this.#size
      const word = bit >>> 5
      this.#bits[word] = (this.#bits[word] as number) | (1 << (bit & 31))
    }
  }

  /** False: it was never added. */
  mayHave(text: string): boolean {
    const probe = probesOf(text)
    for (let step = 0; step < this.#probes; step++) {
      const bit = probe(step) % this.#size
      if (((this.#bits[bit >>> 5] as number) & (1 << (bit & 31))) === 0) return false
    }
    return true
  }
}

/** Derives any number of indexes from two hashes (Kirsch and Mitzenmacher): the second is odd, so that it never stays. */
function probesOf(text: string): (step: number) => number {
  const first = murmur2(Buffer.from(text)) >>> 0
  const second = (murmur2(Buffer.from(`${text}\u0001`)) | 1) >>> 0
  // Below 2 ** 53 for any number of probes that a rate can ask for.
  return (step) => first + step * second
}
