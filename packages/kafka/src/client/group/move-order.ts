/**
 * Topics ordered by how many more of their partitions one member has than another, largest difference first. A topic is
 * re-sorted only when it comes up, because differences shrink with every move. Walking over all topics for each of
 * thousands of moves would block the process for seconds.
 */
export class MoveOrder {
  readonly #leadOf: (topic: string) => number
  readonly #byLead = new Map<number, string[]>()
  #highest = Number.NEGATIVE_INFINITY
  #lowest = Number.POSITIVE_INFINITY

  constructor(topics: Iterable<string>, leadOf: (topic: string) => number) {
    this.#leadOf = leadOf
    for (const topic of topics) this.put(topic)
  }

  /** Removes and returns the first topic. Put it back if more of its partitions can move. */
  take(): string | undefined {
    for (; this.#highest >= this.#lowest; this.#highest--) {
      const topics = this.#byLead.get(this.#highest)
      for (let topic = topics?.pop(); topic !== undefined; topic = topics?.pop()) {
        if (this.#leadOf(topic) >= this.#highest) return topic
        this.put(topic)
      }
    }
    return undefined
  }

  put(topic: string): void {
    const lead = this.#leadOf(topic)
    const topics = this.#byLead.get(lead)
    if (topics === undefined) this.#byLead.set(lead, [topic])
    else topics.push(topic)
    this.#highest = Math.max(this.#highest, lead)
    this.#lowest = Math.min(this.#lowest, lead)
  }
}
