/** A growing ring buffer of fetched offsets, starting at the lowest unsettled one. It allocates nothing per record. */

/** Fetched offsets, as distances from the first position of the ledger. */
export class UnsettledOffsets {
  #capacity = 64
  #distances = new Float64Array(this.#capacity)
  #holesBefore = new Float64Array(this.#capacity)
  #isSettled = new Uint8Array(this.#capacity)
  /** Indexes that only increase; their low bits are the slots of the ring. */
  #head = 0
  #end = 0

  get isEmpty(): boolean {
    return this.#head === this.#end
  }

  /** The lowest distance, which is always unsettled. Undefined behavior if empty. */
  get lowest(): number {
    return this.#distances[this.#head & (this.#capacity - 1)] as number
  }

  /** The number of holes before {@link lowest}. */
  get holesBeforeLowest(): number {
    return this.#holesBefore[this.#head & (this.#capacity - 1)] as number
  }

  /** Adds a distance. Distances must be added in ascending order. */
  add(distance: number, holesBefore: number): void {
    if (this.#end - this.#head === this.#capacity) this.#grow()
    const place = this.#end++ & (this.#capacity - 1)
    this.#distances[place] = distance
    this.#holesBefore[place] = holesBefore
    this.#isSettled[place] = 0
  }

  /** Adds `size` consecutive distances. */
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

  /** Settles a distance. Returns the number of holes before it, or -1 if it is unknown or already settled. */
  settle(distance: number): number {
    const place = this.#find(distance)
    if (place < 0 || this.#isSettled[place] === 1) return -1
    this.#isSettled[place] = 1
    const holes = this.#holesBefore[place] as number
    this.#passSettled()
    return holes
  }

  /**
   * Settles `size` consecutive distances. Returns the number of holes before them, or -1, without a change, if any of
   * them is unknown or already settled.
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

  /** Returns whether a distance above the lowest is settled. Settled distances below it are no longer stored. */
  isSettled(distance: number): boolean {
    const place = this.#find(distance)
    return place >= 0 && this.#isSettled[place] === 1
  }

  /** Yields the unsettled distances up to and including `last`, in ascending order. */
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

  /** Finds a slot. Without holes it follows from the distance; otherwise a binary search finds it. */
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

/** Copies the ring, from its head on, to the start of a larger one. */
function unrolled<T extends Float64Array | Uint8Array>(ring: T, head: number, larger: T): T {
  larger.set(ring.subarray(head), 0)
  larger.set(ring.subarray(0, head), ring.length - head)
  return larger
}
