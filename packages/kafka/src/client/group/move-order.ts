/**
 * Topics by how much one member has more of them than another, the greatest lead first. Leads fall with every partition
 * that is moved, so a topic is put in its place again only when it comes up: the search of a move costs next to nothing,
 * where a walk over all topics for each of thousands of moves would stop the process for seconds.
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

  /** Takes the first topic out. To be put back if there is more of it to move. */
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
