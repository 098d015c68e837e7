import { Queue } from '@waybill/kafka/internal'

/** An item of the queue: the lower its offset, the earlier its turn. */
export interface Turn {
  readonly offset: bigint
}

/**
 * A queue in the order of offsets. New items arrive in that order and need no comparison; the few that return are in a
 * heap.
 *
 * The order keeps a partition from stalling: the lowest unsettled offset blocks the commit, and the commit blocks records
 * that are too far ahead of it. Behind one of those the lowest would never run.
 */
export class TurnQueue<T extends Turn> {
  readonly #fresh = new Queue<T>()
  #back: T[] = []

  /** Adds an item with a higher offset than all items pushed before. */
  push(turn: T): void {
    this.#fresh.push(turn)
  }

  /** Adds an item with any offset. */
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

  /** Returns the items that came back, in no order. */
  returned(): readonly T[] {
    return this.#back
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
