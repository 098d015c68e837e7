/**
 * A time in which no other mode can have had the table. What was read, claimed or written in one that is over may be
 * finished long since: it is not started any more (C-80).
 */
export class ModeTerm {
  #isOver = false

  get isOver(): boolean {
    return this.#isOver
  }

  end(): void {
    this.#isOver = true
  }
}
