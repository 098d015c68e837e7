/**
 * With BLOCK a dead row is written only when all that was decided before it of its key is in the table. Outcomes of one kind
 * share a statement, so they may be carried out in another order than they were decided in. Whoever takes the shard next holds
 * a key that has a dead row: a row before it that was delivered, but not finished, would be held with it.
 */
export class DeadLast {
  /** By key: outcomes whose finish is not confirmed. */
  readonly #underWay = new Map<string, number>()
  /** By key: how its dead row is written. There is at most one, since it holds its key. */
  readonly #waiting = new Map<string, () => void>()

  /** Writes the outcome of a row now, or once those before it are confirmed. */
  write(key: string, isDead: boolean, write: () => void): void {
    const before = this.#underWay.get(key) ?? 0
    if (isDead && before > 0) {
      this.#waiting.set(key, write)
      return
    }
    this.#underWay.set(key, before + 1)
    write()
  }

  /** An outcome of the key is in the table, or never will be. */
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
