/**
 * A rolling hash of what happened and in which order. Two runs of one seed that differ in anything they add end with
 * different hashes, except for one pair in 2^53; so comparing two numbers compares two histories of any length.
 */
export class TraceHash {
  // Two lanes with other multipliers: one lane of 32 bits would collide within a night of runs.
  #high = 0x2545f491
  #low = 0x6c62272e
  readonly #double = new Float64Array(1)
  readonly #words = new Uint32Array(this.#double.buffer)

  addNumber(value: number): void {
    this.#double[0] = value
    this.#mix(this.#words[0] as number)
    this.#mix(this.#words[1] as number)
  }

  addText(text: string): void {
    this.#mix(text.length)
    for (let index = 0; index < text.length; index++) this.#mix(text.charCodeAt(index))
  }

  /** The hash so far, as fourteen hexadecimal digits. */
  get value(): string {
    return ((this.#high >>> 11) * 2 ** 32 + (this.#low >>> 0)).toString(16).padStart(14, '0')
  }

  #mix(word: number): void {
    this.#high = Math.imul(this.#high ^ word, 0x85ebca6b)
    this.#high ^= this.#high >>> 15
    this.#low = Math.imul(this.#low ^ word, 0xc2b2ae35)
    this.#low ^= this.#low >>> 13
  }
}
