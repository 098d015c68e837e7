import { Queue } from '@waybill/kafka/internal'

/** What has a turn: the lower its offset, the earlier. */
export interface Turn {
  readonly offset: bigint
}

/**
 * Turns in the order of their offsets. Those that come for the first time come in that order and cost no comparison;
 * those that come back, few, are a heap.
 *
 * The order is what keeps a partition from standing still: the lowest unsettled offset holds up the commit, and the
 * commit holds up whatever is too far ahead of it. Behind one of those it would never run.
 */
export class TurnQueue<T extends Turn> {
  readonly #fresh = new Queue<T>()
  #back: T[] = []

  /** Has a higher offset than everything that was pushed before. */
  push(turn: T): void {
    this.#fresh.push(turn)
  }

  /** Has any offset. */
  comeBack(turn: T): void {
    const heap = this.#back
    let at = heap.length
    while (at > 0) {
      const above = (at - 1) >>> 1
      const parent = heap[above] as T
      if (parent.offset <= turn.offset) break
      heap[at] = parent
      at = above
    }
    heap[at] = turn
  }

  peek(): T | undefined {
    const fresh = this.#fresh.peek()
    const back = this.#back[0]
    return back === undefined || (fresh !== undefined && fresh.offset < back.offset) ? fresh : back
  }

  shift(): T | undefined {
    return this.peek() === this.#back[0] ? this.#shiftBack() : this.#fresh.shift()
  }

  clear(): void {
    this.#fresh.clear()
    this.#back = []
  }

  #shiftBack(): T | undefined {
    const heap = this.#back
    const [first] = heap
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return first
    let at = 0
    for (let below = 1; below < heap.length; below = at * 2 + 1) {
      if (below + 1 < heap.length && (heap[below + 1] as T).offset < (heap[below] as T).offset) below++
      if (last.offset <= (heap[below] as T).offset) break
      heap[at] = heap[below] as T
      at = below
    }
    heap[at] = last
    return first
  }
}
