/** Scheduled events by due time. Ties are broken by a drawn number, so that a seed decides the order of simultaneous events. */
export interface DueEvent {
  readonly at: number
  readonly tie: number
  readonly sequence: number
  run: () => void
  cancelled: boolean
}

const nothing = (): void => {}

/**
 * A binary heap of events, earliest first. Cancelled events stay until they surface, which keeps cancelling free; what
 * they would have run, and all that holds, goes at once.
 */
export class EventQueue {
  readonly #heap: DueEvent[] = []
  #cancelled = 0

  /** Events that will still run. */
  get size(): number {
    return this.#heap.length - this.#cancelled
  }

  push(event: DueEvent): void {
    const heap = this.#heap
    let index = heap.push(event) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!isBefore(event, heap[parent] as DueEvent)) break
      heap[index] = heap[parent] as DueEvent
      index = parent
    }
    heap[index] = event
  }

  cancel(event: DueEvent): void {
    if (event.cancelled) return
    event.cancelled = true
    event.run = nothing
    this.#cancelled++
  }

  /** When the next event is due; undefined when nothing waits. */
  nextAt(): number | undefined {
    while (this.#heap[0]?.cancelled) {
      this.#removeFirst()
      this.#cancelled--
    }
    return this.#heap[0]?.at
  }

  /** Takes the next event out. */
  pop(): DueEvent | undefined {
    if (this.nextAt() === undefined) return undefined
    const event = this.#removeFirst()
    event.cancelled = true // Cancelling after it ran must not count it twice.
    return event
  }

  #removeFirst(): DueEvent {
    const heap = this.#heap
    const first = heap[0] as DueEvent
    const last = heap.pop() as DueEvent
    if (heap.length === 0) return first
    let index = 0
    for (;;) {
      let child = 2 * index + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1] as DueEvent, heap[child] as DueEvent)) child++
      if (!isBefore(heap[child] as DueEvent, last)) break
      heap[index] = heap[child] as DueEvent
      index = child
    }
    heap[index] = last
    return first
  }
}

function isBefore(one: DueEvent, other: DueEvent): boolean {
  if (one.at !== other.at) return one.at < other.at
  if (one.tie !== other.tie) return one.tie < other.tie
  return one.sequence < other.sequence
}
