/** Fetched offsets from the lowest that is not settled on, in a ring that grows: no allocation per record. */

/** Offsets are numbers here: distances from where the ledger began. */
export class UnsettledOffsets {
  #capacity = 64
  #distances = new Float64Array(this.#capacity)
  #holesBefore = new Float64Array(this.#capacity)
  #isSettled = new Uint8Array(this.#capacity)
  /** Count up for ever; the ring's places are their low bits. */
  #head = 0
  #end = 0

  get isEmpty(): boolean {
    return this.#head === this.#end
  }

  /** The lowest one, which is never settled. Not to be asked when empty. */
  get lowest(): number {
    return this.#distances[this.#head & (this.#capacity - 1)] as number
  }

  /** How many holes there were before {@link lowest}. */
  get holesBeforeLowest(): number {
    return this.#holesBefore[this.#head & (this.#capacity - 1)] as number
  }

  /** Distances are added in ascending order. */
  add(distance: number, holesBefore: number): void {
    if (this.#end - this.#head === this.#capacity) this.#grow()
    const place = this.#end++ & (this.#capacity - 1)
    this.#distances[place] = distance
    this.#holesBefore[place] = holesBefore
    this.#isSettled[place] = 0
  }

  /** As many distances without a gap, from the first on. */
  addRun(first: number, size: number, holesBefore: number): void {
    while (this.#end - this.#head + size > this.#capacity) this.#grow()
    const [distances, holes, settled] = [this.#distances, this.#holesBefore, this.#isSettled]
    const [mask, end] = [this.#capacity - 1, this.#end]
    for (let index = 0; index < size; index++) {
      const place = (end + index) & mask
      distances[place] = first + index
      holes[place] = holesBefore
      settled[place] = 0
    }
    this.#end = end + size
  }

  /** How many holes there were before it; -1 when it is not here or already settled. */
  settle(distance: number): number {
    const place = this.#find(distance)
    if (place < 0 || this.#isSettled[place] === 1) return -1
    this.#isSettled[place] = 1
    const holes = this.#holesBefore[place] as number
    this.#passSettled()
    return holes
  }

  /**
   * As many distances without a gap, from the first on: how many holes there were before them. -1, and nothing is
   * changed, when one of them is not here or already settled.
   */
  settleRun(first: number, size: number): number {
    const [distances, settled, mask] = [this.#distances, this.#isSettled, this.#capacity - 1]
    const start = this.#find(first)
    if (start < 0 || ((start - this.#head) & mask) + size > this.#end - this.#head) return -1
    for (let index = 0; index < size; index++) {
      const place = (start + index) & mask
      if (distances[place] !== first + index || settled[place] === 1) return -1
    }
    for (let index = 0; index < size; index++) settled[(start + index) & mask] = 1
    this.#passSettled()
    return this.#holesBefore[start] as number
  }

  /** Settled, but not the lowest: those are not kept. */
  isSettled(distance: number): boolean {
    const place = this.#find(distance)
    return place >= 0 && this.#isSettled[place] === 1
  }

  /** The unsettled ones up to and with `last`, in ascending order. */
  *upTo(last: number): IterableIterator<number> {
    for (let index = this.#head; index < this.#end; index++) {
      const place = index & (this.#capacity - 1)
      const distance = this.#distances[place] as number
      if (distance > last) return
      if (this.#isSettled[place] === 0) yield distance
    }
  }

  #passSettled(): void {
    while (this.#head < this.#end && this.#isSettled[this.#head & (this.#capacity - 1)] === 1) this.#head++
  }

  /** Without holes an offset lies as far from the head as its number says; otherwise it is searched for. */
  #find(distance: number): number {
    if (this.#head === this.#end) return -1
    const mask = this.#capacity - 1
    const guess = this.#head + (distance - (this.#distances[this.#head & mask] as number))
    if (guess < this.#head) return -1
    if (guess < this.#end && this.#distances[guess & mask] === distance) return guess & mask
    return this.#search(distance, Math.min(guess, this.#end))
  }

  #search(distance: number, before: number): number {
    const mask = this.#capacity - 1
    let low = this.#head
    let high = before
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      if ((this.#distances[middle & mask] as number) < distance) low = middle + 1
      else high = middle
    }
    return low < before && this.#distances[low & mask] === distance ? low & mask : -1
  }

  #grow(): void {
    const [capacity, count] = [this.#capacity, this.#end - this.#head]
    this.#distances = unrolled(this.#distances, this.#head & (capacity - 1), new Float64Array(capacity * 2))
    this.#holesBefore = unrolled(this.#holesBefore, this.#head & (capacity - 1), new Float64Array(capacity * 2))
    this.#isSettled = unrolled(this.#isSettled, this.#head & (capacity - 1), new Uint8Array(capacity * 2))
    this.#capacity = capacity * 2
    this.#head = 0
    this.#end = count
  }
}

/** The ring's content from its head on, at the beginning of a larger one. */
function unrolled<T extends Float64Array | Uint8Array>(ring: T, head: number, larger: T): T {
  larger.set(ring.subarray(head), 0)
  larger.set(ring.subarray(0, head), ring.length - head)
  return larger
}
