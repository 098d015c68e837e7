/**
 * With BLOCK, delays writing a dead row until all earlier outcomes of its key are in the table. Outcomes of one kind
 * share a statement, so they may be written in another order than they were decided. The next owner of the shard holds
 * a key that has a dead row; an earlier row that was delivered but not settled would be held with it.
 */
export class DeadLast {
  /** By key: the number of outcomes whose settlement is not confirmed. */
  readonly #underWay = new Map<string, number>()
  /** By key: the write of its dead row. There is at most one, since it blocks its key. */
  readonly #waiting = new Map<string, () => void>()

  /** Writes the outcome of a row now, or once the earlier ones are confirmed. */
  write(key: string, isDead: boolean, write: () => void): void {
    const before = this.#underWay.get(key) ?? 0
    if (isDead && before > 0) {
      this.#waiting.set(key, write)
      return
    }
    this.#underWay.set(key, before + 1)
    write()
  }

  /** Records that an outcome of the key is in the table, or never will be. */
  confirmed(key: string): void {
    const left = (this.#underWay.get(key) ?? 0) - 1
    if (left > 0) {
      this.#underWay.set(key, left)
      return
    }
    this.#underWay.delete(key)
    const write = this.#waiting.get(key)
    if (write === undefined) return
    this.#waiting.delete(key)
    this.write(key, true, write)
  }
}
